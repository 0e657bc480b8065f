// The epochs of a store, noted in a small text file beside it: readable when the store is not, and beside a backup that
// was restored before. One line for each: its number, a space, its id as 16 hex digits.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/types.h"
#include "store/warm.h"

namespace tidemark {

/// The noted epochs; none when there is no such file. MALFORMED, with what to do, when it is damaged.
Result<std::vector<Epoch>> read_epoch_notes(const std::string& directory);
/// Adds epochs to the note, durably.
Result<void> add_epoch_notes(const std::string& directory, const std::vector<Epoch>& epochs);
/// Notes the epochs of a store beside it, unless they are.
Result<void> note_epochs_of(const Warm& warm, const std::string& directory);

/// RETRY_LATER when a restore into this directory was interrupted: an empty store must not take its place.
Result<void> check_no_restore_open(const std::string& directory);

/// Where a restore builds the store until it is whole.
inline constexpr const char* kRestoring = "store.restoring";

}  // namespace tidemark
