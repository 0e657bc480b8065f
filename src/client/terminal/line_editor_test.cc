#include "client/terminal/line_editor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "client/terminal/text_width.h"

namespace tidemark::terminal {
namespace {

LineEditor with(std::string_view text) {
  LineEditor editor;
  editor.insert(text);
  return editor;
}

void press(LineEditor& editor, std::initializer_list<KeyKind> kinds) {
  for (const KeyKind kind : kinds) EXPECT_TRUE(editor.take({kind}));
}

TEST(LineEditor, BackspaceTakesWholeCharacters) {
  LineEditor editor = with("a你👍🏽");
  press(editor, {KeyKind::backspace});
  EXPECT_EQ(editor.text(), "a你");
  press(editor, {KeyKind::backspace});
  EXPECT_EQ(editor.text(), "a");
  press(editor, {KeyKind::backspace, KeyKind::backspace});
  EXPECT_EQ(editor.text(), "");
}

TEST(LineEditor, EditsInTheMiddle) {
  LineEditor editor = with("你好");
  press(editor, {KeyKind::left});
  editor.insert("们");
  EXPECT_EQ(editor.text(), "你们好");
  press(editor, {KeyKind::home, KeyKind::erase});
  EXPECT_EQ(editor.text(), "们好");
  press(editor, {KeyKind::end});
  editor.insert("!");
  EXPECT_EQ(editor.text(), "们好!");
}

TEST(LineEditor, DeletesWordsAndEnds) {
  LineEditor editor = with("one two  three");
  press(editor, {KeyKind::kill_word});
  EXPECT_EQ(editor.text(), "one two  ");
  press(editor, {KeyKind::kill_word});
  EXPECT_EQ(editor.text(), "one ");
  editor = with("one two");
  press(editor, {KeyKind::left, KeyKind::left, KeyKind::left, KeyKind::kill_line});
  EXPECT_EQ(editor.text(), "two");
  press(editor, {KeyKind::right, KeyKind::kill_rest});
  EXPECT_EQ(editor.text(), "t");
}

TEST(LineEditor, LeavesKeysOfOthersAlone) {
  LineEditor editor = with("x");
  for (const KeyKind kind : {KeyKind::enter, KeyKind::tab, KeyKind::up, KeyKind::page_up, KeyKind::escape})
    EXPECT_FALSE(editor.take({kind}));
  EXPECT_EQ(editor.release(), "x");
  EXPECT_EQ(editor.text(), "");
  EXPECT_EQ(editor.cursor(), 0u);
}

TEST(LineEditor, TheWindowFollowsTheCursor) {
  LineEditor editor = with("0123456789");
  EXPECT_EQ(editor.window(6).text, "6789");
  EXPECT_EQ(editor.window(6).cursor_column, 4);
  press(editor, {KeyKind::home});
  EXPECT_EQ(editor.window(6).text, "01234…");
  EXPECT_EQ(editor.window(6).cursor_column, 0);
  EXPECT_EQ(with("a\nb").window(9).text, "a⏎b");
}

RC_GTEST_PROP(LineEditor, AnyKeysKeepTheTextWholeAndTheCursorInTheWindow, ()) {
  LineEditor editor;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 13));
  const std::string inserts[] = {"a", " ", "你", "e\xcc\x81", "👨‍👩‍👧", "\xcc\x81"};
  const KeyKind kinds[] = {KeyKind::backspace, KeyKind::erase,     KeyKind::left,     KeyKind::right,
                           KeyKind::home,      KeyKind::kill_word, KeyKind::kill_rest};
  for (const int step : steps) {
    if (step < 6)
      editor.insert(inserts[step]);
    else
      editor.take({kinds[step - 6]});
    RC_ASSERT(valid_utf8(editor.text()));
    std::size_t border = 0;
    while (border < editor.cursor()) border = character_end(editor.text(), border);
    RC_ASSERT(border == editor.cursor());
    const auto window = editor.window(8);
    RC_ASSERT(window.cursor_column >= 0 && window.cursor_column < 8);
    RC_ASSERT(columns_of(window.text) <= 8);
  }
}

}  // namespace
}  // namespace tidemark::terminal
