// The conformance suite of a device's store: what core/replica/memory_store.h does with a batch, every store does.
// Included by tests alone:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, ReplicaStoreConformance, SqliteWorld);
//
// A World is one place where a store lives. Its std::shared_ptr<ReplicaStore> open() opens what is there.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "client/replica_codec.h"
#include "client/replica_store.h"
#include "client/timeline_gap.h"
#include "core/replica/memory_store.h"

namespace tidemark {

/// Batches out of a seed, the same from the same; whole as a replica makes them: rows are of conversations that are
/// held. Batch n leaves n in the device's next_local_id.
class BatchMaker {
 public:
  explicit BatchMaker(std::uint64_t seed, std::size_t body_max = 200) : dice_(seed), body_max_(body_max) {}

  replica::StoreBatch next() {
    replica::StoreBatch batch;
    ++made_;
    if (!held_.empty() && below(8) == 0) {
      const ConversationId id = any_held();
      batch.dropped.push_back(id);
      held_.erase(id);
    }
    while (!held_.empty() && below(3) == 0) {
      const std::uint64_t after = below(60);
      // Also intervals that end at the end of all logs, and empty ones.
      const Seq to = below(4) == 0 ? Seq(UINT64_MAX) : Seq(after + below(30));
      batch.dropped_rows.push_back({any_held(), {Seq(after), to}});
    }
    for (std::uint64_t i = held_.empty() ? 1 : below(3); i > 0; --i) {
      batch.conversations.push_back(conversation(ConversationId("chat_" + std::to_string(below(6)))));
      held_.insert(batch.conversations.back().id());
    }
    for (std::uint64_t i = below(12); i > 0; --i) batch.rows.push_back(row(any_held(), Seq(1 + below(60))));
    for (std::uint64_t i = below(3); i > 0; --i) batch.outbox.push_back(outbox(1 + below(20)));
    for (std::uint64_t i = below(3); i > 0; --i) batch.outbox_removed.push_back(1 + below(20));
    for (std::uint64_t i = below(3); i > 0; --i) batch.mutations.push_back(mutation(1 + below(20)));
    for (std::uint64_t i = below(3); i > 0; --i) batch.mutations_removed.push_back(1 + below(20));
    for (std::uint64_t i = below(3); i > 0; --i) batch.objects.push_back(object(below(9)));
    for (std::uint64_t i = below(2); i > 0; --i) batch.objects_removed.push_back(name_of(object(below(9)).object));
    batch.device = device();
    return batch;
  }

  replica::DeviceState device() {
    replica::DeviceState device;
    device.user = UserId("1001");
    device.device = DeviceId(text(12));
    device.install = InstallId(text(30));
    device.generation = number();
    device.cursor = {epoch(), Mark(number()), number()};
    device.pass = {flag(), flag(), number(), epoch(), Mark(number()), number(), Mark(number()), text(40)};
    if (flag()) device.clock_offset_ms = time();
    device.next_mutation = number();
    device.next_local_id = made_;
    return device;
  }

  replica::ConversationState conversation(const ConversationId& id) {
    replica::ConversationState state;
    Change& object = state.object;
    object.conversation = id;
    object.kind = flag() ? ConversationKind::group : ConversationKind::single;
    object.mark = Mark(number());
    object.head_seq = Seq(number());
    object.top = Seq(number());
    object.sort_time = time();
    object.member = flag();
    object.role = static_cast<Role>(below(3));
    for (std::uint64_t i = below(3); i > 0; --i)
      object.periods.push_back({Seq(number()), Seq(number()), Seq(number())});
    object.read = Seq(number());
    object.unread_flag = flag();
    object.unread = {static_cast<std::uint32_t>(below(1'000)), flag()};
    object.cleared = Seq(number());
    object.touch_seq = Seq(number());
    object.title = text(30);
    object.peer = UserId(text(10));
    object.preview = {Seq(number()), UserId(text(10)), time(), MessageState::live, text(8), text(40), flag()};
    object.covers = {Seq(number()), Seq(number())};
    object.more_messages = flag();
    for (std::uint64_t i = below(3); i > 0; --i)
      object.hidden.push_back({Seq(number()), Seq(number()), HiddenReason::cleared});
    state.stale = flag();
    for (std::uint64_t i = below(4); i > 0; --i) {
      const std::uint64_t after = below(60);
      state.coverage.add({Seq(after), Seq(after + below(20))});
    }
    state.tail = Seq(number());
    state.touched = Seq(number());
    if (flag()) state.bottom = Seq(below(20));
    state.local_read = Seq(number());
    state.server_flag = flag();
    state.wants_read = flag();
    state.wants_unread = flag();
    state.named = number();
    state.epoch = static_cast<std::uint32_t>(below(5));
    if (flag()) state.catching_up_from = Seq(number());
    state.forgotten = flag();
    if (flag()) state.lost.add({Seq(60), Seq(61 + below(20))});
    object.removed = flag();
    object.muted_until = time();
    object.pinned_at = time();
    if (flag()) state.deleted.add({Seq(100), Seq(101 + below(20))});
    if (flag()) state.wants_deleted.add({Seq(100), Seq(101 + below(20))});
    state.local_cleared = Seq(number());
    state.wants_clear = flag();
    state.local_removed = Seq(number());
    state.wants_remove = flag();
    state.server_muted_until = time();
    state.server_pinned_at = time();
    if (flag()) state.wants_mute = time();
    if (flag()) state.wants_pin = flag();
    state.guessed = flag();
    return state;
  }

  replica::StoredRow row(const ConversationId& id, Seq seq) {
    auto entry = std::make_shared<Entry>();
    entry->seq = seq;
    // A newer server may say what this version has no word for.
    entry->kind = static_cast<EntryKind>(1 + below(9));
    entry->ord = number();
    entry->top = Seq(number());
    entry->server_time = time();
    entry->epoch = static_cast<std::uint32_t>(below(5));
    entry->round = number();
    entry->sender = UserId(text(10));
    entry->sender_device = DeviceId(text(10));
    entry->client_msg_id = text(36);
    entry->client_time = time();
    entry->priority = static_cast<Priority>(below(3));
    entry->state = static_cast<MessageState>(below(4));
    entry->revision = Seq(number());
    entry->touched_by = Seq(number());
    entry->reply_to = Seq(number());
    entry->mentions = users();
    entry->body = body();
    if (flag()) entry->body.cut = BodyCut{number(), {1, 2, 3}};
    entry->target = Seq(number());
    entry->target_sender = UserId(text(10));
    if (flag())
      entry->member = MemberChange{static_cast<MemberAction>(below(5)), users(), Role::admin, Seq(number()), time()};
    if (flag()) {
      entry->config = ConfigChange{text(20), std::nullopt, std::nullopt, flag()};
      if (flag())
        entry->config->policy = GroupPolicy{Allowed::members, Allowed::admins, JoinPolicy::open,
                                            static_cast<HistoryForNewcomers>(below(3)), 7};
      if (flag()) entry->config->data = text(20);
    }
    entry->target = Seq(number());
    entry->target_sender = UserId(text(10));
    if (flag()) entry->reactions.push_back({text(20), static_cast<std::uint32_t>(below(9)), flag()});
    entry->reacted = Seq(number());
    if (flag()) entry->reaction = ReactionChange{text(20), flag()};
    const replica::RowNote note{seq,
                                entry->server_time,
                                entry->revision,
                                entry->touched_by,
                                entry->reacted,
                                number(),
                                entry->state,
                                entry->countable(),
                                flag(),
                                flag()};
    return {id, std::move(entry), note};
  }

  replica::OutboxItem outbox(std::uint64_t local_id) {
    replica::OutboxItem item;
    item.local_id = local_id;
    item.conversation = ConversationId(text(10));
    item.to = UserId(text(10));
    item.client_msg_id = text(36);
    item.id_time_ms = time();
    item.body = body();
    item.reply_to = Seq(number());
    item.mentions = users();
    item.priority = Priority::low;
    item.attempts = static_cast<std::uint32_t>(below(10));
    item.state = static_cast<replica::OutboxState>(1 + below(4));
    if (flag()) item.error = Error{ErrorCode::NOT_MEMBER, text(5), text(30), static_cast<std::uint32_t>(below(9'000))};
    return item;
  }

  replica::MutationItem mutation(std::uint64_t mutation_number) {
    replica::MutationItem item;
    item.number = mutation_number;
    item.kind = static_cast<replica::MutationKind>(1 + below(13));
    item.conversation = ConversationId(text(10));
    item.seq = Seq(number());
    item.body = body();
    if (flag()) item.base_revision = Seq(number());
    for (std::uint64_t i = below(3); i > 0; --i) item.ranges.push_back({Seq(number()), Seq(number())});
    item.until = time();
    item.on = flag();
    item.name = text(20);
    item.value = text(40);
    return item;
  }

  replica::ObjectState object(std::uint64_t which) {
    replica::ObjectState state;
    switch (which % 3) {
      case 0:
        state.object.what = SavedDraft{ConversationId("c" + std::to_string(which)), body(), Seq(number()), time()};
        break;
      case 1:
        state.object.what = Setting{"s" + std::to_string(which), text(40)};
        break;
      default:
        state.object.what = BlockedUser{UserId("u" + std::to_string(which)), flag()};
        if (which == 8) state.object.what = DevicesChanged{time()};
    }
    state.object.mark = Mark(number());
    if (flag()) state.wish = state.object;
    state.wanting = flag();
    state.named = number();
    return state;
  }

  std::uint64_t below(std::uint64_t end) { return dice_() % end; }

 private:
  bool flag() { return below(2) == 0; }
  /// Small numbers mostly, large ones too.
  std::uint64_t number() { return below(5) == 0 ? dice_() : below(300); }
  std::int64_t time() { return static_cast<std::int64_t>(dice_() >> below(64)) * (flag() ? 1 : -1); }
  /// Any bytes, now and then none.
  std::string text(std::size_t max) {
    std::string bytes(below(max + 1), '\0');
    for (char& c : bytes) c = static_cast<char>(dice_());
    return bytes;
  }
  Epoch epoch() { return {static_cast<std::uint32_t>(below(4)), number()}; }
  std::vector<UserId> users() {
    std::vector<UserId> all(below(3));
    for (UserId& user : all) user = UserId(text(8));
    return all;
  }
  Body body() {
    Body made;
    if (flag()) made.type = text(6);
    made.text = text(body_max_);
    made.summary = text(10);
    made.data = text(20);
    if (below(4) == 0)
      made.attachments.push_back({text(40), number(), text(10), text(32), static_cast<std::int64_t>(number() >> 1)});
    made.encrypted = text(10);
    return made;
  }
  ConversationId any_held() { return *std::next(held_.begin(), static_cast<std::ptrdiff_t>(below(held_.size()))); }

  std::mt19937_64 dice_;
  std::size_t body_max_;
  std::uint64_t made_ = 0;
  std::set<ConversationId> held_;
};

/// All that an image says, byte for byte and in its order.
inline std::string flat(const replica::StoreImage& image) {
  std::string all = encode_stored(image.device);
  for (const auto& state : image.conversations) all += "\nc " + encode_stored(state);
  for (const auto& [id, notes] : image.rows) {
    all += "\nn " + id.value;
    for (const auto& note : notes) all += "\n  " + encode_stored(note);
  }
  for (const auto& item : image.outbox) all += "\no " + encode_stored(item);
  for (const auto& item : image.mutations) all += "\nm " + encode_stored(item);
  for (const auto& object : image.objects) all += "\nx " + encode_stored(object);
  return all;
}

/// A page of the model, written without regard to how a store does it.
inline std::vector<TimelineRow> model_page(const replica::MemoryStore& model, const ConversationId& id, Seq before,
                                           std::size_t limit) {
  std::vector<TimelineRow> page;
  const auto* stored = model.conversation(id);
  if (stored == nullptr) return page;
  std::optional<Seq> lower;
  for (const auto& [seq, row] : stored->rows) {
    if (!before || seq < before) page.push_back({row.entry, gap_below(stored->state, seq, lower)});
    lower = seq;
  }
  if (page.size() > limit) page.erase(page.begin(), page.end() - static_cast<std::ptrdiff_t>(limit));
  return page;
}

inline std::string flat(const std::vector<TimelineRow>& rows) {
  std::string all;
  for (const TimelineRow& row : rows)
    all += (row.gap_before ? "\n... " : "\n") + std::to_string(row.entry->seq.value) + encode_stored(*row.entry);
  return all;
}

/// Everything that a store shows, by the pages of each conversation; "" with an error told when it refuses.
inline Result<std::string> everything(ReplicaStore& store) {
  TM_ASSIGN(const replica::StoreImage image, store.load());
  std::string all = flat(image);
  for (const auto& state : image.conversations) {
    TM_ASSIGN(const std::vector<TimelineRow> rows, store.rows(state.id(), {}, 1'000'000));
    all += "\nr " + state.id().value + flat(rows);
  }
  return all;
}

inline std::string everything(const replica::MemoryStore& model) {
  std::string all = flat(model.image());
  for (const auto& [id, stored] : model.conversations())
    all += "\nr " + id.value + flat(model_page(model, id, {}, 1'000'000));
  return all;
}

template <typename World>
class ReplicaStoreConformance : public ::testing::Test {
 protected:
  World world_;
};
TYPED_TEST_SUITE_P(ReplicaStoreConformance);

TYPED_TEST_P(ReplicaStoreConformance, AnUnusedStoreIsEmpty) {
  const auto store = this->world_.open();
  const auto image = store->load();
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(flat(*image), flat(replica::StoreImage{}));
  const auto rows = store->rows(ConversationId("chat_1"), {}, 10);
  ASSERT_TRUE(rows.has_value());
  EXPECT_TRUE(rows->empty());
}

TYPED_TEST_P(ReplicaStoreConformance, HoldsWhatTheModelHoldsAfterEveryBatch) {
  rc::check([](std::uint64_t seed) {
    TypeParam world;
    BatchMaker maker(seed);
    replica::MemoryStore model;
    auto store = world.open();
    RC_ASSERT(store != nullptr);
    for (std::uint64_t batches = 1 + maker.below(25); batches > 0; --batches) {
      const replica::StoreBatch batch = maker.next();
      model.apply(batch);
      RC_ASSERT(store->apply(batch).has_value());
      const auto all = everything(*store);
      RC_ASSERT(all.has_value());
      RC_ASSERT(*all == everything(model));
    }
  });
}

TYPED_TEST_P(ReplicaStoreConformance, PagesBeginAndEndWhereTheyAreAskedTo) {
  BatchMaker maker(4711);
  replica::MemoryStore model;
  const auto store = this->world_.open();
  for (int i = 0; i < 40; ++i) {
    const replica::StoreBatch batch = maker.next();
    model.apply(batch);
    ASSERT_TRUE(store->apply(batch).has_value());
  }
  std::size_t shown = 0;
  for (int chat = 0; chat < 7; ++chat) {
    const ConversationId id("chat_" + std::to_string(chat));
    for (const std::uint64_t before : {0U, 1U, 2U, 13U, 30U, 59U, 60U, 61U, 1'000'000U}) {
      for (const std::size_t limit : {0U, 1U, 2U, 7U, 1'000U}) {
        const auto page = store->rows(id, Seq(before), limit);
        ASSERT_TRUE(page.has_value());
        EXPECT_EQ(flat(*page), flat(model_page(model, id, Seq(before), limit)))
            << id.value << " before " << before << ", at most " << limit;
        shown += page->size();
      }
    }
  }
  EXPECT_GT(shown, 100U);
  EXPECT_TRUE(store->rows(ConversationId("chat_1"), Seq(UINT64_MAX), SIZE_MAX).has_value());
}

TYPED_TEST_P(ReplicaStoreConformance, RowsAreNoneOfTheirNeighbours) {
  // Ids that are beginnings of each other, and one with quotes.
  const auto store = this->world_.open();
  BatchMaker maker(1);
  replica::StoreBatch batch;
  const ConversationId ids[] = {ConversationId("a"), ConversationId("a_b"), ConversationId("a_b2"),
                                ConversationId("it's_\"%_*")};
  for (std::uint64_t i = 0; i < std::size(ids); ++i) {
    batch.conversations.push_back(maker.conversation(ids[i]));
    for (std::uint64_t seq = 1; seq <= i + 1; ++seq) batch.rows.push_back(maker.row(ids[i], Seq(seq)));
  }
  ASSERT_TRUE(store->apply(batch).has_value());
  replica::StoreBatch drop;
  drop.dropped.push_back(ids[1]);
  drop.dropped_rows.push_back({ids[3], {Seq(1), Seq(3)}});
  ASSERT_TRUE(store->apply(drop).has_value());
  const auto count = [&](const ConversationId& id) { return store->rows(id, {}, 100)->size(); };
  EXPECT_EQ(count(ids[0]), 1U);
  EXPECT_EQ(count(ids[1]), 0U);
  EXPECT_EQ(count(ids[2]), 3U);
  EXPECT_EQ(count(ids[3]), 2U) << "(1, 3] was dropped of four";
}

TYPED_TEST_P(ReplicaStoreConformance, ErasedItHoldsADeviceAndNothingElse) {
  BatchMaker maker(7);
  const auto store = this->world_.open();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(store->apply(maker.next()).has_value());
  ASSERT_FALSE(store->load()->objects.empty());
  replica::StoreImage erased;
  erased.device.next_local_id = 42;
  ASSERT_TRUE(store->erase_all(erased.device).has_value());
  for (int i = 0; i < 5; ++i) {
    const auto image = store->load();
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(flat(*image), flat(erased));
  }
  EXPECT_TRUE(store->rows(ConversationId("chat_1"), {}, 10)->empty());
  BatchMaker anew(8);
  EXPECT_TRUE(store->apply(anew.next()).has_value()) << "it goes on";
  EXPECT_TRUE(store->load().has_value());
}

REGISTER_TYPED_TEST_SUITE_P(ReplicaStoreConformance, AnUnusedStoreIsEmpty, ErasedItHoldsADeviceAndNothingElse,
                            HoldsWhatTheModelHoldsAfterEveryBatch, PagesBeginAndEndWhereTheyAreAskedTo,
                            RowsAreNoneOfTheirNeighbours);

}  // namespace tidemark
