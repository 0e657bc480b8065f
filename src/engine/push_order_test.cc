// The order in which waiting pushes leave: what overtakes, what it costs the others, and that a link which breaks
// anywhere in between has told no more of the index than what it has brought.
#include "engine/push_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace tidemark {
namespace {

using testing::Each;
using testing::ElementsAre;

/// Builds what waits, in the order of the index.
class Waiting {
 public:
  Waiting& message(const std::string& conversation, Priority priority = Priority::normal, std::size_t bytes = 100) {
    return add(conversation, priority, bytes, true);
  }
  /// Of a large group: without a place in the index.
  Waiting& beside(const std::string& conversation, Priority priority = Priority::normal) {
    return add(conversation, priority, 100, false);
  }
  Waiting& state(const std::string& conversation) {
    PushItem item;
    item.conversation = ConversationId(conversation);
    item.summary = std::make_shared<const Change>();
    give_mark(item);
    refs.push_back({share(std::move(item)), nullptr, 100});
    return *this;
  }
  std::vector<PushRef> refs;

 private:
  Waiting& add(const std::string& conversation, Priority priority, std::size_t bytes, bool indexed) {
    auto entry = std::make_shared<Entry>();
    entry->seq = Seq(++seqs_[conversation]);
    entry->priority = priority;
    PushItem item;
    item.conversation = ConversationId(conversation);
    item.entry = entry;
    if (indexed) give_mark(item);
    auto shared = std::make_shared<SharedEntry>(SharedEntry{item.conversation, entry, {}});
    refs.push_back({share(std::move(item)), std::move(shared), bytes});
    return *this;
  }
  void give_mark(PushItem& item) {
    item.index_after = mark_;
    item.index_to = mark_ = mark_ + 1;
  }
  std::map<std::string, std::uint64_t> seqs_;
  Mark mark_;
};

std::vector<std::string> entries(const std::vector<PushRef>& refs) {
  std::vector<std::string> named;
  for (const PushRef& ref : refs)
    if (ref.item->entry) named.push_back(ref.item->conversation.value + std::to_string(ref.item->entry->seq.value));
  return named;
}

/// A device, naively: what it has got, and how far it believes to have come.
struct Device {
  Mark cursor;
  std::set<std::pair<std::string, std::uint64_t>> got;
  std::map<std::string, std::uint64_t> last;
  std::vector<Mark> jumps;

  void take(const PushRef& ref) {
    const PushItem& item = *ref.item;
    if (item.entry) {
      RC_ASSERT(item.entry->seq.value > last[item.conversation.value]);
      last[item.conversation.value] = item.entry->seq.value;
      got.emplace(item.conversation.value, item.entry->seq.value);
    }
    if (item.part == ItemPart::index) RC_ASSERT(got.contains({item.conversation.value, item.told.value}));
    if (item.part == ItemPart::entry) RC_ASSERT(!item.index_to && !item.summary && !item.objects);
    if (!item.index_to) return;
    RC_ASSERT(item.index_after == cursor);
    cursor = item.index_to;
  }
};

TEST(PushOrder, AConversationWithAHighEntryGoesFirstAndKeepsItsOrder) {
  Waiting waiting;
  waiting.message("a").message("g").message("b").message("g").message("g", Priority::high);
  const PushOrder order = ordered(waiting.refs, {});
  EXPECT_THAT(entries(order.first), ElementsAre("g1", "g2", "g3"));
  EXPECT_THAT(entries(order.rest), ElementsAre("a1", "b1"));
  EXPECT_EQ(order.rest.size(), 5U) << "and the index parts of three";
  EXPECT_EQ(order.begun, 5U);
}

TEST(PushOrder, LowOnesGoLastUntilTheyHaveWaitedLongEnough) {
  Waiting waiting;
  waiting.message("l", Priority::low).message("a").message("b");
  EXPECT_THAT(entries(ordered(waiting.refs, {}).rest), ElementsAre("a1", "b1", "l1"));
  EXPECT_THAT(entries(ordered(waiting.refs, {.low_waits = false}).rest), ElementsAre("l1", "a1", "b1"));
  // Behind it in its own conversation nothing overtakes.
  waiting.message("l");
  EXPECT_THAT(entries(ordered(waiting.refs, {}).rest), ElementsAre("l1", "a1", "b1", "l2"));
}

using PushOrderConformance = testing::Test;

TEST(PushOrderConformance, S42_high_ones_take_half_of_the_bytes_while_others_wait) {
  Waiting waiting;
  for (int i = 0; i < 100; ++i) waiting.message("g2", Priority::high, 1'000);
  for (int i = 0; i < 100; ++i) waiting.message("g1", Priority::normal, 1'000);
  const PushOrder order = ordered(waiting.refs, {.entries = 50, .bytes = 40'000});
  EXPECT_EQ(entries(order.first).size(), 20U);
  EXPECT_EQ(entries(order.rest).size(), 20U);
  for (const PushRef& ref : order.rest) EXPECT_EQ(ref.item->conversation.value, "g1");
  EXPECT_EQ(order.begun, 20U) << "the index is told up to the first that is left";
  // By entries as by bytes; and all of it where nobody else waits.
  EXPECT_EQ(entries(ordered(waiting.refs, {.entries = 30, .bytes = 1 << 20}).first).size(), 15U);
  waiting.refs.resize(100);
  EXPECT_EQ(entries(ordered(waiting.refs, {.entries = 50, .bytes = 40'000}).rest).size(), 40U);
}

TEST(PushOrder, WhatHasNoEntryWaitsForThoseBeforeIt) {
  Waiting waiting;
  waiting.message("l", Priority::low).state("a").message("a").message("g", Priority::high);
  const PushOrder order = ordered(waiting.refs, {});
  EXPECT_THAT(entries(order.first), ElementsAre("g1"));
  EXPECT_THAT(entries(order.rest), ElementsAre("a1", "l1"));
  EXPECT_EQ(order.begun, 4U);
  Device device;
  for (const auto* part : {&order.first, &order.rest})
    for (const PushRef& ref : *part) device.take(ref);
  EXPECT_EQ(device.cursor, Mark(4));
}

TEST(PushOrder, WhatHasNoEntryDoesNotTakeTheRoomOfALowOneBeforeIt) {
  Waiting waiting;
  waiting.message("a", Priority::low, 100);
  for (int i = 0; i < 60; ++i) waiting.state("b");
  const PushOrder order = ordered(waiting.refs, {});
  EXPECT_EQ(order.rest.size(), 50u);
  EXPECT_EQ(order.begun, 50u);
}

RC_GTEST_PROP(PushOrder, ABrokenLinkHasToldNoMoreOfTheIndexThanItHasBrought, ()) {
  Waiting waiting;
  const auto count = *rc::gen::inRange(1, 80);
  for (int i = 0; i < count; ++i) {
    const std::string conversation(1, static_cast<char>('a' + *rc::gen::inRange(0, 6)));
    const auto priority = static_cast<Priority>(*rc::gen::element(0, 0, 0, 1, 2));
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        waiting.state(conversation);
        break;
      case 1:
        waiting.beside("large_" + conversation, priority);
        break;
      default:
        waiting.message(conversation, priority, static_cast<std::size_t>(*rc::gen::inRange(10, 3'000)));
    }
  }
  const PushBudget budget{static_cast<std::size_t>(*rc::gen::inRange(1, 60)),
                          static_cast<std::size_t>(*rc::gen::inRange(100, 100'000)), *rc::gen::arbitrary<bool>()};
  const PushOrder order = ordered(waiting.refs, budget);
  Device device;
  const auto not_passed = [&] {
    for (const PushRef& ref : waiting.refs)
      if (ref.item->entry && ref.item->index_to && ref.item->index_to <= device.cursor)
        RC_ASSERT(device.got.contains({ref.item->conversation.value, ref.item->entry->seq.value}));
  };
  for (const auto* part : {&order.first, &order.rest})
    for (const PushRef& ref : *part) {
      device.take(ref);
      not_passed();
    }
  RC_ASSERT(!order.first.empty() || !order.rest.empty());
  RC_ASSERT(device.got.size() <= budget.entries);
  for (std::size_t i = 0; i < order.begun; ++i) RC_ASSERT(waiting.refs[i].item->index_to <= device.cursor);
  // What goes on behind `begun` chains to where the device stands.
  for (std::size_t i = order.begun; i < waiting.refs.size(); ++i)
    if (waiting.refs[i].item->index_to) {
      RC_ASSERT(waiting.refs[i].item->index_after == device.cursor);
      break;
    }
}

}  // namespace
}  // namespace tidemark
