// Peer receipts and unread totals over the wire and over HTTP.
#include "world.h"

namespace tidemark::testing {
namespace {

class ReceiptsOf : public BothDialects {
 protected:
  static pb::ClientFrame ask(const std::string& id, bool watch) {
    pb::ClientFrame frame;
    frame.mutable_receipts()->set_conversation_id(id);
    frame.mutable_receipts()->set_watch(watch);
    return frame;
  }
  /// The last that was told of the only other one, in passing.
  static const pb::Receipt* told(const WsClient& client) {
    for (auto list = client.receipts.rbegin(); list != client.receipts.rend(); ++list)
      if (list->receipts_size() == 1) return &list->receipts(0);
    return nullptr;
  }
  void set_receipts(const char* who, const char* value) {
    HttpClient http = this->http();
    const std::string body = std::string(R"({"value":")") + value + "\"}";
    ASSERT_EQ(http.call("PUT", "/v1/settings/receipts", token(who), body).status, 200);
  }
};
TM_IN_BOTH_DIALECTS(ReceiptsOf);

TEST_P(ReceiptsOf, ArePulledAndThenTold) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b = device("b");
  a.sent(user("b"), "hello");
  const pb::ServerFrame first = a.call(ask(id, true));
  ASSERT_EQ(first.receipts().receipts_size(), 1) << first.ShortDebugString();
  EXPECT_EQ(first.receipts().receipts(0).user(), user("b"));
  EXPECT_EQ(first.receipts().receipts(0).read_seq(), 0U);
  const std::uint64_t mark = a.cursor().mark();
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(1); }));
  b.ack(b.cursor().mark());
  ASSERT_TRUE(a.wait_until([&] { return told(a) != nullptr && told(a)->delivered_seq() == 1; }));
  EXPECT_EQ(told(a)->read_seq(), 0U) << "it has come, and is not read";
  b.read(id, 1);
  ASSERT_TRUE(a.wait_until([&] { return told(a)->read_seq() == 1; }));
  EXPECT_EQ(a.cursor().mark(), mark) << "nothing of it moves a mark of mine";

  HttpClient http = this->http();
  const std::string target = "/v1/conversations/" + id + "/receipts";
  EXPECT_EQ(parsed<pb::ReceiptList>(http.get(target, token("a"))).receipts(0).read_seq(), 1U);
  EXPECT_EQ(error_code(http.get(target, token("c"))), "CONVERSATION_NOT_FOUND");
  set_receipts("b", "false");
  EXPECT_EQ(parsed<pb::ReceiptList>(http.get(target, token("a"))).receipts_size(), 0);
  EXPECT_TRUE(parsed<pb::ReceiptList>(http.get(target, token("b"))).off());
  EXPECT_EQ(parsed<pb::ReceiptList>(http.get(target, token("b"))).receipts_size(), 0);
  // What he has read meanwhile is told once he tells again.
  a.sent(user("b"), "and?");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(2); }));
  b.read(id, 2);
  set_receipts("b", "true");
  ASSERT_TRUE(a.wait_until([&] { return told(a)->read_seq() == 2; }));
}

/// What a device acknowledges and then goes away, and what it holds when it comes back.
TEST_P(ReceiptsOf, AreToldOfADeviceThatGoesAtOnce) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "first");
  ASSERT_TRUE(a.call(ask(id, true)).has_receipts());
  const auto delivered = [&] { return told(a) == nullptr ? 0 : told(a)->delivered_seq(); };
  {
    WsClient b = device("b");
    a.sent(user("b"), "second");
    ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(2); }));
    b.ack(b.cursor().mark());
  }
  ASSERT_TRUE(a.wait_until([&] { return delivered() == 2; }));
  pb::Cursor holds;
  {
    WsClient b = device("b");
    a.sent(user("b"), "third");
    ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(3); }));
    holds = b.cursor();
  }
  WsClient b = connect();
  ASSERT_TRUE(b.hello(token("b"), {.device = "d1", .cursor = holds}).has_welcome());
  ASSERT_TRUE(a.wait_until([&] { return delivered() == 3; }));
}

TEST_P(ReceiptsOf, AreToldOfWhoJoinsLater) {
  WsClient a = device("a");
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("G");
  create.mutable_create_group()->add_members(user("b"));
  const std::string id = a.call(create).group().conversation_id();
  ASSERT_NE(id, "");
  ASSERT_EQ(a.call(ask(id, true)).receipts().receipts_size(), 1);
  pb::ClientFrame add;
  add.mutable_add_members()->set_conversation_id(id);
  add.mutable_add_members()->add_users(user("c"));
  ASSERT_EQ(code_of(a.call(add)), "");
  a.sent_in(id, "hello");
  WsClient c = device("c");
  const std::uint64_t head = c.conversation(id).head_seq();
  c.read(id, head);
  ASSERT_TRUE(a.wait_until([&] { return told(a) != nullptr && told(a)->read_seq() == head; }));
  EXPECT_EQ(told(a)->user(), user("c"));
}

TEST_P(ReceiptsOf, TotalsCountMutedConversationsApart) {
  WsClient b = device("b");
  WsClient c = device("c");
  for (int i = 0; i < 3; ++i) b.sent(user("a"), "x");
  for (int i = 0; i < 2; ++i) c.sent(user("a"), "x");
  HttpClient http = this->http();
  EXPECT_EQ(parsed<pb::Totals>(http.get("/v1/totals", token("a"))).unread(), 5U);
  ASSERT_EQ(http.post("/v1/conversations/" + chat("a", "c") + "/mute", token("a"), "{}").status, 200);
  const auto totals = parsed<pb::Totals>(http.get("/v1/totals", token("a")));
  EXPECT_EQ(totals.unread(), 3U);
  EXPECT_EQ(totals.muted_unread(), 2U);
  EXPECT_EQ(totals.badge(), 3U);
  EXPECT_TRUE(totals.exact());
  WsClient a = device("a");
  pb::ClientFrame frame;
  frame.mutable_totals();
  EXPECT_EQ(a.call(frame).totals().muted_unread(), 2U);
}

}  // namespace
}  // namespace tidemark::testing
