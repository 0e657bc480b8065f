// Rows that change after they were sent: pushed edits and recalls, pages read before those came, and changes that were
// missed. Frames are made by hand, in the orders that a network may bring them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/fold.h"
#include "core/replica/objects.h"
#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

Entry message(std::uint64_t seq, const UserId& sender = kBen) {
  Entry entry;
  entry.seq = Seq(seq);
  entry.server_time = 1'700'000'000'000 + static_cast<std::int64_t>(seq);
  entry.sender = sender;
  entry.body.text = "m" + std::to_string(seq);
  return entry;
}

Entry change(std::uint64_t seq, EntryKind kind, std::uint64_t target, const std::string& text = "",
             const UserId& author = kBen) {
  Entry entry = message(seq, author);
  entry.kind = kind;
  entry.target = Seq(target);
  entry.target_sender = author;
  entry.body.text = text;
  return entry;
}
Entry recall(std::uint64_t seq, std::uint64_t target, const UserId& author = kBen) {
  return change(seq, EntryKind::recall, target, "", author);
}
Entry edit(std::uint64_t seq, std::uint64_t target, const std::string& text, const UserId& author = kBen) {
  return change(seq, EntryKind::edit, target, text, author);
}

Entry recalled(std::uint64_t seq, std::uint64_t by) {
  Entry entry = message(seq);
  entry.state = MessageState::recalled;
  entry.touched_by = Seq(by);
  entry.body = {};
  return entry;
}
Entry edited(std::uint64_t seq, std::uint64_t by, const std::string& text) {
  Entry entry = message(seq);
  entry.state = MessageState::edited;
  entry.revision = entry.touched_by = Seq(by);
  entry.body.text = text;
  return entry;
}

/// The next change of the index, as it is pushed with this entry.
PushItem push_of(const TestDevice& device, Entry entry) {
  PushItem item;
  item.index_after = device.store.device().cursor.mark;
  item.index_to = item.index_after + 1;
  item.conversation = kChat;
  item.entry = std::make_shared<const Entry>(std::move(entry));
  return item;
}

/// The same with the object alone.
PushItem summary_of(const TestDevice& device, std::uint64_t head, std::uint64_t touch) {
  PushItem item;
  item.index_after = device.store.device().cursor.mark;
  item.index_to = item.index_after + 1;
  Change change = device.object(kChat);
  change.mark = item.index_to;
  change.head_seq = Seq(head);
  change.touch_seq = Seq(touch);
  item.summary = std::make_shared<const Change>(std::move(change));
  return item;
}

HistoryPage page_of(std::vector<Entry> rows, std::uint64_t after, std::uint64_t to, std::uint64_t as_of) {
  HistoryPage page;
  page.conversation = kChat;
  page.messages = std::move(rows);
  page.covers = {Seq(after), Seq(to)};
  page.as_of = Seq(as_of);
  return page;
}

ConversationPage news_of(std::uint64_t after, std::uint64_t to, std::vector<Entry> touched = {}) {
  ConversationPage page;
  page.conversation = kChat;
  page.after = Seq(after);
  page.to = page.as_of = page.head = Seq(to);
  page.covers = {Seq(to), Seq(to)};
  page.touched = std::move(touched);
  return page;
}

/// In step with six messages of Ben's, of which it holds the newest two.
class RowChanges : public ::testing::Test {
 protected:
  void begin(Options options = {}) {
    for (int i = 1; i <= 6; ++i) server.send(kBen, kAnna, "m" + std::to_string(i));
    options.recent = 2;
    device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
    join(server, *device);
    ASSERT_EQ(device->state(kChat).touched, Seq(6));
    ASSERT_THAT(device->texts(kChat), ElementsAre("m5", "m6"));
    device->events.clear();
  }
  const Entry& row(std::uint64_t seq) const { return *device->store.row(kChat, Seq(seq)); }
  void push(Entry entry) { device->push(push_of(*device, std::move(entry))); }
  Request ask_for_older() {
    device->replica->scroll_back(device->now, kChat);
    device->take();
    return device->expect<History>();
  }

  TestServer server;
  std::unique_ptr<TestDevice> device;
};

// ------------------------------------------------------------------------------------------------------- pushed

TEST_F(RowChanges, APushedEditChangesTheRowAndNothingIsAsked) {
  begin();
  push(edit(7, 5, "better"));
  EXPECT_EQ(row(5).body.text, "better");
  EXPECT_EQ(row(5).state, MessageState::edited);
  EXPECT_EQ(row(5).revision, Seq(7));
  EXPECT_EQ(row(5).sender, kBen) << "the rest of the row stays";
  const auto events = device->seen<MessageEvent>();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].appeared);
  EXPECT_FALSE(events[0].notify) << "an edit is no news";
  EXPECT_EQ(events[0].entry->body.text, "better");
  EXPECT_EQ(device->state(kChat).touched, Seq(7));
  EXPECT_EQ(device->object(kChat).touch_seq, Seq(7));
  EXPECT_EQ(device->waiting<ConversationSync>(), 0u);
  EXPECT_TRUE(device->replica->settled());
}

TEST_F(RowChanges, APushedRecallTakesTheTextWithEverythingThatWasSaid) {
  begin();
  Entry reply = message(7);
  reply.reply_to = Seq(5);
  reply.mentions = {kAnna};
  push(reply);
  push(recall(8, 7));
  EXPECT_EQ(row(7).state, MessageState::recalled);
  EXPECT_EQ(row(7).body, Body{});
  EXPECT_FALSE(row(7).reply_to);
  EXPECT_THAT(row(7).mentions, IsEmpty());
  EXPECT_EQ(row(7).server_time, reply.server_time) << "the marker says whose it was and when";
  push(edit(9, 7, "once more"));
  EXPECT_EQ(row(7).body, Body{}) << "dead is dead";
}

TEST_F(RowChanges, ChangesInAnyOrderComeToTheSame) {
  begin();
  push(message(7));
  PushItem older = push_of(*device, edit(8, 5, "first"));
  PushItem newer = older;
  newer.index_after = older.index_to;
  newer.index_to = newer.index_after + 1;
  newer.entry = std::make_shared<const Entry>(edit(9, 5, "second"));
  device->push(newer);
  device->push(older);
  EXPECT_EQ(row(5).body.text, "second");
  EXPECT_EQ(row(5).revision, Seq(9));
  EXPECT_EQ(device->state(kChat).touched, Seq(9));
}

TEST_F(RowChanges, WhatChangesARowIsNoRowItself) {
  begin();
  push(edit(7, 5, "better"));
  EXPECT_EQ(device->store.row(kChat, Seq(7)), nullptr) << "a body stands in one place";
  EXPECT_TRUE(device->state(kChat).coverage.contains(Seq(7)));
  for (const MessageEvent& event : device->seen<MessageEvent>()) EXPECT_NE(event.entry->seq, Seq(7));
}

TEST_F(RowChanges, AKindOfALaterVersionIsAskedAboutOnceAndPassed) {
  begin();
  push(change(7, static_cast<EntryKind>(99), 5));
  EXPECT_EQ(device->state(kChat).touched, Seq(6)) << "it may have changed any row";
  const Request about = device->expect<Heads>();
  EXPECT_EQ(std::get<Heads>(about.operation).known.at(0).conversation, kChat) << "and anything that the list shows";
  Change told = device->object(kChat);
  told.preview.text = "as the server has it";
  device->answer(about, HeadsPage{{told}, 0, {}});
  EXPECT_EQ(device->object(kChat).preview.text, "as the server has it");
  const Request question = device->expect<ConversationSync>();
  EXPECT_EQ(std::get<ConversationSync>(question.operation).after, Seq(6));
  device->answer(question, news_of(6, 7, {edited(5, 7, "as the server has it")}));
  EXPECT_EQ(row(5).body.text, "as the server has it");
  EXPECT_EQ(device->state(kChat).touched, Seq(7));
  EXPECT_EQ(device->waiting<ConversationSync>(), 0u);
  EXPECT_EQ(device->object(kChat).head_seq, Seq(7));
  EXPECT_EQ(device->store.row(kChat, Seq(7)), nullptr) << "it is shown as nothing";
  EXPECT_EQ(device->waiting<Heads>(), 0u);
}

TEST_F(RowChanges, WhatAKindOfALaterVersionDidIsAskedUntilItIsTold) {
  begin();
  push(change(7, static_cast<EntryKind>(99), 5));
  Request about = device->expect<Heads>();
  Change older = device->object(kChat);
  push(message(8));
  older.preview.text = "as of before";
  device->answer(about, HeadsPage{{older}, 0, {}});
  EXPECT_EQ(device->object(kChat).preview.text, "m8") << "older than what is held";
  about = device->expect<Heads>();

  // Neither does a crash make it forget.
  device->start();
  device->connect();
  Welcome welcome;
  welcome.head = device->store.device().cursor;
  device->answer(device->expect<Hello>(), welcome);
  about = device->expect<Heads>();
  EXPECT_EQ(std::get<Heads>(about.operation).known.at(0).conversation, kChat);
  EXPECT_FALSE(device->replica->settled());
  Change told = device->object(kChat);
  told.unread = {9, true};
  device->answer(about, HeadsPage{{told}, 0, {}});
  EXPECT_EQ(device->object(kChat).unread, (Unread{9, true}));
  EXPECT_FALSE(device->state(kChat).guessed);
  EXPECT_EQ(device->waiting<Heads>(), 0u);
}

TEST_F(RowChanges, AKindOfALaterVersionWhereNothingIsToldIsAskedAboutOnce) {
  begin();
  push(change(7, static_cast<EntryKind>(99), 5));
  device->answer(device->expect<Heads>(), HeadsPage{{}, 0, {}});
  EXPECT_FALSE(device->state(kChat).guessed);
  EXPECT_EQ(device->waiting<Heads>(), 0u);
}

TEST_F(RowChanges, ARowThatCannotBeReadIsAskedFor) {
  begin();
  MemoryStore broken = device->store;
  Replica replica({}, broken.image(), [](const ConversationId&, Seq) { return nullptr; });
  replica.on_connected(device->now);
  const Request hello = replica.take_outputs().requests.at(0);
  Welcome welcome;
  welcome.head = broken.device().cursor;
  replica.on_frame(device->now, {hello.id, welcome});
  (void)replica.take_outputs();
  replica.on_frame(device->now, {0, Push{{push_of(*device, recall(7, 5))}}});
  const Outputs outputs = replica.take_outputs();
  EXPECT_EQ(replica.conversations().at(kChat).state.touched, Seq(6));
  ASSERT_EQ(outputs.requests.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ConversationSync>(outputs.requests[0].operation));
}

TEST_F(RowChanges, ARecalledMessageThatWasNeverShownDoesNotNotify) {
  begin();
  PushItem first = push_of(*device, message(7));
  PushItem second = first;
  second.index_after = first.index_to;
  second.index_to = first.index_to + 1;
  second.entry = std::make_shared<const Entry>(recall(8, 7));
  device->push(second);  // the message itself is lost
  device->advance(600);
  (void)device->expect<Sync>();
  push(recalled(7, 8));
  for (const MessageEvent& event : device->seen<MessageEvent>()) EXPECT_FALSE(event.notify);
  EXPECT_EQ(row(7).state, MessageState::recalled);
}

TEST_F(RowChanges, AStandInThatHeardOfItsChangeFirstKeepsIt) {
  begin();
  TestLink& link = server.connect(kAnna);
  device->disconnect();
  device->connect();
  server.receive(link, device->expect<Hello>());
  device->frame(std::move(link.down.front()));
  device->send(kBen, "a slip");
  const Request send = device->expect<Send>();
  PushItem own = push_of(*device, message(7, kAnna));
  PushItem gone = own;
  gone.index_after = own.index_to;
  gone.index_to = own.index_to + 1;
  gone.entry = std::make_shared<const Entry>(recall(8, 7, kAnna));
  SentReply sent;
  sent.conversation = kChat;
  sent.seq = Seq(7);
  device->answer(send, sent);
  device->push(gone);  // overtakes the message's own push
  EXPECT_EQ(row(7).state, MessageState::recalled);
  device->events.clear();
  device->push(own);
  EXPECT_EQ(row(7).state, MessageState::recalled);
  for (const MessageEvent& event : device->seen<MessageEvent>()) EXPECT_TRUE(event.entry->dead());
  EXPECT_FALSE(device->store.conversation(kChat)->rows.at(Seq(7)).note.provisional);
}

TEST_F(RowChanges, AnEditWithoutABodyChangesNothing) {
  begin();
  Entry blank = edit(7, 5, "");
  blank.body = {};  // a recall has overtaken it on the server
  push(blank);
  EXPECT_EQ(row(5).body.text, "m5");
  EXPECT_EQ(device->waiting<ConversationSync>(), 0u);
}

TEST_F(RowChanges, RowsBeyondTheBoundOnRangesAreNotStored) {
  // The oldest range is given up: a row left behind without one would never hear of its changes.
  Options options;
  options.ranges_max = 1;
  begin(options);
  device->replica->scroll_back(device->now, kChat, Seq(3));
  device->take();
  device->answer(device->expect<History>(), page_of({message(1), message(2)}, 0, 2, 6));
  EXPECT_THAT(device->texts(kChat), ElementsAre("m5", "m6"));
}

TEST_F(RowChanges, ARangeThatIsGivenUpWhileItIsSaidToBeHeldIsNotCovered) {
  Options options;
  options.ranges_max = 1;
  begin(options);
  device->push(summary_of(*device, 8, 0));
  push(message(9));
  device->push(summary_of(*device, 9, 7));
  const Request question = device->expect<ConversationSync>();
  ASSERT_THAT(std::get<ConversationSync>(question.operation).known, ElementsAre(Interval{Seq(8), Seq(9)}));
  device->push(summary_of(*device, 11, 7));
  push(message(12));
  ASSERT_FALSE(device->state(kChat).coverage.contains(Seq(9)));
  ConversationPage page = news_of(6, 12);
  page.covers = {Seq(6), Seq(12)};
  page.messages = {message(8), message(10), message(11), message(12)};  // 9 is said to be there
  device->answer(question, page);
  EXPECT_THAT(device->state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(9), Seq(12)}));
  EXPECT_THAT(device->texts(kChat), ElementsAre("m10", "m11", "m12"));
}

TEST_F(RowChanges, HoweverManyRangesAreGivenUpWhileOnePullIsOpenTheyAreKeptAsOne) {
  Options options;
  options.ranges_max = 1;
  begin(options);
  device->push(summary_of(*device, 7, 6));
  const auto island = [&](std::uint64_t seq) {
    device->push(summary_of(*device, seq - 1, 7));
    push(message(seq));
  };
  island(9);
  const Request question = device->expect<ConversationSync>();
  for (std::uint64_t seq = 12; seq <= 60; seq += 3) island(seq);
  const auto& given_up = device->replica->conversations().at(kChat).since.given_up;
  EXPECT_THAT(given_up.ranges(), SizeIs(1));
  EXPECT_TRUE(given_up.covers({Seq(8), Seq(57)}));
  ConversationPage page = news_of(6, 60);
  page.covers = {Seq(6), Seq(60)};
  page.messages = {message(58), message(59), message(60)};
  device->answer(question, page);
  EXPECT_THAT(device->state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(57), Seq(60)}));
}

TEST_F(RowChanges, RangesBetweenWhichAllIsDeletedAreOne) {
  // Whoever deletes here and there for himself still gets back to the beginning.
  constexpr std::uint64_t kSent = 40;
  for (std::uint64_t i = 1; i <= kSent; ++i) server.send(kBen, kAnna, "m" + std::to_string(i));
  DeleteForMeCommand remove{kAnna, kChat, {}};
  for (std::uint64_t i = 5; i <= kSent; i += 5) remove.ranges.push_back({Seq(i - 1), Seq(i)});
  ASSERT_TRUE(server.run(MutateCommand{kAnna, DeviceId("other"), {}, 0, remove}).has_value());
  Options options;
  options.ranges_max = 2;
  options.page_limit = 4;
  device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, *device);
  for (std::uint64_t pages = 0; pages < kSent; ++pages) {
    device->replica->scroll_back(device->now, kChat, {});
    device->take();
    settle(server, *device, link);
  }
  EXPECT_THAT(device->texts(kChat), SizeIs(kSent - kSent / 5));
  EXPECT_EQ(device->state(kChat).bottom, Seq(0));

  // Told so in few ranges, the server brings what has changed of them.
  device->disconnect();
  EditCommand edit{kBen, DeviceId("other"), kChat, Seq(3), {}, {}};
  edit.body.text = "edited";
  ASSERT_TRUE(server.run(MutateCommand{kBen, DeviceId("other"), {}, 0, edit}).has_value());
  TestLink& again = server.connect(kAnna);
  device->connect();
  bool asked = false;
  while (exchange(server, *device, again))
    for (const Request& request : device->up)
      if (const auto* question = std::get_if<ConversationSync>(&request.operation)) {
        asked = true;
        EXPECT_LE(question->known.size(), options.ranges_max);
      }
  EXPECT_TRUE(asked);
  EXPECT_EQ(row(3).body.text, "edited");
}

TEST_F(RowChanges, APushWithoutASummaryIsForAMember) {
  // As a conversation that only the lost part of a restore knew, and that lives again.
  begin();
  StoreBatch batch;
  batch.conversations.push_back(device->state(kChat));
  batch.conversations.back().object.member = false;
  device->store.apply(batch);
  device->start();
  join(server, *device);
  push(message(7));
  EXPECT_TRUE(device->object(kChat).member);
}

// --------------------------------------------------------------------------------------------------- late pages

TEST_F(RowChanges, ARecallThatOvertakesAPageIsAppliedToItsRows) {
  begin();
  const Request older = ask_for_older();
  push(recall(7, 2));  // the row is not held, and on its way
  EXPECT_EQ(device->state(kChat).touched, Seq(7));
  device->answer(older, page_of({message(1), message(2), message(3), message(4)}, 0, 4, 6));
  EXPECT_THAT(device->texts(kChat), ElementsAre("m1", "", "m3", "m4", "m5", "m6"));
  EXPECT_EQ(row(2).state, MessageState::recalled);
  EXPECT_EQ(device->waiting<History>(), 0u) << "the page was good";
}

TEST_F(RowChanges, APageFromBeforeWhatIsHeldIsDroppedAndAskedAgain) {
  // Nothing was held when it was asked for, and what came meanwhile did not come entry by entry.
  Options options;
  options.bodies = Bodies::none;
  for (int i = 1; i <= 6; ++i) server.send(kBen, kAnna, "m" + std::to_string(i));
  device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
  join(server, *device);
  device->replica->open(device->now, kChat);
  device->take();
  const Request newest = device->expect<History>();
  push(message(9));
  ASSERT_EQ(device->state(kChat).touched, Seq(9));
  device->answer(newest, page_of({message(5), message(6)}, 4, 6, 6));  // 8 has recalled 5
  EXPECT_THAT(device->texts(kChat), ElementsAre("m9"));
  const Request again = device->expect<History>();
  EXPECT_FALSE(std::get<History>(again.operation).before) << "the same again";
  device->answer(again, page_of({recalled(5, 8), message(6), message(7)}, 4, 9, 9));
  EXPECT_THAT(device->texts(kChat), ElementsAre("", "m6", "m7", "m9"));
}

TEST_F(RowChanges, APageFromBehindTheServersOwnWordIsNotAskedForAtOnce) {
  begin();
  const Request older = ask_for_older();
  device->answer(older, page_of({message(1)}, 0, 4, 5));
  EXPECT_EQ(device->waiting<History>(), 0u) << "not in a circle";
  EXPECT_EQ(device->store.row(kChat, Seq(1)), nullptr);
  device->advance(2'000);
  EXPECT_EQ(device->waiting<History>(), 1u);
}

TEST_F(RowChanges, MoreChangesThanAreKeptMakeThePageBeAskedAgain) {
  Options options;
  options.held_items_max = 1;
  begin(options);
  const Request older = ask_for_older();
  push(recall(7, 2));
  push(recall(8, 3));
  device->answer(older, page_of({message(1), message(2), message(3), message(4)}, 0, 4, 6));
  EXPECT_THAT(device->texts(kChat), ElementsAre("m5", "m6"));
  const Request again = device->expect<History>();
  EXPECT_EQ(std::get<History>(again.operation).before, std::get<History>(older.operation).before);
}

TEST_F(RowChanges, TheRowsOfALateSyncPageAreLeftOut) {
  begin();
  device->push([&] {
    PushItem gap = push_of(*device, message(99));
    gap.index_after = gap.index_to + 5;
    gap.index_to = gap.index_after + 1;
    gap.entry = nullptr;
    gap.summary = std::make_shared<const Change>(device->object(kChat));
    return gap;
  }());
  device->advance(600);
  const Request sync = device->expect<Sync>();
  push(recall(7, 2));
  ASSERT_EQ(device->state(kChat).touched, Seq(7));
  SyncAnswer answer;
  Change change = device->object(kChat);
  change.mark = device->store.device().cursor.mark + 7;
  change.head_seq = Seq(6);
  change.messages = {message(1), message(2), message(3), message(4), message(5), message(6)};
  change.covers = {Seq(0), Seq(6)};
  answer.page.changes = {change};
  answer.page.after = device->store.device().cursor.mark;
  answer.page.to = answer.page.head = answer.page.p0 = change.mark;
  answer.page.next = device->store.device().cursor;
  answer.page.next.mark = change.mark;
  device->answer(sync, answer);
  EXPECT_THAT(device->texts(kChat), ElementsAre("m5", "m6"));
}

TEST_F(RowChanges, APushOfARowThatMayHaveChangedSinceIsNotTaken) {
  Options options;
  options.bodies = Bodies::none;
  for (int i = 1; i <= 6; ++i) server.send(kBen, kAnna, "m" + std::to_string(i));
  device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
  join(server, *device);
  device->replica->scroll_back(device->now, kChat, Seq(5));
  device->take();
  device->answer(device->expect<History>(), page_of({message(3), message(4)}, 2, 4, 6));
  ASSERT_EQ(device->state(kChat).tail, Seq(4));
  ASSERT_EQ(device->state(kChat).touched, Seq(6));
  PushItem late = push_of(*device, message(5));  // and 6 has recalled it
  late.index_to = late.index_after;
  device->push(late);
  EXPECT_EQ(device->store.row(kChat, Seq(5)), nullptr);
  EXPECT_EQ(device->waiting<History>(), 1u);
}

// ------------------------------------------------------------------------------------------------ missed changes

TEST_F(RowChanges, ChangesThatWereMissedAreFetchedInTheBackground) {
  begin();
  device->push(summary_of(*device, 8, 8));
  EXPECT_FALSE(device->replica->settled());
  const Request question = device->expect<ConversationSync>();
  const auto& asked = std::get<ConversationSync>(question.operation);
  EXPECT_EQ(asked.after, Seq(6));
  EXPECT_THAT(asked.known, ElementsAre(Interval{Seq(4), Seq(6)}));
  ConversationPage page = news_of(6, 8, {recalled(5, 8)});
  page.covers = {Seq(6), Seq(8)};
  page.messages = {message(7)};
  device->answer(question, page);
  EXPECT_THAT(device->texts(kChat), ElementsAre("", "m6", "m7"));
  EXPECT_EQ(device->state(kChat).touched, Seq(8));
  EXPECT_TRUE(device->replica->settled());
}

TEST_F(RowChanges, ChangesThatWereMissedAreFetchedAfterARestart) {
  begin();
  device->push(summary_of(*device, 8, 8));
  (void)device->expect<ConversationSync>();
  device->start();
  TestLink& link = server.connect(kAnna);
  device->connect();
  server.receive(link, device->expect<Hello>());
  device->frame(std::move(link.down.front()));
  EXPECT_EQ(device->waiting<ConversationSync>(), 1u);
}

TEST_F(RowChanges, AtMostSoManyConversationsAreAskedAboutAtOnce) {
  Options options;
  options.pulls_in_flight_max = 2;
  for (int i = 0; i < 9; ++i) server.send(UserId("200" + std::to_string(i)), kAnna, "hello");
  device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, *device);
  device->disconnect();
  server.disconnect(link);
  StoreBatch batch;
  for (const auto& [id, stored] : device->store.conversations()) {
    batch.conversations.push_back(stored.state);
    batch.conversations.back().object.touch_seq = Seq(2);
  }
  device->store.apply(batch);
  device->start();
  TestLink& again = server.connect(kAnna);
  device->connect();
  server.receive(again, device->expect<Hello>());
  device->frame(std::move(again.down.front()));
  EXPECT_EQ(device->waiting<ConversationSync>(), 2u);
}

TEST_F(RowChanges, AServerThatIsBehindItsOwnWordIsNotAskedInACircle) {
  begin();
  device->push(summary_of(*device, 8, 8));
  device->answer(device->expect<ConversationSync>(), news_of(6, 7));
  EXPECT_EQ(device->waiting<ConversationSync>(), 0u);
  EXPECT_FALSE(device->replica->settled());
  device->advance(2'000);
  device->answer(device->expect<ConversationSync>(), news_of(7, 8));
  EXPECT_TRUE(device->replica->settled());
}

TEST_F(RowChanges, TouchedRowsComeInPages) {
  begin();
  device->push(summary_of(*device, 9, 9));
  const Request first = device->expect<ConversationSync>();
  ConversationPage page = news_of(6, 9, {edited(5, 7, "five")});
  page.touch_cursor = Seq(7);
  page.covers = {Seq(6), Seq(6)};
  page.more = true;
  device->answer(first, page);
  EXPECT_EQ(row(5).body.text, "five");
  EXPECT_EQ(device->state(kChat).touched, Seq(6)) << "not all of them are here";
  const Request second = device->expect<ConversationSync>();
  const auto& asked = std::get<ConversationSync>(second.operation);
  EXPECT_EQ(asked.touch_cursor, Seq(7));
  EXPECT_EQ(asked.to, Seq(9));
  EXPECT_EQ(asked.after, Seq(6));
  ConversationPage last = news_of(6, 9, {edited(6, 8, "six")});
  last.covers = {Seq(6), Seq(9)};
  device->answer(second, last);
  EXPECT_THAT(device->texts(kChat), ElementsAre("five", "six"));
  EXPECT_EQ(device->state(kChat).touched, Seq(9));
  EXPECT_TRUE(device->replica->settled());
}

TEST_F(RowChanges, ATouchCursorThatDoesNotMoveIsNotFollowedAtOnce) {
  begin();
  device->push(summary_of(*device, 9, 9));
  ConversationPage page = news_of(6, 9);
  page.touch_cursor = Seq(8);
  page.more = true;
  device->answer(device->expect<ConversationSync>(), page);
  for (const std::uint64_t cursor : {8u, 10u}) {
    page.touch_cursor = Seq(cursor);
    device->answer(device->expect<ConversationSync>(), page);
    EXPECT_EQ(device->waiting<ConversationSync>(), 0u) << cursor;
    device->advance(3'000);
  }
}

TEST_F(RowChanges, ATouchedRowThatIsHiddenByNowGoes) {
  begin();
  device->push(summary_of(*device, 7, 7));
  ConversationPage page = news_of(6, 7);
  page.hidden = {{Seq(4), Seq(5), HiddenReason::deleted}};
  page.covers = {Seq(6), Seq(7)};
  device->answer(device->expect<ConversationSync>(), page);
  EXPECT_THAT(device->texts(kChat), ElementsAre("m6"));
  EXPECT_FALSE(device->state(kChat).coverage.contains(Seq(5))) << "what is hidden is not held";
  EXPECT_EQ(device->state(kChat).touched, Seq(7));
  const auto gone = device->seen<RowsGoneEvent>();
  ASSERT_EQ(gone.size(), 1u) << "who shows the row is told";
  EXPECT_EQ(gone[0].rows, (Interval{Seq(4), Seq(5)}));
}

TEST_F(RowChanges, WhatAPageHidesIsNoCoverage) {
  begin();
  const Request older = ask_for_older();
  HistoryPage page = page_of({message(1), message(4)}, 0, 4, 6);
  page.hidden = {{Seq(1), Seq(3), HiddenReason::period}};
  device->answer(older, page);
  EXPECT_THAT(device->state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(1)}, Interval{Seq(3), Seq(6)}));
}

TEST_F(RowChanges, WhatIsClearedIsNoCoverage) {
  begin();
  PushItem item = summary_of(*device, 6, 0);
  Change cleared = *item.summary;
  cleared.cleared = Seq(5);
  item.summary = std::make_shared<const Change>(cleared);
  device->push(item);
  EXPECT_THAT(device->texts(kChat), ElementsAre("m6"));
  EXPECT_THAT(device->state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(5), Seq(6)}));
}

TEST_F(RowChanges, RowsGainedWhileChangesAreAskedForAreNotTakenForCurrent) {
  // Row 9 comes while the question is open, so the answer does not tell that 10 has changed it.
  begin();
  device->push(summary_of(*device, 8, 7));
  const Request question = device->expect<ConversationSync>();
  push(message(9));
  ASSERT_EQ(device->state(kChat).tail, Seq(9));
  ConversationPage page = news_of(6, 12, {recalled(5, 7)});
  page.covers = {Seq(11), Seq(12)};
  page.hole = {Seq(6), Seq(11)};
  page.messages = {message(12)};
  device->answer(question, page);
  EXPECT_EQ(device->state(kChat).touched, Seq(9));
  device->push(summary_of(*device, 12, 10));
  const Request next = device->expect<ConversationSync>();
  const auto& asked = std::get<ConversationSync>(next.operation);
  EXPECT_EQ(asked.after, Seq(9));
  EXPECT_TRUE(Coverage(asked.known).contains(Seq(9)));
  device->answer(next, news_of(9, 12, {edited(9, 10, "nine")}));
  EXPECT_EQ(row(9).body.text, "nine");
  EXPECT_TRUE(device->replica->settled());
}

TEST_F(RowChanges, RowsOfASyncPageThatComesInBetweenAreNotTakenForCurrent) {
  begin();
  device->frame({0, Hint{device->store.device().cursor.mark + 3}});
  const Request sync = device->expect<Sync>();
  SyncAnswer answer;
  Change change = device->object(kChat);
  change.mark = device->store.device().cursor.mark + 3;
  change.head_seq = Seq(8);
  change.touch_seq = Seq(7);
  answer.page.changes = {change};
  answer.page.after = device->store.device().cursor.mark;
  answer.page.to = answer.page.p0 = change.mark;
  answer.page.head = change.mark + 1;
  answer.page.more = true;
  answer.page.next = device->store.device().cursor;
  answer.page.next.mark = change.mark;
  device->answer(sync, answer);
  const Request question = device->expect<ConversationSync>();
  const Request second = device->expect<Sync>();
  // Read as of 8, before 9 recalls row 3; the conversation is read after that.
  change.mark = change.mark + 1;
  change.messages = {message(3), message(4), recalled(5, 7), message(6), message(8)};
  change.covers = {Seq(2), Seq(8)};
  answer.page.changes = {change};
  answer.page.after = device->store.device().cursor.mark;
  answer.page.to = answer.page.p0 = answer.page.head = answer.page.next.mark = change.mark;
  answer.page.more = false;
  device->answer(second, answer);
  ASSERT_EQ(row(3).body.text, "m3");
  ConversationPage page = news_of(6, 9, {recalled(5, 7)});
  page.covers = {Seq(6), Seq(9)};
  page.messages = {message(8)};
  device->answer(question, page);
  EXPECT_EQ(device->state(kChat).touched, Seq(8));
  device->push(summary_of(*device, 9, 9));
  EXPECT_EQ(device->waiting<ConversationSync>(), 1u);
}

TEST_F(RowChanges, ANewestPageDoesNotStandForMissedChanges) {
  begin();
  device->push(summary_of(*device, 8, 7));
  ConversationPage page = news_of(6, 6);
  page.after = Seq(5);  // a wrong answer: asked again later
  device->answer(device->expect<ConversationSync>(), page);
  device->replica->scroll_back(device->now, kChat);
  device->take();
  device->advance(2'000);
  const Request question = device->expect<ConversationSync>();
  device->answer(question, news_of(6, 8, {recalled(5, 7)}));
  EXPECT_EQ(device->waiting<History>(), 1u);
  EXPECT_EQ(row(5).state, MessageState::recalled);
}

TEST(Fold, ADeadRowIsDeadWhateverRevisionItHad) {
  const RowNote live = note_of(message(5), kAnna);
  const RowNote late = note_of(edited(5, 7, "late"), kAnna);
  const RowNote dead = note_of(recalled(5, 9), kAnna);
  Entry entry = recalled(5, 9);
  entry.revision = Seq(7);
  const RowNote dead_after_edit = note_of(entry, kAnna);
  for (const RowNote* each : {&dead, &dead_after_edit}) {
    EXPECT_TRUE(outranks(*each, live));
    EXPECT_TRUE(outranks(*each, late));
    EXPECT_FALSE(outranks(late, *each));
  }
  // Who missed the edit shows the same as who has seen it come and go.
  EXPECT_FALSE(outranks(dead, dead_after_edit));
  EXPECT_FALSE(outranks(dead_after_edit, dead));
  EXPECT_TRUE(outranks(late, live));
}

TEST_F(RowChanges, AStandInIsNotKeptPastAChangeThatMayBeItsOwn) {
  // Sent from here; its push is lost, and by the time the device hears of the conversation again its author has taken
  // it back on another device.
  Options options;
  options.bodies = Bodies::none;
  device = std::make_unique<TestDevice>(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, *device);
  device->send(kBen, "a slip");
  server.receive(link, device->expect<Send>());
  while (!link.down.empty()) {
    ServerFrame frame = std::move(link.down.front());
    link.down.pop_front();
    if (std::holds_alternative<SentReply>(frame.answer)) device->frame(std::move(frame));
  }
  ASSERT_THAT(device->texts(kChat), ElementsAre("a slip"));
  device->push(summary_of(*device, 2, 2));
  EXPECT_THAT(device->texts(kChat), IsEmpty());
}

}  // namespace
}  // namespace tidemark::replica
