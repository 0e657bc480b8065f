// Texts of the simulator: each bears a number of its own, by which it is found again in any bytes, so that a text that
// was taken back can be looked for wherever it should not be (I11).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tidemark::sim {

/// A text that nobody else has: "name#number;".
std::string numbered_text(std::string_view name, std::uint64_t number);

/// Its number; nothing when it has none. What follows is a quote, of somebody else's.
std::optional<std::uint64_t> number_of(std::string_view text);

class GoneTexts {
 public:
  /// `lives`: whether another message says the same, such as one that was sent once more.
  explicit GoneTexts(std::function<bool(std::uint64_t)> lives = [](std::uint64_t) { return false; })
      : lives_(std::move(lives)) {}

  void clear() { numbers_.clear(); }
  /// Texts without a number are nobody's.
  void add(std::string_view text);
  /// It is said again: a user may send anew what he does not know to have arrived.
  void lives(std::string_view text);
  /// The number of one that stands in `bytes`.
  std::optional<std::uint64_t> find_in(std::string_view bytes) const;

 private:
  std::function<bool(std::uint64_t)> lives_;
  std::set<std::uint64_t> numbers_;
};

}  // namespace tidemark::sim
