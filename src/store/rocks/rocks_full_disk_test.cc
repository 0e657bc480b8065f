// A disk that is really full: a file system in memory with a size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/ports.h"
#include "store/embedded/embedded_store.h"
#include "store/rocks/rocks_world.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    set_log(LogLevel::off, LogFormat::text);
    if (::mount("tidemark-test", temporary_.path().c_str(), "tmpfs", 0, "size=48m") != 0) {
      GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno) << " (needs root)";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(temporary_.path().c_str(), MNT_DETACH);
  }
  RocksOptions options() const {
    RocksOptions options = small_options(temporary_.path() + "/store");
    options.memtable_bytes = 4u << 20;
    options.max_wal_bytes = 2u << 20;
    return options;
  }
  /// Takes what is left of the disk, all but `spare` bytes.
  void fill(std::uint64_t spare) {
    const auto space = std::filesystem::space(temporary_.path());
    if (space.available <= spare) return;
    std::ofstream(ballast(), std::ios::app | std::ios::binary) << std::string(space.available - spare, 'x');
  }
  std::string ballast() const { return temporary_.path() + "/ballast"; }

  const TemporaryDirectory temporary_;
  bool mounted_ = false;
};

Batch bulky_batch(unsigned number) {
  Batch batch = batch_of(number);
  std::string noise(64'000, '\0');
  std::minstd_rand random(number);
  for (char& c : noise) c = static_cast<char>(random() >> 8);
  batch.put(Table::entries, numbered("big", number), noise);
  return batch;
}

TEST_F(FullDisk, reads_go_on_and_nothing_is_lost_and_no_restart_is_needed) {
  for (const std::uint64_t spare : {0u, 100'000u, 700'000u, 3'000'000u}) {
    SCOPED_TRACE(spare);
    std::filesystem::remove_all(options().path);
    auto warm = RocksWarm::open(options()).value();
    unsigned acked = 0;
    while (acked < 5) ASSERT_TRUE(warm->commit(bulky_batch(++acked)));
    fill(spare);
    Result<void> refused;
    while (acked < 2'000) {
      refused = warm->commit(bulky_batch(acked + 1));
      if (!refused) break;
      ++acked;
    }
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::RETRY_LATER) << refused.error().message();
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(whole_prefix(*warm, acked + 1), acked);
      EXPECT_FALSE(warm->commit(batch_of(5'000)));
      fill(0);
      const auto still = warm->recover();
      ASSERT_FALSE(still);
      EXPECT_EQ(still.error().code, ErrorCode::RETRY_LATER) << still.error().message();
    }
    std::filesystem::remove(ballast());
    const auto recovered = warm->recover();
    ASSERT_TRUE(recovered) << recovered.error().message();
    const unsigned present = whole_prefix(*warm, acked + 1);
    EXPECT_GE(present, acked);
    for (unsigned more = 0; more < 20; ++more) ASSERT_TRUE(warm->commit(bulky_batch(present + 1 + more)));
    warm.reset();
    warm = RocksWarm::open(options()).value();
    EXPECT_EQ(whole_prefix(*warm, present + 20), present + 20);
  }
}

/// The whole embedded store: refused in time, and the reserve is there for what was confirmed before.
TEST_F(FullDisk, the_reserve_refuses_in_time_and_opens_again_by_itself) {
  const SystemClock clock;
  SystemRandom random;
  EmbeddedOptions embedded;
  embedded.path = options().path;
  embedded.write_buffer_bytes = 2u << 20;
  embedded.segment_bytes = 1u << 20;
  embedded.min_free_bytes = 8u << 20;
  const auto warm = open_embedded_store(embedded, clock, random).value();
  unsigned acked = 0;
  while (acked < 5) ASSERT_TRUE(warm->commit(bulky_batch(++acked)));
  fill(4u << 20);
  const auto room = warm->room();
  ASSERT_FALSE(room) << "it is told before a commit is refused";
  EXPECT_TRUE(warm->status().writable) << "nothing has failed";
  const auto refused = warm->commit(bulky_batch(acked + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::RETRY_LATER);
  EXPECT_THAT(refused.error().detail, HasSubstr("nearly full"));
  EXPECT_FALSE(warm->status().writable);
  EXPECT_FALSE(warm->recover());
  EXPECT_EQ(whole_prefix(*warm, acked + 1), acked);
  std::filesystem::remove(ballast());
  ASSERT_TRUE(warm->recover());
  EXPECT_EQ(whole_prefix(*warm, acked + 1), acked) << "nothing of a batch that was refused in time";
  ASSERT_TRUE(warm->commit(bulky_batch(acked + 1)));
}

}  // namespace
}  // namespace tidemark
