// Text as it goes into JSON and log lines, and the decoder of code points behind it (checks alone: base/utf8.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark {

/// What decode_utf8 answers for bytes that are no well-formed UTF-8.
inline constexpr char32_t kNoCodePoint = 0xffffffff;

/// Decodes one code point of `text` at `at` and moves `at` behind it. For a byte that starts nothing well formed
/// (overlong forms, surrogates, beyond U+10FFFF and cut sequences included; Unicode 15, table 3-7) it answers
/// kNoCodePoint and moves by one byte. REQUIRES at < text.size().
char32_t decode_utf8(std::string_view text, std::size_t& at);

/// Whether a code point is a control character (Unicode's category Cc: U+0000..1F, U+007F..9F).
constexpr bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

/// Appends `text` as a JSON string with its quotes (RFC 8259). Control characters become escapes and ill-formed bytes
/// U+FFFD, so that the output is valid JSON on one line whatever comes in.
void append_json_string(std::string& out, std::string_view text);

}  // namespace tidemark
