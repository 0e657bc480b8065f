#include "core/uuid7.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::int64_t kTimeMax = (std::int64_t{1} << 48) - 1;
constexpr std::size_t kTextSize = 36;

constexpr bool hyphen_at(std::size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

constexpr std::uint8_t kNoDigit = 0xff;

/// The value of each character as a hexadecimal digit.
constexpr auto kDigitValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < 10; ++i) values['0' + i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = static_cast<std::uint8_t>(10 + i);
  return values;
}();

std::uint8_t digit_value(char c) {
  return kDigitValues[static_cast<std::uint8_t>(c)];
}

}  // namespace

std::string make_uuid_v7(std::int64_t time_ms, const Uuid7Random& random) {
  const std::int64_t time = std::clamp<std::int64_t>(time_ms, 0, kTimeMax);
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(time >> (40 - 8 * i));
  std::copy(random.begin(), random.end(), bytes.begin() + 6);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x70);  // version 7
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);  // variant 10

  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(kTextSize);
  for (const std::uint8_t byte : bytes) {
    if (hyphen_at(text.size())) text.push_back('-');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0x0f]);
  }
  return text;
}

std::optional<std::uint64_t> uuid7_high(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  std::uint8_t all = 0;  // of the values kNoDigit alone has the highest bit
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hyphen_at(i))
      all |= digit_value(text[i]);
    else if (text[i] != '-')
      return std::nullopt;
  }
  if ((all & 0x80) != 0) return std::nullopt;
  if (text[14] != '7') return std::nullopt;
  if ((digit_value(text[19]) & 0b1100) != 0b1000) return std::nullopt;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < 18; ++i) {
    if (!hyphen_at(i)) high = high << 4 | digit_value(text[i]);
  }
  return high;
}

std::optional<std::int64_t> uuid7_time_ms(std::string_view text) {
  const auto high = uuid7_high(text);
  return high ? std::optional(time_ms_of(*high)) : std::nullopt;
}

}  // namespace tidemark
