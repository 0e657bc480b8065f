#include "store/log/log_warm.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/log.h"
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
    const auto names = files_->list().value();  // clang keeps no temporary for a loop in a template
    for (const std::string& name : names) {
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

/// What ends in the midst of an operation, or has one of a kind or table that there is not, also as its very last.
TEST(LogWarm, RefusesRecordsOfAnotherVersion) {
  for (const std::string& record :
       {std::string("\x07\x01\x00\x00", 4), std::string("\x01\x40\x00", 3), std::string("\x00\x01\x05k", 4)}) {
    const auto files = std::make_shared<MemoryFiles>();
    const CommitLogOptions options{.segment_bytes = 4'096};
    auto log = CommitLog::open(*files, options, 7, 0, [](const LogRecord&) { return Result<void>(); }).value();
    ASSERT_TRUE(log->append(record, 0));
    log.reset();
    auto sorted = MemoryWarm::open(std::make_shared<MemoryDisk>()).value();
    const auto opened =
        LogWarm::open(files, std::move(sorted), keys::owner_bytes, {.log = options, .threaded = false}, 7);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL);
    EXPECT_THAT(opened.error().detail, testing::HasSubstr("record 1 of the commit log memory"));
  }
}

/// A backup, and the log that was written since: every moment between the two can be had.
TEST(LogWarm, SettlesAtAnyPointInTime) {
  std::int64_t now_ms = 1'000;
  LogWarmOptions options{.log = {.segment_bytes = 4'096, .archive_ms = 1'000'000},
                         .overlay_bytes = 2'000,
                         .wall_ms = [&] { return now_ms; },
                         .threaded = false};
  const auto disk = std::make_shared<MemoryDisk>();
  const auto files = std::make_shared<MemoryFiles>();
  std::shared_ptr<MemoryDisk> backup_disk;
  std::shared_ptr<MemoryFiles> backup_files;
  std::map<std::int64_t, Contents> moments;
  Contents contents;
  {
    const auto warm = LogWarm::open(files, MemoryWarm::open(disk).value(), keys::owner_bytes, options, 7).value();
    for (unsigned i = 0; i < 400; ++i) {
      Batch batch;
      batch.put(Table::users, numbered("k", i % 50), numbered("value ", i));
      ASSERT_TRUE(warm->commit(batch));
      apply_to(contents, batch);
      moments[now_ms] = contents;
      if (i == 100) backup_disk = disk->copy();
      if (i == 100) backup_files = files->copy();
      now_ms += 10;
    }
  }
  const auto too_old = LogWarm::settle(backup_files->copy(), MemoryWarm::open(backup_disk->copy()).value(),
                                       keys::owner_bytes, options, 1'500, 8);
  ASSERT_FALSE(too_old) << "what went into sorted files does not come out again";
  EXPECT_EQ(too_old.error().field, "until");
  const std::vector<std::string> names = files->list().value();
  ASSERT_GT(std::ranges::count_if(names, [](auto& name) { return name.starts_with("archive/"); }), 3);
  for (const std::int64_t until : {2'000L, 2'010L, 3'505L, now_ms, 1L << 60}) {
    const auto at = backup_files->copy();
    for (const std::string& name : names) {
      const auto segment = segment_in(name);
      if (!segment) continue;
      const std::string bytes = files->read(name).value();
      const auto file = at->create(*segment, bytes.size()).value();
      ASSERT_TRUE(file->write(0, bytes));
      ASSERT_TRUE(file->sync());
    }
    auto restored = backup_disk->copy();
    const auto end =
        LogWarm::settle(at, MemoryWarm::open(restored).value(), keys::owner_bytes, options, until, 8).value();
    const auto moment = std::prev(moments.upper_bound(until));
    EXPECT_EQ(end.time_ms, moment->first);
    EXPECT_THAT(at->list().value(), testing::IsEmpty());
    const auto warm = LogWarm::open(at, MemoryWarm::open(restored).value(), keys::owner_bytes, options, 9).value();
    EXPECT_EQ(contents_of(*warm->snapshot()), moment->second) << until;
    // What follows is another history: the old log's records are refused, not mixed in.
    ASSERT_TRUE(warm->commit(batch_of(1)));
    const auto old = LogWarm::open(files, MemoryWarm::open(restored->copy()).value(), keys::owner_bytes, options, 9);
    ASSERT_FALSE(old);
    EXPECT_THAT(old.error().detail, testing::HasSubstr("it is of another log"));
  }
}

/// A sorted store that takes nothing while its disk is said to be full, or after so many batches.
class Refusing final : public Warm {
 public:
  explicit Refusing(std::unique_ptr<Warm> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<const Snapshot> snapshot() const override { return inner_->snapshot(); }
  Result<void> commit(const Batch& batch) override {
    if (refuses || takes-- <= 0) return fail(ErrorCode::RETRY_LATER, {}, "the sorted store's disk is full");
    return inner_->commit(batch);
  }
  Result<void> recover() override {
    if (refuses) return fail(ErrorCode::RETRY_LATER, {}, "the sorted store's disk is full");
    return inner_->recover();
  }
  WarmStatus status() const override { return inner_->status(); }
  std::atomic<bool> refuses = false;
  std::atomic<int> takes = 1'000'000;

 private:
  const std::unique_ptr<Warm> inner_;
};

/// A copy that was made while an overlay was on its way holds some of what was written later: no moment between.
TEST(LogWarm, DoesNotSettleBeforeWhatIsInTheSortedStoreByHalf) {
  set_log(LogLevel::off, LogFormat::text);
  std::int64_t now_ms = 1'000;
  const LogWarmOptions options{.log = {.segment_bytes = 4'096},
                               .overlay_bytes = 2'000,
                               .batch_bytes = 500,
                               .wall_ms = [&] { return now_ms; },
                               .threaded = false};
  const auto disk = std::make_shared<MemoryDisk>();
  const auto files = std::make_shared<MemoryFiles>();
  auto inner = std::make_unique<Refusing>(MemoryWarm::open(disk).value());
  inner->takes = 4;  // the first marker; its reach and two batches of rows, not the rest and the next marker
  auto warm = LogWarm::open(files, std::move(inner), keys::owner_bytes, options, 7).value();
  Result<void> done;
  for (unsigned i = 0; done && i < 1'000; ++i) {
    Batch batch;
    batch.put(Table::users, numbered("k", i), numbered("value ", i));
    done = warm->commit(batch);
    now_ms += 10;
  }
  ASSERT_FALSE(done);
  const auto half = disk->copy();
  const auto early =
      LogWarm::settle(files->copy(), MemoryWarm::open(half->copy()).value(), keys::owner_bytes, options, 1'050, 8);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().field, "until");
  EXPECT_TRUE(
      LogWarm::settle(files->copy(), MemoryWarm::open(half->copy()).value(), keys::owner_bytes, options, now_ms, 8));
}

/// Ever more of a range is erased, as of an outbox: what the last erasure says as well is not kept.
TEST(Overlay, KeepsNoErasuresThatALaterOneCovers) {
  Overlay overlay(keys::owner_bytes);
  Version version = 0;
  for (unsigned i = 0; i < 1'000; ++i) {
    Batch batch;
    batch.put(Table::events, numbered("e", i), "x");
    batch.erase_range(Table::events, "e", numbered("e", i));
    overlay.apply(batch, version + 1, std::vector<Version>{version});
    version += 2;
  }
  EXPECT_LE(overlay.erasures(), 3U);
  EXPECT_NE(overlay.erased(Table::events, numbered("e", 500), version), 0U);
}

TEST(LogWarm, ASortedStoreThatTakesNothingIsToldOfAtOnceAndNothingIsLost) {
  set_log(LogLevel::off, LogFormat::text);
  auto inner = std::make_unique<Refusing>(MemoryWarm::open(std::make_shared<MemoryDisk>()).value());
  Refusing& sorted = *inner;
  const auto warm = LogWarm::open(std::make_shared<MemoryFiles>(), std::move(inner), keys::owner_bytes,
                                  {.log = {.segment_bytes = 4'096}, .overlay_bytes = 2'000}, 7)
                        .value();
  sorted.refuses = true;
  Contents expected;
  Result<void> done;
  for (unsigned i = 0; done && i < 10'000; ++i) {
    Batch batch;
    batch.put(Table::users, numbered("k", i), numbered("value ", i));
    done = warm->commit(batch);
    if (done) apply_to(expected, batch);
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().detail, "the sorted store's disk is full");
  EXPECT_FALSE(warm->status().writable);
  EXPECT_EQ(warm->recover().error().detail, "the sorted store's disk is full") << "it would be refused again";
  EXPECT_EQ(contents_of(*warm->snapshot()), expected);
  sorted.refuses = false;
  while (!warm->recover()) std::this_thread::yield();
  Batch batch = batch_of(1);
  ASSERT_TRUE(warm->commit(batch));
  apply_to(expected, batch);
  EXPECT_EQ(contents_of(*warm->snapshot()), expected);
  EXPECT_EQ(warm->status().problem, "");
}

/// The whole embedded store, its sorted part fed by a thread.
RC_GTEST_PROP(LogWarmProperty, OverSortedFilesInAThread, ()) {
  set_log(LogLevel::off, LogFormat::text);
  const TemporaryDirectory directory(TemporaryDirectory::Where::memory);
  std::filesystem::create_directories(directory.path() + "/log");
  const auto open = [&] {
    RocksOptions rocks = small_options(directory.path() + "/store");
    rocks.ingest_operations = 5;
    return LogWarm::open(std::make_shared<DiskFiles>(directory.path() + "/log"), RocksWarm::open(rocks).value(),
                         keys::owner_bytes, {.log = {.segment_bytes = 16'384}, .overlay_bytes = 2'000}, 7)
        .value();
  };
  auto warm = open();
  Contents expected;
  std::vector<std::pair<std::shared_ptr<const Snapshot>, Contents>> kept;
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const int what = *rc::gen::inRange(0, 12);
    if (what == 0) {
      kept.clear();
      warm.reset();
      warm = open();
    } else if (what == 1) {
      kept.emplace_back(warm->snapshot(), expected);
    } else {
      const Batch batch = arbitrary_batch();
      RC_ASSERT(warm->commit(batch).has_value());
      apply_to(expected, batch);
    }
    compare_some(*warm->snapshot(), expected);
  }
  RC_ASSERT(contents_of(*warm->snapshot()) == expected);
  for (const auto& [snapshot, contents] : kept) RC_ASSERT(contents_of(*snapshot) == contents);
}

}  // namespace
}  // namespace tidemark
