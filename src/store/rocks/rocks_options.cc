#include "store/rocks/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace tidemark {
namespace {

/// Tells of background errors, and keeps RocksDB from recovering on its own: what failed is decided by recover().
class Watcher final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    log_error("the store's database stopped writing", {{"reason", status->ToString()}});
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

/// RocksDB's own log goes into ours, warnings and errors alone. Not into its file LOG: that is written through the same
/// class as the data, which in Debian's build (with assertions) ends the process at the first line after one that did
/// not fit on the disk.
class MessagesToLog final : public rocksdb::Logger {
 public:
  MessagesToLog() : Logger(rocksdb::WARN_LEVEL) {}
  using Logger::Logv;
  void Logv(const char*, va_list) override {}  // without a level: information
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < rocksdb::WARN_LEVEL || level > rocksdb::FATAL_LEVEL) return;  // headers rank above all
    const LogLevel ours = level == rocksdb::WARN_LEVEL ? LogLevel::warning : LogLevel::error;
    if (!log_enabled(ours)) return;
    std::array<char, kLogTextBytes> text;
    if (std::vsnprintf(text.data(), text.size(), format, arguments) < 0) return;
    // Of several lines the first: what may follow it are keys.
    const std::string_view message = text.data();
    // Files that it did not write itself (rocks_ingest.h) have none.
    if (message.find("opened without unique ID to verify") != std::string_view::npos) return;
    log(ours, "the store's database says", {{"message", message.substr(0, message.find('\n'))}});
  }

 protected:
  rocksdb::Status CloseImpl() override { return rocksdb::Status::OK(); }
};

rocksdb::CompressionType best_of(std::initializer_list<rocksdb::CompressionType> wanted) {
  const auto built_in = rocksdb::GetSupportedCompressions();
  for (const rocksdb::CompressionType type : wanted) {
    if (std::ranges::find(built_in, type) != built_in.end()) return type;
  }
  return rocksdb::kNoCompression;
}

rocksdb::BlockBasedTableOptions block_options(const RocksShared& shared) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = shared.block_cache;
  blocks.cache_index_and_filter_blocks = true;  // so that the cache's size bounds them too
  blocks.cache_index_and_filter_blocks_with_high_priority = true;
  // In pieces: the whole filter of a file of a million keys has no place in a shard of the cache, and every look-up
  // would read it anew.
  blocks.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  blocks.partition_filters = true;
  blocks.metadata_block_size = 4u << 10;
  blocks.pin_top_level_index_and_filter = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;
  blocks.checksum = rocksdb::kXXH3;
  blocks.format_version = 5;
  blocks.block_size = 8u << 10;
  return blocks;
}

rocksdb::ColumnFamilyOptions base_options(const RocksOptions& options) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = std::clamp<std::size_t>(options.memtable_bytes / 8, 256u << 10, 64u << 20);
  family.max_write_buffer_number = 3;
  // Level 0, the first level below it (in a small store the only one, rewritten by every merge), and all deeper ones.
  // Denser costs four times the processor time, which is worth it where data stays.
  const rocksdb::CompressionType fast = best_of({rocksdb::kLZ4Compression, rocksdb::kSnappyCompression});
  family.compression = fast;
  family.compression_per_level = {fast, fast, best_of({rocksdb::kZSTD, rocksdb::kLZ4Compression})};
  family.level_compaction_dynamic_level_bytes = true;
  return family;
}

}  // namespace

RocksShared::RocksShared(const RocksOptions& options)
    : block_cache(rocksdb::NewLRUCache(options.block_cache_bytes, -1, false, 0.3)),
      memtables(std::make_shared<rocksdb::WriteBufferManager>(options.memtable_bytes)) {}

const char* table_name(Table table) {
  switch (table) {
    case Table::meta:
      return "meta";
    case Table::entries:
      return "entries";
    case Table::conversations:
      return "conversations";
    case Table::users:
      return "users";
    case Table::objects:
      return "objects";
    case Table::dedup:
      return "dedup";
    case Table::devices:
      return "devices";
    case Table::touches:
      return "touches";
    case Table::events:
      return "events";
  }
  return "";
}

rocksdb::DBOptions database_options(const RocksOptions& options, const RocksShared& shared) {
  rocksdb::DBOptions db;
  if (options.env) db.env = options.env;
  // Merging files may wait for those who wait for an answer; writing out a memtable may not, or commits would stop.
  if (const auto lowered = db.env->LowerThreadPoolCPUPriority(rocksdb::Env::LOW, rocksdb::CpuPriority::kLow);
      !lowered.ok())
    log_warning("merges run at normal priority", {{"reason", lowered.ToString()}});
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  // A record cut off at the end of the log is what a crash leaves behind and is dropped; damage anywhere else refuses
  // to open (rocks_wal.h). The log is not recycled: old records in it would hide such damage.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.recycle_log_file_num = 0;
  db.track_and_verify_wals_in_manifest = true;  // a log that is missing or was cut short by others
  db.avoid_flush_during_recovery = false;       // what a log held is in synced files before the first commit
  db.max_total_wal_size = options.max_wal_bytes;
  db.write_buffer_manager = shared.memtables;
  db.max_open_files = options.max_open_files;
  db.max_background_jobs = options.background_jobs;
  db.max_file_opening_threads = options.background_jobs;  // started anew for each table at each opening; 16 by default
  db.max_bgerror_resume_count = 0;
  db.listeners.push_back(std::make_shared<Watcher>());
  // There is one writer, so nothing is gained by what lets several write at once.
  db.allow_concurrent_memtable_write = false;
  db.enable_write_thread_adaptive_yield = false;
  db.avoid_unnecessary_blocking_io = true;  // files are deleted in the background, not by readers
  // Sorted files reach the disk evenly, not in one burst beside the log's sync.
  db.bytes_per_sync = 1u << 20;
  db.strict_bytes_per_sync = true;
  db.info_log = std::make_shared<MessagesToLog>();
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions own_options(const RocksOptions& options, const RocksShared& shared) {
  rocksdb::ColumnFamilyOptions family = base_options(options);
  family.write_buffer_size = 256u << 10;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(block_options(shared)));
  return family;
}

rocksdb::ColumnFamilyOptions table_options(Table table, const RocksOptions& options, const RocksShared& shared) {
  rocksdb::ColumnFamilyOptions family = base_options(options);
  rocksdb::BlockBasedTableOptions blocks = block_options(shared);
  switch (table) {
    case Table::entries:
      // Read by range, nearly always found: big blocks compress well, a filter would answer nothing.
      family.write_buffer_size = std::clamp<std::size_t>(options.memtable_bytes / 4, 256u << 10, 64u << 20);
      blocks.block_size = 16u << 10;
      break;
    case Table::dedup:
      // Asked for keys that are not there; whole hours are erased by range, and old files must meet that tombstone
      // soon. Digests do not compress.
      family.compression_per_level = {rocksdb::kNoCompression};
      blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(12));
      family.memtable_whole_key_filtering = true;
      family.memtable_prefix_bloom_size_ratio = 0.05;
      family.ttl = 2 * 3600;
      blocks.block_size = 4u << 10;
      break;
    case Table::meta:
    case Table::conversations:
    case Table::users:
    case Table::objects:
    case Table::devices:
    case Table::touches:
    case Table::events:
      // Read by key and by short ranges.
      blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
      blocks.block_size = 4u << 10;
      blocks.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
      break;
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  return family;
}

}  // namespace tidemark
