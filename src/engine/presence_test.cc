#include "engine/presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const UserId kAnn("ann");
const UserId kBob("bob");

TEST(Presence, AUserIsOnlineWhileOneOfHisLinksIsUp) {
  Presence presence(1'000);
  presence.up(1, kAnn);
  presence.up(2, kAnn);
  presence.down(1, 50);
  EXPECT_TRUE(presence.online(kAnn));
  presence.down(2, 60);
  EXPECT_FALSE(presence.online(kAnn));
  presence.down(2, 70);
  EXPECT_EQ(presence.state(kAnn, 42), (PresenceState{kAnn, false, 42}));
}

TEST(Presence, AWatcherIsToldOfChangesOnceASecondAtMost) {
  Presence presence(1'000);
  presence.up(1, kAnn);
  presence.watch(1, {presence.state(kBob, 7)}, 10'000);
  presence.up(2, kBob);
  EXPECT_THAT(presence.due(10'999), IsEmpty());
  EXPECT_THAT(presence.due(11'000), ElementsAre(1U));
  EXPECT_THAT(presence.take(1, 11'000), ElementsAre(PresenceState{kBob, true, 0}));
  EXPECT_THAT(presence.due(20'000), IsEmpty());
  presence.down(2, 55);
  EXPECT_THAT(presence.due(11'500), IsEmpty());
  EXPECT_THAT(presence.take(1, 12'000), ElementsAre(PresenceState{kBob, false, 55}));
  EXPECT_EQ(presence.state(kBob, 7).last_seen_ms, 55) << "a later watcher is not told an older time";
}

TEST(Presence, WhoBlocksAWatcherIsOfflineToHim) {
  Presence presence(0);
  presence.up(1, kAnn);
  presence.up(2, kBob);
  presence.up(3, UserId("cy"));
  for (const SessionId session : {SessionId{1}, SessionId{3}}) presence.watch(session, {presence.state(kBob, 7)}, 0);
  presence.hide(kBob, kAnn, true);
  EXPECT_THAT(presence.due(1), ElementsAre(1U)) << "and to nobody else";
  EXPECT_THAT(presence.take(1, 1), ElementsAre(PresenceState{kBob, false, 0})) << "not even when he was here";
  presence.down(2, 55);
  EXPECT_THAT(presence.take(1, 2), IsEmpty());
  EXPECT_THAT(presence.take(3, 2), ElementsAre(PresenceState{kBob, false, 55}));
  presence.up(2, kBob);
  EXPECT_THAT(presence.take(1, 3), IsEmpty());
  presence.hide(kBob, kAnn, false);
  EXPECT_THAT(presence.take(1, 4), ElementsAre(PresenceState{kBob, true, 0}));
}

TEST(Presence, WhatChangedBackIsNotTold) {
  Presence presence(1'000);
  presence.up(1, kAnn);
  presence.up(2, kBob);
  presence.watch(1, {presence.state(kBob, 0)}, 0);
  for (int i = 0; i < 10'000; ++i) {
    presence.down(2, i);
    presence.up(2, kBob);
  }
  EXPECT_THAT(presence.take(1, 5'000), IsEmpty()) << "a device that changed its network was never away";
}

TEST(Presence, WhoIsGoneWatchesNobody) {
  Presence presence(1'000);
  presence.up(1, kAnn);
  presence.watch(1, {presence.state(kBob, 0)}, 0);
  presence.watch(1, {}, 0);
  EXPECT_EQ(presence.watched(), 0U);
  presence.watch(1, {presence.state(kBob, 0)}, 0);
  presence.down(1, 0);
  EXPECT_EQ(presence.watched(), 0U);
  presence.watch(1, {presence.state(kBob, 0)}, 0);
  EXPECT_EQ(presence.watched(), 0U) << "the answer came too late";
  presence.up(2, kBob);
  EXPECT_THAT(presence.due(9'000), IsEmpty());
}

/// Whatever happens, a watcher that has taken all that was due holds the truth.
RC_GTEST_PROP(Presence, InTheEndAWatcherIsRight, ()) {
  Presence presence(1'000);
  const std::vector<UserId> users{UserId("a"), UserId("b"), UserId("c")};
  presence.up(100, UserId("w"));
  std::map<UserId, bool> believed;
  std::vector<PresenceState> told;
  for (const UserId& user : users) told.push_back(presence.state(user, 0)), believed[user] = false;
  presence.watch(100, told, 0);
  std::map<SessionId, UserId> up;
  std::int64_t now = 0;
  std::int64_t last = 0;
  for (const int what : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9))) {
    now += 300;
    const SessionId session = static_cast<SessionId>(what) + 1;
    if (up.contains(session)) {
      presence.down(session, now);
      up.erase(session);
    } else {
      presence.up(session, up[session] = users[static_cast<std::size_t>(what) % 3]);
    }
    for (const SessionId due : presence.due(now)) {
      const auto states = presence.take(due, now);
      if (states.empty()) continue;
      RC_ASSERT(now - last >= 1'000);
      last = now;
      for (const PresenceState& state : states) believed[state.user] = state.online;
    }
  }
  for (const PresenceState& state : presence.take(100, now + 1'000)) believed[state.user] = state.online;
  for (const UserId& user : users) RC_ASSERT(believed[user] == presence.online(user));
}

}  // namespace
}  // namespace tidemark
