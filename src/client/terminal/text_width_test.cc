#include "client/terminal/text_width.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_text.h"
#include "base/utf8.h"

namespace tidemark::terminal {
namespace {

TEST(TextWidth, CountsWideCharactersTwiceAndMarksNotAtAll) {
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("你好，世界"), 10);
  EXPECT_EQ(columns_of("ｆｕｌｌ"), 8);
  EXPECT_EQ(columns_of("한국어"), 6);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1) << "e and a combining acute";
  EXPECT_EQ(columns_of("😀"), 2);
  EXPECT_EQ(columns_of("👍🏽"), 2) << "with a skin tone";
  EXPECT_EQ(columns_of("👨‍👩‍👧"), 2) << "a joined family";
  EXPECT_EQ(columns_of("\x1b[31m\a"), 4) << "control characters have no width of their own";
  EXPECT_EQ(columns_of("\xff\xfe"), 2) << "ill-formed bytes are shown as one column each";
}

TEST(TextWidth, CharactersAreWhatOneKeyDeletes) {
  const std::string text = "a你👍🏽e\xcc\x81";
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = character_end(text, at);
    characters.push_back(text.substr(at, end - at));
    EXPECT_EQ(character_begin(text, end), at);
    at = end;
  }
  EXPECT_EQ(characters, (std::vector<std::string>{"a", "你", "👍🏽", "e\xcc\x81"}));
}

TEST(TextWidth, PrintableTextHoldsNothingThatCommandsATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\rd\te"), "a [2Jb c d e");
  EXPECT_EQ(printable("x\xc2\x9by"), "x y") << "CSI as a C1 control";
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a b")
      << "right-to-left override";
  EXPECT_EQ(printable("ok\xff"), "ok\xef\xbf\xbd");
}

TEST(TextWidth, ClipsBetweenWholeCharacters) {
  EXPECT_EQ(clip("hello", 5), "hello");
  EXPECT_EQ(clip("hello!", 5), "hell…");
  EXPECT_EQ(clip("你好世界", 5), "你好…");
  EXPECT_EQ(clip("你好世界", 6), "你好…") << "half a character is not shown";
  EXPECT_EQ(clip("你", 1), "…");
  EXPECT_EQ(clip("a", 0), "");
}

TEST(TextWidth, FitsToExactlyTheColumns) {
  EXPECT_EQ(fit("你好", 6), "你好  ");
  EXPECT_EQ(fit("12", 4, Align::right), "  12");
  EXPECT_EQ(fit("你好世界", 6), "你好… ");
}

TEST(TextWidth, WrapsAtSpacesOrElseBetweenCharacters) {
  EXPECT_EQ(wrap("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("你好世界", 5), (std::vector<std::string>{"你好", "世界"}));
  EXPECT_EQ(wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("a\n\nb", 9), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(wrap("今天好，明天", 6), (std::vector<std::string>{"今天", "好，明", "天"}))
      << "no line begins with a comma";
  EXPECT_EQ(wrap("", 9), (std::vector<std::string>{""}));
}

RC_GTEST_PROP(TextWidth, WrappedLinesFitAndLoseNothingButSpaces, (const std::string& bytes)) {
  const int columns = *rc::gen::inRange(2, 40);
  const std::string text = printable(bytes);
  std::string joined;
  for (const std::string& line : wrap(text, columns)) {
    RC_ASSERT(columns_of(line) <= columns);
    joined += line;
  }
  auto without_spaces = [](std::string s) {
    std::erase(s, ' ');
    return s;
  };
  RC_ASSERT(without_spaces(joined) == without_spaces(text));
}

RC_GTEST_PROP(TextWidth, WhateverComesFitsExactlyAndIsPrintable, (const std::string& bytes)) {
  const int columns = *rc::gen::inRange(0, 30);
  const std::string out = fit(printable(bytes), columns);
  RC_ASSERT(valid_utf8(out));
  RC_ASSERT(columns_of(out) == columns);
  for (std::size_t at = 0; at < out.size();) RC_ASSERT(!is_control(decode_utf8(out, at)));
}

}  // namespace
}  // namespace tidemark::terminal
