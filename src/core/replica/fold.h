// What an edit, a recall, an operator's deletion or a reaction makes of the row it changes (design, sections 2 and 7).
// Plain functions: a join, so that late, twice or out of order comes to the same.
#pragma once

#include "core/replica/state.h"

namespace tidemark::replica {

/// Whether `a` has heard of something that `b` has not: live < edited(revision) < dead, and apart from that the last
/// reaction. Of two live rows each may.
bool outranks(const RowNote& a, const RowNote& b);

/// Kinds that change no row but their own.
bool touches_nothing(EntryKind kind);
/// Kinds that change the row of their target, and are no row themselves. Those of later versions, which are neither
/// this nor touch nothing and so not known, may have changed any older row: the server tells its present state.
bool changes_target(EntryKind kind);
bool is_known(EntryKind kind);

/// The row of `row.seq` after `change`, which is of its target. Unchanged if it is further already. A reaction tells
/// all numbers, but of this user's own ones only what it changed: REQUIRES that none before it was missed.
Entry folded(Entry row, const Entry& change, const UserId& me);
/// `row`, and whatever more a copy of it is known to have heard of.
Entry brought_to(Entry row, const Entry& further);

}  // namespace tidemark::replica
