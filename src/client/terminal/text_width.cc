#include "client/terminal/text_width.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/json_text.h"

namespace tidemark::terminal {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Marks that take no column of their own (categories Mn, Me, Cf), of the scripts that chats are written in.
constexpr Range kMarks[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},   {0x05c4, 0x05c5},
    {0x0610, 0x061a},   {0x061c, 0x061c}, {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc},   {0x06df, 0x06e4},
    {0x06e7, 0x06e8},   {0x06ea, 0x06ed}, {0x0900, 0x0902}, {0x093a, 0x093a}, {0x093c, 0x093c},   {0x0941, 0x0948},
    {0x094d, 0x094d},   {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff},
    {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f}, {0x20d0, 0x20ff},   {0x302a, 0x302d},
    {0x3099, 0x309a},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0001, 0xe007f},
    {0xe0100, 0xe01ef},
};

// East_Asian_Width W and F, with neighbouring ranges joined over unassigned code points.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
    {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
    {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
    {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},
    {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
    {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
    {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e},
    {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5},
    {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
    {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

constexpr char32_t kJoiner = 0x200d;

bool is_in(std::span<const Range> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

/// Marks that would let a text change how its neighbours read.
bool turns_direction(char32_t c) {
  return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c;
}

/// Punctuation that must not begin a line.
bool closes(char32_t c) {
  return std::u32string_view(U"，。、！？；：）」』】》〉…·～”’%!?,.;:)]}").find(c) != std::u32string_view::npos;
}

/// The longest beginning that fits.
std::size_t fitting(std::string_view text, int columns) {
  std::size_t at = 0;
  int used = 0;
  while (at < text.size()) {
    std::size_t peek = at;
    const int width = columns_of(decode_utf8(text, peek));
    if (used + width > columns) break;
    used += width;
    at = character_end(text, at);
  }
  return at;
}

void wrap_paragraph(std::string_view text, int columns, std::vector<std::string>& lines) {
  do {
    std::size_t end = fitting(text, columns);
    if (end == 0 && !text.empty()) end = character_end(text, 0);
    if (end == text.size()) break;
    // The last space, if the line doesn't become much shorter by it.
    std::size_t next = end;
    if (text[end] == ' ') {
      next = end + 1;
    } else if (const std::size_t space = text.rfind(' ', end); space != std::string_view::npos && space >= end / 3) {
      next = space + 1;
      end = space;
    } else if (std::size_t peek = end; closes(decode_utf8(text, peek))) {
      // It takes the character before it along.
      const std::size_t before = character_begin(text, end);
      if (before > 0) next = end = before;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(next);
  } while (!text.empty());
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
}

}  // namespace

int columns_of(char32_t c) {
  if (c == kNoCodePoint) return 1;
  if (is_control(c)) return 0;
  if (c < 0x300) return 1;
  if (is_in(kMarks, c)) return 0;
  return is_in(kWide, c) ? 2 : 1;
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size(); at = character_end(text, at)) {
    std::size_t peek = at;
    columns += columns_of(decode_utf8(text, peek));
  }
  return columns;
}

std::size_t character_end(std::string_view text, std::size_t at) {
  const char32_t first = decode_utf8(text, at);
  if (first == kNoCodePoint || is_control(first)) return at;
  bool joined = false;
  while (at < text.size()) {
    std::size_t next = at;
    const char32_t c = decode_utf8(text, next);
    if (c == kNoCodePoint || !(joined || is_in(kMarks, c)) || is_control(c)) break;
    joined = c == kJoiner;
    at = next;
  }
  return at;
}

std::size_t character_begin(std::string_view text, std::size_t at) {
  // Characters are known from the front alone; lines that people edit are short.
  std::size_t begin = 0;
  for (std::size_t end = 0; end < at; end = character_end(text, end)) begin = end;
  return begin;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = decode_utf8(text, at);
    if (c == kNoCodePoint)
      out += "\xef\xbf\xbd";
    else if (is_control(c) || turns_direction(c) || c == 0x2028 || c == 0x2029)
      out += ' ';
    else
      out += text.substr(start, at - start);
  }
  return out;
}

std::string clip(std::string_view text, int columns) {
  if (columns <= 0) return {};
  if (columns_of(text) <= columns) return std::string(text);
  return std::string(text.substr(0, fitting(text, columns - 1))) + "…";
}

std::string fit(std::string_view text, int columns, Align align) {
  std::string out = clip(text, columns);
  const int missing = columns - columns_of(out);
  if (missing <= 0) return out;
  const std::string spaces(static_cast<std::size_t>(missing), ' ');
  return align == Align::left ? out + spaces : spaces + out;
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::vector<std::string> paragraph;
    wrap_paragraph(printable(text.substr(0, end)), std::max(columns, 2), paragraph);
    lines.insert(lines.end(), paragraph.begin(), paragraph.end());
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

}  // namespace tidemark::terminal
