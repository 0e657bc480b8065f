// The disk of a run's server, and the store on it: one that is all memory, or the real store that appends, over a
// simulated directory in which every sector that was not synced has a fate of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/dice.h"
#include "store/log/memory_files.h"
#include "store/memory/memory_warm.h"

namespace tidemark::sim {

enum class StoreKind : std::uint8_t { memory, log };

class SimDisk {
 public:
  using Fate = MemoryDisk::Fate;

  SimDisk(StoreKind kind, std::uint64_t seed);
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  Result<std::unique_ptr<Warm>> open();

  // As MemoryDisk has them. Of the log each counts writes, syncs and new segments; now and then the sorted store
  // behind it is struck too.
  void fail_write(std::uint64_t nth);
  void fail_sync(std::uint64_t nth, Fate fate);
  void fail_recoveries(std::uint64_t times);
  void set_full(bool full);
  /// Whether a part of what was not synced is there and a part is not.
  bool crash(Fate unsynced);
  std::shared_ptr<SimDisk> copy();

 private:
  bool fails(std::string_view step);
  /// One of its next commits fails, and it does not recover until the machine has died or somebody says otherwise.
  void strike_sorted(std::uint64_t nth, Fate fate);

  const StoreKind kind_;
  Dice dice_;
  std::shared_ptr<MemoryDisk> sorted_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<MemoryFiles> files_ = std::make_shared<MemoryFiles>();
  std::uint64_t fail_write_in_ = 0;  // counts down; 0 is never
  std::uint64_t fail_sync_in_ = 0;
  std::uint64_t failing_recoveries_ = 0;
  bool full_ = false;
};

}  // namespace tidemark::sim
