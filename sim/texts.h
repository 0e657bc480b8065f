// Texts of the simulator: each bears a number of its own, by which it is found again in any bytes, so that a text that
// was taken back can be looked for wherever it should not be (I11).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tidemark::sim {

/// A text that nobody else has: "name#number;".
std::string numbered_text(std::string_view name, std::uint64_t number);

class GoneTexts {
 public:
  /// Texts without a number are nobody's.
  void add(std::string_view text);
  /// It is said again: a user may send anew what he does not know to have arrived.
  void lives(std::string_view text);
  /// The number of one that stands in `bytes`.
  std::optional<std::uint64_t> find_in(std::string_view bytes) const;

 private:
  std::set<std::uint64_t> numbers_;
};

}  // namespace tidemark::sim
