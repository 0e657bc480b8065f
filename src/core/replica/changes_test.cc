// Recalls and edits as a user makes them on a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

Body text_body(const std::string& text) {
  Body body;
  body.text = text;
  return body;
}

/// In step, with a message of Anna's own, one of Ben's and another of hers.
class Changes : public ::testing::Test {
 protected:
  Changes() {
    server.send(kAnna, kBen, "mine");
    server.send(kBen, kAnna, "his");
    server.send(kAnna, kBen, "mine too");
    link = &join(server, device);
    device.events.clear();
  }
  Result<void> recall(std::uint64_t seq) {
    auto done = device.replica->recall(device.now, kChat, Seq(seq));
    device.take();
    return done;
  }
  Result<void> edit(std::uint64_t seq, const std::string& text, std::optional<Seq> base = std::nullopt) {
    auto done = device.replica->edit(device.now, kChat, Seq(seq), text_body(text), base);
    device.take();
    return done;
  }
  const MutationItem& next_item() {
    last_ = device.expect<Mutate>();
    return std::get<Mutate>(last_.operation).item;
  }
  void done() { device.answer(last_, MutatedReply{}); }
  void refused(ErrorCode code) { device.answer(last_, Error{code}); }
  void reconnect() {
    device.disconnect();
    server.disconnect(*link);
    link = &server.connect(kAnna);
    device.connect();
    server.receive(*link, device.expect<Hello>());
    device.frame(std::move(link->down.front()));
    link->down.pop_front();
  }

  TestServer server;
  TestDevice device{kAnna};
  TestLink* link = nullptr;
  Request last_;
};

TEST_F(Changes, ARecallIsQueuedAndDoneAndTheRowWaitsForTheLog) {
  ASSERT_TRUE(recall(1).has_value());
  EXPECT_EQ(device.store.mutations().size(), 1u) << "stored before the first byte leaves";
  EXPECT_EQ(device.store.row(kChat, Seq(1))->state, MessageState::live) << "the server may yet refuse";
  const MutationItem& item = next_item();
  EXPECT_EQ(item.kind, MutationKind::recall);
  EXPECT_EQ(item.seq, Seq(1));
  EXPECT_EQ(item.number, 1u);
  EXPECT_FALSE(device.replica->settled());
  done();
  EXPECT_TRUE(device.store.mutations().empty());
  EXPECT_TRUE(device.replica->settled());
  const auto told = device.seen<ChangeEvent>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].outcome, ChangeOutcome::queued);
  EXPECT_EQ(told[1].outcome, ChangeOutcome::done);
  EXPECT_EQ(told[1].seq, Seq(1));
}

TEST_F(Changes, AnUnansweredRecallIsRepeatedUnderItsNumberAlsoAfterACrash) {
  ASSERT_TRUE(recall(1).has_value());
  const std::uint64_t number = next_item().number;
  device.start();
  reconnect();
  const MutationItem& again = next_item();
  EXPECT_EQ(again.number, number);
  EXPECT_EQ(again.kind, MutationKind::recall);
  EXPECT_EQ(again.seq, Seq(1));
}

TEST_F(Changes, OfflineChangesGoOutLater) {
  device.disconnect();
  ASSERT_TRUE(edit(1, "better").has_value());
  ASSERT_TRUE(recall(3).has_value());
  EXPECT_EQ(device.waiting<Mutate>(), 0u);
  reconnect();
  EXPECT_EQ(device.waiting<Mutate>(), 2u);
  const MutationItem& item = next_item();
  EXPECT_EQ(item.kind, MutationKind::edit);
  EXPECT_EQ(item.body.text, "better");
  EXPECT_FALSE(item.base_revision);
}

TEST_F(Changes, ARefusalIsToldWithItsReasonAndTheText) {
  ASSERT_TRUE(edit(1, "better", Seq(0)).has_value());
  EXPECT_EQ(next_item().base_revision, Seq(0));
  refused(ErrorCode::REVISION_CONFLICT);
  const auto told = device.seen<ChangeRefusedEvent>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].error.code, ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(told[0].kind, MutationKind::edit);
  EXPECT_EQ(told[0].seq, Seq(1));
  EXPECT_EQ(told[0].body.text, "better");
  EXPECT_TRUE(device.store.mutations().empty());
}

TEST_F(Changes, WhatCannotBeIsRefusedAtOnce) {
  EXPECT_EQ(recall(2).error().code, ErrorCode::FORBIDDEN);
  EXPECT_EQ(edit(2, "no").error().code, ErrorCode::FORBIDDEN);
  EXPECT_EQ(edit(1, std::string(70'000, 'x')).error().code, ErrorCode::TOO_LARGE);
  const auto elsewhere = device.replica->recall(device.now, ConversationId("1001_1003"), Seq(1));
  EXPECT_EQ(elsewhere.error().code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_TRUE(recall(77).has_value()) << "what is not held is the server's to judge";
  PushItem item;
  item.index_after = device.store.device().cursor.mark;
  item.index_to = item.index_after + 1;
  item.conversation = kChat;
  Entry entry;
  entry.seq = Seq(4);
  entry.kind = EntryKind::recall;
  entry.sender = entry.target_sender = kAnna;
  entry.target = Seq(1);
  item.entry = std::make_shared<const Entry>(entry);
  device.push(item);
  EXPECT_EQ(recall(1).error().code, ErrorCode::MESSAGE_DELETED);
}

TEST_F(Changes, NoMoreWaitThanTheServerKeeps) {
  device.disconnect();
  for (std::size_t i = 0; i < Options{}.mutations_max; ++i) ASSERT_TRUE(edit(1, "again").has_value());
  EXPECT_EQ(recall(1).error().code, ErrorCode::LIMIT_REACHED);
  EXPECT_EQ(device.store.mutations().size(), Options{}.mutations_max);
}

TEST_F(Changes, TheLaterOfTwoEditsIsNotOvertakenByARetryOfTheFirst) {
  ASSERT_TRUE(edit(1, "first").has_value());
  ASSERT_TRUE(edit(1, "second").has_value());
  ASSERT_TRUE(edit(3, "another").has_value());
  EXPECT_EQ(device.waiting<Mutate>(), 2u) << "one for each message";
  EXPECT_EQ(next_item().body.text, "first");
  const Request first = last_;
  EXPECT_EQ(next_item().body.text, "another");
  device.answer(first, Error{ErrorCode::RETRY_LATER});
  EXPECT_EQ(device.waiting<Mutate>(), 0u);
  device.advance(2'000);
  EXPECT_EQ(next_item().body.text, "first");
  done();
  EXPECT_EQ(next_item().body.text, "second");
}

TEST_F(Changes, ARecallUnderASpentNumberTakesAnotherAnEditAsksItsUser) {
  ASSERT_TRUE(recall(1).has_value());
  ASSERT_TRUE(edit(3, "better").has_value());
  const std::uint64_t number = next_item().number;
  refused(ErrorCode::MUTATION_EXPIRED);
  EXPECT_EQ(next_item().kind, MutationKind::edit);
  refused(ErrorCode::MUTATION_EXPIRED);
  const MutationItem& again = next_item();
  EXPECT_EQ(again.kind, MutationKind::recall);
  EXPECT_GT(again.number, number);
  const auto told = device.seen<ChangeRefusedEvent>();
  ASSERT_EQ(told.size(), 1u) << "whether it was done is not known any more";
  EXPECT_EQ(told[0].kind, MutationKind::edit);
  ASSERT_TRUE(edit(3, "better").has_value());
  EXPECT_EQ(next_item().kind, MutationKind::edit);
  refused(ErrorCode::MUTATION_CONFLICT);
  EXPECT_EQ(next_item().body.text, "better") << "the number stood for something else: this was never done";
}

}  // namespace
}  // namespace tidemark::replica
