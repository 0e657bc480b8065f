#include "store/memory/memory_warm.h"

namespace tidemark {
namespace {

/// Counts an ordered fault down; true when its turn has come.
bool falls_due(std::uint64_t& countdown) {
  if (countdown == 0) return false;
  --countdown;
  return countdown == 0;
}

}  // namespace

void MemoryTables::apply(const Batch& batch) {
  for (const Batch::Operation& operation : batch.operations()) {
    PersistentMap& map = of(operation.table);
    switch (operation.kind) {
      case Batch::Kind::put:
        map.put(operation.key, operation.value);
        break;
      case Batch::Kind::erase:
        map.erase(operation.key);
        break;
      case Batch::Kind::erase_range:
        map.erase_range(operation.key, operation.value);
        break;
    }
  }
}

void MemoryDisk::fail_write(std::uint64_t nth) {
  const std::lock_guard lock(mutex_);
  fail_write_in_ = nth;
}

void MemoryDisk::fail_sync(std::uint64_t nth, Fate fate) {
  const std::lock_guard lock(mutex_);
  fail_sync_in_ = nth;
  fail_sync_fate_ = fate;
}

void MemoryDisk::fail_recoveries(std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  failing_recoveries_ = times;
}

void MemoryDisk::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

void MemoryDisk::crash(Fate unsynced) {
  const std::lock_guard lock(mutex_);
  if (unsynced_ && unsynced == Fate::kept) synced_ = std::move(unsynced_->tables);
  unsynced_.reset();
  opened_ = 0;
}

void MemoryDisk::damage(Table table, std::string key) {
  const std::lock_guard lock(mutex_);
  damaged_.emplace(table, std::move(key));
}

void MemoryDisk::set_format(std::uint32_t format) {
  const std::lock_guard lock(mutex_);
  format_ = format;
}

std::shared_ptr<MemoryDisk> MemoryDisk::copy() const {
  const std::lock_guard lock(mutex_);
  auto made = std::make_shared<MemoryDisk>(name_);
  made->synced_ = synced_;
  return made;
}

void MemoryDisk::set_on_sync(std::function<void()> on_sync) {
  const std::lock_guard lock(mutex_);
  on_sync_ = std::move(on_sync);
}

bool MemoryDisk::damaged(Table table, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return !damaged_.empty() && damaged_.contains(std::pair(table, std::string(key)));
}

bool MemoryDisk::any_damage(Table table) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [damaged_table, key] : damaged_) {
    if (damaged_table == table) return true;
  }
  return false;
}

class MemorySnapshot final : public Snapshot {
 public:
  MemorySnapshot(MemoryTables tables, std::shared_ptr<const MemoryDisk> disk)
      : tables_(std::move(tables)), disk_(std::move(disk)) {}

  Result<std::optional<std::string>> get(Table table, std::string_view key) const override {
    if (disk_->damaged(table, key)) return damage_error();
    const std::string* value = tables_.of(table).find(key);
    return value ? std::optional(*value) : std::nullopt;
  }

  Result<std::vector<std::optional<std::string>>> get_many(Table table,
                                                           const std::vector<std::string>& keys) const override {
    std::vector<std::optional<std::string>> values;
    values.reserve(keys.size());
    for (const std::string& key : keys) {
      TM_ASSIGN(auto value, get(table, key));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<void> scan(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    return guarded(table, visit, [&](const Visit& inner) { tables_.of(table).visit(from, to, inner); });
  }

  Result<void> scan_back(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    return guarded(table, visit, [&](const Visit& inner) { tables_.of(table).visit_back(from, to, inner); });
  }

 private:
  static std::unexpected<Error> damage_error() {
    return fail(ErrorCode::INTERNAL, {}, "stored data is damaged; restore from a backup");
  }

  /// Runs a walk that stops with an error where a damaged key comes up.
  template <typename Walk>
  Result<void> guarded(Table table, const Visit& visit, const Walk& walk) const {
    if (!disk_->any_damage(table)) {
      walk(visit);
      return {};
    }
    bool met_damage = false;
    walk([&](std::string_view key, std::string_view value) {
      met_damage = disk_->damaged(table, key);
      return !met_damage && visit(key, value);
    });
    if (met_damage) return damage_error();
    return {};
  }

  const MemoryTables tables_;
  const std::shared_ptr<const MemoryDisk> disk_;
};

Result<std::unique_ptr<MemoryWarm>> MemoryWarm::open(const std::shared_ptr<MemoryDisk>& disk) {
  const std::lock_guard lock(disk->mutex_);
  if (disk->opened_) {
    return fail(ErrorCode::RETRY_LATER, {}, "the data directory " + disk->name_ + " is in use by another process");
  }
  if (disk->format_ != MemoryDisk::kFormat) {
    return fail(ErrorCode::INTERNAL, {},
                "the data in " + disk->name_ + " has format " + std::to_string(disk->format_) +
                    ", this program knows format " + std::to_string(MemoryDisk::kFormat) +
                    "; use the version of the program that wrote it");
  }
  // A process that died with a sync failed finds what that sync left.
  if (disk->unsynced_) {
    if (disk->unsynced_->fate == MemoryDisk::Fate::kept) disk->synced_ = std::move(disk->unsynced_->tables);
    disk->unsynced_.reset();
  }
  disk->opened_ = ++disk->openings_;
  return std::unique_ptr<MemoryWarm>(new MemoryWarm(disk, disk->opened_, disk->synced_));
}

MemoryWarm::MemoryWarm(std::shared_ptr<MemoryDisk> disk, std::uint64_t opening, MemoryTables tables)
    : disk_(std::move(disk)), opening_(opening) {
  publish(std::move(tables));
}

MemoryWarm::~MemoryWarm() {
  const std::lock_guard lock(disk_->mutex_);
  if (disk_->opened_ == opening_) disk_->opened_ = 0;
}

void MemoryWarm::publish(MemoryTables tables) {
  published_ = std::make_shared<const MemorySnapshot>(tables, disk_);
  tables_ = std::move(tables);
  status_.disk_bytes = 0;
  for (const PersistentMap& map : tables_.maps) status_.disk_bytes += map.bytes();
}

std::shared_ptr<const Snapshot> MemoryWarm::snapshot() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

WarmStatus MemoryWarm::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

/// Writes and syncs the tables as they are after a batch, with the faults that were ordered.
Result<void> MemoryWarm::write(MemoryTables next) {
  std::unique_lock lock(disk_->mutex_);
  if (disk_->opened_ != opening_) return fail(ErrorCode::RETRY_LATER, {}, "the machine of this store has crashed");
  if (disk_->full_) return fail(ErrorCode::RETRY_LATER, {}, "the disk is full");
  const bool write_fails = falls_due(disk_->fail_write_in_);
  const bool sync_fails = falls_due(disk_->fail_sync_in_);
  if (write_fails) return fail(ErrorCode::RETRY_LATER, {}, "a write failed");
  if (const std::function<void()> on_sync = disk_->on_sync_) {
    lock.unlock();
    on_sync();
    lock.lock();
  }
  if (sync_fails) {
    disk_->unsynced_ = MemoryDisk::Written{std::move(next), disk_->fail_sync_fate_};
    return fail(ErrorCode::RETRY_LATER, {}, "a sync failed");
  }
  disk_->synced_ = std::move(next);
  return {};
}

Result<void> MemoryWarm::commit(const Batch& batch) {
  MemoryTables next;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.writable) return fail(ErrorCode::RETRY_LATER, {}, status_.problem);
    next = tables_;
  }
  if (batch.empty()) return {};
  next.apply(batch);
  const Result<void> written = write(next);
  const std::lock_guard lock(mutex_);
  if (!written) {
    status_.writable = false;
    status_.problem = written.error().detail;
    return written;
  }
  publish(std::move(next));
  status_.count(batch);
  return {};
}

Result<void> MemoryWarm::recover() {
  const std::lock_guard lock(mutex_);
  if (status_.writable) return {};
  const std::lock_guard disk_lock(disk_->mutex_);
  if (disk_->opened_ != opening_) return fail(ErrorCode::RETRY_LATER, {}, "the machine of this store has crashed");
  if (disk_->full_) return fail(ErrorCode::RETRY_LATER, {}, "the disk is full");
  if (disk_->failing_recoveries_) {
    --disk_->failing_recoveries_;
    return fail(ErrorCode::RETRY_LATER, {}, "the disk fails still");
  }
  if (disk_->unsynced_) {
    if (disk_->unsynced_->fate == MemoryDisk::Fate::kept) disk_->synced_ = std::move(disk_->unsynced_->tables);
    disk_->unsynced_.reset();
  }
  publish(disk_->synced_);
  status_.writable = true;
  status_.problem.clear();
  return {};
}

}  // namespace tidemark
