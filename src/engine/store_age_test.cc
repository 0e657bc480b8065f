#include "engine/store_age.h"

#include <gtest/gtest.h>

#include "core/params.h"

namespace tidemark {
namespace {

constexpr std::int64_t kWallMs = 1'790'000'000'000;
constexpr std::int64_t kKeepMs = 25 * kHourMs;
constexpr std::int64_t kHour = kWallMs / kHourMs;

/// Lets time pass in pieces, both clocks alike.
void use(StoreAge& age, std::int64_t& steady_ms, std::int64_t& wall_ms, std::int64_t for_ms) {
  for (std::int64_t left = for_ms; left > 0; left -= kMinuteMs) {
    steady_ms += kMinuteMs;
    wall_ms += kMinuteMs;
    age.pass(steady_ms, wall_ms);
  }
}

TEST(StoreAge, AnHourGoesWhenItIsOldByBothClocks) {
  StoreAge age;
  std::int64_t steady = 0;
  std::int64_t wall = kWallMs;
  age.begin(steady);
  use(age, steady, wall, kKeepMs);
  EXPECT_EQ(age.hours_over(wall, kKeepMs), 0);
  use(age, steady, wall, 2 * kHourMs);
  EXPECT_GE(age.hours_over(wall, kKeepMs), kHour);
  EXPECT_LE(age.hours_over(wall, kKeepMs), (wall - kKeepMs) / kHourMs);
}

TEST(StoreAge, AClockThatIsDaysAheadAtAStartDropsNothingEarly) {
  StoreAge age;
  std::int64_t steady = 0;
  std::int64_t wall = kWallMs;
  age.begin(steady);
  use(age, steady, wall, 30 * kHourMs);
  auto again = StoreAge::decode(age.encode());
  ASSERT_TRUE(again);
  std::int64_t steady_again = 77;
  again->begin(steady_again);
  std::int64_t wrong = wall + 48 * kHourMs;
  again->pass(steady_again, wrong);
  EXPECT_LE(again->hours_over(wrong, kKeepMs), (wall - kKeepMs) / kHourMs) << "what is alive by use stays";
  // The clock is set right, and what the wrong hours had noted comes of age: it must not take the present with it.
  use(*again, steady_again, wall, 26 * kHourMs);
  EXPECT_LE(again->hours_over(wall, kKeepMs), (wall - kKeepMs) / kHourMs);
}

TEST(StoreAge, TimeWithoutAServerDoesNotCount) {
  StoreAge age;
  std::int64_t steady = 0;
  std::int64_t wall = kWallMs;
  age.begin(steady);
  use(age, steady, wall, kHourMs);
  auto again = StoreAge::decode(age.encode());
  ASSERT_TRUE(again);
  wall += 300 * kHourMs;
  steady = 5;
  again->begin(steady);
  again->pass(steady, wall);
  EXPECT_EQ(again->hours_over(wall, kKeepMs), 0);
  use(*again, steady, wall, 26 * kHourMs);
  EXPECT_GT(again->hours_over(wall, kKeepMs), kHour);
}

TEST(StoreAge, IsStoredEveryFewMinutesAndStaysSmall) {
  StoreAge age;
  age.begin(0);
  EXPECT_TRUE(age.pass(1, kWallMs)) << "the first hour is noted at once";
  EXPECT_FALSE(age.pass(kMinuteMs, kWallMs));
  EXPECT_TRUE(age.pass(6 * kMinuteMs, kWallMs));
  for (int hour = 1; hour < 1'000; ++hour) age.pass(hour * kHourMs, kWallMs + hour * kHourMs);
  EXPECT_LT(age.encode().size(), 4'096U);
  const auto again = StoreAge::decode(age.encode());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->encode(), age.encode());
  std::string damaged = age.encode();
  damaged.pop_back();
  EXPECT_FALSE(StoreAge::decode(damaged));
  EXPECT_FALSE(StoreAge::decode(""));
}

}  // namespace
}  // namespace tidemark
