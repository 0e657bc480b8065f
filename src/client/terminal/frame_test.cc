#include "client/terminal/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/terminal/text_table.h"
#include "client/terminal/when.h"

namespace tidemark::terminal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Frame, PutsTextAtColumnsAndCutsWhatHasNoRoom) {
  Frame frame = Frame::blank(8, 2);
  frame.put(0, 0, "你好");
  frame.put(0, 6, "abc");
  frame.put(5, 0, "below");
  EXPECT_THAT(frame.text(), ElementsAre("你好  a…", ""));
}

TEST(Frame, RedrawsOnlyWhatChanged) {
  Frame before = Frame::blank(20, 3);
  before.put(0, 0, "first");
  before.put(1, 0, "second");
  EXPECT_EQ(redraw(before, before), "");
  Frame now = Frame::blank(20, 3);
  now.put(0, 0, "first");
  now.put(1, 0, "other");
  const std::string bytes = redraw(before, now);
  EXPECT_THAT(bytes, HasSubstr("other"));
  EXPECT_THAT(bytes, Not(HasSubstr("first")));
  EXPECT_THAT(bytes, Not(HasSubstr("\x1b[2J")));
}

TEST(Frame, AnotherSizeDrawsEverything) {
  Frame before = Frame::blank(20, 3);
  before.put(0, 0, "first");
  Frame now = Frame::blank(21, 3);
  now.put(0, 0, "first");
  EXPECT_THAT(redraw(before, now), testing::AllOf(HasSubstr("\x1b[2J"), HasSubstr("first")));
}

TEST(TextTable, AlignsWideCharactersAndWrapsTheLastColumn) {
  TextTable table({{"name"}, {"n", Align::right}, {"text"}});
  table.add({"你好", "7", "one two three four five"});
  table.add({"ben", "12", "x"});
  EXPECT_EQ(table.text(Paint::plain, 26),
            "name   n  text\n"
            "你好   7  one two three\n"
            "          four five\n"
            "ben   12  x\n");
}

TEST(TextTable, CellsCannotCommandTheTerminal) {
  TextTable table({{"text"}});
  table.add({"a\x1b[2Jb"});
  EXPECT_EQ(table.text(Paint::plain), "text\na [2Jb\n");
}

TEST(When, IsAsShortAsItIsClear) {
  const std::int64_t noon = 1'795'953'600'000;  // 2026-11-29 12:00:00 UTC
  EXPECT_EQ(short_time(noon, noon + 60'000, 0), "12:00");
  EXPECT_EQ(short_time(noon, noon + 60'000, 8 * 3600), "20:00");
  EXPECT_EQ(short_time(noon - 86'400'000, noon, 0), "11-28 12:00");
  EXPECT_EQ(short_time(noon - 400ll * 86'400'000, noon, 0), "2025-10-25");
  EXPECT_EQ(short_time(0, noon, 0), "");
  EXPECT_EQ(full_time(noon + 9'000, 0), "2026-11-29 12:00:09");
}

}  // namespace
}  // namespace tidemark::terminal
