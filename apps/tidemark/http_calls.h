// HTTP calls to a Tidemark server, for the commands of people and scripts: one call, one connection, in order.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/tls.h"

namespace tidemark {

/// Where a server is: "http://127.0.0.1:7700", "https://chat.example.org".
struct ServerUrl {
  enum class Scheme : std::uint8_t { http, https };
  Scheme scheme = Scheme::http;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string text;  // as given, without a slash at its end

  /// As in the Host field.
  std::string authority() const;
};

/// MALFORMED with field "url" and a sentence that shows how one looks. A path, a query or a user has no place in it.
Result<ServerUrl> parse_server_url(std::string_view text);

/// Why a call brought no answer. `code` is the server's, or one of ours: NO_SERVER, NO_ANSWER, BAD_ANSWER,
/// BAD_CERTIFICATE.
struct CallError {
  std::string code;
  std::string sentence;  // says what to do
  std::string field = {};
  int status = 0;  // of HTTP, 0 without one
  bool retryable = false;
};

template <typename T>
using Called = std::expected<T, CallError>;

struct CallOptions {
  std::string_view method = "GET";
  std::string target;     // percent-encoded, with the query
  std::string body = {};  // JSON
  std::string idempotency_key = {};
};

/// Calls one server with one token. Not thread-safe.
class HttpCalls {
 public:
  /// `ca_file` names the certificates (PEM) to trust for https, "" for the system's. Answers that do not come within
  /// `timeout_s` are given up.
  static Result<HttpCalls> open(ServerUrl url, std::string token, const std::string& ca_file = {}, int timeout_s = 30);

  /// The body of a good answer (status 2xx), as the server wrote it.
  Called<std::string> call(const CallOptions& options) const;

  const ServerUrl& url() const { return url_; }

 private:
  HttpCalls() = default;

  ServerUrl url_;
  std::string token_;
  std::shared_ptr<TlsContext> tls_;  // null for http
  int timeout_s_ = 30;
};

/// Tells an error on stderr: code, field, sentence.
void tell_call_error(const CallError& error);

}  // namespace tidemark
