#include "store/log/log_warm.h"

#include <gmock/gmock.h>

#include "store/keys.h"
#include "store/log/disk_files.h"
#include "store/log/memory_files.h"
#include "store/memory/memory_warm.h"
#include "store/rocks/rocks_world.h"
#include "store/warm_conformance.h"

namespace tidemark {
namespace {

/// Log and sorted store in memory; `overlay_bytes` small enough makes every batch or so go to the sorted store.
template <std::size_t overlay_bytes, bool threaded>
class LogWorld {
 public:
  std::string directory() const { return "/simulated/disk"; }
  Result<std::unique_ptr<Warm>> open() {
    TM_ASSIGN(std::unique_ptr<Warm> sorted, MemoryWarm::open(disk_));
    return LogWarm::open(
        files_, std::move(sorted), keys::owner_bytes,
        {.log = {.segment_bytes = 4'096}, .overlay_bytes = overlay_bytes, .batch_bytes = 500, .threaded = threaded}, 7);
  }
  void fail_commit(CommitFault fault) {
    last_fault_ = fault;
    pending_ = fault == CommitFault::before ? "write" : "sync";
    set_hook();
  }
  void set_broken(bool broken) {
    broken_ = broken;
    set_hook();
  }
  void crash(std::unique_ptr<Warm>& warm) {
    files_->crash([this] { return last_fault_ == CommitFault::kept; });
    disk_->crash();
    pending_.clear();
    warm.reset();
  }
  void on_sync(std::function<void()> on_sync) {
    on_sync_ = std::move(on_sync);
    set_hook();
  }
  void damage() {
    disk_->damage(Table::users, "k000050");
    for (const std::string& name : files_->list().value()) {
      const std::size_t place = files_->read(name).value().find("k000050");
      if (place != std::string::npos) files_->damage(name, place);
    }
  }
  void set_unknown_format() { disk_->set_format(999); }

 private:
  void set_hook() {
    files_->set_fault([this](std::string_view step) {
      if (broken_) return true;
      if (step == "sync" && on_sync_) on_sync_();
      if (step != pending_) return false;
      pending_.clear();
      return true;
    });
  }
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>(directory());
  std::shared_ptr<MemoryFiles> files_ = std::make_shared<MemoryFiles>();
  std::function<void()> on_sync_;
  std::string pending_;  // the step that fails next
  CommitFault last_fault_ = CommitFault::lost;
  bool broken_ = false;
};

using AllInTheLog = LogWorld<(64u << 20), false>;
using MostlySorted = LogWorld<300, false>;
INSTANTIATE_TYPED_TEST_SUITE_P(Log, WarmConformance, AllInTheLog);
INSTANTIATE_TYPED_TEST_SUITE_P(LogOften, WarmConformance, MostlySorted);

}  // namespace
}  // namespace tidemark
