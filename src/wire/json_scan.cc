#include "wire/json_scan.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101u;
constexpr std::uint64_t kHighs = 0x8080808080808080u;

constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - kOnes) & ~word & kHighs;
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// First byte that is not printable ASCII or is a quote or a backslash.
const char* skip_plain(const char* p, const char* end) {
  static_assert(std::endian::native == std::endian::little, "the lowest byte of a word must come first");
  for (; end - p >= 8; p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    // A borrow can only spoil bytes above the first hit, and only the first one counts.
    const std::uint64_t hits = (word & kHighs) | ((word - kOnes * 0x20) & ~word & kHighs) |
                               zero_bytes(word ^ (kOnes * '"')) | zero_bytes(word ^ (kOnes * '\\'));
    if (hits) return p + std::countr_zero(hits) / 8;
  }
  while (p != end && is_plain(static_cast<unsigned char>(*p))) ++p;
  return p;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::uint32_t hex4(const char* p) {
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) unit = unit << 4 | static_cast<std::uint32_t>(hex_value(p[i]));
  return unit;
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}
bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

void append_utf8(std::uint32_t point, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | point >> 6), put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 0x3f)), put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 0x3f)), put(0x80 | (point >> 6 & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

char escaped_char(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // a quote, a slash, a backslash
  }
}

}  // namespace

void JsonString::unescape(std::string& out) const {
  const char* p = raw.data();
  const char* end = p + raw.size();
  while (p != end) {
    const auto* backslash = static_cast<const char*>(std::memchr(p, '\\', static_cast<std::size_t>(end - p)));
    if (!backslash) backslash = end;
    out.append(p, backslash);
    p = backslash;
    if (p == end) return;
    if (p[1] != 'u') {
      out += escaped_char(p[1]);
      p += 2;
      continue;
    }
    std::uint32_t point = hex4(p + 2);
    p += 6;
    if (is_high_surrogate(point)) {  // the scanner saw to its partner
      point = 0x10000 + ((point - 0xd800) << 10) + (hex4(p + 2) - 0xdc00);
      p += 6;
    }
    append_utf8(point, out);
  }
}

std::string_view JsonString::value(std::string& scratch) const {
  if (!escaped) return raw;
  scratch.clear();
  unescape(scratch);
  return scratch;
}

bool JsonScanner::fail(const char* why, ErrorCode code) {
  why_ = why;
  code_ = code;
  return false;
}

Error JsonScanner::fault() const {
  TM_CHECK(why_, "fault() without a fault");
  return Error{code_, {}, fmt::format("At byte {} of the JSON text: {}.", p_ - begin_, why_)};
}

void JsonScanner::skip_space() {
  while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
}

bool JsonScanner::take_if(char c) {
  skip_space();
  if (p_ == end_ || *p_ != c) return false;
  ++p_;
  return true;
}

bool JsonScanner::take(char c, const char* expected) {
  return take_if(c) || fail(expected);
}

bool JsonScanner::read_string(JsonString& out) {
  const char* start = ++p_;
  out.escaped = false;
  for (;;) {
    p_ = skip_plain(p_, end_);
    if (p_ == end_) return fail("the text ends inside a string");
    const auto c = static_cast<unsigned char>(*p_);
    if (c == '"') {
      out.raw = {start, static_cast<std::size_t>(p_ - start)};
      ++p_;
      return true;
    }
    if (c == '\\') {
      out.escaped = true;
      if (!read_escape()) return false;
    } else if (c < 0x20) {
      return fail(c == 0 ? "NUL is not allowed" : "a control character in a string must be escaped");
    } else {
      const char* run = p_;
      while (p_ != end_ && static_cast<unsigned char>(*p_) >= 0x80) ++p_;
      if (!valid_utf8({run, static_cast<std::size_t>(p_ - run)})) {
        p_ = run;
        return fail("invalid UTF-8");
      }
    }
  }
}

bool JsonScanner::read_hex4(std::uint32_t& unit) {
  if (end_ - p_ < 6 || p_[0] != '\\' || p_[1] != 'u') return false;
  for (int i = 2; i < 6; ++i)
    if (hex_value(p_[i]) < 0) return false;
  unit = hex4(p_ + 2);
  p_ += 6;
  return true;
}

bool JsonScanner::read_escape() {
  if (end_ - p_ < 2) return fail("the text ends inside a string");
  if (p_[1] != 'u') {
    if (p_[1] == '\0' || !std::strchr("\"\\/bfnrt", p_[1])) return fail("no such escape");
    p_ += 2;
    return true;
  }
  std::uint32_t unit = 0;
  if (!read_hex4(unit)) return fail("\\u takes four hex digits");
  if (unit == 0) return fail("NUL is not allowed");
  if (is_low_surrogate(unit)) return fail("a low surrogate without its high one");
  if (is_high_surrogate(unit) && !(read_hex4(unit) && is_low_surrogate(unit)))
    return fail("a high surrogate without its low one");
  return true;
}

bool JsonScanner::read_key(JsonString& out, JsonLimits& limits) {
  skip_space();
  if (peek() != '"') return fail("a key in quotes must stand here");
  if (limits.keys_left == 0) return fail("too many keys", ErrorCode::TOO_DEEP);
  --limits.keys_left;
  return read_string(out) && take(':', "a colon must stand here");
}

bool JsonScanner::read_number(JsonNumber& out) {
  const char* start = p_;
  const auto digits = [&] {
    if (!is_digit(peek())) return fail("a digit must stand here");
    while (is_digit(peek())) ++p_;
    return true;
  };
  out.whole = true;
  if (peek() == '-') ++p_;
  if (peek() == '0') {
    ++p_;
    if (is_digit(peek())) return fail("a number has no leading zeros");
  } else if (!digits()) {
    return false;
  }
  if (peek() == '.') {
    ++p_;
    out.whole = false;
    if (!digits()) return false;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++p_;
    out.whole = false;
    if (peek() == '+' || peek() == '-') ++p_;
    if (!digits()) return false;
  }
  out.text = {start, static_cast<std::size_t>(p_ - start)};
  return true;
}

bool JsonScanner::read_literal(std::string_view word) {
  if (static_cast<std::size_t>(end_ - p_) < word.size() || std::memcmp(p_, word.data(), word.size()) != 0)
    return fail("no such value");
  p_ += word.size();
  return true;
}

bool JsonScanner::read_scalar() {
  JsonString string;
  JsonNumber number;
  switch (peek()) {
    case '"':
      return read_string(string);
    case 't':
      return read_literal("true");
    case 'f':
      return read_literal("false");
    case 'n':
      return read_literal("null");
    default:
      if (peek() == '-' || is_digit(peek())) return read_number(number);
      return fail(at_end() ? "the text ends where a value must stand" : "a value must stand here");
  }
}

bool JsonScanner::next_member(bool in_object, std::uint32_t object, JsonLimits& limits, JsonKeyObserver* observer) {
  if (!in_object) return true;
  JsonString key;
  if (!read_key(key, limits)) return false;
  return !observer || observer->key(object, key) || fail("a key stands twice in one object");
}

bool JsonScanner::skip_value(JsonLimits& limits, int depth, JsonKeyObserver* observer) {
  std::array<std::uint32_t, 64> open;  // the objects around here by number, 0 for an array
  TM_CHECK(limits.max_depth <= static_cast<int>(open.size()), "the depth allowed is above what is kept");
  std::size_t level = 0;
  std::uint32_t objects = 0;
  for (;;) {  // once for each value
    skip_space();
    const char c = peek();
    if (c == '{' || c == '[') {
      if (depth + static_cast<int>(level) >= limits.max_depth) return fail("nested too deeply", ErrorCode::TOO_DEEP);
      ++p_;
      const std::uint32_t object = c == '{' ? ++objects : 0;
      if (!take_if(c == '{' ? '}' : ']')) {
        open[level++] = object;
        if (!next_member(object != 0, object, limits, observer)) return false;
        continue;
      }
    } else if (!read_scalar()) {
      return false;
    }
    for (;;) {  // a value has ended: what comes next?
      if (level == 0) return true;
      const std::uint32_t object = open[level - 1];
      if (take_if(',')) {
        if (!next_member(object != 0, object, limits, observer)) return false;
        break;
      }
      if (!take(object ? '}' : ']', object ? "a comma or } must stand here" : "a comma or ] must stand here"))
        return false;
      --level;
    }
  }
}

bool JsonScanner::finish() {
  skip_space();
  return at_end() || fail("nothing may follow the value");
}

}  // namespace tidemark
