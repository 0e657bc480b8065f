#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tidemark {
namespace {

using namespace std::string_view_literals;

std::string encode_code_point(std::uint32_t c) {
  std::string out;
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
  return out;
}

TEST(Utf8, TakesEveryCodePointButSurrogatesAndNothingAboveTheLast) {
  for (std::uint32_t c = 0; c < 0x120000; ++c) {
    const bool expected = (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
    ASSERT_EQ(valid_utf8(encode_code_point(c)), expected) << std::hex << c;
  }
}

/// The oracle: decode by the bit patterns, then ask whether encoding gives the same bytes back.
bool valid_by_round_trip(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
    };
    const std::uint32_t lead = byte(0);
    const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (size == 0 || at + size > text.size()) return false;
    std::uint32_t c = size == 1 ? lead : lead & (0x7fu >> size);
    for (std::size_t i = 1; i < size; ++i) c = c << 6 | (byte(i) & 0x3f);
    if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff) return false;
    if (encode_code_point(c) != text.substr(at, size)) return false;
    at += size;
  }
  return true;
}

TEST(Utf8, AgreesWithDecodingOnEveryPairOfBytesAndOnLongerOnesFromTheEdges) {
  constexpr unsigned char kEdges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2,
                                      0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string pair{static_cast<char>(a), static_cast<char>(b)};
      ASSERT_EQ(valid_utf8(pair), valid_by_round_trip(pair)) << a << ' ' << b;
    }
  }
  for (unsigned char a : kEdges)
    for (unsigned char b : kEdges)
      for (unsigned char c : kEdges)
        for (unsigned char d : kEdges) {
          const std::string four{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                                 static_cast<char>(d)};
          ASSERT_EQ(valid_utf8(four), valid_by_round_trip(four))
              << int{a} << ' ' << int{b} << ' ' << int{c} << ' ' << int{d};
        }
}

TEST(Utf8, FindsABadByteAtEveryPlaceOfALongText) {
  EXPECT_TRUE(valid_utf8(""));
  const std::string good = "plain text, then 你好 and \xf0\x9f\x98\x80, then plain text again";
  ASSERT_TRUE(valid_utf8(good));
  for (std::size_t at = 0; at <= good.size(); ++at) {
    std::string bad = good;
    bad.insert(at, 1, '\xff');
    EXPECT_FALSE(valid_utf8(bad)) << at;
  }
}

TEST(Utf8, RefusesATextCutInsideACharacter) {
  EXPECT_TRUE(valid_utf8("\xe4\xbd\xa0"sv));
  EXPECT_FALSE(valid_utf8("\xe4\xbd"sv));
  EXPECT_FALSE(valid_utf8("\xe4"sv));
  EXPECT_FALSE(valid_utf8("abcdefgh\xf0\x9f\x98"sv));
}

}  // namespace
}  // namespace tidemark
