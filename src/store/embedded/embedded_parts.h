// How the two halves of the embedded store are set, for whoever puts them together in another way: without the thread
// of its own, or with something between them.
#pragma once

#include <string>

#include "base/ports.h"
#include "store/embedded/embedded_store.h"
#include "store/log/log_warm.h"
#include "store/rocks/rocks_warm.h"

namespace tidemark {

/// Where the commit log lies.
std::string log_directory(const EmbeddedOptions& options);
/// The sorted files.
RocksOptions sorted_options(const EmbeddedOptions& options);
/// The commit log and what is in memory above the sorted files. `clock` outlives the store.
LogWarmOptions log_options(const EmbeddedOptions& options, const Clock& clock);

}  // namespace tidemark
