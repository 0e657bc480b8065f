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
  std::uint64_t id() const override { return id_; }
  void send(std::string_view bytes) override { written_ += bytes; }
  void finish() override { ended = true; }
  void close() override {
    ended = true;
    if (link) link->on_closed();
  }
  void pause(bool) override {}
  bool blocked() const override { return false; }

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

 private:
  const std::uint64_t id_;
  std::string written_;
  WebSocketCodec codec_{WebSocketCodec::Role::client};
};

class LinksTest : public testing::Test {
 protected:
  explicit LinksTest(Config config = {}) : config_(std::move(config)) {
    auto opened = MemoryWarm::open(std::make_shared<MemoryDisk>());
    warm_ = std::move(*opened);
    engine_ = std::make_unique<Engine>(
        *warm_, clock_, random_, engine_options(config_),
        Engine::Host{.wake = [] {}, .publish = [this](Outcome outcome) { links_->publish(std::move(outcome)); }});
    EXPECT_TRUE(engine_->open());
    const auto at_once = [](Task task) { task(); };
    const auto answer = [this](Task task) { hold_ ? held_.push_back(std::move(task)) : task(); };
    service_ = std::make_unique<Service>(*engine_, clock_, PageTokens("a key of the test"), Threads{answer, at_once},
                                         service_limits(config_), metrics_);
    links_ = std::make_unique<Links>(config_, clock_, *service_, metrics_, [this](std::string_view token) {
      return Principal{
          .user = UserId(token), .issued_at_ms = token_issued_ms_, .expires_at_ms = token_expires_ms_};
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
  phone->say(R"({"id":2,"logout":{"device":"desk"}})");
  run();
  EXPECT_THAT(desk->take(), ElementsAre(AllOf(HasSubstr("LOGGED_OUT"), HasSubstr("\"terminal\":true")), "LOGGED_OUT"));
  EXPECT_THAT(phone->take(), ElementsAre(AllOf(HasSubstr("\"devices\""), HasSubstr("\"logged_out\""))));
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
