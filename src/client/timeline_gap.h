// The one rule for gaps in what a store shows.
#pragma once

#include "core/replica/state.h"

namespace tidemark {

/// Whether rows are missing directly below `seq`. `row_below`: the row of seq - 1 is stored.
inline bool gap_below(const replica::ConversationState& state, Seq seq, bool row_below) {
  const Seq below = seq - 1;
  const bool bottom = !below || (state.bottom && below <= *state.bottom);
  return !bottom && !row_below && !state.coverage.contains(below);
}

}  // namespace tidemark
