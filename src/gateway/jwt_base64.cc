#include "gateway/jwt_base64.h"

#include <array>
#include <cstdint>

namespace tidemark {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> kValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::string base64url_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = held << 8 | static_cast<std::uint8_t>(byte);
    for (bits += 8; bits >= 6;) text += kAlphabet[held >> (bits -= 6) & 63];
  }
  if (bits > 0) text += kAlphabet[held << (6 - bits) & 63];
  return text;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = kValues[static_cast<std::uint8_t>(c)];
    if (value < 0) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(value);
    if ((bits += 6) >= 8) bytes += static_cast<char>(held >> (bits -= 8) & 0xff);
  }
  if ((held & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace tidemark
