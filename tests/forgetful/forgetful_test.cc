// A server whose data lies on a disk that forgets, in a machine that loses power again and again: the process is
// killed, and what it had not synced is gone. TIDEMARK_FORGETFUL_ROUNDS says how often (12 in each test).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "forgetful/mount.h"
#include "forgetful/witness.h"

namespace tidemark::testing {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

int rounds_of_power() {
  const char* given = std::getenv("TIDEMARK_FORGETFUL_ROUNDS");
  return given == nullptr ? 12 : std::max(1, std::atoi(given));
}

/// What kind of file an operation was about.
std::string kind_of(const std::string& name) {
  if (name.ends_with(".sst")) return "sorted files";
  if (name.ends_with(".log")) return "RocksDB's log";
  if (name.starts_with("MANIFEST")) return "manifests";
  if (name.starts_with("log-")) return "commit log";
  if (name.starts_with("spare-") || name == "begun") return "commit log's next file";
  return "others";
}

class Forgetful : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Mount::make(disk_, place_.path());
    if (!made) GTEST_SKIP() << made.error();
    mount_ = std::move(*made);
    std::cout << "seed " << seed_ << '\n';
    // The smallest overlays and segments: sorted files are written all the time. Of what becomes of old segments both.
    server_ = std::make_unique<ServerProcess>(
        ServerOptions{.settings = {"store.write_buffer_bytes=1048576", "store.segment_bytes=1048576",
                                   "store.archive_hours=" + std::to_string(up_to(1)), "limits.inline_bytes=65536"},
                      .data = data()});
    witness_ = std::make_unique<Witness>(*server_);
    EXPECT_THAT(witness_->check(*server_, Witness::Extent::everything), ::testing::IsEmpty());
  }

  /// What is on the disk when something went wrong stays to be looked at.
  void TearDown() override {
    if (!HasFailure() || !mount_) return;
    const std::string kept = place_.path() + ".kept";
    std::error_code ignored;
    std::filesystem::copy(data(), kept, std::filesystem::copy_options::recursive, ignored);
    std::cout << "seed " << seed_ << "; the server's data as it is now: " << kept << '\n';
    if (server_) std::cout << server_->log();
  }

  /// The disk is mounted as the data directory.
  std::string data() const { return place_.path() + "/data"; }
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(dice_); }

  /// The machine loses power and comes up again.
  void lose_power(const PowerFailure& failure) {
    if (server_->pid() > 0) server_->kill_hard();
    if (const std::string name = disk_.struck(); !name.empty()) ++struck_[kind_of(name)];
    mount_.reset();
    disk_.fail_power(failure);
    mount_ = Mount::make(disk_, place_.path()).value();
  }

  /// Users at work until the power fails or the time is over; then the server is killed.
  void work_for(std::int64_t time_ms) {
    std::thread users([&, port = server_->port()] { witness_->work(port); });
    const std::int64_t end = steady_ms() + time_ms;
    while (disk_.powered() && steady_ms() < end) sleep_ms(1);
    server_->kill_hard();
    users.join();
  }

  /// Whether the server is up, with power. A start that fails with power is a failure.
  bool start() {
    try {
      server_->start();
    } catch (const std::exception& error) {
      if (disk_.powered()) ADD_FAILURE() << error.what();
      return false;
    }
    disk_.cut_power_after(kNever);
    return disk_.powered();
  }

  /// Half of the failures come at a moment, half before an operation on the disk; some of these while the server
  /// starts.
  void rounds(bool part_survives) {
    const int rounds = rounds_of_power();
    const std::int64_t begin = steady_ms();
    int starts_cut = 0;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      const bool by_operation = up_to(1) == 0;
      if (by_operation) disk_.cut_power_after(up_to(up_to(3) == 0 ? 20 : 1'200));
      work_for(by_operation ? 1'000 : static_cast<std::int64_t>(up_to(1) == 0 ? up_to(15) : up_to(300)));
      for (bool up = false; !up && !HasFailure();) {
        lose_power({.part_survives = part_survives ? std::optional<std::uint64_t>(dice_()) : std::nullopt});
        if (up_to(2) == 0) disk_.cut_power_after(up_to(60));
        up = start();
        starts_cut += up ? 0 : 1;
      }
      if (HasFailure()) break;
      const bool all = round % 20 == 19 || round + 1 == rounds;
      const auto wrong = witness_->check(*server_, all ? Witness::Extent::everything : Witness::Extent::news);
      EXPECT_THAT(wrong, ::testing::IsEmpty()) << "round " << round;
    }
    report(rounds, begin, starts_cut);
    if (HasFailure() || rounds < 10) return;
    EXPECT_GT(witness_->acknowledged(), static_cast<std::size_t>(rounds)) << "too little to show anything";
    EXPECT_GT(witness_->recalled(), 0U);
    EXPECT_GT(disk_.losses().sectors_lost, 0U);
    EXPECT_EQ(part_survives, disk_.losses().files_torn > 0);
    if (rounds < 100) return;
    for (const char* kind : {"sorted files", "RocksDB's log", "manifests", "commit log", "commit log's next file"})
      EXPECT_GT(struck_[kind], 0) << "the power never failed before an operation on " << kind;
  }

  void report(int rounds, std::int64_t begin, int starts_cut) {
    const Losses& losses = disk_.losses();
    std::cout << rounds << " rounds, " << (steady_ms() - begin) / rounds << " ms each, " << starts_cut
              << " starts cut short; " << witness_->acknowledged() << " messages and " << witness_->recalled()
              << " recalls acknowledged\nlost: " << losses.names_lost << " changes of names, " << losses.sectors_lost
              << " sectors, " << losses.sizes_lost << " sizes; kept: " << losses.names_kept << " changes of names, "
              << losses.sectors_kept << " sectors; " << losses.files_torn << " files torn\npower cut at:";
    for (const auto& [kind, times] : struck_) std::cout << ' ' << kind << ' ' << times << ';';
    std::cout << '\n';
  }

  const TempDirectory place_;
  const unsigned seed_ = std::getenv("TIDEMARK_FORGETFUL_SEED") == nullptr
                             ? std::random_device()()
                             : static_cast<unsigned>(std::atoll(std::getenv("TIDEMARK_FORGETFUL_SEED")));
  std::mt19937 dice_{seed_};
  ForgetfulDisk disk_;
  std::unique_ptr<Mount> mount_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Witness> witness_;
  std::map<std::string, int> struck_;
};

TEST_F(Forgetful, NothingAcknowledgedIsLostWhenAllThatWasNotSyncedIs) {
  rounds(false);
}

TEST_F(Forgetful, NothingAcknowledgedIsLostWhenPartsOfTheRestSurvive) {
  rounds(true);
}

/// Shows that the judge sees what is lost.
TEST_F(Forgetful, ADiskThatLiesIsNoticed) {
  work_for(100);
  lose_power({});
  ASSERT_TRUE(start());
  ASSERT_THAT(witness_->check(*server_, Witness::Extent::everything), ::testing::IsEmpty());
  disk_.set_honesty(ForgetfulDisk::Honesty::lies);
  const std::size_t before = witness_->acknowledged();
  work_for(300);
  ASSERT_GT(witness_->acknowledged(), before);
  disk_.set_honesty(ForgetfulDisk::Honesty::honest);
  lose_power({});
  ASSERT_TRUE(start()) << "it is as if the power had failed earlier";
  EXPECT_THAT(witness_->check(*server_, Witness::Extent::everything),
              ::testing::Contains(::testing::HasSubstr("was acknowledged and is gone")));
}

/// With parts of it there, the server refuses to start, or the judge sees what is lost. By chance nothing may be: then
/// the disk lies once more.
TEST_F(Forgetful, ADiskThatLiesAndTearsIsNoticed) {
  for (int round = 0; round < 10; ++round) {
    disk_.set_honesty(ForgetfulDisk::Honesty::lies);
    work_for(150);
    disk_.set_honesty(ForgetfulDisk::Honesty::honest);
    lose_power({.part_survives = dice_()});
    try {
      server_->start();
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(data())) << "the sentence names what is damaged";
      return;
    }
    if (!witness_->check(*server_, Witness::Extent::everything).empty()) return;
  }
  ADD_FAILURE() << "nobody has noticed";
}

}  // namespace
}  // namespace tidemark::testing
