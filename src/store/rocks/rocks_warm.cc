#include "store/rocks/rocks_warm.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "store/directory.h"
#include "store/rocks/rocks_database.h"
#include "store/rocks/rocks_ingest.h"

namespace tidemark {
namespace {

constexpr std::size_t kKeptBatchBytes = 8u << 20;  // a batch buffer that grew beyond this is given back

rocksdb::Slice slice(const std::string& bytes) {
  return {bytes.data(), bytes.size()};
}

/// The store: one writer, any number of readers, and the databases that recoveries leave behind.
class RocksStore final : public Warm {
 public:
  RocksStore(RocksOptions options, DirectoryLock lock, RocksShared shared, std::shared_ptr<RocksDatabase> database)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        shared_(std::move(shared)),
        database_(std::move(database)) {
    write_options_.sync = true;
    confirmed_ = database_->sequence();
  }

  std::shared_ptr<const Snapshot> snapshot() const override;
  Result<void> commit(const Batch& batch) override;
  Result<void> recover() override;
  WarmStatus status() const override;

 private:
  Result<void> write(const Batch& batch);
  void fill(const Batch& batch);
  void stop(const std::string& problem);
  void publish(std::shared_ptr<RocksDatabase> database);
  Result<void> step(const char* name) const;
  Result<void> replace_database();
  Result<std::shared_ptr<RocksDatabase>> copy_database(const std::string& name);
  Result<std::string> next_name() const;

  const RocksOptions options_;
  const DirectoryLock lock_;
  const RocksShared shared_;
  rocksdb::WriteOptions write_options_;

  // The writer's own.
  bool failed_ = false;  // a write or sync failed: what the disk holds of it is unknown
  rocksdb::WriteBatch batch_;
  std::uint64_t confirmed_ = 0;  // the database's sequence after the last commit that succeeded

  mutable std::mutex mutex_;
  std::shared_ptr<RocksDatabase> database_;            // changed by the writer, under the mutex
  mutable std::shared_ptr<const Snapshot> published_;  // the present moment, made when first asked for
  std::string problem_;
  WarmStatus counted_;
};

std::shared_ptr<const Snapshot> RocksStore::snapshot() const {
  // All readers between two commits share one snapshot: RocksDB's own takes the lock that the writer needs.
  const std::lock_guard lock(mutex_);
  if (!published_) published_ = snapshot_of(database_);
  return published_;
}

void RocksStore::fill(const Batch& batch) {
  if (batch_.Data().capacity() > kKeptBatchBytes) batch_ = rocksdb::WriteBatch();
  batch_.Clear();
  // The statuses tell of wrong families and too large keys only; TM_CHECK would be for our own faults, and RocksDB
  // reports them again from Write.
  for (const Batch::Operation& operation : batch.operations()) {
    rocksdb::ColumnFamilyHandle* const family = database_->handle(operation.table);
    switch (operation.kind) {
      case Batch::Kind::put:
        (void)batch_.Put(family, slice(operation.key), slice(operation.value));
        break;
      case Batch::Kind::erase:
        (void)batch_.Delete(family, slice(operation.key));
        break;
      case Batch::Kind::erase_range:
        if (operation.key < operation.value) {
          (void)batch_.DeleteRange(family, slice(operation.key), slice(operation.value));
        }
        break;
    }
  }
}

void RocksStore::stop(const std::string& problem) {
  failed_ = true;
  {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
  }
  log_error("the sorted files take no writes", {{"problem", problem}});
}

Result<void> RocksStore::commit(const Batch& batch) {
  if (failed_) return fail(ErrorCode::RETRY_LATER, {}, problem_);
  if (batch.empty()) return {};
  if (auto written = write(batch); !written) {
    Error error = std::move(written).error();
    error.code = ErrorCode::RETRY_LATER;
    stop(error.detail);
    return std::unexpected(std::move(error));
  }
  confirmed_ = database_->sequence();
  std::shared_ptr<const Snapshot> outdated;  // released outside the lock
  {
    const std::lock_guard lock(mutex_);
    outdated = std::exchange(published_, nullptr);
    counted_.count(batch);
  }
  return {};
}

Result<void> RocksStore::write(const Batch& batch) {
  const std::size_t operations = batch.operations().size();
  if (options_.ingest_operations > 0 && operations >= options_.ingest_operations && can_ingest(batch))
    return ingest(*database_, options_, shared_, options_.path + "/incoming", batch);
  fill(batch);
  if (batch_.Count() == 0) return {};
  const rocksdb::Status status = database_->db().Write(write_options_, &batch_);
  if (!status.ok()) return std::unexpected(error_of(status, database_->directory()));
  return {};
}

Result<void> RocksStore::recover() {
  if (!failed_) return {};
  if (auto replaced = replace_database(); !replaced) {
    const std::string& problem = replaced.error().detail;
    if (problem != problem_) log_error("the sorted files cannot recover", {{"problem", problem}});
    const std::lock_guard lock(mutex_);
    problem_ = problem;
    return replaced;
  }
  failed_ = false;
  {
    const std::lock_guard lock(mutex_);
    problem_.clear();
  }
  log_info("the sorted files take writes again", {{"database", database_->directory()}});
  return {};
}

Result<void> RocksStore::step(const char* name) const {
  if (options_.recovery_fault && options_.recovery_fault(name)) {
    return fail(ErrorCode::RETRY_LATER, {}, std::string("ordered fault in the recovery step ") + name);
  }
  return {};
}

Result<std::string> RocksStore::next_name() const {
  // Above every directory there is: an older one may be in use by readers or be what the pointer shows after a crash.
  std::uint64_t highest = 0;
  TM_ASSIGN(const std::vector<std::string> names, list_directory(options_.path));
  for (const std::string& name : names) highest = std::max(highest, database_number(name).value_or(0));
  return database_name(highest + 1);
}

/// Everything up to a durable copy that holds all that was published; on failure what was made is removed.
Result<std::shared_ptr<RocksDatabase>> RocksStore::copy_database(const std::string& name) {
  const std::string directory = options_.path + "/" + name;
  TM_TRY(make_directories(directory));
  TM_TRY(step("link"));
  TM_TRY(database_->copy_to(directory));
  TM_TRY(step("open"));
  TM_ASSIGN(std::shared_ptr<RocksDatabase> copy, RocksDatabase::open(options_, shared_, directory));
  TM_TRY(step("verify"));
  if (copy->sequence() < confirmed_) {
    return fail(ErrorCode::RETRY_LATER, {},
                "the disk of " + options_.path +
                    " no longer gives back what it had confirmed; reads still work: export "
                    "the data, then restore");
  }
  TM_TRY(step("probe"));
  TM_TRY(copy->put_own("recovered", name));
  TM_TRY(sync_directory(directory));
  TM_TRY(sync_directory(options_.path));
  return copy;
}

Result<void> RocksStore::replace_database() {
  TM_TRY(step("prepare"));
  TM_ASSIGN(const std::string name, next_name());
  Result<std::shared_ptr<RocksDatabase>> copy = copy_database(name);
  if (copy) {
    if (auto allowed = step("publish"); !allowed) copy = std::unexpected(std::move(allowed).error());
  }
  if (!copy) {
    // The pointer does not show this directory, so it can go, and with it the space that it takes.
    remove_tree(options_.path + "/" + name);
    return std::unexpected(std::move(copy).error());
  }
  // From here the pointer may show the copy after a crash, even if this fails; so it stays. Both are the same.
  TM_TRY(replace_file(options_.path + "/CURRENT_DB", name + "\n"));
  TM_TRY(step("published"));
  publish(std::move(*copy));
  return {};
}

void RocksStore::publish(std::shared_ptr<RocksDatabase> database) {
  std::shared_ptr<RocksDatabase> old;
  std::shared_ptr<const Snapshot> outdated;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(database_, std::move(database));
    outdated = std::exchange(published_, nullptr);
  }
  old->retire();
}

WarmStatus RocksStore::status() const {
  WarmStatus status;
  {
    const std::lock_guard lock(mutex_);
    status = counted_;
    status.problem = problem_;
  }
  status.writable = status.problem.empty();
  status.disk_bytes = tree_bytes(options_.path);
  return status;
}

/// The directory that holds the data, "db-000001" in a new store.
Result<std::string> current_database(const std::string& path) {
  TM_ASSIGN(const std::vector<std::string> names, list_directory(path));
  std::vector<std::string> databases;
  std::ranges::copy_if(names, std::back_inserter(databases),
                       [](const std::string& name) { return database_number(name).has_value(); });
  TM_ASSIGN(std::optional<std::string> current, read_file(path + "/CURRENT_DB"));
  if (!current) {
    // A first start that was cut short has made at most the first directory.
    if (databases.empty() || databases == std::vector{database_name(1)}) return database_name(1);
    return fail(ErrorCode::INTERNAL, {},
                "the data directory " + path + " lacks its file CURRENT_DB; put a backup back with `tidemark restore`");
  }
  while (!current->empty() && current->back() == '\n') current->pop_back();
  if (std::ranges::find(databases, *current) == databases.end()) {
    return fail(ErrorCode::INTERNAL, {},
                "the file CURRENT_DB in " + path + " names \"" + current->substr(0, 60) +
                    "\", which is not there; put a backup back with `tidemark restore`");
  }
  return *current;
}

/// Removes what a crash left of a recovery, once the current database is known to open.
Result<void> remove_other_databases(const std::string& path, const std::string& current) {
  TM_ASSIGN(const std::vector<std::string> names, list_directory(path));
  for (const std::string& name : names) {
    if (database_number(name) && name != current) remove_tree(path + "/" + name);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Warm>> RocksWarm::open(RocksOptions options) {
  while (options.path.size() > 1 && options.path.back() == '/') options.path.pop_back();
  TM_TRY(make_directories(options.path));
  TM_ASSIGN(DirectoryLock lock, DirectoryLock::take(options.path));
  TM_TRY(check_format(options.path, kFormat));
  TM_ASSIGN(const std::string name, current_database(options.path));
  RocksShared shared(options);
  TM_ASSIGN(std::shared_ptr<RocksDatabase> database, RocksDatabase::open(options, shared, options.path + "/" + name));
  TM_TRY(sync_directory(options.path));
  TM_ASSIGN(const std::optional<std::string> current, read_file(options.path + "/CURRENT_DB"));
  if (current != name + "\n") TM_TRY(replace_file(options.path + "/CURRENT_DB", name + "\n"));
  TM_TRY(remove_other_databases(options.path, name));
  return std::make_unique<RocksStore>(std::move(options), std::move(lock), std::move(shared), std::move(database));
}

}  // namespace tidemark
