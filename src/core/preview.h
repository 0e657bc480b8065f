// The short form of a message that lists of conversations show.
#pragma once

#include <cstddef>

#include "core/results.h"

namespace tidemark {

/// Of a message: its summary, or else its text, cut to `bytes_max` bytes between whole characters; of a dead one only
/// whose it was and when. Pure and thread-safe.
Preview preview_of(const Entry& entry, std::size_t bytes_max);

}  // namespace tidemark
