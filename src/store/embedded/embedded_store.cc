#include "store/embedded/embedded_store.h"

#include <algorithm>
#include <utility>

#include "store/directory.h"
#include "store/keys.h"
#include "store/log/disk_files.h"
#include "store/log/log_warm.h"
#include "store/rocks/rocks_warm.h"

namespace tidemark {
namespace {

// What goes through RocksDB's own log and memtables: markers, and batches of ranges or of a few rows.
constexpr std::size_t kMemtableBytes = 16u << 20;
constexpr std::size_t kOwnLogBytes = 8u << 20;
constexpr std::size_t kIngestOperations = 2'000;  // from here on a sorted file costs less
constexpr std::size_t kBatchBytes = 32u << 20;

}  // namespace

Result<std::unique_ptr<Warm>> open_embedded_store(const EmbeddedOptions& options, const Clock& clock, Random& random) {
  RocksOptions rocks;
  rocks.path = options.path;
  rocks.block_cache_bytes = options.cache_bytes;
  rocks.memtable_bytes = kMemtableBytes;
  rocks.max_wal_bytes = kOwnLogBytes;
  rocks.ingest_operations = kIngestOperations;
  rocks.min_free_bytes = 0;  // what is confirmed may use the reserve on its way into sorted files
  TM_ASSIGN(std::unique_ptr<Warm> sorted, RocksWarm::open(rocks));

  const std::string directory = options.path + "/log";
  TM_TRY(make_directories(directory));
  LogWarmOptions log;
  log.log.segment_bytes = options.segment_bytes;
  log.overlay_bytes = options.write_buffer_bytes / 2;  // one is filled while another goes into sorted files
  log.batch_bytes = std::min(kBatchBytes, log.overlay_bytes);
  log.wall_ms = [&clock] { return clock.wall_ms(); };
  TM_ASSIGN(std::unique_ptr<Warm> store,
            LogWarm::open(std::make_shared<DiskFiles>(directory, options.min_free_bytes), std::move(sorted),
                          keys::owner_bytes, std::move(log), random.next_u64()));
  return store;
}

}  // namespace tidemark
