// The Warm port in memory, for tests and the simulator: a store that lives on a simulated disk. The disk outlives the
// store, as a real one outlives the process; it can be told to fail, to fill up, to damage a value, and to lose what
// was not synced. Nothing here depends on time or chance: the same calls give the same results.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "store/memory/persistent_map.h"
#include "store/warm.h"

namespace tidemark {

/// All tables at one moment. A copy is a snapshot.
struct MemoryTables {
  std::array<PersistentMap, std::size(kTables)> maps;

  PersistentMap& of(Table table) { return maps[static_cast<std::size_t>(table)]; }
  const PersistentMap& of(Table table) const { return maps[static_cast<std::size_t>(table)]; }
  /// Applies the operations in order (W4).
  void apply(const Batch& batch);
};

/// The simulated disk. Thread-safe.
class MemoryDisk {
 public:
  /// What became of bytes that were written and not synced.
  enum class Fate : std::uint8_t { lost, kept };

  /// `name` stands for the directory in errors.
  explicit MemoryDisk(std::string name = "memory") : name_(std::move(name)) {}

  /// The nth commit from now (1 is the next) fails before a byte of it is written.
  void fail_write(std::uint64_t nth);
  /// The nth commit from now is written and its sync fails; a recovery or restart finds the batch or does not.
  void fail_sync(std::uint64_t nth, Fate fate);
  /// The next `times` recoveries fail.
  void fail_recoveries(std::uint64_t times);
  /// While the disk is full commits and recoveries fail.
  void set_full(bool full);
  /// The machine dies: what was not synced is lost (or kept), the store that was open is dead and must be opened anew.
  void crash(Fate unsynced = Fate::lost);
  /// From now on reads of this key fail with INTERNAL. What was put there is not given out again.
  void damage(Table table, std::string key);
  /// The format version that the disk claims; the store knows kFormat alone.
  void set_format(std::uint32_t format);
  static constexpr std::uint32_t kFormat = 3;
  /// A disk with what is synced here now: a backup.
  std::shared_ptr<MemoryDisk> copy() const;
  /// Called in the midst of each commit, when the batch is written and not yet synced. It may read the store.
  void set_on_sync(std::function<void()> on_sync);

 private:
  friend class MemoryWarm;
  friend class MemorySnapshot;
  struct Written {
    MemoryTables tables;
    Fate fate;
  };

  bool damaged(Table table, std::string_view key) const;
  bool any_damage(Table table) const;

  const std::string name_;
  mutable std::mutex mutex_;
  MemoryTables synced_;
  std::optional<Written> unsynced_;  // what a failed sync left behind
  std::uint64_t fail_write_in_ = 0;  // counts down; 0 is never
  std::uint64_t fail_sync_in_ = 0;
  Fate fail_sync_fate_ = Fate::lost;
  std::uint64_t failing_recoveries_ = 0;
  bool full_ = false;
  std::uint32_t format_ = kFormat;
  std::function<void()> on_sync_;
  std::uint64_t opened_ = 0;  // which opening holds the disk, 0 for none
  std::uint64_t openings_ = 0;
  std::set<std::pair<Table, std::string>, std::less<>> damaged_;
};

/// See Warm for the contract and the threads.
class MemoryWarm final : public Warm {
 public:
  /// Opens the disk; RETRY_LATER that names it when it is open already, INTERNAL when its format is not known.
  static Result<std::unique_ptr<MemoryWarm>> open(const std::shared_ptr<MemoryDisk>& disk);
  ~MemoryWarm() override;

  std::shared_ptr<const Snapshot> snapshot() const override;
  Result<void> commit(const Batch& batch) override;
  Result<void> recover() override;
  WarmStatus status() const override;

 private:
  MemoryWarm(std::shared_ptr<MemoryDisk> disk, std::uint64_t opening, MemoryTables tables);
  Result<void> write(MemoryTables next);
  void publish(MemoryTables tables);

  const std::shared_ptr<MemoryDisk> disk_;
  const std::uint64_t opening_;
  mutable std::mutex mutex_;  // guards what follows, which the writer alone changes; taken before the disk's
  MemoryTables tables_;
  std::shared_ptr<const Snapshot> published_;
  WarmStatus status_;
};

}  // namespace tidemark
