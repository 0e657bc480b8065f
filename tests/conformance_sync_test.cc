// Catching up and being pushed to: the scenarios that need a real server.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SyncConformance : public BothDialects {};
TM_IN_BOTH_DIALECTS(SyncConformance);

TEST_P(SyncConformance, S16_Offline120InOneChat) {
  WsClient a1 = device("a");
  pb::Cursor cursor;
  {
    WsClient b1 = device("b", "B1");
    send_all(a1, user("b"), numbered("old ", 39));
    ASSERT_TRUE(b1.wait_until([&] { return b1.pushed.size() == 39; }));
    b1.read(chat("a", "b"), 39);
    ASSERT_TRUE(b1.wait_until([&] { return b1.cursor().mark() == 40; })) << b1.cursor().mark();
    cursor = b1.cursor();
  }
  send_all(a1, user("b"), numbered("new ", 120));

  WsClient b1 = connect();
  const pb::ServerFrame welcome = b1.hello(token("b"), {.device = "B1", .cursor = cursor});
  EXPECT_EQ(welcome.welcome().mode(), pb::MODE_DELTA);
  EXPECT_EQ(welcome.welcome().behind(), 120U);
  ASSERT_TRUE(b1.wait_until([&] { return !b1.hints.empty(); }));
  b1.listen_for(100);
  EXPECT_THAT(b1.pushed, IsEmpty()) << "no bodies before the device asks";
  EXPECT_THAT(b1.hints, ElementsAre(160U));

  const auto changed = b1.sync();
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed.at(chat("a", "b")).head_seq(), 159U);
  EXPECT_EQ(changed.at(chat("a", "b")).unread(), 120U);
  EXPECT_EQ(changed.at(chat("a", "b")).messages_size(), 0);

  std::vector<std::uint64_t> seqs;
  std::uint64_t after = 39;
  for (const int size : {50, 50, 20}) {
    const pb::ConversationPage page = b1.conversation_sync(chat("a", "b"), after);
    EXPECT_EQ(page.messages_size(), size);
    EXPECT_EQ(page.covers().after(), after) << "without a gap";
    for (const pb::Message& row : page.messages()) seqs.push_back(row.seq());
    EXPECT_EQ(page.more(), page.to() < 159);
    after = page.covers().to();
  }
  EXPECT_EQ(after, 159U);
  EXPECT_EQ(seqs, seqs_from(40, 159));
}

TEST_P(SyncConformance, S21_EmptyDelta) {
  WsClient a1 = device("a");
  WsClient b1 = device("b");
  send_all(a1, user("b"), numbered("m", 40));
  ASSERT_TRUE(b1.wait_until([&] { return b1.pushed.size() == 40; }));
  b1.sync();
  ASSERT_EQ(b1.cursor().mark(), 40U);

  pb::SyncRequest request;
  *request.mutable_cursor() = b1.cursor();
  const pb::SyncPage page = b1.sync_page(request);
  EXPECT_EQ(page.mode(), pb::MODE_DELTA);
  EXPECT_EQ(page.after(), 40U);
  EXPECT_EQ(page.to(), 40U);
  EXPECT_FALSE(page.more());
  EXPECT_THAT(page.changes(), IsEmpty());
  // JSON names every field even when empty; the binary answer shows what there is to say.
  if (GetParam() == Dialect::binary) EXPECT_LT(b1.last_frame_bytes(), 100U);
}

TEST_P(SyncConformance, S28_TheSameQuestionAgain) {
  WsClient a1 = device("a");
  WsClient b1 = connect();
  ASSERT_TRUE(b1.hello(token("b")).has_welcome());
  send_all(a1, user("b"), numbered("m", 70));
  const std::string id = chat("a", "b");

  const std::string state = b1.conversation(id).SerializeAsString();
  pb::SyncRequest sync;
  sync.set_bodies(pb::BODIES_RECENT);
  sync.set_recent(5);
  // The round is that of the whole server, which works for others meanwhile.
  const auto asked = [&] {
    pb::SyncPage page = b1.sync_page(sync);
    page.clear_p0_round();
    page.mutable_next()->clear_round();
    return page.SerializeAsString();
  };
  const std::string page = asked();
  const std::string rows = b1.conversation_sync(id, 10, 20).SerializeAsString();
  pb::HistoryRequest history;
  history.set_conversation_id(id);
  history.set_before(40);
  history.set_limit(15);
  pb::HistoryPage old = b1.history(history);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(asked(), page);
    EXPECT_EQ(b1.conversation_sync(id, 10, 20).SerializeAsString(), rows);
    pb::HistoryPage again = b1.history(history);
    // Page tokens may differ byte for byte, never in what they lead to.
    again.set_page_token(old.page_token());
    EXPECT_EQ(again.SerializeAsString(), old.SerializeAsString());
  }
  EXPECT_EQ(b1.conversation(id).SerializeAsString(), state) << "asking changes nothing";

  // With something new the answer begins where it began and holds all it held.
  a1.sent(user("b"), "m71");
  const pb::SyncPage more = b1.sync_page(sync);
  ASSERT_EQ(more.changes_size(), 1);
  EXPECT_EQ(more.after(), 0U);
  EXPECT_EQ(more.changes(0).head_seq(), 71U);
}

TEST_P(SyncConformance, S29_TokensOfOthers) {
  WsClient a1 = device("a");
  a1.sent(user("b"), "a secret text");
  HttpClient http = this->http();
  const HeaderList on_d1 = {{"Tidemark-Device", "d1"}};
  const auto page = parsed<pb::SyncPage>(http.call("GET", "/v1/sync?limit=1", token("a"), "", on_d1));
  a1.sent(user("c"), "another");
  a1.sent(user("b"), "more");
  const auto rows = parsed<pb::HistoryPage>(
      http.call("GET", "/v1/conversations/" + chat("a", "b") + "/messages?limit=1", token("a"), "", on_d1));
  ASSERT_NE(rows.page_token(), "");
  const std::string sync = "/v1/sync?cursor=" + percent_encode(page.cursor());
  const std::string history =
      "/v1/conversations/" + chat("a", "b") + "/messages?page_token=" + percent_encode(rows.page_token());

  // b is a member of the conversation; the tokens are still not his, and not another device's.
  const HeaderList on_d2 = {{"Tidemark-Device", "d2"}};
  for (const std::string& target : {sync, history})
    for (const HttpResponse& answer :
         {http.call("GET", target, token("b"), "", on_d1), http.call("GET", target, token("a"), "", on_d2)}) {
      EXPECT_EQ(answer.status, 401) << target;
      EXPECT_EQ(error_code(answer), "BAD_TOKEN");
      EXPECT_THAT(answer.body, ::testing::Not(::testing::HasSubstr("text\"")));
      EXPECT_THAT(answer.body, ::testing::Not(::testing::HasSubstr("secret")));
    }
  EXPECT_EQ(http.call("GET", sync, token("a"), "", on_d1).status, 200) << "its owner may still use it";
  EXPECT_EQ(http.call("GET", history, token("a"), "", on_d1).status, 200);

  // Tokens of a person: another server's, an expired one, one that was tampered with.
  const ServerProcess other;
  std::string changed = token("a");
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& bad :
       {other.token(user("a")), server().expired_token(user("a")), changed, std::string("x")}) {
    WsClient client = connect();
    const pb::ServerFrame answer = client.hello(bad);
    EXPECT_EQ(code_of(answer), "BAD_TOKEN");
    EXPECT_TRUE(client.wait_closed());
    EXPECT_THAT(client.pushed, IsEmpty());
    EXPECT_EQ(http.get("/v1/sync", bad).status, 401);
  }
  // A token for one device makes no other.
  WsClient bound = connect();
  const std::string for_phone = server().token(user("a"), {.device = DeviceId("phone")});
  EXPECT_EQ(bound.hello(for_phone, {.device = "tablet"}).welcome().device(), "phone");
}

TEST_P(SyncConformance, S34_LastPushLost) {
  WsClient a1 = device("a");
  WsClient b1 = device("b");
  b1.follow_pushes = false;  // what is pushed gets lost on the way to this device
  a1.sent(user("b"), "lost");
  ASSERT_TRUE(b1.wait_until([&] { return !b1.pushed.empty(); }));
  ASSERT_EQ(b1.cursor().mark(), 0U);

  pb::ClientFrame heartbeat;
  *heartbeat.mutable_heartbeat()->mutable_cursor() = b1.cursor();
  const pb::ServerFrame answered = b1.call(heartbeat);
  ASSERT_TRUE(answered.has_heartbeat());
  EXPECT_GT(answered.heartbeat().head(), b1.cursor().mark());
  b1.pushed.clear();
  const auto changed = b1.sync();
  ASSERT_TRUE(changed.contains(chat("a", "b")));
  EXPECT_EQ(b1.conversation_sync(chat("a", "b"), 0).messages(0).body().text(), "lost");

  // Heartbeats are asked for at least every 30 s, so that this is the longest it takes.
  WsClient again = connect();
  const pb::Welcome welcome = again.hello(token("b"), {.device = "d2"}).welcome();
  EXPECT_GT(welcome.limits().heartbeat_ms(), 0U);
  EXPECT_LE(welcome.limits().heartbeat_ms(), 30'000U);
}

// Decision 0006: a run that ended short of the head is not gone on from by pushes.
TEST_P(SyncConformance, NothingIsPushedBehindARunThatEndedShortOfTheHead) {
  WsClient a1 = device("a");
  WsClient c1 = device("c");
  a1.sent(user("b"), "one");
  c1.sent(user("b"), "two");
  WsClient b1 = connect();
  ASSERT_TRUE(b1.hello(token("b")).has_welcome());
  ASSERT_TRUE(b1.wait_until([&] { return b1.cursor().mark() == 2 || !b1.hints.empty(); }));
  b1.pushed.clear();
  b1.follow_pushes = false;

  pb::SyncRequest request;
  request.set_limit(1);
  const pb::SyncPage first = b1.sync_page(request);
  ASSERT_GT(first.after(), 0U);
  a1.sent(user("b"), "meanwhile");  // moves up, above what the run has fixed
  request.set_p0(first.p0());
  request.set_p0_round(first.p0_round());
  request.set_below(first.after());
  const pb::SyncPage last = b1.sync_page(request);
  ASSERT_EQ(last.after(), 0U);
  ASSERT_GT(last.head(), last.p0());
  c1.sent(user("b"), "later");
  pb::ClientFrame heartbeat;
  *heartbeat.mutable_heartbeat()->mutable_cursor() = last.next();
  EXPECT_EQ(b1.call(heartbeat).heartbeat().head(), 4U);
  EXPECT_THAT(b1.pushed, IsEmpty()) << "what came before the answer would be seen by now";

  b1.follow_pushes = true;
  b1.sync();
  ASSERT_EQ(b1.cursor().mark(), 4U);
  a1.sent(user("b"), "at last");
  EXPECT_TRUE(b1.wait_until([&] { return !b1.pushed.empty(); }));
  EXPECT_THAT(b1.texts(chat("a", "b")), ElementsAre("at last"));
}

class PushOnItsOwn : public OwnServer {
 protected:
  /// Sends so many messages at once that some commit round is as full as the server allows.
  void burst(WsClient& sender, int count) { send_all(sender, user("b"), numbered("m", count)); }
};
TM_IN_BOTH_DIALECTS(PushOnItsOwn);

// A round of the commit is what becomes pending for a connection at once; here one takes at most 51, or 50.
TEST_P(PushOnItsOwn, S36_FiftyOnePending) {
  serve({.settings = {"store.round_commands_max=51"}});
  WsClient a1 = device("a");
  bool shown = false;
  for (int attempt = 0; attempt < 20 && !shown; ++attempt) {
    WsClient b1 = device("b", "B" + std::to_string(attempt));
    const std::uint64_t before = b1.cursor().mark();
    burst(a1, 400);
    ASSERT_TRUE(b1.wait_until([&] { return !b1.hints.empty() || b1.cursor().mark() == before + 400; }));
    if (b1.hints.empty()) continue;  // no round was full
    b1.listen_for(50);
    shown = true;
    EXPECT_EQ(b1.push_frames.back(), 50U);
    EXPECT_THAT(b1.push_frames, Each(::testing::Le(50U)));
    EXPECT_THAT(b1.hints, SizeIs(1)) << "then nothing until it has pulled";
    EXPECT_EQ(b1.hints[0], b1.cursor().mark() + 1) << "one of 51 is left";
    const std::uint64_t last = b1.pushed.back().entry().seq();
    const pb::ConversationPage rest = b1.conversation_sync(chat("a", "b"), last, 1);
    ASSERT_EQ(rest.messages_size(), 1);
    EXPECT_EQ(rest.messages(0).seq(), last + 1) << "the remaining one by pull";
    b1.sync();
    const std::size_t count = b1.pushed.size();
    a1.sent(user("b"), "after the pull");
    EXPECT_TRUE(b1.wait_until([&] { return b1.pushed.size() > count; })) << "pushed again once it is in step";
  }
  EXPECT_TRUE(shown) << "no round ever held 51 messages";
}

TEST_P(PushOnItsOwn, S36_FiftyPendingNeedNoHint) {
  serve({.settings = {"store.round_commands_max=50"}});
  WsClient a1 = device("a");
  bool full = false;
  for (int attempt = 0; attempt < 20 && !full; ++attempt) {
    WsClient b1 = device("b", "B" + std::to_string(attempt));
    burst(a1, 400);
    ASSERT_TRUE(b1.wait_until([&] { return b1.pushed.size() == 400 || !b1.hints.empty(); }));
    EXPECT_THAT(b1.hints, IsEmpty());
    EXPECT_THAT(b1.push_frames, Each(::testing::Le(50U)));
    for (const std::size_t size : b1.push_frames) full = full || size == 50;
  }
  EXPECT_TRUE(full) << "no round ever held 50 messages";
}

}  // namespace
}  // namespace tidemark::testing
