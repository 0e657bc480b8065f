// users = "registered": whoever the administrator has not made is nobody, wherever he comes in, and is told so.
#include "world.h"

namespace tidemark::testing {
namespace {

class Registered : public OwnServer {
 protected:
  void SetUp() override {
    serve({.settings = {"users=registered"}});
    HttpClient admin = http();
    for (const char* name : {"alice", "bob"})
      ASSERT_EQ(admin.call("PUT", "/v1/admin/users/" + percent_encode(user(name)), server().admin_token(), "{}").status,
                200);
  }
  static void expect_unknown(const HttpResponse& answer, std::string_view field, const std::string& who) {
    EXPECT_EQ(answer.status, 404) << who;
    EXPECT_EQ(error_code(answer), "USER_NOT_FOUND") << who;
    EXPECT_EQ(error_field(answer), field) << answer.body;
    EXPECT_THAT(answer.body, ::testing::HasSubstr(who));
  }
};
TM_IN_BOTH_DIALECTS(Registered);

TEST_P(Registered, AStrangerIsNamedByHisTokenInEveryCall) {
  HttpClient client = http();
  const std::string mallory = token("mallory");
  const std::string id = chat("alice", "bob");
  expect_unknown(client.post("/v1/messages", mallory, send_json(user("alice"), "hi", new_id())), "token",
                 user("mallory"));
  expect_unknown(client.post("/v1/groups", mallory, R"({"title":"T","members":[")" + user("alice") + "\"]}"), "token",
                 user("mallory"));
  expect_unknown(client.post("/v1/conversations/" + id + "/read", mallory, R"({"seq":1})"), "token", user("mallory"));
  for (const std::string& target :
       {std::string("/v1/sync"), std::string("/v1/conversations"), "/v1/conversations/" + id,
        "/v1/conversations/" + id + "/messages", "/v1/messages/" + id + ":1", std::string("/v1/groups/group_1")})
    expect_unknown(client.get(target, mallory), "token", user("mallory"));
  const pb::ServerFrame refused = connect().hello(mallory);
  EXPECT_EQ(code_of(refused), "USER_NOT_FOUND");
  EXPECT_EQ(refused.error().field(), "token");
}

TEST_P(Registered, WhomTheyWriteToIsNamedByItsOwnField) {
  HttpClient client = http();
  const auto send_as = [&](std::string_view sender) {
    std::string body = send_json(user("bob"), "hi", new_id());
    body.insert(1, R"("sender":")" + user(sender) + R"(",)");
    return client.post("/v1/admin/messages", server().admin_token(), body);
  };
  expect_unknown(client.post("/v1/messages", token("alice"), send_json(user("zed"), "hi", new_id())), "to",
                 user("zed"));
  expect_unknown(client.post("/v1/groups", token("alice"), R"({"title":"T","members":[")" + user("zed") + "\"]}"),
                 "members", user("zed"));
  expect_unknown(send_as("zed"), "sender", user("zed"));
  EXPECT_EQ(send_as("alice").status, 201);
  EXPECT_EQ(client.post("/v1/admin/messages/" + chat("alice", "bob") + ":1/recall", server().admin_token(), "").status,
            200)
      << "an operator is no user";
  EXPECT_EQ(client.post("/v1/messages", token("alice"), send_json(user("bob"), "hi", new_id())).status, 201);
  EXPECT_EQ(client.get("/v1/sync", token("bob")).status, 200);
  EXPECT_TRUE(connect().hello(token("bob")).has_welcome());
}

}  // namespace
}  // namespace tidemark::testing
