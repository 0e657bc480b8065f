// Logins, kicks, logouts and removals as the commit round decides them; nothing of an ended session commits (I14).
#include <gmock/gmock.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const UserId kUser("A");

class Devices : public testing::Test {
 protected:
  static EngineOptions with(DevicePolicy policy) {
    EngineOptions options;
    options.params.devices = policy;
    return options;
  }
  /// As a device says hello under a token of this moment, or of another.
  LoginCommand hello(const std::string& device, std::optional<std::int64_t> issued = {}) {
    LoginCommand login;
    login.user = kUser;
    login.device = DeviceId(device);
    login.install = InstallId("i-" + device);
    login.platform = device.substr(0, device.find('-'));
    login.generation = generations_[device];
    login.token_issued_at = issued.value_or(world_->clock.wall);
    return login;
  }
  LoginReply log_in(const std::string& device, std::optional<std::int64_t> issued = {}) {
    const auto reply = world_->get<LoginReply>(hello(device, issued));
    generations_[device] = reply.generation;
    return reply;
  }
  Session link(const std::string& device) { return {kUser, DeviceId(device), generations_[device]}; }
  Session http(const std::string& device, std::int64_t issued) { return {kUser, DeviceId(device), {}, issued}; }
  /// How a message of this session is answered: "" when it is taken.
  std::string send(const Session& by) {
    auto reply = world_->call(world_->message("A", "B", "text"), by);
    return reply ? "" : std::string(error_info(reply.error().code).name);
  }
  EndSessionsCommand end(const std::string& device, SessionEnd end = SessionEnd::logged_out) {
    return {kUser, DeviceId(device), {}, end};
  }
  std::vector<std::pair<std::string, SessionEnd>> take_ended() {
    std::vector<std::pair<std::string, SessionEnd>> all;
    for (const EndedSession& each : world_->take_ended()) all.emplace_back(each.device.value, each.end);
    return all;
  }
  Device row(const std::string& device) { return world_->view().device(kUser, DeviceId(device)).value_or(Device{}); }

  std::unique_ptr<EngineWorld> world_ = std::make_unique<EngineWorld>();
  std::map<std::string, std::uint64_t> generations_;
};

TEST_F(Devices, TheNewcomerEndsTheOther) {
  world_ = std::make_unique<EngineWorld>(with({.kind = DevicePolicy::Kind::single}));
  const std::int64_t then = world_->clock.wall;
  log_in("a");
  EXPECT_EQ(send(link("a")), "");
  world_->clock.pass(1'000);
  log_in("b", then);
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::other_device)));
  EXPECT_EQ(send(link("a")), "SESSION_FENCED");
  EXPECT_EQ(send(http("a", then)), "OTHER_DEVICE");
  EXPECT_EQ(send(link("b")), "");
  EXPECT_EQ(world_->refused(hello("a", then)), ErrorCode::OTHER_DEVICE);
  EXPECT_EQ(world_->refused(hello("a", world_->clock.wall)), ErrorCode::OTHER_DEVICE) << "not later";
  EXPECT_THAT(take_ended(), IsEmpty());
  world_->clock.pass(1'000);
  log_in("a");
  EXPECT_THAT(take_ended(), ElementsAre(Pair("b", SessionEnd::other_device)));
  EXPECT_EQ(send(http("a", then)), "OTHER_DEVICE") << "the old token stays bad";
  EXPECT_EQ(send(link("a")), "");
}

TEST_F(Devices, OfTwoLoginsOfOneRoundOneSurvives) {
  world_ = std::make_unique<EngineWorld>(with({.kind = DevicePolicy::Kind::single}));
  std::optional<Result<Reply>> first, second, late;
  world_->submit(hello("a"), &first);
  world_->submit(hello("b"), &second);
  world_->submit(world_->message("A", "B", "text"), &late, Session{kUser, DeviceId("a"), 1});
  world_->run();
  EXPECT_TRUE(first->has_value() && second->has_value());
  EXPECT_EQ(late->error().code, ErrorCode::SESSION_FENCED) << "a's session is over before its round is";
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::other_device)));
  EXPECT_FALSE(row("a").live);
  EXPECT_TRUE(row("b").live);
}

TEST_F(Devices, AFullHouseMayRefuse) {
  world_ = std::make_unique<EngineWorld>(with({.max = 2, .when_full = DevicePolicy::WhenFull::refuse}));
  log_in("a");
  log_in("b");
  EXPECT_EQ(world_->refused(hello("c")), ErrorCode::TOO_MANY_DEVICES);
  log_in("a");
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::replaced))) << "who is in comes again";
  world_->get<DevicesReply>(end("b"));
  world_->clock.pass(1);
  log_in("c");
}

TEST_F(Devices, TheSameDeviceReplacesItsOwnLink) {
  log_in("a");
  const Session old = link("a");
  log_in("a");
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::replaced)));
  EXPECT_EQ(send(old), "SESSION_FENCED");
  EXPECT_EQ(send(link("a")), "");
  EXPECT_EQ(world_->refused(DeviceSeenCommand{kUser, DeviceId("a"), *old.generation, Mark(1)}),
            ErrorCode::SESSION_FENCED);
  EXPECT_EQ(row("a").acknowledged, Mark(0)) << "the late end of the old link touches nothing";
}

TEST_F(Devices, WelcomesMayBeLostInARowButNoCopyComesIn) {
  const auto login = [&](std::uint64_t generation) {
    LoginCommand command = hello("a");
    command.generation = generation;
    return world_->call(command);
  };
  EXPECT_TRUE(login(0));  // 1, lost
  EXPECT_TRUE(login(0));  // 2, lost
  EXPECT_TRUE(login(0));  // 3
  EXPECT_TRUE(login(3));  // 4, lost
  EXPECT_TRUE(login(3));  // 5, lost
  EXPECT_TRUE(login(3));  // 6
  EXPECT_EQ(login(2).error().code, ErrorCode::NEW_INSTALL_REQUIRED) << "3 was shown";
  world_->get<NoReply>(DeviceSeenCommand{kUser, DeviceId("a"), 6, Mark()});
  EXPECT_EQ(login(5).error().code, ErrorCode::NEW_INSTALL_REQUIRED) << "a frame came under 6";
  EXPECT_EQ(login(7).error().code, ErrorCode::NEW_INSTALL_REQUIRED) << "never given";
  EXPECT_TRUE(login(6));
}

TEST_F(Devices, LoggedOutTokensAreGoodForNothing) {
  const std::int64_t then = world_->clock.wall;
  log_in("a");
  log_in("b");
  world_->clock.pass(1'000);
  const auto left = world_->get<DevicesReply>(end("a"), link("b"));
  ASSERT_EQ(left.devices.size(), 2U);
  EXPECT_FALSE(left.devices[0].live);
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::logged_out)));
  EXPECT_EQ(send(link("a")), "SESSION_FENCED");
  EXPECT_EQ(send(http("a", then)), "LOGGED_OUT");
  EXPECT_EQ(world_->refused(hello("a", then)), ErrorCode::LOGGED_OUT);
  EXPECT_EQ(send(http("b", then)), "");
  EXPECT_EQ(send(http("", then)), "") << "it names no device";
  world_->clock.pass(1);
  EXPECT_EQ(log_in("a").mode, Mode::delta) << "what it holds is still good";
}

TEST_F(Devices, ATokenOfAClockAheadEndsToo) {
  const std::int64_t ahead = world_->clock.wall + 20'000;
  log_in("a", ahead);
  world_->get<DevicesReply>(end("a"));
  EXPECT_EQ(world_->refused(hello("a", ahead)), ErrorCode::LOGGED_OUT);
  world_->get<DevicesReply>(EndSessionsCommand{kUser, {}, {}, SessionEnd::logged_out});
  EXPECT_EQ(send(http("other", ahead)), "LOGGED_OUT");
}

TEST_F(Devices, AllOthersOrAll) {
  const std::int64_t then = world_->clock.wall;
  for (const char* device : {"a", "b", "c"}) log_in(device);
  world_->clock.pass(1'000);
  world_->get<DevicesReply>(EndSessionsCommand{kUser, {}, DeviceId("b"), SessionEnd::logged_out}, link("b"));
  EXPECT_THAT(take_ended(), UnorderedElementsAre(Pair("a", SessionEnd::logged_out), Pair("c", SessionEnd::logged_out)));
  EXPECT_EQ(send(link("b")), "");
  world_->get<DevicesReply>(EndSessionsCommand{kUser, {}, {}, SessionEnd::logged_out});
  EXPECT_THAT(take_ended(), ElementsAre(Pair("b", SessionEnd::logged_out)));
  EXPECT_EQ(send(link("b")), "SESSION_FENCED");
  for (const char* device : {"a", "b", "c", "never-seen", ""}) EXPECT_EQ(send(http(device, then)), "LOGGED_OUT");
  EXPECT_EQ(world_->refused(hello("new", then)), ErrorCode::LOGGED_OUT);
  world_->clock.pass(1);
  log_in("new");
  EXPECT_EQ(world_->refused(end("a"), link("a")), ErrorCode::SESSION_FENCED) << "who is logged out logs nobody out";
}

TEST_F(Devices, ARemovedDeviceBeginsAnew) {
  log_in("a");
  world_->send("B", "A", "1");
  const Cursor cursor{world_->view().epoch(), Mark(1), 1};
  const auto left = world_->get<DevicesReply>(end("a", SessionEnd::removed));
  EXPECT_THAT(left.devices, IsEmpty());
  EXPECT_EQ(world_->refused(end("a")), ErrorCode::DEVICE_NOT_FOUND);
  LoginCommand login = hello("a");
  login.cursor = cursor;
  EXPECT_EQ(world_->refused(login), ErrorCode::DEVICE_REMOVED);
  world_->clock.pass(60LL * 24 * kHourMs);
  EXPECT_EQ(world_->refused(login), ErrorCode::DEVICE_REMOVED);
  login.token_issued_at = world_->clock.wall;
  auto reply = world_->get<LoginReply>(login);
  EXPECT_EQ(reply.mode, Mode::reset);
  login.generation = reply.generation;
  EXPECT_EQ(world_->get<LoginReply>(login).mode, Mode::delta) << "once";
  EXPECT_EQ(world_->refused(end("x")), ErrorCode::DEVICE_NOT_FOUND);
}

TEST_F(Devices, DevicesWithoutASessionAreForgottenInTheEnd) {
  world_ = std::make_unique<EngineWorld>(with({.max = 2, .ended_kept = 3}));
  const std::int64_t then = world_->clock.wall;
  log_in("first");
  world_->get<DevicesReply>(end("first"));
  for (int i = 0; i < 10; ++i) {
    world_->clock.pass(1'000);
    log_in("d" + std::to_string(i), then + 500);
  }
  EXPECT_EQ(world_->view().devices(kUser).size(), 5U);
  // d0 had to make room and may come again. The first was logged out: a token of its own alone does not bring it back.
  log_in("d0", then + 500);
  LoginCommand login = hello("first", then);
  login.token_of_device = true;
  EXPECT_EQ(world_->refused(login), ErrorCode::LOGGED_OUT);
  login.token_issued_at = world_->clock.wall;
  EXPECT_EQ(world_->get<LoginReply>(login).mode, Mode::delta);
}

TEST_F(Devices, NamesAndPushTokens) {
  log_in("a");
  log_in("b");
  const auto change = [&](const std::string& device, std::optional<std::string> name,
                          std::optional<std::string> token) {
    return world_->get<Device>(ChangeDeviceCommand{kUser, DeviceId(device), std::move(name), std::move(token)});
  };
  EXPECT_EQ(change("a", "Anna's phone", "t1").push_token, "t1");
  EXPECT_EQ(change("a", {}, {}).name, "Anna's phone");
  change("b", {}, "t1");
  EXPECT_EQ(row("a").push_token, "") << "a token wakes one device";
  EXPECT_EQ(row("b").push_token, "t1");

  LoginCommand other = hello("c");
  other.user = UserId("E");
  world_->get<LoginReply>(other);
  world_->get<Device>(ChangeDeviceCommand{UserId("E"), DeviceId("c"), {}, "t1"});
  EXPECT_EQ(row("b").push_token, "") << "of one user";
  EXPECT_EQ(world_->view().push_token_owner("t1"), (PushTokenOwner{UserId("E"), DeviceId("c")}));
  world_->get<DevicesReply>(EndSessionsCommand{UserId("E"), DeviceId("c"), {}, SessionEnd::logged_out});
  EXPECT_EQ(world_->view().push_token_owner("t1"), std::nullopt);
  EXPECT_EQ(world_->refused(ChangeDeviceCommand{UserId("E"), DeviceId("c"), {}, "t1"}), ErrorCode::DEVICE_NOT_FOUND);
  change("a", {}, "t2");
  change("a", {}, "");
  EXPECT_EQ(world_->view().push_token_owner("t2"), std::nullopt);
}

/// A device that is logged in learns through the index that the list has changed, also when it was away meanwhile.
TEST_F(Devices, TheOthersAreToldThatTheListHasChanged) {
  const auto mark = [&] { return world_->view().user(kUser).mark; };
  const auto told_at = [&]() -> std::int64_t {
    std::int64_t at = 0;
    world_->view().objects_by_mark(kUser, Mark(), Mark(1'000), [&](const UserObject& object) {
      if (const auto* devices = std::get_if<DevicesChanged>(&object.what)) at = devices->changed_at;
      return true;
    });
    return at;
  };
  const auto changes = [&](auto act) {
    const Mark before = mark();
    world_->clock.pass(1'000);
    act();
    if (mark() == before) return false;
    EXPECT_EQ(mark(), before + 1);
    EXPECT_EQ(told_at(), world_->clock.wall);
    return true;
  };
  EXPECT_FALSE(changes([&] { log_in("ios"); })) << "there is nobody to tell";
  EXPECT_TRUE(changes([&] { log_in("web"); }));
  EXPECT_FALSE(changes([&] { log_in("web"); })) << "a new link of the same session";
  const auto rename = [&](const std::string& name) {
    ChangeDeviceCommand command;
    command.user = kUser;
    command.device = DeviceId("web");
    command.name = name;
    ASSERT_TRUE(world_->call(command).has_value());
  };
  EXPECT_TRUE(changes([&] { rename("Firefox"); }));
  EXPECT_FALSE(changes([&] { rename("Firefox"); }));
  EXPECT_TRUE(changes([&] { ASSERT_TRUE(world_->call(end("web")).has_value()); }));
  EXPECT_TRUE(changes([&] { log_in("web"); }));
  world_->take_notices();
  EXPECT_TRUE(changes([&] { ASSERT_TRUE(world_->call(end("web", SessionEnd::removed)).has_value()); }));
  const std::vector<Notice> notices = world_->take_notices();
  ASSERT_EQ(notices.size(), 1U);
  ASSERT_EQ(notices[0].receivers.size(), 1U);
  ASSERT_EQ(notices[0].receivers[0].objects->size(), 1U);
  EXPECT_TRUE(std::holds_alternative<DevicesChanged>(notices[0].receivers[0].objects->front().what));
  EXPECT_FALSE(changes([&] { ASSERT_TRUE(world_->call(end("ios")).has_value()); })) << "nobody is left";
}

TEST_F(Devices, WhileNothingCanBeWrittenNobodyIsLoggedOut) {
  world_ = std::make_unique<EngineWorld>(with({.kind = DevicePolicy::Kind::single}));
  log_in("a");
  const Session before = link("a");
  world_->disk->fail_sync(1, MemoryDisk::Fate::lost);
  world_->disk->fail_recoveries(100);
  EXPECT_EQ(send(link("a")), "RETRY_LATER");
  EXPECT_EQ(world_->get<LoginReply>(hello("a")).generation, *before.generation) << "to read";
  EXPECT_EQ(world_->refused(hello("b")), ErrorCode::RETRY_LATER);
  world_->disk->fail_recoveries(0);
  world_->clock.pass(10'000);
  EXPECT_EQ(send(before), "");
}

TEST_F(Devices, WhatAFailedRoundHadEndedIsToldOnceItIsKnown) {
  world_ = std::make_unique<EngineWorld>(with({.kind = DevicePolicy::Kind::single}));
  log_in("a");
  world_->disk->fail_sync(1, MemoryDisk::Fate::kept);
  EXPECT_EQ(world_->refused(hello("b")), ErrorCode::RETRY_LATER);
  EXPECT_THAT(take_ended(), IsEmpty());
  world_->clock.pass(10'000);
  EXPECT_EQ(send(link("a")), "SESSION_FENCED");
  EXPECT_THAT(take_ended(), ElementsAre(Pair("a", SessionEnd::other_device)));
}

}  // namespace
}  // namespace tidemark
