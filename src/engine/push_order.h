// In what order the pushes that wait for a link leave it (design, section 11): conversations with entries of high
// priority first, those with nothing but low ones last, each in the order of its log. An entry that overtakes leaves
// without its index part, which follows at its place in the order of the index; so a link that breaks in between has
// told no more of the index than what it has brought. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/push_ref.h"

namespace tidemark {

struct PushBudget {
  std::size_t entries = 50;
  std::size_t bytes = 64 * 1024;
  bool low_waits = true;  // false: low ones have waited long enough and go with the others
};

struct PushOrder {
  std::vector<PushRef> first;  // what overtakes; a push of its own, so that it need not wait for the rest
  std::vector<PushRef> rest;
  std::size_t begun = 0;      // the first of those that wait that has not left whole; all have: their number
  bool left_entries = false;  // an entry without index part has not left
};

/// What of `waiting`, which is in the order of the index, leaves now. High entries take at most half of the budget as
/// long as others wait.
PushOrder ordered(const std::vector<PushRef>& waiting, const PushBudget& budget);

/// The index part of an entry that has come already.
PushRef index_part(PushRef ref);

/// Whether a message of another priority than normal waits.
bool any_priority(const std::vector<PushRef>& waiting);

/// Whether nothing but messages of low priority waits.
bool all_low(const std::vector<PushRef>& waiting);

}  // namespace tidemark
