// What a device asks by number: devices, members, groups; each change under a key that is kept when it is asked again.
#include "core/replica/group_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");

class GroupCallsTest : public ::testing::Test {
 protected:
  GroupCallsTest() { link = &join(server, device); }
  /// Carries out what was asked by `ask` and gives what is told.
  template <typename Told, typename Ask>
  Told told(Ask ask) {
    device.events.clear();
    EXPECT_TRUE(ask(*device.replica, device.now, ++number).has_value());
    device.take();
    settle(server, device, *link);
    const auto all = device.seen<Told>();
    EXPECT_THAT(all, SizeIs(1));
    EXPECT_EQ(all.empty() ? 0 : all[0].call, number);
    return all.empty() ? Told{} : all[0];
  }
  DevicesEvent devices(const DeviceRequest& request) {
    return told<DevicesEvent>(
        [&](Replica& replica, Now now, std::uint64_t call) { return replica.devices(now, call, request); });
  }

  TestServer server;
  TestDevice device{kAnna};
  TestLink* link = nullptr;
  std::uint64_t number = 0;
};

TEST_F(GroupCallsTest, DevicesAreListedNamedAndLoggedOut) {
  TestDevice other(kAnna, DeviceId("d2"));
  join(server, other);
  auto listed = devices(DevicesQuery{}).devices;
  ASSERT_TRUE(listed.has_value());
  ASSERT_THAT(*listed, SizeIs(2));
  EXPECT_TRUE((*listed)[0].current);
  EXPECT_FALSE((*listed)[1].current);

  listed = devices(ChangeDeviceCommand{{}, DeviceId("d2"), "Phone", "token-1"}).devices;
  ASSERT_TRUE(listed.has_value() && listed->size() == 1);
  EXPECT_EQ((*listed)[0].name, "Phone");
  EXPECT_TRUE((*listed)[0].push);
  EXPECT_EQ(devices(ChangeDeviceCommand{{}, DeviceId("d9"), "Phone", {}}).devices.error().code,
            ErrorCode::DEVICE_NOT_FOUND);

  listed = devices(LogoutOthers{}).devices;
  ASSERT_TRUE(listed.has_value());
  EXPECT_EQ((*listed)[1].state, LoginState::logged_out);
  listed = devices(RemoveDevice{DeviceId("d2")}).devices;
  ASSERT_TRUE(listed.has_value());
  EXPECT_THAT(*listed, SizeIs(1));
}

TEST_F(GroupCallsTest, ADeviceThatLogsItselfOutIsToldSoBeforeItsLinkEnds) {
  TestDevice other(kAnna, DeviceId("d2"));
  TestLink& others = join(server, other);
  const auto ends = [&](TestDevice& one, TestLink& its, const DeviceRequest& request) {
    one.events.clear();
    ASSERT_TRUE(one.replica->devices(one.now, 7, request).has_value());
    one.take();
    settle(server, one, its);
    ASSERT_THAT(one.seen<DevicesEvent>(), SizeIs(1));
    ASSERT_TRUE(one.seen<DevicesEvent>()[0].devices.has_value());
    EXPECT_THAT(*one.seen<DevicesEvent>()[0].devices, IsEmpty());
    ASSERT_THAT(one.seen<LinkEvent>(), SizeIs(1));
    EXPECT_EQ(one.seen<LinkEvent>()[0].state, LinkState::refused);
    EXPECT_TRUE(std::holds_alternative<LinkEvent>(one.events.back())) << "first the answer";
    one.disconnect();
    EXPECT_THAT(one.seen<DevicesEvent>(), SizeIs(1)) << "and once";
  };
  ends(other, others, RemoveDevice{DeviceId("d2")});
  ends(device, *link, Logout{});
}

TEST_F(GroupCallsTest, AKickForAnotherReasonAnswersNothing) {
  ASSERT_TRUE(device.replica->devices(device.now, 1, Logout{}).has_value());
  device.take();
  device.frame({0, Kick{"SERVER_STOPS", false, ""}});
  device.disconnect();
  ASSERT_THAT(device.seen<DevicesEvent>(), SizeIs(1));
  EXPECT_EQ(device.seen<DevicesEvent>()[0].devices.error().code, ErrorCode::RETRY_LATER);
}

TEST_F(GroupCallsTest, MembersComePageByPage) {
  const ConversationId group = server.create_group(kAnna, {kBen, UserId("1003")});
  const auto page = [&](const std::string& token) {
    return told<MembersEvent>([&](Replica& replica, Now now, std::uint64_t call) {
             return replica.ask_members(now, call, {group, 2, token});
           })
        .members;
  };
  const auto first = page("");
  ASSERT_TRUE(first.has_value());
  ASSERT_THAT(first->members, SizeIs(2));
  EXPECT_EQ(first->members[0].member.role, Role::owner);
  ASSERT_FALSE(first->page_token.empty());
  const auto second = page(first->page_token);
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(second->members, SizeIs(1));
  EXPECT_THAT(second->page_token, IsEmpty());
  const auto refused = told<MembersEvent>([&](Replica& replica, Now now, std::uint64_t call) {
    return replica.ask_members(now, call, {ConversationId("group_99"), 0, ""});
  });
  EXPECT_EQ(refused.members.error().code, ErrorCode::CONVERSATION_NOT_FOUND);
}

TEST_F(GroupCallsTest, EachChangeHasAKeyOfItsOwnAndQuestionsHaveNone) {
  const ConversationId group = server.create_group(kAnna, {kBen});
  settle(server, device, *link);
  const auto key_of = [&](const GroupRequest& request) {
    EXPECT_TRUE(device.replica->group(device.now, ++number, request).has_value());
    device.take();
    const GroupCall call = std::get<GroupCall>(device.expect<GroupCall>().operation);
    const auto* made = std::get_if<CreateGroupCommand>(&call.request);
    return made != nullptr ? made->idempotency_key : call.idempotency_key;
  };
  const std::string first = key_of(AddMembersCommand{{}, {}, group, {UserId("1003")}});
  EXPECT_THAT(first, SizeIs(32));
  EXPECT_NE(key_of(AddMembersCommand{{}, {}, group, {UserId("1003")}}), first);
  EXPECT_THAT(key_of(GroupQuery{group}), IsEmpty());
  CreateGroupCommand make;
  EXPECT_THAT(key_of(make), SizeIs(32));
  make.idempotency_key = "mine";
  EXPECT_EQ(key_of(make), "mine");
}

TEST_F(GroupCallsTest, WhatWasCutOffIsAskedAgainUnderItsKey) {
  const AddMembersCommand add{{}, {}, ConversationId("group_1"), {UserId("1003")}};
  ASSERT_TRUE(device.replica->group(device.now, 1, add).has_value());
  device.take();
  const std::string key = std::get<GroupCall>(device.expect<GroupCall>().operation).idempotency_key;
  EXPECT_EQ(device.replica->ask_again(device.now, 2, 1).error().code, ErrorCode::MALFORMED) << "it is still open";
  device.disconnect();
  EXPECT_EQ(device.replica->ask_again(device.now, 2, 1).error().code, ErrorCode::RETRY_LATER);
  link = &join(server, device);
  ASSERT_TRUE(device.replica->ask_again(device.now, 3, 1).has_value());
  device.take();
  const Request again = device.expect<GroupCall>();
  EXPECT_EQ(std::get<GroupCall>(again.operation).idempotency_key, key);
  // What was refused for good is over; what may pass is not.
  device.answer(again, Error{ErrorCode::RATE_LIMITED});
  ASSERT_TRUE(device.replica->ask_again(device.now, 4, 3).has_value());
  device.take();
  const Request last = device.expect<GroupCall>();
  EXPECT_EQ(std::get<GroupCall>(last.operation).idempotency_key, key);
  device.answer(last, Error{ErrorCode::FORBIDDEN});
  EXPECT_EQ(device.replica->ask_again(device.now, 5, 4).error().code, ErrorCode::MALFORMED);
}

TEST_F(GroupCallsTest, NothingIsAskedAndNothingIsToldOnALinkThatTheServerHasEnded) {
  device.frame({0, Kick{"OTHER_DEVICE", true, ""}});
  device.events.clear();
  EXPECT_EQ(device.replica->devices(device.now, 1, DevicesQuery{}).error().code, ErrorCode::RETRY_LATER);
  device.advance(1'000);
  EXPECT_TRUE(device.seen<LinkEvent>().empty());
  EXPECT_EQ(device.replica->link(), LinkState::refused);
}

TEST_F(GroupCallsTest, NothingIsAskedWithoutAConnection) {
  device.disconnect();
  EXPECT_EQ(device.replica->devices(device.now, 1, DevicesQuery{}).error().code, ErrorCode::RETRY_LATER);
  EXPECT_EQ(device.replica->ask_members(device.now, 2, {ConversationId("group_1"), 0, ""}).error().code,
            ErrorCode::RETRY_LATER);
}

}  // namespace
}  // namespace tidemark::replica
