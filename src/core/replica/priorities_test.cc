// Entries that come ahead of their place in the index, and conversations in front of a page (design, section 11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const UserId kCarl("1003");
const ConversationId kChat("1001_1002");
const ConversationId kOther("1001_1003");

std::size_t notified(const TestDevice& device) {
  std::size_t count = 0;
  for (const MessageEvent& event : device.seen<MessageEvent>()) count += event.notify ? 1 : 0;
  return count;
}

/// Anna's phone holds one message of each of two chats; then Carl writes, and Ben with high priority. Nothing of it has
/// reached the phone.
class ComesAhead : public testing::Test {
 protected:
  ComesAhead() {
    server_.send(kBen, kAnna, "b1");
    server_.send(kCarl, kAnna, "c1");
    link_ = &join(server_, phone_);
    phone_.events.clear();
    phone_.up.clear();
    server_.send(kCarl, kAnna, "c2");
    server_.send(kBen, kAnna, "b2");
    carls_ = take_push();
    bens_ = take_push();
  }
  PushItem take_push() {
    PushItem item = std::get<Push>(link_->down.front().answer).items.front();
    link_->down.pop_front();
    return item;
  }
  PushItem entry_part() const {
    PushItem item = bens_;
    item.index_after = item.index_to = Mark();
    item.part = ItemPart::entry;
    return item;
  }
  PushItem index_part() const {
    PushItem item = bens_;
    item.told = item.entry->seq;
    item.entry = nullptr;
    item.part = ItemPart::index;
    return item;
  }
  Mark cursor() const { return phone_.store.device().cursor.mark; }

  TestServer server_;
  TestDevice phone_{kAnna};
  TestLink* link_;
  PushItem carls_;
  PushItem bens_;
};

TEST_F(ComesAhead, ItShowsAtOnceAndMovesNeitherCursorNorList) {
  const Mark before = cursor();
  phone_.push(entry_part());
  EXPECT_THAT(phone_.texts(kChat), ElementsAre("b1", "b2"));
  EXPECT_EQ(notified(phone_), 1U);
  EXPECT_EQ(cursor(), before);
  EXPECT_EQ(phone_.object(kChat).head_seq, Seq(1));
  phone_.push(carls_);
  EXPECT_EQ(phone_.object(kOther).head_seq, Seq(2));
  phone_.push(index_part());
  EXPECT_EQ(cursor(), bens_.index_to);
  EXPECT_EQ(phone_.object(kChat).head_seq, Seq(2));
  EXPECT_EQ(phone_.object(kChat).unread, (Unread{2, true}));
  EXPECT_EQ(phone_.object(kChat).preview.text, "b2");
  EXPECT_EQ(notified(phone_), 2U) << "Carl's and Ben's, each once";
  EXPECT_EQ(phone_.waiting<Sync>(), 0U);
}

TEST_F(ComesAhead, ItIsAcknowledgedBesideTheMark) {
  phone_.push(entry_part());
  phone_.advance(2'000);
  const Ack ack = std::get<Ack>(phone_.expect<Ack>().operation);
  EXPECT_EQ(ack.mark, cursor());
  EXPECT_THAT(ack.ahead, ElementsAre(KnownHead{kChat, Seq(2)}));
  phone_.advance(10'000);
  EXPECT_EQ(phone_.waiting<Ack>(), 0U) << "once";
  phone_.push(carls_);
  phone_.push(index_part());
  phone_.advance(2'000);
  const Ack after = std::get<Ack>(phone_.expect<Ack>().operation);
  EXPECT_EQ(after.mark, bens_.index_to);
  EXPECT_THAT(after.ahead, IsEmpty());
}

TEST_F(ComesAhead, AnIndexPartWithoutItsEntryMovesNothing) {
  const Mark before = cursor();
  phone_.push(carls_);
  phone_.push(index_part());
  EXPECT_EQ(cursor(), carls_.index_to);
  EXPECT_GT(cursor(), before);
  EXPECT_EQ(phone_.object(kChat).head_seq, Seq(1));
  phone_.advance(500);
  EXPECT_EQ(phone_.waiting<Sync>(), 1U) << "a gap like any other";
  settle(server_, phone_, *link_);
  EXPECT_THAT(phone_.texts(kChat), ElementsAre("b1", "b2"));
  EXPECT_EQ(cursor(), bens_.index_to);
  EXPECT_TRUE(phone_.replica->settled());
}

TEST_F(ComesAhead, PartsInAnyOrderAndTwiceAreOnePush) {
  phone_.push(index_part());
  phone_.push(carls_);
  EXPECT_EQ(cursor(), carls_.index_to);
  phone_.push(entry_part());
  phone_.push(entry_part());
  EXPECT_EQ(cursor(), bens_.index_to);
  phone_.push(index_part());
  phone_.push(bens_);
  EXPECT_THAT(phone_.texts(kChat), ElementsAre("b1", "b2"));
  EXPECT_EQ(phone_.object(kChat).unread, (Unread{2, true}));
  EXPECT_EQ(phone_.waiting<Sync>(), 0U);
}

TEST_F(ComesAhead, WhatIsLeftWhenTheLinkEndsIsForgotten) {
  phone_.push(entry_part());
  phone_.disconnect();
  server_.disconnect(*link_);
  link_ = &server_.connect(kAnna);
  phone_.connect();
  settle(server_, phone_, *link_);
  EXPECT_EQ(cursor(), bens_.index_to);
  EXPECT_THAT(phone_.texts(kChat), ElementsAre("b1", "b2"));
  EXPECT_EQ(notified(phone_), 2U);
  EXPECT_EQ(phone_.object(kChat).unread, (Unread{2, true}));
}

TEST(Ahead, OfAnUnknownConversationBeginsItWithItsIndexPart) {
  TestServer server;
  TestDevice phone(kAnna);
  TestLink& link = join(server, phone);
  server.send(kBen, kAnna, "hello");
  PushItem whole = std::get<Push>(link.down.front().answer).items.front();
  link.down.clear();
  PushItem entry = whole;
  entry.index_after = entry.index_to = Mark();
  entry.part = ItemPart::entry;
  PushItem index = whole;
  index.told = index.entry->seq;
  index.entry = nullptr;
  index.part = ItemPart::index;
  phone.push(entry);
  EXPECT_EQ(phone.store.conversation(kChat), nullptr);
  phone.push(index);
  EXPECT_THAT(phone.texts(kChat), ElementsAre("hello"));
  EXPECT_EQ(phone.object(kChat).unread, (Unread{1, true}));
  EXPECT_EQ(phone.store.device().cursor.mark, whole.index_to);
}

TEST(Ahead, MoreThanIsKeptIsPulled) {
  TestServer server;
  TestDevice phone(kAnna, DeviceId("d1"), {.held_items_max = 4});
  server.send(kBen, kAnna, "m 0");
  TestLink& link = join(server, phone);
  std::vector<PushItem> items;
  for (int i = 1; i <= 10; ++i) server.send(kBen, kAnna, "m " + std::to_string(i));
  for (const ServerFrame& frame : link.down) items.push_back(std::get<Push>(frame.answer).items.front());
  link.down.clear();
  for (PushItem item : items) {
    item.index_after = item.index_to = Mark();
    item.part = ItemPart::entry;
    phone.push(item);
  }
  EXPECT_LE(phone.replica->held_pushes(), 4U);
  for (PushItem item : items) {
    item.told = item.entry->seq;
    item.entry = nullptr;
    item.part = ItemPart::index;
    phone.push(item);
  }
  phone.advance(500);
  settle(server, phone, link);
  EXPECT_EQ(phone.store.device().cursor.mark, items.back().index_to);
  EXPECT_THAT(phone.texts(kChat), SizeIs(11));
  EXPECT_EQ(phone.object(kChat).unread, (Unread{11, true}));
}

TEST(Extras, ComeBeforeTheirPageAndMoveNoCursor) {
  TestServer server;
  server.send(kBen, kAnna, "urgent", Priority::high);
  for (int i = 0; i < 10; ++i) server.send(UserId(std::to_string(2'000 + i)), kAnna, "hello");
  TestDevice phone(kAnna, DeviceId("d1"), {.sync_limit = 4});
  TestLink& link = server.connect(kAnna);
  phone.connect();
  while (link.down.empty() || !std::holds_alternative<SyncAnswer>(link.down.front().answer))
    ASSERT_TRUE(exchange(server, phone, link));
  const SyncPage page = std::get<SyncAnswer>(link.down.front().answer).page;
  ASSERT_THAT(page.extras, SizeIs(1));
  EXPECT_EQ(page.extras[0].conversation, kChat);
  ASSERT_TRUE(phone.up.empty() && exchange(server, phone, link));
  EXPECT_EQ(phone.object(kChat).preview.text, "urgent");
  EXPECT_EQ(phone.object(kChat).unread, (Unread{1, true}));
  EXPECT_EQ(phone.store.device().cursor.mark, Mark());
  settle(server, phone, link);
  EXPECT_EQ(phone.store.device().cursor.mark, Mark(11));
  EXPECT_EQ(phone.object(kChat).unread, (Unread{1, true}));
}

}  // namespace
}  // namespace tidemark::replica
