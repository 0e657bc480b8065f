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

/// The epoch that follows all of these: its number is above all of theirs. `id` is random.
Epoch epoch_after(const std::vector<Epoch>& known, std::uint64_t id);

/// Begins the epoch after a restore, in one durable batch. `others` are the epochs known of elsewhere (of the data that
/// is replaced, noted beside the backup); with the store's own they become its lineage, so that who comes from any of
/// them is told what was lost. REQUIRES: `next` follows all of them.
Result<void> begin_epoch(Warm& warm, const Epoch& next, const std::vector<Epoch>& others);

}  // namespace tidemark
