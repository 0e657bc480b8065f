// The conformance suite over every adapter, and the tests of the faulty wrapper.
#include "store/faulty.h"
#include "store/memory/memory_warm.h"
#include "store/rocks/rocks_world.h"
#include "store/warm_conformance.h"

namespace tidemark {
namespace {

class MemoryWorld {
 public:
  std::string directory() const { return "/simulated/disk"; }
  Result<std::unique_ptr<Warm>> open() { return MemoryWarm::open(disk_); }
  void fail_commit(CommitFault fault) {
    if (fault == CommitFault::before) disk_->fail_write(1);
    if (fault == CommitFault::lost) disk_->fail_sync(1, MemoryDisk::Fate::lost);
    if (fault == CommitFault::kept) disk_->fail_sync(1, MemoryDisk::Fate::kept);
  }
  void set_broken(bool broken) { disk_->set_full(broken); }
  void crash(std::unique_ptr<Warm>& warm) {
    disk_->crash();
    warm.reset();
  }
  void on_sync(std::function<void()> on_sync) { disk_->set_on_sync(std::move(on_sync)); }
  void damage() { disk_->damage(Table::users, "k000050"); }
  void set_unknown_format() { disk_->set_format(999); }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>(directory());
};

/// Faults come from the wrapper, crashes and damage from what it wraps.
template <typename Inner>
class FaultyWorld : public Inner {
 public:
  Result<std::unique_ptr<Warm>> open() {
    TM_ASSIGN(std::unique_ptr<Warm> inner, Inner::open());
    return std::make_unique<FaultyWarm>(std::move(inner), plan_);
  }
  void fail_commit(CommitFault fault) {
    plan_->fail(fault == CommitFault::kept ? FaultStep::commit_after : FaultStep::commit_before);
  }
  void set_broken(bool broken) { plan_->fail(FaultStep::recover, 0, broken ? UINT64_MAX : 0); }

 private:
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, WarmConformance, MemoryWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Rocks, WarmConformance, RocksWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(FaultyMemory, WarmConformance, FaultyWorld<MemoryWorld>);
INSTANTIATE_TYPED_TEST_SUITE_P(FaultyRocks, WarmConformance, FaultyWorld<RocksWorld>);

TEST(FaultyWarm, fails_at_every_step_in_turn_and_then_the_whole_succeeds) {
  // One run takes a fixed number of steps; with the fault at step n it must fail exactly once, for every n.
  const auto run = [](Warm& warm) -> Result<void> {
    TM_TRY(warm.commit(batch_of(1)));
    const auto snapshot = warm.snapshot();
    TM_TRY(snapshot->get(Table::users, "last"));
    TM_TRY(snapshot->get_many(Table::users, {"last", "none"}));
    TM_TRY(snapshot->scan(Table::users, "", kAboveAll, [](auto, auto) { return true; }));
    return snapshot->scan_back(Table::users, "", kAboveAll, [](auto, auto) { return true; });
  };
  const auto plan = std::make_shared<FaultPlan>();
  FaultyWarm warm(MemoryWarm::open(std::make_shared<MemoryDisk>()).value(), plan);
  ASSERT_TRUE(run(warm));
  const std::uint64_t steps = plan->steps();
  EXPECT_EQ(steps, 8u);
  for (std::uint64_t n = 0; n < steps; ++n) {
    plan->fail_at(n);
    const auto failed = run(warm);
    ASSERT_FALSE(failed) << n;
    EXPECT_EQ(failed.error().code, ErrorCode::RETRY_LATER);
    EXPECT_EQ(plan->faults(), n + 1);
    ASSERT_TRUE(warm.recover());
    ASSERT_TRUE(run(warm)) << n;
  }
}

}  // namespace
}  // namespace tidemark
