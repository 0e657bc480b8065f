#include "sim/disk.h"

#include "store/keys.h"
#include "store/log/log_warm.h"

namespace tidemark::sim {
namespace {

/// So small that a run goes through all of it many times.
const LogWarmOptions kSmallLog{
    .log = {.segment_bytes = 8'192}, .overlay_bytes = 12'000, .batch_bytes = 1'000, .threaded = false};

constexpr std::uint64_t kForEver = 1'000'000'000;

bool falls_due(std::uint64_t& countdown) {
  return countdown > 0 && --countdown == 0;
}

}  // namespace

SimDisk::SimDisk(StoreKind kind, std::uint64_t seed) : kind_(kind), dice_(seed) {
  files_->set_fault([this](std::string_view step) { return fails(step); });
}

bool SimDisk::fails(std::string_view step) {
  if (full_) return true;
  if (step == "write") return falls_due(fail_write_in_);
  if (step == "sync") return falls_due(fail_sync_in_);
  if (step != "create" || failing_recoveries_ == 0) return false;
  --failing_recoveries_;
  return true;
}

Result<std::unique_ptr<Warm>> SimDisk::open() {
  TM_ASSIGN(std::unique_ptr<Warm> sorted, MemoryWarm::open(sorted_));
  if (kind_ == StoreKind::memory) return sorted;
  return LogWarm::open(files_, std::move(sorted), keys::owner_bytes, kSmallLog, dice_.next());
}

void SimDisk::fail_write(std::uint64_t nth) {
  if (kind_ == StoreKind::memory) return sorted_->fail_write(nth);
  fail_write_in_ = nth;
  strike_sorted(nth, Fate::lost);
}

void SimDisk::fail_sync(std::uint64_t nth, Fate fate) {
  if (kind_ == StoreKind::memory) return sorted_->fail_sync(nth, fate);
  fail_sync_in_ = nth;
  strike_sorted(nth, fate);
}

void SimDisk::strike_sorted(std::uint64_t nth, Fate fate) {
  const bool strikes = nth > 0 && dice_.chance(500);
  sorted_->fail_sync(strikes ? dice_.below(8) : 0, fate);
  sorted_->fail_recoveries(strikes ? kForEver : 0);
}

void SimDisk::fail_recoveries(std::uint64_t times) {
  if (kind_ == StoreKind::memory) return sorted_->fail_recoveries(times);
  failing_recoveries_ = times;
  sorted_->fail_recoveries(times);
}

void SimDisk::set_full(bool full) {
  full_ = full;
  sorted_->set_full(full);
}

bool SimDisk::crash(Fate unsynced) {
  if (kind_ == StoreKind::log) strike_sorted(0, unsynced);
  sorted_->crash(unsynced);
  bool some_kept = false;
  bool some_lost = false;
  files_->crash([&] {
    const bool kept = unsynced == Fate::kept || dice_.chance(500);
    (kept ? some_kept : some_lost) = true;
    return kept;
  });
  return some_kept && some_lost;
}

std::shared_ptr<SimDisk> SimDisk::copy() {
  auto made = std::make_shared<SimDisk>(kind_, dice_.next());
  made->sorted_ = sorted_->copy();
  made->files_ = files_->copy();
  made->files_->set_fault([disk = made.get()](std::string_view step) { return disk->fails(step); });
  return made;
}

}  // namespace tidemark::sim
