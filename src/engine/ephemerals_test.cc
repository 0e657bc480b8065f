#include "engine/ephemerals.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

const UserId kBob("bob");

Ephemerals::Shared typing(const std::string& sender, std::int64_t expires, const std::string& payload = "") {
  return std::make_shared<const Ephemeral>(
      Ephemeral{ConversationId("c"), UserId(sender), DeviceId("d"), "typing", payload, expires});
}

TEST(Ephemerals, LiveAsLongAsTheySay) {
  Ephemerals held(8);
  held.hold(kBob, typing("ann", 1'000));
  held.hold(kBob, typing("eve", 2'000));
  EXPECT_EQ(held.alive(kBob, 999).size(), 2U);
  EXPECT_EQ(held.alive(kBob, 1'000).size(), 1U);
  EXPECT_TRUE(held.alive(UserId("other"), 0).empty());
  held.tick(1'999);
  EXPECT_EQ(held.users(), 1U);
  held.tick(2'000);
  EXPECT_EQ(held.users(), 0U);
}

TEST(Ephemerals, TheLaterReplacesTheEarlierOfItsKind) {
  Ephemerals held(2);
  held.hold(kBob, typing("ann", 1'000, "1"));
  held.hold(kBob, typing("ann", 1'000, "2"));
  ASSERT_EQ(held.alive(kBob, 0).size(), 1U);
  EXPECT_EQ(held.alive(kBob, 0)[0]->payload, "2");
  held.hold(kBob, typing("eve", 1'000));
  held.hold(kBob, typing("joe", 1'000));
  EXPECT_EQ(held.alive(kBob, 0).size(), 2U) << "bounded";
  EXPECT_EQ(held.alive(kBob, 0)[0]->sender, UserId("eve"));
}

}  // namespace
}  // namespace tidemark
