// Devices of a user: who may be logged in, who is told to go, and that nothing of theirs gets through afterwards.
#include <atomic>

#include "client/client.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeviceConformance : public OwnServer {
 protected:
  /// The kick that ends the link, or "".
  static std::string kicked(WsClient& client) {
    client.wait_until([&] { return !client.kicks.empty(); });
    if (client.kicks.empty() || !client.kicks.front().terminal()) return {};
    client.wait_closed();
    return client.kicks.front().code();
  }
  std::string refusal(std::string_view token, const Hello& how) {
    WsClient client = connect();
    return code_of(client.hello(token, how));
  }
  /// How HTTP answers a read and a send of this token.
  std::vector<std::string> over_http(std::string_view token, const std::string& device) {
    HttpClient http = this->http();
    const HeaderList headers{{"Tidemark-Device", device}};
    return {error_code(http.call("GET", "/v1/conversations", token, {}, headers)),
            error_code(http.call("POST", "/v1/messages", token, send_json(user("b"), "by http", new_id()), headers))};
  }
  HttpResponse admin(std::string_view method, const std::string& target) {
    HttpClient http = this->http();
    return http.call(method, target, server().admin_token());
  }
};
TM_IN_BOTH_DIALECTS(DeviceConformance);

TEST_P(DeviceConformance, S113_SinglePolicy) {
  serve({.settings = {"devices.policy=single"}});
  const std::string token = this->token("a");
  WsClient a1 = device("a", "A1");
  EXPECT_TRUE(a1.send(user("b"), "before").has_sent());
  WsClient a2 = connect();
  ASSERT_TRUE(a2.hello(server().newer_token(user("a")), {.device = "A2"}).has_welcome());
  // Once A2 is welcome nothing of A1 is taken any more, though its client has not yet seen the kick.
  const std::uint64_t late = a1.post(send_frame(user("b"), "after", new_id()));
  EXPECT_EQ(kicked(a1), "OTHER_DEVICE");
  EXPECT_FALSE(a1.arrived(late).has_value());
  EXPECT_EQ(refusal(token, {.device = "A1"}), "OTHER_DEVICE");
  EXPECT_THAT(over_http(token, "A1"), ElementsAre("OTHER_DEVICE", "OTHER_DEVICE"));
  a2.sync();
  EXPECT_THAT(texts_of(whole_history(a2, chat("a", "b"))), ElementsAre("before"));
}

TEST_P(DeviceConformance, S113_TheClientStopsReconnecting) {
  serve({.settings = {"devices.policy=single"}});
  ClientOptions options;
  options.url = "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws";
  options.user = user("a");
  options.device = "A1";
  options.dialect = GetParam();
  options.retry_min_ms = options.retry_max_ms = 1;
  std::atomic<int> asked = 0;
  std::string token = this->token("a");
  options.token = [&] { return ++asked, token; };
  auto a1 = Client::start(options);
  ASSERT_TRUE(a1);
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  WsClient a2 = connect();
  ASSERT_TRUE(a2.hello(server().newer_token(user("a")), {.device = "A2"}).has_welcome());
  const auto refused = [&] {
    while (auto event = (*a1)->next_event(patience_ms()))
      if (const auto* link = std::get_if<LinkEvent>(&*event); link && link->state == LinkState::refused)
        return link->kick;
    return std::string();
  };
  EXPECT_EQ(refused(), "OTHER_DEVICE");
  (*a1)->reconnect();  // the user insists, with the token that is not good any more
  EXPECT_EQ(refused(), "OTHER_DEVICE");
  const int attempts = asked;
  a2.listen_for(100);
  EXPECT_EQ(asked, attempts) << "it stays away";
  EXPECT_THAT(a2.kicks, IsEmpty());
}

TEST_P(DeviceConformance, S114_OnePerPlatform) {
  serve({.settings = {"devices.policy=one_per_platform"}});
  WsClient p1 = device("a", {.device = "P1", .platform = "ios"});
  WsClient d1 = device("a", {.device = "D1", .platform = "mac"});
  WsClient p2 = device("a", {.device = "P2", .platform = "ios"});
  EXPECT_EQ(kicked(p1), "OTHER_DEVICE");
  EXPECT_TRUE(d1.send(user("b"), "from the desk").has_sent());
  EXPECT_TRUE(p2.send(user("b"), "from the new phone").has_sent());
  EXPECT_THAT(d1.kicks, IsEmpty());
}

TEST_P(DeviceConformance, S115_TheSixthOfFive) {
  serve({.settings = {"devices.max=5"}});
  std::vector<WsClient> devices;
  for (int i = 1; i <= 5; ++i) devices.push_back(device("a", "A" + std::to_string(i)));
  // A1 has been here since and is seen so at its end; A2 is the least recently active.
  devices[0] = device("a", "A1");
  WsClient sixth = device("a", "A6");
  EXPECT_EQ(kicked(devices[1]), "OTHER_DEVICE");
  for (const std::size_t i : {0, 2, 3, 4}) {
    EXPECT_TRUE(devices[i].send(user("b"), "still here").has_sent());
    EXPECT_THAT(devices[i].kicks, IsEmpty()) << "A" << i + 1;
  }
}

TEST_P(DeviceConformance, S115_OrTheSixthIsRefused) {
  serve({.settings = {"devices.max=5", "devices.when_full=refuse"}});
  std::vector<WsClient> devices;
  for (int i = 1; i <= 5; ++i) devices.push_back(device("a", "A" + std::to_string(i)));
  EXPECT_EQ(refusal(token("a"), {.device = "A6"}), "TOO_MANY_DEVICES");
  for (WsClient& each : devices) EXPECT_TRUE(each.send(user("b"), "still here").has_sent());
  HttpClient http = this->http();
  EXPECT_EQ(http.post("/v1/devices/A3/logout", token("a"), "").status, 200);
  device("a", "A6");
}

TEST_P(DeviceConformance, S119_TheSameDeviceOnAnotherNetwork) {
  serve({.settings = {"limits.push_again_ms=1000"}});
  Hello how{.device = "A1", .install = "i1"};
  WsClient old_link = connect();
  how.generation = old_link.login(token("a"), how).session_generation();
  WsClient b1 = device("b");
  b1.sent(user("a"), "one");
  ASSERT_TRUE(old_link.wait_until([&] { return old_link.pushed.size() == 1; }));
  old_link.ack(1);
  how.cursor = old_link.cursor();

  WsClient new_link = connect();
  const pb::ServerFrame welcome = new_link.hello(token("a"), how);
  ASSERT_TRUE(welcome.has_welcome());
  EXPECT_EQ(welcome.welcome().mode(), pb::MODE_DELTA);
  EXPECT_EQ(welcome.welcome().behind(), 0U) << "the cursor goes on";
  b1.sent(user("a"), "two");
  ASSERT_TRUE(new_link.wait_until([&] { return new_link.pushed.size() == 1; })) << "and nothing comes twice";
  old_link.ack(2);  // late: it acknowledges nothing
  EXPECT_TRUE(new_link.wait_until([&] { return new_link.pushed.size() == 2; }))
      << "pushed again, since not acknowledged";
  EXPECT_EQ(new_link.pushed[1].entry().body().text(), "two");
  new_link.ack(2);
  EXPECT_EQ(kicked(old_link), "REPLACED");
  EXPECT_THAT(old_link.pushed, SizeIs(1));
  {
    const WsClient gone = std::move(old_link);
  }
  EXPECT_TRUE(new_link.send(user("b"), "three").has_sent());
  EXPECT_THAT(new_link.kicks, IsEmpty());
}

TEST_P(DeviceConformance, S120_AKickedDeviceKeepsItsOutbox) {
  serve({.settings = {"devices.policy=single"}});
  ClientOptions options;
  options.url = "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws";
  options.user = user("a");
  options.device = "A1";
  options.dialect = GetParam();
  std::atomic<bool> fresh = false;
  options.token = [&] { return fresh ? server().newer_token(user("a")) : token("a"); };
  auto a1 = Client::start(options);
  ASSERT_TRUE(a1);
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  WsClient a2 = connect();
  ASSERT_TRUE(a2.hello(server().newer_token(user("a")), {.device = "A2"}).has_welcome());
  const auto wait_for = [&](LinkState state) {
    while ((*a1)->link() != state)
      if (!(*a1)->next_event(patience_ms())) return false;
    return true;
  };
  ASSERT_TRUE(wait_for(LinkState::refused));
  ASSERT_TRUE((*a1)->send_text(user("b"), "written after the kick"));
  EXPECT_THAT((*a1)->outbox(), SizeIs(1));
  a2.listen_for(100);
  EXPECT_THAT((*a1)->outbox(), SizeIs(1)) << "kept";
  EXPECT_THAT(a2.sync(), IsEmpty()) << "and not sent";
  fresh = true;
  (*a1)->reconnect();
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  EXPECT_EQ(kicked(a2), "OTHER_DEVICE");
  WsClient b1 = device("b");
  EXPECT_THAT(texts_of(whole_history(b1, chat("a", "b"))), ElementsAre("written after the kick")) << "once";
}

TEST_P(DeviceConformance, S126_APasswordIsChanged) {
  serve();
  const std::string token = this->token("a");
  WsClient a1 = device("a", "A1");
  WsClient a2 = device("a", "A2");
  a1.sent(user("b"), "before");
  const HttpResponse out = admin("POST", "/v1/admin/users/" + user("a") + "/logout");
  EXPECT_EQ(out.status, 200) << out.body;
  for (const pb::Device& each : parsed<pb::DeviceList>(out).devices())
    EXPECT_EQ(each.state(), pb::DEVICE_STATE_LOGGED_OUT);
  pb::ClientFrame read;
  read.mutable_mutate()->set_number(1);
  read.mutable_mutate()->mutable_read()->set_conversation_id(chat("a", "b"));
  for (WsClient* each : {&a1, &a2}) {
    const std::uint64_t late = each->post(read);
    EXPECT_EQ(kicked(*each), "LOGGED_OUT");
    EXPECT_FALSE(each->arrived(late).has_value());
  }
  for (const char* device : {"A1", "A2", "A3"}) {
    EXPECT_EQ(refusal(token, {.device = device}), "LOGGED_OUT");
    EXPECT_THAT(over_http(token, device), ElementsAre("LOGGED_OUT", "LOGGED_OUT"));
  }
  EXPECT_EQ(error_code(http().get("/v1/devices", token)), "LOGGED_OUT") << "without the name of a device too";
  WsClient again = connect();
  EXPECT_TRUE(again.hello(server().newer_token(user("a")), {.device = "A1"}).has_welcome());
  EXPECT_EQ(admin("POST", "/v1/admin/users/" + user("nobody") + "/logout").status, 404);
}

TEST_P(DeviceConformance, S126_LocalDataGoesIfItsOwnerWantsThat) {
  serve();
  WsClient b1 = device("b");
  b1.sent(user("a"), "secret");
  ClientOptions options;
  options.url = "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws";
  options.user = user("a");
  options.dialect = GetParam();
  options.when_logged_out = WhenLoggedOut::erase;
  options.token = [&] { return server().newer_token(user("a")); };
  auto a1 = Client::start(options);
  ASSERT_TRUE(a1);
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  ASSERT_THAT((*a1)->conversations(), SizeIs(1));
  Body draft;
  draft.text = "secret draft";
  ASSERT_TRUE((*a1)->save_draft(ConversationId(chat("a", "b")), draft));
  ASSERT_TRUE((*a1)->set_setting("theme", "\"dark\""));
  ASSERT_TRUE((*a1)->block(user("c")));
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  ASSERT_EQ(admin("POST", "/v1/admin/users/" + user("a") + "/logout").status, 200);
  while (!(*a1)->conversations().empty()) ASSERT_TRUE((*a1)->next_event(patience_ms()));
  EXPECT_FALSE((*a1)->saved_draft(ConversationId(chat("a", "b"))));
  EXPECT_EQ((*a1)->setting("theme"), "");
  EXPECT_THAT((*a1)->blocked_users(), IsEmpty());
  EXPECT_THAT((*a1)->timeline(ConversationId(chat("a", "b"))).rows, IsEmpty());
  b1.sent(user("a"), "later");
  (*a1)->reconnect();  // the user has logged in again
  while ((*a1)->conversations().empty()) ASSERT_TRUE((*a1)->next_event(patience_ms()));
  ASSERT_TRUE((*a1)->wait_settled(patience_ms()));
  EXPECT_THAT((*a1)->timeline(ConversationId(chat("a", "b"))).rows, SizeIs(2));
}

TEST_P(DeviceConformance, S127_RemovedWhileOffline) {
  serve();
  const std::string token = this->token("a");
  Hello how{.device = "A1", .install = "i1"};
  {
    WsClient a1 = connect();
    how.generation = a1.login(token, how).session_generation();
    a1.sent(user("b"), "one");
    ASSERT_TRUE(a1.wait_until([&] { return a1.cursor().mark() == 1; }));
    how.cursor = a1.cursor();
  }
  HttpClient http = this->http();
  const HttpResponse left = http.call("DELETE", "/v1/devices/A1", token);
  EXPECT_EQ(left.status, 200) << left.body;
  EXPECT_EQ(parsed<pb::DeviceList>(left).devices_size(), 0);
  EXPECT_EQ(refusal(token, how), "DEVICE_REMOVED");
  EXPECT_THAT(over_http(token, "A1"), ElementsAre("DEVICE_REMOVED", "DEVICE_REMOVED"));
  WsClient a1 = connect();
  const pb::ServerFrame welcome = a1.hello(server().newer_token(user("a")), how);
  EXPECT_EQ(welcome.welcome().mode(), pb::MODE_RESET);
  EXPECT_EQ(welcome.welcome().head().epoch_id(), how.cursor.epoch_id());
}

TEST_P(DeviceConformance, F35_OnePhoneAtATime) {
  serve({.settings = {"devices.policy=one_per_platform", "limits.logins_per_minute=60", "limits.logins_burst=60"}});
  const std::string old_token = token("u1");
  const Hello phone_a{.device = "A", .platform = "phone"};
  {
    WsClient a = device("u1", phone_a);
  }
  WsClient desk = device("u1", {.device = "D", .platform = "desktop"});
  const std::string token_b = server().newer_token(user("u1"));
  const Hello phone_b{.device = "B", .platform = "phone"};
  WsClient b = connect();
  b.login(token_b, phone_b);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(refusal(old_token, phone_a), "OTHER_DEVICE");
  WsClient b_again = connect();
  EXPECT_TRUE(b_again.hello(token_b, phone_b).has_welcome()) << "a network reconnect is no second device";
  EXPECT_EQ(kicked(b), "REPLACED");
  EXPECT_TRUE(b_again.send(user("u2"), "from B").has_sent());
  EXPECT_TRUE(desk.send(user("u2"), "from the desktop").has_sent());
  EXPECT_THAT(desk.kicks, IsEmpty());
  EXPECT_EQ(admin("POST", "/v1/admin/users/" + user("u1") + "/logout").status, 200);
  EXPECT_EQ(kicked(b_again), "LOGGED_OUT");
  EXPECT_EQ(kicked(desk), "LOGGED_OUT");
  for (const std::string& token : {old_token, token_b})
    for (const char* device : {"A", "B", "D", "E"}) {
      EXPECT_THAT(refusal(token, {.device = device}), ::testing::AnyOf("LOGGED_OUT", "RATE_LIMITED"));
      EXPECT_THAT(over_http(token, device), ElementsAre("LOGGED_OUT", "LOGGED_OUT"));
    }
}

TEST_P(DeviceConformance, DevicesOverTheSocketAndHttpAreTheSame) {
  serve();
  WsClient a1 = device("a", {.device = "A1", .platform = "ios"});
  WsClient a2 = device("a", "A2");
  pb::ClientFrame change;
  change.mutable_change_device()->set_device("A1");
  change.mutable_change_device()->set_name("Anna's phone");
  change.mutable_change_device()->set_push_token("p1");
  const pb::ServerFrame changed = a1.call(change);
  EXPECT_EQ(changed.device().name(), "Anna's phone");
  EXPECT_TRUE(changed.device().push());
  EXPECT_TRUE(changed.device().current());
  HttpClient http = this->http();
  EXPECT_EQ(parsed<pb::Device>(http.call("PATCH", "/v1/devices/A2", token("a"), R"({"name":"Desk"})")).name(), "Desk");
  pb::ClientFrame list;
  list.mutable_devices();
  const pb::ServerFrame listed = a1.call(list);
  ASSERT_EQ(listed.devices().devices_size(), 2);
  EXPECT_EQ(listed.devices().devices(0).platform(), "ios");
  EXPECT_EQ(listed.devices().devices(1).name(), "Desk");
  const auto over_http = parsed<pb::DeviceList>(http.get("/v1/devices", token("a")));
  EXPECT_EQ(over_http.devices(0).name(), "Anna's phone");
  EXPECT_EQ(parsed<pb::DeviceList>(admin("GET", "/v1/admin/users/" + user("a") + "/devices")).devices_size(), 2);

  EXPECT_EQ(http.call("POST", "/v1/logout_others", token("a"), "", {{"Tidemark-Device", "A1"}}).status, 200);
  EXPECT_EQ(kicked(a2), "LOGGED_OUT");
  EXPECT_THAT(a1.kicks, IsEmpty());
  EXPECT_EQ(error_code(http.post("/v1/logout_others", token("a"), "")), "MALFORMED") << "but which one is this?";
  EXPECT_EQ(error_code(http.call("PATCH", "/v1/devices/A9", token("a"), R"({"name":"x"})")), "DEVICE_NOT_FOUND");
  list.mutable_devices()->set_user(user("b"));
  EXPECT_EQ(code_of(a1.call(list)), "FORBIDDEN");
  EXPECT_EQ(admin("DELETE", "/v1/admin/users/" + user("a") + "/devices/A2").status, 200);
  EXPECT_EQ(admin("POST", "/v1/admin/users/" + user("a") + "/devices/A1/logout").status, 200);
  EXPECT_EQ(kicked(a1), "LOGGED_OUT");
}

TEST_P(DeviceConformance, AllLearnThatAnotherHasLoggedIn) {
  serve();
  WsClient a1 = device("a", "A1");
  const auto told = [&](std::size_t times) { return a1.device_changes.size() == times; };
  EXPECT_TRUE(told(0));
  WsClient a2 = device("a", "A2");
  ASSERT_TRUE(a1.wait_until([&] { return told(1); }));
  EXPECT_EQ(http().call("POST", "/v1/devices/A2/logout", token("a"), "", {{"Tidemark-Device", "A1"}}).status, 200);
  ASSERT_TRUE(a1.wait_until([&] { return told(2); }));
  // Who was away learns of it from the index.
  WsClient a3 = connect();
  a3.hello(token("a"), {.device = "A3"});
  const pb::SyncPage page = a3.sync_page({});
  ASSERT_EQ(page.objects_size(), 1) << page.ShortDebugString();
  EXPECT_GE(page.objects(0).devices().changed_at(), a1.device_changes.back().objects(0).devices().changed_at());
}

TEST_P(DeviceConformance, PresenceAndWhatIsSaidInPassing) {
  serve();
  WsClient a1 = device("a");
  a1.sent(user("b"), "hello");
  pb::ClientFrame watch;
  watch.mutable_presence()->add_users(user("b"));
  watch.mutable_presence()->add_users(user("stranger"));
  pb::ServerFrame answered = a1.call(watch);
  ASSERT_EQ(answered.presence().states_size(), 2) << answered.ShortDebugString();
  EXPECT_FALSE(answered.presence().states(0).online());
  EXPECT_EQ(answered.presence().states(0).last_seen(), 0) << "never here";
  {
    WsClient b1 = device("b");
    ASSERT_TRUE(a1.wait_until([&] { return !a1.presence.empty(); }));
    EXPECT_TRUE(a1.presence[0].online());
    EXPECT_EQ(a1.presence[0].user(), user("b"));
    pb::ClientFrame typing;
    typing.mutable_ephemeral()->set_to(user("b"));
    typing.mutable_ephemeral()->set_type("typing");
    EXPECT_TRUE(a1.call(typing).has_done());
    ASSERT_TRUE(b1.wait_until([&] { return !b1.ephemerals.empty(); }));
    EXPECT_EQ(b1.ephemerals[0].sender(), user("a"));
    EXPECT_EQ(b1.ephemerals[0].conversation_id(), chat("a", "b"));
  }
  ASSERT_TRUE(a1.wait_until([&] { return a1.presence.size() == 2; }));
  EXPECT_FALSE(a1.presence[1].online());
  EXPECT_GT(a1.presence[1].last_seen(), 1'700'000'000'000);
  HttpClient http = this->http();
  // Whoever blocks the watcher is offline to him from then on.
  ASSERT_EQ(http.call("PUT", "/v1/blocked/" + user("a"), token("b")).status, 200);
  {
    WsClient b1 = device("b");
    a1.listen_for(1'500);
    EXPECT_EQ(a1.presence.size(), 2u);
    ASSERT_EQ(http.call("DELETE", "/v1/blocked/" + user("a"), token("b")).status, 200);
    ASSERT_TRUE(a1.wait_until([&] { return a1.presence.size() == 3; }));
    EXPECT_TRUE(a1.presence[2].online());
  }
  ASSERT_TRUE(a1.wait_until([&] { return a1.presence.size() == 4; }));
  const HttpResponse asked =
      http.post("/v1/presence", token("b"), "{\"users\":[\"" + user("a") + "\",\"" + user("c") + "\"]}");
  const auto states = parsed<pb::PresenceList>(asked);
  ASSERT_EQ(states.states_size(), 2) << asked.body;
  EXPECT_TRUE(states.states(0).online());
  EXPECT_FALSE(states.states(1).online());
  EXPECT_EQ(http.post("/v1/ephemerals", token("b"), "{\"to\":\"" + user("a") + "\",\"type\":\"typing\"}").status, 200);
  ASSERT_TRUE(a1.wait_until([&] { return !a1.ephemerals.empty(); }));
  EXPECT_EQ(error_code(http.post("/v1/ephemerals", token("b"), "{\"to\":\"" + user("c") + "\",\"type\":\"t\"}")),
            "CONVERSATION_NOT_FOUND");
}

TEST_P(DeviceConformance, PresenceMayBeSwitchedOff) {
  serve({.settings = {"presence.online=false"}});
  WsClient a1 = device("a");
  pb::ClientFrame watch;
  watch.mutable_presence()->add_users(user("b"));
  EXPECT_EQ(code_of(a1.call(watch)), "FORBIDDEN");
}

TEST_P(DeviceConformance, TheClientLibraryTellsWhoIsThereAndWhoTypes) {
  serve();
  WsClient b1 = device("b");
  b1.sent(user("a"), "hello");
  ClientOptions options;
  options.url = "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws";
  options.user = user("a");
  options.dialect = GetParam();
  options.token = [&] { return token("a"); };
  auto a1 = Client::start(options);
  ASSERT_TRUE(a1);
  ASSERT_TRUE((*a1)->watch_presence({user("b")}));
  const auto next = [&]<typename Event>(Event) -> std::optional<Event> {
    while (auto event = (*a1)->next_event(patience_ms()))
      if (const auto* found = std::get_if<Event>(&*event)) return *found;
    return std::nullopt;
  };
  const auto online = next(PresenceEvent{});
  ASSERT_TRUE(online);
  EXPECT_TRUE(online->online);
  EXPECT_EQ(online->user, UserId(user("b")));
  const ConversationId id(chat("a", "b"));
  ASSERT_TRUE((*a1)->say(id, "typing"));
  ASSERT_TRUE(b1.wait_until([&] { return !b1.ephemerals.empty(); }));
  pb::ClientFrame call;
  call.mutable_ephemeral()->set_conversation_id(id.value);
  call.mutable_ephemeral()->set_type("call");
  call.mutable_ephemeral()->set_payload("offer");
  EXPECT_TRUE(b1.call(call).has_done());
  const auto passing = next(PassingEvent{});
  ASSERT_TRUE(passing);
  EXPECT_EQ(passing->type, "call");
  EXPECT_EQ(passing->payload, "offer");
  EXPECT_EQ(passing->conversation, id);
  (*a1)->set_foreground(false);
  (void)(*a1)->say(id, "typing");  // behind it on the same connection
  ASSERT_TRUE(b1.wait_until([&] { return b1.ephemerals.size() == 2; }));
  EXPECT_TRUE(b1.call(call).has_done());
  b1.sent(user("a"), "seen even so");
  ASSERT_TRUE(next(MessageEvent{}));
  while (auto event = (*a1)->next_event(50)) EXPECT_FALSE(std::holds_alternative<PassingEvent>(*event));
}

}  // namespace
}  // namespace tidemark::testing
