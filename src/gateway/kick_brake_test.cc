#include "gateway/kick_brake.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tidemark {
namespace {

const UserId kWho("bob");

/// How often two devices that come back as soon as they may push each other out in this time.
int kicks_in(KickBrake& brake, std::int64_t time_ms) {
  DeviceId in("A"), out("B");
  int kicks = 0;
  for (std::int64_t now = 1'000'000; now < 1'000'000 + time_ms; now += 100) {
    if (brake.come_back(kWho, out, now) > 0) continue;
    std::swap(in, out);
    brake.displaced(kWho, out, now);
    ++kicks;
  }
  return kicks;
}

TEST(KickBrake, DevicesThatPushEachOtherOutWaitLongerAndLonger) {
  KickBrake brake(100);
  EXPECT_LE(kicks_in(brake, 75'000), 14);
  KickBrake longer(100);
  EXPECT_LE(kicks_in(longer, 3'600'000), 32) << "once in five minutes in the end";
}

TEST(KickBrake, TellsHowLongToWait) {
  KickBrake brake(100);
  const DeviceId device("A");
  for (const std::uint32_t wait : {0U, 2'000U, 4'000U, 8'000U}) {
    brake.displaced(kWho, device, 100'000);
    EXPECT_EQ(brake.come_back(kWho, device, 100'000), wait);
    if (wait > 0) EXPECT_EQ(brake.come_back(kWho, device, 100'000 + wait - 1), 1U);
    EXPECT_EQ(brake.come_back(kWho, device, 100'000 + wait), 0U);
    EXPECT_EQ(brake.come_back(kWho, device, 100'000 + wait), 0U) << "it is in, and may connect anew";
  }
  EXPECT_EQ(brake.come_back(kWho, DeviceId("B"), 100'000), 0U);
  EXPECT_EQ(brake.come_back(UserId("eve"), device, 100'000), 0U);
}

TEST(KickBrake, APersonWhoGoesFromOneDeviceToTheOtherIsNotHeldUp) {
  KickBrake brake(100);
  DeviceId in("A"), out("B");
  for (std::int64_t now = 0; now < 7'200'000; now += 30'000) {
    EXPECT_EQ(brake.come_back(kWho, out, now), 0U) << now;
    std::swap(in, out);
    brake.displaced(kWho, out, now);
  }
}

TEST(KickBrake, ForgetsAndIsBounded) {
  KickBrake brake(3);
  for (int i = 0; i < 10; ++i) brake.displaced(kWho, DeviceId("d" + std::to_string(i)), 1'000);
  EXPECT_EQ(brake.size(), 3U);
  EXPECT_EQ(brake.come_back(kWho, DeviceId("d1"), 1'000), 0U);
  brake.tick(20'000);
  EXPECT_EQ(brake.size(), 1U) << "the one that came back may be in for as long as another waits";
  brake.tick(1'000'000);
  EXPECT_EQ(brake.size(), 0U);
}

}  // namespace
}  // namespace tidemark
