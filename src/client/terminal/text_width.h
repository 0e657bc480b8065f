// Text on a terminal's grid: how many columns it takes, where its characters begin and end, and how it is cut to fit.
// A character here is what a person deletes with one key: a code point with the marks and joined emoji behind it.
// Pure; ill-formed bytes count as one character of one column and are shown as U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::terminal {

/// Columns of a code point: 0 for marks and control characters, 2 for what East Asian terminals show wide (Unicode's
/// East_Asian_Width W and F, emoji included), 1 for the rest.
int columns_of(char32_t c);

/// Columns of a text; that of a character is that of its first code point.
int columns_of(std::string_view text);

/// Where the character that begins at `at` ends. REQUIRES at < text.size().
std::size_t character_end(std::string_view text, std::size_t at);

/// Where the character that ends at `at` begins. REQUIRES 0 < at <= text.size(), a border of characters.
std::size_t character_begin(std::string_view text, std::size_t at);

/// Text that is safe on one line of a terminal: control characters (line breaks and escapes too) and marks that turn
/// the direction of writing become a space, ill-formed bytes U+FFFD.
std::string printable(std::string_view text);

/// The text if it fits, otherwise its beginning with "…", in at most `columns` columns.
std::string clip(std::string_view text, int columns);

enum class Align : std::uint8_t { left, right };
/// Clipped, then filled with spaces to exactly `columns` columns.
std::string fit(std::string_view text, int columns, Align align = Align::left);

/// Lines of at most `columns` columns: broken at line breaks, at spaces where there are any, otherwise between
/// characters. Every line is printable. At least one line; columns below 2 are taken as 2.
std::vector<std::string> wrap(std::string_view text, int columns);

}  // namespace tidemark::terminal
