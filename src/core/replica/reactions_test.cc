// Reactions as a device holds them: pushed in order and out of order, missed, on pages that were read before, and made
// here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/fold.h"
#include "core/replica/objects.h"
#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

MutateCommand react(const UserId& user, std::uint64_t seq, const std::string& name, bool on = true) {
  MutateCommand command;
  command.user = user;
  command.device = DeviceId("elsewhere");
  command.change = ReactCommand{user, command.device, kChat, Seq(seq), name, on};
  return command;
}

/// Anna's device, in step, with two messages of Ben's.
class Reactions : public ::testing::Test {
 protected:
  Reactions() {
    server.send(kBen, kAnna, "one");
    server.send(kBen, kAnna, "two");
    link = &join(server, device);
    device.events.clear();
  }
  void run(const Command& command) { ASSERT_TRUE(server.run(command).has_value()); }
  void deliver() { settle(server, device, *link); }
  std::vector<Reaction> shown(std::uint64_t seq) const { return device.store.row(kChat, Seq(seq))->reactions; }
  /// As the server would tell it now.
  std::vector<Reaction> truth(std::uint64_t seq) {
    return read_message(server.view, kAnna, kChat, Seq(seq)).value().reactions;
  }

  TestServer server;
  TestDevice device{kAnna};
  TestLink* link = nullptr;
};

TEST_F(Reactions, PushedOnesChangeTheRowAndNothingIsAsked) {
  run(react(kBen, 1, "y"));
  run(react(kAnna, 1, "y"));
  run(react(kAnna, 1, "z"));
  deliver();
  EXPECT_THAT(shown(1), ElementsAre(Reaction{"y", 2, true}, Reaction{"z", 1, true}));
  run(react(kAnna, 1, "y", false));
  deliver();
  EXPECT_THAT(shown(1), ElementsAre(Reaction{"y", 1, false}, Reaction{"z", 1, true}));
  EXPECT_EQ(shown(1), truth(1));
  const auto told = device.seen<MessageEvent>();
  ASSERT_THAT(told, SizeIs(4));
  EXPECT_FALSE(told[0].appeared);
  EXPECT_FALSE(told[0].notify);
  EXPECT_EQ(server.conversation_syncs, 0u);
  EXPECT_EQ(device.object(kChat).unread.count, 2u);
  EXPECT_EQ(device.store.row(kChat, Seq(3)), nullptr) << "it is no row itself";
}

TEST_F(Reactions, AfterOneThatWasMissedTheServerIsAsked) {
  // Anna's own, from elsewhere, is lost: by what Ben's tells alone, hers would never be known as her own.
  run(react(kAnna, 1, "y"));
  link->down.clear();
  run(react(kBen, 1, "y"));
  deliver();
  device.advance(600);
  deliver();
  EXPECT_THAT(shown(1), ElementsAre(Reaction{"y", 2, true}));
  EXPECT_EQ(device.state(kChat).touched, Seq(4));
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(Reactions, OutOfOrderTheyComeToTheSame) {
  run(react(kAnna, 1, "y"));
  run(react(kBen, 1, "z"));
  ASSERT_THAT(link->down, SizeIs(2));
  std::swap(link->down[0], link->down[1]);
  deliver();
  EXPECT_EQ(shown(1), truth(1));
  EXPECT_EQ(server.conversation_syncs, 0u);
}

TEST_F(Reactions, APageThatWasReadBeforeIsBroughtUpToDate) {
  TestDevice other(kAnna, DeviceId("d2"), [] {
    Options options;
    options.recent = 1;
    return options;
  }());
  TestLink& down = join(server, other);
  other.replica->scroll_back(other.now, kChat);
  other.take();
  const Request question = other.expect<History>();
  server.receive(down, question);
  ServerFrame page = std::move(down.down.front());
  down.down.clear();
  run(react(kAnna, 1, "y"));
  run(react(kBen, 1, "y"));
  settle(server, other, down);
  other.frame(std::move(page));
  ASSERT_NE(other.store.row(kChat, Seq(1)), nullptr);
  EXPECT_THAT(other.store.row(kChat, Seq(1))->reactions, ElementsAre(Reaction{"y", 2, true}));
}

TEST_F(Reactions, ARecallTakesThemAway) {
  run(react(kAnna, 1, "y"));
  run(MutateCommand{kBen, DeviceId("b"), {}, 0, RecallCommand{kBen, DeviceId("b"), kChat, Seq(1), false}});
  deliver();
  EXPECT_THAT(shown(1), IsEmpty());
}

TEST_F(Reactions, OnesOwnIsQueuedAndShownWhenTheLogHasIt) {
  ASSERT_TRUE(device.replica->react(device.now, kChat, Seq(1), "y", true).has_value());
  device.take();
  EXPECT_THAT(device.store.mutations(), SizeIs(1));
  EXPECT_THAT(shown(1), IsEmpty());
  deliver();
  EXPECT_THAT(shown(1), ElementsAre(Reaction{"y", 1, true}));
  const auto told = device.seen<ChangeEvent>();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[1].kind, MutationKind::react);
  EXPECT_EQ(told[1].outcome, ChangeOutcome::done);
  ASSERT_TRUE(device.replica->react(device.now, kChat, Seq(1), "y", false).has_value());
  device.take();
  deliver();
  EXPECT_THAT(shown(1), IsEmpty());
}

TEST_F(Reactions, OnAndOffKeepTheirOrderThoughTheFirstIsRetried) {
  (void)device.replica->react(device.now, kChat, Seq(1), "y", true);
  (void)device.replica->react(device.now, kChat, Seq(1), "y", false);
  device.take();
  ASSERT_EQ(device.waiting<Mutate>(), 1u);
  device.answer(device.expect<Mutate>(), Error{ErrorCode::RETRY_LATER});
  device.advance(60'000);
  EXPECT_TRUE(std::get<Mutate>(device.expect<Mutate>().operation).item.on);
}

TEST_F(Reactions, WhatTheDeviceKnowsToBeWrongIsRefusedAtOnce) {
  EXPECT_EQ(device.replica->react(device.now, ConversationId("1001_9"), Seq(1), "y", true).error().code,
            ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(device.replica->react(device.now, kChat, Seq(1), "", true).error().code, ErrorCode::OUT_OF_RANGE);
  run(MutateCommand{kBen, DeviceId("b"), {}, 0, RecallCommand{kBen, DeviceId("b"), kChat, Seq(1), false}});
  deliver();
  EXPECT_EQ(device.replica->react(device.now, kChat, Seq(1), "y", true).error().code, ErrorCode::MESSAGE_DELETED);
}

TEST_F(Reactions, WhoReactsIsAskedOfTheServer) {
  run(react(kBen, 1, "y"));
  deliver();
  AskReactions ask;
  ask.query.conversation = kChat;
  ask.query.seq = Seq(1);
  ASSERT_TRUE(device.replica->ask_reactions(device.now, 7, ask).has_value());
  device.take();
  deliver();
  const auto told = device.seen<ReactionsEvent>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].call, 7u);
  ASSERT_TRUE(told[0].reactions.has_value());
  ASSERT_THAT(told[0].reactions->users, SizeIs(1));
  EXPECT_EQ(told[0].reactions->users[0].user, kBen);
  ASSERT_TRUE(device.replica->ask_reactions(device.now, 8, ask).has_value());
  device.take();
  device.disconnect();
  EXPECT_EQ(device.seen<ReactionsEvent>().at(1).reactions.error().code, ErrorCode::RETRY_LATER);
  EXPECT_EQ(device.replica->ask_reactions(device.now, 9, ask).error().code, ErrorCode::RETRY_LATER);
}

TEST(Fold, EditsAndReactionsAreJoinedEachByItself) {
  Entry edited;
  edited.seq = Seq(5);
  edited.state = MessageState::edited;
  edited.revision = edited.touched_by = Seq(9);
  edited.body.text = "later";
  Entry reacted;
  reacted.seq = Seq(5);
  reacted.body.text = "first";
  reacted.reacted = reacted.touched_by = Seq(8);
  reacted.reactions = {{"y", 1, false}};
  EXPECT_TRUE(outranks(note_of(edited, kAnna), note_of(reacted, kAnna)));
  EXPECT_TRUE(outranks(note_of(reacted, kAnna), note_of(edited, kAnna)));
  for (const Entry& both : {brought_to(edited, reacted), brought_to(reacted, edited)}) {
    EXPECT_EQ(both.body.text, "later");
    EXPECT_EQ(both.state, MessageState::edited);
    EXPECT_THAT(both.reactions, SizeIs(1));
    EXPECT_EQ(both.touched_by, Seq(9));
  }
}

}  // namespace
}  // namespace tidemark::replica
