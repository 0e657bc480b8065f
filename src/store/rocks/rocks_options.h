// How RocksDB is tuned, table by table. The reasons and the measurements are in docs/store.md.
#pragma once

#include <memory>
#include <string>

#include "store/rocks/rocks_warm.h"

namespace rocksdb {
class Cache;
class WriteBufferManager;
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace rocksdb

namespace tidemark {

/// What the databases of one store share, so that its memory stays bounded while a recovery has two of them open.
struct RocksShared {
  explicit RocksShared(const RocksOptions& options);
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> memtables;
};

/// While it lives, what this thread writes uses the insert hints of the table entries. Off by default, and to be off
/// for batches that hold erase_range: RocksDB 7.8 keeps one map of hints for a memtable's rows and for its range
/// tombstones, which are two lists, and a hint of one used in the other corrupts it.
class InsertHints {
 public:
  explicit InsertHints(bool on);
  ~InsertHints();
  InsertHints(const InsertHints&) = delete;
  InsertHints& operator=(const InsertHints&) = delete;
};

/// The column family's name. Never changed: it is stored.
const char* table_name(Table table);

rocksdb::DBOptions database_options(const RocksOptions& options, const RocksShared& shared);
rocksdb::ColumnFamilyOptions table_options(Table table, const RocksOptions& options, const RocksShared& shared);
/// The column family "default": the adapter's own few rows.
rocksdb::ColumnFamilyOptions own_options(const RocksOptions& options, const RocksShared& shared);

}  // namespace tidemark
