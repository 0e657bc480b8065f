// How the application knows that a request is ours: HMAC-SHA256 under the secret that both share (docs/hooks.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

/// "v1=" and 64 hexadecimal digits: of `timestamp` (decimal seconds since 1970), a point and the body.
std::string hook_signature(std::string_view secret, std::int64_t timestamp_s, std::string_view body);

/// Whether one of the signatures in the header (separated by commas) is right. Takes the same time wherever they
/// differ.
bool hook_signature_good(std::string_view header, std::string_view secret, std::int64_t timestamp_s,
                         std::string_view body);

}  // namespace tidemark
