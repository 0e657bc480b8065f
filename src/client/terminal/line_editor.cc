#include "client/terminal/line_editor.h"

#include <algorithm>
#include <utility>

#include "client/terminal/text_width.h"

namespace tidemark::terminal {
namespace {

/// As the line shows it. A line break is one column, so that places stay countable.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "⏎";
    else
      out += c;
  }
  return printable(out);
}

}  // namespace

bool LineEditor::take(const Key& key) {
  switch (key.kind) {
    case KeyKind::text:
      insert(key.text);
      return true;
    case KeyKind::backspace:
      if (cursor_ > 0) erase(character_begin(text_, cursor_), cursor_);
      return true;
    case KeyKind::erase:
      if (cursor_ < text_.size()) erase(cursor_, character_end(text_, cursor_));
      return true;
    case KeyKind::left:
      if (cursor_ > 0) cursor_ = character_begin(text_, cursor_);
      return true;
    case KeyKind::right:
      if (cursor_ < text_.size()) cursor_ = character_end(text_, cursor_);
      return true;
    case KeyKind::home:
      cursor_ = 0;
      return true;
    case KeyKind::end:
      cursor_ = text_.size();
      return true;
    case KeyKind::kill_line:
      erase(0, cursor_);
      return true;
    case KeyKind::kill_rest:
      erase(cursor_, text_.size());
      return true;
    case KeyKind::kill_word:
      erase(word_begin(), cursor_);
      return true;
    default:
      return false;
  }
}

void LineEditor::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
  // A mark joins the character before it, and what was behind the cursor may join what came: stand behind all of it.
  std::size_t border = 0;
  while (border < cursor_) border = character_end(text_, border);
  cursor_ = border;
}

void LineEditor::clear() {
  text_.clear();
  cursor_ = 0;
}

std::string LineEditor::release() {
  cursor_ = 0;
  return std::exchange(text_, {});
}

void LineEditor::erase(std::size_t begin, std::size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
  std::size_t border = 0;
  while (border < cursor_) border = character_end(text_, border);
  cursor_ = border;
}

/// The beginning of the word before the cursor, as a shell's Ctrl-W: spaces, then what is no space.
std::size_t LineEditor::word_begin() const {
  std::size_t at = cursor_;
  while (at > 0 && text_[at - 1] == ' ') --at;
  while (at > 0 && text_[at - 1] != ' ') --at;
  return at;
}

LineEditor::Window LineEditor::window(int columns) const {
  columns = std::max(columns, 3);
  const std::string before = shown(std::string_view(text_).substr(0, cursor_));
  const std::string after = shown(std::string_view(text_).substr(cursor_));
  // Cut whole characters off the front until the cursor has its place.
  std::size_t from = 0;
  int used = columns_of(before);
  while (used >= columns - 1 && from < before.size()) {
    const std::size_t next = character_end(before, from);
    used -= columns_of(std::string_view(before).substr(from, next - from));
    from = next;
  }
  Window window;
  window.cursor_column = used;
  window.text = before.substr(from) + clip(after, columns - used);
  return window;
}

}  // namespace tidemark::terminal
