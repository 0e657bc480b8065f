// Large groups over the wire: heads, focus, notices, mentions, members; on the socket in both dialects and over HTTP.
#include "core/large_group.h"
#include "wire/convert.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LargeGroups : public OwnServer {
 protected:
  void SetUp() override { serve({.settings = {"limits.small_max=3"}}); }

  std::string large(WsClient& owner, const std::vector<std::string>& members = {"b", "c", "d"}) {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    for (const std::string& member : members) frame.mutable_create_group()->add_members(user(member));
    return owner.call(frame).group().conversation_id();
  }
  static pb::HeadsPage heads(WsClient& client, const std::vector<std::pair<std::string, std::uint64_t>>& known = {}) {
    pb::ClientFrame frame;
    frame.mutable_heads();
    for (const auto& [id, seq] : known) {
      pb::Head& head = *frame.mutable_heads()->add_heads();
      head.set_conversation_id(id);
      head.set_seq(seq);
    }
    return client.call(frame).heads();
  }
  static pb::ServerFrame focus(WsClient& client, const std::vector<std::string>& ids) {
    pb::ClientFrame frame;
    frame.mutable_focus();
    for (const std::string& id : ids) frame.mutable_focus()->add_conversation_ids(id);
    return client.call(frame);
  }
  static bool beat(WsClient& client, const std::string& digest) {
    pb::ClientFrame frame;
    *frame.mutable_heartbeat()->mutable_cursor() = client.cursor();
    frame.mutable_heartbeat()->set_large_digest(digest);
    return client.call(frame).heartbeat().heads_wanted();
  }
  static pb::ServerFrame send_in(WsClient& client, const std::string& id, const std::string& text,
                                 const std::function<void(pb::SendRequest&)>& change = {}) {
    pb::ClientFrame frame = send_frame("", text, new_id());
    frame.mutable_send()->set_conversation_id(id);
    if (change) change(*frame.mutable_send());
    return client.call(frame);
  }
};
TM_IN_BOTH_DIALECTS(LargeGroups);

TEST_P(LargeGroups, ADigestThatDiffersIsFollowedByTheHeads) {
  WsClient a = device("a");
  const std::string id = large(a);
  a.sent_in(id, "hello");
  WsClient b = connect();
  const pb::Welcome welcome = b.login(token("b"));
  EXPECT_TRUE(welcome.heads_wanted());
  const pb::HeadsPage page = heads(b);
  ASSERT_THAT(page.changes(), SizeIs(1));
  EXPECT_TRUE(page.changes(0).large());
  EXPECT_EQ(page.changes(0).unread(), 1U);
  EXPECT_EQ(page.changes(0).preview().text(), "hello");
  const std::uint64_t head = page.changes(0).head_seq();
  EXPECT_EQ(page.digest(), hex16(digest_of_head(ConversationId(id), Seq(head)))) << "what a client computes itself";
  EXPECT_FALSE(beat(b, page.digest()));
  EXPECT_TRUE(beat(b, ""));

  a.sent_in(id, "more");
  EXPECT_TRUE(beat(b, page.digest()));
  EXPECT_THAT(heads(b, {{id, head}}).changes(), SizeIs(1));
  EXPECT_THAT(heads(b, {{id, head + 1}}).changes(), IsEmpty());
  EXPECT_THAT(b.entries(id), IsEmpty()) << "nothing of it was pushed";
}

TEST_P(LargeGroups, WhoHasItOpenIsPushedEveryEntryAndTheOthersANotice) {
  WsClient a = device("a");
  const std::string id = large(a);
  WsClient b = device("b");
  WsClient c = device("c");
  const pb::ServerFrame opened = focus(b, {id});
  ASSERT_TRUE(opened.has_heads()) << opened.ShortDebugString();
  EXPECT_THAT(opened.heads().changes(), SizeIs(1));
  const pb::Sent sent = a.sent_in(id, "hello");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(sent.seq()); }));
  const pb::PushItem item = b.pushed.back();
  EXPECT_EQ(item.index_to(), 0U) << "it has no place in the index";
  EXPECT_EQ(item.after(), sent.seq() - 1);
  EXPECT_EQ(item.entry().body().text(), "hello");
  ASSERT_TRUE(c.wait_until([&] { return !c.head_notices.empty(); }));
  EXPECT_EQ(c.head_notices.back().heads(0).conversation_id(), id);
  EXPECT_EQ(c.head_notices.back().heads(0).seq(), sent.seq());
  EXPECT_THAT(c.entries(id), IsEmpty());

  focus(b, {});
  a.sent_in(id, "unseen");
  ASSERT_TRUE(b.wait_until([&] { return !b.head_notices.empty(); }));
  EXPECT_FALSE(b.entries(id).contains(sent.seq() + 1));
}

TEST_P(LargeGroups, TheSendersOtherDeviceHasItAtOnce) {
  WsClient a = device("a");
  const std::string id = large(a);
  WsClient other = device("a", "d2");
  const pb::Sent sent = a.sent_in(id, "mine");
  ASSERT_TRUE(other.wait_until([&] { return other.entries(id).contains(sent.seq()); }));
  EXPECT_NE(other.pushed.back().client_msg_id(), "");
}

TEST_P(LargeGroups, WhoWasRemovedHearsNothingMore) {
  WsClient a = device("a");
  const std::string id = large(a, {"b", "c", "d", "e"});
  WsClient b = device("b");
  focus(b, {id});
  pb::ClientFrame frame;
  frame.mutable_remove_member()->set_conversation_id(id);
  frame.mutable_remove_member()->set_user(user("b"));
  const std::uint64_t end = a.call(frame).group().head_seq();
  const pb::Sent after = a.sent_in(id, "without b");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(end); })) << "his own end";
  b.listen_for(1'500);
  EXPECT_FALSE(b.entries(id).contains(after.seq()));
  EXPECT_THAT(b.head_notices, IsEmpty());
  const pb::ServerFrame again = focus(b, {id});
  EXPECT_FALSE(again.heads().changes(0).member());
  a.sent_in(id, "still without b");
  b.listen_for(300);
  EXPECT_FALSE(b.entries(id).contains(after.seq() + 1));
}

TEST_P(LargeGroups, MentionsReachWhomTheyName) {
  WsClient a = device("a");
  const std::string id = large(a);
  WsClient b = device("b");
  WsClient c = device("c");
  const pb::ServerFrame sent = send_in(a, id, "you", [&](pb::SendRequest& send) { send.add_mentions(user("b")); });
  ASSERT_TRUE(sent.has_sent()) << sent.ShortDebugString();
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(sent.sent().seq()); }));
  EXPECT_TRUE(b.pushed.back().mentioned());
  EXPECT_EQ(b.pushed.back().summary().mentions(), 1U);
  EXPECT_EQ(b.conversation(id).mentioned_seq(), sent.sent().seq());
  EXPECT_EQ(c.conversation(id).mentions(), 0U);
  const pb::ServerFrame all = send_in(a, id, "all", [](pb::SendRequest& send) { send.set_mention_all(true); });
  EXPECT_EQ(c.conversation(id).all_mentioned_seq(), all.sent().seq());
  EXPECT_EQ(code_of(send_in(b, id, "me too", [](pb::SendRequest& send) { send.set_mention_all(true); })), "FORBIDDEN");
}

TEST_P(LargeGroups, MembersComeInPages) {
  WsClient a = device("a");
  std::vector<std::string> others;
  for (int i = 10; i < 25; ++i) others.push_back("m" + std::to_string(i));
  const std::string id = large(a, others);
  pb::ClientFrame ask;
  ask.mutable_group()->set_conversation_id(id);
  const pb::Group group = a.call(ask).group();
  EXPECT_TRUE(group.large());
  EXPECT_EQ(group.member_count(), 16U);
  EXPECT_THAT(group.members(), SizeIs(1));
  std::vector<std::string> found;
  std::string page_token;
  do {
    pb::ClientFrame page;
    page.mutable_members()->set_conversation_id(id);
    page.mutable_members()->set_limit(6);
    page.mutable_members()->set_page_token(page_token);
    const pb::MemberList list = a.call(page).members();
    for (const pb::GroupMember& member : list.members()) found.push_back(member.user());
    page_token = list.page_token();
  } while (!page_token.empty());
  EXPECT_THAT(found, SizeIs(16));
  EXPECT_EQ(found.front(), user("a"));

  HttpClient http = this->http();
  const HttpResponse first = http.call("GET", "/v1/groups/" + id + "/members?limit=3", token("m10"), "");
  ASSERT_EQ(first.status, 200) << first.body;
  const auto list = parsed<pb::MemberList>(first);
  EXPECT_THAT(list.members(), SizeIs(3));
  const HttpResponse second =
      http.call("GET", "/v1/groups/" + id + "/members?page_token=" + list.page_token(), token("m10"), "");
  EXPECT_THAT(parsed<pb::MemberList>(second).members(), SizeIs(13));
  EXPECT_EQ(http.call("GET", "/v1/groups/" + id + "/members", token("stranger"), "").status, 404);
  const HttpResponse any = http.call("GET", "/v1/admin/groups/" + id + "/members", server().admin_token(), "");
  EXPECT_THAT(parsed<pb::MemberList>(any).members(), SizeIs(16));
}

TEST_P(LargeGroups, HeadsAreAskedForByHttpToo) {
  WsClient a = device("a");
  const std::string id = large(a);
  a.sent_in(id, "hello");
  HttpClient http = this->http();
  const HttpResponse all = http.call("POST", "/v1/heads", token("b"), "{}");
  ASSERT_EQ(all.status, 200) << all.body;
  const auto page = parsed<pb::HeadsPage>(all);
  ASSERT_THAT(page.changes(), SizeIs(1));
  const std::string held =
      R"({"heads":[{"conversation_id":")" + id + R"(","seq":)" + std::to_string(page.changes(0).head_seq()) + "}]}";
  EXPECT_THAT(parsed<pb::HeadsPage>(http.call("POST", "/v1/heads", token("b"), held)).changes(), IsEmpty());
}

TEST_P(LargeGroups, BadRequestsAreRefusedByName) {
  WsClient a = device("a");
  const std::string id = large(a);
  EXPECT_EQ(code_of(focus(a, std::vector<std::string>(9, id))), "LIMIT_REACHED");
  pb::ClientFrame frame;
  *frame.mutable_heartbeat()->mutable_cursor() = a.cursor();
  frame.mutable_heartbeat()->set_large_digest("not hex");
  const pb::ServerFrame refused = a.call(frame);
  EXPECT_EQ(code_of(refused), "MALFORMED");
  EXPECT_EQ(refused.error().field(), "large_digest");
  pb::ClientFrame odd;
  odd.mutable_heads()->set_after("a_b");
  EXPECT_EQ(a.call(odd).error().field(), "after");
  WsClient late = connect();
  pb::ClientFrame hello;
  hello.mutable_hello()->set_token(token("b"));
  hello.mutable_hello()->set_device("d");
  hello.mutable_hello()->set_large_digest("123");
  EXPECT_EQ(code_of(late.call(hello)), "MALFORMED");
}

TEST_P(LargeGroups, AllOfItIsThereAfterAKill) {
  WsClient a = device("a");
  const std::string id = large(a);
  a.sent_in(id, "kept");
  const pb::ServerFrame sent = send_in(a, id, "you", [&](pb::SendRequest& send) { send.add_mentions(user("b")); });
  server().kill_hard();
  server().start();
  WsClient b = connect();
  EXPECT_TRUE(b.login(token("b")).heads_wanted());
  const pb::HeadsPage page = heads(b);
  ASSERT_THAT(page.changes(), SizeIs(1));
  EXPECT_EQ(page.changes(0).head_seq(), sent.sent().seq());
  EXPECT_EQ(page.changes(0).mentions(), 1U);
  EXPECT_EQ(page.changes(0).unread(), 2U);
}

}  // namespace
}  // namespace tidemark::testing
