// What an edit, a recall or an operator's deletion makes of the row it changes (design, sections 2 and 7). Plain
// functions: a join, so that late, twice or out of order comes to the same.
#pragma once

#include "core/replica/state.h"

namespace tidemark::replica {

/// live < edited(revision) < dead.
bool outranks(const RowNote& a, const RowNote& b);

/// Kinds that change no row but their own.
bool touches_nothing(EntryKind kind);
/// Kinds that change the row of their target, and are no row themselves. Those of later versions, which are neither
/// this nor touch nothing, may have changed any older row: the server tells its present state.
bool changes_target(EntryKind kind);

/// The row of `row.seq` after `change`, which is of its target. Unchanged if it is further already.
Entry folded(Entry row, const Entry& change);
/// `row` in the state that a copy of it is known to have reached.
Entry brought_to(Entry row, const Entry& further);

}  // namespace tidemark::replica
