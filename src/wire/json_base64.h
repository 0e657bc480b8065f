// Base64 with the standard alphabet and padding (RFC 4648 section 4): how bytes stand in JSON.
#pragma once

#include <string>
#include <string_view>

namespace tidemark {

void append_base64(std::string_view bytes, std::string& out);

/// Appends the bytes of `text`. False, with `out` in an unspecified state, unless the text is the one encoding of its
/// bytes: padded, no white space, unused bits zero. So that equal bytes are equal texts.
bool decode_base64(std::string_view text, std::string& out);

}  // namespace tidemark
