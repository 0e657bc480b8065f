// The embedded store of one machine, as it lies in a directory: the commit log above sorted files.
//
//   <path>/LOCK, FORMAT, CURRENT_DB, db-<n>/   the sorted store (store/directory.h)
//   <path>/log/                                the commit log (store/log/commit_log.h)
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ports.h"
#include "store/warm.h"

namespace tidemark {

struct EmbeddedOptions {
  /// The directory of this store alone; made when absent, with its parents.
  std::string path;
  /// Memory for blocks, indexes and filters of the sorted files.
  std::size_t cache_bytes = 128u << 20;
  /// Memory for what was committed and is not in sorted files yet.
  std::size_t write_buffer_bytes = 128u << 20;
  /// Size of one file of the commit log.
  std::uint64_t segment_bytes = 16u << 20;
  /// Commits are refused, before a byte is written, while less is free on the disk; 0 turns that off.
  std::uint64_t min_free_bytes = 64u << 20;
};

/// Opens or makes the store; replays what the log holds above the sorted files. `clock` outlives the store. RETRY_LATER
/// when another process holds it, when the disk fails or is full; INTERNAL when the data is damaged or its format
/// unknown. Every error's detail names the directory and says what to do.
Result<std::unique_ptr<Warm>> open_embedded_store(const EmbeddedOptions& options, const Clock& clock, Random& random);

}  // namespace tidemark
