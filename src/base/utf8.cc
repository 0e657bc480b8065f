#include "base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidemark {
namespace {

/// Bytes of ASCII at the front.
std::size_t ascii_run(const unsigned char* p, std::size_t size) {
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, p + i, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (i < size && p[i] < 0x80) ++i;
  return i;
}

bool in(unsigned char byte, unsigned low, unsigned high) {
  return byte >= low && byte <= high;
}
bool is_tail(unsigned char byte) {
  return (byte & 0xc0) == 0x80;
}

/// Length of the well-formed sequence of two to four bytes at the front, or 0. The second byte alone decides about
/// overlong forms, surrogates and the upper end.
std::size_t sequence(const unsigned char* p, std::size_t size) {
  const unsigned char lead = p[0];
  if (in(lead, 0xc2, 0xdf)) return size >= 2 && is_tail(p[1]) ? 2 : 0;
  if (in(lead, 0xe0, 0xef)) {
    if (size < 3 || !is_tail(p[2])) return 0;
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return in(p[1], low, high) ? 3 : 0;
  }
  if (in(lead, 0xf0, 0xf4)) {
    if (size < 4 || !is_tail(p[2]) || !is_tail(p[3])) return 0;
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return in(p[1], low, high) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t left = text.size();
  while (left > 0) {
    const std::size_t step = *p < 0x80 ? ascii_run(p, left) : sequence(p, left);
    if (step == 0) return false;
    p += step;
    left -= step;
  }
  return true;
}

}  // namespace tidemark
