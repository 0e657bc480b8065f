// The numbered scenarios that the commit round shows by itself: a core, a store that can fail, time of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/test_world.h"

namespace tidemark {
namespace {

TEST(Conformance, S01_first_send) {
  EngineWorld world;
  SendCommand m1 = world.message("A", "B", "hi");
  m1.device = DeviceId("A1");
  const auto sent = world.get<SentReply>(m1);
  EXPECT_EQ(sent, (SentReply{ConversationId("A_B"), Seq(1), world.clock.wall, MessageState::live, false}));
  const Change of_b = world.change("B", "A_B");
  EXPECT_EQ(of_b.head_seq, Seq(1));
  EXPECT_EQ(of_b.unread, (Unread{1, true}));
  EXPECT_EQ(world.change("A", "A_B").unread, (Unread{0, true}));
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->sender_device, DeviceId("A1"));
  ASSERT_NE(receiver(notices[0], "A"), nullptr) << "the sender's other devices are told";
  EXPECT_EQ(receiver(notices[0], "B")->after, Mark(0));
  EXPECT_EQ(receiver(notices[0], "B")->to, Mark(1));
}

TEST(Conformance, S02_retry_after_a_lost_ack) {
  EngineWorld world;
  const SendCommand m1 = world.message("A", "B", "hi");
  const auto first = world.get<SentReply>(m1);
  world.take_notices();
  world.clock.pass(5'000);
  auto again = world.get<SentReply>(m1);
  EXPECT_TRUE(again.duplicate);
  again.duplicate = false;
  EXPECT_EQ(again, first);
  EXPECT_EQ(log_of(world, "A_B").size(), 1u);
  EXPECT_TRUE(world.take_notices().empty()) << "nobody is told of a duplicate";
}

TEST(Conformance, S04_two_copies_at_once) {
  EngineWorld world;
  const SendCommand m1 = world.message("A", "B", "hi");
  std::vector<std::optional<Result<Reply>>> answers(20);
  for (auto& answer : answers) world.submit(m1, &answer);
  world.run();
  int fresh = 0;
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer && *answer);
    const auto& sent = std::get<SentReply>(**answer);
    EXPECT_EQ(sent.seq, Seq(1));
    fresh += sent.duplicate ? 0 : 1;
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(log_of(world, "A_B").size(), 1u);
}

TEST(Conformance, S05_same_id_other_body) {
  EngineWorld world;
  SendCommand m1 = world.message("A", "B", "yes");
  world.get<SentReply>(m1);
  m1.body.text = "no";
  EXPECT_EQ(world.refused(m1), ErrorCode::CLIENT_MSG_ID_CONFLICT);
  ASSERT_EQ(log_of(world, "A_B").size(), 1u);
  EXPECT_EQ(log_of(world, "A_B")[0].body.text, "yes");
  m1.client_msg_id = world.message("A", "B", "").client_msg_id;
  EXPECT_EQ(world.get<SentReply>(m1).seq, Seq(2));
}

TEST(Conformance, S06_same_id_two_conversations) {
  EngineWorld world;
  SendCommand m1 = world.message("A", "B", "hi");
  EXPECT_EQ(world.get<SentReply>(m1).seq, Seq(1));
  m1.to = UserId("C");
  const auto other = world.get<SentReply>(m1);
  EXPECT_FALSE(other.duplicate);
  EXPECT_EQ(other.conversation, ConversationId("A_C"));
  EXPECT_EQ(other.seq, Seq(1));
}

TEST(Conformance, S07_S09_the_window_of_retries) {
  EngineWorld world;
  const SendCommand m1 = world.message("A", "B", "hi");
  const auto first = world.get<SentReply>(m1);
  world.clock.pass(22 * kHourMs + 59 * kMinuteMs);
  const auto inside = world.get<SentReply>(m1);
  EXPECT_TRUE(inside.duplicate);
  EXPECT_EQ(inside.seq, first.seq);
  world.clock.pass(2 * kMinuteMs);
  EXPECT_EQ(world.refused(m1), ErrorCode::CLIENT_MSG_ID_EXPIRED);
  // However long it lasts, and whatever has been dropped by then.
  for (int hour = 0; hour < 80; ++hour) {
    world.clock.pass(kHourMs);
    EXPECT_EQ(world.refused(m1), ErrorCode::CLIENT_MSG_ID_EXPIRED);
    world.send("C", "D", "time passes");
  }
  EXPECT_EQ(log_of(world, "A_B").size(), 1u);
}

TEST(Conformance, S09_an_id_without_a_time_of_its_own_is_found_whatever_client_time_says) {
  EngineWorld world;
  SendCommand m1 = world.message("A", "B", "hi");
  m1.client_msg_id = "k1";
  m1.client_time = world.clock.wall - 20 * kHourMs;
  EXPECT_FALSE(world.get<SentReply>(m1).duplicate);
  for (const std::int64_t claimed : {0L, -22 * kHourMs, 9 * kMinuteMs}) {
    m1.client_time = world.clock.wall + claimed;
    EXPECT_TRUE(world.get<SentReply>(m1).duplicate);
  }
  m1.client_time = 0;
  EXPECT_EQ(world.refused(m1), ErrorCode::CLIENT_TIME_REQUIRED);
  m1.admin = true;
  EXPECT_TRUE(world.get<SentReply>(m1).duplicate);
  EXPECT_EQ(log_of(world, "A_B").size(), 1u);
}

TEST(Conformance, S08_expired_without_ever_being_sent) {
  EngineWorld world;
  SendCommand m1 = world.message("A", "B", "late", world.clock.wall - 3 * 24 * kHourMs);
  EXPECT_EQ(world.refused(m1), ErrorCode::CLIENT_MSG_ID_EXPIRED);
  EXPECT_TRUE(log_of(world, "A_B").empty());
  m1.client_msg_id = world.message("A", "B", "").client_msg_id;
  EXPECT_EQ(world.get<SentReply>(m1).server_time, world.clock.wall);
}

TEST(Conformance, S11_a_refused_send_is_not_remembered) {
  EngineWorld world;
  const Group g = make_group(world, "O", {"A", "B"});
  world.get<GroupReply>(remove("O", g, "A"));
  const SendCommand m1 = world.message("A", g.id, "hi");
  EXPECT_EQ(world.refused(m1), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.refused(world.message("stranger", g.id, "hi")), ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(world.refused(world.message("stranger", "group_999", "hi")), ErrorCode::CONVERSATION_NOT_FOUND);
  world.get<GroupReply>(add("O", g, "A"));
  const auto sent = world.get<SentReply>(m1);
  EXPECT_FALSE(sent.duplicate);
  EXPECT_EQ(std::ranges::count_if(log_of(world, g.id), [](const Entry& e) { return e.countable(); }), 1);
}

TEST(Conformance, S13_clocks_that_are_wrong) {
  EngineWorld world;
  // Order is that of arrival, whatever the (accepted) ids say.
  world.get<SentReply>(world.message("A", "B", "1", world.clock.wall + 9 * kMinuteMs));
  world.get<SentReply>(world.message("A", "B", "2", world.clock.wall - 3 * kHourMs));
  world.get<SentReply>(world.message("A", "B", "3"));
  const auto log = log_of(world, "A_B");
  ASSERT_EQ(log.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(log[i].body.text, std::to_string(i + 1));
    EXPECT_EQ(log[i].server_time, world.clock.wall);
  }
  EXPECT_EQ(world.refused(world.message("A", "B", "x", world.clock.wall + 48 * kHourMs)),
            ErrorCode::CLIENT_MSG_ID_EXPIRED);
  // The server's own clock goes back: times stand still, numbers go on.
  world.clock.wall -= kHourMs;
  const auto later = world.send("A", "B", "4");
  EXPECT_EQ(later.seq, Seq(4));
  EXPECT_EQ(later.server_time, log[2].server_time);
}

TEST(Conformance, F11_claimed_times_move_nothing) {
  EngineWorld world;
  const std::int64_t now = world.clock.wall;
  const std::vector<std::pair<std::int64_t, bool>> stamps = {{now - kHourMs, true},
                                                             {now, true},
                                                             {now + 7 * kMinuteMs, true},
                                                             {now + 10 * 365 * 24 * kHourMs, false},
                                                             {1, false},
                                                             {-5, false}};
  std::uint64_t accepted = 0;
  for (const auto& [claimed, taken] : stamps) {
    SendCommand command = world.message("u1", "u2", "x");
    command.client_msg_id = "id" + std::to_string(claimed);
    command.client_time = claimed;
    const auto reply = world.call(command);
    EXPECT_EQ(reply.has_value(), taken) << claimed;
    if (reply) EXPECT_EQ(std::get<SentReply>(*reply).seq, Seq(++accepted));
    EXPECT_EQ(world.send("u2", "u1", "y").seq, Seq(++accepted));
  }
  EXPECT_EQ(world.change("u1", "u1_u2").unread.count, stamps.size());
}

TEST(Conformance, S15_S128_an_ack_means_durable_whatever_dies_when) {
  // One step later each time: reads, commits that are lost, commits that are there and were not acknowledged.
  for (std::uint64_t step = 0; step < 60; ++step) {
    EngineWorld world;
    world.send("A", "B", "before");
    world.plan->fail_at(step);
    const SendCommand m1 = world.message("A", "B", "hi");
    auto reply = world.call(m1);
    const bool acknowledged = reply.has_value();
    const Seq seq = acknowledged ? std::get<SentReply>(*reply).seq : Seq();
    if (!acknowledged) EXPECT_TRUE(error_info(reply.error().code).retryable) << reply.error().message();
    world.plan->clear();
    world.crash(step % 2 == 0 ? MemoryDisk::Fate::lost : MemoryDisk::Fate::kept);
    if (acknowledged) {
      ASSERT_EQ(log_of(world, "A_B").size(), 2u);
      EXPECT_EQ(log_of(world, "A_B")[1].seq, seq);
    }
    const auto retried = world.get<SentReply>(m1);
    if (acknowledged) EXPECT_TRUE(retried.duplicate);
    EXPECT_EQ(retried.seq, Seq(2));
    const auto log = log_of(world, "A_B");
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[1].body.text, "hi");
    EXPECT_EQ(world.change("B", "A_B").unread.count, 2u);
  }
}

TEST(Conformance, S140_a_full_disk) {
  EngineWorld world;
  world.send("A", "B", "1");
  world.disk->set_full(true);
  EXPECT_EQ(world.refused(world.message("A", "B", "2")), ErrorCode::RETRY_LATER);
  world.clock.pass(5'000);
  EXPECT_EQ(world.refused(world.message("A", "B", "2")), ErrorCode::RETRY_LATER);
  EXPECT_EQ(world.change("B", "A_B").unread.count, 1u);
  // Who comes now is welcomed to read: nothing is written, and his session stays what it was.
  LoginCommand hello;
  hello.user = UserId("B");
  hello.device = DeviceId("d");
  hello.install = InstallId("i");
  hello.generation = 7;
  const auto welcome = world.get<LoginReply>(hello);
  EXPECT_EQ(welcome.generation, 7u);
  EXPECT_EQ(welcome.head.mark, world.view().user(UserId("B")).mark);
  EXPECT_FALSE(world.view().device(UserId("B"), DeviceId("d")).has_value());
  world.disk->set_full(false);
  world.clock.pass(5'000);
  EXPECT_EQ(world.send("A", "B", "2").seq, Seq(2));
  EXPECT_EQ(world.get<LoginReply>(hello).generation, 8u);
  // A copy of a device is told so on a full disk too.
  world.disk->set_full(true);
  EXPECT_EQ(world.refused(world.message("A", "B", "3")), ErrorCode::RETRY_LATER);
  hello.generation = 5;
  EXPECT_EQ(world.refused(hello), ErrorCode::NEW_INSTALL_REQUIRED);
  hello.generation = 8;
  EXPECT_EQ(world.get<LoginReply>(hello).generation, 8u);
}

TEST(Conformance, S45_S46_S49_read_pointers) {
  EngineWorld world;
  for (int i = 0; i < 30; ++i) world.send("B", "A", std::to_string(i));
  world.get<MutatedReply>(world.read_to("A", "A_B", 20));
  EXPECT_EQ(world.change("A", "A_B").unread, (Unread{10, true}));
  world.take_notices();

  auto read = world.get<MutatedReply>(world.read_to("A", "A_B", 30));
  EXPECT_EQ(read.read, Seq(30));
  EXPECT_EQ(read.unread, (Unread{0, true}));
  EXPECT_FALSE(read.clamped);
  auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  ASSERT_EQ(notices[0].receivers.size(), 1u) << "the peer's index is not touched";
  EXPECT_EQ(notices[0].receivers[0].user, UserId("A"));
  ASSERT_NE(notices[0].receivers[0].summary, nullptr);
  EXPECT_EQ(notices[0].receivers[0].summary->read, Seq(30));
  EXPECT_EQ(notices[0].receivers[0].summary->unread, (Unread{0, true}));

  const Mark before = world.view().user(UserId("A")).mark;
  read = world.get<MutatedReply>(world.read_to("A", "A_B", 25));
  EXPECT_EQ(read.read, Seq(30));
  EXPECT_EQ(world.view().user(UserId("A")).mark, before) << "what changes nothing moves nothing";
  EXPECT_TRUE(world.take_notices().empty());

  read = world.get<MutatedReply>(world.read_to("A", "A_B", 99));
  EXPECT_EQ(read.read, Seq(30));
  EXPECT_TRUE(read.clamped);
  world.send("B", "A", "31");
  EXPECT_EQ(world.change("A", "A_B").unread, (Unread{1, true})) << "born unread";
}

TEST(Conformance, S50_mark_unread) {
  EngineWorld world;
  for (int i = 0; i < 30; ++i) world.send("B", "A", "x");
  world.get<MutatedReply>(world.read_to("A", "A_B", 30));
  MutateCommand mark;
  mark.user = UserId("A");
  mark.change = MarkUnreadCommand{UserId("A"), ConversationId("A_B")};
  const auto marked = world.get<MutatedReply>(mark);
  EXPECT_TRUE(marked.unread_flag);
  EXPECT_EQ(marked.read, Seq(30));
  EXPECT_EQ(marked.unread, (Unread{0, true}));
  EXPECT_TRUE(world.change("A", "A_B").unread_flag);
  world.get<MutatedReply>(world.read_to("A", "A_B", 29));
  EXPECT_TRUE(world.change("A", "A_B").unread_flag) << "a read below the pointer changes nothing";
  world.get<MutatedReply>(world.read_to("A", "A_B", 30));
  EXPECT_FALSE(world.change("A", "A_B").unread_flag);
}

TEST(Conformance, S51_own_sends_are_neutral) {
  EngineWorld world;
  for (int i = 0; i < 30; ++i) world.send("B", "A", "x");
  world.get<MutatedReply>(world.read_to("A", "A_B", 20));
  world.send("A", "B", "quick reply");
  EXPECT_EQ(world.change("A", "A_B").unread, (Unread{10, true}));
  EXPECT_EQ(world.change("A", "A_B").read, Seq(20));

  EngineOptions options;
  options.params.read_on_send = true;
  EngineWorld moving(options);
  for (int i = 0; i < 30; ++i) moving.send("B", "A", "x");
  moving.get<MutatedReply>(moving.read_to("A", "A_B", 20));
  moving.send("A", "B", "quick reply");
  EXPECT_EQ(moving.change("A", "A_B").unread, (Unread{0, true}));
  EXPECT_EQ(moving.change("A", "A_B").read, Seq(31));
}

TEST(Conformance, S52_F19_pointers_merge_by_max_in_any_order) {
  EngineWorld world;
  for (int i = 0; i < 100; ++i) world.send("B", "A", "x");
  for (const std::uint64_t seq : {28, 25, 100, 40, 70, 100}) world.get<MutatedReply>(world.read_to("A", "A_B", seq));
  EXPECT_EQ(world.change("A", "A_B").read, Seq(100));
  EXPECT_EQ(world.change("A", "A_B").unread.count, 0u);
}

TEST(Conformance, S151_body_sizes) {
  EngineWorld world;
  for (const std::string unit : {"a", "中", "😀"}) {
    std::string text;
    while (text.size() + unit.size() <= world.params().body_bytes_max) text += unit;
    SendCommand at_limit = world.message("A", "B", text);
    const auto sent = world.get<SentReply>(at_limit);
    EXPECT_EQ(log_of(world, "A_B").back().body.text, text);
    SendCommand above = world.message("A", "B", text + unit);
    EXPECT_EQ(world.refused(above), ErrorCode::TOO_LARGE);
    above.body.text = "small";
    EXPECT_EQ(world.get<SentReply>(above).seq, sent.seq + 1) << "the refused id is not used up";
  }
}

TEST(Conformance, S99_ids_that_look_alike_are_different_conversations) {
  EngineWorld world;
  std::set<std::string> ids;
  const std::pair<const char*, const char*> pairs[] = {
      {"a_b", "c"}, {"a", "b_c"}, {"group%5F1", "x"}, {"9", "10"}, {"7", "7"}};
  for (const auto& [a, b] : pairs) {
    SendCommand there = world.message(a, b, "there");
    there.to = UserId(b);
    there.conversation = {};
    SendCommand back = world.message(b, a, "back");
    back.to = UserId(a);
    back.conversation = {};
    const auto first = world.get<SentReply>(there);
    EXPECT_EQ(world.get<SentReply>(back).conversation, first.conversation);
    EXPECT_TRUE(ids.insert(first.conversation.value).second) << first.conversation.value;
    EXPECT_EQ(log_of(world, first.conversation.value).size(), 2u);
  }
  EXPECT_TRUE(ids.contains("9_10"));
  EXPECT_EQ(world.change("7", "7_7").unread.count, 0u);
}

}  // namespace
}  // namespace tidemark
