// Checks of flags that say in a sentence what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tidemark {

/// A whole number in decimal from `least` to `most`, digits alone.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// Something: an empty variable of a shell is a mistake.
CLI::Validator not_empty();

/// One of the words, as they stand.
CLI::Validator one_of(const std::vector<std::string>& words);

}  // namespace tidemark
