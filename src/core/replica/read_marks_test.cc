// Read pointers and unread numbers as a device shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

void send_messages(TestServer& server, int count) {
  for (int i = 0; i < count; ++i) server.send(kBen, kAnna, "hello");
}

void read_elsewhere(TestServer& server, std::uint64_t seq) {
  ASSERT_TRUE(server.run(MutateCommand{kAnna, DeviceId("d2"), {}, 0, ReadCommand{kAnna, kChat, Seq(seq)}}).has_value());
}

TEST(ReadMarks, ReadingLowersTheNumberAtOnce) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 10);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(7)).has_value());
  device.take();
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true})) << "before the server has heard of it";
  EXPECT_EQ(device.seen<UnreadEvent>().back().unread, (Unread{3, true}));
  settle(server, device, link);
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true}));
  EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->read, Seq(7));
  EXPECT_TRUE(device.store.mutations().empty());
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(5)).has_value());
  device.take();
  EXPECT_EQ(device.object(kChat).read, Seq(7)) << "pointers never go back";
  EXPECT_EQ(device.waiting<Mutate>(), 0u);
}

TEST(ReadMarks, MovesMadeWhileOneIsUnansweredBecomeOne) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 10);
  settle(server, device, link);
  for (std::uint64_t seq = 1; seq <= 10; ++seq) {
    ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(seq)).has_value());
    device.take();
  }
  EXPECT_EQ(device.waiting<Mutate>(), 1u);
  settle(server, device, link);
  EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->read, Seq(10));
  EXPECT_EQ(device.store.device().next_mutation, 3u) << "two numbers for ten moves";
  EXPECT_EQ(device.object(kChat).unread, Unread{});
}

TEST(ReadMarks, AnUnansweredChangeIsRepeatedUnderItsNumber) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(2)).has_value());
  device.take();
  const Request lost = device.expect<Mutate>();
  const std::uint64_t number = std::get<Mutate>(lost.operation).item.number;
  server.receive(link, lost);  // its answer is lost with the link
  device.disconnect();
  server.disconnect(link);
  device.start();
  device.connect();
  TestLink& second = server.connect(kAnna);
  server.receive(second, device.expect<Hello>());
  device.frame(std::move(second.down.front()));
  second.down.pop_front();
  const Request again = device.expect<Mutate>();
  EXPECT_EQ(std::get<Mutate>(again.operation).item.number, number);
  server.receive(second, again);
  settle(server, device, second);
  EXPECT_TRUE(device.store.mutations().empty());
  EXPECT_EQ(device.object(kChat).read, Seq(2));
}

TEST(ReadMarks, APointerFromBeforeARestoreFallsToWhatTheServerHas) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(3)).has_value());
  device.take();
  MutatedReply reply;
  reply.read = Seq(1);  // another device had told it already, so no summary comes
  reply.clamped = true;
  device.answer(device.expect<Mutate>(), reply);
  EXPECT_EQ(device.object(kChat).read, Seq(1));
  EXPECT_EQ(device.state(kChat).local_read, Seq(1));
}

/// The answer was lost, and the user has read on since: it is given again when it is long outdated.
TEST(ReadMarks, AClampedAnswerLeavesWhatWasReadSince) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 2);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(2)).has_value());
  device.take();
  const Request asked = device.expect<Mutate>();
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(5)).has_value());
  device.take();
  MutatedReply reply;
  reply.read = Seq(1);
  reply.clamped = true;
  device.answer(asked, reply);
  EXPECT_EQ(device.object(kChat).read, Seq(5));
}

TEST(ReadMarks, ASummaryFromBeforeTheAnswerDoesNotTakeThePointerBack) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(1)).has_value());
  device.take();
  MutatedReply reply;
  reply.read = Seq(3);  // another device had read further
  device.answer(device.expect<Mutate>(), reply);
  ASSERT_EQ(device.object(kChat).read, Seq(3));
  PushItem late;
  late.index_after = device.store.device().cursor.mark;
  late.index_to = late.index_after + 1;
  Change before = device.object(kChat);
  before.mark = late.index_to;
  before.read = Seq(0);
  late.summary = std::make_shared<const Change>(before);
  device.push(late);
  EXPECT_EQ(device.object(kChat).read, Seq(3));
}

TEST(ReadMarks, MarkingUnreadIsAFlagOfItsOwn) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(3)).has_value());
  ASSERT_TRUE(device.replica->mark_unread(device.now, kChat).has_value());
  device.take();
  EXPECT_TRUE(device.object(kChat).unread_flag);
  settle(server, device, link);
  EXPECT_TRUE(device.object(kChat).unread_flag);
  EXPECT_EQ(device.object(kChat).read, Seq(3));
  EXPECT_TRUE(server.view.user_conversation(kAnna, kChat)->unread_flag);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(3)).has_value());
  device.take();
  settle(server, device, link);
  EXPECT_FALSE(device.object(kChat).unread_flag);
  EXPECT_FALSE(server.view.user_conversation(kAnna, kChat)->unread_flag);
}

TEST(ReadMarks, AnExpiredNumberIsReplacedTheReadIsNot) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 3);
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(3)).has_value());
  device.take();
  const Request first = device.expect<Mutate>();
  device.answer(first, Error{ErrorCode::MUTATION_EXPIRED});
  const Request second = device.expect<Mutate>();
  EXPECT_GT(std::get<Mutate>(second.operation).item.number, std::get<Mutate>(first.operation).item.number);
  server.receive(link, second);
  settle(server, device, link);
  EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->read, Seq(3));
}

TEST(ReadMarks, AtMost32AreUnanswered) {
  TestServer server;
  TestDevice device(kAnna);
  for (int i = 0; i < 40; ++i) server.send(UserId("30" + std::to_string(i)), kAnna, "hello");
  TestLink& link = join(server, device);
  for (const auto& [id, stored] : std::map(device.store.conversations())) {
    ASSERT_TRUE(device.replica->mark_read(device.now, id, Seq(1)).has_value());
    device.take();
  }
  EXPECT_EQ(device.waiting<Mutate>(), 32u);
  settle(server, device, link);
  for (const auto& [id, stored] : device.store.conversations())
    EXPECT_EQ(server.view.user_conversation(kAnna, id)->read, Seq(1));
}

TEST(ReadMarks, AConversationThatIsNotHeldCannotBeRead) {
  TestDevice device(kAnna);
  EXPECT_EQ(device.replica->mark_read(device.now, kChat, Seq(1)).error().code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(device.replica->mark_unread(device.now, kChat).error().code, ErrorCode::CONVERSATION_NOT_FOUND);
}

TEST(Conformance, S48_pointer_ahead_of_local_data) {
  TestServer server;
  Options options;
  options.bodies = Bodies::none;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, device);
  send_messages(server, 15);
  settle(server, device, link);
  device.disconnect();
  server.disconnect(link);
  send_messages(server, 7);
  read_elsewhere(server, 20);
  TestLink& second = join(server, device);
  EXPECT_EQ(device.state(kChat).tail, Seq(15));
  EXPECT_EQ(device.object(kChat).read, Seq(20));
  EXPECT_EQ(device.object(kChat).unread, (Unread{2, true})) << "the server's number";
  device.replica->open(device.now, kChat);
  device.take();
  settle(server, device, second);
  EXPECT_EQ(device.state(kChat).tail, Seq(22));
  EXPECT_EQ(device.object(kChat).unread, (Unread{2, true})) << "the same number from the rows";
}

TEST(Conformance, S52_offline_read_merges) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_messages(server, 30);
  settle(server, device, link);
  device.disconnect();
  server.disconnect(link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(25)).has_value());
  device.take();
  EXPECT_EQ(device.object(kChat).unread, (Unread{5, true}));
  read_elsewhere(server, 28);
  join(server, device);
  EXPECT_EQ(device.object(kChat).read, Seq(28));
  EXPECT_EQ(device.object(kChat).unread, (Unread{2, true}));
  EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->read, Seq(28));
  EXPECT_TRUE(device.store.mutations().empty());
}

TEST(Conformance, F20_read_elsewhere_while_away) {
  for (const std::uint32_t page : {1u, 3u, 50u}) {
    TestServer server;
    Options options;
    options.page_limit = page;
    options.recent = page;
    TestDevice device(kAnna, DeviceId("d1"), options);
    TestLink& link = join(server, device);
    device.disconnect();
    server.disconnect(link);
    send_messages(server, 10);
    read_elsewhere(server, 10);
    TestLink& second = join(server, device);
    device.replica->open(device.now, kChat);
    device.take();
    settle(server, device, second);
    EXPECT_EQ(device.object(kChat).unread, Unread{});
    for (const MessageEvent& event : device.seen<MessageEvent>()) EXPECT_FALSE(event.notify) << "it was read already";
    device.disconnect();
    server.disconnect(second);
    send_messages(server, 4);
    read_elsewhere(server, 12);
    TestLink& third = join(server, device);
    settle(server, device, third);
    EXPECT_EQ(device.object(kChat).unread, (Unread{2, true})) << "whatever the size of the pages";
    for (const MessageEvent& event : device.seen<MessageEvent>()) EXPECT_EQ(event.notify, event.entry->seq > Seq(12));
  }
}

}  // namespace
}  // namespace tidemark::replica
