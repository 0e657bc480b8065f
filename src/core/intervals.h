// Sets of seqs as intervals (after, to]: ascending, disjoint and with a gap between any two.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"

namespace tidemark {

using Intervals = std::vector<Interval>;

/// The set that these parts make up, in whatever order and overlap they come; empty ones are dropped.
Intervals joined(Intervals parts);

/// What is in `whole` and not in `taken`; both must be sets as above.
Intervals minus(const Intervals& whole, const Intervals& taken);

/// The part of `whole` inside (after, to].
Intervals clipped(const Intervals& whole, Seq after, Seq to);

/// How many seqs the set holds.
std::uint64_t length_of(const Intervals& whole);

/// Whether the set holds `seq`.
bool holds(const Intervals& whole, Seq seq);

}  // namespace tidemark
