// HTTP/1.1 messages without I/O (RFC 9112): bytes in, requests or responses out, and the bytes of messages to send.
// Nothing here is thread-safe; nothing is held between messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tidemark {

/// Header fields. Names are compared without regard to case; a field given twice is one value, joined by ", ".
class HttpHeaders {
 public:
  void add(std::string_view name, std::string_view value);
  std::optional<std::string_view> get(std::string_view name) const;
  bool has(std::string_view name) const { return get(name).has_value(); }
  /// Whether a field that is a comma-separated list holds the token, without regard to case.
  bool has_token(std::string_view name, std::string_view token) const;
  /// In order of arrival, names as sent.
  const std::vector<std::pair<std::string, std::string>>& all() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method;                 // as sent: methods are case-sensitive
  std::string target;                 // as sent
  std::string path;                   // percent-decoded, valid UTF-8 without NUL, begins with '/'
  std::vector<std::string> segments;  // "/v1/users/a%2Fb" is {"v1", "users", "a/b"}; "/" is empty; "/v1/" ends in ""
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  HttpHeaders headers;
  std::string body;
  bool keep_alive = false;
  bool is_upgrade = false;  // asks for a WebSocket

  /// The first query parameter of this name.
  std::optional<std::string_view> param(std::string_view name) const;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;
  bool keep_alive = false;
};

struct HttpLimits {
  std::uint32_t header_bytes = 16 * 1024;  // start line and header fields together
  std::uint32_t target_bytes = 8 * 1024;
  std::uint64_t body_bytes = 1024 * 1024;
  std::uint32_t fields = 100;  // of a header, and of a trailer
};

/// A request that cannot be served. The connection must be closed after the answer: where the next request begins is
/// not known.
struct HttpRefusal {
  int status = 400;  // finer than the code's own: 413, 414, 417, 431, 501, 505
  Error error{ErrorCode::MALFORMED};
};

enum class HttpProgress : std::uint8_t {
  need_more,        // all input is taken
  expect_continue,  // the client waits for kHttpContinue before it sends the body; given once, all input is taken
  ready,            // take() the message; what is left of the input belongs to the next one
  refused,          // see refusal(); for ever
};

/// What to send on HttpProgress::expect_continue.
inline constexpr std::string_view kHttpContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// Parser of the requests of one connection, one after the other. Owns memory only while a request is arriving.
class HttpParser {
 public:
  explicit HttpParser(HttpLimits limits = {});
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;
  HttpParser& operator=(HttpParser&&) noexcept;

  /// Cuts the bytes it took off the front of the input. A body that is too large is refused as soon as its size is
  /// known, before any of it is held.
  HttpProgress feed(std::string_view& input);
  /// REQUIRES: the last feed said ready. The parser is then at the start of the next request.
  HttpRequest take();
  /// REQUIRES: the last feed said refused.
  const HttpRefusal& refusal() const;
  /// No byte of a request has arrived.
  bool idle() const { return machine_ == nullptr; }

 private:
  struct Machine;
  HttpLimits limits_;
  std::unique_ptr<Machine> machine_;
};

/// Parser of responses, for clients. Interim responses (100 to 199 but 101) are skipped.
class HttpResponseParser {
 public:
  /// What the response answers: a response to HEAD has no body whatever its header says.
  enum class AnswerTo : std::uint8_t { head, other };

  explicit HttpResponseParser(AnswerTo answer_to = AnswerTo::other, HttpLimits limits = {});
  ~HttpResponseParser();
  HttpResponseParser(HttpResponseParser&&) noexcept;
  HttpResponseParser& operator=(HttpResponseParser&&) noexcept;

  /// As HttpParser::feed; never expect_continue.
  HttpProgress feed(std::string_view& input);
  /// The peer has closed: ready when that is how the body ends, otherwise refused (or need_more between responses).
  HttpProgress finish();
  /// REQUIRES: the last call said ready.
  HttpResponse take();
  /// REQUIRES: the last call said refused.
  const Error& error() const;

 private:
  struct Machine;
  HttpLimits limits_;
  AnswerTo answer_to_;
  std::unique_ptr<Machine> machine_;
};

using HttpHeaderView = std::pair<std::string_view, std::string_view>;

struct HttpReply {
  int status = 200;
  std::string_view content_type = {};  // "" for none
  std::string_view body = {};
  bool keep_alive = true;
  bool to_head = false;  // the request was HEAD: everything but the body
  std::span<const HttpHeaderView> headers = {};
};

/// The bytes of a response. Content-Length and Connection are written here; control characters in header values
/// become spaces.
std::string http_response(const HttpReply& reply);

struct HttpCall {
  std::string_view method = "GET";
  std::string_view host;          // with the port, as in the Host field
  std::string_view target = "/";  // percent-encoded
  std::string_view content_type = {};
  std::string_view body = {};
  bool keep_alive = true;
  std::span<const HttpHeaderView> headers = {};
};

/// The bytes of a request, for clients.
std::string http_request(const HttpCall& call);

/// Writes text so that it is one path segment, query name or query value: all but letters, digits and "-._~" escaped.
std::string percent_encode(std::string_view text);

/// Equal but for the case of ASCII letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// The next element of a comma-separated list (RFC 9110 section 5.6.1), cut off its front; empty at the end.
std::string_view next_list_element(std::string_view& list);

}  // namespace tidemark
