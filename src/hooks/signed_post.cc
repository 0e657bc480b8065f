#include "hooks/signed_post.h"

#include <array>

#include "hooks/signature.h"

namespace tidemark {

std::expected<HttpResponse, PostError> post_signed(HttpPost& post, const Clock& clock, std::string_view secret,
                                                   std::string_view body, std::int64_t timeout_ms,
                                                   const HttpPost::MayLeave& may_leave) {
  const std::int64_t now_s = clock.wall_ms() / 1'000;
  const std::string timestamp = std::to_string(now_s);
  const std::string signature = hook_signature(secret, now_s, body);
  const std::array<HttpHeaderView, 2> headers{{{"Tidemark-Timestamp", timestamp}, {"Tidemark-Signature", signature}}};
  return post.post(body, headers, timeout_ms, may_leave);
}

}  // namespace tidemark
