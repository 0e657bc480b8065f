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
  /// How long files of the log that are not needed any more are kept, to restore a backup to a point in time; 0: they
  /// are used again.
  std::int64_t archive_ms = 0;
  /// Commits are refused, before a byte is written, while less is free on the disk; 0 turns that off.
  std::uint64_t min_free_bytes = 64u << 20;
};

/// Opens or makes the store; replays what the log holds above the sorted files. `clock` outlives the store. RETRY_LATER
/// when another process holds it, when the disk fails or is full; INTERNAL when the data is damaged or its format
/// unknown. Every error's detail names the directory and says what to do.
Result<std::unique_ptr<Warm>> open_embedded_store(const EmbeddedOptions& options, const Clock& clock, Random& random);

struct Settled {
  std::int64_t last_ms = 0;  // when the last of what was replayed was written; 0: nothing was
};

/// For a restore into `options.path`, which holds a copy of a store: adds the files of the commit log, archived or not,
/// that are in the directory `log` (empty: none) and puts all that was committed by `until_ms` into the sorted files.
/// What is committed from now on is another history: no log written before can be replayed over it. Errors as above;
/// INTERNAL also when files are missing between the copy and `log`.
Result<Settled> settle_embedded_store(const EmbeddedOptions& options, const std::string& log, std::int64_t until_ms,
                                      const Clock& clock, Random& random);

}  // namespace tidemark
