// Links over an engine in memory, with sockets that only keep what is written: who is let in, what ends a link, and in
// which order a round is given out.
#include "gateway/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_world.h"
#include "gateway/settings.h"
#include "gateway/ws_link.h"

namespace tidemark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A device's end of a connection.
class Peer final : public LinkSocket {
 public:
  explicit Peer(std::uint64_t id) : id_(id) {}
  ~Peer() override {
    if (link) link->on_closed();  // as a connection does that goes away
  }
  std::uint64_t id() const override { return id_; }
  void send(std::string_view bytes) override { written_ += bytes; }
  void finish() override { ended = true; }
  void close() override {
    ended = true;
    if (link) link->on_closed();
  }
  void pause(bool) override {}
  bool blocked() const override { return takes_nothing; }

  void say(const std::string& frame) {
    std::string bytes;
    encode_frame(bytes, WebSocketOpcode::text, frame, WebSocketMask{});
    link->on_bytes(bytes);
  }
  void hello(const std::string& user, const std::string& device = "d1") {
    say(R"({"id":1,"hello":{"token":")" + user + R"(","device":")" + device + R"("}})");
  }
  /// What came since the last look; a close as its reason.
  std::vector<std::string> take() {
    std::vector<std::string> came;
    std::string bytes = std::exchange(written_, {});
    std::span<char> rest(bytes);
    while (const WebSocketEvent event = codec_.next(rest)) came.emplace_back(event.data);
    return came;
  }

  std::unique_ptr<WsLink> link;
  bool ended = false;
  bool takes_nothing = false;

 private:
  const std::uint64_t id_;
  std::string written_;
  WebSocketCodec codec_{WebSocketCodec::Role::client, {1U << 24, 1U << 24, 16}};
};

class LinksTest : public testing::Test {
 protected:
  explicit LinksTest(Config config = {}) : config_(std::move(config)) {
    auto opened = MemoryWarm::open(std::make_shared<MemoryDisk>());
    warm_ = std::make_unique<FaultyWarm>(std::move(*opened), plan_);
    engine_ = std::make_unique<Engine>(
        *warm_, clock_, random_, engine_options(config_),
        Engine::Host{.wake = [] {}, .publish = [this](Outcome outcome) { links_->publish(std::move(outcome)); }});
    EXPECT_TRUE(engine_->open());
    const auto at_once = [](Task task) { task(); };
    const auto answer = [this](Task task) { hold_ ? held_.push_back(std::move(task)) : task(); };
    service_ = std::make_unique<Service>(*engine_, clock_, PageTokens("a key of the test"), Threads{answer, at_once},
                                         service_limits(config_), metrics_);
    links_ = std::make_unique<Links>(config_, clock_, *service_, metrics_, [this](std::string_view token) {
      return Principal{.user = UserId(token), .issued_at_ms = token_issued_ms_, .expires_at_ms = token_expires_ms_};
    });
  }
  void run() {
    while (engine_->run_round()) {
    }
  }
  std::unique_ptr<Peer> connect() {
    auto peer = std::make_unique<Peer>(next_id_++);
    peer->link = links_->make(*peer, Dialect::json, "");
    return peer;
  }
  /// A device that is welcomed and has been told of all there is.
  std::unique_ptr<Peer> device(const std::string& user, const std::string& name = "d1") {
    auto peer = connect();
    peer->hello(user, name);
    run();
    EXPECT_THAT(peer->take(), testing::Contains(HasSubstr("\"welcome\"")));
    return peer;
  }
  void send(const std::string& from, const std::string& to) {
    SendCommand command;
    command.sender = UserId(from);
    command.to = UserId(to);
    command.client_msg_id = "m" + std::to_string(++sent_);
    command.client_time = clock_.wall;
    command.body.text = "hello";
    engine_->submit(std::move(command), [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
  }
  void pass_and_tick(std::int64_t ms) {
    clock_.pass(ms);
    links_->tick();
  }

  Config config_;
  TestClock clock_;
  TestRandom random_;
  Metrics metrics_;
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  std::unique_ptr<Warm> warm_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Links> links_;
  std::int64_t token_issued_ms_ = clock_.wall;
  std::int64_t token_expires_ms_ = clock_.wall + kHourMs;
  std::uint64_t next_id_ = 1;
  int sent_ = 0;
  bool hold_ = false;  // what was read waits to be answered
  std::vector<Task> held_;
};

TEST_F(LinksTest, ALoginStandsBeforeWhatItsRoundDelivers) {
  const auto bob = connect();
  bob->hello("bob");
  send("alice", "bob");
  run();
  EXPECT_THAT(bob->take(), ElementsAre(HasSubstr("\"welcome\""), HasSubstr("\"push\"")));
  EXPECT_EQ(metrics_.pushed_entries, 1U);
}

TEST_F(LinksTest, ALoginIsNotToldWhatItsRoundTakesBack) {
  const auto phone = device("bob");  // what he is told is kept for his next login
  send("alice", "bob");
  run();
  const std::string text = R"("text":"hello")";
  EXPECT_THAT(phone->take(), testing::Contains(HasSubstr(text)));
  const auto desk = connect();
  desk->hello("bob", "d2");
  const RecallCommand recall{UserId("alice"), DeviceId("http"), ConversationId("alice_bob"), Seq(1), false};
  engine_->submit(MutateCommand{UserId("alice"), DeviceId("http"), {}, 0, recall},
                  [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
  run();
  const auto came = desk->take();
  EXPECT_THAT(came, testing::Contains(HasSubstr("\"push\"")));
  EXPECT_THAT(came, testing::Each(testing::Not(HasSubstr(text))));
}

TEST_F(LinksTest, WhatWasReadBeforeARecallIsReadAgainBeforeItIsAnswered) {
  const auto bob = device("bob");
  send("alice", "bob");
  send("carol", "bob");
  run();
  (void)bob->take();
  const std::string text = R"("text":"hello")";
  hold_ = true;
  bob->say(R"({"id":7,"history":{"conversation_id":"alice_bob"}})");
  const auto recall = [this](const std::string& author, const ConversationId& id) {
    const RecallCommand command{UserId(author), DeviceId("http"), id, Seq(1), false};
    engine_->submit(MutateCommand{UserId(author), DeviceId("http"), {}, 0, command},
                    [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
    run();
  };
  const auto answered = [this] {
    for (Task& task : std::exchange(held_, {})) task();
  };
  recall("carol", ConversationId("bob_carol"));
  EXPECT_EQ(held_.size(), 1U);
  recall("alice", ConversationId("alice_bob"));
  (void)bob->take();
  answered();
  EXPECT_THAT(bob->take(), IsEmpty()) << "it is read again";
  EXPECT_EQ(held_.size(), 1U);
  answered();
  EXPECT_THAT(bob->take(),
              ElementsAre(AllOf(HasSubstr("\"id\":7"), HasSubstr("recalled"), testing::Not(HasSubstr(text)))));

  // Elsewhere it changes nothing.
  send("carol", "bob");
  run();
  (void)bob->take();
  bob->say(R"({"id":8,"history":{"conversation_id":"alice_bob"}})");
  const RecallCommand other{UserId("carol"), DeviceId("http"), ConversationId("bob_carol"), Seq(3), false};
  engine_->submit(MutateCommand{UserId("carol"), DeviceId("http"), {}, 0, other},
                  [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
  run();
  (void)bob->take();
  answered();
  EXPECT_THAT(bob->take(), ElementsAre(HasSubstr("\"id\":8")));
}

TEST_F(LinksTest, SilenceEndsALinkAndAnyFrameBreaksIt) {
  const std::int64_t patience_ms = config_.limits.heartbeat_ms * config_.limits.heartbeats_missed;
  const auto bob = device("bob");
  pass_and_tick(patience_ms - 1);
  EXPECT_FALSE(bob->ended);
  bob->say(R"({"id":2,"heartbeat":{}})");
  pass_and_tick(patience_ms - 1);
  EXPECT_FALSE(bob->ended);
  pass_and_tick(1);
  EXPECT_TRUE(bob->ended);
  EXPECT_EQ(links_->devices(), 0U);
  EXPECT_EQ(links_->users(), 0U);
}

TEST_F(LinksTest, WhoSaysNoHelloIsNotWaitedForLong) {
  const auto nobody = connect();
  pass_and_tick(config_.limits.handshake_timeout_ms);
  EXPECT_FALSE(nobody->ended);
  pass_and_tick(1);
  EXPECT_TRUE(nobody->ended);
  EXPECT_THAT(nobody->take(), IsEmpty());
}

TEST_F(LinksTest, AnExpiredTokenEndsItsLinkWithAWord) {
  token_expires_ms_ = clock_.wall + 10'000;
  const auto bob = device("bob");
  pass_and_tick(10'000 + config_.auth.leeway_s * 1'000 - 1);
  EXPECT_THAT(bob->take(), IsEmpty());
  pass_and_tick(1);
  EXPECT_THAT(bob->take(), ElementsAre(AllOf(HasSubstr("\"kick\""), HasSubstr("TOKEN_EXPIRED")), "TOKEN_EXPIRED"));
  EXPECT_TRUE(bob->ended);
}

TEST_F(LinksTest, ANewerLinkOfADeviceReplacesTheOlder) {
  const auto older = device("bob");
  const auto newer = device("bob");
  EXPECT_THAT(older->take(), ElementsAre(AllOf(HasSubstr("REPLACED"), HasSubstr("\"terminal\":true")), "REPLACED"));
  EXPECT_EQ(metrics_.kicks, 1U);
  EXPECT_EQ(links_->devices(), 1U);
  older->close();
  send("alice", "bob");
  run();
  EXPECT_THAT(newer->take(), ElementsAre(HasSubstr("\"push\""))) << "the late end of the older touches nothing";
  EXPECT_THAT(older->take(), IsEmpty());
}

TEST_F(LinksTest, ALinkOfAnEndedSessionIsToldSo) {
  const auto phone = device("bob", "phone");
  const auto desk = device("bob", "desk");
  EXPECT_THAT(phone->take(), ElementsAre(AllOf(HasSubstr("\"push\""), HasSubstr("\"changed_at\"")))) << "of the login";
  phone->say(R"({"id":2,"logout":{"device":"desk"}})");
  run();
  EXPECT_THAT(desk->take(), ElementsAre(AllOf(HasSubstr("LOGGED_OUT"), HasSubstr("\"terminal\":true")), "LOGGED_OUT"));
  EXPECT_THAT(phone->take(),
              ElementsAre(AllOf(HasSubstr("\"devices\""), HasSubstr("\"logged_out\"")), HasSubstr("\"changed_at\"")));
  const auto again = connect();
  again->hello("bob", "desk");
  run();
  EXPECT_THAT(again->take(), ElementsAre(HasSubstr("LOGGED_OUT"), "LOGGED_OUT"));
  token_issued_ms_ = clock_.wall + 1;
  device("bob", "desk");
}

TEST_F(LinksTest, ADeviceThatMayNotComeInTakesNoLoginsFromTheOthers) {
  config_.limits.logins_burst = 60;
  const auto desk = device("bob", "desk");
  const auto phone = device("bob", "phone");
  desk->say(R"({"id":2,"logout":{"device":"phone"}})");
  run();
  std::string last;
  for (int i = 0; i < 70; ++i) {
    const auto again = connect();
    again->hello("bob", "phone");
    run();
    last = again->take().back();
  }
  EXPECT_EQ(last, "RATE_LIMITED");
  device("bob", "desk");
}

TEST_F(LinksTest, TwoThatReplaceEachOtherForEverAreSlowedDown) {
  int welcomed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto one = connect();
    one->hello("bob", "phone");
    run();
    if (one->take().back() != "RATE_LIMITED") ++welcomed;
  }
  EXPECT_EQ(welcomed, config_.limits.logins_burst);
  pass_and_tick(5'000);
  device("bob", "phone");
}

class OneDeviceLinks : public LinksTest {
 protected:
  OneDeviceLinks() : LinksTest(config()) {}
  static Config config() {
    Config made;
    made.devices.policy = DevicePolicy::Kind::single;
    return made;
  }
};

TEST_F(OneDeviceLinks, TwoThatPushEachOtherOutHaveToWaitLongerAndLonger) {
  int kicks = 0;
  std::string last;
  for (int second = 0; second < 75; ++second) {
    token_issued_ms_ = clock_.wall + 1;
    const auto one = connect();
    one->hello("bob", kicks % 2 == 0 ? "A" : "B");
    run();
    last = one->take().back();
    if (last != "RATE_LIMITED") ++kicks;
    pass_and_tick(1'000);
  }
  EXPECT_GE(kicks, 4);
  EXPECT_LE(kicks, 16);
}

TEST_F(LinksTest, WhenADeviceWasHereLastIsKept) {
  const auto last_seen = [this] {
    run();
    return StoreView(warm_->snapshot()).device(UserId("bob"), DeviceId("d1"))->last_seen;
  };
  const auto beat = [this](Peer& peer) {
    pass_and_tick(20'000);
    peer.say(R"({"id":2,"heartbeat":{}})");
  };
  const auto bob = device("bob");
  beat(*bob);
  pass_and_tick(5'000);
  const std::int64_t noted = last_seen();
  EXPECT_EQ(noted, clock_.wall - 5'000) << "the first frame";
  beat(*bob);
  pass_and_tick(5'000);
  EXPECT_EQ(last_seen(), noted) << "not each of them";
  for (int i = 0; i < 40; ++i) beat(*bob);
  pass_and_tick(5'000);
  EXPECT_GT(last_seen(), clock_.wall - 11 * kMinuteMs) << "now and then";
  beat(*bob);
  clock_.pass(3'000);
  bob->close();
  EXPECT_EQ(last_seen(), clock_.wall - 3'000) << "and at the end";
}

TEST_F(LinksTest, PushesThatNobodyAcknowledgesEndTheLink) {
  const auto bob = device("bob");
  send("alice", "bob");
  run();
  for (int i = 0; i <= config_.limits.push_again_times; ++i) {
    bob->say(R"({"id":2,"heartbeat":{}})");
    pass_and_tick(config_.limits.push_again_ms);
  }
  EXPECT_THAT(bob->take().back(), "UNACKNOWLEDGED");
  EXPECT_EQ(metrics_.kicks, 1U);
  EXPECT_EQ(metrics_.closed_unacknowledged, 1U);
  EXPECT_EQ(metrics_.pushed_entries, 1U + static_cast<std::uint64_t>(config_.limits.push_again_times));
}

TEST_F(LinksTest, WhatADeviceAcknowledgesIsNotedInATime) {
  const auto bob = device("bob");
  send("alice", "bob");
  run();
  bob->say(R"({"id":2,"ack":{"mark":1}})");
  const auto noted = [this] {
    run();
    return StoreView(warm_->snapshot()).device(UserId("bob"), DeviceId("d1"))->acknowledged;
  };
  pass_and_tick(4'999);
  EXPECT_EQ(noted(), Mark(0)) << "not for every ack";
  pass_and_tick(1);
  EXPECT_EQ(noted(), Mark(1));
}

TEST_F(LinksTest, WhoIsWelcomedWhileNothingCanBeStoredLogsInOnceItCan) {
  plan_->fail(FaultStep::commit_before);
  const auto bob = device("bob");
  bob->say(R"({"id":2,"heartbeat":{}})");
  pass_and_tick(500);
  EXPECT_FALSE(engine_->status().writable);
  EXPECT_FALSE(bob->ended) << "he reads, and is pushed to";
  pass_and_tick(5'000);
  run();
  ASSERT_TRUE(engine_->status().writable);
  EXPECT_THAT(bob->take(), testing::Contains("SESSION_FENCED")) << "what he acknowledges would never be noted";
  const auto again = device("bob");
  again->say(R"({"id":2,"heartbeat":{}})");
  pass_and_tick(5'000);
  run();
  EXPECT_FALSE(again->ended);
}

TEST_F(LinksTest, AUserHasSoManyLinksAndGetsThemBack) {
  config_.limits.connections_per_user_max = 2;
  const auto first = device("bob", "d1");
  const auto second = device("bob", "d2");
  const auto third = connect();
  third->hello("bob", "d3");
  EXPECT_THAT(third->take(), ElementsAre(HasSubstr("TOO_MANY_CONNECTIONS"), "TOO_MANY_CONNECTIONS"));
  third->close();
  first->close();
  device("bob", "d3")->close();
  EXPECT_EQ(links_->users(), 1U);
  second->close();
  EXPECT_EQ(links_->users(), 0U);
}

TEST_F(LinksTest, AllAreToldWhenTheServerStops) {
  const auto bob = device("bob");
  const auto fresh = connect();
  links_->shut_down();
  for (Peer* peer : {bob.get(), fresh.get()}) {
    EXPECT_THAT(peer->take(), ElementsAre(HasSubstr("\"terminal\":false"), "SHUTDOWN"));
    EXPECT_TRUE(peer->ended);
  }
}

TEST_F(LinksTest, TheReasonOfACloseIsACode) {
  const auto rude = connect();
  rude->say(R"({"id":2,"heartbeat":{}})");
  EXPECT_THAT(rude->take(), ElementsAre(HasSubstr("HELLO_REQUIRED"), "HELLO_REQUIRED"));
  const auto large = device("bob");
  large->say(std::string(static_cast<std::size_t>(config_.limits.frame_bytes_max) + 1, ' '));
  EXPECT_THAT(large->take(), ElementsAre(HasSubstr("TOO_LARGE"), "TOO_LARGE"));
}

/// Ann and Bob know each other, and Ann watches.
class PresenceLinks : public LinksTest {
 protected:
  PresenceLinks() {
    send("ann", "bob");
    run();
    ann_ = device("ann");
    (void)ann_->take();
    ann_->say(R"({"id":9,"sync":{}})");
    (void)ann_->take();
  }
  std::string watch(const std::string& users) {
    ann_->say(R"({"id":3,"presence":{"users":[)" + users + "]}}");
    const auto came = ann_->take();
    return came.empty() ? "" : came.back();
  }
  /// Time passes for the server; Ann is there all the while. What she was told of presence.
  std::vector<std::string> pass(std::int64_t ms) {
    std::vector<std::string> told;
    for (; ms > 0; ms -= 10'000) {
      pass_and_tick(std::min<std::int64_t>(ms, 10'000));
      ann_->say(R"({"id":2,"heartbeat":{}})");
      ann_->say(R"({"id":0,"ack":{"mark":1000000}})");
      run();
      for (const std::string& each : ann_->take())
        if (each.find("\"presence\"") != std::string::npos) told.push_back(each);
    }
    return told;
  }
  Device row(const std::string& user) {
    run();
    return StoreView(warm_->snapshot()).device(UserId(user), DeviceId("d1")).value_or(Device{});
  }

  std::unique_ptr<Peer> ann_;
  const std::string online_ = R"("online":true)";
  const std::string offline_ = R"("online":false)";
};

TEST_F(PresenceLinks, ABlockThatComesWhileTheQuestionIsReadHolds) {
  const auto bob = device("bob");
  hold_ = true;
  EXPECT_EQ(watch("\"bob\""), "");
  hold_ = false;
  MutateCommand block;
  block.user = UserId("bob");
  block.change = BlockCommand{UserId("bob"), UserId("ann"), true};
  engine_->submit(std::move(block), [](const Result<Reply>& reply) { EXPECT_TRUE(reply); });
  run();
  for (Task& task : std::exchange(held_, {})) task();
  EXPECT_THAT(ann_->take(), ElementsAre(AllOf(HasSubstr("\"presence\""), HasSubstr(offline_))));
  bob->close();
  EXPECT_THAT(pass(3'000), IsEmpty());
}

TEST_F(PresenceLinks, S121_Heartbeat) {
  auto bob = device("bob");
  bob->say(R"({"id":1,"ack":{"mark":1}})");
  (void)bob->take();
  EXPECT_THAT(watch("\"bob\""), HasSubstr(online_));
  for (const std::int64_t ms : {30'000, 30'000, 29'900}) EXPECT_THAT(pass(ms), IsEmpty());
  EXPECT_FALSE(bob->ended);
  bob->say(R"({"id":2,"heartbeat":{}})");
  pass(89'900);
  EXPECT_FALSE(bob->ended) << "a late beat keeps it";
  bob->say(R"({"id":3,"conversations":{}})");
  pass(89'900);
  EXPECT_FALSE(bob->ended) << "so does any frame";
  const Mark before = row("bob").acknowledged;
  EXPECT_EQ(before, Mark(1));
  auto told = pass(1'100);
  if (told.empty()) told = pass(1'000);
  EXPECT_TRUE(bob->ended);
  ASSERT_THAT(told, ElementsAre(HasSubstr(offline_)));
  EXPECT_EQ(row("bob").acknowledged, before) << "the cursor is untouched";
  EXPECT_EQ(row("bob").last_seen, clock_.wall - 91'000);
}

TEST_F(PresenceLinks, S121_WithUnacknowledgedEntries) {
  const auto bob = device("bob");
  bob->say(R"({"id":2,"sync":{}})");
  bob->say(R"({"id":2,"ack":{"mark":1}})");
  (void)bob->take();
  EXPECT_THAT(watch("\"bob\""), HasSubstr(online_));
  send("ann", "bob");
  run();
  (void)ann_->take();
  EXPECT_THAT(pass(30'000), IsEmpty());
  EXPECT_FALSE(bob->ended) << "pushed again three times";
  const auto told = pass(20'000);
  EXPECT_TRUE(bob->ended);
  EXPECT_THAT(bob->take(), testing::Contains("UNACKNOWLEDGED"));
  EXPECT_THAT(told, ElementsAre(HasSubstr(offline_))) << "at the close and not before";
}

TEST_F(PresenceLinks, OnlyThoseWithAChatAreShown) {
  const auto eve = device("eve");
  const auto answer = watch("\"bob\",\"eve\"");
  EXPECT_THAT(answer, testing::Not(HasSubstr(online_))) << "eve is online, and a stranger";
  const auto bob = device("bob");
  EXPECT_THAT(pass(2'000), ElementsAre(AllOf(HasSubstr("bob"), HasSubstr(online_))));
  eve->close();
  EXPECT_THAT(pass(2'000), IsEmpty());
  std::string many;
  for (int i = 0; i < 201; ++i) many += (i > 0 ? ",\"u" : "\"u") + std::to_string(i) + "\"";
  EXPECT_THAT(watch(many), HasSubstr("LIMIT_REACHED"));
  watch("");
  bob->close();
  EXPECT_THAT(pass(2'000), IsEmpty()) << "nobody is watched any more";
}

TEST_F(PresenceLinks, S146_AStormIsCoalescedAndNeverBeforeAMessage) {
  std::string users;
  for (int i = 0; i < 199; ++i) {
    send("ann", "u" + std::to_string(i));
    users += (i > 0 ? ",\"u" : "\"u") + std::to_string(i) + "\"";
  }
  run();
  ann_->say(R"({"id":9,"sync":{}})");
  (void)ann_->take();
  config_.limits.logins_per_minute = 0;
  EXPECT_THAT(watch(users), AllOf(HasSubstr(offline_), testing::Not(HasSubstr(online_))));
  std::vector<std::unique_ptr<Peer>> peers;
  const auto storm = [&] {
    for (auto& peer : peers) peer->close();
    peers.clear();
    for (int i = 0; i < 199; ++i) {
      peers.push_back(connect());
      peers.back()->hello("u" + std::to_string(i));
    }
    run();
  };
  for (int flips = 0; flips < 26; ++flips) storm();  // 10,000 of them
  EXPECT_THAT(ann_->take(), IsEmpty()) << "nothing at once";
  pass_and_tick(1'000);
  EXPECT_THAT(ann_->take(), ElementsAre(HasSubstr(online_))) << "one frame for all of them";
  storm();
  pass_and_tick(1'000);
  EXPECT_THAT(ann_->take(), IsEmpty()) << "they are as they were";

  ann_->takes_nothing = true;
  for (auto& peer : peers) peer->close();
  send("u1", "ann");
  run();
  pass_and_tick(5'000);
  EXPECT_THAT(ann_->take(), IsEmpty()) << "the socket takes nothing";
  ann_->takes_nothing = false;
  ann_->link->on_unblocked();
  EXPECT_THAT(ann_->take(), ElementsAre(HasSubstr("\"push\""))) << "messages first";
  pass_and_tick(1'000);
  EXPECT_THAT(ann_->take(), ElementsAre(AllOf(HasSubstr("\"presence\""), testing::Not(HasSubstr(online_)))));
}

TEST_F(PresenceLinks, S145_TypingToABackgroundedDevice) {
  const auto bob = connect();
  bob->say(R"({"id":1,"hello":{"token":"bob","device":"d1","background":true}})");
  run();
  (void)bob->take();
  bob->say(R"({"id":2,"sync":{}})");
  (void)bob->take();
  const auto say = [this](const std::string& type, int lifetime) {
    ann_->say(R"({"id":0,"ephemeral":{"to":"bob","type":")" + type + R"(","payload":"eA==","lifetime_ms":)" +
              std::to_string(lifetime) + "}}");
  };
  const std::uint64_t rounds = engine_->status().rounds;
  say("typing", 2'000);
  say("call", 10'000);
  EXPECT_THAT(bob->take(), IsEmpty());
  EXPECT_THAT(ann_->take(), IsEmpty()) << "it asked for no answer";
  pass_and_tick(3'000);
  bob->say(R"({"id":0,"foreground":{"on":true}})");
  EXPECT_THAT(bob->take(), ElementsAre(AllOf(HasSubstr("\"ephemeral\""), HasSubstr("\"call\""), HasSubstr("eA=="),
                                             HasSubstr("\"lifetime_ms\":7000"))));
  say("typing", 2'000);
  EXPECT_THAT(bob->take(), ElementsAre(HasSubstr("\"typing\"")));
  bob->say(R"({"id":3,"foreground":{"on":false}})");
  EXPECT_THAT(bob->take(), ElementsAre(HasSubstr("\"done\"")));
  say("typing", 2'000);
  EXPECT_THAT(bob->take(), IsEmpty());
  run();
  EXPECT_EQ(engine_->status().rounds, rounds) << "never stored";
  bob->say(R"({"id":4,"sync":{}})");
  EXPECT_THAT(bob->take(), ElementsAre(testing::Not(HasSubstr("typing")))) << "never in sync";
}

TEST_F(PresenceLinks, InPassingOnlyToWhomOneTalksWith) {
  const auto bob = device("bob");
  const auto phone = device("ann", "phone");
  const auto eve = device("eve");
  for (Peer* peer : {bob.get(), phone.get(), eve.get(), ann_.get()}) (void)peer->take();
  ann_->say(R"({"id":4,"ephemeral":{"conversation_id":"ann_bob","type":"typing"}})");
  EXPECT_THAT(ann_->take(), ElementsAre(HasSubstr("\"done\"")));
  EXPECT_THAT(bob->take(), ElementsAre(AllOf(HasSubstr("ann_bob"), HasSubstr("\"sender\":\"ann\""))));
  EXPECT_THAT(phone->take(), ElementsAre(HasSubstr("typing"))) << "the own other devices too";
  EXPECT_THAT(eve->take(), IsEmpty());
  const auto refused = [this](const std::string& request) {
    ann_->say(R"({"id":5,"ephemeral":{)" + request + "}}");
    return ann_->take().at(0);
  };
  EXPECT_THAT(refused(R"("to":"eve","type":"typing")"), HasSubstr("CONVERSATION_NOT_FOUND"));
  EXPECT_THAT(refused(R"("to":"nobody","type":"typing")"), HasSubstr("CONVERSATION_NOT_FOUND"));
  EXPECT_THAT(refused(R"("conversation_id":"bob_eve","type":"typing")"), HasSubstr("CONVERSATION_NOT_FOUND"));
  EXPECT_THAT(refused(R"("to":"bob")"), AllOf(HasSubstr("MALFORMED"), HasSubstr("type")));
  EXPECT_THAT(refused(R"("to":"bob","type":"t","lifetime_ms":10001)"), HasSubstr("OUT_OF_RANGE"));
  EXPECT_THAT(refused(R"("to":"bob","type":"t","payload":")" + std::string(2'736, 'A') + "\""), HasSubstr("TOO_LARGE"));
  std::string last;
  for (int i = 0; i < 40; ++i) {
    ann_->say(R"({"id":6,"ephemeral":{"to":"bob","type":"t"}})");
    last = ann_->take().at(0);
  }
  EXPECT_THAT(last, HasSubstr("RATE_LIMITED"));
}

class OneDevice : public LinksTest {
 protected:
  static Config config() {
    Config config;
    config.devices.policy = DevicePolicy::Kind::single;
    return config;
  }
  OneDevice() : LinksTest(config()) {}
};

TEST_F(OneDevice, TheOldOneIsGoneBeforeTheNewcomerIsWelcomed) {
  const auto older = device("bob", "d1");
  const auto newer = connect();
  newer->hello("bob", "d2");
  EXPECT_THAT(newer->take(), IsEmpty());
  run();
  EXPECT_THAT(older->take(),
              ElementsAre(AllOf(HasSubstr("OTHER_DEVICE"), HasSubstr("\"terminal\":true")), "OTHER_DEVICE"));
  EXPECT_THAT(newer->take(), ElementsAre(HasSubstr("\"welcome\"")));
  EXPECT_EQ(links_->devices(), 1U);
}

TEST_F(OneDevice, TwoThatComeTogetherAreWelcomedInTurn) {
  const auto first = connect();
  const auto second = connect();
  first->hello("bob", "d1");
  second->hello("bob", "d2");
  first->say(R"({"id":2,"send":{"to":"ann","client_msg_id":"m","client_time":1790000000000,"body":{"text":"x"}}})");
  run();
  EXPECT_THAT(first->take(), ElementsAre(HasSubstr("\"welcome\""), HasSubstr("OTHER_DEVICE"), "OTHER_DEVICE"));
  EXPECT_THAT(second->take(), ElementsAre(HasSubstr("\"welcome\"")));
  EXPECT_EQ(StoreView(warm_->snapshot()).line(ConversationId("ann_bob")).seq, Seq(0)) << "nothing fenced commits";
}

}  // namespace
}  // namespace tidemark
