#include "gateway/rate_limit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tidemark {
namespace {

TEST(RateLimiter, ABurstIsFreeAndThenTheRateRules) {
  RateLimiter limiter({.count = 10, .period_ms = 1'000, .burst = 3}, 100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("a", 5'000), 0u);
  EXPECT_EQ(limiter.take("a", 5'000), 100u);
  EXPECT_EQ(limiter.take("a", 5'000), 100u) << "being refused costs nothing";
  EXPECT_EQ(limiter.take("a", 5'040), 60u);
  EXPECT_EQ(limiter.take("a", 5'100), 0u) << "right when it was told to come";
  EXPECT_EQ(limiter.take("a", 5'100), 100u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("a", 60'000), 0u) << "a rest gives the burst back, not more";
  EXPECT_EQ(limiter.take("a", 60'000), 100u);
}

TEST(RateLimiter, KeysDoNotShareABucket) {
  RateLimiter limiter({.count = 1, .period_ms = 60'000, .burst = 1}, 100);
  EXPECT_EQ(limiter.take("a", 0), 0u);
  EXPECT_EQ(limiter.take("b", 0), 0u);
  EXPECT_EQ(limiter.take("", 0), 0u);
  EXPECT_EQ(limiter.take("a", 0), 60'000u);
}

TEST(RateLimiter, ZeroIsNoLimitAndHoldsNothing) {
  RateLimiter limiter({.count = 0, .period_ms = 1'000, .burst = 1}, 1);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(limiter.take("a", 0), 0u);
  EXPECT_EQ(limiter.size(), 0u);
}

TEST(RateLimiter, AClockThatGoesBackMakesNobodyWaitLongerThanAWholeBucket) {
  RateLimiter limiter({.count = 1, .period_ms = 1'000, .burst = 2}, 10);
  EXPECT_EQ(limiter.take("a", 1'000'000'000), 0u);
  EXPECT_EQ(limiter.take("a", 1'000'000'000), 0u);
  EXPECT_LE(limiter.take("a", 0), 2'000u);
  EXPECT_EQ(limiter.take("a", 1'000), 0u);
}

TEST(RateLimiter, MemoryIsBoundedByTheNumberOfKeysInUse) {
  RateLimiter limiter({.count = 1, .period_ms = 1'000, .burst = 1}, 50);
  for (int i = 0; i < 1'000; ++i) limiter.take(std::to_string(i), 0);
  EXPECT_EQ(limiter.size(), 50u);
  EXPECT_EQ(limiter.take("999", 0), 1'000u) << "the latest are remembered";
  EXPECT_EQ(limiter.take("0", 0), 0u) << "the oldest are not";
  for (int i = 0; i < 60; ++i) limiter.take("x" + std::to_string(i), 10'000);
  for (int i = 0; i < 60; ++i) limiter.take("y", 10'000 + i * 2'000);
  EXPECT_LE(limiter.size(), 50u);
}

TEST(RateLimiter, FullBucketsAreDroppedAsOthersCome) {
  RateLimiter limiter({.count = 1, .period_ms = 1'000, .burst = 1}, 10'000);
  for (int i = 0; i < 100; ++i) limiter.take("old" + std::to_string(i), 0);
  for (int i = 0; i < 100; ++i) limiter.take("new" + std::to_string(i), 5'000);
  EXPECT_EQ(limiter.size(), 100u);
}

TEST(RateLimiter, ManyThreadsGetTogetherWhatOneMay) {
  RateLimiter limiter({.count = 1, .period_ms = 1'000'000, .burst = 500}, 10);
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) taken += limiter.take("a", 0) == 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken, 500);
}

/// The plain definition: in no window may more be taken than a burst and what the window earns; and whoever waits as
/// long as he was told gets one.
RC_GTEST_PROP(RateLimiter, NeverMoreThanTheBurstAndWhatWasEarned, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(1, 50);
  const auto burst = *rc::gen::inRange<std::int64_t>(1, 20);
  RateLimiter limiter({.count = count, .period_ms = 1'000, .burst = burst}, 4);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200));
  std::vector<std::int64_t> taken;
  std::int64_t now_ms = 1'000;
  for (const int step : steps) {
    now_ms += step;
    const std::uint32_t wait_ms = limiter.take("a", now_ms);
    if (wait_ms == 0) {
      taken.push_back(now_ms);
    } else if (step % 3 == 0) {
      now_ms += wait_ms;
      RC_ASSERT(limiter.take("a", now_ms) == 0u);
      taken.push_back(now_ms);
    }
  }
  const std::int64_t each_us = 1'000'000 / count;
  for (std::size_t from = 0; from < taken.size(); ++from)
    for (std::size_t to = from; to < taken.size(); ++to)
      RC_ASSERT(static_cast<std::int64_t>(to - from) + 1 <= burst + (taken[to] - taken[from]) * 1'000 / each_us);
}

}  // namespace
}  // namespace tidemark
