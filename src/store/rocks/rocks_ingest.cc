#include "store/rocks/rocks_ingest.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "store/directory.h"

namespace tidemark {
namespace {

rocksdb::Options writer_options(Table table, const RocksOptions& options, const RocksShared& shared) {
  rocksdb::Options made(database_options(options, shared), table_options(table, options, shared));
  // The writer would take that of the deepest level, and most of these files are merged soon.
  made.compression = made.compression_per_level.front();
  made.compression_per_level.clear();
  return made;
}

/// A file reaches the disk in small steps, each waited for: whoever syncs another one meanwhile waits behind what is on
/// its way, and that would be all of it at the end.
rocksdb::EnvOptions evenly() {
  rocksdb::EnvOptions options;
  options.bytes_per_sync = 512u << 10;
  options.strict_bytes_per_sync = true;
  return options;
}

}  // namespace

bool can_ingest(const Batch& batch) {
  std::array<const std::string*, std::size(kTables)> last{};
  for (const Batch::Operation& operation : batch.operations()) {
    const std::string*& before = last[static_cast<std::size_t>(operation.table)];
    if (operation.kind == Batch::Kind::erase_range || (before && *before >= operation.key)) return false;
    before = &operation.key;
  }
  return true;
}

Result<void> ingest(const RocksDatabase& database, const RocksOptions& options, const RocksShared& shared,
                    const std::string& directory, const Batch& batch) {
  remove_tree(directory);
  TM_TRY(make_directories(directory));
  rocksdb::Status status;
  const auto failed = [&] { return std::unexpected(error_of(status, database.directory())); };
  std::array<std::unique_ptr<rocksdb::SstFileWriter>, std::size(kTables)> writers;
  std::vector<rocksdb::IngestExternalFileArg> files;
  for (const Batch::Operation& operation : batch.operations()) {
    auto& writer = writers[static_cast<std::size_t>(operation.table)];
    if (!writer) {
      rocksdb::ColumnFamilyHandle* const family = database.handle(operation.table);
      const std::string path = directory + "/" + table_name(operation.table) + ".sst";
      writer =
          std::make_unique<rocksdb::SstFileWriter>(evenly(), writer_options(operation.table, options, shared), family);
      status = writer->Open(path);
      if (!status.ok()) return failed();
      rocksdb::IngestExternalFileArg& file = files.emplace_back();
      file.column_family = family;
      file.external_files = {path};
      file.options.move_files = true;
      file.options.failed_move_fall_back_to_copy = true;
      file.options.write_global_seqno = false;
    }
    status = operation.kind == Batch::Kind::put ? writer->Put(operation.key, operation.value)
                                                : writer->Delete(operation.key);
    if (!status.ok()) return failed();
  }
  for (const auto& writer : writers) {
    if (!writer) continue;
    status = writer->Finish();
    if (!status.ok()) return failed();
  }
  status = database.db().IngestExternalFiles(files);
  if (!status.ok()) return failed();
  remove_tree(directory);
  return {};
}

}  // namespace tidemark
