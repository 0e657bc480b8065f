#include "core/replica/passing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica.h"

namespace tidemark::replica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PassingTest : public testing::Test {
 protected:
  PassingTest() { image_.device.user = UserId("me"); }
  void connect() {
    replica_.on_connected(now_);
    const auto asked = take<Hello>();
    ASSERT_THAT(asked, SizeIs(1));
    background_ = asked[0].background;
    Welcome welcome;
    welcome.generation = 1;
    welcome.head = {{1, 7}, Mark(0), 1};
    replica_.on_frame(now_, {last_id_, welcome});
  }
  /// What is asked of this kind since the last look.
  template <typename Kind>
  std::vector<Kind> take() {
    std::vector<Kind> found;
    outputs_ = replica_.take_outputs();
    for (const Request& request : outputs_.requests)
      if (const auto* kind = std::get_if<Kind>(&request.operation)) found.push_back(*kind), last_id_ = request.id;
    return found;
  }

  Now now_{1'000, 1'790'000'000'000};
  StoreImage image_;
  Replica replica_{Options{}, image_, [](const ConversationId&, Seq) { return nullptr; }};
  Outputs outputs_;
  std::uint64_t last_id_ = 0;
  bool background_ = false;
};

TEST_F(PassingTest, AWatchIsAskedForOnEachLinkAndItsStatesAreTold) {
  ASSERT_TRUE(replica_.watch(now_, {UserId("bob")}));
  EXPECT_THAT(take<Watch>(), IsEmpty());
  connect();
  const auto asked = take<Watch>();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].users, ElementsAre(UserId("bob")));
  replica_.on_frame(now_, {last_id_, PresenceStates{{{UserId("bob"), true, 0}}}});
  (void)take<Watch>();
  ASSERT_THAT(outputs_.events, SizeIs(1));
  EXPECT_TRUE(std::get<PresenceEvent>(outputs_.events[0]).online);
  replica_.on_frame(now_, {0, PresenceStates{{{UserId("bob"), false, 55}}}});
  EXPECT_THAT(take<Watch>(), IsEmpty());
  EXPECT_EQ(std::get<PresenceEvent>(outputs_.events.at(0)).last_seen, 55);
  replica_.on_disconnected(now_);
  connect();
  EXPECT_THAT(take<Watch>(), SizeIs(1)) << "anew";
  ASSERT_TRUE(replica_.watch(now_, {}));
  EXPECT_THAT(take<Watch>(), SizeIs(1)) << "nobody any more";
  replica_.on_disconnected(now_);
  connect();
  EXPECT_THAT(take<Watch>(), IsEmpty());
}

TEST_F(PassingTest, ARefusedWatchIsAskedAgainIfThatMayHelp) {
  connect();
  ASSERT_TRUE(replica_.watch(now_, {UserId("bob")}));
  ASSERT_THAT(take<Watch>(), SizeIs(1));
  replica_.on_frame(now_, {last_id_, Error{ErrorCode::RATE_LIMITED, "", "", 2'000}});
  EXPECT_THAT(take<Watch>(), IsEmpty());
  now_.steady_ms = replica_.next_tick_ms();
  EXPECT_GE(now_.steady_ms, 3'000);
  replica_.on_tick(now_);
  EXPECT_THAT(take<Watch>(), SizeIs(1));
  replica_.on_frame(now_, {last_id_, Error{ErrorCode::FORBIDDEN, "", "", 0}});
  now_.steady_ms += 20'000;
  replica_.on_tick(now_);
  EXPECT_THAT(take<Watch>(), IsEmpty());
  EXPECT_EQ(replica_.watch(now_, std::vector<UserId>(201, UserId("x"))).error().code, ErrorCode::LIMIT_REACHED);
}

TEST_F(PassingTest, WhatIsSaidInPassingNeedsALinkAndLeavesNothing) {
  const Passing typing{{}, ConversationId("bob_me"), "typing", "", 5'000};
  EXPECT_EQ(replica_.say(now_, typing).error().code, ErrorCode::RETRY_LATER);
  connect();
  (void)replica_.take_outputs();
  ASSERT_TRUE(replica_.say(now_, typing));
  EXPECT_THAT(take<Passing>(), SizeIs(1));
  EXPECT_TRUE(outputs_.batch.empty());
  EXPECT_EQ(replica_.say(now_, {{}, ConversationId("bob_me"), "", "", 0}).error().code, ErrorCode::MALFORMED);
  EXPECT_EQ(replica_.say(now_, {{}, {}, "t", "", 0}).error().code, ErrorCode::MALFORMED);
  EXPECT_EQ(replica_.say(now_, {{}, ConversationId("bob_me"), "t", std::string(2'049, 'x'), 0}).error().code,
            ErrorCode::TOO_LARGE);
  EXPECT_EQ(replica_.say(now_, {{}, ConversationId("bob_me"), "t", "", 10'001}).error().code, ErrorCode::OUT_OF_RANGE);
  replica_.on_frame(now_, {0, PassingEvent{ConversationId("bob_me"), UserId("bob"), {}, "typing", "", 4'000}});
  (void)take<Passing>();
  ASSERT_THAT(outputs_.events, SizeIs(1));
  EXPECT_EQ(std::get<PassingEvent>(outputs_.events[0]).sender, UserId("bob"));
  EXPECT_TRUE(outputs_.batch.empty());
}

TEST_F(PassingTest, TheForegroundIsToldAtHelloAndWhenItChanges) {
  replica_.set_foreground(now_, false);
  connect();
  EXPECT_TRUE(background_);
  (void)replica_.take_outputs();
  replica_.set_foreground(now_, true);
  replica_.set_foreground(now_, true);
  const auto told = take<Foreground>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].on);
}

}  // namespace
}  // namespace tidemark::replica
