// Read pointers on several devices, and how many are unread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::Mutate;
using replica::MutationItem;
using replica::MutationKind;
using replica::UnreadEvent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

/// A1 and A2, S with `head` messages of B, read to `read` on both.
struct TwoPhones {
  TwoPhones(Scenario& s, int head, Seq read, const replica::Options& options = {})
      : a1(s.phone("A1", options)), a2(s.phone("A2", options)) {
    s.posts("B", "A", head);
    s.quiet();
    if (read) a1.reads(kChat, read);
    s.quiet();
    EXPECT_EQ(a2.shows(kChat).read, read);
    a1.forget();
    a2.forget();
  }
  Phone& a1;
  Phone& a2;
};

void expect_both(const TwoPhones& phones, Seq read, Unread unread) {
  for (const Phone* phone : {&phones.a1, &phones.a2}) {
    EXPECT_EQ(phone->shows(kChat).read, read);
    EXPECT_EQ(phone->shows(kChat).unread, unread);
  }
}

TEST(Conformance, S45_read_on_another_device) {
  Scenario s;
  TwoPhones phones(s, 20, Seq(20));
  s.posts("B", "A", 10);
  s.quiet();
  ASSERT_EQ(phones.a2.notified(kChat), seqs(21, 30));
  expect_both(phones, Seq(20), {10, true});
  phones.a2.forget();
  phones.a1.reads(kChat, Seq(30));
  s.quiet();
  expect_both(phones, Seq(30), {});
  const auto told = phones.a2.saw<UnreadEvent>();
  ASSERT_THAT(told, Not(IsEmpty())) << "by which the app withdraws what it has notified";
  EXPECT_EQ(told.back().read, Seq(30));
  EXPECT_EQ(told.back().unread, Unread());
  EXPECT_THAT(phones.a2.notified(kChat), IsEmpty());
}

TEST(Conformance, S46_reads_out_of_order) {
  Scenario s;
  TwoPhones phones(s, 30, Seq(20));
  phones.a2.loses_asked<Mutate>(1);  // 25 comes when it is said again
  phones.a2.reads(kChat, Seq(25));
  phones.a1.reads(kChat, Seq(30));
  s.pass(10'000);
  ASSERT_EQ(s.listed("A", kChat).read, Seq(30));
  ASSERT_THAT(phones.a2.store().mutations(), SizeIs(1)) << "still to be told";
  const Mark mark = s.listed("A", kChat).mark;
  s.quiet();
  const auto answers = phones.a2.got<MutatedReply>();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].read, Seq(30));
  EXPECT_EQ(s.listed("A", kChat).read, Seq(30)) << "it stays";
  EXPECT_EQ(s.listed("A", kChat).mark, mark) << "nothing has changed";
  expect_both(phones, Seq(30), {});
}

TEST(Conformance, S48_pointer_ahead_of_local_data) {
  Scenario s;
  replica::Options options;
  options.bodies = Bodies::none;
  options.recent = 0;
  TwoPhones phones(s, 15, Seq());
  Phone& a3 = s.phone("A3", options);
  a3.opens(kChat);
  s.quiet();
  a3.closes(kChat);
  a3.goes_offline();
  s.posts("B", "A", 7);
  s.quiet();
  phones.a1.reads(kChat, Seq(20));
  s.posts("C", "A", 60);  // too much to be pushed to who comes back
  s.quiet();
  a3.comes_online();
  s.quiet();
  ASSERT_EQ(a3.rows(kChat), seqs(1, 15)) << "the row alone has come";
  EXPECT_EQ(a3.shows(kChat).read, Seq(20));
  EXPECT_EQ(a3.shows(kChat).head_seq, Seq(22));
  EXPECT_EQ(a3.shows(kChat).unread, (Unread{2, true})) << "as the server counts";
  a3.opens(kChat);
  s.quiet();
  EXPECT_EQ(a3.rows(kChat), seqs(1, 22));
  EXPECT_EQ(a3.shows(kChat).unread, (Unread{2, true}));
}

TEST(Conformance, S49_pointer_ahead_of_the_head) {
  Scenario s;
  TwoPhones phones(s, 22, Seq());
  Wire& wire = s.wire("A3");
  const auto answer = wire.ask<MutatedReply>(Mutate{MutationItem{1, MutationKind::read, kChat, Seq(99)}});
  EXPECT_EQ(answer.read, Seq(22)) << "clamped";
  EXPECT_TRUE(answer.clamped) << "and said so";
  s.quiet();
  expect_both(phones, Seq(22), {});
  s.post("B", "A", "m 23");
  s.quiet();
  expect_both(phones, Seq(22), {1, true});
}

TEST(Conformance, S50_mark_as_unread) {
  Scenario s;
  TwoPhones phones(s, 30, Seq(30));
  for (const Seq next_read : {Seq(30), Seq(31)}) {
    phones.a1.marks_unread(kChat);
    s.quiet();
    expect_both(phones, Seq(30), {});
    for (const Phone* phone : {&phones.a1, &phones.a2}) EXPECT_TRUE(phone->shows(kChat).unread_flag);
    if (next_read > Seq(30)) s.post("B", "A", "m 31");
    s.quiet();
    phones.a2.reads(kChat, Seq(29));
    s.quiet();
    EXPECT_TRUE(phones.a1.shows(kChat).unread_flag) << "one below the pointer changes nothing";
    phones.a2.reads(kChat, next_read);
    s.quiet();
    expect_both(phones, next_read, {});
    for (const Phone* phone : {&phones.a1, &phones.a2}) EXPECT_FALSE(phone->shows(kChat).unread_flag);
  }
}

TEST(Conformance, S51_own_send_is_neutral) {
  for (const bool read_on_send : {false, true}) {
    Scenario s([&](Plan& plan) { plan.config.read_on_send = read_on_send; });
    TwoPhones phones(s, 30, Seq(20));
    expect_both(phones, Seq(20), {10, true});
    phones.a1.says("B", "quickly");
    s.quiet();
    ASSERT_EQ(s.log(kChat).rbegin()->first, Seq(31));
    if (read_on_send)
      expect_both(phones, Seq(31), {});
    else
      expect_both(phones, Seq(20), {10, true});
  }
}

TEST(Conformance, S52_offline_read_merges) {
  Scenario s;
  TwoPhones phones(s, 30, Seq());
  phones.a1.goes_offline();
  phones.a1.reads(kChat, Seq(25));
  EXPECT_EQ(phones.a1.shows(kChat).read, Seq(25)) << "shown at once";
  phones.a2.reads(kChat, Seq(28));
  s.quiet();
  phones.a1.comes_online();
  s.quiet();
  EXPECT_EQ(s.listed("A", kChat).read, Seq(28));
  expect_both(phones, Seq(28), {2, true});
}

TEST(Conformance, S64_unread_is_capped) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  s.posts("B", "A", 5'000);
  s.quiet();
  Phone& a2 = s.phone("A2");
  for (const Phone* phone : {&a1, &a2}) EXPECT_EQ(phone->shows(kChat).unread, (Unread{999, false}));
  a1.reads(kChat, Seq(4'000));
  s.quiet();
  for (const Phone* phone : {&a1, &a2}) EXPECT_EQ(phone->shows(kChat).unread, (Unread{999, false}));
  a1.reads(kChat, Seq(4'100));
  s.quiet();
  for (const Phone* phone : {&a1, &a2}) EXPECT_EQ(phone->shows(kChat).unread, (Unread{900, true}));
  EXPECT_EQ(s.listed("A", kChat).unread, (Unread{900, true}));
}

TEST(Conformance, S66_unread_is_what_a_recount_says_after_ten_thousand_operations) {
  Scenario s([](Plan& plan) { plan.twice = 200; });  // of each frame, pushes too
  const std::vector<Phone*> phones{&s.phone("A1"), &s.phone("A2"), &s.phone("B1"), &s.phone("B2"), &s.phone("C1")};
  const ConversationId group = s.group("A", {"B", "C"});
  s.quiet();
  std::uint64_t texts = 0;
  for (int done = 1; done <= 10'000; ++done) {
    Phone& phone = *phones[s.dice().below(phones.size())];
    const auto& held = phone.store().conversations();
    const auto& [id, stored] = *std::next(held.begin(), static_cast<std::ptrdiff_t>(s.dice().below(held.size())));
    const Seq head = stored.state.object.head_seq;
    const Seq seq = head - std::min(head.value, s.dice().below(8));
    switch (s.dice().below(8)) {
      case 0:
      case 1:
        phone.says(s.dice().chance(500) ? "A" : "B", numbered_text("m", ++texts));
        break;
      case 2:
        phone.says_in(group, numbered_text("m", ++texts));
        break;
      case 3:
      case 4:
        phone.reads(id, seq);
        break;
      case 5:
        phone.marks_unread(id);
        break;
      case 6:
        phone.device().recall(id, seq);
        break;
      default:
        phone.device().edit(id, seq, numbered_text("m", ++texts), std::nullopt);
    }
    s.pass(s.dice().skewed(0, 200));
    if (done % 1'000 != 0) continue;
    s.quiet();
    s.check_devices();  // counts again, naively, for each conversation on each phone
  }
  EXPECT_GT(s.run().counters.of(Counter::frames_doubled), 1'000U);
  EXPECT_GT(s.run().counters.of(Counter::recalls_done), 100U);
}

}  // namespace
}  // namespace tidemark::sim
