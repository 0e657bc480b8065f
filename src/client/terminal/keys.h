// What a terminal in raw mode sends, as keys (ECMA-48 sequences as xterm, tmux, the Linux console and their kin send
// them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::terminal {

enum class KeyKind : std::uint8_t {
  text,  // see Key::text
  enter,
  backspace,
  erase,  // Delete: the character behind the cursor
  left,
  right,
  up,
  down,
  home,
  end,
  page_up,
  page_down,
  tab,
  back_tab,
  escape,
  kill_line,     // Ctrl-U
  kill_rest,     // Ctrl-K
  kill_word,     // Ctrl-W
  interrupt,     // Ctrl-C
  end_of_input,  // Ctrl-D
  redraw,        // Ctrl-L
};

struct Key {
  KeyKind kind = KeyKind::text;
  std::string text = {};  // valid UTF-8; line breaks only from a paste
  bool operator==(const Key&) const = default;
};

/// Bytes to keys, however they are cut into reads. Unknown sequences are dropped whole; a paste (bracketed) is text,
/// whatever control characters it holds.
class KeyDecoder {
 public:
  std::vector<Key> feed(std::string_view bytes);
  /// Nothing came for a moment: an ESC that stands alone is the Escape key, half a sequence is dropped.
  std::vector<Key> pause();
  /// Bytes wait for more: call pause() if none come for some 50 ms.
  bool waiting() const { return !pending_.empty() && !pasting_; }

 private:
  std::size_t take_one(std::vector<Key>& keys);
  std::size_t take_escape(std::vector<Key>& keys);
  std::size_t take_sequence(std::size_t begin, std::vector<Key>& keys);
  void add_text(std::string_view text, std::vector<Key>& keys);

  std::string pending_;
  bool pasting_ = false;
};

}  // namespace tidemark::terminal
