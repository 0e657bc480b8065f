#include "store/rocks/rocks_ingest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/rocks/rocks_world.h"

namespace tidemark {
namespace {

Batch sorted(const Batch& batch) {
  std::map<std::pair<Table, std::string>, std::optional<std::string>> last;
  for (const Batch::Operation& each : batch.operations()) {
    if (each.kind == Batch::Kind::erase_range) continue;
    last[{each.table, each.key}] = each.kind == Batch::Kind::put ? std::optional(each.value) : std::nullopt;
  }
  Batch made;
  for (const auto& [place, value] : last) {
    if (value)
      made.put(place.first, place.second, *value);
    else
      made.erase(place.first, place.second);
  }
  return made;
}

TEST(RocksIngest, TakesWhatIsInOrderAlone) {
  Batch batch;
  EXPECT_TRUE(can_ingest(batch));
  batch.put(Table::users, "a", "1");
  batch.put(Table::entries, "a", "1");
  batch.erase(Table::users, "b");
  EXPECT_TRUE(can_ingest(batch));
  Batch twice = batch;
  twice.put(Table::users, "b", "2");
  EXPECT_FALSE(can_ingest(twice));
  batch.erase_range(Table::dedup, "a", "b");
  EXPECT_FALSE(can_ingest(batch));
}

/// Whichever way a batch went in: snapshots stay, crashes lose nothing that was committed.
RC_GTEST_PROP(RocksIngestProperty, MixedWithOrdinaryBatches, ()) {
  RocksWorld world;
  RocksOptions options = world.options();
  options.ingest_operations = 1;
  auto warm = RocksWarm::open(options).value();
  Contents expected;
  std::vector<std::pair<std::shared_ptr<const Snapshot>, Contents>> kept;
  const int steps = *rc::gen::inRange(1, 15);
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        kept.emplace_back(warm->snapshot(), expected);
        break;
      case 1:
        kept.clear();
        world.crash(warm);
        warm = RocksWarm::open(options).value();
        break;
      case 2: {
        const Batch batch = arbitrary_batch();
        RC_ASSERT(warm->commit(batch).has_value());
        apply_to(expected, batch);
        break;
      }
      default: {
        const Batch batch = sorted(arbitrary_batch());
        RC_ASSERT(can_ingest(batch));
        RC_ASSERT(warm->commit(batch).has_value());
        apply_to(expected, batch);
        break;
      }
    }
    compare_some(*warm->snapshot(), expected);
  }
  RC_ASSERT(contents_of(*warm->snapshot()) == expected);
  for (const auto& [snapshot, contents] : kept) RC_ASSERT(contents_of(*snapshot) == contents);
  RC_ASSERT(!std::filesystem::exists(world.directory() + "/incoming"));
}

}  // namespace
}  // namespace tidemark
