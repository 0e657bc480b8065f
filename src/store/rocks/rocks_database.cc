#include "store/rocks/rocks_database.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "base/check.h"
#include "base/log.h"
#include "store/directory.h"
#include "store/rocks/rocks_wal.h"

namespace tidemark {
namespace {

constexpr const char* kFormatRow = "format";

std::vector<rocksdb::ColumnFamilyDescriptor> families(const RocksOptions& options, const RocksShared& shared) {
  std::vector<rocksdb::ColumnFamilyDescriptor> result;
  for (const Table table : kTables) result.emplace_back(table_name(table), table_options(table, options, shared));
  result.emplace_back(rocksdb::kDefaultColumnFamilyName, own_options(options, shared));
  return result;
}

}  // namespace

Error error_of(const rocksdb::Status& status, const std::string& directory) {
  const bool missing_file = status.IsPathNotFound();
  if (status.IsCorruption() || missing_file) {
    return {ErrorCode::INTERNAL,
            {},
            "the data in " + directory + " is damaged (" + status.ToString() +
                "); put a backup back with `tidemark restore`"};
  }
  if (status.IsIOError() || status.IsAborted() || status.IsBusy() || status.IsTimedOut() || status.IsTryAgain() ||
      status.IsIncomplete() || status.IsShutdownInProgress() || status.IsMemoryLimit()) {
    const char* advice = status.IsNoSpace() ? "; free some space" : "";
    return {ErrorCode::RETRY_LATER, {}, "the disk of " + directory + " failed (" + status.ToString() + ")" + advice};
  }
  return {ErrorCode::INTERNAL, {}, "the database in " + directory + " failed (" + status.ToString() + ")"};
}

Result<std::shared_ptr<RocksDatabase>> RocksDatabase::open(const RocksOptions& options, const RocksShared& shared,
                                                           std::string directory) {
  TM_TRY(make_directories(directory));  // RocksDB would make it too, but calls its absence an error in the log
  const rocksdb::DBOptions db_options = database_options(options, shared);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const auto try_open = [&](rocksdb::DB** raw) {
    handles.clear();
    return rocksdb::DB::Open(db_options, directory, families(options, shared), &handles, raw);
  };
  rocksdb::DB* raw = nullptr;
  rocksdb::Status status = try_open(&raw);
  if (status.IsCorruption()) {
    TM_ASSIGN(const bool cut, cut_torn_log(directory));
    if (cut) status = try_open(&raw);
  }
  if (status.IsInvalidArgument() && status.ToString().find("olumn famil") != std::string::npos) {
    return fail(ErrorCode::INTERNAL, {},
                "the data in " + directory + " has tables that this program does not know (" + status.ToString() +
                    "); use the version of the program that wrote it");
  }
  if (status.IsNoSpace()) {
    // It replays its logs into new files and begins a new log, whoever only wants to read.
    return fail(ErrorCode::RETRY_LATER, {},
                "the disk of " + directory + " is full, and the store needs room to open (at most about " +
                    std::to_string(options.max_wal_bytes >> 20) +
                    " MiB); free that much and start again: nothing is lost");
  }
  if (!status.ok()) return std::unexpected(error_of(status, directory));

  std::shared_ptr<RocksDatabase> database(
      new RocksDatabase(std::move(directory), std::unique_ptr<rocksdb::DB>(raw), std::move(handles)));
  const std::string known = std::to_string(RocksWarm::kFormat);
  TM_ASSIGN(const std::optional<std::string> format, database->get_own(kFormatRow));
  if (!format) {
    TM_TRY(database->put_own(kFormatRow, known));
  } else if (*format != known) {
    return fail(ErrorCode::INTERNAL, {},
                "the data in " + database->directory() + " has format " + *format + ", this program knows format " +
                    known + "; use the version of the program that wrote it");
  }
  return database;
}

RocksDatabase::RocksDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db,
                             std::vector<rocksdb::ColumnFamilyHandle*> handles)
    : directory_(std::move(directory)), db_(std::move(db)) {
  TM_CHECK(handles.size() == handles_.size() + 1, "RocksDB gives one handle for each family");
  std::copy_n(handles.begin(), handles_.size(), handles_.begin());
  own_ = handles.back();
}

RocksDatabase::~RocksDatabase() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  db_->DestroyColumnFamilyHandle(own_);
  db_.reset();
  if (retired_) remove_tree(directory_);
}

std::uint64_t RocksDatabase::sequence() const {
  return db_->GetLatestSequenceNumber();
}

Result<void> RocksDatabase::put_own(const std::string& name, const std::string& value) {
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status = db_->Put(options, own_, name, value);
  if (!status.ok()) return std::unexpected(error_of(status, directory_));
  return {};
}

Result<std::optional<std::string>> RocksDatabase::get_own(const std::string& name) const {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), own_, name, &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return std::unexpected(error_of(status, directory_));
  return value;
}

Result<void> RocksDatabase::copy_to(const std::string& directory) {
  if (!deletions_off_) {
    const rocksdb::Status off = db_->DisableFileDeletions();
    if (!off.ok()) return std::unexpected(error_of(off, directory_));
    deletions_off_ = true;
  }
  std::vector<std::string> files;
  std::uint64_t manifest_bytes = 0;  // ends after the last edit whose write and sync succeeded
  const rocksdb::Status listed = db_->GetLiveFiles(files, &manifest_bytes, false);
  if (!listed.ok()) return std::unexpected(error_of(listed, directory_));

  for (const std::string& file : files) {  // names come with a leading slash
    if (file.ends_with(".sst")) TM_TRY(link_file(directory_ + file, directory + file));
    if (file.starts_with("/MANIFEST-")) {
      TM_TRY(copy_file(directory_ + file, directory + file, manifest_bytes));
      TM_TRY(replace_file(directory + "/CURRENT", file.substr(1) + "\n"));
    }
  }
  TM_ASSIGN(const std::vector<std::string> names, list_directory(directory_));
  for (const std::string& name : names) {
    if (is_log_name(name)) TM_TRY(copy_file(directory_ + "/" + name, directory + "/" + name, UINT64_MAX));
  }
  return sync_directory(directory);
}

}  // namespace tidemark
