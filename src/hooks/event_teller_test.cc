// Telling the application over a real socket.
#include "hooks/event_teller.h"

#include <gmock/gmock.h>

#include <atomic>

#include "engine/test_world.h"
#include "hooks/testing_receiver.h"
#include "tidemark.pb.h"
#include "wire/json_reader.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using testing::ReceivedPost;
using testing::ReceiverAnswer;
using testing::TestReceiver;

const std::string kSecret = "0123456789abcdef";

v1::HookEvent event_in(const ReceivedPost& post) {
  v1::HookEvent event;
  EXPECT_TRUE(read_json(post.body, event)) << post.body;
  return event;
}

/// An engine whose rounds the test runs, and a teller beside it.
class Telling : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions made;
    made.outbox = OutboxOptions{};
    return made;
  }
  void tell_to(TestReceiver& receiver, EventQueueOptions queue = {}) {
    EventTellerOptions made;
    made.url = *parse_hook_url(receiver.url(), "hooks.url");
    made.secret = kSecret;
    made.queue = queue;
    teller_ = std::make_unique<EventTeller>(world_.engine(), clock_, dice_, std::move(made), nullptr);
    teller_->start();
  }
  std::size_t waiting() {
    world_.run();
    return world_.engine().outbox().waiting;
  }
  bool settled() {
    for (int i = 0; i < 3'000; ++i) {
      if (waiting() == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  EngineWorld world_{options()};
  SystemClock clock_;
  SystemRandom dice_;
  std::unique_ptr<EventTeller> teller_;
};

TEST_F(Telling, EachEventIsToldOnceSignedAndThenSettled) {
  TestReceiver receiver(kSecret);
  world_.send("1", "2", "one");
  world_.send("1", "2", "two");
  tell_to(receiver);
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() >= 2; }));
  ASSERT_TRUE(settled());
  const auto taken = receiver.taken();
  ASSERT_EQ(taken.size(), 2u);
  for (const ReceivedPost& post : taken) EXPECT_TRUE(post.signed_well);
  const v1::HookEvent first = event_in(taken[0]);
  EXPECT_EQ(first.kind(), v1::HOOK_KIND_MESSAGE_SENT);
  EXPECT_EQ(first.conversation_id(), "1_2");
  EXPECT_EQ(first.entry().body().text(), "one");
  EXPECT_EQ(first.attempt(), 1u);
  EXPECT_EQ(event_in(taken[1]).entry().body().text(), "two");
}

TEST_F(Telling, WhatIsRefusedComesAgainBeforeWhatIsBehindIt) {
  std::atomic<int> refusals = 3;
  TestReceiver receiver(kSecret, [&](const ReceivedPost& post) {
    return post.body.find("\"one\"") != std::string::npos && refusals-- > 0 ? ReceiverAnswer{500} : ReceiverAnswer{};
  });
  world_.send("1", "2", "one");
  world_.send("1", "2", "two");
  tell_to(receiver, {.retry_ms = 10});
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() >= 2; }));
  const auto taken = receiver.taken();
  EXPECT_EQ(event_in(taken[0]).entry().body().text(), "one");
  EXPECT_EQ(event_in(taken[0]).attempt(), 4u);
  EXPECT_EQ(event_in(taken[1]).entry().body().text(), "two");
  EXPECT_EQ(event_in(receiver.all()[0]).id(), event_in(taken[0]).id()) << "the same in every try";
}

TEST_F(Telling, WhatIsRefusedTooOftenIsGivenUpAndToldWhenItIsReplayed) {
  std::atomic<bool> takes = false;
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) { return takes ? ReceiverAnswer{} : ReceiverAnswer{404}; });
  world_.send("1", "2", "one");
  tell_to(receiver, {.tries = 2, .retry_ms = 10});
  ASSERT_TRUE(settled());
  EXPECT_EQ(world_.engine().outbox().dead, 1u);
  EXPECT_EQ(teller_->status().dead, 1u);
  takes = true;
  Settlement replay;
  replay.replay_all = true;
  world_.engine().settle(std::move(replay));
  world_.run();
  teller_->wake();
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() == 1; }));
  EXPECT_EQ(event_in(receiver.taken()[0]).id(), event_in(receiver.all()[0]).id());
}

TEST_F(Telling, WhereNobodyIsItWaitsWithoutCountingTries) {
  int port = 0;
  {
    TestReceiver gone(kSecret);
    port = gone.port();
    world_.send("1", "2", "one");
    tell_to(gone, {.tries = 1, .retry_ms = 10, .retry_max_ms = 50});
    ASSERT_TRUE(gone.wait_until([](const auto& taken) { return taken.size() == 1; }));
    ASSERT_TRUE(settled());
  }
  world_.send("1", "2", "two");
  teller_->wake();
  while (teller_->status().failed < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(teller_->status().reachable);
  TestReceiver back(kSecret, nullptr, port);
  ASSERT_TRUE(back.wait_until([](const auto& taken) { return taken.size() == 1; }));
  EXPECT_EQ(event_in(back.taken()[0]).entry().body().text(), "two");
  EXPECT_EQ(world_.engine().outbox().dead, 0u);
}

TEST_F(Telling, ARecalledTextNeverLeavesLate) {
  // Another event holds the only connection while the message is taken back.
  std::atomic<bool> go = false;
  std::atomic<bool> first_came = false;
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) {
    first_came = true;
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReceiverAnswer{};
  });
  world_.send("1", "2", "before");
  world_.send("1", "2", "secret words");
  tell_to(receiver);
  while (!first_came) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MutateCommand recall;
  recall.user = UserId("1");
  recall.change = RecallCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(2)};
  world_.get<MutatedReply>(recall);
  teller_->taken_back(ConversationId("1_2"));
  go = true;
  teller_->wake();
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() == 3; }));
  for (const ReceivedPost& post : receiver.all()) EXPECT_EQ(post.body.find("secret words"), std::string::npos);
  const v1::HookEvent marker = event_in(receiver.taken()[1]);
  EXPECT_EQ(marker.kind(), v1::HOOK_KIND_MESSAGE_SENT);
  EXPECT_EQ(marker.entry().state(), v1::STATE_RECALLED);
  EXPECT_EQ(event_in(receiver.taken()[2]).message().state(), v1::STATE_RECALLED);
}

TEST_F(Telling, AStopEndsAPostThatWaits) {
  std::atomic<bool> came = false;
  std::atomic<bool> go = false;
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) {
    came = true;
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReceiverAnswer{};
  });
  world_.send("1", "2", "one");
  tell_to(receiver);
  while (!came) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  teller_->stop();
  go = true;
  EXPECT_EQ(waiting(), 1u) << "it is told at the next start";
}

}  // namespace
}  // namespace tidemark
