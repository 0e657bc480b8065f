#include "client/terminal/text_table.h"

#include <algorithm>
#include <utility>

namespace tidemark::terminal {
namespace {

constexpr std::string_view kGap = "  ";
constexpr int kLastColumnLeast = 16;

const Cell& cell_of(const std::vector<Cell>& row, std::size_t column) {
  static const Cell empty;
  return column < row.size() ? row[column] : empty;
}

std::string painted(std::string_view text, Style style, Paint paint) {
  return paint == Paint::coloured ? styled(text, style) : std::string(text);
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

std::string TextTable::text(Paint paint, int width) const {
  if (columns_.empty()) return {};
  const std::size_t last = columns_.size() - 1;
  std::vector<int> widths;
  int before_last = 0;
  for (std::size_t i = 0; i < last; ++i) {
    int widest = columns_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, columns_of(printable(cell_of(row, i).text)));
    widths.push_back(std::min(widest, columns_[i].most));
    before_last += widths.back() + static_cast<int>(kGap.size());
  }
  const int last_width = std::min(columns_[last].most, std::max(kLastColumnLeast, width - before_last));

  std::string out;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::string title = i < last ? fit(columns_[i].title, widths[i], columns_[i].align) : columns_[i].title;
    out += painted(title, {.colour = Colour::grey}, paint);
    if (i < last) out += kGap;
  }
  end_line(out);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < last; ++i) {
      const Cell& cell = cell_of(row, i);
      out += painted(fit(printable(cell.text), widths[i], columns_[i].align), cell.style, paint);
      out += kGap;
    }
    const Cell& cell = cell_of(row, last);
    const auto lines = wrap(cell.text, last_width);
    for (std::size_t line = 0; line < lines.size(); ++line) {
      if (line > 0) out += std::string(static_cast<std::size_t>(before_last), ' ');
      out += painted(lines[line], cell.style, paint);
      end_line(out);
    }
  }
  return out;
}

}  // namespace tidemark::terminal
