#include "client/reconnect_waits.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

constexpr std::uint64_t kLongest = ~std::uint64_t{0};

/// The longest of many waits with the same number of failures before.
std::int64_t longest_wait(int failures) {
  std::int64_t longest = 0;
  for (std::uint64_t random = 0; random < 100'000; ++random) {
    ReconnectWaits waits(1'000, 30'000);
    for (int i = 0; i < failures; ++i) waits.next(random);
    longest = std::max(longest, waits.next(random));
  }
  return longest;
}

TEST(ReconnectWaits, are_anywhere_below_a_limit_that_doubles) {
  EXPECT_EQ(longest_wait(0), 1'000);
  EXPECT_EQ(longest_wait(1), 2'000);
  EXPECT_EQ(longest_wait(4), 16'000);
  EXPECT_EQ(longest_wait(5), 30'000);
  EXPECT_EQ(longest_wait(100), 30'000);
  ReconnectWaits waits(1'000, 30'000);
  EXPECT_EQ(waits.next(0), 0);
}

TEST(ReconnectWaits, are_short_again_once_the_device_was_in_step) {
  ReconnectWaits waits(1'000, 30'000);
  for (int i = 0; i < 10; ++i) waits.next(kLongest);
  waits.settled();
  EXPECT_LE(waits.next(kLongest), 1'000);
}

}  // namespace
}  // namespace tidemark
