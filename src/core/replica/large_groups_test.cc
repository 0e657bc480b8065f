// A device in large groups: the digest, the vector of heads, what it has open, notices (design, section 3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const UserId a("a");
const UserId b("b");

class ReplicaLargeGroups : public testing::Test {
 protected:
  ReplicaLargeGroups() { server.params.small_max = 3; }
  ConversationId large() { return server.create_group(a, {b, UserId("c"), UserId("d")}); }
  void recall(const ConversationId& group, Seq seq) {
    MutateCommand command;
    command.user = a;
    command.change = RecallCommand{a, {}, group, seq};
    ASSERT_TRUE(server.run(command).has_value());
  }
  /// The device's next heartbeat, and what follows from it.
  void beat(TestLink& link) {
    device.advance(device.options.heartbeat_ms);
    settle(server, device, link);
  }

  TestServer server;
  TestDevice device{b};
};
using ReplicaLargeGroupsConformance = ReplicaLargeGroups;

TEST_F(ReplicaLargeGroups, ANewDeviceGetsThemAndIsInStep) {
  const ConversationId group = large();
  server.send_to(a, group, "hello");
  join(server, device);
  EXPECT_TRUE(device.replica->settled());
  EXPECT_TRUE(device.object(group).large);
  EXPECT_EQ(device.object(group).unread.count, 1U);
  EXPECT_EQ(device.object(group).preview.text, "hello");
}

TEST_F(ReplicaLargeGroups, AnEqualDigestAsksForNothing) {
  const ConversationId group = large();
  server.send_to(a, group, "hello");
  TestLink& link = join(server, device);
  const std::size_t asked = server.head_questions;
  beat(link);
  EXPECT_EQ(server.head_questions, asked);
}

TEST_F(ReplicaLargeGroups, AHeartbeatFindsWhatNobodyPushed) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  for (int i = 0; i < 5; ++i) server.send_to(a, group, "news " + std::to_string(i));
  EXPECT_THAT(link.down, IsEmpty()) << "it moves no mark";
  beat(link);
  EXPECT_EQ(device.object(group).unread.count, 5U);
  EXPECT_EQ(device.object(group).preview.text, "news 4");
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(ReplicaLargeGroupsConformance, S91_back_after_thousands_it_gets_heads_and_a_page_of_what_it_opens) {
  server.params.unread_exact_max = 999;
  const ConversationId groups[] = {large(), large(), large()};
  TestLink& link = join(server, device);
  device.disconnect();
  server.disconnect(link);
  for (const ConversationId& group : groups)
    for (int i = 0; i < 1'700; ++i) server.send_to(a, group, "x");
  TestLink& again = join(server, device);
  EXPECT_EQ(server.head_questions, 2U) << "one for all three, as at first";
  for (const ConversationId& group : groups) {
    EXPECT_EQ(device.object(group).unread, (Unread{999, false}));
    EXPECT_LT(device.texts(group).size(), 60U) << "no bodies but what it had";
  }
  device.replica->open(device.now, groups[0]);
  device.take();
  settle(server, device, again);
  EXPECT_EQ(device.state(groups[0]).tail, device.object(groups[0]).head_seq);
  EXPECT_LT(device.texts(groups[0]).size(), 150U) << "the newest page";
}

TEST_F(ReplicaLargeGroups, WhatIsOpenIsPushed) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, link);
  EXPECT_THAT(link.open, ElementsAre(group));
  server.send_to(a, group, "one");
  server.send_to(a, group, "two");
  settle(server, device, link);
  EXPECT_EQ(device.texts(group).back(), "two");
  EXPECT_EQ(device.object(group).unread.count, 2U);
  const std::size_t asked = server.head_questions;
  beat(link);
  EXPECT_EQ(server.head_questions, asked) << "pushes kept it in step";

  device.replica->close(device.now, group);
  device.take();
  settle(server, device, link);
  EXPECT_THAT(link.open, IsEmpty());
}

TEST_F(ReplicaLargeGroups, AMessageDoesNotTakeItsPlaceBack) {
  const ConversationId group = server.create_group(a, {b, UserId("c")});
  server.wall_ms += kHourMs;
  server.send(a, b, "of a clock that was ahead");
  server.wall_ms -= kHourMs;
  server.send_to(a, group, "is above it in the list");
  AddMembersCommand grows{a, {}, group, {UserId("d")}};
  ASSERT_TRUE(server.run(grows).has_value());
  TestLink& link = join(server, device);
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, link);
  server.send_to(a, group, "pushed");
  settle(server, device, link);
  ASSERT_EQ(device.object(group).preview.text, "pushed");
  const auto told = read_change(server.view, server.params, b, group);
  EXPECT_EQ(device.object(group).sort_time, told->sort_time);
  EXPECT_GT(device.object(group).sort_time, device.object(ConversationId("a_b")).sort_time);
}

TEST_F(ReplicaLargeGroups, AGapInWhatIsOpenIsPulled) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, link);
  server.send_to(a, group, "lost");
  link.down.clear();
  server.send_to(a, group, "found");
  settle(server, device, link);
  device.advance(device.options.gap_wait_ms);
  settle(server, device, link);
  EXPECT_THAT(device.texts(group), testing::IsSupersetOf({"lost", "found"}));
  EXPECT_EQ(device.object(group).unread.count, 2U);
}

TEST_F(ReplicaLargeGroups, AnEditOfWhatIsOpenIsFetchedSinceItComesWithoutItsText) {
  const ConversationId group = large();
  const SentReply sent = server.send_to(a, group, "first");
  TestLink& link = join(server, device);
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, link);
  MutateCommand command;
  command.user = a;
  EditCommand edit{a, {}, group, sent.seq, {}, {}};
  edit.body.text = "second";
  command.change = edit;
  ASSERT_TRUE(server.run(command).has_value());
  settle(server, device, link);
  EXPECT_THAT(device.texts(group), testing::Contains("second"));
  EXPECT_EQ(device.object(group).preview.text, "second");
}

TEST_F(ReplicaLargeGroups, ADeviceThatStopsBeforeItAskedAsksAfterItsStart) {
  const ConversationId group = large();
  const SentReply sent = server.send_to(a, group, "hello");
  TestLink& link = join(server, device);
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, link);
  recall(group, sent.seq);
  device.frame(link.down.front());  // the recall is pushed; what it makes of the list has to be asked for
  device.start();
  server.disconnect(link);
  join(server, device);
  EXPECT_EQ(device.object(group).unread.count, 0U);
  EXPECT_EQ(device.object(group).preview.state, MessageState::recalled);
}

TEST_F(ReplicaLargeGroupsConformance, S53_an_own_message_of_another_device_is_there_at_once) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  server.send_to(b, group, "from the other one");
  settle(server, device, link);
  EXPECT_THAT(device.texts(group), testing::Contains("from the other one"));
  EXPECT_EQ(device.object(group).unread.count, 0U);
  const std::size_t asked = server.head_questions;
  beat(link);
  EXPECT_EQ(server.head_questions, asked);
}

TEST_F(ReplicaLargeGroups, ANoticeIsAskedAfterWithinItsTime) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  const SentReply sent = server.send_to(a, group, "hello");
  device.frame({0, HeadNotice{{{group, sent.seq}}, 2'000}});
  std::int64_t waited = 0;
  while (device.waiting<Heads>() == 0 && waited <= 2'000) device.advance(100), waited += 100;
  EXPECT_LE(waited, 2'000);
  settle(server, device, link);
  EXPECT_EQ(device.object(group).unread.count, 1U);
  device.frame({0, HeadNotice{{{group, sent.seq}}, 0}});
  EXPECT_EQ(device.waiting<Heads>(), 0U) << "known";
}

TEST_F(ReplicaLargeGroups, AnAnswerThatIsNewerInOnePartAndOlderInTheOtherIsAskedAgain) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  Change told = device.object(group);
  server.send_to(a, group, "hello");
  const Request beat_request = [&] {
    device.advance(device.options.heartbeat_ms);
    return device.expect<Heartbeat>();
  }();
  device.answer(beat_request, HeartbeatAnswer{Mark(), 0, true});
  const Request heads = device.expect<Heads>();
  // Read before this device's own change, but after the message: newer by head, older by mark.
  StoreImage unused;
  (void)unused;
  auto page = read_heads(server.view, server.params, {b, {{group, told.head_seq}}, {}, {}, false});
  ASSERT_TRUE(page.has_value());
  ASSERT_TRUE(server
                  .run([&] {
                    MutateCommand command;
                    command.user = b;
                    command.change = PinCommand{b, group, true};
                    return command;
                  }())
                  .has_value());
  device.frame(link.down.front());
  link.down.pop_front();
  device.answer(heads, *page);
  EXPECT_NE(device.object(group).pinned_at, 0) << "the state that was newer stays";
  settle(server, device, link);
  EXPECT_EQ(device.object(group).unread.count, 1U);
  EXPECT_NE(device.object(group).pinned_at, 0);
}

TEST_F(ReplicaLargeGroups, MoreGroupsThanAQuestionHoldsAreComparedInParts) {
  device.options.heads_max = 2;
  device.start();
  std::vector<ConversationId> groups;
  for (int i = 0; i < 5; ++i) groups.push_back(large());
  TestLink& link = join(server, device);
  const std::size_t asked = server.head_questions;
  for (const ConversationId& group : groups) server.send_to(a, group, "x");
  beat(link);
  EXPECT_EQ(server.head_questions, asked + 3);
  for (const ConversationId& group : groups) EXPECT_EQ(device.object(group).unread.count, 1U) << group.value;
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(ReplicaLargeGroups, ItsEndIsLearntFromTheDigest) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  DissolveGroupCommand end;
  end.user = a;
  end.conversation = group;
  ASSERT_TRUE(server.run(end).has_value());
  beat(link);
  EXPECT_FALSE(device.object(group).member);
  const std::size_t asked = server.head_questions;
  beat(link);
  EXPECT_EQ(server.head_questions, asked) << "and is in step with it";
}

TEST_F(ReplicaLargeGroups, WhatGrowsAndShrinksStaysInStep) {
  const ConversationId group = server.create_group(a, {b, UserId("c")});
  TestLink& link = join(server, device);
  server.send_to(a, group, "small");
  AddMembersCommand add;
  add.user = a;
  add.conversation = group;
  add.added = {UserId("d")};
  ASSERT_TRUE(server.run(add).has_value());
  settle(server, device, link);
  EXPECT_TRUE(device.object(group).large);
  server.send_to(a, group, "large");
  beat(link);
  EXPECT_EQ(device.object(group).unread.count, 2U);
  for (const char* user : {"c", "d"}) {
    RemoveMemberCommand remove;
    remove.user = a;
    remove.conversation = group;
    remove.removed = UserId(user);
    ASSERT_TRUE(server.run(remove).has_value());
  }
  settle(server, device, link);
  EXPECT_FALSE(device.object(group).large);
  server.send_to(a, group, "small again");
  settle(server, device, link);
  EXPECT_EQ(device.object(group).unread.count, 3U);
}

TEST_F(ReplicaLargeGroups, AMentionIsCountedAndReadAway) {
  const ConversationId group = large();
  TestLink& link = join(server, device);
  SendCommand command;
  command.sender = a;
  command.conversation = group;
  command.client_msg_id = "m1";
  command.client_time = server.wall_ms;
  command.body.text = "you!";
  command.mentions = {b};
  const auto sent = server.run(command);
  ASSERT_TRUE(sent.has_value());
  settle(server, device, link);
  EXPECT_EQ(device.object(group).mentions, 1U);
  EXPECT_EQ(device.object(group).mentioned_at, std::get<SentReply>(*sent).seq);
  ASSERT_TRUE(device.replica->mark_read(device.now, group, device.object(group).head_seq).has_value());
  device.take();
  EXPECT_EQ(device.object(group).mentions, 0U) << "at once";
  settle(server, device, link);
  EXPECT_EQ(device.object(group).mentions, 0U);
}

}  // namespace
}  // namespace tidemark::replica
