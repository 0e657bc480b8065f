// Cutting a text for a preview without breaking a character.
#pragma once

#include <cstddef>
#include <string_view>

namespace tidemark {

struct TextCut {
  std::string_view text;  // a front part of the text given
  bool cut = false;
};

/// The longest front part of at most `bytes_max` bytes that ends between two user-perceived characters (extended
/// grapheme clusters, UAX #29). Where the full rules need tables of their own (pictographs, Indic conjuncts) it keeps
/// more together than they do, never less. Empty with cut = true when the first character alone is longer. Any bytes
/// are taken; text that is not UTF-8 is cut somewhere. Pure and thread-safe.
TextCut cut_text(std::string_view text, std::size_t bytes_max);

}  // namespace tidemark
