// Conversations of others answer exactly as those that do not exist, byte for byte, on every path.
#include <functional>

#include "core/conversation_id.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ForeignConversations : public BothDialects {
 protected:
  void SetUp() override {
    WsClient owner = device("a");
    owner.sent(user("b"), "a secret text");
    pb::ClientFrame create;
    create.mutable_create_group()->set_title("a secret title");
    create.mutable_create_group()->add_members(user("b"));
    group_ = owner.call(create).group().conversation_id();
    owner.sent_in(group_, "a secret text");
  }
  std::string group_;
};
TM_IN_BOTH_DIALECTS(ForeignConversations);

using Ask = std::function<pb::ClientFrame(const std::string&)>;

std::vector<std::pair<std::string, Ask>> questions() {
  return {
      {"history",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_history()->set_conversation_id(id);
         return frame;
       }},
      {"conversation_sync",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_conversation_sync()->set_conversation_id(id);
         return frame;
       }},
      {"conversation",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_conversation()->set_conversation_id(id);
         return frame;
       }},
      {"message",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_message()->set_message_id(id + ":1");
         return frame;
       }},
      {"send",
       [](const std::string& id) {
         pb::ClientFrame frame = send_frame("", "let me in", new_id());
         frame.mutable_send()->set_conversation_id(id);
         return frame;
       }},
      {"reply",
       [](const std::string& id) {
         pb::ClientFrame frame = send_frame("", "let me in", new_id());
         frame.mutable_send()->set_conversation_id(id);
         frame.mutable_send()->set_reply_to(1);
         return frame;
       }},
      {"read",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_mutate()->set_number(1);
         frame.mutable_mutate()->mutable_read()->set_conversation_id(id);
         frame.mutable_mutate()->mutable_read()->set_seq(1);
         return frame;
       }},
      {"mark_unread",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_mutate()->set_number(2);
         frame.mutable_mutate()->mutable_mark_unread()->set_conversation_id(id);
         return frame;
       }},
      {"group",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_group()->set_conversation_id(id);
         return frame;
       }},
      {"add_members",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_add_members()->set_conversation_id(id);
         frame.mutable_add_members()->add_users("x");
         return frame;
       }},
      {"remove_member",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_remove_member()->set_conversation_id(id);
         frame.mutable_remove_member()->set_user("x");
         return frame;
       }},
      {"change_group",
       [](const std::string& id) {
         pb::ClientFrame frame;
         frame.mutable_change_group()->set_conversation_id(id);
         frame.mutable_change_group()->set_title("mine now");
         return frame;
       }},
  };
}

TEST_P(ForeignConversations, AnswerOnTheSocketAsUnknownOnes) {
  WsClient stranger = device("stranger");
  const std::pair<std::string, std::string> pairs[] = {{chat("a", "b"), chat("a", "c")}, {group_, "group_999999999"}};
  for (const auto& [foreign, unknown] : pairs)
    for (const auto& [name, ask] : questions()) {
      SCOPED_TRACE(name + " " + foreign);
      const pb::ServerFrame one = stranger.call(ask(foreign));
      const pb::ServerFrame other = stranger.call(ask(unknown));
      ASSERT_TRUE(one.has_error());
      ASSERT_TRUE(other.has_error());
      EXPECT_EQ(one.error().SerializeAsString(), other.error().SerializeAsString()) << one.ShortDebugString() << "\n"
                                                                                    << other.ShortDebugString();
      EXPECT_THAT(one.error().code(), ::testing::AnyOf("CONVERSATION_NOT_FOUND", "MESSAGE_NOT_FOUND"));
    }
  EXPECT_TRUE(stranger.sync().empty());
}

TEST_P(ForeignConversations, AnswerByHttpAsUnknownOnes) {
  struct Call {
    std::string method;
    std::string path;  // with % for the conversation
    std::string body;
  };
  const std::vector<Call> calls = {
      {"GET", "/v1/conversations/%", ""},
      {"GET", "/v1/conversations/%/messages", ""},
      {"GET", "/v1/conversations/%/messages?at=1", ""},
      {"GET", "/v1/messages/%:1", ""},
      {"POST", "/v1/conversations/%/read", R"({"seq":1})"},
      {"POST", "/v1/conversations/%/unread", "{}"},
      {"GET", "/v1/groups/%", ""},
      {"PATCH", "/v1/groups/%", R"({"title":"mine"})"},
      {"POST", "/v1/groups/%/members", R"({"users":["x"]})"},
      {"DELETE", "/v1/groups/%/members/x", ""},
  };
  HttpClient http = this->http();
  const std::pair<std::string, std::string> pairs[] = {{chat("a", "b"), chat("a", "c")}, {group_, "group_999999999"}};
  for (const auto& [foreign, unknown] : pairs)
    for (const Call& call : calls) {
      const auto asked = [&](const std::string& id) {
        std::string path = call.path;
        path.replace(path.find('%'), 1, percent_encode(id));
        return http.call(call.method, path, token("stranger"), call.body);
      };
      SCOPED_TRACE(call.method + " " + call.path + " " + foreign);
      const HttpResponse one = asked(foreign);
      const HttpResponse other = asked(unknown);
      EXPECT_EQ(one.status, 404) << one.body;
      EXPECT_EQ(one.status, other.status);
      EXPECT_EQ(one.body, other.body);
      EXPECT_EQ(one.headers.all(), other.headers.all());
      EXPECT_THAT(one.body, Not(HasSubstr("secret")));
    }
}

TEST_P(ForeignConversations, IdsInAnotherFormAreToldTheRightOne) {
  WsClient a = device("a");
  const ParsedConversation parsed = *parse_conversation(ConversationId(chat("a", "b")));
  const std::string turned = parsed.b.value + "_" + parsed.a.value;
  for (const auto& [name, ask] : questions()) {
    if (name == "message") continue;
    const pb::ServerFrame answered = a.call(ask(turned));
    EXPECT_EQ(code_of(answered), "NON_CANONICAL_ID") << name;
    EXPECT_THAT(answered.error().message(), HasSubstr(chat("a", "b"))) << name;
  }
  for (const char* no_id : {"", "_", "a", "group_", "group_0", "group_x", "a_b_c", "%_b", "a%2_b", "a_b%zz"})
    for (const auto& [name, ask] : questions()) {
      const pb::ServerFrame answered = a.call(ask(no_id));
      EXPECT_THAT(code_of(answered), ::testing::AnyOf("MALFORMED", "NON_CANONICAL_ID")) << name << " " << no_id;
    }
}

}  // namespace
}  // namespace tidemark::testing
