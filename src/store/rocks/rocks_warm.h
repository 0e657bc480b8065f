// The Warm port on RocksDB, for the embedded store. How it survives failing disks is told in docs/store.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/warm.h"

namespace rocksdb {
class Env;
}

namespace tidemark {

struct RocksOptions {
  /// The directory of this store alone; made when absent, with its parents.
  std::string path;
  /// Blocks, indexes and filters of all tables together.
  std::size_t block_cache_bytes = 256u << 20;
  /// Writes not yet in sorted files, all tables together.
  std::size_t memtable_bytes = 128u << 20;
  /// Past this the oldest memtables are written out. Also what a start or a recovery replays at most, and about the
  /// space that a recovery needs.
  std::size_t max_wal_bytes = 64u << 20;
  /// Sorted files held open at a time; twice as many during a recovery.
  int max_open_files = 1000;
  /// Batches of at least so many operations, in the order of their keys and without ranges, go past log and memtables
  /// as sorted files; 0: none do.
  std::size_t ingest_operations = 0;
  /// Threads that write out and merge sorted files.
  int background_jobs = 2;

  /// For tests: the world that RocksDB sees (null: the machine's), and a fault in the named step of a recovery:
  /// "prepare", "link", "open", "verify", "probe", "publish", "published". True makes that step fail.
  rocksdb::Env* env = nullptr;
  std::function<bool(std::string_view step)> recovery_fault;
};

struct RocksWarm {
  /// The version of the directory's layout and of the adapter's own rows. Another one is refused at open.
  static constexpr std::uint32_t kFormat = 8;

  /// Opens or makes the store. RETRY_LATER when another process holds it, when the disk fails or is full; INTERNAL when
  /// the data is damaged or its format unknown. Every error's detail names the directory and says what to do.
  static Result<std::unique_ptr<Warm>> open(RocksOptions options);
};

}  // namespace tidemark
