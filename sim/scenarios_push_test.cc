// Pushes that come twice, in the wrong order, not at all, or too many at once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::ConversationSync;
using replica::Hint;
using replica::History;
using replica::Push;
using replica::Sync;
using replica::SyncAnswer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

const ConversationId kChat("A_B");
constexpr std::int64_t kRoundTripMs = 130;  // two ways of the scripted network, a read, a commit round

std::size_t pulls(const Phone& phone) {
  return phone.asked<Sync>().size() + phone.asked<ConversationSync>().size() + phone.asked<History>().size();
}

std::size_t pushed(const Phone& phone) {
  std::size_t items = 0;
  for (const Push& push : phone.got<Push>()) items += push.items.size();
  return items;
}

std::vector<Seq> shown_in_order(const Phone& phone) {
  std::vector<Seq> all;
  for (const auto& event : phone.saw<replica::MessageEvent>()) all.push_back(event.entry->seq);
  return all;
}

/// B1 holds one message and is in step.
Phone& holding_one(Scenario& s) {
  Phone& b1 = s.phone("B1");
  s.post("A", "B", "m1");
  s.quiet();
  b1.forget();
  return b1;
}

TEST(Conformance, S31_duplicate_push) {
  Scenario s;
  Phone& b1 = holding_one(s);
  b1.gets_twice<Push>(1);
  s.post("A", "B", "m2");
  s.quiet();
  ASSERT_EQ(pushed(b1), 2U) << "the same twice";
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{2, true}));
  EXPECT_THAT(b1.notified(kChat), ElementsAre(Seq(2))) << "one notification";
  EXPECT_EQ(b1.rows(kChat), seqs(1, 2));
  EXPECT_EQ(pulls(b1), 0U);
}

TEST(Conformance, S32_reordered_pushes) {
  Scenario s;
  Phone& b1 = holding_one(s);
  b1.gets_late<Push>(300, 1);
  s.post("A", "B", "m2");
  s.pass(100);
  s.post("A", "B", "m3");
  ASSERT_TRUE(s.until([&] { return b1.device().engine().held_pushes() == 1; })) << "(2,3] waits for (1,2]";
  EXPECT_EQ(b1.rows(kChat), seqs(1, 1));
  const std::int64_t begin = s.now_ms();
  ASSERT_TRUE(s.until([&] { return b1.rows(kChat) == seqs(1, 3); }));
  EXPECT_LE(s.now_ms() - begin, 500);
  s.quiet();
  EXPECT_EQ(shown_in_order(b1), seqs(2, 3)) << "applied in order";
  EXPECT_EQ(pulls(b1), 0U) << "no pull was made";
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{3, true}));
}

TEST(Conformance, S33_lost_push_and_a_later_one_that_arrives) {
  Scenario s;
  Phone& b1 = holding_one(s);
  b1.loses<Push>(1);
  s.post("A", "B", "m2");
  s.pass(100);
  s.post("A", "B", "m3");
  ASSERT_TRUE(s.until([&] { return b1.device().engine().held_pushes() == 1; })) << "a gap";
  const std::int64_t begin = s.now_ms();
  ASSERT_TRUE(s.until([&] { return b1.rows(kChat) == seqs(1, 3); }));
  EXPECT_LE(s.now_ms() - begin, 500 + 2 * kRoundTripMs);
  EXPECT_GE(pulls(b1), 1U) << "it was filled by a pull";
  s.quiet();
  EXPECT_THAT(b1.texts(kChat), ElementsAre("m1", "m2", "m3")) << "in order";
  EXPECT_EQ(b1.notified(kChat), seqs(2, 3));
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{3, true}));
}

TEST(Conformance, S34_lost_push_then_silence) {
  Scenario s;
  Phone& b1 = holding_one(s);
  b1.loses<Push>();  // and whatever the server pushes again
  const std::int64_t begin = s.now_ms();
  s.post("A", "B", "m2");
  ASSERT_TRUE(s.until([&] { return b1.rows(kChat) == seqs(1, 2); }));
  EXPECT_LE(s.now_ms() - begin, 30'000 + kRoundTripMs);
  EXPECT_THAT(b1.got<replica::HeartbeatAnswer>(), SizeIs(1)) << "it showed a head above the cursor";
  EXPECT_GT(b1.got<replica::HeartbeatAnswer>()[0].head, Mark(1));
  EXPECT_THAT(b1.asked<Sync>(), SizeIs(1));
  EXPECT_THAT(b1.notified(kChat), ElementsAre(Seq(2)));
}

TEST(Conformance, S34_what_is_not_acknowledged_is_pushed_again) {
  Scenario s;
  Phone& b1 = holding_one(s);
  b1.loses<Push>(1);
  const std::int64_t begin = s.now_ms();
  s.post("A", "B", "m2");
  ASSERT_TRUE(s.until([&] { return b1.rows(kChat) == seqs(1, 2); }));
  EXPECT_THAT(s.now_ms() - begin, AllOf(Ge(10'000), Le(11'000 + kRoundTripMs)));
  EXPECT_EQ(pulls(b1), 0U);
}

TEST(Conformance, S36_backlog_over_the_batch_limit) {
  for (const int pending : {50, 51}) {
    Scenario s;
    Phone& b1 = holding_one(s);
    s.posts("A", "B", pending);  // one round makes them pending together
    s.quiet();
    EXPECT_EQ(pushed(b1), 50U);
    const auto hints = b1.got<Hint>();
    if (pending == 50) {
      EXPECT_THAT(hints, IsEmpty());
      EXPECT_EQ(pulls(b1), 0U);
    } else {
      ASSERT_THAT(hints, SizeIs(1));
      EXPECT_EQ(hints[0].head, Mark(52));
      const auto syncs = b1.got<SyncAnswer>();
      ASSERT_THAT(syncs, SizeIs(1)) << "the remaining one by pull";
      EXPECT_EQ(syncs[0].page.after, Mark(51));
    }
    EXPECT_THAT(b1.rows(kChat), SizeIs(1 + pending));
    EXPECT_THAT(b1.saw<replica::MessageEvent>(), SizeIs(pending));
  }
}

TEST(Conformance, S38_pushes_during_a_pull_and_a_buffer_that_overflows) {
  Scenario s;
  replica::Options options;
  options.held_items_max = 2;
  Phone& b1 = s.phone("B1", options);
  b1.forget();
  // One push is lost, so those behind it wait for a pull, and there are more than may wait.
  b1.loses<Push>(1);
  std::size_t waiting = 0;
  int answers = 0;
  b1.meets = [&](const replica::ServerFrame& frame) {
    waiting = std::max(waiting, b1.device().engine().held_pushes());
    if (std::holds_alternative<SyncAnswer>(frame.answer) && ++answers == 1) s.posts("A", "B", 20);  // while it pulls
    return true;
  };
  for (int i = 0; i < 20; ++i) {
    s.post("A", "B", "early");
    s.pass(20);
  }
  s.quiet();
  EXPECT_GT(pushed(b1), 5U);
  EXPECT_GE(answers, 1) << "it pulled until it stood at the head";
  EXPECT_EQ(waiting, 2U) << "the buffer was full, and no fuller";
  EXPECT_EQ(b1.rows(kChat), seqs(1, 40)) << "pushes are dropped, not data";
  EXPECT_EQ(b1.cursor(), s.listed("B", kChat).mark);
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{40, true}));
}

TEST(Conformance, S147_unknown_entry_kind) {
  // The phone is of an older version: recalls are of a kind that it has never heard of.
  Scenario s;
  s.posts("A", "B", 5);
  Phone& b1 = s.phone("B1");
  constexpr auto kUnheardOf = static_cast<EntryKind>(99);
  const auto forget_kind = [&](Entry& entry) {
    if (entry.kind != EntryKind::recall) return;
    entry.kind = kUnheardOf;
    entry.target = {};
    entry.target_sender = {};
  };
  int questions = 0;
  b1.meets = [&](replica::ServerFrame& frame) {
    if (auto* push = std::get_if<Push>(&frame.answer))
      for (PushItem& item : push->items)
        if (item.entry) {
          auto entry = std::make_shared<Entry>(*item.entry);
          forget_kind(*entry);
          item.entry = std::move(entry);
        }
    if (auto* page = std::get_if<ConversationPage>(&frame.answer)) {
      ++questions;
      for (Entry& entry : page->messages) forget_kind(entry);
    }
    return true;
  };
  const RecallCommand recall{UserId("A"), DeviceId("http"), kChat, Seq(2), false};
  ASSERT_TRUE(s.command(MutateCommand{UserId("A"), DeviceId("http"), {}, 0, recall}));
  s.quiet();
  EXPECT_EQ(b1.cursor(), s.listed("B", kChat).mark) << "the cursor passes";
  EXPECT_EQ(b1.row(kChat, Seq(2)).state, MessageState::recalled) << "fetched again, folded";
  EXPECT_EQ(b1.row(kChat, Seq(2)).body, Body());
  EXPECT_EQ(b1.state(kChat).touched, Seq(6));
  EXPECT_EQ(questions, 1) << "asked once";
  s.pass(300'000);
  EXPECT_EQ(questions, 1) << "and not in a circle";

  b1.dies();
  s.until([&] { return b1.device().up(); });
  s.quiet();
  s.post("A", "B", "m 6");
  s.quiet();
  EXPECT_EQ(b1.row(kChat, Seq(7)).body.text, "m 6");
}

TEST(Conformance, S147_an_unknown_kind_that_changes_nothing_is_ignored) {
  Scenario s;
  const ConversationId group = s.group("A", {"B"});
  s.post_in("A", group, "m 1");
  Phone& b1 = s.new_phone("B1");
  b1.device().become_old_version();  // some entries of others are of a kind that it has never heard of
  b1.device().start({});
  s.quiet();
  int unheard_of = 0;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Seq> rows = b1.rows(group);
    const Unread unread = b1.shows(group).unread;
    b1.forget();
    ASSERT_TRUE(s.command(ChangeGroupCommand{UserId("A"), DeviceId("http"), group, fmt::format("title {}", i)}));
    s.quiet();
    EXPECT_EQ(b1.cursor(), s.listed("B", group).mark) << "the cursor passes";
    if (!b1.device().old_version()->strange(group, b1.shows(group).head_seq)) continue;
    ++unheard_of;
    EXPECT_EQ(b1.rows(group), rows) << "no row";
    EXPECT_THAT(b1.saw<replica::MessageEvent>(), IsEmpty()) << "no event";
    EXPECT_THAT(b1.saw<replica::UnreadEvent>(), IsEmpty());
    EXPECT_EQ(b1.shows(group).unread, unread);
  }
  EXPECT_GT(unheard_of, 0);
}

}  // namespace
}  // namespace tidemark::sim
