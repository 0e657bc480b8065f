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

/// The column family's name. Never changed: it is stored.
const char* table_name(Table table);

rocksdb::DBOptions database_options(const RocksOptions& options, const RocksShared& shared);
rocksdb::ColumnFamilyOptions table_options(Table table, const RocksOptions& options, const RocksShared& shared);
/// The column family "default": the adapter's own few rows.
rocksdb::ColumnFamilyOptions own_options(const RocksOptions& options, const RocksShared& shared);

}  // namespace tidemark
