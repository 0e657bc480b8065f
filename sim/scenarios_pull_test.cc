// Coming back after a while: pages of one conversation, and what may happen between two of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::ConversationSync;
using replica::Hint;
using replica::Push;
using replica::SyncAnswer;
using replica::Welcome;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

replica::Options without_bodies() {
  replica::Options options;
  options.bodies = Bodies::none;
  options.recent = 0;
  return options;
}

/// B1 at mark 40 with 39 messages of S, all read; then it is offline while 120 more come.
Phone& offline_for_120(Scenario& s) {
  Phone& b1 = s.phone("B1", without_bodies());
  s.posts("A", "B", 39);
  s.quiet();
  b1.reads(kChat, Seq(39));
  s.quiet();
  EXPECT_EQ(b1.cursor(), Mark(40));
  EXPECT_EQ(b1.rows(kChat), seqs(1, 39));
  b1.goes_offline();
  s.posts("A", "B", 120);
  s.pass(5'000);
  b1.forget();
  return b1;
}

/// Calls `act` when the nth page of a conversation sync is about to be taken; false: it is not.
void at_page(Phone& phone, int nth, std::function<bool()> act) {
  phone.meets = [nth, act = std::move(act), seen = 0](const replica::ServerFrame& frame) mutable {
    return !std::holds_alternative<ConversationPage>(frame.answer) || ++seen != nth || act();
  };
}

void expect_contiguous(const std::vector<ConversationPage>& pages, std::vector<std::size_t> sizes, Seq first) {
  ASSERT_THAT(pages, SizeIs(sizes.size()));
  Seq after = first - 1;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    EXPECT_THAT(pages[i].messages, SizeIs(sizes[i]));
    EXPECT_EQ(pages[i].covers.after, after) << "without a gap";
    EXPECT_EQ(pages[i].more, i + 1 < pages.size());
    after = pages[i].covers.to;
  }
}

TEST(Conformance, S16_offline_120_messages_in_one_chat) {
  Scenario s;
  Phone& b1 = offline_for_120(s);
  b1.comes_online();
  s.quiet();
  const auto welcomes = b1.got<Welcome>();
  ASSERT_THAT(welcomes, SizeIs(1));
  EXPECT_EQ(welcomes[0].mode, Mode::delta);
  EXPECT_EQ(welcomes[0].behind, 120U);
  EXPECT_THAT(b1.got<Push>(), IsEmpty()) << "no bodies pushed";
  const auto syncs = b1.got<SyncAnswer>();
  ASSERT_THAT(syncs, SizeIs(1));
  ASSERT_THAT(syncs[0].page.changes, SizeIs(1)) << "one row, for S";
  EXPECT_EQ(syncs[0].page.changes[0].head_seq, Seq(159));
  EXPECT_EQ(syncs[0].page.changes[0].unread, (Unread{120, true}));
  EXPECT_THAT(syncs[0].page.changes[0].messages, IsEmpty());
  EXPECT_EQ(b1.rows(kChat), seqs(1, 39));

  b1.opens(kChat);
  s.quiet();
  expect_contiguous(b1.got<ConversationPage>(), {50, 50, 20}, Seq(40));
  EXPECT_EQ(b1.rows(kChat), seqs(1, 159));
  EXPECT_THAT(b1.saw<replica::MessageEvent>(), SizeIs(120)) << "each once";
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{120, true}));
}

TEST(Conformance, S17_crash_between_pages) {
  Scenario s;
  Phone& b1 = offline_for_120(s);
  b1.comes_online();
  s.quiet();
  at_page(b1, 3, [&] {
    b1.dies();
    return false;
  });
  b1.opens(kChat);
  s.until([&] { return !b1.device().up(); });
  EXPECT_EQ(b1.rows(kChat), seqs(1, 139)) << "pages 1 and 2 are stored";
  b1.network_heals();
  b1.forget();
  s.until([&] { return b1.device().up(); });
  s.quiet();
  b1.opens(kChat);
  s.quiet();
  const auto asked = b1.asked<ConversationSync>();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].after, Seq(139)) << "it goes on at the stored cursor";
  expect_contiguous(b1.got<ConversationPage>(), {20}, Seq(140));
  EXPECT_EQ(b1.rows(kChat), seqs(1, 159)) << "none missing, none twice";
}

/// Six conversations come in three pages of two.
replica::Options two_a_page() {
  replica::Options options;
  options.sync_limit = 2;
  return options;
}

Phone& behind_by_six(Scenario& s) {
  Phone& b1 = s.phone("B1", two_a_page());
  b1.goes_offline();
  for (const char* sender : {"C", "D", "E", "F", "G", "H"}) s.post(sender, "B", std::string("of ") + sender);
  s.pass(120'000);  // longer than the recent part of the index is kept
  return b1;
}

TEST(Conformance, S18_crash_between_rows_stored_and_cursor_stored) {
  using Death = SimDevice::Death;
  for (const Death death : {Death::before_storing, Death::before_showing}) {
    Scenario s;
    Phone& b1 = behind_by_six(s);
    int pages = 0;
    b1.meets = [&](const replica::ServerFrame& frame) {
      if (std::holds_alternative<SyncAnswer>(frame.answer) && ++pages == 2) b1.device().die_at(death);
      return true;
    };
    b1.comes_online();
    s.until([&] { return !b1.device().up(); });
    // Of page 2 either all or nothing, and the place in the descent says which.
    const bool stored = death != Death::before_storing;
    EXPECT_THAT(b1.store().conversations(), SizeIs(stored ? 4 : 2));
    EXPECT_EQ(b1.store().device().pass.low, Mark(stored ? 2 : 4));
    s.quiet();
    EXPECT_EQ(b1.cursor(), Mark(6));
    EXPECT_THAT(b1.store().conversations(), SizeIs(6));
    for (const auto& [id, each] : b1.store().conversations()) EXPECT_THAT(each.rows, SizeIs(1)) << id.value;
  }
}

TEST(Conformance, S18_a_page_that_is_applied_again_changes_nothing) {
  Scenario s;
  Phone& b1 = behind_by_six(s);
  // A store that has torn the second page apart: its rows are there, its cursor is not.
  replica::MemoryStore torn;
  int pages = 0;
  s.storing = [&](const SimDevice& device, const replica::StoreBatch& batch) {
    if (&device != &b1.device() || batch.rows.empty() || ++pages != 2) return;
    torn = b1.store();
    replica::StoreBatch rows = batch;
    rows.device.reset();
    torn.apply(rows);
  };
  b1.comes_online();
  s.quiet();
  ASSERT_GE(pages, 3);
  ASSERT_THAT(torn.conversations(), SizeIs(4));
  ASSERT_EQ(torn.device().pass.low, Mark(4));
  s.storing = nullptr;
  s.throw_away(b1);
  s.pass(60'000);
  Phone& again = s.new_phone("B1", torn);
  again.device().start(two_a_page());
  s.quiet();
  EXPECT_EQ(again.cursor(), Mark(6));
  EXPECT_THAT(again.saw<replica::MessageEvent>(), SizeIs(2)) << "of page 3 alone";
  EXPECT_EQ(again.store().conversations().size(), b1.store().conversations().size());
  for (const auto& [id, each] : b1.store().conversations()) {
    EXPECT_EQ(again.shows(id), each.state.object) << id.value;
    EXPECT_EQ(again.rows(id), b1.rows(id)) << id.value;
  }
}

TEST(Conformance, S19_new_messages_during_paging) {
  Scenario s;
  Phone& b1 = offline_for_120(s);
  b1.comes_online();
  s.quiet();
  at_page(b1, 2, [&] {
    s.posts("A", "B", 5);
    return true;
  });
  b1.opens(kChat);
  s.quiet();
  EXPECT_THAT(b1.got<Push>(), testing::Not(IsEmpty())) << "they were pushed meanwhile";
  const auto pages = b1.got<ConversationPage>();
  ASSERT_GE(pages.size(), 3U);
  for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_EQ(pages[i].covers.after, pages[i - 1].to) << "from `to` on";
  EXPECT_EQ(b1.rows(kChat), seqs(1, 164));
  EXPECT_EQ(b1.shows(kChat).head_seq, Seq(164)) << "with the five";
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{125, true}));
  EXPECT_THAT(b1.saw<replica::MessageEvent>(), SizeIs(125)) << "each once, pushed or on a page";
  EXPECT_EQ(b1.device().engine().held_pushes(), 0U);
}

TEST(Conformance, S25_huge_gap_in_one_chat) {
  constexpr std::uint64_t kHead = 9'000;  // nine gaps that are too long already; ninety more take long to make
  Scenario s;
  Phone& b1 = s.phone("B1", without_bodies());
  s.posts("A", "B", 10);
  s.quiet();
  b1.goes_offline();
  s.posts("A", "B", kHead - 10);
  s.pass(5'000);
  b1.comes_online();
  s.quiet();
  b1.forget();
  ASSERT_THAT(b1.state(kChat).coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(10)}));
  b1.opens(kChat);
  s.quiet();
  const auto pages = b1.got<ConversationPage>();
  ASSERT_THAT(pages, SizeIs(1));
  EXPECT_EQ(pages[0].covers, (Interval{Seq(kHead - 50), Seq(kHead)})) << "the newest 50";
  EXPECT_EQ(pages[0].hole, (Interval{Seq(10), Seq(kHead - 50)}));

  // Up from the top and down from the bottom, until both meet.
  const auto& coverage = b1.state(kChat).coverage;
  ASSERT_THAT(coverage.ranges(), SizeIs(2));
  bool from_top = true;
  while (coverage.ranges().size() > 1) {
    const auto before = coverage.ranges();
    from_top ? b1.scrolls_back(kChat) : b1.scrolls_forward(kChat, Seq(10));
    ASSERT_TRUE(s.until([&] { return coverage.ranges() != before; }));
    EXPECT_EQ(coverage.ranges().back().after < before.back().after, from_top) << "from the side that is scrolled";
    from_top = !from_top;
  }
  EXPECT_THAT(coverage.ranges(), ElementsAre(Interval{Seq(0), Seq(kHead)}));
  EXPECT_EQ(b1.rows(kChat), seqs(1, kHead)) << "without a hole";
  EXPECT_THAT(b1.saw<replica::MessageEvent>(), SizeIs(kHead - 10)) << "and none twice";
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{999, false}));
}

TEST(Conformance, S27_stale_response) {
  Scenario s;
  Phone& b1 = offline_for_120(s);
  std::vector<replica::ServerFrame> answers;
  b1.meets = [&](const replica::ServerFrame& frame) {
    if (!std::holds_alternative<SyncAnswer>(frame.answer)) return true;
    answers.push_back(frame);
    return false;
  };
  b1.comes_online();
  s.until([&] { return answers.size() == 1; });  // P1 is on its way
  b1.goes_offline();
  s.post("A", "B", "later");
  s.pass(1'000);
  b1.comes_online();
  s.until([&] { return answers.size() == 2; });  // P2 too
  b1.network_heals();

  const replica::DeviceState before = b1.store().device();
  const Change shown = b1.shows(kChat);
  b1.forget();
  b1.device().deliver(answers[0]);
  EXPECT_EQ(b1.store().device(), before) << "the cursor is where it was";
  EXPECT_EQ(b1.shows(kChat), shown);
  EXPECT_THAT(b1.saw<replica::ConversationEvent>(), IsEmpty());

  b1.device().deliver(answers[1]);
  EXPECT_EQ(b1.cursor(), Mark(161));
  b1.device().deliver(answers[0]);
  EXPECT_EQ(b1.cursor(), Mark(161));
  s.quiet();
  EXPECT_EQ(b1.shows(kChat).head_seq, Seq(160));
}

}  // namespace
}  // namespace tidemark::sim
