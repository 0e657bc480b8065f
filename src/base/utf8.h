// UTF-8 as the Unicode standard defines it (chapter 3, table 3-7): shortest forms only, no surrogates, nothing
// above U+10FFFF.
#pragma once

#include <string_view>

namespace tidemark {

/// True when the whole text is well-formed UTF-8; the empty text is. NUL and other control characters are allowed.
/// Pure and thread-safe; ASCII takes eight bytes a step.
bool valid_utf8(std::string_view text);

}  // namespace tidemark
