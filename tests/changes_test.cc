// Recalls and edits over the wire and over HTTP: what they answer, whom they reach, and that nothing of a recalled text
// is left in any answer.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Changes : public BothDialects {
 protected:
  static const pb::PushItem* pushed_of(const WsClient& client, const std::string& id, pb::Kind kind) {
    for (const pb::PushItem& item : client.pushed)
      if (item.conversation_id() == id && item.has_entry() && item.entry().kind() == kind) return &item;
    return nullptr;
  }
  static pb::ServerFrame group_of(WsClient& client, const std::vector<std::string>& members) {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    for (const std::string& member : members) frame.mutable_create_group()->add_members(member);
    return client.call(frame);
  }
  static pb::ServerFrame conversation_sync(WsClient& client, const std::string& id, std::uint64_t after,
                                           std::uint64_t known_to) {
    pb::ClientFrame frame;
    pb::ConversationSyncRequest& request = *frame.mutable_conversation_sync();
    request.set_conversation_id(id);
    request.set_after(after);
    request.add_known()->set_to(known_to);
    return client.call(frame);
  }
};
TM_IN_BOTH_DIALECTS(Changes);

TEST_P(Changes, ARecallReachesAllDevicesAndLeavesAMarker) {
  const std::string id = chat("a", "b");
  WsClient a = device("a", "A1");
  WsClient a2 = device("a", "A2");
  WsClient b = device("b");
  a.sent(user("b"), "stays");
  a.sent(user("b"), "secret");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(2); }));
  const pb::ServerFrame recalled = a.recall(id, 2);
  ASSERT_TRUE(recalled.has_mutated()) << recalled.ShortDebugString();
  EXPECT_EQ(recalled.mutated().seq(), 3U);
  EXPECT_EQ(recalled.mutated().state(), pb::STATE_RECALLED);
  for (WsClient* client : {&a, &a2, &b}) {
    ASSERT_TRUE(client->wait_until([&] { return pushed_of(*client, id, pb::KIND_RECALL) != nullptr; }));
    const pb::PushItem& item = *pushed_of(*client, id, pb::KIND_RECALL);
    EXPECT_EQ(item.entry().seq(), 3U);
    EXPECT_EQ(item.entry().target(), 2U);
    EXPECT_EQ(item.entry().target_sender(), user("a"));
    EXPECT_FALSE(item.entry().has_body());
    EXPECT_EQ(item.after(), 2U);
    EXPECT_EQ(item.to(), 3U);
    EXPECT_EQ(item.summary().preview().state(), pb::STATE_RECALLED);
  }
  EXPECT_EQ(pushed_of(b, id, pb::KIND_RECALL)->summary().unread(), 1U);
  EXPECT_EQ(b.conversation(id).unread(), 1U);
  const pb::HistoryPage history = b.history(id);
  ASSERT_EQ(history.messages_size(), 3);
  EXPECT_EQ(history.messages(1).state(), pb::STATE_RECALLED);
  EXPECT_FALSE(history.messages(1).has_body());
  EXPECT_EQ(history.messages(1).sender(), user("a"));
  EXPECT_EQ(history.messages(1).touched(), 3U);
}

TEST_P(Changes, S70_ARecallBeforeTheOtherCame) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "hello");
  a.sent(user("b"), "secret");
  a.recall(id, 2);
  WsClient b = device("b");
  EXPECT_EQ(b.conversation(id).unread(), 1U);
  for (const pb::PushItem& item : b.pushed) EXPECT_THAT(item.DebugString(), Not(HasSubstr("secret")));
  WsClient again = connect();
  ASSERT_TRUE(again.hello(token("b"), {.device = "fresh"}).has_welcome());
  pb::SyncRequest request;
  request.set_bodies(pb::BODIES_ALL);
  EXPECT_THAT(again.sync_page(request).DebugString(), Not(HasSubstr("secret")));
}

TEST_P(Changes, AnEditIsPushedWithItsBody) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b = device("b");
  a.sent(user("b"), "wrnog");
  const pb::ServerFrame edited = a.edit(id, 1, "wrong no more", 0);
  ASSERT_TRUE(edited.has_mutated()) << edited.ShortDebugString();
  EXPECT_EQ(edited.mutated().revision(), 2U);
  ASSERT_TRUE(b.wait_until([&] { return pushed_of(b, id, pb::KIND_EDIT) != nullptr; }));
  const pb::Message& entry = pushed_of(b, id, pb::KIND_EDIT)->entry();
  EXPECT_EQ(entry.body().text(), "wrong no more");
  EXPECT_EQ(entry.target(), 1U);
  EXPECT_EQ(code_of(a.edit(id, 1, "too late", 0)), "REVISION_CONFLICT");
  EXPECT_EQ(code_of(b.edit(id, 1, "not mine")), "FORBIDDEN");
  const pb::HistoryPage history = b.history(id);
  EXPECT_EQ(history.messages(0).state(), pb::STATE_EDITED);
  EXPECT_EQ(history.messages(0).revision(), 2U);
  EXPECT_EQ(history.messages(0).body().text(), "wrong no more");
  EXPECT_FALSE(history.messages(1).has_body()) << "a body stands in one place";
  EXPECT_EQ(b.conversation(id).preview().text(), "wrong no more");
  EXPECT_EQ(b.conversation(id).unread(), 1U);
}

TEST_P(Changes, AReturningDeviceLearnsOfChangesAThousandMessagesBack) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "secret");
  a.sent(user("b"), "wrnog");
  pb::Cursor cursor;
  {
    WsClient b = device("b");
    cursor = b.cursor();
  }
  send_all(a, user("b"), numbered("m", 1'000));
  a.recall(id, 1);
  a.edit(id, 2, "right");
  WsClient b = connect();
  b.follow_pushes = false;
  ASSERT_TRUE(b.hello(token("b"), {.cursor = cursor}).has_welcome());
  EXPECT_EQ(b.sync().at(id).touch_seq(), 1'004U);
  const pb::ConversationPage page = conversation_sync(b, id, 1'002, 2).conversation_sync();
  EXPECT_EQ(page.messages_size(), 2);
  ASSERT_EQ(page.touched_size(), 2);
  EXPECT_EQ(page.touched(0).seq(), 1U);
  EXPECT_EQ(page.touched(0).state(), pb::STATE_RECALLED);
  EXPECT_FALSE(page.touched(0).has_body());
  EXPECT_EQ(page.touched(1).body().text(), "right");
  EXPECT_EQ(page.to(), 1'004U);
}

TEST_P(Changes, AFormerMemberLearnsOfItAndOfNothingElse) {
  WsClient a = device("a");
  const std::string id = group_of(a, {user("b"), user("c")}).group().conversation_id();
  a.sent_in(id, "secret");
  WsClient c = device("c");
  pb::ClientFrame leave;
  leave.mutable_remove_member()->set_conversation_id(id);
  leave.mutable_remove_member()->set_user(user("c"));
  ASSERT_TRUE(c.call(leave).has_group());
  a.sent_in(id, "not for c");
  const std::size_t before = c.pushed.size();
  const std::uint64_t recall = a.recall(id, 2).mutated().seq();
  ASSERT_TRUE(c.wait_until([&] { return !c.pushed.empty() && c.pushed.back().summary().touch_seq() == recall; }));
  const pb::PushItem& told = c.pushed.back();
  EXPECT_FALSE(told.has_entry());
  EXPECT_EQ(told.summary().head_seq(), 3U);
  EXPECT_EQ(told.summary().preview().state(), pb::STATE_RECALLED);
  const pb::ConversationPage page = conversation_sync(c, id, 3, 3).conversation_sync();
  ASSERT_EQ(page.touched_size(), 1);
  EXPECT_EQ(page.touched(0).seq(), 2U);
  EXPECT_EQ(page.messages_size(), 0);
  EXPECT_EQ(page.to(), recall);
  EXPECT_LE(c.pushed.size(), before + 2) << "the own leaving and the change";
  EXPECT_EQ(code_of(c.recall(id, 2)), "NOT_MEMBER");
}

TEST_P(Changes, TheSameMutationIsAnsweredTheSame) {
  const std::string id = chat("a", "b");
  WsClient a = connect();
  ASSERT_TRUE(a.hello(token("a"), {.install = "i1"}).has_welcome());
  a.sync();
  a.sent(user("b"), "x");
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(1);
  frame.mutable_mutate()->mutable_recall()->set_conversation_id(id);
  frame.mutable_mutate()->mutable_recall()->set_seq(1);
  const pb::Mutated first = a.call(frame).mutated();
  EXPECT_EQ(first.seq(), 2U);
  EXPECT_EQ(a.call(frame).mutated().SerializeAsString(), first.SerializeAsString());
  frame.mutable_mutate()->mutable_recall()->set_seq(2);
  EXPECT_EQ(code_of(a.call(frame)), "MUTATION_CONFLICT");
}

TEST_P(Changes, ASlowReaderIsNotGivenWhatWasRecalledMeanwhile) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  const std::string secret = "secret" + std::string(60'000, 'x');
  {
    // Never acknowledged: it will be asked for again.
    WsClient b = device("b");
    a.sent(user("b"), secret);
    ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(1); }));
  }
  a.recall(id, 1);
  WsClient b = connect();
  ASSERT_TRUE(b.hello(token("b")).has_welcome());
  b.sync();
  ASSERT_TRUE(b.wait_until([&] { return b.cursor().mark() >= 2; }));
  for (const pb::PushItem& item : b.pushed) EXPECT_THAT(item.DebugString(), Not(HasSubstr("secret")));
}

class ChangesByHttp : public BothDialects {
 protected:
  std::string path(std::string_view a, std::string_view b, int seq) const {
    return "/v1/messages/" + chat(a, b) + ":" + std::to_string(seq);
  }
};
TM_IN_BOTH_DIALECTS(ChangesByHttp);

TEST_P(ChangesByHttp, EditAndRecall) {
  device("a").sent(user("b"), "wrnog");
  HttpClient http = this->http();
  const HttpResponse edited =
      http.call("PATCH", path("a", "b", 1), token("a"), R"({"body":{"text":"right"},"base_revision":0})");
  EXPECT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(parsed<pb::Mutated>(edited).state(), pb::STATE_EDITED);
  EXPECT_EQ(parsed<pb::Mutated>(edited).revision(), 2U);
  EXPECT_EQ(parsed<pb::Message>(http.get(path("a", "b", 1), token("b"))).body().text(), "right");
  const auto refused = [&](const HttpResponse& response) { return error_code(response) + " " + error_field(response); };
  EXPECT_EQ(refused(http.call("PATCH", path("a", "b", 1), token("a"), R"({"body":{"text":"x"},"base_revision":0})")),
            "REVISION_CONFLICT base_revision");
  EXPECT_EQ(refused(http.call("PATCH", path("a", "b", 1), token("a"), "{}")), "MALFORMED body");
  EXPECT_EQ(refused(http.call("PATCH", path("a", "b", 1), token("b"), R"({"body":{"text":"x"}})")),
            "FORBIDDEN message_id");
  EXPECT_EQ(refused(http.call("PATCH", path("a", "b", 9), token("a"), R"({"body":{"text":"x"}})")),
            "MESSAGE_NOT_FOUND message_id");
  EXPECT_EQ(refused(http.post(path("a", "z", 1) + "/recall", token("a"), "")), "MESSAGE_NOT_FOUND message_id");
  const HttpResponse recalled = http.post(path("a", "b", 1) + "/recall", token("a"), "");
  EXPECT_EQ(recalled.status, 200) << recalled.body;
  EXPECT_EQ(parsed<pb::Mutated>(recalled).seq(), 3U);
  EXPECT_EQ(parsed<pb::Mutated>(http.post(path("a", "b", 1) + "/recall", token("a"), "{}")).seq(), 0U);
  EXPECT_EQ(refused(http.call("PATCH", path("a", "b", 1), token("a"), R"({"body":{"text":"x"}})")),
            "MESSAGE_DELETED message_id");
  const std::string id = chat("a", "b");
  for (const std::string& target :
       {"/v1/messages/" + id + ":1", "/v1/messages/" + id + ":2", "/v1/conversations/" + id + "/messages",
        "/v1/conversations/" + id, std::string("/v1/conversations"), std::string("/v1/sync?bodies=all"),
        std::string("/v1/sync?tail=50")})
    for (const char* reader : {"a", "b"}) {
      const HttpResponse answer = http.get(target, token(reader));
      EXPECT_EQ(answer.status, 200) << target;
      EXPECT_THAT(answer.body, Not(HasSubstr("right"))) << target;
    }
}

TEST_P(ChangesByHttp, AnOperatorRecallsAnything) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "rude");
  HttpClient http = this->http();
  const std::string target = "/v1/admin/messages/" + id + ":1/recall";
  EXPECT_EQ(http.post(target, token("a"), "").status, 401);
  const HttpResponse recalled = http.post(target, server().admin_token(), "");
  EXPECT_EQ(recalled.status, 200) << recalled.body;
  EXPECT_EQ(parsed<pb::Mutated>(recalled).state(), pb::STATE_RECALLED);
  ASSERT_TRUE(a.wait_until([&] { return a.entries(id).contains(2); }));
  EXPECT_EQ(a.entries(id).at(2).target_sender(), user("a"));
  EXPECT_EQ(error_code(http.post("/v1/admin/messages/" + id + ":7/recall", server().admin_token(), "")),
            "MESSAGE_NOT_FOUND");
}

class ChangesOnTheirOwn : public OwnServer {};
TM_IN_BOTH_DIALECTS(ChangesOnTheirOwn);

TEST_P(ChangesOnTheirOwn, AWindowThatIsOverIsOver) {
  serve({.settings = {"limits.recall_ms=1", "limits.edit_ms=1"}});
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  const std::int64_t sent_at = a.sent(user("b"), "x").server_time();
  while (a.sent(user("b"), "until the clock has moved").server_time() <= sent_at + 1) {
  }
  EXPECT_EQ(code_of(a.recall(id, 1)), "TOO_LATE");
  EXPECT_EQ(code_of(a.edit(id, 1, "y")), "TOO_LATE");
}

TEST_P(ChangesOnTheirOwn, ARestartKeepsWhatWasChanged) {
  serve();
  const std::string id = chat("a", "b");
  {
    WsClient a = device("a");
    a.sent(user("b"), "secret");
    a.sent(user("b"), "wrnog");
    a.recall(id, 1);
    a.edit(id, 2, "right");
  }
  server().kill_hard();
  server().start();
  WsClient b = device("b");
  const pb::HistoryPage history = b.history(id);
  EXPECT_EQ(history.messages(0).state(), pb::STATE_RECALLED);
  EXPECT_FALSE(history.messages(0).has_body());
  EXPECT_EQ(history.messages(1).body().text(), "right");
  EXPECT_EQ(b.conversation(id).unread(), 1U);
}

}  // namespace
}  // namespace tidemark::testing
