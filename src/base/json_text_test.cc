#include "base/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace tidemark {
namespace {

using namespace std::string_literals;

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(DecodeUtf8, ReadsTheBordersOfEveryLength) {
  const std::pair<std::string, char32_t> cases[] = {
      {"\0"s, 0},
      {"\x7f", 0x7f},
      {"\xc2\x80", 0x80},
      {"\xdf\xbf", 0x7ff},
      {"\xe0\xa0\x80", 0x800},
      {"\xed\x9f\xbf", 0xd7ff},
      {"\xee\x80\x80", 0xe000},
      {"\xef\xbf\xbf", 0xffff},
      {"\xf0\x90\x80\x80", 0x10000},
      {"\xf4\x8f\xbf\xbf", 0x10ffff},
  };
  for (const auto& [bytes, expected] : cases) {
    std::size_t at = 0;
    EXPECT_EQ(decode_utf8(bytes, at), expected);
    EXPECT_EQ(at, bytes.size());
  }
}

TEST(DecodeUtf8, RefusesOverlongSurrogateCutAndTooLarge) {
  for (const std::string& bytes : {"\x80"s, "\xbf"s, "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s,
                                   "\xed\xbf\xbf"s, "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s,
                                   "\xff"s, "\xc2"s, "\xe2\x82"s, "\xf0\x9f\x98"s, "\xc2"s + "a", "\xe2\x82"s + "a"}) {
    std::size_t at = 0;
    EXPECT_EQ(decode_utf8(bytes, at), kNoCodePoint);
    EXPECT_EQ(at, 1u) << "one byte is skipped, so that what follows is still read";
    EXPECT_FALSE(valid_utf8("ok" + bytes));
  }
}

TEST(JsonText, EscapesWhatJsonAndOneLineNeed) {
  EXPECT_EQ(json_of("plain 你好 😀"), "\"plain 你好 😀\"");
  EXPECT_EQ(json_of("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(json_of("\0\x1b\x7f\xc2\x9b"s), R"("\u0000\u001b\u007f\u009b")");
  EXPECT_EQ(json_of("x\xffy"), "\"x\xef\xbf\xbdy\"");
}

RC_GTEST_PROP(JsonText, AnyBytesGiveOneLineOfValidUtf8, (const std::string& bytes)) {
  const std::string out = json_of(bytes);
  RC_ASSERT(valid_utf8(out));
  for (const char c : out) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace tidemark
