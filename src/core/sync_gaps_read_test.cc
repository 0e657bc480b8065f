#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/intervals.h"
#include "core/reads_test_world.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

SyncQuery query(const UserId& user, const Cursor& cursor = {}) {
  SyncQuery made;
  made.user = user;
  made.cursor = cursor;
  made.bodies = Bodies::all;
  return made;
}

SyncPage page(ReadsWorld& world, const SyncQuery& asked) {
  const Result<SyncPage> answer = read_sync(world.view, world.params, asked);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message() + " " + answer.error().field);
  return answer.value_or(SyncPage{});
}

bool complete(const SyncPage& got) {
  return got.complete();
}

SyncQuery next_of(SyncQuery asked, const SyncPage& got) {
  asked.p0 = got.p0;
  asked.p0_round = got.p0_round;
  asked.resume_conversation = got.resume_conversation;
  asked.resume_after = got.resume_after;
  asked.resume_objects = got.resume_objects;
  return asked;
}

TEST(SyncGaps, a_snapshot_holds_everything_visible) {
  ReadsWorld world;
  const ConversationId chat = world.single(a, c), group = world.group({a});
  for (int i = 0; i < 3; ++i) world.send(chat, a), world.send(group, a);
  world.join(group, c);
  world.send(group, a);
  const SyncPage got = page(world, query(c));
  ASSERT_EQ(got.changes.size(), 2u);
  EXPECT_EQ(got.changes[0].conversation, chat);
  EXPECT_EQ(seqs_of(got.changes[0].messages), seqs(1, 3));
  EXPECT_EQ(got.changes[0].covers, (Interval{Seq(0), Seq(3)}));
  EXPECT_EQ(seqs_of(got.changes[1].messages), seqs(5, 6));
  EXPECT_EQ(got.changes[1].covers, (Interval{Seq(0), Seq(6)}));
  EXPECT_EQ(got.changes[1].hidden, (std::vector{Hidden{Seq(0), Seq(4), HiddenReason::period}}));
  EXPECT_TRUE(complete(got));
  EXPECT_FALSE(got.more);
  EXPECT_EQ(got.next, world.cursor_of(c));
}

TEST(SyncGaps, a_delta_holds_the_gap_and_names_what_changed_otherwise) {
  ReadsWorld world;
  const ConversationId chat = world.single(a, b), other = world.single(b, c);
  for (int i = 0; i < 5; ++i) world.send(chat, a), world.send(other, c);
  const Cursor cursor = world.cursor_of(b);
  world.next_round();
  for (int i = 0; i < 3; ++i) world.send(chat, a);
  world.read(b, other, Seq(5));
  const SyncPage got = page(world, query(b, cursor));
  ASSERT_EQ(got.changes.size(), 2u);
  EXPECT_EQ(seqs_of(got.changes[0].messages), seqs(6, 8));
  EXPECT_EQ(got.changes[0].covers, (Interval{Seq(5), Seq(8)}));
  EXPECT_TRUE(got.changes[1].messages.empty());
  EXPECT_EQ(got.changes[1].covers, (Interval{Seq(5), Seq(5)}));
  EXPECT_EQ(got.changes[1].read, Seq(5));
}

TEST(SyncGaps, a_page_breaks_off_in_a_conversation_and_goes_on_there) {
  ReadsWorld world;
  const ConversationId chat = world.single(a, b);
  for (int i = 0; i < 5'000; ++i) world.send(chat, a);
  SyncQuery asked = query(b);
  asked.byte_budget = 1'048'576;
  SyncPage got = page(world, asked);
  EXPECT_EQ(seqs_of(got.changes.at(0).messages), seqs(1, 2'000));
  EXPECT_TRUE(got.changes[0].more_messages);
  EXPECT_TRUE(got.more);
  EXPECT_EQ(got.after, got.to) << "the index is covered when the run is complete";
  EXPECT_EQ(got.resume_conversation, chat);
  EXPECT_EQ(got.resume_after, Seq(2'000));
  got = page(world, asked = next_of(asked, got));
  EXPECT_EQ(got.changes.at(0).covers, (Interval{Seq(2'000), Seq(4'000)}));
  got = page(world, asked = next_of(asked, got));
  EXPECT_EQ(seqs_of(got.changes.at(0).messages), seqs(4'001, 5'000));
  EXPECT_FALSE(got.changes[0].more_messages);
  EXPECT_TRUE(complete(got));
  EXPECT_FALSE(got.more);
  EXPECT_EQ(got.after, Mark(0));
  EXPECT_EQ(got.to, got.p0);
}

TEST(SyncGaps, one_large_message_a_page_at_least) {
  ReadsWorld world;
  const ConversationId chat = world.single(a, b), other = world.single(b, c);
  for (int i = 0; i < 2; ++i)
    world.send(chat, a, std::string(5'000, 'x')), world.send(other, c, std::string(5'000, 'x'));
  SyncQuery asked = query(b);
  asked.byte_budget = 100;
  std::vector<std::size_t> rows;
  for (int i = 0; i < 10; ++i) {
    const SyncPage got = page(world, asked);
    std::size_t sum = 0;
    for (const Change& change : got.changes) sum += change.messages.size();
    rows.push_back(sum);
    if (complete(got)) break;
    asked = next_of(asked, got);
  }
  EXPECT_EQ(rows, (std::vector<std::size_t>{1, 1, 1, 1}));
}

TEST(SyncGaps, finding_the_gap_in_a_long_log_is_a_search) {
  ReadsWorld world;
  const ConversationId chat = world.single(a, b);
  for (int i = 0; i < 20'000; ++i) world.send(chat, a);
  const Cursor cursor = world.cursor_of(b);
  world.next_round();
  for (int i = 0; i < 3; ++i) world.send(chat, a);
  const std::size_t before = world.view.entries_read();
  EXPECT_EQ(page(world, query(b, cursor)).changes.at(0).messages.size(), 3u);
  EXPECT_LE(world.view.entries_read() - before, 25u);
}

TEST(SyncGaps, a_newcomer_gets_the_older_entries_that_his_policy_grants) {
  ReadsWorld world;
  const ConversationId group = world.group({a});
  for (int i = 0; i < 9; ++i) world.send(group, a);
  world.send(world.single(a, c), a);
  const Cursor cursor = world.cursor_of(c);
  world.next_round();
  ASSERT_EQ(world.join(group, c, Seq(4)), Seq(11));
  const SyncPage got = page(world, query(c, cursor));
  ASSERT_EQ(got.changes.size(), 1u);
  EXPECT_EQ(seqs_of(got.changes[0].messages), seqs(4, 11));
  EXPECT_TRUE(page(world, query(c, got.next)).changes.empty());
}

TEST(SyncGaps, one_who_joins_during_a_run_gets_his_entries_in_the_next) {
  ReadsWorld world;
  const ConversationId group = world.group({a});
  for (int i = 0; i < 4; ++i) world.send(group, a);
  for (int i = 0; i < 3; ++i) world.send(world.single(a, c), a);
  SyncQuery asked = query(c);
  asked.byte_budget = 1;
  SyncPage got = page(world, asked);
  world.next_round();
  world.join(group, c, Seq(1));
  asked.byte_budget = 0;
  got = page(world, next_of(asked, got));
  ASSERT_TRUE(complete(got));
  EXPECT_TRUE(got.more);
  for (const Change& change : got.changes)
    if (change.conversation == group) EXPECT_TRUE(change.messages.empty());
  got = page(world, query(c, got.next));
  EXPECT_EQ(seqs_of(got.changes.at(0).messages), seqs(1, 6));
}

/// Something happens in a few chats and groups of `a`.
void happen(ReadsWorld& world, const std::vector<ConversationId>& groups) {
  if (*rc::gen::inRange(0, 3) == 0) world.next_round();
  const ConversationId group = *rc::gen::elementOf(groups);
  const bool member = world.view.conversation(group)->member(a);
  const UserId peer("u" + std::to_string(*rc::gen::inRange(0, 3)));
  const ConversationId chat = world.single(a, peer);
  switch (*rc::gen::inRange(0, 11)) {
    case 0:
      if (member) world.leave(group, a);
      break;
    case 1:
    case 2:
      if (!member) world.join(group, a, *rc::gen::element(Seq(), Seq(1), Seq(3)));
      break;
    case 3:
      world.rename(group, "title");
      break;
    case 4:
      if (world.view.line(chat).seq) world.read(a, chat, world.view.line(chat).seq);
      break;
    case 5:
    case 6:
    case 7:
      world.send(group, b);
      break;
    default:
      world.send(chat, *rc::gen::element(a, peer));
  }
}

using Place = std::pair<ConversationId, Seq>;

void take(const SyncPage& got, std::map<Place, int>& times) {
  for (const Change& change : got.changes) {
    Seq last;
    for (const Entry& row : change.messages) {
      ++times[{change.conversation, row.seq}];
      RC_ASSERT(row.seq > last);
      RC_ASSERT(row.seq > change.covers.after && row.seq <= change.covers.to);
      for (const Hidden& part : change.hidden) RC_ASSERT(!(part.after < row.seq && row.seq <= part.to));
      last = row.seq;
    }
    // What a page says that it covers, this page or an earlier one has given.
    Intervals hidden;
    for (const Hidden& part : change.hidden) hidden.push_back({part.after, part.to});
    for (const Interval& part : minus(joined({change.covers}), hidden))
      for (Seq seq = part.after + 1; seq <= part.to; seq = seq + 1)
        RC_ASSERT(times[Place(change.conversation, seq)] == 1);
  }
}

TEST(SyncGaps, over_all_runs_every_visible_entry_comes_exactly_once_whatever_happens_meanwhile) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const std::vector<ConversationId> groups{world.group({b}), world.group({b, a})};
    std::map<Place, int> times;
    SyncQuery asked = query(a);
    const auto pass_time = [&](int most) {
      world.next_round();  // the round that a page showed is over
      for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) happen(world, groups);
    };
    for (int run = 0; run < 5; ++run) {
      if (run < 4) pass_time(20);
      SyncQuery step = asked;
      step.limit = *rc::gen::inRange<std::uint32_t>(1, 5);
      step.byte_budget = *rc::gen::inRange<std::uint64_t>(1, 60);
      for (int pages = 0;; ++pages) {
        RC_ASSERT(pages < 1'000);
        const SyncPage got = page(world, step);
        take(got, times);
        RC_ASSERT(got.more == (!complete(got) || world.head_of(a) > got.p0));
        if (complete(got)) {
          asked.cursor = got.next;
          break;
        }
        step = next_of(step, got);
        if (run < 4) pass_time(3);
      }
    }
    std::map<Place, int> expected;
    for (const auto& [whose, seqs] : world.all_seen())
      if (whose.first == a)
        for (const Seq seq : seqs) expected[{whose.second, seq}] = 1;
    RC_ASSERT(times == expected);
  }));
}

TEST(SyncGaps, what_the_runs_cover_is_the_whole_log_but_for_what_was_hidden) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const std::vector<ConversationId> groups{world.group({b, a})};
    std::map<ConversationId, Intervals> covered;
    SyncQuery asked = query(a);
    for (int run = 0; run < 4; ++run) {
      world.next_round();  // the round that a page showed is over
      for (int i = *rc::gen::inRange(0, 15); i > 0; --i) happen(world, groups);
      const SyncPage got = page(world, asked);
      RC_ASSERT(complete(got));
      for (const Change& change : got.changes) {
        Intervals hidden;
        for (const Hidden& part : change.hidden) hidden.push_back({part.after, part.to});
        for (const Interval& part : minus(joined({change.covers}), hidden))
          covered[change.conversation].push_back(part);
      }
      asked.cursor = got.next;
    }
    for (const auto& [whose, seen] : world.all_seen()) {
      if (whose.first != a) continue;
      const Intervals coverage = joined(covered[whose.second]);
      RC_ASSERT(length_of(coverage) == seen.size());
      for (const Seq seq : seen) RC_ASSERT(holds(coverage, seq));
    }
  }));
}

}  // namespace
}  // namespace tidemark
