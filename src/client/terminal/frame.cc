#include "client/terminal/frame.h"

#include <utility>

#include "client/terminal/text_width.h"

namespace tidemark::terminal {
namespace {

void go_to(int row, int column, std::string& out) {
  out += "\x1b[" + std::to_string(row + 1) + ';' + std::to_string(column + 1) + 'H';
}

int colour_number(Colour colour) {
  switch (colour) {
    case Colour::normal:
      return 39;
    case Colour::red:
      return 31;
    case Colour::green:
      return 32;
    case Colour::yellow:
      return 33;
    case Colour::blue:
      return 34;
    case Colour::magenta:
      return 35;
    case Colour::cyan:
      return 36;
    case Colour::grey:
      return 90;
  }
  return 39;
}

/// Every span begins where it belongs, so that a character whose width the terminal sees otherwise shifts no neighbour.
void draw_row(const Row& row, int number, std::string& out) {
  go_to(number, 0, out);
  out += "\x1b[0m\x1b[2K";
  for (const Span& span : row.spans) {
    go_to(number, span.column, out);
    out += styled(span.text, span.style);
  }
}

}  // namespace

std::string switch_to(Style style) {
  std::string out = "\x1b[0";
  if (style.bold) out += ";1";
  if (style.inverse) out += ";7";
  if (style.colour != Colour::normal) out += ';' + std::to_string(colour_number(style.colour));
  return out + 'm';
}

std::string styled(std::string_view text, Style style) {
  if (style == Style{}) return std::string(text);
  return switch_to(style) + std::string(text) + "\x1b[0m";
}

Frame Frame::blank(int width, int height) {
  Frame frame;
  frame.width = width;
  frame.height = height;
  frame.rows.resize(static_cast<std::size_t>(height));
  return frame;
}

void Frame::put(int row, int column, std::string_view text, Style style) {
  if (row < 0 || row >= height || column >= width || text.empty()) return;
  rows[static_cast<std::size_t>(row)].spans.push_back({column, clip(text, width - column), style});
}

std::vector<std::string> Frame::text() const {
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (const Span& span : row.spans) line = fit(line, span.column) + span.text;
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string redraw(const Frame& before, const Frame& now) {
  if (before == now) return {};
  const bool known = before.width == now.width && before.height == now.height;
  std::string out = "\x1b[?25l";
  if (!known) out += "\x1b[0m\x1b[2J";
  for (std::size_t i = 0; i < now.rows.size(); ++i)
    if (!known || before.rows[i] != now.rows[i]) draw_row(now.rows[i], static_cast<int>(i), out);
  go_to(now.cursor_row, now.cursor_column, out);
  return out + "\x1b[?25h";
}

}  // namespace tidemark::terminal
