#include "core/text_cut.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "base/utf8.h"

namespace tidemark {
namespace {

/// Every cut of characters put one after another must end between two of them.
void expect_cuts_between(const std::vector<std::string>& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  for (std::size_t most = 0; most <= text.size() + 1; ++most) {
    std::string whole;
    for (const std::string& character : characters) {
      if (whole.size() + character.size() > most) break;
      whole += character;
    }
    const TextCut cut = cut_text(text, most);
    EXPECT_EQ(cut.text, whole) << text << " at " << most;
    EXPECT_EQ(cut.cut, whole != text) << text << " at " << most;
  }
}

TEST(TextCut, what_fits_stays_whole) {
  EXPECT_EQ(cut_text("", 0).text, "");
  EXPECT_FALSE(cut_text("", 0).cut);
  EXPECT_FALSE(cut_text("abc", 3).cut);
  EXPECT_EQ(cut_text("abcd", 3).text, "abc");
  EXPECT_TRUE(cut_text("abcd", 3).cut);
}

TEST(TextCut, plain_letters_and_han) {
  expect_cuts_between({"a", "é", "你", "好", "。", "ゞ", "ア", "ж", "𠀀", "b"});
}

TEST(TextCut, combining_marks_stay_with_their_letter) {
  expect_cuts_between({"x", "e\u0301", "a\u0323\u0302", "が", "か\u3099", "n\u20dd", "ก\u0e33", "ｶ\uff9e"});
}

TEST(TextCut, a_letter_under_a_thousand_marks_is_not_shown_in_part) {
  std::string text = "a";
  for (int i = 0; i < 1'000; ++i) text += "\u0301";
  const TextCut cut = cut_text(text, 240);
  EXPECT_EQ(cut.text, "");
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut_text("hi " + text, 240).text, "hi ");
}

TEST(TextCut, emoji_of_many_parts) {
  expect_cuts_between({
      "👩\u200d👩\u200d👧\u200d👦",                                      // family: joined by ZWJ
      "👍🏽",                                                            // skin tone
      "❤\ufe0f",                                                         // variation selector
      "1\ufe0f\u20e3",                                                   // keycap
      "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  // tags: Scotland
      "🧑🏻\u200d❤\ufe0f\u200d🧑🏿",
      "😀",
  });
}

TEST(TextCut, flags_are_pairs) {
  expect_cuts_between({"🇨🇳", "🇩🇪", "🇫🇷", "x", "🇯🇵", "🇨"});
}

TEST(TextCut, hangul_syllables) {
  expect_cuts_between({"한", "국", "\u1112\u1161\u11ab", "\u1100\u1100\u1161", "가\u11a8", "각\u11a8", "x", "\u1100"});
}

TEST(TextCut, lines_and_controls) {
  expect_cuts_between({"a", "\r\n", "b", "\n", "\r", "c", "\t", "\u0301", "\u2028", "d"});
}

TEST(TextCut, indic_conjuncts_and_signs) {
  expect_cuts_between({"क\u094dष", "त\u094d\u200dय", "न\u093f", "ক\u09cdষ", "த\u0bbf", "a"});
  expect_cuts_between({"x", "\u0600\u0661", "y"});  // a sign that stands before its digit
}

TEST(TextCut, any_valid_text_stays_valid_and_cuts_grow) {
  EXPECT_TRUE(rc::check([] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "你", "\u0301", "\u200d", "👍", "🏽", "🇨", "\r", "\n", "\u094d", "क", "\u1100", "\u1161", "한", "\u0600"));
    std::string text;
    for (const std::string& part : parts) text += part;
    std::size_t last = 0;
    for (std::size_t most = 0; most <= text.size(); ++most) {
      const TextCut cut = cut_text(text, most);
      RC_ASSERT(cut.text.size() <= most);
      RC_ASSERT(valid_utf8(cut.text));
      RC_ASSERT(cut.cut == (cut.text.size() < text.size()));
      RC_ASSERT(cut.text.size() >= last);
      RC_ASSERT(cut.text == text.substr(0, cut.text.size()));
      last = cut.text.size();
    }
    RC_ASSERT(last == text.size());
  }));
}

TEST(TextCut, any_bytes_are_taken) {
  EXPECT_TRUE(rc::check([](const std::string& bytes, unsigned char most) {
    const TextCut cut = cut_text(bytes, most);
    RC_ASSERT(cut.text.size() <= most);
    RC_ASSERT(bytes.starts_with(cut.text));
  }));
}

}  // namespace
}  // namespace tidemark
