// A request to the application, signed now.
#pragma once

#include "base/ports.h"
#include "hooks/http_post.h"

namespace tidemark {

/// See HttpPost::post.
std::expected<HttpResponse, PostError> post_signed(HttpPost& post, const Clock& clock, std::string_view secret,
                                                   std::string_view body, std::int64_t timeout_ms,
                                                   const HttpPost::MayLeave& may_leave = nullptr);

}  // namespace tidemark
