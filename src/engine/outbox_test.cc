// The outbox: written with what it tells of, settled later, bounded.
#include "engine/outbox.h"

#include <gmock/gmock.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EngineOptions with_outbox(OutboxOptions options = {}) {
  EngineOptions made;
  made.outbox = options;
  return made;
}

std::vector<WaitingEvent> waiting(EngineWorld& world) {
  std::vector<WaitingEvent> events;
  EXPECT_TRUE(read_waiting_events(*world.warm().snapshot(), {}, [&](WaitingEvent event) {
    events.push_back(std::move(event));
    return true;
  }));
  return events;
}

std::vector<DeadEvent> dead(EngineWorld& world) {
  std::vector<DeadEvent> events;
  EXPECT_TRUE(read_dead_events(*world.warm().snapshot(), {}, [&](const DeadEvent& event) {
    events.push_back(event);
    return true;
  }));
  return events;
}

std::vector<std::string> told(const std::vector<WaitingEvent>& events) {
  std::vector<std::string> texts;
  for (const WaitingEvent& each : events) {
    const Event& event = each.event;
    std::string text = std::to_string(static_cast<int>(event.kind)) + " ";
    text += event.conversation.empty() ? event.user.value + "/" + event.device.value
                                       : event.conversation.value + ":" + std::to_string(event.seq.value);
    texts.push_back(std::move(text));
  }
  return texts;
}

LoginCommand login(const std::string& user, const std::string& device) {
  LoginCommand command;
  command.user = UserId(user);
  command.device = DeviceId(device);
  return command;
}

TEST(Outbox, EachChangeOfAConversationWaitsInTheOrderOfItsCommit) {
  EngineWorld world(with_outbox());
  world.send("1", "2", "hello");
  MutateCommand edit;
  edit.user = UserId("1");
  Body body;
  body.text = "hallo";
  edit.change = EditCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(1), body, std::nullopt};
  world.get<MutatedReply>(edit);
  MutateCommand recall;
  recall.user = UserId("1");
  recall.change = RecallCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(1)};
  world.get<MutatedReply>(recall);
  world.get<MutatedReply>(world.read_to("2", "1_2", 1));
  EXPECT_THAT(told(waiting(world)), ElementsAre("1 1_2:1", "2 1_2:2", "3 1_2:3")) << "reading is told to nobody";
}

TEST(Outbox, GroupsAndTheirEndAreTold) {
  EngineWorld world(with_outbox());
  const Group group = make_group(world, "1", {"2"});
  world.get<GroupReply>(remove("2", group, "2"));
  DissolveGroupCommand dissolve;
  dissolve.user = UserId("1");
  dissolve.conversation = ConversationId(group.id);
  world.get<GroupReply>(dissolve);
  const auto events = told(waiting(world));
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.front().substr(0, 2), "6 ");
  EXPECT_EQ(events[events.size() - 2].substr(0, 2), "6 ");
  EXPECT_EQ(events.back().substr(0, 2), "8 ");
}

TEST(Outbox, ADevicesSessionIsToldOnceAndSoIsItsEnd) {
  EngineOptions options = with_outbox();
  options.params.devices.kind = DevicePolicy::Kind::single;
  EngineWorld world(options);
  const auto first = world.get<LoginReply>(login("1", "phone"));
  LoginCommand again = login("1", "phone");
  again.generation = first.generation;
  world.get<LoginReply>(again);
  world.get<LoginReply>(login("1", "tablet"));
  EndSessionsCommand logout;
  logout.user = UserId("1");
  logout.device = DeviceId("tablet");
  world.get<DevicesReply>(logout);
  EXPECT_THAT(told(waiting(world)), ElementsAre("9 1/phone", "12 1/phone", "9 1/tablet", "10 1/tablet"));
}

TEST(Outbox, OnlyWhatIsChosenIsKeptAndNothingWithoutAnOutbox) {
  EngineWorld chosen(with_outbox({.choice = {.messages = false, .groups = false, .devices = false}}));
  chosen.send("1", "2", "hello");
  make_group(chosen, "1", {"2"});
  chosen.get<LoginReply>(login("1", "phone"));
  EXPECT_THAT(waiting(chosen), IsEmpty());
  EngineWorld without;
  without.send("1", "2", "hello");
  EXPECT_THAT(waiting(without), IsEmpty());
}

TEST(Outbox, ADuplicateAndARefusalMakeNoEvent) {
  EngineWorld world(with_outbox());
  const SendCommand message = world.message("1", "2", "hello");
  world.get<SentReply>(message);
  EXPECT_TRUE(world.get<SentReply>(message).duplicate);
  world.refused(world.message("3", "1_2", "not mine"));
  EXPECT_EQ(waiting(world).size(), 1u);
}

TEST(Outbox, WhatWasAcknowledgedWaitsAfterACrashAndWhatWasSettledDoesNot) {
  EngineWorld world(with_outbox());
  world.send("1", "2", "a");
  world.send("1", "2", "b");
  const auto before = waiting(world);
  ASSERT_EQ(before.size(), 2u);
  world.engine().settle({.told = {before[0].place}, .dead = {}, .replayed = {}});
  world.run();
  world.crash();
  EXPECT_THAT(waiting(world), ElementsAre(before[1]));
  EXPECT_EQ(world.engine().outbox().waiting, 1u);
}

TEST(Outbox, TheSameSettlementTwiceCountsOnce) {
  EngineWorld world(with_outbox());
  world.send("1", "2", "a");
  const auto place = waiting(world)[0].place;
  for (int i = 0; i < 2; ++i) {
    world.engine().settle({.told = {place}, .dead = {}, .replayed = {}});
    world.run();
  }
  EXPECT_EQ(world.engine().outbox().waiting, 0u);
}

TEST(Outbox, ASettlementSurvivesARoundThatFails) {
  for (const FaultStep fault : {FaultStep::commit_before, FaultStep::commit_after}) {
    EngineWorld world(with_outbox());
    world.send("1", "2", "a");
    const auto place = waiting(world)[0].place;
    world.plan->fail(fault);
    world.engine().settle({.told = {place}, .dead = {}, .replayed = {}});
    world.run();
    world.clock.pass(2'000);
    world.run();
    EXPECT_THAT(waiting(world), IsEmpty());
    EXPECT_EQ(world.engine().outbox().waiting, 0u);
  }
}

TEST(Outbox, TheDeadAreKeptAndWaitAgainUnderTheirNames) {
  EngineWorld world(with_outbox());
  world.send("1", "2", "a");
  world.send("1", "2", "b");
  const auto events = waiting(world);
  world.engine().settle(
      {.told = {}, .dead = {{events[0], 20, "It answered 500.", 7}, {events[1], 20, "", 8}}, .replayed = {}});
  world.run();
  EXPECT_THAT(waiting(world), IsEmpty());
  ASSERT_EQ(dead(world).size(), 2u);
  EXPECT_EQ(dead(world)[0].last_error, "It answered 500.");
  world.crash();
  EXPECT_EQ(world.engine().outbox().dead, 2u);

  std::optional<std::uint64_t> replayed;
  world.engine().settle({.told = {}, .dead = {}, .replayed = {events[1].name}},
                        [&](Result<std::uint64_t> count) { replayed = count.value_or(99); });
  world.run();
  EXPECT_EQ(replayed, 1u);
  ASSERT_EQ(waiting(world).size(), 1u);
  EXPECT_EQ(waiting(world)[0].name, events[1].name) << "whoever has seen it knows it again";
  EXPECT_GT(waiting(world)[0].place, events[1].place) << "it waits at the end";
  EXPECT_EQ(dead(world).size(), 1u);
}

TEST(Outbox, BeyondItsBoundTheOldestDeadAreForgotten) {
  EngineWorld world(with_outbox({.choice = {}, .dead_max = 2}));
  for (int i = 0; i < 3; ++i) world.send("1", "2", "a");
  const auto events = waiting(world);
  for (const WaitingEvent& each : events) {
    world.engine().settle({.told = {}, .dead = {{each, 1, "", 0}}, .replayed = {}});
    world.run();
  }
  ASSERT_EQ(dead(world).size(), 2u);
  EXPECT_EQ(dead(world)[0].waiting, events[1]);
  EXPECT_EQ(world.engine().outbox().dead, 2u);
}

TEST(Outbox, WhatComesBeyondItsBoundIsCountedAndToldOfOnceThereIsRoom) {
  EngineWorld world(with_outbox({.choice = {}, .waiting_max = 10}));
  for (int i = 0; i < 13; ++i) world.send("1", "2", "a");
  ASSERT_EQ(waiting(world).size(), 10u);
  EXPECT_EQ(world.engine().outbox().lost, 3u);
  world.crash();
  world.send("1", "2", "a");
  ASSERT_EQ(waiting(world).size(), 10u) << "a start forgets no loss";
  const auto events = waiting(world);
  const int woken = world.events_woken;
  world.engine().settle({.told = {events[0].place, events[1].place}, .dead = {}, .replayed = {}});
  world.run();
  EXPECT_EQ(world.events_woken, woken + 1) << "though fewer wait than before";
  const auto after = waiting(world);
  ASSERT_EQ(after.size(), 9u);
  EXPECT_EQ(after.back().event.kind, EventKind::events_lost);
  EXPECT_EQ(after.back().event.lost, 4u);
  world.send("1", "2", "back");
  EXPECT_EQ(waiting(world).back().event.kind, EventKind::message_sent) << "from here on all are kept again";
}

TEST(Outbox, NamesReadBackAsTheyWereWritten) {
  const EventName name{3, {57, 2}};
  EXPECT_EQ(text_of(name), "3-57-2");
  EXPECT_EQ(event_named("3-57-2"), name);
  for (const char* bad : {"", "3", "3-57", "3-57-", "3-57-2-", "a-1-1", "03-57-2", "3-57-99999999999", "-3-57-2"})
    EXPECT_FALSE(event_named(bad)) << bad;
}

}  // namespace
}  // namespace tidemark
