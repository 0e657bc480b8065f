// One line of text under the user's keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/terminal/keys.h"

namespace tidemark::terminal {

/// Not thread-safe. The text is always valid UTF-8; the cursor stands between whole characters.
class LineEditor {
 public:
  /// Edits by the key if it is one for a line; false for all others (Enter, Tab, Up ...).
  bool take(const Key& key);
  void insert(std::string_view text);
  void clear();
  /// Hands over the text and becomes empty.
  std::string release();

  const std::string& text() const { return text_; }
  std::size_t cursor() const { return cursor_; }

  /// The part of the line that a window of so many columns shows, the cursor always inside; line breaks show as "⏎".
  struct Window {
    std::string text;
    int cursor_column = 0;
  };
  Window window(int columns) const;

 private:
  void erase(std::size_t begin, std::size_t end);
  std::size_t word_begin() const;

  std::string text_;
  std::size_t cursor_ = 0;  // byte offset
};

}  // namespace tidemark::terminal
