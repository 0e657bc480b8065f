// What users make of conversations for themselves, over both dialects and HTTP.
#include <set>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;

class OwnState : public BothDialects {
 protected:
  static pb::ServerFrame mutate(WsClient& client, std::uint64_t number,
                                const std::function<void(pb::MutateRequest&)>& fill) {
    pb::ClientFrame frame;
    frame.mutable_mutate()->set_number(number);
    fill(*frame.mutable_mutate());
    return client.call(frame);
  }
  static const pb::PushItem* told_of_object(const WsClient& client,
                                            const std::function<bool(const pb::UserObject&)>& is) {
    for (const pb::PushItem& item : client.pushed)
      for (const pb::UserObject& object : item.objects())
        if (is(object)) return &item;
    return nullptr;
  }
};
TM_IN_BOTH_DIALECTS(OwnState);

TEST_P(OwnState, S75_ADeletedMessageIsGoneOnAllDevicesOfItsUserAndOnNobodyElses) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b1 = device("b", Hello{.device = "B1", .install = "i"});
  WsClient b2 = device("b", "B2");
  for (const char* text : {"one", "two", "three"}) a.sent(user("b"), text);
  ASSERT_TRUE(b2.wait_until([&] { return b2.entries(id).size() == 3; }));
  const pb::ServerFrame made = mutate(b1, 1, [&](pb::MutateRequest& request) {
    request.mutable_delete_for_me()->set_conversation_id(id);
    request.mutable_delete_for_me()->set_seq(2);
  });
  ASSERT_TRUE(made.has_mutated()) << made.ShortDebugString();
  EXPECT_EQ(made.mutated().deleted(), 1U);
  EXPECT_EQ(made.mutated().unread(), 2U);
  const auto is_it = [&](const pb::UserObject& object) { return object.deleted().conversation_id() == id; };
  ASSERT_TRUE(b2.wait_until([&] { return told_of_object(b2, is_it) != nullptr; }));
  const pb::PushItem& item = *told_of_object(b2, is_it);
  EXPECT_EQ(item.objects(0).deleted().bits(), std::string("\x02"));
  EXPECT_EQ(item.objects(0).mark(), item.index_to());
  EXPECT_EQ(item.summary().unread(), 2U);
  EXPECT_FALSE(item.has_entry());
  // A new installation, and everybody else.
  WsClient b3 = device("b", "B3");
  EXPECT_THAT(texts_of(whole_history(b3, id)), ElementsAre("one", "three"));
  const pb::HistoryPage page = b3.history(id);
  ASSERT_EQ(page.hidden_size(), 1);
  EXPECT_EQ(page.hidden(0).reason(), pb::HIDDEN_REASON_DELETED);
  EXPECT_EQ(page.covers().after(), 0U);
  EXPECT_EQ(page.covers().to(), 3U);
  EXPECT_THAT(texts_of(whole_history(a, id)), ElementsAre("one", "two", "three"));
  EXPECT_EQ(told_of_object(a, is_it), nullptr);
  // The same number again is answered the same; with other content it is refused.
  const pb::ServerFrame again = mutate(b1, 1, [&](pb::MutateRequest& request) {
    request.mutable_delete_for_me()->set_conversation_id(id);
    request.mutable_delete_for_me()->set_seq(2);
  });
  EXPECT_EQ(again.mutated().deleted(), 1U);
  EXPECT_EQ(code_of(mutate(b1, 1,
                           [&](pb::MutateRequest& request) {
                             request.mutable_delete_for_me()->set_conversation_id(id);
                             request.mutable_delete_for_me()->set_seq(3);
                           })),
            "MUTATION_CONFLICT");
}

TEST_P(OwnState, ARemovedConversationLeavesTheListUntilAMessageComes) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b1 = device("b", "B1");
  WsClient b2 = device("b", "B2");
  a.sent(user("b"), "hello");
  ASSERT_TRUE(b2.wait_until([&] { return b2.entries(id).size() == 1; }));
  const auto removed_of = [&](WsClient& client) {
    return std::ranges::any_of(client.pushed, [&](const pb::PushItem& item) {
      return item.summary().conversation_id() == id && item.summary().removed();
    });
  };
  const HttpResponse gone = http().call("DELETE", "/v1/conversations/" + id, token("b"));
  EXPECT_EQ(gone.status, 200) << gone.body;
  EXPECT_TRUE(parsed<pb::Mutated>(gone).removed());
  ASSERT_TRUE(b1.wait_until([&] { return removed_of(b1); }));
  ASSERT_TRUE(b2.wait_until([&] { return removed_of(b2); }));
  EXPECT_EQ(parsed<pb::ConversationList>(http().get("/v1/conversations", token("b"))).conversations_size(), 0);
  a.sent(user("b"), "are you there?");
  ASSERT_TRUE(b2.wait_until([&] { return b2.entries(id).size() == 2; }));
  EXPECT_FALSE(b2.pushed.back().summary().removed());
  EXPECT_EQ(b2.pushed.back().summary().cleared_seq(), 1U);
  EXPECT_THAT(texts_of(whole_history(b1, id)), ElementsAre("are you there?"));
  EXPECT_THAT(texts_of(whole_history(a, id)), ElementsAre("hello", "are you there?"));
}

TEST_P(OwnState, DraftsSettingsAndBlocksReachTheOtherDevice) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "hello");
  WsClient b1 = device("b", "B1");
  WsClient b2 = device("b", "B2");
  ASSERT_TRUE(mutate(b1, 1, [&](pb::MutateRequest& request) {
                request.mutable_draft()->set_conversation_id(id);
                request.mutable_draft()->mutable_body()->set_text("dear a");
                request.mutable_draft()->set_reply_to(1);
              }).has_mutated());
  ASSERT_TRUE(mutate(b1, 2, [&](pb::MutateRequest& request) {
                request.mutable_setting()->set_name("app.theme");
                request.mutable_setting()->set_value("\"dark\"");
              }).has_mutated());
  ASSERT_TRUE(
      mutate(b1, 3, [&](pb::MutateRequest& request) { request.mutable_block()->set_user(user("a")); }).has_mutated());
  const auto draft = [&](const pb::UserObject& object) { return object.draft().body().text() == "dear a"; };
  const auto setting = [](const pb::UserObject& object) { return object.setting().value() == "\"dark\""; };
  const auto block = [&](const pb::UserObject& object) {
    return object.blocked().user() == user("a") && object.blocked().blocked();
  };
  ASSERT_TRUE(b2.wait_until([&] { return told_of_object(b2, block) != nullptr; }));
  EXPECT_NE(told_of_object(b2, draft), nullptr);
  EXPECT_NE(told_of_object(b2, setting), nullptr);
  // One that comes later finds them in its snapshot, and HTTP lists them.
  WsClient b3 = connect();
  ASSERT_TRUE(b3.hello(token("b"), {.device = "B3"}).has_welcome());
  pb::SyncRequest whole;
  const pb::SyncPage page = b3.sync_page(whole);
  EXPECT_EQ(page.objects_size(), 4) << "and that there are devices";
  EXPECT_EQ(parsed<pb::UserObjects>(http().get("/v1/drafts", token("b"))).objects(0).draft().reply_to(), 1U);
  EXPECT_EQ(parsed<pb::UserObjects>(http().get("/v1/blocked", token("b"))).objects(0).blocked().user(), user("a"));
  EXPECT_EQ(code_of(a.send(user("b"), "may I?")), "BLOCKED");
  EXPECT_EQ(error_code(http().post("/v1/messages", token("a"), send_json(user("b"), "may I?", new_id()))), "BLOCKED");
  EXPECT_EQ(http().call("DELETE", "/v1/blocked/" + user("a"), token("b")).status, 200);
  EXPECT_TRUE(a.send(user("b"), "thanks").has_sent());
}

TEST_P(OwnState, DraftsComeInPages) {
  WsClient a = device("a");
  for (const char* other : {"b", "c", "d"}) {
    a.sent(user(other), "hello");
    const HttpResponse saved = http().post("/v1/conversations/" + chat("a", other) + "/draft", token("a"),
                                           R"({"body":{"text":")" + std::string(40'000, *other) + "\"}}");
    ASSERT_EQ(saved.status, 200) << saved.body;
  }
  std::set<std::string> got;
  pb::ClientFrame frame;
  frame.mutable_drafts()->set_limit(2);
  const pb::ServerFrame first = a.call(frame);
  EXPECT_EQ(first.user_objects().objects_size(), 2);
  ASSERT_NE(first.user_objects().page_token(), "");
  frame.mutable_drafts()->set_page_token(first.user_objects().page_token());
  const pb::ServerFrame second = a.call(frame);
  EXPECT_EQ(second.user_objects().page_token(), "");
  for (const auto* page : {&first, &second})
    for (const pb::UserObject& object : page->user_objects().objects()) got.insert(object.draft().conversation_id());
  EXPECT_EQ(got, (std::set<std::string>{chat("a", "b"), chat("a", "c"), chat("a", "d")}));

  const auto page = parsed<pb::UserObjects>(http().get("/v1/drafts?limit=1", token("a")));
  ASSERT_EQ(page.objects_size(), 1);
  const std::string next = "/v1/drafts?page_token=" + page.page_token();
  EXPECT_EQ(parsed<pb::UserObjects>(http().get(next, token("a"))).objects_size(), 2);
  EXPECT_EQ(error_code(http().get(next, token("b"))), "BAD_TOKEN");
  EXPECT_EQ(error_field(http().get("/v1/drafts?limit=1000", token("a"))), "limit");
}

TEST_P(OwnState, WhatIsNoneIsRefusedWithTheFieldAtFault) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "hello");
  HttpClient client = http();
  EXPECT_EQ(error_field(client.call("PUT", "/v1/settings/app.theme", token("a"), "{}")), "value");
  EXPECT_EQ(error_field(client.call("PUT", "/v1/settings/app.theme", token("a"), R"({"value":"{"})")), "value");
  EXPECT_EQ(error_code(client.call("PUT", "/v1/settings/No%20Name", token("a"), R"({"value":"1"})")), "MALFORMED");
  EXPECT_EQ(error_code(client.call("PUT", "/v1/settings/level", token("a"), R"({"value":"1"})")), "FORBIDDEN");
  EXPECT_EQ(error_code(client.call("DELETE", "/v1/messages/" + id + ":9", token("a"))), "MESSAGE_NOT_FOUND");
  EXPECT_EQ(error_field(client.call("DELETE", "/v1/messages/" + id + ":9", token("a"))), "message_id");
  EXPECT_EQ(error_code(client.post("/v1/conversations/" + id + "/delete", token("a"), "{}")), "MALFORMED");
  EXPECT_EQ(error_code(client.post("/v1/conversations/" + id + "/mute", token("a"), R"({"until":-5})")),
            "OUT_OF_RANGE");
  EXPECT_EQ(error_code(client.post("/v1/conversations/" + id + "/clear", token("c"), "{}")), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(error_code(client.call("PUT", "/v1/blocked/" + user("a"), token("a"))), "MALFORMED");
  const pb::Mutated muted = parsed<pb::Mutated>(client.post("/v1/conversations/" + id + "/mute", token("a"), "{}"));
  EXPECT_EQ(muted.muted_until(), 9'007'199'254'740'991);
  EXPECT_GT(parsed<pb::Mutated>(client.post("/v1/conversations/" + id + "/pin", token("a"), "{}")).pinned_at(), 0);
  EXPECT_EQ(parsed<pb::Change>(client.get("/v1/conversations/" + id, token("a"))).muted_until(), 9'007'199'254'740'991);
}

}  // namespace
}  // namespace tidemark::testing
