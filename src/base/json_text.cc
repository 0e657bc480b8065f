#include "base/json_text.h"

#include <cstdint>

namespace tidemark {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_unicode_escape(std::string& out, char32_t c) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(c >> shift) & 15];
}

}  // namespace

char32_t decode_utf8(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(at);
  const std::size_t start = at++;
  if (first < 0x80) return first;
  int more = 0;
  char32_t value = 0;
  char32_t least = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    more = 1, value = first & 0x1f, least = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    more = 2, value = first & 0x0f, least = 0x800;
  } else if (first >= 0xf0 && first <= 0xf4) {
    more = 3, value = first & 0x07, least = 0x10000;
  } else {
    return kNoCodePoint;
  }
  if (text.size() - start <= static_cast<std::size_t>(more)) return kNoCodePoint;
  for (int i = 1; i <= more; ++i) {
    const std::uint8_t next = byte(start + static_cast<std::size_t>(i));
    if ((next & 0xc0) != 0x80) return kNoCodePoint;
    value = value << 6 | (next & 0x3f);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return kNoCodePoint;
  at = start + static_cast<std::size_t>(more) + 1;
  return value;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = decode_utf8(text, at);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case kNoCodePoint:
        out += "\xef\xbf\xbd";
        break;
      default:
        if (is_control(c))
          append_unicode_escape(out, c);
        else
          out += text.substr(start, at - start);
    }
  }
  out += '"';
}

}  // namespace tidemark
