// Coming back, pages, pushes and gaps, against the core's own server rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conversation_id.h"
#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

/// Takes the frames of a link whose answers are to be handled one by one.
ServerFrame next_down(TestLink& link) {
  TM_CHECK(!link.down.empty(), "the server has sent something");
  ServerFrame frame = std::move(link.down.front());
  link.down.pop_front();
  return frame;
}

std::vector<std::string> numbered(int first, int last) {
  std::vector<std::string> texts;
  for (int i = first; i <= last; ++i) texts.push_back("m" + std::to_string(i));
  return texts;
}

void send_numbered(TestServer& server, int first, int last) {
  for (int i = first; i <= last; ++i) server.send(kBen, kAnna, "m" + std::to_string(i));
}

TEST(Replica, AFreshDeviceIsInStepAfterItsFirstSnapshot) {
  TestServer server;
  send_numbered(server, 1, 3);
  TestDevice device(kAnna);
  join(server, device);
  EXPECT_EQ(device.replica->link(), LinkState::in_step);
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true}));
  EXPECT_EQ(device.texts(kChat), numbered(1, 3));
  EXPECT_FALSE(device.store.device().pass.snapshot);
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark);
}

TEST(Replica, ALivePushMovesTheCursorAndShowsTheMessageOnce) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.events.clear();
  send_numbered(server, 1, 1);
  settle(server, device, link);
  ASSERT_EQ(device.seen<MessageEvent>().size(), 1u);
  EXPECT_TRUE(device.seen<MessageEvent>()[0].notify);
  EXPECT_EQ(device.object(kChat).unread, (Unread{1, true}));
  EXPECT_EQ(device.object(kChat).peer, kBen);
  EXPECT_EQ(device.object(kChat).preview.text, "m1");
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark);
}

TEST(Replica, AcksAtTheLatestAfterTwoSecondsOrTwentyEntries) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.advance(3'000);
  settle(server, device, link);
  send_numbered(server, 1, 1);
  while (!link.down.empty()) device.frame(next_down(link));
  EXPECT_EQ(device.waiting<Ack>(), 0u);
  device.advance(2'000);
  EXPECT_EQ(std::get<Ack>(device.expect<Ack>().operation).mark, device.store.device().cursor.mark);
  send_numbered(server, 2, 21);
  while (!link.down.empty()) device.frame(next_down(link));
  EXPECT_EQ(std::get<Ack>(device.expect<Ack>().operation).mark, device.store.device().cursor.mark);
  EXPECT_EQ(device.waiting<Ack>(), 0u);
}

TEST(Conformance, F03_nothing_received_at_first_and_everything_later) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  EXPECT_FALSE(device.store.device().cursor.empty()) << "an empty index is a place to stand, too";
  device.disconnect();
  server.disconnect(first);
  server.send(kBen, kAnna, "first");
  server.send(kBen, kAnna, "second");
  join(server, device);
  EXPECT_THAT(device.texts(kChat), ElementsAre("first", "second"));
  EXPECT_EQ(device.object(kChat).unread, (Unread{2, true}));

  TestDevice never_before(kAnna, DeviceId("d2"));
  join(server, never_before);
  EXPECT_THAT(never_before.texts(kChat), ElementsAre("first", "second"));
  EXPECT_EQ(never_before.object(kChat).unread, (Unread{2, true}));
}

TEST(Conformance, S17_crash_between_pages) {
  // Nine conversations in pages of three; the device is lost after two pages were stored.
  TestServer server;
  Options options;
  options.sync_limit = 3;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  for (int i = 1; i <= 9; ++i) server.send(UserId("20" + std::to_string(i)), kAnna, "hello " + std::to_string(i));

  TestLink& cut = server.connect(kAnna);
  device.connect();
  server.receive(cut, device.expect<Hello>());
  while (!cut.down.empty()) device.frame(next_down(cut));
  for (int page = 0; page < 2; ++page) {
    server.receive(cut, device.expect<Sync>());
    device.frame(next_down(cut));
  }
  const Mark low = device.store.device().pass.low;
  EXPECT_EQ(device.store.conversations().size(), 6u);
  EXPECT_TRUE(device.store.device().pass.open);
  device.start();
  server.disconnect(cut);

  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  while (!link.down.empty()) device.frame(next_down(link));
  const Request third = device.expect<Sync>();
  EXPECT_EQ(std::get<Sync>(third.operation).below, low) << "it goes on where the stored pages end";
  server.receive(link, third);
  settle(server, device, link);
  EXPECT_EQ(device.replica->link(), LinkState::in_step);
  EXPECT_EQ(device.store.conversations().size(), 9u);
  for (int i = 1; i <= 9; ++i) {
    const ConversationId id = single_conversation(kAnna, UserId("20" + std::to_string(i)));
    EXPECT_THAT(device.texts(id), ElementsAre("hello " + std::to_string(i)));
    EXPECT_EQ(device.object(id).unread, (Unread{1, true}));
  }
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark);
}

TEST(Conformance, S18_rows_and_cursor_are_stored_together_and_a_page_twice_changes_nothing) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  send_numbered(server, 1, 5);
  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  while (!link.down.empty()) device.frame(next_down(link));
  server.receive(link, device.expect<Sync>());
  const ServerFrame page = next_down(link);

  // The page's input gives one batch that holds the rows and the cursor.
  const MemoryStore before = device.store;
  device.replica->on_frame(device.now, page);
  const Outputs outputs = device.replica->take_outputs();
  EXPECT_EQ(outputs.batch.rows.size(), 5u);
  ASSERT_TRUE(outputs.batch.device.has_value());
  EXPECT_EQ(outputs.batch.device->cursor.mark, server.view.user(kAnna).mark);

  // Lost before it was stored: the device stands where it stood, and the same page brings the same end.
  device.store = before;
  device.start();
  server.disconnect(link);
  TestLink& again = server.connect(kAnna);
  device.connect();
  settle(server, device, again);
  EXPECT_EQ(device.texts(kChat), numbered(1, 5));
  const auto cursor = device.store.device().cursor;
  const Change object = device.object(kChat);

  // Stored, and then the page comes once more: nothing moves.
  const std::size_t shown = device.seen<MessageEvent>().size();
  device.frame(page);
  EXPECT_EQ(device.store.device().cursor, cursor);
  EXPECT_EQ(device.object(kChat), object);
  EXPECT_EQ(device.texts(kChat), numbered(1, 5));
  EXPECT_EQ(device.seen<MessageEvent>().size(), shown);
}

TEST(Conformance, S19_new_messages_during_paging) {
  TestServer server;
  Options options;
  options.sync_limit = 2;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  for (int i = 1; i <= 6; ++i) server.send(UserId("20" + std::to_string(i)), kAnna, "hello");

  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  while (!link.down.empty()) device.frame(next_down(link));
  for (int page = 0; page < 2; ++page) {
    server.receive(link, device.expect<Sync>());
    device.frame(next_down(link));
  }
  // Five more between pages 2 and 3, told by pushes that were already on their way.
  const Mark cursor = device.store.device().cursor.mark;
  link.armed = true;
  send_numbered(server, 1, 5);
  while (!link.down.empty()) device.frame(next_down(link));
  EXPECT_EQ(device.store.device().cursor.mark, cursor) << "a push does not move the cursor past open pages";
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 5));
  EXPECT_EQ(device.object(kChat).unread, (Unread{5, true}));
  EXPECT_EQ(device.store.conversations().size(), 7u);
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark);
  EXPECT_EQ(device.replica->held_pushes(), 0u);
}

TEST(Replica, APushThatDoesNotFollowWhatTheDescentBroughtIsPulled) {
  // A conversation that changes while the pages come moves above p0, so no page has it. What is pushed of it next tells
  // of one entry alone.
  TestServer server;
  Options options;
  options.sync_limit = 2;
  TestDevice device(kAnna, DeviceId("d1"), options);
  send_numbered(server, 1, 1);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  send_numbered(server, 2, 4);
  for (int i = 1; i <= 2; ++i) server.send(UserId("20" + std::to_string(i)), kAnna, "hello");

  TestLink& link = server.connect(kAnna);
  device.connect();
  server.receive(link, device.expect<Hello>());
  while (!link.down.empty()) device.frame(next_down(link));
  server.receive(link, device.expect<Sync>());
  device.frame(next_down(link));
  link.armed = true;
  send_numbered(server, 5, 5);
  settle(server, device, link);
  EXPECT_EQ(device.object(kChat).unread, (Unread{5, true}));
  EXPECT_EQ(device.object(kChat).head_seq, Seq(5));
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark);
}

LinkState state_told(const TestDevice& device) {
  for (auto event = device.events.rbegin(); event != device.events.rend(); ++event)
    if (const auto* link = std::get_if<LinkEvent>(&*event)) return link->state;
  return LinkState::offline;
}

void kick(TestDevice& device, const std::string& code) {
  device.frame({0, Kick{.code = code, .terminal = true, .message = {}}});
}

/// A hello that was given up with its connection may arrive after the next one was welcomed; then the server takes it
/// for the newer link.
TEST(Replica, AHelloOfItsOwnThatArrivesLateDoesNotEndIt) {
  TestServer server;
  TestDevice device(kAnna);
  device.connect();
  (void)device.expect<Hello>();  // on its way for long
  device.disconnect();
  join(server, device);
  kick(device, "REPLACED");
  EXPECT_TRUE(device.close_asked);
  EXPECT_EQ(state_told(device), LinkState::offline) << "it may connect again";
  device.disconnect();
  join(server, device);
  EXPECT_EQ(device.replica->link(), LinkState::in_step);
  kick(device, "REPLACED");
  EXPECT_EQ(state_told(device), LinkState::refused) << "one late hello is no reason for two links";
}

TEST(Replica, AnotherKickIsForGoodWhateverIsOnItsWay) {
  TestServer server;
  TestDevice device(kAnna);
  device.connect();
  (void)device.expect<Hello>();
  device.disconnect();
  join(server, device);
  kick(device, "OTHER_DEVICE");
  EXPECT_EQ(state_told(device), LinkState::refused);
}

TEST(Replica, WhoseHellosWereAllAnsweredIsReplacedForGood) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  join(server, device);
  kick(device, "REPLACED");
  EXPECT_EQ(state_told(device), LinkState::refused);
}

TEST(Conformance, S27_stale_response) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  send_numbered(server, 1, 2);
  TestLink& old_link = server.connect(kAnna);
  device.connect();
  server.receive(old_link, device.expect<Hello>());
  while (!old_link.down.empty()) device.frame(next_down(old_link));
  server.receive(old_link, device.expect<Sync>());
  const ServerFrame late = next_down(old_link);

  device.disconnect();
  device.connect();
  const Request hello = device.expect<Hello>();
  const Cursor cursor = device.store.device().cursor;
  device.frame(late);
  EXPECT_EQ(device.store.device().cursor, cursor);
  EXPECT_TRUE(device.texts(kChat).empty());

  TestLink& link = server.connect(kAnna);
  server.receive(link, hello);
  while (!link.down.empty()) device.frame(next_down(link));
  const Request second = device.expect<Sync>();
  device.frame(late);
  EXPECT_EQ(device.store.device().cursor, cursor) << "the late page answers no question of this connection";
  server.receive(link, second);
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 2));
}

TEST(Conformance, S31_duplicate_push) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.events.clear();
  send_numbered(server, 1, 1);
  const ServerFrame push = next_down(link);
  device.frame(push);
  device.frame(push);
  EXPECT_EQ(device.object(kChat).unread, (Unread{1, true}));
  std::size_t notified = 0;
  for (const MessageEvent& event : device.seen<MessageEvent>()) notified += event.notify;
  EXPECT_EQ(notified, 1u);
  EXPECT_EQ(device.seen<MessageEvent>().size(), 1u);
  EXPECT_EQ(device.texts(kChat), numbered(1, 1));
}

TEST(Conformance, S32_reordered_pushes) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 1);
  settle(server, device, link);
  const std::size_t syncs = server.syncs;
  send_numbered(server, 2, 3);
  const ServerFrame second = next_down(link);
  device.frame(next_down(link));
  EXPECT_EQ(device.replica->held_pushes(), 1u);
  EXPECT_EQ(device.texts(kChat), numbered(1, 1)) << "m3 waits for m2";
  device.advance(300);
  device.frame(second);
  EXPECT_EQ(device.texts(kChat), numbered(1, 3));
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true}));
  device.advance(1'000);
  settle(server, device, link);
  EXPECT_EQ(server.syncs, syncs) << "nothing was pulled";
  EXPECT_EQ(device.replica->held_pushes(), 0u);
  std::vector<Seq> order;
  for (const MessageEvent& event : device.seen<MessageEvent>()) order.push_back(event.entry->seq);
  EXPECT_THAT(order, ElementsAre(Seq(1), Seq(2), Seq(3)));
}

TEST(Conformance, S33_lost_push_later_push_arrives) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 1);
  settle(server, device, link);
  send_numbered(server, 2, 3);
  next_down(link);  // lost
  device.frame(next_down(link));
  device.advance(499);
  EXPECT_EQ(device.waiting<Sync>(), 0u);
  device.advance(1);
  EXPECT_EQ(device.waiting<Sync>(), 1u);
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 3));
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true}));
  EXPECT_EQ(device.replica->held_pushes(), 0u);
  EXPECT_EQ(device.replica->link(), LinkState::in_step);
}

TEST(Conformance, S33_lost_push_without_bodies_in_sync) {
  TestServer server;
  Options options;
  options.bodies = Bodies::none;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 1);
  settle(server, device, link);
  send_numbered(server, 2, 3);
  next_down(link);
  device.frame(next_down(link));
  device.advance(500);
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 3)) << "the rows come by conversation sync";
  EXPECT_EQ(device.state(kChat).touched, Seq(3));
}

TEST(Conformance, S34_lost_push_then_silence) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 1);
  next_down(link);  // lost, and nothing follows
  const std::int64_t lost_at = device.now.steady_ms;
  while (device.waiting<Heartbeat>() == 0) device.advance(1'000);
  EXPECT_LE(device.now.steady_ms - lost_at, 30'000);
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 1)) << "no further wait after the heartbeat's answer";
}

TEST(Conformance, S38_pushes_during_a_pull_overflow_the_buffer) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 2);
  next_down(link);
  device.frame(next_down(link));
  device.advance(500);
  const Request pull = device.expect<Sync>();
  // A hundred pushes come while the pull is open; its answer was read before any of them.
  server.receive(link, pull);
  const ServerFrame page = next_down(link);
  send_numbered(server, 3, 102);
  while (!link.down.empty()) device.frame(next_down(link));
  EXPECT_LE(device.replica->held_pushes(), device.options.held_items_max);
  device.frame(page);
  settle(server, device, link);
  EXPECT_EQ(device.store.device().cursor.mark, server.view.user(kAnna).mark) << "it pulled until cursor == head";
  EXPECT_EQ(device.object(kChat).unread, (Unread{102, true}));
  device.replica->open(device.now, kChat);
  device.take();
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 102)) << "overflow drops pushes, not data";
}

TEST(Replica, AHintIsFollowedByAPullAtOnce) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  link.armed = false;
  send_numbered(server, 1, 3);
  settle(server, device, link);
  EXPECT_EQ(device.texts(kChat), numbered(1, 3));
  EXPECT_TRUE(link.armed);
}

TEST(Replica, AnEntryOfAnUnknownKindNeverStopsTheCursor) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 3);
  settle(server, device, link);
  Entry strange;
  strange.seq = Seq(4);
  strange.kind = static_cast<EntryKind>(200);
  PushItem item;
  item.index_after = device.store.device().cursor.mark;
  item.index_to = item.index_after + 1;
  item.conversation = kChat;
  item.entry = std::make_shared<const Entry>(strange);
  const Mark to = item.index_to;
  device.push(std::move(item));
  EXPECT_EQ(device.store.device().cursor.mark, to);
  EXPECT_TRUE(device.state(kChat).coverage.contains(Seq(4)));
  EXPECT_EQ(device.object(kChat).unread, (Unread{3, true})) << "what is not known to count does not count";
  EXPECT_EQ(device.waiting<ConversationSync>(), 1u) << "it may have changed an older row";
}

TEST(Replica, WhatTheSnapshotDoesNotNameGoes) {
  TestServer server;
  send_numbered(server, 1, 1);
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  // The server was set back to a time before the conversation, under a new epoch.
  TestServer restored;
  restored.view.set_epoch({2, 77});
  restored.send(UserId("1003"), kAnna, "hello");
  join(restored, device);
  EXPECT_EQ(device.store.conversation(kChat), nullptr);
  EXPECT_THAT(device.texts(ConversationId("1001_1003")), ElementsAre("hello"));
  EXPECT_EQ(device.store.device().cursor.epoch, (Epoch{2, 77}));
}

TEST(Replica, AfterARollbackRowsOfTheSameNumbersAreTheNewOnes) {
  TestServer server;
  send_numbered(server, 1, 3);
  TestDevice device(kAnna);
  TestLink& first = join(server, device);
  device.disconnect();
  server.disconnect(first);
  ASSERT_EQ(device.texts(kChat), numbered(1, 3));
  // Another store under the same address: its numbers 1 and 2 are other messages.
  TestServer other;
  other.view.set_epoch({1, 77});
  other.send(kBen, kAnna, "new 1");
  other.send(kBen, kAnna, "new 2");
  join(other, device);
  EXPECT_THAT(device.texts(kChat), ElementsAre("new 1", "new 2"));
  EXPECT_EQ(device.object(kChat).unread, (Unread{2, true}));
  device.start();
  EXPECT_THAT(device.texts(kChat), ElementsAre("new 1", "new 2"));
}

TEST(Replica, AnUnansweredRequestEndsTheLink) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  server.send(kBen, kAnna, "hello");
  settle(server, device, link);
  while (device.waiting<Heartbeat>() == 0) device.advance(1'000);
  device.advance(device.options.answer_ms);
  EXPECT_TRUE(device.close_asked);
}

TEST(Replica, AHugeGapLeavesAHoleThatScrollingFillsFromBothEnds) {
  TestServer server;
  server.params.hole_above = 100;
  Options options;
  options.bodies = Bodies::none;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, device);
  send_numbered(server, 1, 10);
  settle(server, device, link);
  device.disconnect();
  server.disconnect(link);
  send_numbered(server, 11, 400);
  TestLink& second = join(server, device);
  device.replica->open(device.now, kChat);
  device.take();
  settle(server, device, second);
  EXPECT_THAT(device.state(kChat).coverage.ranges(),
              ElementsAre(Interval{Seq(0), Seq(10)}, Interval{Seq(350), Seq(400)}));
  const auto act = [&](auto scroll) {
    scroll();
    device.take();
    settle(server, device, second);
  };
  act([&] { device.replica->scroll_back(device.now, kChat); });
  EXPECT_TRUE(device.state(kChat).coverage.covers({Seq(300), Seq(400)}));
  act([&] { device.replica->scroll_forward(device.now, kChat, Seq(9)); });
  EXPECT_TRUE(device.state(kChat).coverage.covers({Seq(0), Seq(60)}));
  for (int i = 0; i < 8; ++i) act([&] { device.replica->scroll_back(device.now, kChat); });
  EXPECT_THAT(device.state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(400)}));
  EXPECT_EQ(device.texts(kChat), numbered(1, 400));
  EXPECT_TRUE(device.seen<HistoryEvent>().back().end);
}

}  // namespace
}  // namespace tidemark::replica
