// Groups over the wire: who is in, who may do what, and who sees what since when.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Groups : public BothDialects {
 protected:
  static pb::ServerFrame create(WsClient& client, const std::vector<std::string>& members,
                                pb::HistoryForNewcomers newcomers = pb::HISTORY_FOR_NEWCOMERS_NONE,
                                std::uint32_t last = 0, const std::string& key = {}) {
    pb::ClientFrame frame;
    pb::CreateGroupRequest& request = *frame.mutable_create_group();
    request.set_title("G");
    for (const std::string& member : members) request.add_members(member);
    request.set_history_for_newcomers(newcomers);
    request.set_history_last(last);
    request.set_idempotency_key(key);
    return client.call(frame);
  }
  static pb::ServerFrame add(WsClient& client, const std::string& id, const std::string& who) {
    pb::ClientFrame frame;
    frame.mutable_add_members()->set_conversation_id(id);
    frame.mutable_add_members()->add_users(who);
    return client.call(frame);
  }
  static pb::ServerFrame remove(WsClient& client, const std::string& id, const std::string& who) {
    pb::ClientFrame frame;
    frame.mutable_remove_member()->set_conversation_id(id);
    frame.mutable_remove_member()->set_user(who);
    return client.call(frame);
  }
  static pb::ServerFrame send_in(WsClient& client, const std::string& id, const std::string& text) {
    pb::ClientFrame frame = send_frame("", text, new_id());
    frame.mutable_send()->set_conversation_id(id);
    return client.call(frame);
  }
  static pb::ServerFrame ask(WsClient& client, const std::string& id) {
    pb::ClientFrame frame;
    frame.mutable_group()->set_conversation_id(id);
    return client.call(frame);
  }
};
TM_IN_BOTH_DIALECTS(Groups);

TEST_P(Groups, CreateTellsAllMembers) {
  WsClient a = device("a");
  WsClient b = device("b");
  const pb::ServerFrame made = create(a, {user("b"), user("c"), user("b")});
  ASSERT_TRUE(made.has_group()) << made.ShortDebugString();
  EXPECT_EQ(made.group().title(), "G");
  ASSERT_EQ(made.group().members_size(), 3) << "each once";
  EXPECT_EQ(made.group().members(0).user(), user("a"));
  EXPECT_EQ(made.group().members(0).role(), pb::ROLE_OWNER);
  EXPECT_EQ(made.group().members(1).role(), pb::ROLE_MEMBER);
  const std::string id = made.group().conversation_id();
  ASSERT_TRUE(b.wait_until([&] { return !b.pushed.empty(); }));
  EXPECT_EQ(b.pushed[0].conversation_id(), id);
  EXPECT_EQ(b.pushed[0].entry().kind(), pb::KIND_MEMBER);
  EXPECT_EQ(b.pushed[0].entry().member().action(), pb::MEMBER_ACTION_JOINED);
  EXPECT_TRUE(b.pushed[0].summary().member());
  EXPECT_EQ(b.conversation(id).unread(), 0U) << "joining is no message";
  EXPECT_EQ(ask(b, id).group().members_size(), 3);
}

TEST_P(Groups, RolesDecide) {
  WsClient a = device("a");
  WsClient b = device("b");
  const std::string id = create(a, {user("b"), user("c")}).group().conversation_id();
  EXPECT_EQ(code_of(add(b, id, user("d"))), "FORBIDDEN");
  EXPECT_EQ(code_of(remove(b, id, user("c"))), "FORBIDDEN");
  EXPECT_EQ(code_of(remove(b, id, user("a"))), "FORBIDDEN");
  pb::ClientFrame rename;
  rename.mutable_change_group()->set_conversation_id(id);
  rename.mutable_change_group()->set_title("new");
  EXPECT_EQ(code_of(b.call(rename)), "FORBIDDEN");
  EXPECT_EQ(a.call(rename).group().title(), "new");
  EXPECT_EQ(ask(b, id).group().title(), "new");
  EXPECT_EQ(b.conversation(id).title(), "new");
  // Adding whoever is in changes nothing.
  const std::uint64_t head = ask(a, id).group().head_seq();
  EXPECT_EQ(add(a, id, user("b")).group().head_seq(), head);
  // The owner leaves: somebody takes the group over.
  EXPECT_TRUE(remove(a, id, user("a")).has_group());
  const pb::Group left = ask(b, id).group();
  ASSERT_EQ(left.members_size(), 2);
  int owners = 0;
  for (const pb::GroupMember& member : left.members()) owners += member.role() == pb::ROLE_OWNER ? 1 : 0;
  EXPECT_EQ(owners, 1);
}

TEST_P(Groups, LeavingAgainIsLeaving) {
  WsClient a = device("a");
  WsClient b = device("b");
  const std::string id = create(a, {user("b"), user("c")}).group().conversation_id();
  EXPECT_EQ(remove(b, id, user("b")).group().head_seq(), 2U);
  ASSERT_EQ(send_in(a, id, "without b").sent().seq(), 3U);
  pb::ClientFrame rename;
  rename.mutable_change_group()->set_conversation_id(id);
  rename.mutable_change_group()->set_title("secret");
  ASSERT_TRUE(a.call(rename).has_group());
  const pb::ServerFrame again = remove(b, id, user("b"));
  ASSERT_TRUE(again.has_group()) << again.ShortDebugString();
  EXPECT_EQ(again.group().conversation_id(), id);
  EXPECT_EQ(again.group().head_seq(), 2U) << "how it went on is not told";
  EXPECT_EQ(again.group().title(), "");
  EXPECT_EQ(again.group().members_size(), 0);
  EXPECT_EQ(ask(a, id).group().head_seq(), 4U) << "no second entry";
  // Who was removed is out as well; who never was in has nothing to leave.
  ASSERT_TRUE(remove(a, id, user("c")).has_group());
  WsClient c = device("c");
  EXPECT_TRUE(remove(c, id, user("c")).has_group());
  WsClient d = device("d");
  EXPECT_EQ(code_of(remove(d, id, user("d"))), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(code_of(remove(b, id, user("a"))), "NOT_MEMBER");
  EXPECT_EQ(http().call("DELETE", "/v1/groups/" + id + "/members/" + percent_encode(user("b")), token("b")).status,
            200);
}

TEST_P(Groups, S84_NewcomersSeeNothingOlder) {
  WsClient a = device("a");
  const std::string id = create(a, {user("b")}).group().conversation_id();
  for (int i = 2; i <= 100; ++i) ASSERT_TRUE(send_in(a, id, "m").has_sent());
  WsClient d = device("d");
  ASSERT_EQ(add(a, id, user("d")).group().head_seq(), 101U);
  ASSERT_EQ(send_in(a, id, "welcome").sent().seq(), 102U);
  EXPECT_THAT(seqs_of(whole_history(d, id)), ElementsAre(101U, 102U));
  pb::HistoryRequest request;
  request.set_conversation_id(id);
  request.set_before(102);
  const pb::HistoryPage page = d.history(request);
  EXPECT_THAT(seqs_in(page.messages()), ElementsAre(101U));
  EXPECT_TRUE(page.end());
  ASSERT_GE(page.hidden_size(), 1);
  EXPECT_EQ(page.hidden(0).reason(), pb::HIDDEN_REASON_PERIOD);
  EXPECT_EQ(page.hidden(0).to(), 100U);
  EXPECT_EQ(d.conversation(id).unread(), 1U);
  pb::ClientFrame older;
  older.mutable_message()->set_message_id(id + ":50");
  EXPECT_EQ(code_of(d.call(older)), "MESSAGE_NOT_FOUND");
}

TEST_P(Groups, S85_NewcomersSeeTheLastTwenty) {
  WsClient a = device("a");
  const std::string id = create(a, {user("b")}, pb::HISTORY_FOR_NEWCOMERS_LAST, 20).group().conversation_id();
  for (int i = 2; i <= 100; ++i) ASSERT_TRUE(send_in(a, id, "m").has_sent());
  add(a, id, user("d"));
  ASSERT_EQ(send_in(a, id, "welcome").sent().seq(), 102U);
  WsClient d = device("d");
  EXPECT_EQ(seqs_of(whole_history(d, id)), seqs_from(81, 102));
  EXPECT_EQ(d.conversation(id).unread(), 1U) << "unread begins at the join";
}

TEST_P(Groups, S86_JoinRacingWithSends) {
  WsClient a = device("a");
  WsClient b = device("b");
  const std::string id = create(a, {user("b")}).group().conversation_id();
  for (int round = 0; round < 10; ++round) {
    const std::string name = "d" + std::to_string(round);
    WsClient d = device(name);
    pb::ClientFrame message = send_frame("", "racing", new_id());
    message.mutable_send()->set_conversation_id(id);
    pb::ClientFrame joining;
    joining.mutable_add_members()->set_conversation_id(id);
    joining.mutable_add_members()->add_users(user(name));
    const std::uint64_t sent = b.post(message);
    const std::uint64_t joined = a.post(joining);
    const std::uint64_t seq = b.answer(sent).sent().seq();
    ASSERT_TRUE(a.answer(joined).has_group());
    const pb::Change change = d.conversation(id);
    ASSERT_EQ(change.periods_size(), 1);
    const bool visible = seq > change.periods(0).join();
    EXPECT_EQ(change.unread(), visible ? 1U : 0U);
    EXPECT_EQ(seqs_of(whole_history(d, id)).back() == seq, visible);
    const std::size_t expected = visible ? 2 : 1;
    ASSERT_TRUE(d.wait_until([&] { return d.entries(id).size() >= expected; }));
    EXPECT_EQ(d.entries(id).contains(seq), visible) << "pushes, pages and numbers agree";
  }
}

TEST_P(Groups, S87_S11_TheRemovedOneSeesHisRemovalAndNothingLater) {
  WsClient a = device("a");
  WsClient c = device("c");
  const std::string id = create(a, {user("b"), user("c")}).group().conversation_id();
  ASSERT_TRUE(send_in(a, id, "before").has_sent());
  const std::uint64_t gone = remove(a, id, user("c")).group().head_seq();
  ASSERT_TRUE(send_in(a, id, "after").has_sent());
  ASSERT_TRUE(c.wait_until([&] { return c.entries(id).contains(gone); }));
  c.listen_for(50);
  EXPECT_EQ(c.entries(id).rbegin()->first, gone);
  EXPECT_EQ(c.entries(id).at(gone).member().action(), pb::MEMBER_ACTION_REMOVED);
  EXPECT_EQ(seqs_of(whole_history(c, id)), seqs_from(1, gone)) << "what was his stays readable";
  EXPECT_FALSE(c.conversation(id).member());
  EXPECT_EQ(c.conversation(id).head_seq(), gone);
  EXPECT_EQ(code_of(send_in(c, id, "let me back")), "NOT_MEMBER");
  EXPECT_EQ(code_of(ask(c, id)), "NOT_MEMBER");
  EXPECT_EQ(code_of(add(c, id, user("c"))), "NOT_MEMBER");
  WsClient stranger = device("x");
  EXPECT_EQ(code_of(send_in(stranger, id, "hi")), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(code_of(ask(stranger, id)), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(code_of(add(stranger, id, user("x"))), "CONVERSATION_NOT_FOUND");
}

TEST_P(Groups, S88_LeaveAndComeBack) {
  WsClient a = device("a");
  const std::string id = create(a, {user("b")}).group().conversation_id();
  const auto up_to = [&](std::uint64_t seq) {
    while (ask(a, id).group().head_seq() < seq) ASSERT_TRUE(send_in(a, id, "m").has_sent());
  };
  up_to(9);
  ASSERT_EQ(add(a, id, user("d")).group().head_seq(), 10U);
  up_to(49);
  WsClient d = device("d");
  ASSERT_EQ(remove(d, id, user("d")).group().head_seq(), 50U);
  up_to(79);
  ASSERT_EQ(add(a, id, user("d")).group().head_seq(), 80U);
  up_to(85);
  pb::HistoryRequest request;
  request.set_conversation_id(id);
  request.set_before(86);
  request.set_limit(100);
  const pb::HistoryPage page = d.history(request);
  std::vector<std::uint64_t> expected = seqs_from(10, 50);
  for (std::uint64_t seq = 80; seq <= 85; ++seq) expected.push_back(seq);
  EXPECT_EQ(seqs_in(page.messages()), expected);
  EXPECT_TRUE(page.end());
  ASSERT_EQ(page.hidden_size(), 2);
  EXPECT_EQ(page.hidden(0).after(), 0U);
  EXPECT_EQ(page.hidden(0).to(), 9U);
  EXPECT_EQ(page.hidden(1).after(), 50U);
  EXPECT_EQ(page.hidden(1).to(), 79U);
}

TEST_P(Groups, CreatingTwiceUnderOneKey) {
  WsClient a = device("a");
  const pb::ServerFrame first = create(a, {user("b")}, pb::HISTORY_FOR_NEWCOMERS_NONE, 0, "key-1");
  const pb::ServerFrame again = create(a, {user("b")}, pb::HISTORY_FOR_NEWCOMERS_NONE, 0, "key-1");
  ASSERT_TRUE(first.has_group() && again.has_group()) << again.ShortDebugString();
  EXPECT_EQ(again.group().conversation_id(), first.group().conversation_id());
  EXPECT_EQ(again.group().head_seq(), 1U);
  EXPECT_EQ(code_of(create(a, {user("c")}, pb::HISTORY_FOR_NEWCOMERS_NONE, 0, "key-1")), "IDEMPOTENCY_CONFLICT");
  EXPECT_NE(create(a, {user("b")}).group().conversation_id(), first.group().conversation_id());
  // Another's key is another key.
  WsClient b = device("b");
  EXPECT_NE(create(b, {user("a")}, pb::HISTORY_FOR_NEWCOMERS_NONE, 0, "key-1").group().conversation_id(),
            first.group().conversation_id());

  HttpClient http = this->http();
  const std::string body = R"({"title":"by HTTP","members":[")" + user("b") + R"("]})";
  const HeaderList key = {{"Idempotency-Key", "key-2"}};
  const HttpResponse one = http.call("POST", "/v1/groups", token("a"), body, key);
  const HttpResponse two = http.call("POST", "/v1/groups", token("a"), body, key);
  EXPECT_EQ(one.status, 201);
  EXPECT_EQ(two.status, 200) << "repeated";
  EXPECT_EQ(parsed<pb::Group>(one).conversation_id(), parsed<pb::Group>(two).conversation_id());
  const HeaderList long_key = {{"Idempotency-Key", std::string(65, 'k')}};
  EXPECT_EQ(http.call("POST", "/v1/groups", token("a"), body, long_key).status, 400);
}

TEST_P(Groups, LimitsOfAGroup) {
  WsClient a = device("a");
  std::vector<std::string> many;
  for (int i = 1; i < 200; ++i) many.push_back(user("m" + std::to_string(i)));
  const pb::ServerFrame full = create(a, many);
  ASSERT_TRUE(full.has_group()) << full.ShortDebugString();
  EXPECT_EQ(full.group().members_size(), 200);
  EXPECT_FALSE(full.group().large());
  for (int i = 200; i <= 1'001; ++i) many.push_back(user("m" + std::to_string(i)));
  EXPECT_EQ(code_of(create(a, many)), "LIMIT_REACHED") << "more than one call may name";
  EXPECT_TRUE(send_in(a, full.group().conversation_id(), "to all").has_sent());
  WsClient last = device("m199");
  EXPECT_EQ(last.conversation(full.group().conversation_id()).unread(), 1U);
  const pb::ServerFrame grown = add(a, full.group().conversation_id(), user("one more"));
  EXPECT_TRUE(grown.group().large()) << grown.ShortDebugString();
  EXPECT_EQ(code_of(create(a, {""})), "MALFORMED");
  EXPECT_EQ(code_of(create(a, {"group"})), "MALFORMED");
}

}  // namespace
}  // namespace tidemark::testing
