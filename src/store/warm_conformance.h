// The conformance suite of the Warm port: one test for each guarantee W1-W10 of store/warm.h, and a property test that
// compares an adapter with a plain map. Included by tests alone:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, WarmConformance, MemoryWorld);
//
// A World is one place where data lives, and the power to hurt it. It has
//   std::string directory();                     what errors about the place must name
//   Result<std::unique_ptr<Warm>> open();        opens the store on the data that is there
//   void fail_commit(CommitFault);               what the next commit of the open store meets
//   void set_broken(bool);                       while true no recovery succeeds
//   void crash(std::unique_ptr<Warm>&);          the machine dies: the store is gone and all that was not synced
//   void on_sync(std::function<void()>);         called in each commit, between write and sync; empty: no more
//   void damage();                               harms the data of key "k000050" in table users; no store is open
//   void set_unknown_format();                   makes the data look like another version's; no store is open
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/property_testing.h"
#include "store/warm.h"

namespace tidemark {

/// Sanitized programs run several times slower, and threads start at a hundredth of the speed.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TIDEMARK_SANITIZED 1
#endif
#endif
#ifdef TIDEMARK_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Fewer histories there.
inline const bool kFewerHistories = kSanitized && cases_of_each_property(20);

enum class CommitFault : std::uint8_t {
  before,  // fails before a byte is written
  lost,    // written, the sync fails, and the bytes are gone
  kept,    // written, the sync fails, and the bytes are there
};
inline constexpr CommitFault kCommitFaults[] = {CommitFault::before, CommitFault::lost, CommitFault::kept};

using Rows = std::map<std::string, std::string>;
using Contents = std::array<Rows, std::size(kTables)>;

/// The port as plain as can be: the oracle.
inline void apply_to(Contents& contents, const Batch& batch) {
  for (const Batch::Operation& operation : batch.operations()) {
    Rows& rows = contents[static_cast<std::size_t>(operation.table)];
    if (operation.kind == Batch::Kind::put) rows[operation.key] = operation.value;
    if (operation.kind == Batch::Kind::erase) rows.erase(operation.key);
    if (operation.kind == Batch::Kind::erase_range) {
      std::erase_if(rows, [&](const auto& row) { return row.first >= operation.key && row.first < operation.value; });
    }
  }
}

/// Above every key that the suite writes.
inline const std::string kAboveAll(16, '\xff');

inline std::vector<std::pair<std::string, std::string>> list_of(const Snapshot& snapshot, Table table,
                                                                std::string_view from, std::string_view to,
                                                                bool backwards = false) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto visit = [&](std::string_view key, std::string_view value) {
    rows.emplace_back(key, value);
    return true;
  };
  const auto done = backwards ? snapshot.scan_back(table, from, to, visit) : snapshot.scan(table, from, to, visit);
  EXPECT_TRUE(done) << done.error().message();
  return rows;
}

inline Contents contents_of(const Snapshot& snapshot) {
  Contents contents;
  for (const Table table : kTables) {
    for (auto& row : list_of(snapshot, table, "", kAboveAll)) contents[static_cast<std::size_t>(table)].insert(row);
  }
  return contents;
}

inline std::string numbered(std::string_view prefix, unsigned number) {
  const std::string digits = std::to_string(number);
  return std::string(prefix) + std::string(6 - digits.size(), '0') + digits;
}

/// A batch that touches every table, told apart by its number.
inline Batch batch_of(unsigned number) {
  Batch batch;
  for (const Table table : kTables) {
    batch.put(table, numbered("batch", number), std::to_string(number));
    batch.put(table, "last", std::to_string(number));
  }
  return batch;
}

/// How many tables hold batch `number`.
inline std::size_t parts_there(const Snapshot& snapshot, unsigned number) {
  std::size_t parts = 0;
  for (const Table table : kTables) {
    const auto value = snapshot.get(table, numbered("batch", number));
    EXPECT_TRUE(value) << value.error().message();
    if (value && *value) ++parts;
  }
  return parts;
}

template <typename World>
class WarmConformance : public testing::Test {
 protected:
  void SetUp() override { open(); }

  void open() {
    auto opened = world_.open();
    ASSERT_TRUE(opened) << opened.error().message();
    warm_ = std::move(*opened);
  }
  void crash_and_open() {
    world_.crash(warm_);
    open();
  }
  void commit(const Batch& batch) {
    const auto done = warm_->commit(batch);
    ASSERT_TRUE(done) << done.error().message();
  }
  void commit_failing(CommitFault fault, const Batch& batch) {
    world_.fail_commit(fault);
    const auto done = warm_->commit(batch);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::RETRY_LATER);
  }
  void recover() {
    const auto done = warm_->recover();
    ASSERT_TRUE(done) << done.error().message();
  }
  std::optional<std::string> value(Table table, std::string_view key) {
    return value_in(*warm_->snapshot(), table, key);
  }
  static std::optional<std::string> value_in(const Snapshot& snapshot, Table table, std::string_view key) {
    const auto found = snapshot.get(table, key);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : std::nullopt;
  }

  World world_;
  std::unique_ptr<Warm> warm_;
};

TYPED_TEST_SUITE_P(WarmConformance);

TYPED_TEST_P(WarmConformance, W01_a_batch_is_there_whole_or_not_at_all_after_a_crash) {
  unsigned number = 0;
  for (const CommitFault fault : kCommitFaults) {
    this->commit(batch_of(++number));
    this->commit_failing(fault, batch_of(++number));
    this->crash_and_open();
    const auto snapshot = this->warm_->snapshot();
    EXPECT_EQ(parts_there(*snapshot, number - 1), std::size(kTables));
    const std::size_t parts = parts_there(*snapshot, number);
    EXPECT_TRUE(parts == 0 || parts == std::size(kTables)) << parts << " parts of a batch";
  }
}

TYPED_TEST_P(WarmConformance, W02_a_batch_that_succeeded_survives_a_crash) {
  for (unsigned number = 1; number <= 5; ++number) {
    this->commit(batch_of(number));
    this->crash_and_open();
    for (unsigned earlier = 1; earlier <= number; ++earlier) {
      EXPECT_EQ(parts_there(*this->warm_->snapshot(), earlier), std::size(kTables));
    }
  }
}

TYPED_TEST_P(WarmConformance, W03_nothing_shows_before_it_is_durable) {
  this->commit(batch_of(1));
  unsigned syncs = 0;
  this->world_.on_sync([&] {
    ++syncs;
    EXPECT_EQ(parts_there(*this->warm_->snapshot(), 2), 0u);
  });
  this->commit(batch_of(2));
  this->world_.on_sync({});
  EXPECT_GE(syncs, 1u);
  EXPECT_EQ(parts_there(*this->warm_->snapshot(), 2), std::size(kTables));
}

TYPED_TEST_P(WarmConformance, W04_later_operations_win_within_and_between_batches) {
  Batch first;
  for (const char* key : {"a", "b", "c", "d", "e"}) first.put(Table::users, key, "old");
  this->commit(first);

  Batch second;
  second.put(Table::users, "bb", "put, then in the erased range");
  second.erase_range(Table::users, "b", "d");
  second.put(Table::users, "c", "after the range");
  second.put(Table::users, "e", "first");
  second.put(Table::users, "e", "second");
  second.put(Table::users, "f", "put, then erased");
  second.erase(Table::users, "f");
  second.erase(Table::users, "g");
  second.put(Table::users, "g", "erased, then put");
  second.erase_range(Table::users, "d", "a");  // an empty range
  this->commit(second);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "old"}, {"c", "after the range"}, {"d", "old"}, {"e", "second"}, {"g", "erased, then put"}};
  EXPECT_EQ(list_of(*this->warm_->snapshot(), Table::users, "", kAboveAll), expected);
  this->crash_and_open();
  EXPECT_EQ(list_of(*this->warm_->snapshot(), Table::users, "", kAboveAll), expected);
}

TYPED_TEST_P(WarmConformance, W05_a_snapshot_stays_as_it_was) {
  this->commit(batch_of(1));
  const auto kept = this->warm_->snapshot();
  const Contents before = contents_of(*kept);
  Batch erase;
  for (const Table table : kTables) erase.erase_range(table, "", kAboveAll);
  this->commit(erase);
  for (unsigned number = 2; number < 40; ++number) this->commit(batch_of(number));
  this->commit_failing(CommitFault::kept, batch_of(40));
  this->recover();
  this->commit(batch_of(41));
  EXPECT_EQ(contents_of(*kept), before);
  EXPECT_EQ(this->value_in(*kept, Table::objects, "last"), "1");
  this->warm_.reset();
  EXPECT_EQ(contents_of(*kept), before) << "a snapshot outlives the store it came from";
}

TYPED_TEST_P(WarmConformance, W06_keys_are_ordered_as_unsigned_bytes) {
  const std::vector<std::string> keys = {std::string(1, '\0'),
                                         std::string("\0\0", 2),
                                         "\x01",
                                         "A",
                                         "a",
                                         std::string("a\0", 2),
                                         "aa",
                                         "\x7f",
                                         "\x80",
                                         "\xc3\xa9",
                                         "\xff",
                                         "\xff\xff"};
  std::vector<std::pair<std::string, std::string>> rows;
  Batch batch;
  for (std::size_t i = keys.size(); i-- > 0;) batch.put(Table::entries, keys[i], std::to_string(i));
  batch.put(Table::objects, "b", "another table");
  for (std::size_t i = 0; i < keys.size(); ++i) rows.emplace_back(keys[i], std::to_string(i));
  this->commit(batch);
  const auto snapshot = this->warm_->snapshot();
  EXPECT_EQ(list_of(*snapshot, Table::entries, "", kAboveAll), rows);
  for (std::size_t from = 0; from < rows.size(); ++from) {
    for (std::size_t to = 0; to < rows.size(); ++to) {
      std::vector<std::pair<std::string, std::string>> part;
      if (from < to) part.assign(rows.begin() + static_cast<long>(from), rows.begin() + static_cast<long>(to));
      EXPECT_EQ(list_of(*snapshot, Table::entries, keys[from], keys[to]), part);
      std::ranges::reverse(part);
      EXPECT_EQ(list_of(*snapshot, Table::entries, keys[from], keys[to], true), part);
    }
  }
  unsigned visits = 0;
  const auto stop_at_three = [&](std::string_view, std::string_view) { return ++visits < 3; };
  ASSERT_TRUE(snapshot->scan(Table::entries, "", kAboveAll, stop_at_three));
  EXPECT_EQ(visits, 3u);
  const auto many = snapshot->get_many(Table::entries, {"aa", "not there", "A", "aa"});
  ASSERT_TRUE(many);
  EXPECT_EQ(*many, (std::vector<std::optional<std::string>>{"6", std::nullopt, "3", "6"}));
}

TYPED_TEST_P(WarmConformance, W07_after_a_failed_commit_reads_go_on_and_commits_are_refused) {
  unsigned number = 0;
  for (const CommitFault fault : kCommitFaults) {
    this->commit(batch_of(++number));
    const auto before = this->warm_->snapshot();
    const Contents published = contents_of(*before);
    this->commit_failing(fault, batch_of(++number));
    EXPECT_FALSE(this->warm_->status().writable);
    EXPECT_NE(this->warm_->status().problem, "");
    for (int again = 0; again < 3; ++again) {
      const auto refused = this->warm_->commit(batch_of(100));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::RETRY_LATER);
      EXPECT_EQ(contents_of(*this->warm_->snapshot()), published);
      EXPECT_EQ(contents_of(*before), published);
    }
    this->recover();
    EXPECT_EQ(parts_there(*this->warm_->snapshot(), 100), 0u);
  }
}

TYPED_TEST_P(WarmConformance, W08_recovery_settles_the_outcome_and_may_be_called_again) {
  unsigned number = 0;
  for (const CommitFault fault : kCommitFaults) {
    this->commit(batch_of(++number));
    this->commit_failing(fault, batch_of(++number));
    const Contents published = contents_of(*this->warm_->snapshot());
    this->world_.set_broken(true);
    for (int again = 0; again < 3; ++again) {
      const auto refused = this->warm_->recover();
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::RETRY_LATER);
      EXPECT_EQ(contents_of(*this->warm_->snapshot()), published);
      EXPECT_FALSE(this->warm_->commit(batch_of(100)));
    }
    this->world_.set_broken(false);
    this->recover();
    EXPECT_TRUE(this->warm_->status().writable);
    EXPECT_EQ(this->warm_->status().problem, "");
    const std::size_t parts = parts_there(*this->warm_->snapshot(), number);
    EXPECT_TRUE(parts == 0 || parts == std::size(kTables)) << parts << " parts of a batch";
    const Contents recovered = contents_of(*this->warm_->snapshot());
    this->crash_and_open();
    EXPECT_EQ(contents_of(*this->warm_->snapshot()), recovered);
    this->commit(batch_of(++number));
    this->recover();  // with nothing to recover from
    EXPECT_EQ(parts_there(*this->warm_->snapshot(), number), std::size(kTables));
  }
}

TYPED_TEST_P(WarmConformance, W09_damage_and_unknown_formats_are_refused) {
  Batch batch;
  for (unsigned i = 0; i < 100; ++i) batch.put(Table::users, numbered("k", i), numbered("value ", i));
  this->commit(batch);
  this->warm_.reset();
  this->world_.damage();
  auto opened = this->world_.open();
  if (opened) {
    const auto snapshot = (*opened)->snapshot();
    unsigned refused = 0;
    for (unsigned i = 0; i < 100; ++i) {
      const auto found = snapshot->get(Table::users, numbered("k", i));
      if (found) {
        EXPECT_EQ(*found, numbered("value ", i));
      } else {
        EXPECT_EQ(found.error().code, ErrorCode::INTERNAL);
        ++refused;
      }
    }
    EXPECT_GE(refused, 1u);
    const auto scanned = snapshot->scan(Table::users, "", kAboveAll, [](auto, auto) { return true; });
    ASSERT_FALSE(scanned) << "a scan over damage ended as if it had seen all";
    EXPECT_EQ(scanned.error().code, ErrorCode::INTERNAL);
  } else {
    EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL);
  }
  opened = fail(ErrorCode::NOT_FOUND);  // closes it
  this->world_.set_unknown_format();
  opened = this->world_.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL);
  EXPECT_NE(opened.error().detail.find("format"), std::string::npos) << opened.error().detail;
  EXPECT_NE(opened.error().detail.find(this->world_.directory()), std::string::npos) << opened.error().detail;
}

TYPED_TEST_P(WarmConformance, W10_a_second_opening_is_refused_by_name) {
  this->commit(batch_of(1));
  const auto second = this->world_.open();
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().detail.find(this->world_.directory()), std::string::npos) << second.error().detail;
  this->commit(batch_of(2));
  this->warm_.reset();
  this->open();
  EXPECT_EQ(parts_there(*this->warm_->snapshot(), 2), std::size(kTables));
}

inline std::string arbitrary_key() {
  std::string key =
      *rc::gen::resize(4, rc::gen::container<std::string>(rc::gen::element('\0', 'a', 'b', '\x7f', '\xfe')));
  // Some in the form of a conversation's entries: many keys that differ in the last bytes alone.
  if (*rc::gen::arbitrary<bool>()) key = "conversation" + std::string(7, '\0') + key.substr(0, 1);
  return key;
}

inline Table arbitrary_table() {
  return *rc::gen::element(Table::entries, Table::users, Table::dedup);
}

inline Batch arbitrary_batch() {
  Batch batch;
  const int operations = *rc::gen::inRange(0, 12);
  for (int i = 0; i < operations; ++i) {
    const Table table = arbitrary_table();
    switch (*rc::gen::weightedElement<int>({{6, 0}, {2, 1}, {1, 2}})) {
      case 0:
        batch.put(table, arbitrary_key(), *rc::gen::arbitrary<std::string>());
        break;
      case 1:
        batch.erase(table, arbitrary_key());
        break;
      default:
        batch.erase_range(table, arbitrary_key(), arbitrary_key());
        break;
    }
  }
  return batch;
}

template <typename World>
std::unique_ptr<Warm> opened(World& world) {
  auto warm = world.open();
  if (!warm) RC_FAIL(warm.error().message());
  return std::move(*warm);
}

/// Reads a random range both ways and random keys, and compares them with the oracle.
inline void compare_some(const Snapshot& snapshot, const Contents& contents) {
  const Table table = arbitrary_table();
  const Rows& rows = contents[static_cast<std::size_t>(table)];
  const std::string from = arbitrary_key();
  const std::string to = arbitrary_key();
  std::vector<std::pair<std::string, std::string>> part;
  for (const auto& row : rows) {
    if (row.first >= from && row.first < to) part.push_back(row);
  }
  RC_ASSERT(list_of(snapshot, table, from, to) == part);
  std::ranges::reverse(part);
  RC_ASSERT(list_of(snapshot, table, from, to, true) == part);
  const auto found = rows.find(from);
  const auto value = snapshot.get(table, from);
  RC_ASSERT(value.has_value());
  RC_ASSERT(*value == (found == rows.end() ? std::nullopt : std::optional(found->second)));
}

TYPED_TEST_P(WarmConformance, behaves_as_a_plain_map_over_any_history) {
  this->warm_.reset();
  EXPECT_TRUE(rc::check("batches, snapshots, faults and crashes", [] {
    TypeParam world;
    auto warm = opened(world);
    Contents expected;
    std::vector<std::pair<std::shared_ptr<const Snapshot>, Contents>> kept;
    const int steps = *rc::gen::inRange(1, 25);
    for (int step = 0; step < steps; ++step) {
      const int what = *rc::gen::weightedElement<int>({{12, 0}, {4, 1}, {2, 2}, {1, 3}});
      if (what == 0) {
        const Batch batch = arbitrary_batch();
        RC_ASSERT(warm->commit(batch).has_value());
        apply_to(expected, batch);
      } else if (what == 1) {
        kept.emplace_back(warm->snapshot(), expected);
        if (kept.size() > 4) kept.erase(kept.begin());
      } else if (what == 2) {
        Batch batch = arbitrary_batch();
        batch.put(Table::meta, "outcome", std::to_string(step));  // tells the two outcomes apart
        world.fail_commit(*rc::gen::elementOf(std::vector(std::begin(kCommitFaults), std::end(kCommitFaults))));
        RC_ASSERT(!warm->commit(batch));
        RC_ASSERT(contents_of(*warm->snapshot()) == expected);
        if (*rc::gen::arbitrary<bool>()) {
          RC_ASSERT(warm->recover().has_value());
        } else {
          kept.clear();
          world.crash(warm);
          warm = opened(world);
        }
        const auto outcome = warm->snapshot()->get(Table::meta, "outcome").value();
        if (outcome == std::to_string(step)) apply_to(expected, batch);
      } else {
        kept.clear();
        world.crash(warm);
        warm = opened(world);
      }
      compare_some(*warm->snapshot(), expected);
      for (const auto& [snapshot, contents] : kept) compare_some(*snapshot, contents);
    }
    RC_ASSERT(contents_of(*warm->snapshot()) == expected);
    for (const auto& [snapshot, contents] : kept) RC_ASSERT(contents_of(*snapshot) == contents);
  }));
}

REGISTER_TYPED_TEST_SUITE_P(WarmConformance, W01_a_batch_is_there_whole_or_not_at_all_after_a_crash,
                            W02_a_batch_that_succeeded_survives_a_crash, W03_nothing_shows_before_it_is_durable,
                            W04_later_operations_win_within_and_between_batches, W05_a_snapshot_stays_as_it_was,
                            W06_keys_are_ordered_as_unsigned_bytes,
                            W07_after_a_failed_commit_reads_go_on_and_commits_are_refused,
                            W08_recovery_settles_the_outcome_and_may_be_called_again,
                            W09_damage_and_unknown_formats_are_refused, W10_a_second_opening_is_refused_by_name,
                            behaves_as_a_plain_map_over_any_history);

}  // namespace tidemark
