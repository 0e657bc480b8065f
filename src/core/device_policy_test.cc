#include "core/device_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = DevicePolicy::Kind;
using WhenFull = DevicePolicy::WhenFull;

Device device(const std::string& id, std::int64_t last_seen, const std::string& platform = "ios") {
  Device made;
  made.id = DeviceId(id);
  made.last_seen = last_seen;
  made.platform = platform;
  return made;
}

std::vector<std::string> ids(const std::vector<Device>& devices) {
  std::vector<std::string> all;
  for (const Device& each : devices) all.push_back(each.id.value);
  return all;
}

std::vector<std::string> leaving(std::vector<Device> others, const DevicePolicy& policy,
                                 const std::string& platform = "ios") {
  auto result = displaced_by(platform, std::move(others), policy);
  return result ? ids(*result) : std::vector<std::string>{"refused"};
}

TEST(DevicePolicy, OfManyTheLeastRecentlyActiveLeaves) {
  const DevicePolicy policy{.kind = Kind::multi, .max = 3};
  EXPECT_THAT(leaving({device("a", 3), device("b", 1)}, policy), IsEmpty());
  EXPECT_THAT(leaving({device("a", 3), device("b", 1), device("c", 2)}, policy), ElementsAre("b"));
  EXPECT_THAT(leaving({device("b", 1), device("a", 1), device("c", 1)}, policy), ElementsAre("a")) << "then by id";
  EXPECT_THAT(leaving({device("a", 3), device("b", 1), device("c", 2), device("d", 4)}, policy), ElementsAre("b", "c"))
      << "more were allowed before";
}

TEST(DevicePolicy, OneAlone) {
  EXPECT_THAT(leaving({device("a", 3), device("b", 1, "web")}, {.kind = Kind::single}), ElementsAre("b", "a"));
}

TEST(DevicePolicy, OneOfEachPlatform) {
  DevicePolicy policy{.kind = Kind::one_per_platform, .max = 3};
  EXPECT_THAT(leaving({device("phone", 9), device("desk", 1, "mac"), device("tab", 2, "web")}, policy),
              ElementsAre("phone"));
  EXPECT_THAT(leaving({device("desk", 5, "mac"), device("tab", 2, "web"), device("tv", 7, "tv")}, policy),
              ElementsAre("tab"))
      << "and so many in all";
  policy.max = 1;
  EXPECT_THAT(leaving({device("phone", 9), device("desk", 1, "mac")}, policy), ElementsAre("phone", "desk"));
}

TEST(DevicePolicy, WhoIsLoggedOutTakesNoPlace) {
  Device gone = device("a", 1);
  gone.live = false;
  EXPECT_THAT(leaving({gone}, {.kind = Kind::single}), IsEmpty());
}

TEST(DevicePolicy, OrTheNewcomerIsRefused) {
  const DevicePolicy policy{.kind = Kind::multi, .max = 2, .when_full = WhenFull::refuse};
  EXPECT_THAT(leaving({device("a", 1)}, policy), IsEmpty());
  const auto refused = displaced_by("ios", {device("a", 2), device("b", 1)}, policy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::TOO_MANY_DEVICES);
  EXPECT_THAT(refused.error().detail, testing::HasSubstr("Log out b"));
}

/// Whatever there was before, what stays keeps to the policy, and nobody goes who need not.
RC_GTEST_PROP(DevicePolicy, LeavesWhatIsAllowed, ()) {
  const std::vector<std::string> platforms{"ios", "web", "mac"};
  std::vector<Device> others;
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    others.push_back(device("d" + std::to_string(i), *rc::gen::inRange(0, 4), *rc::gen::elementOf(platforms)));
    others.back().live = *rc::gen::arbitrary<bool>();
  }
  DevicePolicy policy;
  policy.kind = *rc::gen::element(Kind::multi, Kind::single, Kind::one_per_platform);
  policy.max = *rc::gen::inRange<std::size_t>(1, 6);
  const std::string platform = *rc::gen::elementOf(platforms);
  const auto gone = ids(displaced_by(platform, others, policy).value());
  std::size_t live = 1;
  std::size_t same = 1;
  std::int64_t oldest_left = 100;
  std::int64_t newest_gone = -1;
  for (const Device& each : others) {
    const bool goes = std::ranges::find(gone, each.id.value) != gone.end();
    RC_ASSERT(each.live || !goes);
    if (!each.live) continue;
    const bool forced = policy.kind == Kind::one_per_platform && each.platform == platform;
    if (!goes) ++live, same += each.platform == platform ? 1 : 0, oldest_left = std::min(oldest_left, each.last_seen);
    if (goes && !forced) newest_gone = std::max(newest_gone, each.last_seen);
  }
  const std::size_t allowed = policy.kind == Kind::single ? 1 : policy.max;
  RC_ASSERT(live <= allowed);
  if (policy.kind == Kind::one_per_platform) RC_ASSERT(same == 1U);
  RC_ASSERT(newest_gone <= oldest_left);
  if (newest_gone >= 0) RC_ASSERT(live == allowed);
}

TEST(DevicePolicy, ThoseThatEndedFirstAreForgotten) {
  const DevicePolicy policy{.ended_kept = 1};
  Device a = device("a", 9);
  Device b = device("b", 1);
  a.live = b.live = false;
  a.ended_at = 5;
  b.ended_at = 6;
  EXPECT_THAT(ids(outlived({b, a, device("c", 0)}, policy)), ElementsAre("a"));
  EXPECT_THAT(ids(outlived({b, device("c", 0)}, policy)), IsEmpty());
}

}  // namespace
}  // namespace tidemark
