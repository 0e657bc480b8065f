// The view over the store against a naive reading of the same rows.
#include "store/store_view.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "store/keys.h"
#include "store/memory/memory_warm.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};

/// A log, and a row that says, truly or not, that it stands at `row_says`.
std::shared_ptr<const Snapshot> log_with(const std::vector<std::uint64_t>& seqs, std::uint64_t row_says) {
  auto warm = MemoryWarm::open(std::make_shared<MemoryDisk>());
  Batch batch;
  for (const std::uint64_t seq : seqs) {
    Entry entry;
    entry.seq = Seq(seq);
    entry.ord = seq;
    entry.top = Seq(seq);
    batch.put(Table::entries, keys::entry(ConversationId("a_b"), Seq(seq)), encode(entry));
  }
  // Neighbours on both sides must not be read.
  for (const char* other : {"a_a", "a_c"})
    batch.put(Table::entries, keys::entry(ConversationId(other), Seq(7)), encode(Entry{}));
  UserConversation row;
  row.conversation = ConversationId("a_b");
  row.head_seq = Seq(row_says);
  batch.put(Table::objects, keys::row(UserId("a"), row.conversation), encode(row));
  EXPECT_TRUE((*warm)->commit(batch));
  return (*warm)->snapshot();
}

/// The log of a large group, as long as `seqs` says, in which row `changed` was rewritten by the last entry.
void write_large(Warm& warm, const std::vector<std::uint64_t>& seqs, std::uint64_t changed, const std::string& text) {
  Batch batch;
  Conversation group;
  group.id = ConversationId("group_1");
  group.kind = ConversationKind::group;
  group.large = true;
  batch.put(Table::conversations, keys::conversation(group.id), encode(group));
  for (const std::uint64_t seq : seqs) {
    Entry entry;
    entry.seq = Seq(seq);
    if (seq == changed) entry.body.text = text;
    if (seq == seqs.back() && changed != 0) entry.touch = entry.seq;
    batch.put(Table::entries, keys::entry(group.id, entry.seq), encode(entry));
  }
  ASSERT_TRUE(warm.commit(batch));
}

std::vector<std::pair<std::uint64_t, std::string>> read_group(View& view, Seq after, Seq to, Direction direction,
                                                              std::size_t most) {
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  view.entries(ConversationId("group_1"), after, to, direction, [&](const Entry& entry) {
    seen.emplace_back(entry.seq.value, entry.body.text);
    return seen.size() < most;
  });
  return seen;
}

RC_GTEST_PROP(StoreView, ranges_of_large_groups_are_read_the_same_through_shared_pages, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 2'000);
  const auto hole_at = *rc::gen::inRange<std::uint64_t>(0, 2'000);
  std::vector<std::uint64_t> seqs;
  for (std::uint64_t i = 1; i <= size; ++i) seqs.push_back(i <= hole_at ? i : i + (1ULL << 32));
  auto warm = MemoryWarm::open(std::make_shared<MemoryDisk>());
  write_large(**warm, seqs, 0, "");
  PageCache pages(*rc::gen::element<std::size_t>(0, 40'000, 100'000'000));
  for (int i = 0; i < 20; ++i) {
    if (*rc::gen::inRange(0, 4) == 0) {
      const auto changed = *rc::gen::elementOf(seqs);
      seqs.push_back(seqs.back() + 1);
      write_large(**warm, seqs, changed, "changed " + std::to_string(i));
    }
    const auto snapshot = (*warm)->snapshot();
    const Seq after(
        *rc::gen::oneOf(rc::gen::elementOf(seqs), rc::gen::element<std::uint64_t>(0, 64, 1ULL << 32, kEnd)));
    const Seq to(*rc::gen::oneOf(rc::gen::elementOf(seqs), rc::gen::element<std::uint64_t>(0, 63, 1ULL << 33, kEnd)));
    const auto most = *rc::gen::inRange<std::size_t>(1, 200);
    const auto direction = *rc::gen::element(Direction::up, Direction::down);
    StoreView alone(snapshot);
    StoreView together(snapshot, StoreView::kTailEntries, &pages);
    RC_ASSERT(read_group(together, after, to, direction, most) == read_group(alone, after, to, direction, most));
    RC_ASSERT(together.line(ConversationId("group_1")) == alone.line(ConversationId("group_1")));
  }
}

TEST(StoreView, a_page_of_a_large_group_is_read_once_for_all) {
  auto warm = MemoryWarm::open(std::make_shared<MemoryDisk>());
  std::vector<std::uint64_t> seqs;
  for (std::uint64_t i = 1; i <= 100; ++i) seqs.push_back(i);
  write_large(**warm, seqs, 0, "");
  PageCache pages(1 << 20);
  const auto snapshot = (*warm)->snapshot();
  for (int reader = 0; reader < 1'000; ++reader) {
    StoreView view(snapshot, StoreView::kTailEntries, &pages);
    read_group(view, Seq(80), Seq(100), Direction::up, 50);
  }
  EXPECT_EQ(pages.counts().misses, 1U);
  EXPECT_EQ(pages.counts().hits, 999U);
}

TEST(StoreView, shared_pages_are_bounded_and_an_older_state_never_replaces_a_newer) {
  const ConversationId id("group_1");
  const auto page_of = [](const std::string& text) {
    auto page = std::make_shared<std::vector<Entry>>(1);
    page->front().body.text = text;
    return page;
  };
  PageCache pages(100'000);
  pages.keep({id, 7}, {Seq(9), Seq(5)}, page_of("new"));
  pages.keep({id, 7}, {Seq(9), Seq(3)}, page_of("old"));
  EXPECT_EQ(pages.find({id, 7}, {Seq(9), Seq(3)}), nullptr);
  EXPECT_EQ(pages.find({id, 7}, {Seq(9), Seq(5)})->front().body.text, "new");
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    pages.keep({id, i}, {Seq(9), Seq(6)}, page_of(std::string(1'000, 'x')));
    EXPECT_LE(pages.counts().bytes, 100'000U);
  }
  EXPECT_NE(pages.find({id, 999}, {Seq(9), Seq(6)}), nullptr);
  EXPECT_EQ(pages.find({id, 7}, {Seq(9), Seq(6)}), nullptr);
  pages.clear();
  EXPECT_EQ(pages.counts().bytes, 0U);
}

RC_GTEST_PROP(StoreView, ranges_are_read_the_same_with_and_without_a_known_tail, ()) {
  // A hole as a restore leaves it, somewhere.
  const auto size = *rc::gen::inRange<std::uint64_t>(0, 30);
  const auto hole_at = *rc::gen::inRange<std::uint64_t>(0, 31);
  std::vector<std::uint64_t> seqs;
  for (std::uint64_t i = 1; i <= size; ++i) seqs.push_back(i <= hole_at ? i : i + (1ULL << 32));
  const auto row_says = *rc::gen::element<std::uint64_t>(0, 1, 9, size, size + 1, (1ULL << 32) + size, kEnd);
  const auto snapshot = log_with(seqs, row_says);
  const auto after = *rc::gen::element<std::uint64_t>(0, 1, 3, 12, hole_at, 1ULL << 32, (1ULL << 32) + 15, kEnd);
  const auto to = *rc::gen::element<std::uint64_t>(0, 1, 5, 20, hole_at, hole_at + 1, (1ULL << 32) + 20, kEnd);
  const auto most = *rc::gen::inRange<std::size_t>(1, 40);
  const auto tail = *rc::gen::inRange<std::size_t>(1, 40);
  for (const Direction direction : {Direction::up, Direction::down}) {
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t seq : seqs)
      if (seq > after && seq <= to) expected.push_back(seq);
    if (direction == Direction::down) std::reverse(expected.begin(), expected.end());
    if (expected.size() > most) expected.resize(most);
    enum class Known : std::uint8_t { nothing, line, row_and_line };
    for (const Known known : {Known::nothing, Known::line, Known::row_and_line}) {
      StoreView view(snapshot, tail);
      if (known == Known::row_and_line) RC_ASSERT(view.user_conversation(UserId("a"), ConversationId("a_b")));
      if (known != Known::nothing)
        RC_ASSERT(view.line(ConversationId("a_b")).seq == Seq(seqs.empty() ? 0 : seqs.back()));
      std::vector<std::uint64_t> got;
      view.entries(ConversationId("a_b"), Seq(after), Seq(to), direction, [&](const Entry& entry) {
        got.push_back(entry.seq.value);
        return got.size() < most;
      });
      RC_ASSERT(got == expected);
      for (const std::uint64_t seq : seqs) RC_ASSERT(view.entry(ConversationId("a_b"), Seq(seq))->ord == seq);
      RC_ASSERT(!view.entry(ConversationId("a_b"), Seq(hole_at + (1ULL << 31))));
      RC_ASSERT(!view.failure());
    }
  }
}

TEST(StoreView, touches_and_leavings_are_read_within_their_conversation) {
  auto warm = MemoryWarm::open(std::make_shared<MemoryDisk>());
  Batch batch;
  for (const std::uint64_t group : {1, 2, 3})
    for (const std::uint64_t seq : {5, 7, 9}) {
      const ConversationId id("group_" + std::to_string(group));
      batch.put(Table::touches, keys::touch(id, Seq(seq)), std::string(1, static_cast<char>(10 * group + seq)));
      batch.put(Table::conversations, keys::leave(id, Seq(seq)), std::to_string(group) + std::to_string(seq));
    }
  batch.put(Table::conversations, keys::conversation(ConversationId("group_2")), encode(Conversation{}));
  ASSERT_TRUE((*warm)->commit(batch));
  StoreView view((*warm)->snapshot());
  const ConversationId id("group_2");
  const auto touches = [&](std::uint64_t after, std::uint64_t to, Direction direction) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> got;
    view.touches(id, Seq(after), Seq(to), direction, [&](Seq seq, Seq target) {
      got.emplace_back(seq.value, target.value);
      return got.size() < 2;
    });
    return got;
  };
  using Touches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(touches(0, kEnd, Direction::up), (Touches{{5, 25}, {7, 27}}));
  EXPECT_EQ(touches(0, kEnd, Direction::down), (Touches{{9, 29}, {7, 27}}));
  EXPECT_EQ(touches(5, 8, Direction::up), (Touches{{7, 27}}));
  EXPECT_EQ(touches(9, kEnd, Direction::up), Touches{});
  EXPECT_EQ(touches(9, 5, Direction::down), Touches{});
  std::vector<std::string> left;
  view.left(id, Seq(7), [&](const UserId& user) { left.push_back(user.value); });
  EXPECT_EQ(left, (std::vector<std::string>{"27", "29"}));
  EXPECT_FALSE(view.failure());
  batch.put(Table::touches, keys::touch(id, Seq(6)), "\xff");
  ASSERT_TRUE((*warm)->commit(batch));
  StoreView damaged((*warm)->snapshot());
  damaged.touches(id, Seq(), Seq(kEnd), Direction::up, [](Seq seq, Seq) { return seq.value < 6; });
  EXPECT_TRUE(damaged.failure());
}

TEST(StoreView, damaged_rows_are_a_failure_and_never_a_value) {
  auto warm = MemoryWarm::open(std::make_shared<MemoryDisk>());
  Batch batch;
  const std::string good = encode(Entry{});
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    batch.put(Table::entries, keys::entry(ConversationId("a_b"), Seq(cut + 1)), good.substr(0, cut));
  batch.put(Table::entries, keys::entry(ConversationId("a_c"), Seq(1)), good + "x");
  ASSERT_TRUE((*warm)->commit(batch));
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    StoreView view((*warm)->snapshot());
    EXPECT_FALSE(view.entry(ConversationId("a_b"), Seq(cut + 1)));
    ASSERT_TRUE(view.failure());
    EXPECT_EQ(view.failure()->code, ErrorCode::INTERNAL);
    view.clear_failure();
    EXPECT_FALSE(view.failure());
  }
  StoreView view((*warm)->snapshot());
  EXPECT_EQ(view.line(ConversationId("a_c")).seq, Seq());
  EXPECT_TRUE(view.failure());
}

/// Whoever forgets to check an id from outside finds nothing by it, and stops no server.
TEST(StoreView, WhatCanBeNoIdIsFoundNowhere) {
  StoreView view(log_with({1, 2}, 2));
  const UserId somebody("a");
  const UserId nobody(std::string(300, 'x'));
  const DeviceId device(std::string(70'000, 'x'));
  int found = 0;
  const auto count = [&](const auto&...) { return ++found > 0; };
  for (const char* text : {"", "_", "nonsense", "b_a", "group_x", "group_0", "a_b_c:", "\xff"}) {
    const ConversationId id(text);
    EXPECT_EQ(view.conversation(id), nullptr) << text;
    EXPECT_EQ(view.line(id), LineHead()) << text;
    EXPECT_EQ(view.entry(id, Seq(1)), std::nullopt) << text;
    EXPECT_EQ(view.user_conversation(somebody, id), nullptr) << text;
    EXPECT_TRUE(view.reactions_of(id, Seq(1), somebody).empty()) << text;
    for (const Direction direction : {Direction::up, Direction::down}) {
      view.entries(id, Seq(), Seq(kEnd), direction, count);
      view.touches(id, Seq(), Seq(kEnd), direction, count);
    }
    view.members(id, {}, count);
    view.reactions(id, Seq(1), nobody, count);
    view.left(id, Seq(), [&](const UserId&) { ++found; });
  }
  EXPECT_FALSE(view.user(nobody).exists());
  EXPECT_EQ(view.user_conversation(nobody, ConversationId("a_b")), nullptr);
  EXPECT_EQ(view.device(somebody, device), std::nullopt);
  EXPECT_TRUE(view.devices(nobody).empty());
  EXPECT_EQ(view.object(nobody, "s"), std::nullopt);
  view.objects(nobody, "", "~", count);
  view.large_groups(nobody, {}, count);
  view.by_head_mark(nobody, Mark(), Mark(kEnd), Direction::down, count);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(view.failure(), std::nullopt);
}

}  // namespace
}  // namespace tidemark
