// The one rule for gaps in what a store shows.
#pragma once

#include <optional>

#include "core/replica/state.h"

namespace tidemark {

/// Whether rows may be missing between the row `seq` and the next lower one that is stored. What is covered without a
/// row, such as an edit, shows nothing.
inline bool gap_below(const replica::ConversationState& state, Seq seq, std::optional<Seq> lower) {
  const auto known_down_to = [&](Seq place) {
    return !place || (lower && place <= *lower) || (state.bottom && place <= *state.bottom);
  };
  const Seq below = seq - 1;
  if (known_down_to(below)) return false;
  // What its user deleted for himself is held by nobody and missing to nobody.
  replica::Coverage known = state.coverage;
  for (const Interval& deleted : state.deleted.ranges()) known.add(deleted);
  const auto range = known.range_of(below);
  return !range || !known_down_to(range->after);
}

}  // namespace tidemark
