// One opened RocksDB database: a generation of the store's data. Readers share it; it closes when the last one lets go.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "store/rocks/rocks_options.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Snapshot;
class Status;
class WriteBatch;
}  // namespace rocksdb

namespace tidemark {

/// What a status means to the port: damage is INTERNAL, all else RETRY_LATER.
Error error_of(const rocksdb::Status& status, const std::string& directory);

class RocksDatabase {
 public:
  /// Opens the database in a directory, made when absent. A log that ends in a half-written record is cut first;
  /// afterwards everything that it held is in synced files. INTERNAL when data is damaged or the format unknown.
  static Result<std::shared_ptr<RocksDatabase>> open(const RocksOptions& options, const RocksShared& shared,
                                                     std::string directory);
  /// Closes; removes the directory when it was retired.
  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  rocksdb::DB& db() const { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(Table table) const { return handles_[static_cast<std::size_t>(table)]; }
  const std::string& directory() const { return directory_; }

  /// The number of the last operation that is published: grows by one with each operation of a batch.
  std::uint64_t sequence() const;
  /// Writes the adapter's own row `name`, synced.
  Result<void> put_own(const std::string& name, const std::string& value);
  Result<std::optional<std::string>> get_own(const std::string& name) const;
  /// Makes a copy that opens as this database would after a crash: hard links to the sorted files that are live, the
  /// part of the manifest that is known to be good, and the bytes of the logs. Safe while the database has failed; from
  /// then on this database deletes no file. One thread at a time.
  Result<void> copy_to(const std::string& directory);
  /// The directory goes when the last reader does.
  void retire() { retired_ = true; }

 private:
  RocksDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db,
                std::vector<rocksdb::ColumnFamilyHandle*> handles);

  const std::string directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, std::size(kTables)> handles_{};
  rocksdb::ColumnFamilyHandle* own_ = nullptr;
  bool deletions_off_ = false;
  std::atomic<bool> retired_ = false;
};

/// A snapshot of the database's present moment.
std::shared_ptr<const Snapshot> snapshot_of(std::shared_ptr<const RocksDatabase> database);

}  // namespace tidemark
