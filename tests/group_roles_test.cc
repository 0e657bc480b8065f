// Groups over the wire: roles, policies, mutes, the end of a group and of a user; on the socket in both dialects and
// over HTTP.
#include <set>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class GroupRoles : public BothDialects {
 protected:
  std::string make(WsClient& client, const std::vector<std::string>& members) {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    for (const std::string& member : members) frame.mutable_create_group()->add_members(user(member));
    return client.call(frame).group().conversation_id();
  }
  pb::ServerFrame set_role(WsClient& client, const std::string& id, std::string_view who, pb::Role role) {
    pb::ClientFrame frame;
    frame.mutable_set_role()->set_conversation_id(id);
    frame.mutable_set_role()->set_user(user(who));
    frame.mutable_set_role()->set_role(role);
    return client.call(frame);
  }
  pb::ServerFrame mute(WsClient& client, const std::string& id, std::string_view who, std::int64_t until) {
    pb::ClientFrame frame;
    frame.mutable_mute_member()->set_conversation_id(id);
    frame.mutable_mute_member()->set_user(user(who));
    frame.mutable_mute_member()->set_until(until);
    return client.call(frame);
  }
  static pb::ServerFrame join(WsClient& client, const std::string& id) {
    pb::ClientFrame frame;
    frame.mutable_join_group()->set_conversation_id(id);
    return client.call(frame);
  }
  static pb::ServerFrame dissolve(WsClient& client, const std::string& id) {
    pb::ClientFrame frame;
    frame.mutable_dissolve_group()->set_conversation_id(id);
    return client.call(frame);
  }
  static pb::ServerFrame ask(WsClient& client, const std::string& id) {
    pb::ClientFrame frame;
    frame.mutable_group()->set_conversation_id(id);
    return client.call(frame);
  }
  static pb::ServerFrame send_in(WsClient& client, const std::string& id, const std::string& text,
                                 const std::string& client_msg_id = new_id()) {
    pb::ClientFrame frame = send_frame("", text, client_msg_id);
    frame.mutable_send()->set_conversation_id(id);
    return client.call(frame);
  }
  std::string member_path(const std::string& id, std::string_view who) const {
    return "/v1/groups/" + id + "/members/" + percent_encode(user(who));
  }
  std::string admin() const { return server().admin_token(); }
};
TM_IN_BOTH_DIALECTS(GroupRoles);

TEST_P(GroupRoles, RolesAreGivenAndHandedOver) {
  WsClient o = device("o");
  WsClient a = device("a");
  const std::string id = make(o, {"a", "b"});
  const pb::ServerFrame made = set_role(o, id, "a", pb::ROLE_ADMIN);
  ASSERT_TRUE(made.has_group()) << made.ShortDebugString();
  EXPECT_EQ(made.group().members(1).role(), pb::ROLE_ADMIN);
  ASSERT_TRUE(a.wait_until([&] { return a.entries(id).contains(2); }));
  const pb::Message entry = a.entries(id).at(2);
  EXPECT_EQ(entry.member().action(), pb::MEMBER_ACTION_ROLE);
  EXPECT_EQ(entry.member().role(), pb::ROLE_ADMIN);
  EXPECT_THAT(entry.member().users(), ElementsAre(user("a")));
  EXPECT_EQ(a.conversation(id).role(), pb::ROLE_ADMIN);
  EXPECT_EQ(code_of(set_role(a, id, "b", pb::ROLE_ADMIN)), "FORBIDDEN");

  HttpClient http = this->http();
  const HttpResponse over = http.call("PUT", member_path(id, "a") + "/role", token("o"), R"({"role":"owner"})");
  ASSERT_EQ(over.status, 200) << over.body;
  const pb::Group group = parsed<pb::Group>(over);
  EXPECT_EQ(group.members(0).role(), pb::ROLE_ADMIN);
  EXPECT_EQ(group.members(1).role(), pb::ROLE_OWNER);
  EXPECT_EQ(group.head_seq(), 4U) << "two entries";
  const HttpResponse nothing = http.call("PUT", member_path(id, "b") + "/role", token("a"), "{}");
  EXPECT_EQ(nothing.status, 400) << "a role that is not given is none";
  EXPECT_EQ(error_field(nothing), "role");
  EXPECT_EQ(http.call("PUT", member_path(id, "x") + "/role", token("a"), R"({"role":"admin"})").status, 404);
  EXPECT_EQ(http.call("PUT", member_path(id, "b") + "/role", token("a"), R"({"role":"king"})").status, 400);
}

TEST_P(GroupRoles, PoliciesChangeByOneEntry) {
  WsClient o = device("o");
  WsClient b = device("b");
  const std::string id = make(o, {"a", "b"});
  pb::ClientFrame frame;
  pb::ChangeGroupRequest& change = *frame.mutable_change_group();
  change.set_conversation_id(id);
  EXPECT_EQ(code_of(o.call(frame)), "MALFORMED") << "nothing is to change";
  change.set_who_may_send(pb::ALLOWED_ADMINS);
  change.set_join(pb::JOIN_POLICY_OPEN);
  change.set_history_for_newcomers(pb::HISTORY_FOR_NEWCOMERS_ALL);
  change.set_data(R"({"avatar": "x.png"})");
  EXPECT_EQ(code_of(b.call(frame)), "FORBIDDEN");
  const pb::ServerFrame changed = o.call(frame);
  ASSERT_TRUE(changed.has_group()) << changed.ShortDebugString();
  EXPECT_EQ(changed.group().head_seq(), 2U);
  EXPECT_EQ(changed.group().who_may_add(), pb::ALLOWED_ADMINS);
  EXPECT_EQ(changed.group().who_may_send(), pb::ALLOWED_ADMINS);
  EXPECT_EQ(changed.group().data(), R"({"avatar": "x.png"})");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(2); }));
  const pb::ConfigChange told = b.entries(id).at(2).config();
  EXPECT_EQ(told.title(), "");
  EXPECT_EQ(told.policy().join(), pb::JOIN_POLICY_OPEN);
  EXPECT_EQ(told.policy().history_for_newcomers(), pb::HISTORY_FOR_NEWCOMERS_ALL);
  EXPECT_TRUE(told.data_changed());
  EXPECT_EQ(told.data(), R"({"avatar": "x.png"})");
  EXPECT_EQ(b.conversation(id).title(), "G");

  const pb::ServerFrame refused = send_in(b, id, "may I?");
  EXPECT_EQ(code_of(refused), "FORBIDDEN");
  EXPECT_EQ(ask(o, id).group().head_seq(), 2U) << "no entry";
  WsClient x = device("x");
  EXPECT_TRUE(join(x, id).has_group());
  EXPECT_THAT(seqs_of(whole_history(x, id)), ElementsAre(1U, 2U, 3U));
  HttpClient http = this->http();
  EXPECT_EQ(http.call("POST", "/v1/groups/" + id + "/join", token("y")).status, 200);
  const HttpResponse bad = http.call("PATCH", "/v1/groups/" + id, token("o"), R"({"data":"{no json"})");
  EXPECT_EQ(error_code(bad), "MALFORMED");
  EXPECT_EQ(error_field(bad), "data");
  const HttpResponse big =
      http.call("PATCH", "/v1/groups/" + id, token("o"), R"({"data":"[\")" + std::string(4'100, 'x') + R"(\"]"})");
  EXPECT_EQ(error_code(big), "TOO_LARGE");
  const HttpResponse closed = http.call("PATCH", "/v1/groups/" + id, token("o"), R"({"join":"closed","title":"H"})");
  EXPECT_EQ(parsed<pb::Group>(closed).title(), "H");
  EXPECT_EQ(error_code(http.call("POST", "/v1/groups/" + id + "/join", token("z"))), "CONVERSATION_NOT_FOUND");
}

TEST_P(GroupRoles, AMutedMemberIsToldUntilWhen) {
  WsClient o = device("o");
  WsClient a = device("a");
  const std::string id = make(o, {"a"});
  const std::int64_t until = std::int64_t{1} << 50;
  const pb::ServerFrame muted = mute(o, id, "a", until);
  ASSERT_TRUE(muted.has_group()) << muted.ShortDebugString();
  EXPECT_EQ(muted.group().members(1).muted_until(), until);
  ASSERT_TRUE(a.wait_until([&] { return a.entries(id).contains(2); }));
  EXPECT_EQ(a.entries(id).at(2).member().action(), pb::MEMBER_ACTION_MUTED);
  EXPECT_EQ(a.entries(id).at(2).member().muted_until(), until);
  const std::string message = new_id();
  const pb::ServerFrame refused = send_in(a, id, "x", message);
  EXPECT_EQ(code_of(refused), "MEMBER_MUTED");
  EXPECT_THAT(refused.error().message(), HasSubstr(std::to_string(until)));
  HttpClient http = this->http();
  const std::string body =
      R"({"conversation_id":")" + id + R"(","client_msg_id":")" + message + R"(","body":{"text":"x"}})";
  const HttpResponse forbidden = http.post("/v1/messages", token("a"), body);
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(error_code(forbidden), "MEMBER_MUTED");
  const HttpResponse absent = http.call("PUT", member_path(id, "a") + "/mute", token("o"), "{}");
  EXPECT_EQ(error_field(absent), "until");
  EXPECT_EQ(http.call("PUT", member_path(id, "a") + "/mute", token("o"), R"({"until":0})").status, 200);
  const pb::ServerFrame sent = send_in(a, id, "x", message);
  ASSERT_TRUE(sent.has_sent());
  EXPECT_FALSE(sent.sent().duplicate()) << "a refusal uses up no id";
}

TEST_P(GroupRoles, S97_DissolvedForEverybody) {
  WsClient o = device("o");
  WsClient a = device("a");
  const std::string id = make(o, {"a", "b"});
  ASSERT_TRUE(send_in(o, id, "hello").has_sent());
  EXPECT_EQ(code_of(dissolve(a, id)), "FORBIDDEN");
  const pb::ServerFrame ended = dissolve(o, id);
  ASSERT_TRUE(ended.has_group()) << ended.ShortDebugString();
  EXPECT_TRUE(ended.group().dissolved());
  ASSERT_TRUE(a.wait_until([&] { return a.entries(id).contains(3); }));
  EXPECT_TRUE(a.entries(id).at(3).config().dissolved());
  EXPECT_EQ(code_of(send_in(a, id, "x")), "CONVERSATION_CLOSED");
  EXPECT_EQ(code_of(set_role(o, id, "a", pb::ROLE_ADMIN)), "CONVERSATION_CLOSED");
  EXPECT_EQ(code_of(dissolve(o, id)), "CONVERSATION_CLOSED");
  EXPECT_EQ(http().call("DELETE", "/v1/groups/" + id, token("o")).status, 409);
  // Devices that come later find the same: a row, read as it was.
  WsClient b = device("b");
  EXPECT_THAT(seqs_of(whole_history(b, id)), ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(b.conversation(id).unread(), 0U);
  EXPECT_EQ(b.conversation(id).title(), "G");
  EXPECT_FALSE(b.conversation(id).member());
  EXPECT_TRUE(ask(b, id).group().dissolved());
}

TEST_P(GroupRoles, OperatorsRunGroupsOverHttpAlone) {
  HttpClient http = this->http();
  const auto users = [&](const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "\"" : ",\"") + user(name) + "\"";
    return "[" + list + "]";
  };
  const std::string body = R"({"owner":")" + user("o") + R"(","title":"T","members":)" + users({"a", "b"}) + "}";
  const HeaderList key = {{"Idempotency-Key", user("key")}};
  const HttpResponse made = http.call("POST", "/v1/admin/groups", admin(), body, key);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(http.call("POST", "/v1/admin/groups", admin(), body, key).status, 200);
  const pb::Group group = parsed<pb::Group>(made);
  const std::string id = group.conversation_id();
  EXPECT_EQ(group.members(0).user(), user("o"));
  EXPECT_EQ(group.members(0).role(), pb::ROLE_OWNER);
  const std::string path = "/v1/admin/groups/" + id;
  const HttpResponse more = http.post(path + "/members", admin(), R"({"users":)" + users({"c", "d", "e"}) + "}");
  EXPECT_EQ(parsed<pb::Group>(more).members_size(), 6);
  const HttpResponse less = http.post(path + "/members/remove", admin(), R"({"users":)" + users({"o", "c", "x"}) + "}");
  ASSERT_EQ(less.status, 200) << less.body;
  EXPECT_EQ(parsed<pb::Group>(less).members_size(), 4);
  EXPECT_EQ(parsed<pb::Group>(http.get(path, admin())).members(0).role(), pb::ROLE_OWNER) << "of a";

  WsClient a = device("a");
  ASSERT_EQ(send_in(a, id, "secret-7f3a").sent().seq(), 6U);
  const HttpResponse deleted = http.call("DELETE", "/v1/admin/messages/" + id + ":6", admin());
  ASSERT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_EQ(parsed<pb::Mutated>(deleted).state(), pb::STATE_DELETED);
  WsClient b = device("b");
  EXPECT_THAT(texts_of(whole_history(b, id)), Each(Not(HasSubstr("secret"))));
  EXPECT_EQ(b.history(id).messages(5).state(), pb::STATE_DELETED);

  EXPECT_EQ(http.call("DELETE", path, admin()).status, 200);
  EXPECT_EQ(error_code(http.post(path + "/members", admin(), R"({"users":)" + users({"z"}) + "}")),
            "CONVERSATION_CLOSED");
  EXPECT_TRUE(parsed<pb::Group>(http.get(path, admin())).dissolved());
  // None of it for users, on no path.
  for (const auto& [method, target] : {std::pair("POST", std::string("/v1/admin/groups")),
                                       {"GET", path},
                                       {"DELETE", path},
                                       {"POST", path + "/members"}})
    EXPECT_EQ(http.call(method, target, token("a"), method == std::string("POST") ? "{}" : "").status, 401) << target;
  pb::ClientFrame frame;
  frame.mutable_remove_members()->set_conversation_id(id);
  EXPECT_EQ(code_of(a.call(frame)), "FORBIDDEN");
  frame.mutable_delete_message()->set_conversation_id(id);
  EXPECT_EQ(code_of(a.call(frame)), "FORBIDDEN");
  frame.mutable_delete_user()->set_user(user("b"));
  EXPECT_EQ(code_of(a.call(frame)), "FORBIDDEN");
  frame.mutable_create_group()->set_title("T");
  frame.mutable_create_group()->set_owner(user("b"));
  EXPECT_EQ(code_of(a.call(frame)), "FORBIDDEN");
}

TEST_P(GroupRoles, S100_ADeletedUserIsGoneForEver) {
  HttpClient http = this->http();
  WsClient u = device("u");
  WsClient w = device("w");
  const std::string id = make(u, {"w"});
  ASSERT_TRUE(u.send(user("w"), "old secret").has_sent());
  const std::string path = "/v1/admin/users/" + percent_encode(user("u"));
  const HttpResponse gone = http.call("DELETE", path, admin());
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_GT(parsed<pb::User>(gone).deleted_at(), 0);
  // His link ends at once, and no other begins.
  ASSERT_TRUE(u.wait_closed());
  ASSERT_EQ(u.kicks.size(), 1U);
  EXPECT_EQ(u.kicks[0].code(), "USER_ID_RETIRED");
  EXPECT_TRUE(u.kicks[0].terminal());
  EXPECT_EQ(code_of(connect().hello(token("u"))), "USER_ID_RETIRED");
  const auto retired = [](const HttpResponse& answer) {
    EXPECT_EQ(answer.status, 410) << answer.body;
    EXPECT_EQ(error_code(answer), "USER_ID_RETIRED");
  };
  retired(http.get("/v1/sync", token("u")));
  retired(http.get("/v1/conversations", token("u")));
  retired(http.get("/v1/conversations/" + chat("u", "w") + "/messages", token("u")));
  retired(http.get("/v1/messages/" + chat("u", "w") + ":1", token("u")));
  retired(http.post("/v1/messages", token("u"), send_json(user("w"), "x", new_id())));
  retired(http.call("PUT", path, admin(), R"({"level":"vip"})"));
  retired(http.post("/v1/messages", token("w"), send_json(user("u"), "x", new_id())));
  retired(http.post("/v1/groups", token("w"), R"({"title":"T","members":[")" + user("u") + "\"]}"));
  retired(http.post("/v1/groups/" + id + "/members", token("w"), R"({"users":[")" + user("u") + "\"]}"));
  // The group has another owner; what was said to others stays theirs.
  ASSERT_TRUE(w.wait_until([&] { return w.entries(id).contains(3); }));
  EXPECT_EQ(w.entries(id).at(2).member().action(), pb::MEMBER_ACTION_LEFT);
  EXPECT_EQ(ask(w, id).group().members(0).role(), pb::ROLE_OWNER);
  EXPECT_THAT(texts_of(whole_history(w, chat("u", "w"))), ElementsAre("old secret"));
  EXPECT_EQ(error_code(http.call("DELETE", "/v1/admin/users/" + percent_encode(user("nobody")), admin())),
            "USER_NOT_FOUND");
}

TEST_P(GroupRoles, F26_TheRemovedOnesDevicesStopAtTheSamePlace) {
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  WsClient d1 = device("u3", "d1");
  const std::string id = make(u1, {"u2", "u3"});
  std::vector<std::uint64_t> sent;
  std::uint64_t removed = 0;
  std::vector<pb::ServerFrame> posts;
  for (int i = 0; i < 100; ++i) {
    pb::ClientFrame frame = send_frame("", "n" + std::to_string(i), new_id());
    frame.mutable_send()->set_conversation_id(id);
    sent.push_back(u2.post(frame));
    posts.push_back(send_in(d1, id, "mine"));
    if (i != 40) continue;
    pb::ClientFrame out;
    out.mutable_remove_member()->set_conversation_id(id);
    out.mutable_remove_member()->set_user(user("u3"));
    removed = u1.post(out);
  }
  for (const std::uint64_t request : sent) ASSERT_TRUE(u2.answer(request).has_sent());
  const std::uint64_t cut = [&] {
    EXPECT_TRUE(u1.answer(removed).has_group());
    for (const pb::Message& row : whole_history(u1, id))
      if (row.member().action() == pb::MEMBER_ACTION_REMOVED) return row.seq();
    return std::uint64_t{0};
  }();
  ASSERT_NE(cut, 0U);
  bool out = false;
  for (const pb::ServerFrame& post : posts) {
    out = out || !post.has_sent();
    EXPECT_EQ(code_of(post), out ? "NOT_MEMBER" : "") << "once out, out";
    if (post.has_sent()) EXPECT_LT(post.sent().seq(), cut);
  }
  EXPECT_TRUE(out);
  ASSERT_TRUE(d1.wait_until([&] { return d1.entries(id).contains(cut); }));
  d1.listen_for(50);
  std::vector<std::uint64_t> pushed;
  for (const auto& [seq, entry] : d1.entries(id)) pushed.push_back(seq);
  EXPECT_EQ(pushed, seqs_from(1, cut)) << "everything up to the removal, and nothing after it";
  WsClient d2 = device("u3", "d2");
  EXPECT_EQ(seqs_of(whole_history(d2, id)), seqs_from(1, cut));
  EXPECT_EQ(d2.conversation(id).head_seq(), cut);
}

TEST_P(GroupRoles, F28_NewcomersGetEverythingFromTheirJoinOn) {
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  const std::string id = make(u1, {"u2"});
  constexpr int kNewcomers = 100;
  std::vector<WsClient> newcomers;
  for (int i = 0; i < kNewcomers; ++i) newcomers.push_back(device("n" + std::to_string(i)));
  std::vector<std::uint64_t> joined;
  std::vector<std::set<std::uint64_t>> pages;
  std::vector<std::uint64_t> open;
  for (int i = 0; i < kNewcomers; ++i) {
    for (int k = 0; k < 3; ++k) {
      pb::ClientFrame frame = send_frame("", "from u2", new_id());
      frame.mutable_send()->set_conversation_id(id);
      open.push_back(u2.post(frame));
    }
    pb::ClientFrame adding;
    adding.mutable_add_members()->set_conversation_id(id);
    adding.mutable_add_members()->add_users(user("n" + std::to_string(i)));
    pb::ClientFrame behind = send_frame("", "right behind it", new_id());
    behind.mutable_send()->set_conversation_id(id);
    const std::uint64_t add = u1.post(adding);
    const std::uint64_t said = u1.post(behind);
    ASSERT_TRUE(u1.answer(add).has_group());
    const std::vector<std::uint64_t> page = seqs_of(whole_history(newcomers[static_cast<std::size_t>(i)], id));
    joined.push_back(newcomers[static_cast<std::size_t>(i)].conversation(id).periods(0).join());
    pages.emplace_back(page.begin(), page.end());
    ASSERT_TRUE(u1.answer(said).has_sent());
    // What is not acknowledged in time is pushed again, and a machine may be slow.
    for (WsClient& each : newcomers) {
      if (i % 10 != 0) break;
      each.listen_for(0);
      each.ack(each.cursor().mark());
    }
  }
  for (const std::uint64_t request : open) ASSERT_TRUE(u2.answer(request).has_sent());
  const std::uint64_t head = ask(u1, id).group().head_seq();
  for (std::size_t i = 0; i < newcomers.size(); ++i) {
    WsClient& client = newcomers[i];
    const auto seen = [&] {
      std::set<std::uint64_t> all = pages[i];
      for (const auto& [seq, entry] : client.entries(id)) all.insert(seq);
      return all;
    };
    const std::vector<std::uint64_t> wanted = seqs_from(joined[i], head);
    const std::set<std::uint64_t> expected(wanted.begin(), wanted.end());
    EXPECT_TRUE(client.wait_until([&] { return seen() == expected; })) << "newcomer " << i;
    std::map<std::uint64_t, int> times;
    for (const pb::PushItem& item : client.pushed)
      if (item.conversation_id() == id) ++times[item.entry().seq()];
    EXPECT_THAT(times, Each(::testing::Pair(::testing::_, 1))) << "newcomer " << i;
  }
}

}  // namespace
}  // namespace tidemark::testing
