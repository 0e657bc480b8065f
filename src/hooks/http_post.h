// Posts to one address, one after the other, over a connection that is kept while both sides want it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hooks/hook_url.h"
#include "wire/http_parser.h"
#include "wire/tls.h"

namespace tidemark {

/// Why a post brought no answer.
struct PostError {
  enum class Kind : std::uint8_t {
    unreachable,  // nobody took the connection: nothing was sent
    no_answer,    // in time, or none that is HTTP
    held_back,    // it might not leave any more: see MayLeave
  };
  Kind kind = Kind::no_answer;
  std::string what;  // one sentence
};

class HttpPost {
 public:
  /// Asked before every piece that is handed to the socket; false ends the post, and its connection.
  using MayLeave = std::function<bool()>;

  /// `tls` is null for http, and must outlive this otherwise.
  HttpPost(HookUrl url, const TlsContext* tls);
  ~HttpPost();
  HttpPost(HttpPost&&) noexcept;

  /// Blocks for `timeout_ms` at most, name look-up aside. A connection that was kept and turns out to be closed before
  /// anything came back is made anew once.
  std::expected<HttpResponse, PostError> post(std::string_view body, std::span<const HttpHeaderView> headers,
                                              std::int64_t timeout_ms, const MayLeave& may_leave = nullptr);

  /// Ends a post that another thread makes, and every later one, at once.
  void interrupt();

 private:
  class Connection;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tidemark
