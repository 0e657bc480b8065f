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

/// A message with files that expire so many ms from now.
Seq send_files(EngineWorld& world, const std::vector<std::int64_t>& in_ms) {
  SendCommand message = world.message("1", "2", "look");
  for (const std::int64_t each : in_ms)
    message.body.attachments.push_back(
        {"https://example.org/" + std::to_string(each), 7, "image/png", "h", each == 0 ? 0 : world.clock.wall + each});
  return world.get<SentReply>(message).seq;
}

/// What has expired, as "seq at", the time counted from `begin`.
std::vector<std::string> expired(EngineWorld& world, std::int64_t begin) {
  std::vector<std::string> all;
  for (const WaitingEvent& each : waiting(world))
    if (each.event.kind == EventKind::attachments_expired)
      all.push_back(std::to_string(each.event.seq.value) + " " + std::to_string(each.event.at - begin));
  return all;
}

TEST(Outbox, FilesThatExpireAreToldOfOnceWhenTheirTimeHasCome) {
  EngineWorld world(with_outbox({.choice = {.messages = false}}));
  const std::int64_t begin = world.clock.wall;
  send_files(world, {0, 5'000, 9'000, 5'000});
  send_files(world, {2'000});
  world.clock.pass(1'999);
  world.run();
  EXPECT_THAT(expired(world, begin), IsEmpty());
  world.clock.pass(1);
  world.run();
  EXPECT_THAT(expired(world, begin), ElementsAre("2 2000"));
  world.crash();
  world.clock.pass(100'000);
  world.run();
  EXPECT_THAT(expired(world, begin), ElementsAre("2 2000", "1 5000", "1 9000"));
  world.crash();
  world.clock.pass(100'000);
  world.run();
  EXPECT_THAT(expired(world, begin), testing::SizeIs(3)) << "once";
  int left = 0;
  world.view().file_expiries([&](const FileExpiry&) { return ++left > 0; });
  EXPECT_EQ(left, 0);
}

TEST(Outbox, OfMessagesThatHoldTheFileNoMoreNothingExpires) {
  EngineWorld world(with_outbox({.choice = {.messages = false, .changes = false}}));
  const std::int64_t begin = world.clock.wall;
  for (int i = 0; i < 3; ++i) send_files(world, {5'000});
  MutateCommand recall;
  recall.user = UserId("1");
  recall.change = RecallCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(1)};
  world.get<MutatedReply>(recall);
  const auto edit = [&](Seq seq, std::vector<Attachment> files) {
    Body body;
    body.text = "hallo";
    body.attachments = std::move(files);
    MutateCommand command;
    command.user = UserId("1");
    command.change = EditCommand{UserId("1"), DeviceId(), ConversationId("1_2"), seq, body, std::nullopt};
    world.get<MutatedReply>(command);
  };
  edit(Seq(2), {{"https://example.org/other", 1, "", "", begin + 7'000}});
  world.clock.pass(10'000);
  world.run();
  EXPECT_THAT(expired(world, begin), ElementsAre("3 5000", "2 7000"));
  edit(Seq(3), {{"https://example.org/5000", 7, "image/png", "h", begin + 5'000}});
  world.run();
  EXPECT_THAT(expired(world, begin), testing::SizeIs(2)) << "an edit that keeps the file does not have it expire again";
}

TEST(Outbox, WhatExpiredBeforeItWasImportedIsToldToNobody) {
  EngineWorld world(with_outbox());
  const std::int64_t begin = world.clock.wall;
  ImportCommand import;
  import.name = "old";
  import.conversation = ConversationId("1_2");
  for (int i = 0; i < 2; ++i) {
    ImportCommand::Message message;
    message.source_id = std::to_string(i);
    message.sender = UserId("1");
    message.server_time = begin - 100'000 + i;
    message.body.text = "long ago";
    message.body.attachments = {{"https://example.org/a", 1, "", "", begin + (i == 0 ? -1 : 3'000)}};
    import.messages.push_back(message);
  }
  world.get<ImportReply>(import);
  world.clock.pass(10'000);
  world.run();
  EXPECT_THAT(expired(world, begin), ElementsAre("2 3000"));
}

TEST(Outbox, AFailedCommitAndAFullOutboxHoldExpiriesUpAndLoseNone) {
  EngineWorld world(with_outbox({.choice = {}, .waiting_max = 100}));
  const std::int64_t begin = world.clock.wall;
  for (int i = 0; i < 60; ++i) send_files(world, {5'000});
  world.clock.pass(6'000);
  world.run();
  EXPECT_THAT(expired(world, begin), IsEmpty()) << "there is no room";
  Settlement told;
  for (const WaitingEvent& each : waiting(world)) told.told.push_back(each.place);
  world.disk->fail_write(1);
  world.engine().settle(told);
  world.run();
  for (int i = 0; i < 5; ++i) {
    world.clock.pass(2'000);
    world.run();
  }
  EXPECT_EQ(world.engine().outbox().lost, 0U);
  EXPECT_EQ(expired(world, begin).size(), 50U);
  told = {};
  for (const WaitingEvent& each : waiting(world)) told.told.push_back(each.place);
  world.engine().settle(told);
  world.run();
  EXPECT_EQ(expired(world, begin).size(), 10U);
}

TEST(Outbox, AClockThatJumpsHasNothingExpire) {
  EngineWorld world(with_outbox({.choice = {.messages = false}}));
  const std::int64_t begin = world.clock.wall;
  send_files(world, {kHourMs});
  world.clock.wall += 2 * kHourMs;
  world.run();
  EXPECT_THAT(expired(world, begin), IsEmpty());
  world.start();
  world.run();
  EXPECT_THAT(expired(world, begin), testing::SizeIs(1)) << "at its start a server takes the clock as it is";
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
