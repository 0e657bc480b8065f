// Tables of text for people, aligned by columns on the screen (wide characters count two).
#pragma once

#include <string>
#include <vector>

#include "client/terminal/frame.h"
#include "client/terminal/text_width.h"

namespace tidemark::terminal {

/// One cell; its text is made printable.
struct Cell {
  Cell() = default;
  // Implicit, so that rows read as lists of texts.
  Cell(std::string cell_text, Style cell_style = {})  // NOLINT(google-explicit-constructor)
      : text(std::move(cell_text)), style(cell_style) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT(google-explicit-constructor)
  std::string text;
  Style style = {};
};

struct Column {
  std::string title;
  Align align = Align::left;
  int most = 1'000;  // columns of the screen at most; longer text is cut, in the last column wrapped
};

enum class Paint : std::uint8_t { plain, coloured };

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells that are missing are empty.
  void add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  /// The lines, titles first, each ended by '\n'; columns are as wide as what they hold, two spaces apart. What the
  /// last column holds beyond `width` columns of the whole line goes on in further lines beneath it.
  std::string text(Paint paint, int width = 1'000) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tidemark::terminal
