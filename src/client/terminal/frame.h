// What a terminal shows, as a value, and the bytes that bring a terminal from one frame to the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::terminal {

enum class Colour : std::uint8_t { normal, red, green, yellow, blue, magenta, cyan, grey };

struct Style {
  Colour colour = Colour::normal;
  bool bold = false;
  bool inverse = false;
  bool operator==(const Style&) const = default;
};

/// The bytes that switch a terminal to a style, whatever it had before.
std::string switch_to(Style style);
/// The text in a style, which ends with it; the text alone for the plain style.
std::string styled(std::string_view text, Style style);

/// Text at a column. REQUIRES: the text is printable (text_width.h).
struct Span {
  int column = 0;  // 0 is leftmost
  std::string text;
  Style style = {};
  bool operator==(const Span&) const = default;
};

struct Row {
  std::vector<Span> spans;  // ascending by column, not overlapping
  bool operator==(const Row&) const = default;
};

struct Frame {
  int width = 0;
  int height = 0;
  std::vector<Row> rows;  // as many as `height`
  int cursor_row = 0;
  int cursor_column = 0;
  bool operator==(const Frame&) const = default;

  /// A frame of empty rows.
  static Frame blank(int width, int height);
  void put(int row, int column, std::string_view text, Style style = {});
  /// Without colours, each row without spaces at its end: for tests and for people.
  std::vector<std::string> text() const;
};

/// The bytes that make a terminal that shows `before` show `now`: only rows that differ are written. Empty when nothing
/// differs. A frame of another size, such as Frame{}, means that nothing is known of the screen.
std::string redraw(const Frame& before, const Frame& now);

}  // namespace tidemark::terminal
