// What the RocksDB adapter promises beyond the port: every failing operation of the disk, every step of a recovery,
// damage anywhere, directories that are not what they should be.
#include "store/rocks/rocks_warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/rocks/rocks_world.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

constexpr const char* kRecoverySteps[] = {"prepare", "link", "open", "verify", "probe", "publish", "published"};

std::unique_ptr<Warm> must_open(RocksOptions options) {
  auto warm = RocksWarm::open(std::move(options));
  EXPECT_TRUE(warm) << warm.error().message();
  return warm ? std::move(*warm) : nullptr;
}

Batch big_batch(unsigned number) {
  Batch batch = batch_of(number);
  batch.put(Table::entries, numbered("big", number), std::string(40'000, static_cast<char>('a' + number % 26)));
  return batch;
}

/// Batches 1 to `acked` are there whole; number acked + 1 is there whole or not at all.
void expect_acked(const Warm& warm, unsigned acked) {
  const auto snapshot = warm.snapshot();
  for (unsigned number = 1; number <= acked; ++number) {
    ASSERT_EQ(parts_there(*snapshot, number), std::size(kTables)) << "of batch " << number;
  }
  const std::size_t parts = parts_there(*snapshot, acked + 1);
  EXPECT_TRUE(parts == 0 || parts == std::size(kTables)) << parts << " parts of the failed batch";
}

struct Failing {
  std::uint64_t nth;
  bool for_ever = false;
  std::string part = {};  // of the file's path; empty: any file
};

/// Commits until something fails, lets the disk heal, recovers, and goes on; whatever was confirmed must be there.
/// Whether there were so many operations that one failed.
bool run_with_failing_operation(const Failing& failing, const RocksWorld::Clock clock = RocksWorld::Clock::real) {
  SCOPED_TRACE("operation " + std::to_string(failing.nth) + (failing.for_ever ? " and all later ones" : "") +
               " fails, of files like \"" + failing.part + "\"");
  RocksWorld world(clock);
  RocksOptions options = world.options();
  options.memtable_bytes = 1u << 20;  // so that memtables are written out and merged in the midst of it
  options.max_wal_bytes = 1u << 20;
  auto warm = must_open(options);
  if (!warm) return false;
  world.files().fail_operation(failing.nth, failing.for_ever, failing.part);
  unsigned acked = 0;
  while (acked < 60) {
    if (warm->commit(big_batch(acked + 1))) {
      ++acked;
      continue;
    }
    expect_acked(*warm, acked);
    EXPECT_EQ(parts_there(*warm->snapshot(), acked + 1), 0u) << "a failed batch shows before the recovery";
    if (failing.for_ever) EXPECT_FALSE(warm->recover());
    world.files().set_broken(false);
    const auto recovered = warm->recover();
    EXPECT_TRUE(recovered) << recovered.error().message();
    if (!recovered) return false;
    expect_acked(*warm, acked);
  }
  const bool struck = world.files().struck();
  world.crash(warm);
  warm = must_open(world.options());
  if (warm) expect_acked(*warm, acked);
  return struck;
}

TEST(RocksWarm, loses_nothing_whichever_operation_of_the_disk_fails) {
  for (std::uint64_t nth = 1; nth <= 250; nth += sparsely(nth < 20 ? 1 : 11)) {
    run_with_failing_operation({nth});
    if (HasFailure()) return;
  }
}

TEST(RocksWarm, loses_nothing_when_the_disk_fails_for_good_at_any_operation) {
  for (std::uint64_t nth = 1; nth <= 250; nth += sparsely(nth < 10 ? 1 : 13)) {
    run_with_failing_operation({nth, true});
    if (HasFailure()) return;
  }
}

// RocksDB's assertions, which Debian's build keeps, forbid any use of a file that failed. Its own text log breaks that
// rule, so it must not have one; the clock hurries so that it would write it out at every line.
TEST(RocksWarm, a_failing_file_of_any_kind_neither_ends_the_process_nor_loses_anything) {
  for (const char* part : {".log", ".sst", "/MANIFEST-", "/OPTIONS-", ".dbtmp", "/LOG", "/db-000002/"}) {
    for (const bool for_ever : {false, true}) {
      std::uint64_t nth = 1;
      while (run_with_failing_operation({nth, for_ever, part}, RocksWorld::Clock::hurried) && !HasFailure()) {
        nth += sparsely(1 + nth);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(RocksWarm, has_no_text_log_of_rocksdb_on_its_disk) {
  RocksWorld world;
  auto warm = must_open(world.options());
  ASSERT_TRUE(warm->commit(batch_of(1)));
  world.fail_commit(CommitFault::kept);
  ASSERT_FALSE(warm->commit(batch_of(2)));
  ASSERT_TRUE(warm->recover());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(world.directory())) {
    EXPECT_THAT(entry.path().filename().string(), testing::Not(testing::StartsWith("LOG."))) << entry.path();
    EXPECT_TRUE(entry.path().filename() != "LOG") << entry.path();
  }
}

TEST(RocksWarm, a_recovery_that_fails_at_any_step_leaves_the_store_as_it_was) {
  for (const char* failing : kRecoverySteps) {
    SCOPED_TRACE(failing);
    RocksWorld world;
    RocksOptions options = world.options();
    bool faulty = true;
    options.recovery_fault = [&](std::string_view step) { return faulty && step == failing; };
    auto warm = must_open(options);
    ASSERT_TRUE(warm->commit(batch_of(1)));
    world.fail_commit(CommitFault::kept);
    ASSERT_FALSE(warm->commit(batch_of(2)));
    for (int again = 0; again < 3; ++again) {
      const auto failed = warm->recover();
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, ErrorCode::RETRY_LATER);
      EXPECT_EQ(parts_there(*warm->snapshot(), 1), std::size(kTables));
      EXPECT_EQ(parts_there(*warm->snapshot(), 2), 0u);
      EXPECT_FALSE(warm->commit(batch_of(3)));
    }
    world.crash(warm);  // whatever the directory shows now must open
    faulty = false;
    warm = must_open(options);
    ASSERT_TRUE(warm);
    expect_acked(*warm, 1);
    ASSERT_TRUE(warm->commit(batch_of(4)));
    EXPECT_EQ(parts_there(*warm->snapshot(), 3), 0u);
  }
}

TEST(RocksWarm, an_operation_that_fails_within_a_recovery_leaves_it_repeatable) {
  std::uint64_t nth = 1;
  for (bool reached = true; reached; nth += sparsely(5)) {
    SCOPED_TRACE(nth);
    RocksWorld world;
    auto warm = must_open(world.options());
    ASSERT_TRUE(warm->commit(batch_of(1)));
    world.fail_commit(CommitFault::kept);
    ASSERT_FALSE(warm->commit(batch_of(2)));
    world.files().fail_operation(nth);
    const bool failed = !warm->recover();
    reached = world.files().struck();  // some may fail without harm: what removes files that are of no use any more
    world.files().fail_operation(0);
    if (failed) {
      EXPECT_EQ(parts_there(*warm->snapshot(), 1), std::size(kTables));
      const auto again = warm->recover();
      ASSERT_TRUE(again) << again.error().message();
    }
    expect_acked(*warm, 1);
    const Contents recovered = contents_of(*warm->snapshot());
    ASSERT_LT(nth, 1000u);
    world.crash(warm);
    warm = must_open(world.options());
    EXPECT_EQ(contents_of(*warm->snapshot()), recovered);
  }
  EXPECT_GT(nth, 30u) << "a recovery takes more operations than this";
}

TEST(RocksWarm, a_snapshot_from_before_a_recovery_keeps_its_data_and_then_frees_it) {
  RocksWorld world;
  auto warm = must_open(world.options());
  ASSERT_TRUE(warm->commit(batch_of(1)));
  auto kept = warm->snapshot();
  for (int round = 0; round < 3; ++round) {
    world.fail_commit(CommitFault::lost);
    ASSERT_FALSE(warm->commit(batch_of(2)));
    ASSERT_TRUE(warm->recover());
  }
  EXPECT_EQ(parts_there(*kept, 1), std::size(kTables));
  EXPECT_TRUE(std::filesystem::exists(world.directory() + "/db-000001"));
  EXPECT_FALSE(std::filesystem::exists(world.directory() + "/db-000002")) << "nobody reads it";
  EXPECT_TRUE(std::filesystem::exists(world.directory() + "/db-000004"));
  kept.reset();
  EXPECT_FALSE(std::filesystem::exists(world.directory() + "/db-000001"));
}

TEST(RocksWarm, readers_go_on_and_see_whole_moments_while_commits_fail_and_recover) {
  RocksWorld world;
  auto warm = must_open(world.options());
  ASSERT_TRUE(warm->commit(batch_of(1)));
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> reads = 0;
  const auto read = [&] {
    unsigned seen = 0;
    while (!stop) {
      const auto snapshot = warm->snapshot();
      const auto first = snapshot->get(Table::meta, "last");
      ASSERT_TRUE(first && *first);
      const auto number = static_cast<unsigned>(std::stoul(**first));
      ASSERT_GE(number, seen) << "time ran backwards";
      seen = number;
      for (const Table table : kTables) {
        const auto value = snapshot->get(table, "last");
        ASSERT_TRUE(value && *value == **first) << "half a batch";
      }
      ASSERT_EQ(parts_there(*snapshot, number), std::size(kTables));
      ++reads;
    }
  };
  std::thread one(read);
  std::thread two(read);
  for (unsigned number = 2; number < 300; ++number) {
    if (number % 50 == 0) {
      world.fail_commit(kCommitFaults[(number / 50) % 3]);
      EXPECT_FALSE(warm->commit(batch_of(number)));
      EXPECT_TRUE(warm->recover());
    } else {
      EXPECT_TRUE(warm->commit(batch_of(number)));
    }
  }
  const std::uint64_t before = reads;
  while (reads < before + 10) std::this_thread::yield();
  stop = true;
  one.join();
  two.join();
}

TEST(RocksWarm, damage_in_a_sorted_file_is_never_read_as_a_value) {
  RocksWorld world;
  auto warm = must_open(world.options());
  Batch batch;
  for (unsigned i = 0; i < 500; ++i) batch.put(Table::entries, numbered("k", i), numbered("value ", i * 7));
  ASSERT_TRUE(warm->commit(batch));
  warm.reset();
  must_open(world.options());  // from the log into a sorted file
  const auto files = files_of(world.directory(), ".sst");
  const auto file = *std::ranges::max_element(files, {}, [](const auto& path) { return file_size(path); });
  const std::string whole = bytes_of_file(file);
  unsigned refused = 0;
  const std::size_t step = whole.size() / 60;
  for (std::size_t at = 3; at < whole.size(); at += step) {
    flip_byte(file, at);
    const auto opened = RocksWarm::open(world.options());
    if (opened) {
      const auto snapshot = (*opened)->snapshot();
      for (unsigned i = 0; i < 500; i += 20) {
        const auto value = snapshot->get(Table::entries, numbered("k", i));
        if (value) EXPECT_EQ(*value, numbered("value ", i * 7)) << "byte " << at;
        if (!value) ++refused;
      }
      unsigned rows = 0;
      const auto scanned =
          snapshot->scan(Table::entries, "", kAboveAll, [&](std::string_view key, std::string_view value) {
            EXPECT_EQ(value, numbered("value ", static_cast<unsigned>(std::stoul(std::string(key.substr(1)))) * 7));
            return ++rows > 0;
          });
      if (scanned) EXPECT_EQ(rows, 500u) << "byte " << at;
    } else {
      EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL) << opened.error().message();
      ++refused;
    }
    write_file(file, whole);
  }
  EXPECT_GE(refused, 30u);
}

TEST(RocksWarm, status_counts_what_was_committed) {
  RocksWorld world;
  const auto warm = must_open(world.options());
  Batch batch;
  batch.put(Table::users, "key", "value");
  batch.erase(Table::users, "other");
  ASSERT_TRUE(warm->commit(batch));
  ASSERT_TRUE(warm->commit(Batch{}));
  const WarmStatus status = warm->status();
  EXPECT_TRUE(status.writable);
  EXPECT_EQ(status.problem, "");
  EXPECT_EQ(status.batches, 1u);
  EXPECT_EQ(status.puts, 1u);
  EXPECT_EQ(status.put_bytes, 8u);
  EXPECT_GT(status.disk_bytes, 0u);
}

TEST(RocksWarm, directories_that_are_not_a_store_are_refused_by_name) {
  RocksWorld world;
  must_open(world.options())->commit(batch_of(1)).value();
  const auto refusal = [&] {
    const auto opened = RocksWarm::open(world.options());
    EXPECT_FALSE(opened);
    if (opened) return std::string();
    EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL);
    EXPECT_THAT(opened.error().detail, HasSubstr(world.directory()));
    return opened.error().detail;
  };
  std::filesystem::remove(world.directory() + "/FORMAT");
  EXPECT_THAT(refusal(), HasSubstr("FORMAT"));
  write_file(world.directory() + "/FORMAT", "tidemark-warm " + std::to_string(RocksWarm::kFormat) + "\n");
  write_file(world.directory() + "/CURRENT_DB", "../../etc\n");
  EXPECT_THAT(refusal(), HasSubstr("CURRENT_DB"));
  write_file(world.directory() + "/CURRENT_DB", "db-000007\n");
  EXPECT_THAT(refusal(), HasSubstr("db-000007"));
  std::filesystem::remove(world.directory() + "/CURRENT_DB");  // what a first start that was cut short leaves
  const auto warm = must_open(world.options());
  ASSERT_TRUE(warm);
  EXPECT_EQ(parts_there(*warm->snapshot(), 1), std::size(kTables));

  write_file(world.directory() + "-file", "not a directory");
  RocksOptions options = world.options();
  options.path = world.directory() + "-file";
  const auto opened = RocksWarm::open(options);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().detail, HasSubstr(options.path));
}

}  // namespace
}  // namespace tidemark
