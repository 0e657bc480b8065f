// Sending once: the scenarios about acks, retries and ids.
#include <set>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

class SendConformance : public BothDialects {};
TM_IN_BOTH_DIALECTS(SendConformance);

TEST_P(SendConformance, S01_FirstSend) {
  WsClient a1 = device("a", "A1");
  WsClient a2 = device("a", "A2");
  WsClient b1 = device("b", "B1");

  const pb::Sent sent = a1.sent(user("b"), "m1");
  EXPECT_EQ(sent.seq(), 1U);
  EXPECT_FALSE(sent.duplicate());
  EXPECT_EQ(sent.conversation_id(), chat("a", "b"));
  EXPECT_EQ(sent.message_id(), chat("a", "b") + ":1");
  EXPECT_EQ(sent.state(), pb::STATE_LIVE);
  EXPECT_EQ(sent.durability(), pb::DURABILITY_SYNCED);

  ASSERT_TRUE(a2.wait_until([&] { return !a2.pushed.empty(); }));
  EXPECT_EQ(a2.pushed[0].entry().sender(), user("a"));
  EXPECT_EQ(a2.pushed[0].entry().sender_device(), "A1");
  EXPECT_EQ(a2.pushed[0].entry().body().text(), "m1");
  ASSERT_TRUE(b1.wait_until([&] { return !b1.pushed.empty(); }));
  EXPECT_EQ(b1.pushed[0].entry().body().text(), "m1");

  EXPECT_EQ(b1.conversation(chat("a", "b")).head_seq(), 1U);
  EXPECT_EQ(b1.conversation(chat("a", "b")).unread(), 1U);
  EXPECT_EQ(a1.conversation(chat("a", "b")).unread(), 0U);
  EXPECT_EQ(a2.conversation(chat("a", "b")).unread(), 0U);
}

TEST_P(SendConformance, S02_RetryAfterLostAck) {
  WsClient a1 = device("a");
  WsClient b1 = device("b");
  const std::string id = new_id();
  // The answer is left unread: for the sender it is lost.
  a1.post(send_frame(user("b"), "once", id));
  ASSERT_TRUE(b1.wait_until([&] { return b1.pushed.size() == 1; }));

  const pb::Sent again = a1.sent(user("b"), "once", id);
  EXPECT_EQ(again.seq(), 1U);
  EXPECT_TRUE(again.duplicate());
  EXPECT_THAT(seqs_of(whole_history(a1, chat("a", "b"))), ElementsAre(1U));
  // Something later shows that nothing else came before it.
  a1.sent(user("b"), "next");
  ASSERT_TRUE(b1.wait_until([&] { return b1.pushed.size() >= 2; }));
  EXPECT_THAT(b1.texts(chat("a", "b")), ElementsAre("once", "next"));
  EXPECT_EQ(b1.pushed.size(), 2U);
  EXPECT_EQ(b1.conversation(chat("a", "b")).unread(), 2U);
}

TEST_P(SendConformance, S04_TwoConcurrentCopies) {
  WsClient wifi = device("a", "A1");
  WsClient mobile = device("a", "A2");
  WsClient b1 = device("b");
  for (int round = 1; round <= 20; ++round) {
    const pb::ClientFrame frame = send_frame(user("b"), "copy", new_id());
    const std::uint64_t first = wifi.post(frame);
    const std::uint64_t second = mobile.post(frame);
    const pb::ServerFrame one = wifi.answer(first);
    const pb::ServerFrame two = mobile.answer(second);
    ASSERT_TRUE(one.has_sent() && two.has_sent());
    EXPECT_EQ(one.sent().seq(), static_cast<std::uint64_t>(round));
    EXPECT_EQ(two.sent().seq(), one.sent().seq());
    EXPECT_NE(one.sent().duplicate(), two.sent().duplicate());
  }
  EXPECT_EQ(whole_history(b1, chat("a", "b")).size(), 20U);
}

TEST_P(SendConformance, S05_SameIdOtherBody) {
  WsClient a1 = device("a");
  const std::string id = new_id();
  a1.sent(user("b"), "yes", id);
  EXPECT_EQ(code_of(a1.send(user("b"), "no", id)), "CLIENT_MSG_ID_CONFLICT");
  EXPECT_EQ(whole_history(a1, chat("a", "b")).size(), 1U);
  // Under an id of its own the second text is a message.
  EXPECT_EQ(a1.sent(user("b"), "no").seq(), 2U);
  EXPECT_THAT(texts_of(whole_history(a1, chat("a", "b"))), ElementsAre("yes", "no"));
}

TEST_P(SendConformance, S06_SameIdToTwoConversations) {
  WsClient a1 = device("a");
  const std::string id = new_id();
  a1.sent(user("c"), "before");
  const pb::Sent to_b = a1.sent(user("b"), "forwarded", id);
  const pb::Sent to_c = a1.sent(user("c"), "forwarded", id);
  EXPECT_FALSE(to_b.duplicate());
  EXPECT_FALSE(to_c.duplicate());
  EXPECT_EQ(to_b.seq(), 1U);
  EXPECT_EQ(to_c.seq(), 2U);
}

TEST_P(SendConformance, S09_AgeOfARetry) {
  WsClient a1 = device("a");
  // What was pressed 22 h 59 m ago and taken; its retry is a duplicate at that age.
  const std::string young = id_of_time(wall_ms() - 23 * kHour + kMinute);
  const pb::Sent first = a1.sent(user("b"), "slow", young);
  const pb::Sent again = a1.sent(user("b"), "slow", young);
  EXPECT_TRUE(again.duplicate());
  EXPECT_EQ(again.seq(), first.seq());
  // A minute beyond 23 h neither a retry nor a first copy is taken, by the id's time or by client_time.
  EXPECT_EQ(code_of(a1.send(user("b"), "slow", id_of_time(wall_ms() - 23 * kHour - kMinute))), "CLIENT_MSG_ID_EXPIRED");
  pb::ClientFrame named = send_frame(user("b"), "named", "my-own-id");
  named.mutable_send()->set_client_time(wall_ms() - 23 * kHour - kMinute);
  EXPECT_EQ(code_of(a1.call(named)), "CLIENT_MSG_ID_EXPIRED");
  named.mutable_send()->set_client_time(wall_ms() - 23 * kHour + kMinute);
  EXPECT_FALSE(a1.call(named).sent().duplicate());
  // Another client_time in the retry does not slip past the memory.
  named.mutable_send()->set_client_time(wall_ms());
  EXPECT_TRUE(a1.call(named).sent().duplicate());
  EXPECT_THAT(texts_of(whole_history(a1, chat("a", "b"))), ElementsAre("slow", "named"));
}

TEST_P(SendConformance, S11_RefusedSendIsNotRemembered) {
  WsClient owner = device("o");
  WsClient a1 = device("a");
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("G");
  create.mutable_create_group()->add_members(user("a"));
  const std::string group = owner.call(create).group().conversation_id();
  pb::ClientFrame remove;
  remove.mutable_remove_member()->set_conversation_id(group);
  remove.mutable_remove_member()->set_user(user("a"));
  ASSERT_TRUE(owner.call(remove).has_group());

  pb::ClientFrame frame = send_frame("", "late", new_id());
  frame.mutable_send()->set_conversation_id(group);
  EXPECT_EQ(code_of(a1.call(frame)), "NOT_MEMBER");

  pb::ClientFrame add;
  add.mutable_add_members()->set_conversation_id(group);
  add.mutable_add_members()->add_users(user("a"));
  ASSERT_TRUE(owner.call(add).has_group());
  const pb::ServerFrame taken = a1.call(frame);
  ASSERT_TRUE(taken.has_sent()) << taken.ShortDebugString();
  EXPECT_FALSE(taken.sent().duplicate());
  EXPECT_TRUE(a1.call(frame).sent().duplicate());
  int copies = 0;
  for (const pb::Message& row : whole_history(owner, group)) copies += row.body().text() == "late";
  EXPECT_EQ(copies, 1);

  // Whoever never was a member learns nothing: as for a group that does not exist.
  WsClient stranger = device("x");
  pb::ClientFrame unknown = frame;
  unknown.mutable_send()->set_conversation_id("group_999999999");
  const pb::ServerFrame foreign = stranger.call(frame);
  EXPECT_EQ(code_of(foreign), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(foreign.error().SerializeAsString(), stranger.call(unknown).error().SerializeAsString());
}

TEST_P(SendConformance, S13_ClockSkew) {
  WsClient a1 = connect();
  const pb::ServerFrame hello = a1.hello(token("a"));
  // The sender's clock is 3 h ahead; the welcome tells him the offset by which he corrects his ids.
  const std::int64_t skewed = wall_ms() + 3 * kHour;
  const std::int64_t offset = hello.welcome().server_time() - skewed;
  WsClient b1 = device("b");
  a1.sent(user("b"), "one", id_of_time(skewed + offset));
  b1.sent(user("a"), "two");
  a1.sent(user("b"), "three", id_of_time(skewed + 1 + offset));
  const std::vector<pb::Message> rows = whole_history(b1, chat("a", "b"));
  EXPECT_THAT(texts_of(rows), ElementsAre("one", "two", "three"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_LT(std::abs(rows[i].server_time() - wall_ms()), kMinute);
    if (i > 0) EXPECT_GE(rows[i].server_time(), rows[i - 1].server_time());
  }
  // Without a hello yet and two days ahead: refused, and under a new id the same text is taken.
  EXPECT_EQ(code_of(a1.send(user("b"), "future", id_of_time(wall_ms() + 48 * kHour))), "CLIENT_MSG_ID_EXPIRED");
  EXPECT_EQ(a1.sent(user("b"), "future").seq(), 4U);
}

TEST_P(SendConformance, S99_IdsOfSingleChats) {
  // Each test has one namespace of users; here the names themselves matter, so the prefix stands inside.
  const std::string p = user("");
  const std::string pairs[][2] = {{p + "a_b", "c" + p}, {p + "a", "b_c" + p}, {p + "group_1", p + "x"}, {"9", "10"}};
  std::set<std::string> ids;
  for (const auto& pair : pairs) {
    WsClient one = connect();
    one.login(server().token(pair[0]));
    WsClient other = connect();
    other.login(server().token(pair[1]));
    const std::string id = one.sent(pair[1], "hello").conversation_id();
    EXPECT_EQ(other.sent(pair[0], "hello").conversation_id(), id) << "the same from both sides";
    EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_EQ(one.sent_in(id, "by its id").conversation_id(), id);
  }
  EXPECT_TRUE(ids.contains("9_10")) << "numbers by their size";
  EXPECT_TRUE(ids.contains(p + "a%5Fb_c" + p) || ids.contains("c" + p + "_" + p + "a%5Fb"));

  WsClient self = device("self");
  const std::string own = self.sent(user("self"), "a note").conversation_id();
  EXPECT_EQ(own, user("self") + "_" + user("self"));
  self.sent(user("self"), "another");
  EXPECT_EQ(self.conversation(own).unread(), 0U);
  EXPECT_EQ(self.conversation(own).head_seq(), 2U);
}

TEST_P(SendConformance, S151_LargestBody) {
  WsClient a1 = device("a");
  WsClient b1 = device("b");
  const std::string id = new_id();
  const std::string full(65'536, 'x');
  EXPECT_EQ(code_of(a1.send(user("b"), full + "x", id)), "TOO_LARGE");
  // The refusal has not used the id up.
  const pb::Sent sent = a1.sent(user("b"), full, id);
  EXPECT_FALSE(sent.duplicate());
  EXPECT_EQ(sent.seq(), 1U);
  ASSERT_TRUE(b1.wait_until([&] { return !b1.pushed.empty() || !b1.hints.empty(); }));
  EXPECT_EQ(whole_history(b1, chat("a", "b")).at(0).body().text(), full);
}

class SendOnItsOwn : public OwnServer {};
TM_IN_BOTH_DIALECTS(SendOnItsOwn);

TEST_P(SendOnItsOwn, S15_AckMeansDurable) {
  serve();
  std::vector<pb::Sent> acked;
  for (int round = 1; round <= 8; ++round) {
    {
      WsClient a1 = device("a");
      acked.push_back(a1.sent(user("b"), "kept " + std::to_string(round)));
    }
    server().kill_hard();
    server().start();
  }
  WsClient b1 = device("b");
  const std::vector<pb::Message> rows = whole_history(b1, chat("a", "b"));
  ASSERT_EQ(rows.size(), acked.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].seq(), acked[i].seq());
    EXPECT_EQ(rows[i].server_time(), acked[i].server_time());
    EXPECT_EQ(rows[i].body().text(), "kept " + std::to_string(i + 1));
  }
}

}  // namespace
}  // namespace tidemark::testing
