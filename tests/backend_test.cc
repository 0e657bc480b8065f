// Server to server: sending for others and for the system, in bulk, importing, and asking twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BackendApi : public ::testing::Test {
 protected:
  HttpResponse admin(const std::string& target, const std::string& body, const HeaderList& headers = {}) {
    return http_.call("POST", target, server_.admin_token(), body, headers);
  }
  HttpResponse user(const std::string& name, std::string_view method, const std::string& target,
                    const std::string& body, const std::string& key) {
    return http_.call(method, target, server_.token(name), body, {{"Idempotency-Key", key}});
  }
  std::vector<std::string> history(const std::string& user, const std::string& conversation) {
    std::vector<std::string> found;
    const auto page =
        parsed<pb::HistoryPage>(http_.get("/v1/conversations/" + conversation + "/messages", server_.token(user)));
    for (const pb::Message& each : page.messages())
      if (each.kind() == pb::KIND_MESSAGE)
        found.push_back(std::to_string(each.server_time()) + " " + each.sender() + " " + each.body().text());
    return found;
  }
  Finished import_file(const std::string& text, std::vector<std::string> flags = {}) {
    const std::string path = server_.data() + "/import.jsonl";
    std::ofstream(path) << text;
    std::vector<std::string> words = {
        tidemark_program(), "import", path,
        "--name",           "old",    "--data",
        server_.data(),     "--url",  "http://127.0.0.1:" + std::to_string(server_.port())};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program(words);
  }

  ServerProcess server_;
  HttpClient http_{server_.port()};
};

TEST_F(BackendApi, TheSystemSpeaksToAGroupWithoutASender) {
  ASSERT_EQ(admin("/v1/admin/groups", R"({"title":"G","owner":"1","members":["2"]})").status, 201);
  const std::string body = R"({"system":true,"conversation_id":"group_1","client_msg_id":"s1","body":{"text":"soon"}})";
  ASSERT_EQ(admin("/v1/admin/messages", body).status, 201);
  EXPECT_EQ(admin("/v1/admin/messages", body).status, 200);
  ASSERT_EQ(history("2", "group_1").size(), 1u);
  EXPECT_THAT(history("2", "group_1")[0], HasSubstr("  soon"));
  EXPECT_EQ(error_field(admin("/v1/admin/messages", R"({"conversation_id":"group_1","client_msg_id":"x","body":{}})")),
            "sender");
  EXPECT_EQ(error_code(http_.post("/v1/messages", server_.token("1"), body)), "FORBIDDEN");
}

TEST_F(BackendApi, WhoSendsAsAUserIsBoundByBlocksAndTheSystemIsNot) {
  const auto as_1 = [&](const std::string& id) {
    return admin("/v1/admin/messages",
                 R"({"sender":"1","to":"2","client_msg_id":")" + id + R"(","body":{"text":"hi"}})");
  };
  ASSERT_EQ(as_1("first").status, 201);
  ASSERT_EQ(http_.call("PUT", "/v1/blocked/1", server_.token("2")).status, 200);
  const HttpResponse refused = as_1("second");
  EXPECT_EQ(error_code(refused), "BLOCKED");
  EXPECT_EQ(error_field(refused), "to");
  EXPECT_EQ(as_1("first").status, 200) << "what was taken before is answered as it was";
  const HttpResponse by_system = admin(
      "/v1/admin/messages", R"({"system":true,"conversation_id":"1_2","client_msg_id":"s","body":{"text":"soon"}})");
  EXPECT_EQ(by_system.status, 201) << by_system.body;
  EXPECT_EQ(history("2", "1_2").size(), 2u);
  ASSERT_EQ(http_.call("DELETE", "/v1/blocked/1", server_.token("2")).status, 200);
  EXPECT_EQ(as_1("second").status, 201) << "the id was not used up";
}

TEST_F(BackendApi, UsersAndGroupsComeInBulkAndEachIsAnsweredForItself) {
  const auto users = parsed<pb::BulkAnswer>(
      admin("/v1/admin/users", R"({"users":[{"user":"1","level":"vip"},{"user":"2","level":"king"},{"user":"3"}]})"));
  ASSERT_EQ(users.results_size(), 3);
  EXPECT_EQ(users.results(0).user().level(), "vip");
  EXPECT_EQ(users.results(1).error().code(), "OUT_OF_RANGE");
  EXPECT_EQ(users.results(2).user().user(), "3");
  const std::string groups = R"({"groups":[{"title":"A","owner":"1","members":["3"],"idempotency_key":"a"},)"
                             R"({"title":"","owner":"1","idempotency_key":"b"}]})";
  const auto made = parsed<pb::BulkAnswer>(admin("/v1/admin/groups/bulk", groups));
  EXPECT_EQ(made.results(0).group().conversation_id(), "group_1");
  EXPECT_EQ(made.results(1).error().field(), "title");
  const auto again = parsed<pb::BulkAnswer>(admin("/v1/admin/groups/bulk", groups));
  EXPECT_TRUE(again.results(0).group().duplicate());
  EXPECT_EQ(error_field(admin("/v1/admin/groups/bulk", R"({"groups":[{"title":"A","owner":"1"}]})")), "groups");
}

TEST_F(BackendApi, WhatIsAskedTwiceUnderAKeyIsDoneOnce) {
  ASSERT_EQ(admin("/v1/admin/groups", R"({"title":"G","owner":"1","members":["2"]})").status, 201);
  const std::string add = R"({"users":["3"]})";
  ASSERT_EQ(user("1", "POST", "/v1/groups/group_1/members", add, "k1").status, 200);
  ASSERT_EQ(user("1", "DELETE", "/v1/groups/group_1/members/3", "", "k2").status, 200);
  const auto again = parsed<pb::Group>(user("1", "POST", "/v1/groups/group_1/members", add, "k1"));
  EXPECT_EQ(again.members_size(), 2) << "he was removed meanwhile, and stays so";
  EXPECT_EQ(error_code(user("1", "POST", "/v1/groups/group_1/members", R"({"users":["4"]})", "k1")),
            "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(error_field(user("1", "POST", "/v1/groups/group_1/members", add, std::string(65, 'x'))), "idempotency_key");
  EXPECT_EQ(error_field(admin("/v1/admin/groups/group_1/members", add, {{"Idempotency-Key", std::string(65, 'x')}})),
            "idempotency_key");
  ASSERT_EQ(admin("/v1/admin/groups/group_1/members", add, {{"Idempotency-Key", "k1"}}).status, 200)
      << "an administrator's keys are his own";

  WsClient socket(server_.port(), Dialect::json);
  socket.hello(server_.token("1"), {.device = "d"});
  pb::ClientFrame rename;
  rename.mutable_change_group()->set_conversation_id("group_1");
  rename.mutable_change_group()->set_title("First");
  rename.set_idempotency_key("s1");
  EXPECT_EQ(socket.call(rename).group().title(), "First");
  pb::ClientFrame other = rename;
  other.mutable_change_group()->set_title("Second");
  other.set_idempotency_key("s2");
  EXPECT_EQ(socket.call(other).group().title(), "Second");
  EXPECT_EQ(socket.call(rename).group().title(), "Second");
  EXPECT_EQ(socket.call(other).group().title(), "Second");
  pb::ClientFrame read;
  read.mutable_history()->set_conversation_id("group_1");
  read.set_idempotency_key("s3");
  EXPECT_EQ(socket.call(read).error().field(), "idempotency_key");
}

const std::string kOld =
    R"({"group":{"source_id":"room","title":"Room","owner":"1","members":["2"],"created_at":1600000000000}}
{"group":{"source_id":"room"},"messages":[{"source_id":"m1","sender":"2","server_time":1600000001000,"body":{"text":"Hi"}}]}
{"group":{"source_id":"room"},"messages":[{"source_id":"m2","sender":"1","server_time":1600000002000,"reply_to":"m1","body":{"text":"Hello"}}]}
{"group":{"source_id":"room"},"reads":[{"user":"1","source_id":""}]}

{"conversation_id":"1_2","messages":[{"source_id":"s1","sender":"1","server_time":1600000003000,"body":{"text":"You?"}}]}
)";

TEST_F(BackendApi, AFileOfOldConversationsIsTakenOverOnce) {
  const Finished dry = import_file(kOld, {"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_EQ(dry.out, "would be: 3 added, 0 known before\n");
  const Finished first = import_file(kOld);
  EXPECT_EQ(first.out, "3 added, 0 known before\n") << first.err;
  EXPECT_EQ(import_file(kOld).out, "0 added, 3 known before\n");
  const Finished folder = run_program({tidemark_program(), "import", server_.data(), "--name", "old", "--data",
                                       server_.data(), "--url", "http://127.0.0.1:" + std::to_string(server_.port())});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("cannot be read"));
  EXPECT_THAT(history("1", "group_1"), ElementsAre("1600000001000 2 Hi", "1600000002000 1 Hello"));
  EXPECT_THAT(history("2", "1_2"), ElementsAre("1600000003000 1 You?"));
  const auto room = parsed<pb::Change>(http_.get("/v1/conversations/group_1", server_.token("1")));
  EXPECT_EQ(room.unread(), 1u) << "he has read nothing there";
  EXPECT_EQ(parsed<pb::Change>(http_.get("/v1/conversations/group_1", server_.token("2"))).unread(), 0u);
}

/// As many messages as asked, each of so many bytes, with commas or the like between.
std::string many_messages(const std::string& name, int count, std::size_t bytes, const std::string& before,
                          const std::string& after) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += before + R"({"source_id":")" + name + std::to_string(i) + R"(","sender":"1","server_time":)" +
            std::to_string(1'600'000'000'000 + i) + R"(,"body":{"text":")" + std::string(bytes, 'x') + "\"}}" +
            (i + 1 < count ? after : "");
  return text;
}

TEST_F(BackendApi, ALongFileIsTakenOverHoweverItIsWritten) {
  const auto lines = [](const std::string& conversation, int count, std::size_t bytes) {
    return many_messages(conversation, count, bytes, R"({"conversation_id":")" + conversation + R"(","messages":[)",
                         "]}\n") +
           "]}\n";
  };
  const Finished many = import_file(lines("1_2", 1'203, 5));
  EXPECT_EQ(many.out, "1203 added, 0 known before\n") << many.err;
  const Finished large = import_file(lines("1_3", 60, 40'000));
  EXPECT_EQ(large.out, "60 added, 0 known before\n") << large.err;
  const Finished one_line =
      import_file(R"({"conversation_id":"1_4","messages":[)" + many_messages("m", 1'203, 1'000, "", ",") + "]}\n");
  EXPECT_EQ(one_line.out, "1203 added, 0 known before\n") << one_line.err;
}

TEST_F(BackendApi, ACallTakesAsManyAsItSays) {
  const auto import_call = [&](int count) {
    return admin("/v1/admin/import",
                 R"({"name":"n","conversation_id":"1_2","messages":[)" + many_messages("m", count, 5, "", ",") + "]}");
  };
  EXPECT_EQ(error_code(import_call(1'001)), "LIMIT_REACHED");
  EXPECT_EQ(parsed<pb::Imported>(import_call(1'000)).added(), 1'000u);
  std::string users;
  for (int i = 0; i < 1'000; ++i)
    users += (i == 0 ? "" : ",") + (R"({"user":"u)" + std::to_string(i) + R"(","level":"vip"})");
  const auto put = parsed<pb::BulkAnswer>(admin("/v1/admin/users", "{\"users\":[" + users + "]}"));
  ASSERT_EQ(put.results_size(), 1'000);
  EXPECT_EQ(put.results(999).user().level(), "vip");
  std::string groups;
  for (int i = 0; i < 100; ++i)
    groups += (i == 0 ? "" : ",") + (R"({"title":"G","owner":"u1","members":["u2"],"history_for_newcomers":"last",)"
                                     R"("history_last":5,"idempotency_key":"k)" +
                                     std::to_string(i) + "\"}");
  const auto made = parsed<pb::BulkAnswer>(admin("/v1/admin/groups/bulk", "{\"groups\":[" + groups + "]}"));
  ASSERT_EQ(made.results_size(), 100);
  EXPECT_EQ(made.results(99).group().conversation_id(), "group_100");
  std::string named;
  for (int i = 0; i < 1'000; ++i) named += (i == 0 ? "\"u" : ",\"u") + std::to_string(i) + '"';
  const auto grown = parsed<pb::Group>(admin("/v1/admin/groups/group_1/members", "{\"users\":[" + named + "]}"));
  EXPECT_EQ(grown.member_count(), 1'000u);
}

TEST_F(BackendApi, AFileThatIsWrongSaysWhere) {
  const Finished broken = import_file("{\"conversation_id\":\"1_2\"}\n{\"messagess\":[]}\n");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.err, HasSubstr("import.jsonl:2: messagess: "));
  EXPECT_THAT(broken.err, HasSubstr("Nothing was imported."));
  const Finished no_json = import_file("{\"conversation_id\":\"1_2\"}\n{\n");
  EXPECT_THAT(no_json.err, HasSubstr("Nothing was imported."));
  EXPECT_THAT(no_json.err, ::testing::Not(HasSubstr("()"))) << "a text without end has no field at fault";
  const Finished late = import_file(
      R"({"conversation_id":"1_2","messages":[{"source_id":"b","sender":"1","server_time":1600000003000,"body":{"text":"b"}},)"
      R"({"source_id":"a","sender":"1","server_time":1600000002000,"body":{"text":"a"}}]})");
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.err, HasSubstr("IMPORT_OUT_OF_ORDER (messages[1].server_time)"));
}

TEST_F(BackendApi, ADeviceThatIsThereLearnsOfAnImport) {
  WsClient device(server_.port(), Dialect::binary);
  device.login(server_.token("2"), {.device = "d"});
  ASSERT_EQ(import_file(kOld).exit_code, 0);
  EXPECT_TRUE(device.wait_until([&] { return !device.hints.empty(); }));
  EXPECT_TRUE(device.pushed.empty());
  const auto changes = device.sync();
  EXPECT_TRUE(changes.contains("group_1"));
  EXPECT_TRUE(changes.contains("1_2"));
}

}  // namespace
}  // namespace tidemark::testing
