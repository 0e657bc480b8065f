// The epochs of a store (design, section 2): a restore begins a new one, so that no number is ever used for two things.
#pragma once

#include <optional>

#include "core/types.h"
#include "store/warm.h"

namespace tidemark {

/// The present epoch; nothing in a store that was never used.
Result<std::optional<Epoch>> epoch_in(const Snapshot& snapshot);

/// Begins the first epoch of a new store.
Result<Epoch> begin_first_epoch(Warm& warm, std::uint64_t id);

/// All epochs that the store has been in, ascending, the present one last.
Result<std::vector<Epoch>> epochs_of(const Snapshot& snapshot);

/// Begins the epoch after a restore, in one durable batch: its number is above the store's own and above those of
/// `others`, which are known of elsewhere (the data that is replaced, a note beside the backup). They all become its
/// lineage, so that who comes from any of them is told what was lost. `id` is random.
Result<Epoch> begin_epoch(Warm& warm, std::uint64_t id, std::vector<Epoch> others);

}  // namespace tidemark
