// Field faults 22 and 27: what was taken back, and what is not for one, is in no answer of any call.
#include <fmt/format.h>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SightFaults : public BothDialects {
 protected:
  static std::string message_path(const std::string& id, std::uint64_t seq) {
    return "/v1/messages/" + percent_encode(fmt::format("{}:{}", id, seq));
  }
  static std::string make_group(WsClient& owner, const std::vector<std::string>& members) {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    for (const std::string& member : members) frame.mutable_create_group()->add_members(member);
    return owner.call(frame).group().conversation_id();
  }
  /// All that a device is told from this cursor on, with bodies of the given kind.
  std::string synced(std::string_view name, const Hello& hello, pb::Bodies bodies) {
    WsClient client = connect();
    client.follow_pushes = false;
    std::string all = client.hello(token(name), hello).ShortDebugString();
    pb::SyncRequest question;
    *question.mutable_cursor() = hello.cursor;
    question.set_bodies(bodies);
    question.set_recent(50);
    for (;;) {
      const pb::SyncPage page = client.sync_page(question);
      all += page.ShortDebugString();
      if (!page.more() && page.page_token().empty()) break;
      question.set_p0(page.p0());
      question.set_p0_round(page.p0_round());
      question.set_below(page.after());
      question.set_page_token(page.page_token());
    }
    for (const pb::PushItem& item : client.pushed) all += item.ShortDebugString();
    return all;
  }
};
TM_IN_BOTH_DIALECTS(SightFaults);

TEST_P(SightFaults, F22_WhatWasTakenBackIsInNoAnswer) {
  const std::string secret = "secret-7f3a";
  const std::string single = chat("u1", "u2");
  WsClient u1 = device("u1");
  const std::string group = make_group(u1, {user("u2"), user("u3")});
  u1.sent(user("u2"), "before it");
  u1.sent_in(group, "before it");
  pb::Cursor away;
  {
    WsClient d2 = device("u2", "d2");
    away = d2.cursor();
  }
  const std::uint64_t in_single = u1.sent(user("u2"), secret).seq();
  const std::uint64_t in_group = u1.sent_in(group, secret).seq();
  EXPECT_THAT(synced("u2", {.device = "d1"}, pb::BODIES_ALL), HasSubstr(secret)) << "it was there to be seen";
  ASSERT_TRUE(u1.recall(single, in_single).has_mutated());
  ASSERT_TRUE(u1.recall(group, in_group).has_mutated());

  HttpClient http = this->http();
  const auto told = [&](const std::string& target, const std::string& by) { return http.get(target, by).body; };
  for (const char* name : {"u1", "u2", "u3"}) {
    SCOPED_TRACE(name);
    for (const std::string& id : {single, group}) {
      const std::string of = "/v1/conversations/" + percent_encode(id);
      for (const std::string& target :
           {of, of + "/messages", of + "/messages?after=0", message_path(id, in_single), message_path(id, in_group)})
        EXPECT_THAT(told(target, token(name)), Not(HasSubstr(secret))) << target;
    }
    for (const char* target : {"/v1/conversations", "/v1/sync", "/v1/sync?bodies=all", "/v1/drafts", "/v1/settings"})
      EXPECT_THAT(told(target, token(name)), Not(HasSubstr(secret))) << target;
  }
  for (const std::string& target : {"/v1/admin/groups/" + group, "/v1/admin/users/" + percent_encode(user("u1")),
                                    "/v1/admin/users/" + percent_encode(user("u2")) + "/devices"})
    EXPECT_THAT(told(target, server().admin_token()), Not(HasSubstr(secret))) << target;
  for (const pb::Bodies bodies : {pb::BODIES_NONE, pb::BODIES_RECENT, pb::BODIES_ALL}) {
    EXPECT_THAT(synced("u2", {.device = "d2", .cursor = away}, bodies), Not(HasSubstr(secret))) << "caught up";
    EXPECT_THAT(synced("u2", {.device = "d3"}, bodies), Not(HasSubstr(secret))) << "on a new device";
  }
  for (const std::string& id : {single, group}) {
    const auto row = parsed<pb::Message>(http.get(message_path(id, id == single ? in_single : in_group), token("u2")));
    EXPECT_EQ(row.state(), pb::STATE_RECALLED) << "a marker";
    WsClient d3 = device("u2", "d3");
    EXPECT_EQ(d3.conversation(id).preview().state(), pb::STATE_RECALLED);
    EXPECT_EQ(d3.conversation(id).preview().text(), "");
  }
}

TEST_P(SightFaults, F27_NobodyLooksIntoAGroupFromOutside) {
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  const std::string group = make_group(u1, {user("u2")});
  std::uint64_t last = 0;
  for (const std::string& text : numbered("inside ", 50)) last = u1.sent_in(group, text).seq();
  HttpClient http = this->http();
  // u5 asks to be let in, and is told what he would be told of a group that is not there; u4 never had to do with it.
  EXPECT_EQ(http.post("/v1/groups/" + group + "/join", token("u5"), "{}").status, 404);
  const auto paths = [&](const std::string& id) {
    return std::vector<std::string>{"/v1/conversations/" + id,
                                    "/v1/conversations/" + id + "/messages",
                                    "/v1/conversations/" + id + "/messages?around=20",
                                    message_path(id, last),
                                    "/v1/groups/" + id,
                                    "/v1/conversations/" + id + "/receipts",
                                    "/v1/groups/" + id + "/members"};
  };
  for (const char* name : {"u4", "u5"}) {
    SCOPED_TRACE(name);
    const auto known = paths(group);
    const auto unknown = paths("group_4000000000");
    for (std::size_t i = 0; i < known.size(); ++i) {
      const HttpResponse answer = http.get(known[i], token(name));
      EXPECT_EQ(answer.status, 404) << known[i];
      EXPECT_EQ(answer.status, http.get(unknown[i], token(name)).status);
      EXPECT_EQ(error_code(answer), error_code(http.get(unknown[i], token(name)))) << known[i];
      EXPECT_THAT(answer.body, Not(HasSubstr("inside"))) << known[i];
    }
    WsClient outside = device(name);
    pb::ClientFrame question;
    question.mutable_conversation_sync()->set_conversation_id(group);
    EXPECT_EQ(code_of(outside.call(question)), "CONVERSATION_NOT_FOUND");
    EXPECT_THAT(synced(name, {}, pb::BODIES_ALL), Not(HasSubstr(group)));
    EXPECT_THAT(outside.pushed, IsEmpty());
  }

  pb::ClientFrame add;
  add.mutable_add_members()->set_conversation_id(group);
  add.mutable_add_members()->add_users(user("u4"));
  ASSERT_TRUE(u1.call(add).has_group());
  const std::uint64_t joined = last + 1;
  const std::uint64_t fresh = u2.sent_in(group, "welcome").seq();
  ASSERT_EQ(fresh, joined + 1);
  EXPECT_EQ(http.get(message_path(group, last), token("u4")).status, 404);
  EXPECT_EQ(http.get(message_path(group, fresh), token("u4")).status, 200);
  for (const char* way : {"", "?after=0", "?around=20"}) {
    const auto page = parsed<pb::HistoryPage>(http.get("/v1/conversations/" + group + "/messages" + way, token("u4")));
    EXPECT_THAT(seqs_in(page.messages()), ElementsAre(joined, fresh)) << way << ": the notice and the new one";
  }
  WsClient u4 = device("u4");
  EXPECT_EQ(u4.conversation(group).unread(), 1U) << "a notice of joining does not count";
  EXPECT_EQ(u4.conversation(group).preview().text(), "welcome");
  EXPECT_THAT(synced("u4", {.device = "d2"}, pb::BODIES_ALL), Not(HasSubstr("inside")));
  EXPECT_EQ(http.get("/v1/groups/" + group + "/members", token("u5")).status, 404) << "u5 is as far as before";
}

}  // namespace
}  // namespace tidemark::testing
