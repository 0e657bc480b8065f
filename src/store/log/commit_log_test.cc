#include "store/log/commit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/log/disk_files.h"
#include "store/log/memory_files.h"
#include "store/rocks/rocks_world.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kId = 0x1234'5678'9abc'def0;
constexpr std::int64_t kTime = 1'700'000'000'000;
constexpr CommitLogOptions kSmall{.segment_bytes = 4'096};

using Records = std::map<std::uint64_t, std::string>;

struct Opened {
  std::unique_ptr<CommitLog> log;
  Records records;
};

Result<Opened> open(LogFiles& files, std::uint64_t known = 0, std::uint64_t id = kId) {
  Opened opened;
  TM_ASSIGN(opened.log, CommitLog::open(files, kSmall, id, known, [&](const LogRecord& record) {
              EXPECT_EQ(record.time_ms, kTime);
              opened.records[record.number] = record.payload;
              return Result<void>();
            }));
  return opened;
}

std::string payload_of(std::uint64_t number, std::size_t bytes) {
  std::string payload = "record " + std::to_string(number) + " ";
  while (payload.size() < bytes) payload += static_cast<char>('a' + payload.size() * 7 % 26);
  return payload;
}

/// A log with records of these sizes, closed again.
Records fill(LogFiles& files, const std::vector<std::size_t>& sizes) {
  Records records;
  auto opened = open(files).value();
  for (const std::size_t bytes : sizes) {
    const std::string payload = payload_of(opened.log->last() + 1, bytes);
    EXPECT_TRUE(opened.log->append(payload, kTime));
    records[opened.log->last()] = payload;
  }
  return records;
}

std::string refusal_of(LogFiles& files, std::uint64_t known = 0) {
  const auto opened = open(files, known);
  if (opened) return "it opened";
  EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL);
  return opened.error().detail;
}

TEST(CommitLog, GivesBackWhatWasAppended) {
  MemoryFiles files;
  EXPECT_EQ(open(files).value().log->last(), 0U);
  const Records records = fill(files, {10, 0, 1'000, 3'000, 2'000, 20'000, 5});
  const auto all = open(files).value();
  EXPECT_EQ(all.records, records);
  EXPECT_EQ(all.log->last(), 7U);
  EXPECT_THAT(open(files, 5).value().records, testing::SizeIs(2));
  EXPECT_THAT(open(files, 7).value().records, testing::IsEmpty());
}

TEST(CommitLog, GoesOnAfterEveryOpening) {
  MemoryFiles files;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    auto opened = open(files).value();
    EXPECT_EQ(opened.records.size(), i - 1);
    ASSERT_TRUE(opened.log->append("record", kTime));
    EXPECT_EQ(opened.log->last(), i);
  }
}

TEST(CommitLog, WhatFailedIsNotThereAfterItWentOn) {
  for (const std::string_view step : {"write", "sync"}) {
    auto files = std::make_shared<MemoryFiles>();
    auto opened = open(*files).value();
    ASSERT_TRUE(opened.log->append("first", kTime));
    files->set_fault([&](std::string_view each) { return each == step; });
    EXPECT_EQ(opened.log->append("failed", kTime).error().code, ErrorCode::RETRY_LATER);
    EXPECT_FALSE(opened.log->go_on());
    files->set_fault({});
    EXPECT_FALSE(opened.log->append("refused", kTime)) << "until it went on";
    ASSERT_TRUE(opened.log->go_on());
    files->crash([] { return true; });  // all that failed reaches the disk after all
    EXPECT_THAT(open(*files).value().records, ElementsAre(testing::Pair(1U, "first")));
  }
}

TEST(CommitLog, DropsSegmentsThatAreNotNeeded) {
  MemoryFiles files;
  auto opened = open(files).value();
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(opened.log->append(payload_of(i, 1'500), kTime));
  EXPECT_THAT(files.list().value(), testing::SizeIs(10));
  ASSERT_TRUE(opened.log->drop_below(9, kTime));
  EXPECT_THAT(files.list().value(), testing::SizeIs(6));
  ASSERT_TRUE(opened.log->drop_below(1'000, kTime));
  EXPECT_THAT(files.list().value(), testing::SizeIs(1));
  opened.log.reset();
  EXPECT_THAT(open(files, 18).value().records, testing::SizeIs(2));
  EXPECT_THAT(refusal_of(files, 3), HasSubstr("before its first one are missing"));
}

TEST(CommitLog, KeepsItsSegmentsInAnArchiveForAWhile) {
  MemoryFiles files;
  CommitLogOptions options = kSmall;
  options.archive_ms = 1'000;
  const auto none = [](const LogRecord&) { return Result<void>(); };
  auto log = CommitLog::open(files, options, kId, 0, none).value();
  for (std::uint64_t i = 1; i <= 8; ++i)
    ASSERT_TRUE(log->append(payload_of(i, 1'500), kTime + static_cast<std::int64_t>(i)));
  ASSERT_TRUE(log->drop_below(4, kTime + 900));
  EXPECT_THAT(files.list().value(),
              ElementsAre("archive/log-0000000000000001.1700000000002", "archive/log-0000000000000002.1700000000004",
                          "log-0000000000000003", "log-0000000000000004"));
  ASSERT_TRUE(log->drop_below(6, kTime + 1'003));
  ASSERT_TRUE(log->clear_archive(kTime + 1'003));
  EXPECT_THAT(files.list().value(), ElementsAre("archive/log-0000000000000002.1700000000004",
                                                "archive/log-0000000000000003.1700000000006", "log-0000000000000004"));
  EXPECT_EQ(segment_in("archive/log-0000000000000003.1700000000006"), "log-0000000000000003");
  EXPECT_EQ(segment_in("log-0000000000000004"), "log-0000000000000004");
  for (const char* other : {"spare-1", "archive/log-0000000000000003", "archive/log-3.7",
                            "archive/log-0000000000000003.x", "archive/", "log-0000000000000004.7"})
    EXPECT_EQ(segment_in(other), std::nullopt) << other;
  log.reset();
  EXPECT_EQ(CommitLog::open(files, options, kId, 6, none).value()->last(), 8U) << "it is not in the way";
}

TEST(CommitLog, ASegmentThatComesBackIsNotMistakenForAGap) {
  MemoryFiles files;
  auto opened = open(files).value();
  for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_TRUE(opened.log->append(payload_of(i, 1'500), kTime));
  ASSERT_TRUE(opened.log->drop_below(6, kTime));
  int asked = 0;
  files.crash([&] { return asked++ != 0; });  // the first of the removed files comes back
  const auto again = open(files, 6).value();
  EXPECT_EQ(again.records.size(), 2U);
  EXPECT_THAT(refusal_of(files, 0), HasSubstr("missing"));
}

TEST(CommitLog, UsesTheSegmentMadeBeforehand) {
  MemoryFiles files;
  auto opened = open(files).value();
  ASSERT_TRUE(opened.log->append("first", kTime));
  ASSERT_TRUE(opened.log->prepare());
  ASSERT_TRUE(opened.log->prepare());
  EXPECT_THAT(files.list().value(), ElementsAre("log-0000000000000001", "spare-1"));
  int created = 0;
  files.set_fault([&](std::string_view step) {
    created += step == "create" ? 1 : 0;
    return false;
  });
  ASSERT_TRUE(opened.log->append(payload_of(2, 4'000), kTime));
  EXPECT_EQ(created, 0);
  ASSERT_TRUE(opened.log->append(payload_of(3, 4'000), kTime));
  EXPECT_EQ(created, 1);
  opened.log.reset();
  EXPECT_EQ(open(files).value().records.size(), 3U);
}

/// Calls back before each file gets another name: what another thread does then.
class Interrupted final : public LogFiles {
 public:
  explicit Interrupted(MemoryFiles& files) : files_(files) {}
  std::string place() const override { return files_.place(); }
  Result<std::vector<std::string>> list() const override { return files_.list(); }
  Result<std::unique_ptr<LogFile>> create(const std::string& name, std::uint64_t bytes) override {
    return files_.create(name, bytes);
  }
  Result<std::unique_ptr<LogFile>> open(const std::string& name) override { return files_.open(name); }
  Result<std::string> read(const std::string& name) const override { return files_.read(name); }
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (auto meanwhile = std::exchange(meanwhile_, nullptr)) meanwhile();
    return files_.rename(from, to);
  }
  Result<void> truncate(const std::string& name, std::uint64_t bytes) override { return files_.truncate(name, bytes); }
  Result<void> remove(const std::string& name) override { return files_.remove(name); }
  void before_rename(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

 private:
  MemoryFiles& files_;
  std::function<void()> meanwhile_;
};

/// While the segment made beforehand gets its name, the next one is made, of a file that is not needed or anew.
TEST(CommitLog, MakesTheNextSegmentWhileOneGetsItsName) {
  for (const bool used_again : {true, false}) {
    MemoryFiles memory;
    Interrupted files(memory);
    auto opened = open(files).value();
    for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_TRUE(opened.log->append(payload_of(i, 1'500), kTime));
    ASSERT_TRUE(opened.log->prepare());
    bool done = false;
    files.before_rename([&] {
      if (used_again) EXPECT_TRUE(opened.log->drop_below(4, kTime));
      EXPECT_TRUE(opened.log->prepare());
      done = true;
    });
    for (std::uint64_t i = 9; i <= 14; ++i) ASSERT_TRUE(opened.log->append(payload_of(i, 1'500), kTime));
    EXPECT_TRUE(done);
    opened.log.reset();
    const auto again = open(memory, 4).value();
    EXPECT_EQ(again.log->last(), 14U);
    for (std::uint64_t i = 5; i <= 14; ++i) EXPECT_EQ(again.records.at(i), payload_of(i, 1'500));
  }
}

TEST(CommitLog, WhatCannotBeMadeBeforehandLeavesNothingBehind) {
  MemoryFiles files;
  auto opened = open(files).value();
  ASSERT_TRUE(opened.log->append("first", kTime));
  for (int i = 0; i < 3; ++i) {
    files.set_fault([](std::string_view step) { return step == "create"; });
    EXPECT_FALSE(opened.log->prepare());
    files.set_fault([](std::string_view step) { return step == "open"; });
    for (int k = 0; k < 4; ++k) ASSERT_TRUE(opened.log->append(payload_of(7, 1'500), kTime));
    (void)opened.log->drop_below(opened.log->last(), kTime);
    files.set_fault({});
  }
  const std::vector<std::string> names = files.list().value();
  EXPECT_EQ(std::ranges::count_if(names, [](auto& name) { return name.starts_with("spare"); }), 0);
}

TEST(CommitLog, WhatCannotBeArchivedIsTriedAgainInItsOrder) {
  MemoryFiles files;
  CommitLogOptions options = kSmall;
  options.archive_ms = 1'000;
  const auto none = [](const LogRecord&) { return Result<void>(); };
  auto log = CommitLog::open(files, options, kId, 0, none).value();
  for (std::uint64_t i = 1; i <= 12; ++i) ASSERT_TRUE(log->append(payload_of(i, 1'500), kTime));
  int renamed = 0;
  files.set_fault([&](std::string_view step) { return step == "rename" && ++renamed == 2; });
  EXPECT_FALSE(log->drop_below(8, kTime));
  files.set_fault({});
  ASSERT_TRUE(log->drop_below(10, kTime));
  const std::vector<std::string> names = files.list().value();
  EXPECT_EQ(std::ranges::count_if(names, [](auto& name) { return name.starts_with(kArchive); }), 5) << "no hole";
}

TEST(CommitLog, NamesWhatIsMissingOrForeign) {
  const std::vector<std::size_t> sizes(8, 1'500);
  MemoryFiles files;
  fill(files, sizes);
  const auto gap = files.copy();
  ASSERT_TRUE(gap->remove("log-0000000000000002"));
  EXPECT_THAT(refusal_of(*gap), HasSubstr("before its first one are missing"));
  const auto empty = std::make_shared<MemoryFiles>();
  EXPECT_THAT(refusal_of(*empty, 8), HasSubstr("ends with record 0, but 8 was in it"));
  EXPECT_THAT(refusal_of(files, 9), HasSubstr("ends with record 8"));
  // A segment of another log under a name of this one: what it holds is whole, and not ours.
  MemoryFiles other;
  {
    auto opened = open(other, 0, kId + 1).value();
    for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_TRUE(opened.log->append(payload_of(i, 1'500), kTime));
  }
  const std::string bytes = other.read("log-0000000000000002").value();
  auto file = files.create("log-0000000000000002", bytes.size()).value();
  ASSERT_TRUE(file->write(0, bytes));
  ASSERT_TRUE(file->sync());
  EXPECT_THAT(refusal_of(files), HasSubstr("it is of another log"));
  EXPECT_THAT(refusal_of(other), HasSubstr("it is of another log"));
}

TEST(CommitLog, StopsWhereTheVisitorStops) {
  MemoryFiles files;
  fill(files, {10, 10, 10});
  const auto opened = CommitLog::open(files, kSmall, kId, 0, [](const LogRecord& record) -> Result<void> {
    if (record.number == 2) return fail(ErrorCode::INTERNAL, {}, "not understood");
    return {};
  });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().detail, "not understood");
}

/// Whatever byte is spoiled: never a wrong record, and at most the last one is dropped without a word.
RC_GTEST_PROP(CommitLogProperty, DamageIsFound, ()) {
  MemoryFiles files;
  const auto sizes =
      *rc::gen::container<std::vector<std::size_t>>(*rc::gen::inRange(1, 12), rc::gen::inRange(0, 3'000));
  const Records records = fill(files, sizes);
  const std::string name = *rc::gen::elementOf(files.list().value());
  files.damage(name, *rc::gen::inRange<std::uint64_t>(0, files.read(name).value().size()));
  const auto opened = open(files);
  if (!opened) {
    RC_ASSERT(opened.error().code == ErrorCode::INTERNAL);
    RC_ASSERT(opened.error().detail.contains("memory"));
    return;
  }
  Records without_last = records;
  without_last.erase(std::prev(without_last.end()));
  RC_ASSERT(opened->records == records || opened->records == without_last);
}

/// Random work with faults, crashes and openings: what was acknowledged is there, in order; what failed is there or
/// not, and once somebody was told, it stays so; a crash alone never keeps the log from opening.
RC_GTEST_PROP(CommitLogProperty, AcknowledgedRecordsSurviveEverything, ()) {
  MemoryFiles files;
  const auto dice = *rc::gen::container<std::vector<int>>(400, rc::gen::inRange(0, 1'000));
  std::size_t thrown = 0;
  const auto roll = [&](int below) { return dice[thrown++ % dice.size()] % below; };
  Opened opened = open(files).value();
  Records acknowledged;
  std::optional<std::string> unknown;  // failed, and nobody went on
  std::uint64_t marker = 0;            // what is below has been taken elsewhere
  for (int step = 0; step < 120; ++step) {
    switch (roll(10)) {
      case 0: {
        // The machine dies, or the process alone: then what was not synced is still there to be read.
        if (roll(2) == 0) files.crash([&] { return roll(2) == 0; });
        opened.log.reset();
        files.set_fault({});
        auto again = open(files, marker);
        if (!again) RC_FAIL(again.error().detail);
        opened = std::move(*again);
        if (unknown && opened.log->last() > acknowledged.size()) acknowledged[acknowledged.size() + 1] = *unknown;
        unknown.reset();
        Records expected = acknowledged;
        std::erase_if(expected, [&](const auto& each) { return each.first <= marker; });
        RC_ASSERT(opened.records == expected);
        RC_ASSERT(opened.log->last() == acknowledged.size());
        break;
      }
      case 1:
        files.set_fault([&, at = roll(12)](std::string_view) mutable { return at-- == 0; });
        break;
      case 2:
        (void)opened.log->prepare();
        break;
      case 3:
        if (!acknowledged.empty())
          marker += static_cast<std::uint64_t>(roll(static_cast<int>(acknowledged.size() - marker) + 1));
        (void)opened.log->drop_below(marker, kTime);
        break;
      case 4:
        files.set_fault({});
        RC_ASSERT(opened.log->go_on().has_value());
        unknown.reset();
        break;
      default: {
        const std::uint64_t number = acknowledged.size() + 1;
        const std::string payload = payload_of(number, static_cast<std::size_t>(roll(40) == 0 ? 9'000 : roll(1'500)));
        if (opened.log->append(payload, kTime))
          acknowledged[number] = payload;
        else if (!unknown)
          unknown = payload;
        break;
      }
    }
  }
}

TEST(DiskFiles, HoldAnArchive) {
  const TemporaryDirectory directory;
  DiskFiles files(directory.path());
  CommitLogOptions options = kSmall;
  options.archive_ms = 1'000;
  const auto none = [](const LogRecord&) { return Result<void>(); };
  const auto log = CommitLog::open(files, options, kId, 0, none).value();
  for (std::uint64_t i = 1; i <= 6; ++i) ASSERT_TRUE(log->append(payload_of(i, 1'500), kTime));
  ASSERT_TRUE(log->drop_below(4, kTime));
  EXPECT_THAT(files.list().value(), ElementsAre("log-0000000000000003", "archive/log-0000000000000001.1700000000000",
                                                "archive/log-0000000000000002.1700000000000"));
  ASSERT_TRUE(log->clear_archive(kTime + 2'000));
  EXPECT_THAT(files.list().value(), ElementsAre("log-0000000000000003"));
}

TEST(DiskFiles, HoldALog) {
  const TemporaryDirectory directory;
  DiskFiles files(directory.path());
  const Records records = fill(files, {10, 3'000, 3'000, 9'000, 0});
  EXPECT_THAT(files.list().value(), testing::SizeIs(4));
  EXPECT_EQ(std::filesystem::file_size(directory.path() + "/log-0000000000000004"), 4'096U);
  EXPECT_EQ(std::filesystem::file_size(directory.path() + "/log-0000000000000001"), 3'136U)
      << "cut off behind its records";
  auto opened = open(files).value();
  EXPECT_EQ(opened.records, records);
  ASSERT_TRUE(opened.log->prepare());
  ASSERT_TRUE(opened.log->drop_below(5, kTime));
  EXPECT_THAT(files.list().value(), testing::SizeIs(2));
  const auto missing = files.read("log-0000000000000001");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::RETRY_LATER);
  EXPECT_THAT(missing.error().detail, HasSubstr(directory.path() + "/log-0000000000000001"));
}

}  // namespace
}  // namespace tidemark
