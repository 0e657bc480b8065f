// A store that was put back from a backup, and devices that know more than it does (design, section 2, "Epoch").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");
constexpr std::uint64_t kJump = 1ULL << 32;

std::vector<std::string> numbered(int from, int to) {
  std::vector<std::string> texts;
  for (int i = from; i <= to; ++i) texts.push_back(std::to_string(i));
  return texts;
}

void send_numbered(TestServer& server, int from, int to) {
  for (const std::string& text : numbered(from, to)) server.send(kBen, kAnna, text);
}

/// Anna's device, in step with what was sent after the backup too.
struct Restored : ::testing::Test {
  TestServer server;
  TestServer backup;
  TestDevice device{kAnna};

  void live(int before, int after) {
    send_numbered(server, 1, before);
    backup.view = server.view;
    send_numbered(server, before + 1, after);
    TestLink& link = join(server, device);
    look(link);
    device.disconnect();
  }
  void look(TestLink& link) {
    device.replica->open(device.now, kChat);
    device.take();
    settle(server, device, link);
  }
  TestLink& restore() {
    server.restore(backup);
    return join(server, device);
  }
};

TEST_F(Restored, S135_what_the_restore_lost_stays_as_not_on_the_server) {
  live(10, 15);
  ASSERT_EQ(device.texts(kChat), numbered(1, 15));
  TestLink& link = restore();
  EXPECT_EQ(device.texts(kChat), numbered(1, 15)) << "what was seen stays";
  EXPECT_THAT(device.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(10), Seq(15)}));
  EXPECT_THAT(device.state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(10)}));
  EXPECT_EQ(device.state(kChat).tail, Seq(10));
  EXPECT_EQ(device.object(kChat).head_seq, Seq(10));
  EXPECT_EQ(device.object(kChat).unread, (Unread{10, true}));
  ASSERT_EQ(device.seen<LostEvent>().size(), 1u);
  EXPECT_EQ(device.seen<LostEvent>()[0].rows, (Interval{Seq(10), Seq(15)}));

  // What comes then has numbers that no lost message ever had.
  server.send(kBen, kAnna, "new");
  settle(server, device, link);
  look(link);
  EXPECT_EQ(device.object(kChat).head_seq, Seq(11 + kJump));
  std::vector<std::string> shown = numbered(1, 15);
  shown.emplace_back("new");
  EXPECT_EQ(device.texts(kChat), shown);
  EXPECT_TRUE(device.state(kChat).coverage.contains(Seq(11 + kJump)));
  EXPECT_FALSE(device.state(kChat).coverage.contains(Seq(11)) && !device.state(kChat).lost.contains(Seq(11)));
  device.start();
  EXPECT_THAT(device.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(10), Seq(15)})) << "also after a crash";
}

TEST_F(Restored, S135_read_pointers_are_told_again_and_clamped) {
  live(10, 15);
  TestLink& link = server.connect(kAnna);
  device.connect();
  settle(server, device, link);
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(15)).has_value());
  device.take();
  settle(server, device, link);
  device.disconnect();
  restore();
  EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->read, Seq(10));
  EXPECT_EQ(device.object(kChat).unread, (Unread{0, true}));
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(Restored, a_fresh_device_sees_the_hole_as_restored) {
  live(10, 15);
  TestLink& link = restore();
  send_numbered(server, 20, 21);
  settle(server, device, link);
  TestDevice fresh(kAnna, DeviceId("d2"));
  TestLink& second = join(server, fresh);
  fresh.replica->scroll_back(fresh.now, kChat);
  fresh.take();
  settle(server, fresh, second);
  std::vector<std::string> shown = numbered(1, 10);
  shown.insert(shown.end(), {"20", "21"});
  EXPECT_EQ(fresh.texts(kChat), shown);
  EXPECT_THAT(fresh.state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(12 + kJump)}));
  EXPECT_EQ(fresh.object(kChat).unread, device.object(kChat).unread);
}

TEST_F(Restored, a_conversation_that_only_the_lost_part_knew_stays_until_it_is_forgotten) {
  live(1, 2);
  TestLink& first = server.connect(kAnna);
  device.connect();
  settle(server, device, first);
  const ConversationId other("1001_1003");
  server.send(UserId("1003"), kAnna, "hello");
  settle(server, device, first);
  device.disconnect();
  TestLink& link = restore();
  EXPECT_THAT(device.texts(other), ElementsAre("hello"));
  EXPECT_TRUE(device.state(other).only_here());
  EXPECT_FALSE(device.replica->mark_unread(device.now, other).has_value()) << "no server could be told";
  EXPECT_FALSE(device.replica->mark_read(device.now, other, Seq(1)).has_value());
  EXPECT_EQ(device.object(other).unread, Unread{});
  EXPECT_EQ(device.object(other).preview.text, "hello");
  EXPECT_FALSE(device.replica->mark_unread(device.now, other).has_value()) << "there is nobody to tell";
  EXPECT_FALSE(device.replica->mark_read(device.now, other, Seq(1)).has_value());
  device.take();
  EXPECT_TRUE(device.replica->settled());
  // Another snapshot does not take it either.
  server.restore(server);
  device.disconnect();
  TestLink& again = join(server, device);
  EXPECT_THAT(device.texts(other), ElementsAre("hello"));
  (void)link;

  // The same two write again: beside it, under other numbers.
  server.send(UserId("1003"), kAnna, "again");
  settle(server, device, again);
  EXPECT_FALSE(device.state(other).only_here());
  EXPECT_EQ(device.object(other).head_seq, Seq(1 + 2 * kJump));
  EXPECT_THAT(device.texts(other), ElementsAre("hello", "again"));
  ASSERT_TRUE(device.replica->forget_lost(device.now, other).has_value());
  device.take();
  EXPECT_THAT(device.texts(other), ElementsAre("again"));
  EXPECT_FALSE(device.replica->forget_lost(device.now, other).has_value());
}

TEST_F(Restored, rows_of_a_group_that_lets_its_member_in_again_are_not_lost) {
  CreateGroupCommand create;
  create.creator = kBen;
  create.title = "group";
  create.newcomers = HistoryForNewcomers::all;
  const ConversationId group = std::get<GroupReply>(*server.run(create)).group.id;
  server.send_to(kBen, group, "before");
  backup.view = server.view;
  const auto let_in = [&] { return server.run(AddMembersCommand{kBen, DeviceId("other"), group, {kAnna}}); };
  ASSERT_TRUE(let_in().has_value());
  TestLink& link = join(server, device);
  device.replica->scroll_back(device.now, group);
  device.take();
  settle(server, device, link);
  ASSERT_THAT(device.texts(group), ElementsAre("", "before", ""));
  device.disconnect();
  // Of Anna it knows nothing, when she asks what was lost; then she is let in again.
  server.restore(backup);
  TestLink& again = server.connect(kAnna);
  device.connect();
  server.receive(again, device.expect<Hello>());
  device.frame(std::move(again.down.front()));
  again.down.clear();
  server.receive(again, device.expect<Jumps>());
  ASSERT_TRUE(let_in().has_value());
  settle(server, device, again);
  EXPECT_THAT(device.state(group).lost.ranges(), ElementsAre(Interval{Seq(2), Seq(3)}));
  device.replica->scroll_back(device.now, group);
  device.take();
  settle(server, device, again);
  EXPECT_THAT(device.texts(group), ::testing::Contains("before"));
  EXPECT_FALSE(device.state(group).only_here());
}

TEST_F(Restored, nothing_is_applied_before_the_jumps_are_known) {
  live(10, 15);
  server.restore(backup);
  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  ASSERT_FALSE(link.down.empty());
  device.frame(std::move(link.down.front()));
  link.down.clear();
  EXPECT_EQ(device.waiting<Jumps>(), 1u);
  EXPECT_EQ(device.up.size(), 1u) << "nothing else is asked meanwhile";
  // A crash in between: the rest is asked after the restart.
  device.disconnect();
  device.start();
  join(server, device);
  EXPECT_THAT(device.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(10), Seq(15)}));
}

TEST_F(Restored, S136_a_send_whose_entry_was_lost_becomes_one_message) {
  send_numbered(server, 1, 3);
  backup.view = server.view;
  // Two devices of Anna: one sends and never hears of it, the other has seen the echo.
  TestLink& phone_link = join(server, device);
  TestDevice other(kAnna, DeviceId("d2"));
  TestLink& other_link = join(server, other);
  other.replica->open(other.now, kChat);
  other.take();
  settle(server, other, other_link);
  device.send(kBen, "mine");
  server.receive(phone_link, device.expect<Send>());
  settle(server, other, other_link);
  ASSERT_EQ(other.texts(kChat).back(), "mine");
  device.disconnect();
  other.disconnect();
  server.restore(backup);
  TestLink& other_again = join(server, other);
  EXPECT_THAT(other.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(3), Seq(4)}));
  join(server, device);
  EXPECT_THAT(device.replica->outbox(), IsEmpty()) << "taken, as a new entry";
  settle(server, other, other_again);
  std::vector<std::string> shown = numbered(1, 3);
  shown.emplace_back("mine");
  EXPECT_EQ(other.texts(kChat), shown) << "one bubble";
  EXPECT_TRUE(other.state(kChat).lost.empty());
  EXPECT_EQ(server.view.line(kChat).seq, Seq(4 + kJump));
}

TEST_F(Restored, a_restore_of_an_older_backup_takes_back_what_came_after_the_first) {
  send_numbered(server, 1, 5);
  backup.view = server.view;
  send_numbered(server, 6, 8);
  server.restore(backup);
  TestLink& link = join(server, device);
  send_numbered(server, 20, 22);
  settle(server, device, link);
  look(link);
  device.disconnect();
  restore();
  EXPECT_THAT(device.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(5), Seq(8 + kJump)}));
  EXPECT_EQ(device.object(kChat).head_seq, Seq(5));
  EXPECT_EQ(server.send(kBen, kAnna, "next").seq, Seq(6 + 2 * kJump));
}

}  // namespace
}  // namespace tidemark::replica
