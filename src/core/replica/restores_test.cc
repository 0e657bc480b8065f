// A store that was put back from a backup, and devices that know more than it does (design, section 2, "Epoch").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

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

TEST_F(Restored, what_the_restore_lost_is_not_unread_when_it_is_deleted) {
  live(10, 15);
  TestLink& link = restore();
  server.send(kBen, kAnna, "new");
  settle(server, device, link);
  ASSERT_TRUE(device.replica->delete_for_me(device.now, kChat, {{Seq(12), Seq(13)}}));
  device.take();
  settle(server, device, link);
  EXPECT_EQ(device.object(kChat).unread, (Unread{11, true}));
  EXPECT_EQ(device.texts(kChat).size(), 15u);
  ASSERT_TRUE(device.replica->delete_for_me(device.now, kChat, {{Seq(8), Seq(9)}}));
  device.take();
  settle(server, device, link);
  EXPECT_EQ(device.object(kChat).unread, (Unread{10, true}));
}

/// What its user has set here goes with a conversation that the server knows nothing of.
struct RestoredAway : Restored {
  void set_and_restore() {
    live(0, 2);
    ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(2)));
    device.take();
    join(server, device);
    ASSERT_TRUE(device.replica->mark_unread(device.now, kChat));
    ASSERT_TRUE(device.replica->pin(device.now, kChat, true));
    ASSERT_TRUE(device.replica->mute(device.now, kChat, kForEver));  // waits for the answer to the pin
    device.take();
    device.disconnect();
    server.restore(backup);
  }
};

TEST_F(RestoredAway, what_was_set_goes_with_it) {
  set_and_restore();
  TestLink& link = join(server, device);
  server.send(kBen, kAnna, "new");
  settle(server, device, link);
  EXPECT_EQ(device.object(kChat).head_seq, Seq(1 + kJump));
  EXPECT_FALSE(device.object(kChat).unread_flag);
  EXPECT_EQ(device.object(kChat).muted_until, 0);
  EXPECT_EQ(device.object(kChat).pinned_at, 0);
}

TEST_F(RestoredAway, what_was_set_and_refused_before_the_list_is_there_goes_with_it) {
  for (const bool begins_before_the_list : {true, false}) {
    SCOPED_TRACE(begins_before_the_list);
    server = backup = TestServer();
    device = TestDevice(kAnna);
    set_and_restore();
    TestLink& link = server.connect(kAnna);
    device.connect();
    answer(server, device, link, device.expect<Hello>());
    answer(server, device, link, device.expect<Jumps>());
    while (device.waiting<Mutate>() > 0) answer(server, device, link, device.expect<Mutate>());
    if (!begins_before_the_list) settle(server, device, link);
    server.send(kBen, kAnna, "new");
    if (begins_before_the_list) answer(server, device, link, device.expect<Sync>());
    EXPECT_FALSE(device.object(kChat).unread_flag);
    settle(server, device, link);
    EXPECT_EQ(device.object(kChat).head_seq, Seq(1 + kJump));
    EXPECT_FALSE(device.object(kChat).unread_flag);
    EXPECT_EQ(device.object(kChat).muted_until, begins_before_the_list ? kForEver : 0);
  }
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

/// A group with a row that Anna was out for, and is shown since she was let in again after the backup.
struct RestoredGroup : Restored {
  ConversationId group;
  Seq kept;
  Seq lost;

  void let_in() { ASSERT_TRUE(server.run(AddMembersCommand{kBen, DeviceId("other"), group, {kAnna}}).has_value()); }
  void send_away() { ASSERT_TRUE(server.run(RemoveMemberCommand{kBen, DeviceId("other"), group, kAnna}).has_value()); }
  void out_and_in() {
    CreateGroupCommand create;
    create.creator = kBen;
    create.title = "group";
    create.members = {kAnna};
    create.newcomers = HistoryForNewcomers::all;
    group = std::get<GroupReply>(*server.run(create)).group.id;
    send_away();
    kept = server.send_to(kBen, group, "kept").seq;
    backup.view = server.view;
    let_in();
    lost = server.send_to(kBen, group, "lost").seq;
    TestLink& link = join(server, device);
    device.replica->scroll_back(device.now, group);
    device.take();
    settle(server, device, link);
    ASSERT_THAT(device.texts(group), ::testing::IsSupersetOf({"kept", "lost"}));
    device.disconnect();
  }
};

TEST_F(RestoredGroup, what_a_former_member_took_for_lost_is_asked_for_once_more_when_he_is_let_in_again) {
  out_and_in();
  // The restored server does not tell her how the log went on after she had left: all above may be lost.
  TestLink& again = restore();
  ASSERT_TRUE(device.state(group).lost.contains(kept));
  EditCommand edit{kBen, DeviceId("other"), group, kept, {}, {}};
  edit.body.text = "edited";
  ASSERT_TRUE(server.run(MutateCommand{kBen, DeviceId("other"), {}, 0, edit}).has_value());
  let_in();
  settle(server, device, again);
  EXPECT_FALSE(device.state(group).lost.contains(kept));
  EXPECT_TRUE(device.state(group).lost.contains(lost));
  EXPECT_THAT(device.texts(group), Not(Contains("kept"))) << "it comes again as it is looked at";
  device.replica->open(device.now, group);
  device.take();
  settle(server, device, again);
  EXPECT_THAT(device.texts(group), ::testing::IsSupersetOf({"edited", "lost"}));
}

/// By the time she hears of it she is out again: what she may see by the later period is there all the same.
TEST_F(RestoredGroup, what_a_former_member_took_for_lost_is_asked_for_although_her_later_period_is_over) {
  out_and_in();
  restore();
  ASSERT_TRUE(device.state(group).lost.contains(kept));
  device.disconnect();
  let_in();
  send_away();
  TestLink& again = join(server, device);
  settle(server, device, again);
  EXPECT_FALSE(device.state(group).lost.contains(kept));
}

TEST_F(Restored, a_pull_of_what_only_the_lost_part_knew_counts_until_it_is_answered) {
  device.options.pulls_in_flight_max = 1;
  device.start();
  live(10, 10);
  const ConversationId other("1001_1003");
  TestLink& first = server.connect(kAnna);
  device.connect();
  settle(server, device, first);
  server.send(UserId("1003"), kAnna, "hello");
  settle(server, device, first);
  device.disconnect();
  server.restore(backup);
  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  device.frame(std::move(link.down.front()));
  link.down.clear();
  server.receive(link, device.expect<Jumps>());
  device.frame(std::move(link.down.front()));
  link.down.clear();
  device.replica->scroll_forward(device.now, other, Seq(1));
  device.take();
  ASSERT_EQ(device.waiting<History>(), 1u);
  while (device.waiting<Sync>() > 0) {
    server.receive(link, device.expect<Sync>());
    device.frame(std::move(link.down.front()));
    link.down.clear();
  }
  ASSERT_TRUE(device.state(other).only_here());
  device.replica->scroll_forward(device.now, kChat, Seq(10));
  device.take();
  EXPECT_EQ(device.waiting<History>(), 1u);
  settle(server, device, link);
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(Restored, a_change_that_a_lost_one_had_replaced_is_not_missed) {
  const auto edit = [&](const std::string& text) {
    EditCommand command{kBen, DeviceId("other"), kChat, Seq(1), {}, {}};
    command.body.text = text;
    ASSERT_TRUE(server.run(MutateCommand{kBen, DeviceId("other"), {}, 0, command}).has_value());
  };
  send_numbered(server, 1, 4);
  TestLink& first = join(server, device);
  look(first);
  device.disconnect();
  device.options.page_limit = 2;
  device.options.bodies = Bodies::none;
  device.start();
  send_numbered(server, 5, 9);
  edit("kept");
  backup.view = server.view;
  send_numbered(server, 11, 14);
  edit("lost");

  // It has the changes up to one that the last has replaced, and so not that one, when the line breaks.
  TestLink& second = server.connect(kAnna);
  device.connect();
  while (device.state(kChat).touched < Seq(10)) ASSERT_TRUE(exchange(server, device, second));
  ASSERT_EQ(device.store.row(kChat, Seq(1))->body.text, "1");
  device.disconnect();
  TestLink& link = restore();
  look(link);
  EXPECT_EQ(device.store.row(kChat, Seq(1))->body.text, "kept");
}

TEST_F(Restored, a_row_whose_change_was_lost_comes_again_without_a_sound) {
  live(5, 5);
  device.options.bodies = Bodies::none;
  device.start();
  send_numbered(server, 6, 6);
  TestLink& first = server.connect(kAnna);
  device.connect();
  const auto carry = [&](TestLink& link) {  // but for news of single conversations
    for (bool going = true; going;) {
      going = false;
      for (auto it = device.up.begin(); it != device.up.end() && !going; ++it) {
        if (std::holds_alternative<ConversationSync>(it->operation)) continue;
        const Request request = std::move(*it);
        device.up.erase(it);
        server.receive(link, request);
        going = true;
      }
      for (; !link.down.empty(); going = true) {
        ServerFrame frame = std::move(link.down.front());
        link.down.pop_front();
        device.frame(std::move(frame));
      }
    }
  };
  carry(first);
  const Seq seq = server.send(kBen, kAnna, "7").seq;
  carry(first);
  backup.view = server.view;
  EditCommand edit{kBen, DeviceId("other"), kChat, seq, {}, {}};
  edit.body.text = "lost";
  ASSERT_TRUE(server.run(MutateCommand{kBen, DeviceId("other"), {}, 0, edit}).has_value());
  carry(first);
  ASSERT_EQ(device.store.row(kChat, seq)->body.text, "lost");
  ASSERT_EQ(device.state(kChat).touched, Seq(5)) << "6 is missing";
  device.disconnect();
  device.events.clear();
  TestLink& link = restore();
  look(link);
  ASSERT_EQ(device.store.row(kChat, seq)->body.text, "7");
  for (const MessageEvent& event : device.seen<MessageEvent>()) EXPECT_FALSE(event.entry->seq == seq && event.notify);
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

TEST_F(Restored, what_was_set_since_a_restore_may_be_lost_by_the_next_before_all_is_known_of_the_first) {
  live(0, 2);
  TestLink& link = restore();
  device.disconnect();
  server.disconnect(link);
  server.send(kBen, kAnna, "it begins once more");
  backup.view = server.view;
  server.send(kBen, kAnna, "lost");
  TestLink& second = server.connect(kAnna);
  device.connect();
  answer(server, device, second, device.expect<Hello>());
  answer(server, device, second, device.expect<Sync>());
  ASSERT_EQ(device.object(kChat).head_seq, Seq(2 + kJump));
  ASSERT_GT(device.waiting<Jumps>(), 0u) << "which of the first two are lost";
  device.disconnect();
  ASSERT_TRUE(device.replica->mark_read(device.now, kChat, Seq(2 + kJump)));
  ASSERT_TRUE(device.replica->clear(device.now, kChat, Seq(2 + kJump)));
  device.take();
  restore();
  EXPECT_EQ(device.object(kChat).head_seq, Seq(1 + kJump));
  EXPECT_EQ(device.object(kChat).read, Seq(1 + kJump));
  EXPECT_EQ(device.object(kChat).cleared, Seq(1 + kJump));
  EXPECT_EQ(device.state(kChat).local_read, Seq(1 + kJump));
  EXPECT_EQ(device.state(kChat).local_cleared, Seq(1 + kJump));
  EXPECT_TRUE(device.replica->settled());
}

TEST_F(Restored, many_lost_changes_leave_no_more_ranges_than_a_device_may_have) {
  constexpr int kSent = 200;
  const auto edit = [&](int seq, const std::string& text) {
    EditCommand command{kBen, DeviceId("other"), kChat, Seq(static_cast<std::uint64_t>(seq)), {}, {}};
    command.body.text = text;
    ASSERT_TRUE(server.run(MutateCommand{kBen, DeviceId("other"), {}, 0, command}).has_value());
  };
  send_numbered(server, 1, kSent);
  backup.view = server.view;
  for (int seq = 1; seq <= kSent; seq += 2) edit(seq, "lost");
  TestLink& first = join(server, device);
  look(first);
  for (int pages = 0; pages < 10; ++pages) {
    device.replica->scroll_back(device.now, kChat);
    device.take();
    settle(server, device, first);
  }
  ASSERT_EQ(device.texts(kChat).size(), std::size_t{kSent});
  device.disconnect();

  // Each of the rows whose change was lost leaves a hole, more than there may be ranges; and one is changed anew.
  server.restore(backup);
  edit(150, "again");
  TestLink& link = server.connect(kAnna);
  device.connect();
  bool within = true;
  while (exchange(server, device, link))
    within = within && device.state(kChat).coverage.ranges().size() <= device.options.ranges_max;
  EXPECT_TRUE(within);
  EXPECT_TRUE(device.replica->settled());
  EXPECT_EQ(device.state(kChat).touched, device.object(kChat).touch_seq) << "the server was not asked for too much";
  const auto texts = device.texts(kChat);
  EXPECT_THAT(texts, Contains("again"));
  EXPECT_THAT(texts, Not(Contains("lost")));
}

}  // namespace
}  // namespace tidemark::replica
