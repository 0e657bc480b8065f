// Reactions over the wire and over HTTP.
#include "world.h"

namespace tidemark::testing {
namespace {

class Reactions : public BothDialects {
 protected:
  static pb::ClientFrame react(const std::string& id, std::uint64_t seq, const std::string& name, std::uint64_t number,
                               bool on = true) {
    pb::ClientFrame frame;
    frame.mutable_mutate()->set_number(number);
    pb::ReactMutation& react = *frame.mutable_mutate()->mutable_react();
    react.set_conversation_id(id);
    react.set_seq(seq);
    react.set_reaction(name);
    if (!on) react.set_on(false);
    return frame;
  }
};
TM_IN_BOTH_DIALECTS(Reactions);

TEST_P(Reactions, ReachAllDevicesAndStandInTheRow) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b = device("b", Hello{.install = "one"});
  a.sent(user("b"), "lunch?");
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(1); }));
  const pb::ServerFrame done = b.call(react(id, 1, "👍", 1));
  ASSERT_TRUE(done.has_mutated()) << done.ShortDebugString();
  EXPECT_EQ(done.mutated().seq(), 2U);
  EXPECT_EQ(b.call(react(id, 1, "👍", 1)).mutated().seq(), 2U) << "the same number is answered the same";
  EXPECT_EQ(b.call(react(id, 1, "👍", 2)).mutated().seq(), 0U) << "it is so already";
  ASSERT_TRUE(a.wait_until([&] { return a.entries(id).contains(2); }));
  const pb::Message entry = a.entries(id).at(2);
  EXPECT_EQ(entry.kind(), pb::KIND_REACTION);
  EXPECT_EQ(entry.target(), 1U);
  EXPECT_EQ(entry.reaction_change().reaction(), "👍");
  EXPECT_TRUE(entry.reaction_change().on());
  ASSERT_EQ(entry.reactions_size(), 1);
  EXPECT_EQ(entry.reactions(0).count(), 1U);
  for (WsClient* reader : {&a, &b}) {
    const pb::HistoryPage history = reader->history(id);
    ASSERT_EQ(history.messages(0).reactions_size(), 1);
    EXPECT_EQ(history.messages(0).reactions(0).mine(), reader == &b);
    EXPECT_EQ(history.messages(0).reacted(), 2U);
  }
  EXPECT_EQ(a.conversation(id).unread(), 0U) << "a reaction is no message";

  a.recall(id, 1);
  EXPECT_EQ(code_of(b.call(react(id, 1, "no", 3))), "MESSAGE_DELETED");
  const pb::HistoryPage history = b.history(id);
  EXPECT_EQ(history.messages(0).reactions_size(), 0);
  EXPECT_FALSE(history.messages(1).has_reaction_change());
}

TEST_P(Reactions, WhoReactsComesInPagesBothWays) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  a.sent(user("b"), "lunch?");
  HttpClient http = this->http();
  const std::string target = "/v1/messages/" + id + ":1/reactions";
  for (const char* who : {"a", "b"}) {
    const HttpResponse done = http.post(target, token(who), R"({"reaction":"yes"})");
    EXPECT_EQ(done.status, 200) << done.body;
  }
  EXPECT_EQ(http.post(target, token("b"), R"({"reaction":"yes","on":false})").status, 200);
  EXPECT_EQ(http.post(target, token("b"), R"({"reaction":"late"})").status, 200);
  const auto first = parsed<pb::ReactionList>(http.get(target + "?limit=1", token("b")));
  ASSERT_EQ(first.users_size(), 1);
  EXPECT_EQ(first.users(0).user(), user("a"));
  ASSERT_FALSE(first.page_token().empty());
  const auto second =
      parsed<pb::ReactionList>(http.get(target + "?limit=1&page_token=" + first.page_token(), token("b")));
  ASSERT_EQ(second.users_size(), 1);
  EXPECT_EQ(second.users(0).reactions(0), "late");
  EXPECT_EQ(error_code(http.get(target + "?reaction=yes&page_token=" + first.page_token(), token("b"))), "BAD_TOKEN");
  EXPECT_EQ(error_code(http.get(target + "?page_token=" + first.page_token(), token("a"))), "BAD_TOKEN");
  EXPECT_EQ(error_code(http.get(target, token("c"))), "MESSAGE_NOT_FOUND");
  EXPECT_EQ(error_field(http.get(target, token("c"))), "message_id");
  EXPECT_EQ(error_code(http.post(target, token("b"), "{}")), "OUT_OF_RANGE");

  pb::ClientFrame frame;
  frame.mutable_reactions()->set_conversation_id(id);
  frame.mutable_reactions()->set_seq(1);
  frame.mutable_reactions()->set_reaction("late");
  const pb::ServerFrame answer = a.call(frame);
  ASSERT_EQ(answer.reactions().users_size(), 1) << answer.ShortDebugString();
  EXPECT_EQ(answer.reactions().users(0).user(), user("b"));
}

}  // namespace
}  // namespace tidemark::testing
