#include "sim/texts.h"

#include <fmt/format.h>

#include <charconv>

namespace tidemark::sim {
namespace {

/// Calls `visit` with every number until it returns false.
template <typename Visit>
void each_number(std::string_view bytes, Visit visit) {
  const char* const end = bytes.data() + bytes.size();
  for (auto at = bytes.find('#'); at != std::string_view::npos; at = bytes.find('#', at + 1)) {
    std::uint64_t number = 0;
    const auto [behind, error] = std::from_chars(bytes.data() + at + 1, end, number);
    if (error == std::errc() && behind != end && *behind == ';' && !visit(number)) return;
  }
}

}  // namespace

std::string numbered_text(std::string_view name, std::uint64_t number) {
  return fmt::format("{}#{};", name, number);
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::optional<std::uint64_t> first;
  each_number(text, [&](std::uint64_t number) {
    first = number;
    return false;
  });
  return first;
}

void GoneTexts::add(std::string_view text) {
  if (const auto number = number_of(text)) numbers_.insert(*number);
}

void GoneTexts::lives(std::string_view text) {
  each_number(text, [&](std::uint64_t number) {
    numbers_.erase(number);
    return false;
  });
}

std::optional<std::uint64_t> GoneTexts::find_in(std::string_view bytes) const {
  std::optional<std::uint64_t> found;
  if (numbers_.empty()) return found;
  each_number(bytes, [&](std::uint64_t number) {
    if (numbers_.contains(number) && !lives_(number)) found = number;
    return !found;
  });
  return found;
}

}  // namespace tidemark::sim
