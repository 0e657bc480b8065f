// Field faults 16 to 20: read state and unread numbers. What phones are alerted of is in field_notify_test.cc.
#include <algorithm>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::SizeIs;

class ReadFaults : public BothDialects {
 protected:
  /// The unread number on one device, asked for in three ways that must agree.
  std::uint32_t unread(WsClient& client, const std::string& id, std::string_view name) {
    const std::uint32_t one = client.conversation(id).unread();
    pb::ClientFrame list;
    list.mutable_conversations();
    const pb::ServerFrame answered = client.call(list);
    for (const pb::Change& change : answered.conversations().conversations())
      if (change.conversation_id() == id) EXPECT_EQ(change.unread(), one);
    WsClient fresh = connect();
    fresh.follow_pushes = false;  // what is pushed at once comes by the sync too
    EXPECT_TRUE(fresh.hello(server().token(user(name)), {.device = "fresh"}).has_welcome());
    EXPECT_EQ(fresh.sync().at(id).unread(), one);
    return one;
  }
  /// What is unread in all conversations together.
  static std::uint64_t total(WsClient& client) {
    pb::ClientFrame frame;
    frame.mutable_totals();
    const pb::ServerFrame answered = client.call(frame);
    EXPECT_TRUE(answered.has_totals()) << answered.ShortDebugString();
    EXPECT_EQ(answered.totals().badge(), answered.totals().unread());
    return answered.totals().unread();
  }
};
TM_IN_BOTH_DIALECTS(ReadFaults);

TEST_P(ReadFaults, F16_OwnMessagesAreNeverUnread) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  {
    WsClient u1 = device("u1");
    send_all(u1, user("u2"), numbered("mine ", 4));
    u1.stream().abort();
  }
  send_all(u2, user("u1"), numbered("yours ", 3));
  WsClient d1 = device("u1", "d1");
  WsClient d2 = device("u1", "d2");
  EXPECT_EQ(unread(d1, id, "u1"), 3U);
  EXPECT_EQ(unread(d2, id, "u1"), 3U);
  EXPECT_EQ(unread(u2, id, "u2"), 4U);
  EXPECT_EQ(d1.read(id, 7).unread(), 0U);
  EXPECT_EQ(unread(d2, id, "u1"), 0U);
  EXPECT_EQ(unread(u2, id, "u2"), 4U);
  EXPECT_EQ(u2.read(id, 7).unread(), 0U);
  EXPECT_EQ(unread(d1, id, "u1"), 0U);
}

TEST_P(ReadFaults, F17_OneNumberOnAllDevices) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  send_all(u2, user("u1"), numbered("m", 24));
  WsClient d1 = device("u1", "d1");
  WsClient d2 = device("u1", "d2");
  pb::Cursor d3_cursor;
  {
    WsClient d3 = device("u1", "d3");
    d3_cursor = d3.cursor();
  }
  for (const auto& [seq, left] : {std::pair(9U, 15U), std::pair(20U, 4U)}) {
    EXPECT_EQ(d1.read(id, seq).unread(), left);
    ASSERT_TRUE(d2.wait_until([&] { return !d2.pushed.empty() && d2.pushed.back().summary().read_seq() == seq; }));
    EXPECT_EQ(d2.pushed.back().summary().unread(), left);
    EXPECT_EQ(unread(d2, id, "u1"), left);
    WsClient d3 = connect();
    d3.follow_pushes = false;
    ASSERT_TRUE(d3.hello(token("u1"), {.device = "d3", .cursor = d3_cursor}).has_welcome());
    EXPECT_EQ(d3.sync().at(id).unread(), left);
    WsClient newcomer = device("u1", "d" + std::to_string(100 + left));
    for (WsClient* each : {&d1, &d2, &d3, &newcomer}) EXPECT_EQ(total(*each), left);
  }
}

TEST_P(ReadFaults, F19_ReadsFromTwoDevices) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  send_all(u2, user("u1"), numbered("m", 100));
  WsClient d1 = device("u1", "d1");
  WsClient d2 = device("u1", "d2");
  ASSERT_EQ(d1.read(id, 100).read_seq(), 100U);
  EXPECT_EQ(d2.read(id, 40).read_seq(), 100U) << "the stale call succeeds without effect";
  std::uint64_t number = 100;
  for (int i = 0; i < 100; ++i) {
    const auto posted = [&](WsClient& client, std::uint64_t seq) {
      pb::ClientFrame frame;
      frame.mutable_mutate()->set_number(++number);
      frame.mutable_mutate()->mutable_read()->set_conversation_id(id);
      frame.mutable_mutate()->mutable_read()->set_seq(seq);
      return client.post(std::move(frame));
    };
    const std::uint64_t first = posted(d1, 100);
    const std::uint64_t second = posted(d2, 70);
    ASSERT_EQ(d1.answer(first).mutated().read_seq(), 100U);
    ASSERT_EQ(d2.answer(second).mutated().read_seq(), 100U);
  }
  EXPECT_EQ(d1.conversation(id).read_seq(), 100U);
  EXPECT_EQ(d2.conversation(id).read_seq(), 100U);
  EXPECT_FALSE(d2.conversation(id).unread_flag());
  EXPECT_TRUE(d2.mark_unread(id).unread_flag()) << "this is how one lowers it: the pointer stays";
  EXPECT_EQ(d1.conversation(id).read_seq(), 100U);
}

TEST_P(ReadFaults, F20_ReadElsewhereMeanwhile) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  WsClient d1 = device("u1", "d1");
  pb::Cursor cursor;
  {
    WsClient d2 = device("u1", "d2");
    cursor = d2.cursor();
  }
  send_all(u2, user("u1"), numbered("m", 10));
  for (const char* name : {"v", "w", "x", "y"}) {
    WsClient other = device(name);
    other.sent(user("u1"), "hi");
  }
  EXPECT_EQ(d1.read(id, 10).unread(), 0U);
  for (const std::uint32_t limit : {3U, 1U, 200U}) {
    WsClient d2 = connect();
    d2.follow_pushes = false;
    ASSERT_TRUE(d2.hello(token("u1"), {.device = "d2", .cursor = cursor}).has_welcome());
    const auto changed = d2.sync(limit);
    EXPECT_THAT(changed, SizeIs(5)) << limit;
    EXPECT_EQ(changed.at(id).unread(), 0U) << limit;
  }
  send_all(u2, user("u1"), numbered("later ", 4));
  EXPECT_EQ(d1.read(id, 12).unread(), 2U);
  for (const std::uint32_t limit : {3U, 1U, 200U}) {
    WsClient d2 = connect();
    d2.follow_pushes = false;
    ASSERT_TRUE(d2.hello(token("u1"), {.device = "d2", .cursor = cursor}).has_welcome());
    EXPECT_EQ(d2.sync(limit).at(id).unread(), 2U) << limit;
  }
}

class ReadFaultsOnItsOwn : public OwnServer {};
TM_IN_BOTH_DIALECTS(ReadFaultsOnItsOwn);

TEST_P(ReadFaultsOnItsOwn, F18_ReadThenKilled) {
  serve();
  for (int i = 1; i <= 5; ++i) {
    WsClient sender = device("s" + std::to_string(i));
    send_all(sender, user("u1"), numbered("m", i));
  }
  {
    WsClient d1 = device("u1", "d1");
    EXPECT_EQ(d1.conversation(chat("s5", "u1")).unread(), 5U);
    for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(d1.read(chat("s" + std::to_string(i), "u1"), i).unread(), 0U);
  }
  server().restart_hard();
  const auto all_read = [&](WsClient& client) {
    for (int i = 1; i <= 5; ++i) {
      const pb::Change change = client.conversation(chat("s" + std::to_string(i), "u1"));
      EXPECT_EQ(change.unread(), 0U) << i;
      EXPECT_EQ(change.read_seq(), static_cast<std::uint64_t>(i));
    }
  };
  WsClient d1 = device("u1", "d1");
  all_read(d1);
  WsClient d2 = device("u1", "d2");
  all_read(d2);
  WsClient s3 = device("s3");
  send_all(s3, user("u1"), numbered("new ", 2));
  WsClient d3 = device("u1", "d3");
  EXPECT_EQ(d3.conversation(chat("s3", "u1")).unread(), 2U);
  EXPECT_EQ(d3.conversation(chat("s4", "u1")).unread(), 0U);
  EXPECT_EQ(d3.read(chat("s4", "u1"), 4).unread(), 0U) << "nothing unread: succeeds and stays 0";
}

}  // namespace
}  // namespace tidemark::testing
