// base64url without padding (RFC 4648 section 5, as RFC 7515 section 2 uses it), strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

std::string base64url_encode(std::string_view bytes);

/// The bytes, or nothing for text that base64url_encode could not have written: padding, line breaks, characters of
/// plain base64, an impossible length, or bits left over that are not zero (so that no two texts mean the same bytes).
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace tidemark
