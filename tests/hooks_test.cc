// The hooks of the real server, with an application that listens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "hooks/testing_receiver.h"
#include "notifications.h"
#include "wire/json_reader.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string& kSecret = kHookSecret;

pb::HookEvent event_in(const ReceivedPost& post) {
  pb::HookEvent event;
  EXPECT_TRUE(read_json(post.body, event)) << post.body;
  return event;
}

/// Events of the same id once, in the order of their first coming.
std::vector<pb::HookEvent> events_in(const std::vector<ReceivedPost>& posts) {
  std::vector<pb::HookEvent> events;
  std::set<std::string> seen;
  for (const ReceivedPost& post : posts) {
    EXPECT_TRUE(post.signed_well);
    pb::HookEvent event = event_in(post);
    if (seen.insert(event.id()).second) events.push_back(std::move(event));
  }
  return events;
}

ServerOptions hooked(const TestReceiver& receiver, std::vector<std::string> more = {}) {
  ServerOptions options;
  options.settings = {"hooks.url=" + receiver.url(), "hooks.secret=" + kSecret, "hooks.retry_ms=20",
                      "hooks.retry_max_ms=200"};
  for (std::string& each : more) options.settings.push_back(std::move(each));
  return options;
}

std::string send_body(const std::string& to, const std::string& text, const std::string& id) {
  return R"({"to":")" + to + R"(","client_msg_id":")" + id + R"(","body":{"text":")" + text + "\"}}";
}

TEST(Hooks, TheApplicationIsToldOfMessagesChangesGroupsAndDevices) {
  TestReceiver receiver(kSecret);
  ServerProcess server(hooked(receiver, {"devices.policy=single"}));
  HttpClient http(server.port());
  const std::string token = server.token("1");
  ASSERT_EQ(http.post("/v1/messages", token, send_body("2", "hello", new_id())).status, 201);
  ASSERT_EQ(http.call("PATCH", "/v1/messages/1_2:1", token, R"({"body":{"text":"hallo"}})").status, 200);
  ASSERT_EQ(http.post("/v1/messages/1_2:1/recall", token, "{}").status, 200);
  ASSERT_EQ(http.post("/v1/groups", token, R"({"title":"G","members":["2"]})").status, 201);
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() >= 4; }));
  {
    WsClient phone(server.port(), Dialect::json);
    phone.hello(token, {.device = "phone"});
    WsClient tablet(server.port(), Dialect::json);
    tablet.hello(server.newer_token("1"), {.device = "tablet"});
    ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() >= 7; }));
  }
  std::map<std::string, std::vector<std::string>> by_lane;
  for (const pb::HookEvent& each : events_in(receiver.taken()))
    by_lane[each.has_device() ? "devices" : each.conversation_id()].push_back(
        pb::HookKind_Name(each.kind()).substr(10) + (each.has_device() ? " " + each.device().device() : ""));
  EXPECT_THAT(by_lane["1_2"], ElementsAre("MESSAGE_SENT", "MESSAGE_EDITED", "MESSAGE_RECALLED"));
  EXPECT_THAT(by_lane["group_1"], ElementsAre("MEMBERS_CHANGED"));
  EXPECT_THAT(by_lane["devices"],
              ElementsAre("DEVICE_LOGGED_IN phone", "DEVICE_KICKED phone", "DEVICE_LOGGED_IN tablet"));
  // The last answer may still be on its way back to the server.
  double told = 0;
  for (int i = 0; told != 7 && i < 1'000; ++i) told = server.metric("tidemark_hook_events_told_total");
  EXPECT_EQ(told, 7);
}

TEST(Hooks, NothingAcknowledgedIsNeverToldThoughTheServerIsKilled) {
  std::atomic<int> count = 0;
  // Every third one is refused at first, so that much is on its way when the server dies.
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) { return ReceiverAnswer{count++ % 3 == 0 ? 503 : 200}; });
  ServerProcess server(hooked(receiver));
  std::set<std::string> acked;
  for (int round = 0; round < 5; ++round) {
    try {
      HttpClient http(server.port());
      for (int i = 0; i < 40; ++i) {
        const std::string to = std::to_string(2 + i % 3);
        const HttpResponse sent = http.post("/v1/messages", server.token("1"), send_body(to, "m", new_id()));
        if (sent.status == 201) acked.insert(parsed<pb::Sent>(sent).message_id());
      }
    } catch (const std::exception&) {
    }
    server.restart_hard();
  }
  ASSERT_EQ(acked.size(), 200u);
  const auto told = [&](const std::vector<ReceivedPost>& taken) {
    std::set<std::string> ids;
    for (const ReceivedPost& post : taken) ids.insert(event_in(post).entry().message_id());
    return ids == acked;
  };
  EXPECT_TRUE(receiver.wait_until(told));
  std::map<std::string, std::uint64_t> last;
  for (const pb::HookEvent& each : events_in(receiver.taken())) {
    EXPECT_GT(each.entry().seq(), last[each.conversation_id()]) << "in the order of its conversation";
    last[each.conversation_id()] = each.entry().seq();
  }
}

TEST(Hooks, AnAttachmentThatExpiresIsToldOfOnceThoughTheServerIsKilledBefore) {
  TestReceiver receiver(kSecret);
  ServerProcess server(hooked(receiver, {"hooks.messages=false"}));
  HttpClient http(server.port());
  const std::int64_t at = wall_ms() + 1'500;
  const auto send = [&](std::int64_t expires_at) {
    const std::string body = R"({"to":"2","client_msg_id":")" + new_id() +
                             R"(","body":{"attachments":[{"url":"https://f.example/1","expires_at":)" +
                             std::to_string(expires_at) + R"(},{"url":"https://f.example/2"}]}})";
    return http.post("/v1/messages", server.token("1"), body);
  };
  ASSERT_EQ(send(at).status, 201);
  ASSERT_EQ(send(at + 4'000'000'000).status, 201);
  const HttpResponse refused = send(-1);
  EXPECT_EQ(error_code(refused), "OUT_OF_RANGE");
  EXPECT_EQ(error_field(refused), "body.attachments[0].expires_at");
  server.restart_hard();
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return !taken.empty(); }));
  EXPECT_GE(wall_ms(), at);
  server.restart_hard();
  HttpClient again(server.port());
  const auto marker = R"({"title":"the end","members":["2"]})";
  ASSERT_EQ(again.post("/v1/groups", server.token("1"), marker).status, 201);
  const auto told = [](const auto& taken) { return event_in(taken.back()).kind() == pb::HOOK_KIND_MEMBERS_CHANGED; };
  ASSERT_TRUE(receiver.wait_until(told));
  const auto events = events_in(receiver.taken());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind(), pb::HOOK_KIND_ATTACHMENTS_EXPIRED);
  EXPECT_EQ(events[0].at(), at);
  EXPECT_EQ(events[0].entry().message_id(), "1_2:1");
  EXPECT_EQ(events[0].entry().body().attachments(0).expires_at(), at);
}

TEST(Hooks, WhatIsGivenUpIsListedAndToldAgain) {
  std::atomic<bool> takes = false;
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) { return ReceiverAnswer{takes ? 200 : 500}; });
  ServerProcess server(hooked(receiver, {"hooks.tries=2"}));
  HttpClient http(server.port());
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
  pb::DeadEvents dead;
  while (dead.events_size() == 0) dead = parsed<pb::DeadEvents>(http.get("/v1/admin/hooks/dead", server.admin_token()));
  ASSERT_EQ(dead.events_size(), 1);
  EXPECT_EQ(dead.events(0).kind(), pb::HOOK_KIND_MESSAGE_SENT);
  EXPECT_EQ(dead.events(0).conversation_id(), "1_2");
  EXPECT_EQ(dead.events(0).tries(), 2u);
  EXPECT_EQ(dead.events(0).last_error(), "It answered 500.");

  const auto cli = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {tidemark_program(), "hooks"});
    for (const std::string& word : {std::string("--data"), server.data(), std::string("--url"),
                                    "http://127.0.0.1:" + std::to_string(server.port())})
      words.push_back(word);
    return run_program(words);
  };
  const Finished listed = cli({"list"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(dead.events(0).id()));
  EXPECT_THAT(listed.out, HasSubstr("message sent"));
  EXPECT_EQ(cli({"replay"}).exit_code, 2) << "which ones?";
  takes = true;
  const Finished replayed = cli({"replay", dead.events(0).id()});
  EXPECT_EQ(replayed.out, "1 told again\n") << replayed.err;
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() == 1; }));
  EXPECT_EQ(event_in(receiver.taken()[0]).id(), dead.events(0).id());
  EXPECT_EQ(parsed<pb::Replayed>(http.post("/v1/admin/hooks/replay", server.admin_token(), "{}")).replayed(), 0u);
}

TEST(Hooks, DeadEventsComeInPages) {
  TestReceiver receiver(kSecret, [&](const ReceivedPost&) { return ReceiverAnswer{500}; });
  ServerProcess server(hooked(receiver, {"hooks.tries=1"}));
  HttpClient http(server.port());
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "m", new_id())).status, 201);
  while (server.metric("tidemark_hook_events_dead") < 5) {
  }
  std::vector<std::uint64_t> seqs;
  std::string token;
  do {
    const auto page = parsed<pb::DeadEvents>(
        http.get("/v1/admin/hooks/dead?limit=2" + (token.empty() ? "" : "&page_token=" + percent_encode(token)),
                 server.admin_token()));
    EXPECT_LE(page.events_size(), 2);
    for (const auto& each : page.events()) seqs.push_back(each.seq());
    token = page.page_token();
  } while (!token.empty());
  EXPECT_THAT(seqs, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(error_code(http.get("/v1/admin/hooks/dead", server.token("1"))), "BAD_TOKEN");
  EXPECT_EQ(error_field(http.post("/v1/admin/hooks/replay", server.admin_token(), R"({"ids":["x"]})")), "ids");
}

TEST(Hooks, TheServerMakesASecretOfItsOwnWhenNoneIsGiven) {
  TestReceiver receiver(kSecret);
  ServerOptions options;
  options.settings = {"hooks.url=" + receiver.url()};
  ServerProcess server(options);
  HttpClient http(server.port());
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
  ASSERT_TRUE(receiver.wait_until([](const auto& taken) { return taken.size() == 1; }));
  EXPECT_FALSE(receiver.taken()[0].signed_well) << "it is no secret that everybody knows";
  EXPECT_THAT(server.log(), Not(HasSubstr("hello")));
}

TEST(Hooks, ABadAddressOrSecretIsRefusedAtTheStart) {
  for (const std::string& bad : {"hooks.url=app.example.org", "hooks.secret=short"}) {
    ServerOptions options;
    options.settings = {bad};
    EXPECT_THROW(ServerProcess{options}, std::runtime_error) << bad;
  }
}

// ---------------------------------------------------------------------------------------------- before a message

pb::BeforeSend question_in(const ReceivedPost& post) {
  pb::BeforeSend question;
  EXPECT_TRUE(read_json(post.body, question)) << post.body;
  return question;
}

ServerOptions asking(const TestReceiver& receiver, std::vector<std::string> more = {}) {
  ServerOptions options;
  options.settings = {"hooks.before_send_url=" + receiver.url("/before"), "hooks.secret=" + kSecret};
  for (std::string& each : more) options.settings.push_back(std::move(each));
  return options;
}

/// Refuses "bad", amends "rude", takes all else.
ReceiverAnswer judge(const ReceivedPost& post) {
  const std::string text = question_in(post).body().text();
  if (text == "bad") return {200, R"({"refused":true,"code":"NO_BAD","reason":"Be nice."})"};
  if (text == "rude") return {200, R"({"body":{"text":"***"}})"};
  return {};
}

TEST(BeforeSend, TheApplicationMayRefuseOrAmend) {
  TestReceiver receiver(kSecret, judge);
  ServerProcess server(asking(receiver));
  HttpClient http(server.port());
  const std::string token = server.token("1");
  const HttpResponse refused = http.post("/v1/messages", token, send_body("2", "bad", new_id()));
  EXPECT_EQ(refused.status, 403);
  const pb::Error error = parsed<pb::ErrorAnswer>(refused).error();
  EXPECT_EQ(error.code(), "REFUSED_BY_APP");
  EXPECT_EQ(error.app_code(), "NO_BAD");
  EXPECT_THAT(error.message(), HasSubstr("Be nice."));

  const std::string id = new_id();
  const HttpResponse amended = http.post("/v1/messages", token, send_body("2", "rude", id));
  ASSERT_EQ(amended.status, 201);
  EXPECT_EQ(parsed<pb::Message>(http.get("/v1/messages/1_2:1", token)).body().text(), "***");
  EXPECT_EQ(http.post("/v1/messages", token, send_body("2", "rude", id)).status, 200) << "as the sender gave it";
  EXPECT_EQ(error_code(http.post("/v1/messages", token, send_body("2", "***", id))), "CLIENT_MSG_ID_CONFLICT");
  EXPECT_EQ(receiver.all().size(), 2u) << "a duplicate is not asked again";
  for (const ReceivedPost& post : receiver.all()) EXPECT_TRUE(post.signed_well);
  EXPECT_EQ(http.post("/v1/admin/messages", server.admin_token(),
                      R"({"sender":"1","to":"2","client_msg_id":"x","client_time":0,"body":{"text":"bad"}})")
                .status,
            201)
      << "it is not asked about what it sends itself";
}

TEST(BeforeSend, ASlowAnswerReordersNothingAndHoldsUpNobodyElse) {
  std::atomic<bool> go = false;
  TestReceiver receiver(kSecret, [&](const ReceivedPost& post) {
    while (!go && question_in(post).body().text() == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReceiverAnswer{};
  });
  ServerProcess server(asking(receiver, {"hooks.before_send_timeout_ms=60000"}));
  WsClient client(server.port(), Dialect::binary);
  client.hello(server.token("1"), {.device = "d"});
  const auto slow = client.post(send_frame("2", "slow", new_id()));
  std::vector<std::uint64_t> behind;
  for (const std::string& text : {"a", "b", "c"}) behind.push_back(client.post(send_frame("2", text, new_id())));
  const auto elsewhere = client.post(send_frame("3", "elsewhere", new_id()));
  client.wait_until([&] { return client.arrived(elsewhere).has_value(); });
  HttpClient http(server.port());
  ASSERT_EQ(http.post("/v1/messages", server.token("2"), send_body("1", "mine", new_id())).status, 201)
      << "into the same conversation, by somebody else";
  EXPECT_FALSE(client.arrived(behind.front()).has_value());
  go = true;
  client.wait_until([&] { return client.arrived(behind.back()).has_value(); });
  EXPECT_EQ(client.arrived(slow)->sent().seq(), 2u);
  for (std::size_t i = 0; i < behind.size(); ++i) EXPECT_EQ(client.arrived(behind[i])->sent().seq(), 3 + i);
}

TEST(BeforeSend, WhatCannotBeTakenAnywayIsNotAskedAbout) {
  TestReceiver receiver(kSecret, [](const ReceivedPost&) { return ReceiverAnswer{500, {}}; });
  ServerProcess server(asking(receiver));
  HttpClient http(server.port());
  const std::string token = server.token("1");
  const auto code = [&](const std::string& more) {
    return error_code(http.post("/v1/messages", token,
                                R"({"client_msg_id":")" + new_id() + R"(","body":{"text":"a"},)" + more + "}"));
  };
  EXPECT_EQ(code(R"("conversation_id":"group_7")"), "CONVERSATION_NOT_FOUND");
  EXPECT_EQ(code(R"("to":"2","reply_to":9)"), "MESSAGE_NOT_FOUND");
  EXPECT_EQ(code(R"("to":"2","mentions":["3"])"), "MALFORMED");
  ASSERT_EQ(http.call("PUT", "/v1/blocked/1", server.token("2"), "").status, 200);
  EXPECT_EQ(code(R"("to":"2")"), "BLOCKED");
  EXPECT_THAT(receiver.all(), IsEmpty());
  EXPECT_EQ(code(R"("to":"3")"), "HOOK_UNAVAILABLE");
  EXPECT_THAT(receiver.all(), ::testing::SizeIs(1));

  // What its sender has asked before counts, though it is not done yet.
  WsClient client(server.port(), Dialect::json);
  client.hello(server.token("2"), {.device = "d"});
  pb::ClientFrame unblock;
  unblock.mutable_mutate()->mutable_block()->set_user("1");
  unblock.mutable_mutate()->mutable_block()->set_blocked(false);
  client.post(unblock);
  const auto sent = client.post(send_frame("1", "b", new_id()));
  EXPECT_EQ(code_of(client.answer(sent)), "HOOK_UNAVAILABLE");
}

TEST(BeforeSend, WithoutAnAnswerTheSettingDecides) {
  int port = 0;
  {
    TestReceiver gone(kSecret);
    port = gone.port();
  }
  const std::string nobody = "hooks.before_send_url=http://127.0.0.1:" + std::to_string(port);
  for (const std::string& rule : {"allow", "refuse"}) {
    ServerOptions options;
    options.settings = {nobody, "hooks.secret=" + kSecret, "hooks.when_down=" + rule};
    ServerProcess server(options);
    HttpClient http(server.port());
    const HttpResponse answer = http.post("/v1/messages", server.token("1"), send_body("2", "a", new_id()));
    EXPECT_EQ(answer.status, rule == "allow" ? 201 : 503);
    if (rule == "refuse") EXPECT_EQ(error_code(answer), "HOOK_UNAVAILABLE");
  }
}

// ------------------------------------------------------------------------------------------------- notifications

TEST(Notify, WhoHasNoDeviceIsToldWithBadgeAndDevicesAndItIsTakenAwayWhenHeReads) {
  TestReceiver receiver(kSecret);
  ServerProcess server(notifying(receiver));
  HttpClient http(server.port());
  {
    WsClient phone(server.port(), Dialect::json);
    phone.hello(server.token("2"), {.device = "phone"});
    ASSERT_EQ(http.call("PATCH", "/v1/devices/phone", server.token("2"), R"({"push_token":"abc"})").status, 200);
  }
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
  ASSERT_TRUE(receiver.wait_until(any_tells("2", "1_2:1")));
  const ReceivedPost first = receiver.taken()[0];
  EXPECT_TRUE(first.signed_well);
  const pb::HookNotification told = notification_in(first);
  EXPECT_EQ(told.badge(), 1u);
  EXPECT_EQ(told.conversations(0).text(), "hello");
  ASSERT_EQ(told.devices_size(), 1);
  EXPECT_EQ(told.devices(0).push_token(), "abc");

  ASSERT_EQ(http.post("/v1/conversations/1_2/read", server.token("2"), R"({"seq":1})").status, 200);
  ASSERT_TRUE(receiver.wait_until(any_withdraws("2", "1_2")));
  EXPECT_EQ(notification_in(receiver.taken().back()).badge(), 0u);
}

TEST(Notify, S122_ADeviceThatVanishedIsNotWaitedForUntilItsHeartbeatsAreMissed) {
  TestReceiver receiver(kSecret);
  // A heartbeat is missed after 90 s; the user is told long before.
  ServerProcess server(notifying(receiver, {"hooks.notify_after_ms=1000"}));
  WsClient phone(server.port(), Dialect::json);
  phone.login(server.token("2"), {.device = "phone"});
  const pb::Cursor away = phone.cursor();
  HttpClient http(server.port());
  const std::int64_t sent_ms = steady_ms();
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
  ASSERT_TRUE(receiver.wait_until(any_tells("2", "1_2:1")));
  EXPECT_GE(steady_ms() - sent_ms, 1'000) << "it had that long to acknowledge";
  EXPECT_LT(steady_ms() - sent_ms, 60'000);
  // On its return: from where it stands it is told of the message once, and the log has it once.
  WsClient back(server.port(), Dialect::json);
  ASSERT_TRUE(back.hello(server.token("2"), {.device = "phone", .cursor = away}).has_welcome());
  ASSERT_TRUE(back.wait_until([&] { return !back.pushed.empty(); }));
  back.ack(back.pushed.back().index_to());
  back.listen_for(200);
  ASSERT_EQ(back.pushed.size(), 1u);
  EXPECT_EQ(back.pushed[0].entry().message_id(), "1_2:1");
  EXPECT_EQ(texts_of(whole_history(back, "1_2")).size(), 1u);
}

TEST(Notify, WhoWasAcknowledgedIsNotToldAndARecallTakesAway) {
  TestReceiver receiver(kSecret);
  ServerProcess server(notifying(receiver, {"hooks.notify_after_ms=1000", "hooks.notify_text=false"}));
  HttpClient http(server.port());
  WsClient phone(server.port(), Dialect::json);
  phone.login(server.token("2"), {.device = "phone"});
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "seen", new_id())).status, 201);
  ASSERT_TRUE(phone.wait_until([&] { return !phone.pushed.empty(); }));
  phone.ack(phone.pushed.back().index_to());
  // Somebody else is told: by then the first message's time has passed too.
  for (const char* text : {"a", "secret words"})
    ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("3", text, new_id())).status, 201);
  ASSERT_TRUE(receiver.wait_until(any_tells("3", "1_3:2")));
  ASSERT_EQ(http.post("/v1/messages/1_3:1/recall", server.token("1"), "{}").status, 200);
  ASSERT_EQ(http.post("/v1/messages/1_3:2/recall", server.token("1"), "{}").status, 200);
  ASSERT_TRUE(receiver.wait_until(any_withdraws("3", "1_3")));
  for (const ReceivedPost& post : receiver.all()) {
    EXPECT_NE(notification_in(post).user(), "2");
    EXPECT_EQ(post.body.find("secret words"), std::string::npos);
  }
}

TEST(Notify, WhatWasMissedWhenTheServerDiedIsToldAtTheNextStart) {
  auto receiver = std::make_unique<TestReceiver>(kSecret, [](const ReceivedPost&) { return ReceiverAnswer{503}; });
  const int port = receiver->port();
  ServerProcess server(notifying(*receiver, {"hooks.retry_ms=60000", "hooks.retry_max_ms=60000"}));
  HttpClient http(server.port());
  ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
  server.kill_hard();
  receiver.reset();
  TestReceiver back(kSecret, nullptr, port);
  server.start();
  ASSERT_TRUE(back.wait_until(any_tells("2", "1_2:1")));
  server.restart_hard();
  HttpClient again(server.port());
  ASSERT_EQ(again.post("/v1/messages", server.token("1"), send_body("3", "other", new_id())).status, 201);
  ASSERT_TRUE(back.wait_until(any_tells("3", "1_3:1")));
}

TEST(Notify, TheExampleChecksTheSignatureAndShapesWhatPhonesAreSent) {
  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "examples" / "hook_receiver").string();
  const pid_t pid = spawn_program({program, "0", kSecret}, {.out = out[1]});
  ::close(out[1]);
  std::FILE* lines = ::fdopen(out[0], "r");
  char line[4'096];
  ASSERT_NE(std::fgets(line, sizeof line, lines), nullptr);
  const std::string url = std::string(line).substr(0, std::string(line).find('\n'));
  ServerOptions options;
  options.settings = {"hooks.notify_url=" + url + "/notify", "hooks.before_send_url=" + url + "/before_send",
                      "hooks.secret=" + kSecret};
  {
    ServerProcess server(options);
    HttpClient http(server.port());
    for (const auto& [device, platform] : {std::pair("iphone", "ios"), std::pair("pixel", "android")}) {
      WsClient phone(server.port(), Dialect::json);
      phone.hello(server.token("2"), {.device = device, .platform = platform});
      ASSERT_EQ(http.call("PATCH", std::string("/v1/devices/") + device, server.token("2"),
                          std::string(R"({"push_token":"token of )") + device + "\"}")
                    .status,
                200);
    }
    EXPECT_EQ(error_code(http.post("/v1/messages", server.token("1"), send_body("2", "forbidden", new_id()))),
              "REFUSED_BY_APP");
    ASSERT_EQ(http.post("/v1/messages", server.token("1"), send_body("2", "hello", new_id())).status, 201);
    std::string printed;
    const auto there = [&](const char* text) { return printed.find(text) != std::string::npos; };
    while (!(there("FCM ") && there("APNs ")) && std::fgets(line, sizeof line, lines) != nullptr) printed += line;
    EXPECT_THAT(printed, HasSubstr(R"(APNs token of iphone {"aps":{"alert":{"title":"1","body":"hello"},"badge":1)"));
    EXPECT_THAT(printed, HasSubstr(R"("token":"token of pixel")"));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  std::fclose(lines);
}

}  // namespace
}  // namespace tidemark::testing
