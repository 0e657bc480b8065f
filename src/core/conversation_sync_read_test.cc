#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/reads_test_world.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

Interval interval(std::uint64_t from, std::uint64_t to) {
  return {Seq(from), Seq(to)};
}

ConversationSyncQuery query(const UserId& user, const ConversationId& id, std::uint64_t after,
                            std::vector<Interval> known = {}) {
  ConversationSyncQuery made;
  made.user = user;
  made.conversation = id;
  made.after = Seq(after);
  made.known = std::move(known);
  return made;
}

ConversationPage page(ReadsWorld& world, const ConversationSyncQuery& asked) {
  const Result<ConversationPage> answer = read_conversation_sync(world.view, world.params, asked);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message());
  return answer.value_or(ConversationPage{});
}

TEST(Conformance, S16_a_backlog_of_120_comes_in_pages_that_chain) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 120; ++i) world.send(id, a);
  std::vector<std::size_t> sizes;
  std::vector<Seq> rows;
  Seq at;
  bool more = true;
  while (more) {
    const ConversationPage got = page(world, query(b, id, at.value));
    EXPECT_EQ(got.covers, (Interval{at, got.to}));
    EXPECT_EQ(got.head, Seq(120));
    EXPECT_EQ(got.as_of, Seq(120));
    EXPECT_TRUE(got.hidden.empty());
    sizes.push_back(got.messages.size());
    for (const Seq seq : seqs_of(got.messages)) rows.push_back(seq);
    at = got.to;
    more = got.more;
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{50, 50, 20}));
  EXPECT_EQ(rows, seqs(1, 120));
}

TEST(Conformance, S19_what_arrives_between_pages_comes_with_the_last) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 120; ++i) world.send(id, a);
  const ConversationPage second = page(world, query(b, id, 50));
  EXPECT_EQ(second.covers, interval(50, 100));
  for (int i = 0; i < 5; ++i) world.send(id, a);
  const ConversationPage third = page(world, query(b, id, second.to.value));
  EXPECT_EQ(seqs_of(third.messages), seqs(101, 125));
  EXPECT_EQ(third.to, Seq(125));
  EXPECT_EQ(third.head, Seq(125));
  EXPECT_FALSE(third.more);
}

TEST(Conformance, S25_huge_gap_newest_page_and_hole) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 90'000; ++i) world.send(id, a);
  const std::size_t read_before = world.view.entries_read();
  const ConversationPage got = page(world, query(b, id, 10, {interval(0, 10)}));
  EXPECT_LE(world.view.entries_read() - read_before, 51u);
  EXPECT_EQ(seqs_of(got.messages), seqs(89'951, 90'000));
  EXPECT_EQ(got.hole, interval(10, 89'950));
  EXPECT_EQ(got.covers, interval(89'950, 90'000));
  EXPECT_EQ(got.to, Seq(90'000));
  EXPECT_FALSE(got.more);

  // Scrolling up fills from the top, scrolling down from the bottom; they meet without a doubled row.
  HistoryQuery up{b, id, Seq(89'951), {}, {}, {}, 200};
  HistoryQuery down{b, id, {}, Seq(10), {}, {}, 200};
  std::set<Seq> filled;
  std::size_t rows = 0;
  Seq bottom(10), top(89'950);
  while (bottom < top) {
    const HistoryPage older = *read_history(world.view, world.params, up);
    for (const Entry& row : older.messages) filled.insert(row.seq);
    rows += older.messages.size();
    EXPECT_EQ(older.covers.to, top);
    top = older.covers.after;
    up.before = older.next_before;
    if (bottom >= top) break;
    down.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(200, top - bottom));
    const HistoryPage newer = *read_history(world.view, world.params, down);
    for (const Entry& row : newer.messages) filled.insert(row.seq);
    rows += newer.messages.size();
    EXPECT_EQ(newer.covers.after, bottom);
    bottom = newer.covers.to;
    down.after = newer.next_after;
    up.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(200, std::max<std::uint64_t>(1, top - bottom)));
  }
  EXPECT_EQ(rows, 89'940u);
  EXPECT_EQ(filled.size(), 89'940u);
}

TEST(ConversationSync, the_gap_is_filled_up_to_its_limit_and_left_as_a_hole_above) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 1'010; ++i) world.send(id, a);
  EXPECT_EQ(page(world, query(b, id, 10)).covers, interval(10, 60));
  EXPECT_EQ(page(world, query(b, id, 10)).hole, interval(0, 0));
  world.send(id, a);
  EXPECT_EQ(page(world, query(b, id, 10)).covers, interval(961, 1'011));
  EXPECT_EQ(page(world, query(b, id, 10)).hole, interval(10, 961));
}

TEST(ConversationSync, what_is_hidden_neither_counts_as_a_gap_nor_lies_in_the_hole) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 5'000; ++i) world.send(id, a);
  world.clear(b, id, Seq(4'980));
  ConversationPage got = page(world, query(b, id, 10));
  EXPECT_EQ(got.covers, interval(10, 5'000));
  EXPECT_EQ(seqs_of(got.messages), seqs(4'981, 5'000));
  EXPECT_EQ(got.hidden, (std::vector{Hidden{Seq(10), Seq(4'980), HiddenReason::cleared}}));
  EXPECT_EQ(got.floor, Seq(4'980));
  for (int i = 0; i < 2'000; ++i) world.send(id, a);
  got = page(world, query(b, id, 10));
  EXPECT_EQ(got.hole, interval(4'980, 6'950));
}

TEST(ConversationSync, rows_the_device_holds_unchanged_are_not_sent_again) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 10; ++i) world.send(id, a);
  Entry edited = *world.view.entry(id, Seq(6));
  edited.touched_by = Seq(9);
  edited.state = MessageState::edited;
  world.view.put_entry(id, edited);
  const ConversationPage got = page(world, query(b, id, 2, {interval(0, 2), interval(4, 7)}));
  EXPECT_EQ(seqs_of(got.messages), (std::vector{Seq(3), Seq(4), Seq(6), Seq(8), Seq(9), Seq(10)}));
  EXPECT_EQ(got.covers, interval(2, 10));
}

/// Follows touch pages to the last; the rows named by each.
std::vector<std::vector<Seq>> touch_pages(ReadsWorld& world, ConversationSyncQuery asked, ConversationPage* last) {
  std::vector<std::vector<Seq>> pages;
  for (;;) {
    *last = page(world, asked);
    pages.push_back(seqs_of(last->touched));
    if (!last->touch_cursor) return pages;
    EXPECT_TRUE(last->more && last->messages.empty() && last->touch_cursor > asked.touch_cursor);
    EXPECT_EQ(last->covers.after, last->covers.to);
    asked.touch_cursor = last->touch_cursor;
    asked.to = last->to;
  }
}

TEST(ConversationSync, changes_a_thousand_messages_back_come_without_the_history) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 1'000; ++i) world.send(id, a, "text");
  world.edit(id, Seq(3), "edited");
  world.recall(id, Seq(5));
  world.edit(id, Seq(3), "edited again");
  world.edit(id, Seq(900), "not held");
  const std::size_t before = world.view.entries_read();
  const ConversationPage got = page(world, query(b, id, 1'000, {interval(0, 10)}));
  EXPECT_LE(world.view.entries_read() - before, 10u);
  EXPECT_EQ(seqs_of(got.touched), (std::vector{Seq(5), Seq(3)}));
  EXPECT_EQ(got.touched[0].state, MessageState::recalled);
  EXPECT_EQ(got.touched[0].body, Body());
  EXPECT_EQ(got.touched[1].body.text, "edited again");
  EXPECT_EQ(got.touched[1].revision, Seq(1'003));
  EXPECT_EQ(seqs_of(got.messages), seqs(1'001, 1'004));
  EXPECT_EQ(got.to, Seq(1'004));
  EXPECT_EQ(got.touch_cursor, Seq());
  EXPECT_TRUE(page(world, query(b, id, 1'004, {interval(0, 10)})).touched.empty());
}

TEST(ConversationSync, touches_are_paged_and_the_new_rows_come_with_the_last_of_them) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 20; ++i) world.send(id, a);
  for (int i = 1; i <= 7; ++i) world.edit(id, Seq(i), "edited");
  world.send(id, a);
  ConversationSyncQuery asked = query(b, id, 20, {interval(0, 20)});
  asked.limit = 3;
  ConversationPage last;
  // Of the new rows (8 of them, one a message) a page of three messages takes all.
  EXPECT_EQ(touch_pages(world, asked, &last), (std::vector{seqs(1, 3), seqs(4, 6), seqs(7, 7)}));
  EXPECT_EQ(seqs_of(last.messages), seqs(21, 28));
  EXPECT_EQ(last.to, Seq(28));
  EXPECT_FALSE(last.more);

  // What changes meanwhile is no part of the run: its `to` was fixed by the first page.
  ConversationPage first = page(world, asked);
  world.edit(id, Seq(5), "once more");
  asked.touch_cursor = first.touch_cursor;
  asked.to = first.to;
  EXPECT_EQ(touch_pages(world, asked, &last), (std::vector<std::vector<Seq>>{{Seq(4), Seq(6), Seq(7)}}));
  EXPECT_EQ(last.to, Seq(28));
  EXPECT_TRUE(last.more);
  EXPECT_EQ(seqs_of(page(world, query(b, id, 28, {interval(0, 20)})).touched), (std::vector{Seq(5)}));
}

TEST(ConversationSync, a_page_of_touches_is_bounded_in_bytes) {
  ReadsWorld world;
  world.params.inline_bytes = 65'536;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 40; ++i) world.send(id, a);
  for (int i = 1; i <= 40; ++i) world.edit(id, Seq(i), std::string(65'536, 'x'));
  ConversationPage last;
  const auto pages = touch_pages(world, query(b, id, 40, {interval(0, 40)}), &last);
  EXPECT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].size(), 15u);
}

TEST(ConversationSync, a_touched_row_above_the_place_is_sent_once) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 10; ++i) world.send(id, a);
  world.edit(id, Seq(8), "edited");
  const ConversationPage got = page(world, query(b, id, 2, {interval(0, 2), interval(6, 10)}));
  EXPECT_EQ(seqs_of(got.messages), (std::vector{Seq(3), Seq(4), Seq(5), Seq(6), Seq(8), Seq(11)}));
  EXPECT_TRUE(got.touched.empty());
}

TEST(ConversationSync, a_known_row_in_the_hole_is_brought_up_to_date) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 2'000; ++i) world.send(id, a);
  world.recall(id, Seq(1'000));
  const ConversationPage got = page(world, query(b, id, 10, {interval(0, 10), interval(990, 1'010)}));
  EXPECT_EQ(got.hole, interval(10, 1'950));
  EXPECT_EQ(seqs_of(got.touched), (std::vector{Seq(1'000)}));
}

TEST(ConversationSync, a_touched_row_that_is_hidden_by_now_is_named_and_not_sent) {
  ReadsWorld world;
  const ConversationId id = world.group({a, b});
  for (int i = 0; i < 10; ++i) world.send(id, a);  // 3 to 12
  world.clear(b, id, Seq(5));
  world.edit(id, Seq(4), "secret");
  world.edit(id, Seq(6), "shown");
  ConversationPage got = page(world, query(b, id, 12, {interval(0, 12)}));
  EXPECT_EQ(seqs_of(got.touched), (std::vector{Seq(6)}));
  EXPECT_EQ(got.hidden, (std::vector{Hidden{Seq(3), Seq(4), HiddenReason::cleared}}));

  // A former member is told nothing of what lies outside his periods, whatever he claims to hold.
  const Seq leave = world.leave(id, b);
  world.send(id, a);
  const Seq later = world.edit(id, leave + 1, "not for b");
  UserConversation row = world.row_of(b, id);
  row.touch_seq = later;
  world.view.put_row(b, row);
  got = page(world, query(b, id, leave.value, {interval(0, 100)}));
  EXPECT_EQ(got.to, later);
  EXPECT_TRUE(got.touched.empty());
  EXPECT_TRUE(got.hidden.empty());
}

TEST(ConversationSync, a_device_that_is_ahead_gets_nothing) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 10; ++i) world.send(id, a);
  const ConversationPage level = page(world, query(b, id, 10));
  EXPECT_TRUE(level.messages.empty());
  EXPECT_EQ(level.to, Seq(10));
  EXPECT_EQ(level.covers, interval(10, 10));
  EXPECT_FALSE(level.more);
  const ConversationPage ahead = page(world, query(b, id, 500));
  EXPECT_TRUE(ahead.messages.empty());
  EXPECT_EQ(ahead.to, Seq(10));
  EXPECT_EQ(ahead.covers, interval(10, 10));
}

TEST(ConversationSync, a_former_member_reaches_his_leave_and_is_told_no_more) {
  ReadsWorld world;
  const ConversationId id = world.group({a, c});
  for (int i = 0; i < 3; ++i) world.send(id, a);
  const Seq leave = world.leave(id, c);
  for (int i = 0; i < 5; ++i) world.send(id, a);
  ConversationPage got = page(world, query(c, id, 3));
  EXPECT_EQ(seqs_of(got.messages), seqs(4, leave.value));
  EXPECT_EQ(got.to, leave);
  EXPECT_EQ(got.head, leave);
  EXPECT_EQ(got.as_of, leave);
  // A later recall of a message he may see moves his touch_seq; `touched` can follow it.
  UserConversation row = world.row_of(c, id);
  row.touch_seq = Seq(leave.value + 2);
  world.view.put_row(c, row);
  got = page(world, query(c, id, leave.value));
  EXPECT_EQ(got.to, Seq(leave.value + 2));
  EXPECT_EQ(got.covers, (Interval{leave, leave}));
}

TEST(ConversationSync, refusals_name_the_field) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  const auto refused = [&](const ConversationSyncQuery& asked) {
    const auto answer = read_conversation_sync(world.view, world.params, asked);
    return answer ? Error{} : answer.error();
  };
  EXPECT_EQ(refused(query(c, id, 0)).code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(refused(query(c, id, 0)), refused(query(c, ConversationId("c_zoe"), 0)));
  ConversationSyncQuery large = query(a, id, 0);
  large.limit = 201;
  EXPECT_EQ(refused(large).code, ErrorCode::OUT_OF_RANGE);
  EXPECT_EQ(refused(large).field, "limit");
}

TEST(ConversationSync, known_ranges_are_at_most_64_and_none_is_empty) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  const auto verdict = [&](std::vector<Interval> known) {
    const auto answer = read_conversation_sync(world.view, world.params, query(a, id, 0, std::move(known)));
    if (answer) return std::string("taken");
    return std::string(error_info(answer.error().code).name) + " " + answer.error().field;
  };
  EXPECT_EQ(verdict(std::vector<Interval>(64, interval(3, 5))), "taken");
  EXPECT_EQ(verdict(std::vector<Interval>(65, interval(3, 5))), "LIMIT_REACHED known");
  EXPECT_EQ(verdict({interval(5, 3)}), "OUT_OF_RANGE known");
  EXPECT_EQ(verdict({interval(3, 3)}), "OUT_OF_RANGE known");
}

TEST(Conformance, S28_the_same_question_has_the_same_answer) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 70; ++i) world.send(id, a);
  const ConversationPage once = page(world, query(b, id, 5));
  const UserConversation row = world.row_of(b, id);
  const ConversationPage again = page(world, query(b, id, 5));
  EXPECT_EQ(once.messages, again.messages);
  EXPECT_EQ(once.covers, again.covers);
  EXPECT_EQ(once.to, again.to);
  EXPECT_EQ(world.row_of(b, id), row);
}

TEST(ConversationSync, following_the_pages_and_the_hole_gives_every_visible_row_once) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    world.params.hole_above = 20;
    const ConversationId id = world.group({a, b});
    const int steps = *rc::gen::inRange(0, 70);
    for (int i = 0; i < steps; ++i) {
      const bool member = world.view.conversation(id)->member(b);
      const int what = *rc::gen::inRange(0, 12);
      if (what == 0 && member) world.leave(id, b);
      if (what == 1 && !member) world.join(id, b, *rc::gen::element(Seq(), Seq(1)));
      if (what == 2) world.rename(id, "title");
      if (what == 3 && member) world.clear(b, id, Seq(*rc::gen::inRange<std::uint64_t>(0, 30)));
      if (what > 3) world.send(id, a);
    }
    const Seq start(*rc::gen::inRange<std::uint64_t>(0, world.view.line(id).seq.value + 1));
    std::vector<Seq> got;
    std::vector<Interval> holes;
    ConversationSyncQuery asked = query(b, id, start.value);
    asked.limit = *rc::gen::inRange<std::uint32_t>(1, 10);
    for (bool more = true; more;) {
      const ConversationPage part = page(world, asked);
      for (const Seq seq : seqs_of(part.messages)) got.push_back(seq);
      if (part.hole.to > part.hole.after) holes.push_back(part.hole);
      RC_ASSERT(!part.more || part.to > asked.after);
      asked.after = part.to;
      more = part.more;
    }
    for (const Interval& hole : holes) {
      const Result<HistoryPage> filled = read_history(world.view, world.params, {b, id, {}, hole.after, {}, {}, 200});
      for (const Entry& row : filled->messages)
        if (row.seq <= hole.to) got.push_back(row.seq);
    }
    std::ranges::sort(got);
    std::vector<Seq> expected;
    for (const Seq seq : world.seen(b, id))
      if (seq > start) expected.push_back(seq);
    RC_ASSERT(got == expected);
  }));
}

}  // namespace
}  // namespace tidemark
