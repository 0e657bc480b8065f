#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/reads_test_world.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

HistoryQuery query(const UserId& user, const ConversationId& id, std::uint32_t limit = 0) {
  HistoryQuery made;
  made.user = user;
  made.conversation = id;
  made.limit = limit;
  return made;
}
HistoryQuery before(HistoryQuery made, std::uint64_t seq) {
  made.before = Seq(seq);
  return made;
}
HistoryQuery after(HistoryQuery made, std::uint64_t seq) {
  made.after = Seq(seq);
  return made;
}

HistoryPage page(ReadsWorld& world, const HistoryQuery& asked) {
  const Result<HistoryPage> answer = read_history(world.view, world.params, asked);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message());
  return answer.value_or(HistoryPage{});
}

Error refusal(ReadsWorld& world, const HistoryQuery& asked) {
  const Result<HistoryPage> answer = read_history(world.view, world.params, asked);
  EXPECT_FALSE(answer);
  return answer ? Error{} : answer.error();
}

Interval interval(std::uint64_t from, std::uint64_t to) {
  return {Seq(from), Seq(to)};
}
Hidden by_period(std::uint64_t from, std::uint64_t to) {
  return {Seq(from), Seq(to), HiddenReason::period};
}

struct Walk {
  std::vector<Seq> rows;  // ascending
  int pages = 0;
};

/// All pages from one end to the other; checks that they chain.
Walk walk(ReadsWorld& world, const UserId& user, const ConversationId& id, std::uint32_t limit, Direction direction) {
  Walk walked;
  HistoryQuery asked = query(user, id, limit);
  if (direction == Direction::up) asked.after = Seq(0);
  std::optional<Interval> last;
  while (walked.pages < 10'000) {
    const HistoryPage got = page(world, asked);
    ++walked.pages;
    std::size_t countable = 0;
    for (const Entry& row : got.messages) {
      countable += row.countable() ? 1 : 0;
      EXPECT_TRUE(got.covers.after < row.seq && row.seq <= got.covers.to);
    }
    EXPECT_LE(countable, limit);
    std::vector<Seq> rows = seqs_of(got.messages);
    if (direction == Direction::down) {
      if (last) EXPECT_EQ(got.covers.to, last->after);
      walked.rows.insert(walked.rows.begin(), rows.begin(), rows.end());
      asked.before = got.next_before;
    } else {
      if (last) EXPECT_EQ(got.covers.after, last->to);
      walked.rows.insert(walked.rows.end(), rows.begin(), rows.end());
      asked.after = got.next_after;
    }
    last = got.covers;
    EXPECT_EQ(got.end, !got.next_before && !got.next_after);
    if (got.end) return walked;
    EXPECT_FALSE(rows.empty()) << "every page moves";
  }
  ADD_FAILURE() << "the walk does not end";
  return walked;
}

TEST(Conformance, F13_a_burst_in_one_millisecond_pages_whole_in_both_directions) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 20; ++i) world.send(id, a, "before", 1'000 + i);
  for (int i = 0; i < 60; ++i) world.send(id, i % 2 ? a : b, "burst", 2'000);
  for (int i = 0; i < 20; ++i) world.send(id, b, "later", 3'000 + i);
  for (const std::uint32_t size : {1u, 7u, 20u, 59u, 60u, 61u})
    for (const Direction direction : {Direction::up, Direction::down})
      EXPECT_EQ(walk(world, a, id, size, direction).rows, seqs(1, 100)) << size;
}

TEST(Conformance, F14_walks_end_and_bad_arguments_are_refused) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 103; ++i) world.send(id, a);
  for (const Direction direction : {Direction::up, Direction::down}) {
    const Walk walked = walk(world, b, id, 50, direction);
    EXPECT_EQ(walked.pages, 3);
    EXPECT_EQ(walked.rows, seqs(1, 103));
  }
  EXPECT_EQ(page(world, query(b, id, 0)).messages.size(), world.params.page_default);
  EXPECT_EQ(seqs_of(page(world, query(b, id, 1)).messages), seqs(103, 103));
  for (const std::uint32_t limit : {201u, 1'000'000'000u, 0xffff'ffffu}) {
    const Error error = refusal(world, query(b, id, limit));
    EXPECT_EQ(error.code, ErrorCode::OUT_OF_RANGE);
    EXPECT_EQ(error.field, "limit");
    EXPECT_EQ(error.detail, "1 to 200.");
  }
  const HistoryPage beyond = page(world, after(query(b, id), 5'000));
  EXPECT_TRUE(beyond.messages.empty());
  EXPECT_TRUE(beyond.end);
  EXPECT_EQ(beyond.covers, interval(103, 103));
  EXPECT_EQ(seqs_of(page(world, before(query(b, id), 5'000)).messages), seqs(54, 103));
  EXPECT_EQ(seqs_of(page(world, before(query(b, id), ~0ull)).messages), seqs(54, 103));
  EXPECT_TRUE(page(world, before(query(b, id), 1)).end);
  EXPECT_TRUE(page(world, before(query(b, id), 0)).messages.empty());
  EXPECT_EQ(refusal(world, query(c, id)).code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(refusal(world, query(c, id)), refusal(world, query(c, ConversationId("8_9"))));
}

TEST(History, a_page_of_exactly_all_rows_is_the_end) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 100; ++i) world.send(id, a);
  EXPECT_EQ(walk(world, a, id, 50, Direction::down).pages, 2);
  EXPECT_EQ(walk(world, a, id, 100, Direction::up).pages, 1);
}

TEST(History, only_one_start_can_be_given) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  HistoryQuery two = before(query(a, id), 5);
  two.after = Seq(3);
  EXPECT_EQ(refusal(world, two), (Error{ErrorCode::MALFORMED, "after", refusal(world, two).detail}));
  HistoryQuery timed = query(a, id);
  timed.at = 5;
  timed.around = Seq(1);
  EXPECT_EQ(refusal(world, timed).field, "at");
}

TEST(History, around_gives_half_before_and_half_from_the_place_on) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 100; ++i) world.send(id, a, "x", 1'000 + 10 * i);
  HistoryQuery asked = query(a, id, 10);
  asked.around = Seq(50);
  HistoryPage got = page(world, asked);
  EXPECT_EQ(seqs_of(got.messages), seqs(45, 54));
  EXPECT_EQ(got.covers, interval(44, 54));
  EXPECT_FALSE(got.end);
  EXPECT_EQ(got.next_before, Seq(45));
  EXPECT_EQ(got.next_after, Seq(54));

  asked.around = Seq(3);
  got = page(world, asked);
  EXPECT_EQ(seqs_of(got.messages), seqs(1, 7));
  EXPECT_EQ(got.covers, interval(0, 7));
  EXPECT_TRUE(got.end);
  EXPECT_FALSE(got.next_before);

  asked.around = Seq(98);
  got = page(world, asked);
  EXPECT_EQ(seqs_of(got.messages), seqs(93, 100));
  EXPECT_FALSE(got.next_after);

  asked.limit = 1;
  asked.around = Seq(50);
  got = page(world, asked);
  EXPECT_EQ(seqs_of(got.messages), seqs(50, 50));
  EXPECT_EQ(got.next_before, Seq(50));
  EXPECT_EQ(got.next_after, Seq(50));

  for (const std::uint64_t far : {101ull, 5'000ull, ~0ull}) {
    asked.limit = 10;
    asked.around = Seq(far);
    EXPECT_EQ(seqs_of(page(world, asked).messages), seqs(96, 100)) << far;
  }
}

TEST(History, at_finds_the_first_row_not_before_the_time) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 30; ++i) world.send(id, a, "x", 1'000 + 10 * (i / 3));  // three rows share a time
  const auto first_newer = [&](std::int64_t at) {
    HistoryQuery asked = query(a, id, 2);
    asked.at = at;
    const HistoryPage got = page(world, asked);
    return got.messages.back().seq;
  };
  EXPECT_EQ(first_newer(-5), Seq(1));
  EXPECT_EQ(first_newer(1'000), Seq(1));
  EXPECT_EQ(first_newer(1'001), Seq(4));
  EXPECT_EQ(first_newer(1'010), Seq(4));
  EXPECT_EQ(first_newer(1'090), Seq(28));
  EXPECT_EQ(first_newer(9'999), Seq(30));  // behind the last: the older half alone
  const std::size_t before_search = world.view.entries_read();
  first_newer(1'050);
  EXPECT_LE(world.view.entries_read() - before_search, 12u);
}

TEST(History, at_works_across_a_hole_of_the_numbers) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 3; ++i) world.send(id, a, "x", 1'000);
  Entry jumped = *world.view.entry(id, Seq(3));
  jumped.seq = jumped.top = Seq((1ull << 32) + 4);
  jumped.server_time = 2'000;
  world.view.put_entry(id, jumped);
  HistoryQuery asked = query(a, id, 2);
  asked.at = 1'500;
  EXPECT_EQ(seqs_of(page(world, asked).messages), (std::vector{Seq(3), jumped.seq}));
  EXPECT_EQ(walk(world, a, id, 2, Direction::down).rows.size(), 4u);
}

TEST(Conformance, S84_a_newcomer_sees_from_his_join_on) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  for (int i = 0; i < 99; ++i) world.send(id, a);
  ASSERT_EQ(world.join(id, c), Seq(101));
  ASSERT_EQ(world.send(id, a), Seq(102));
  const HistoryPage got = page(world, before(query(c, id), 102));
  EXPECT_EQ(seqs_of(got.messages), seqs(101, 101));
  EXPECT_TRUE(got.end);
  EXPECT_EQ(got.covers, interval(0, 101));
  EXPECT_EQ(got.hidden, std::vector{by_period(0, 100)});
  EXPECT_EQ(seqs_of(page(world, query(c, id)).messages), seqs(101, 102));
  const Result<Change> change = read_change(world.view, world.params, c, id);
  EXPECT_EQ(change->unread, (Unread{1, true}));
  EXPECT_EQ(change->preview.seq, Seq(102));
}

TEST(Conformance, S85_a_newcomer_sees_the_last_n_by_policy) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  for (int i = 0; i < 99; ++i) world.send(id, a);
  world.join(id, c, Seq(81));
  world.send(id, a);
  EXPECT_EQ(seqs_of(page(world, query(c, id)).messages), seqs(81, 102));
}

TEST(Conformance, S86_a_join_and_a_message_in_either_order_agree_on_every_read_path) {
  for (const bool join_first : {true, false}) {
    ReadsWorld world;
    const ConversationId id = world.group({a});
    if (join_first) world.join(id, c);
    const Seq message = world.send(id, a);
    if (!join_first) world.join(id, c);
    const bool sees = message > world.row_of(c, id).periods.front().join;
    EXPECT_EQ(sees, join_first);
    const std::vector<Seq> rows = seqs_of(page(world, query(c, id)).messages);
    EXPECT_EQ(std::ranges::count(rows, message), sees);
    EXPECT_EQ(read_message(world.view, c, id, message).has_value(), sees);
    const Result<Change> change = read_change(world.view, world.params, c, id);
    EXPECT_EQ(change->unread.count, sees ? 1u : 0u);
    EXPECT_EQ(change->preview.seq == message, sees);
  }
}

TEST(Conformance, S87_the_removed_one_has_his_last_message_and_his_removal_and_nothing_later) {
  ReadsWorld world;
  const ConversationId id = world.group({a, c});
  while (world.view.line(id).seq < Seq(50)) world.send(id, a);
  ASSERT_EQ(world.leave(id, c), Seq(51));
  for (int i = 0; i < 9; ++i) world.send(id, a);
  const HistoryPage got = page(world, query(c, id, 3));
  EXPECT_EQ(seqs_of(got.messages), seqs(48, 51));
  EXPECT_EQ(got.covers.to, Seq(51));
  EXPECT_EQ(got.as_of, Seq(51)) << "how the log went on is not told";
  EXPECT_TRUE(page(world, after(query(c, id), 51)).messages.empty());
  EXPECT_TRUE(read_message(world.view, c, id, Seq(51)));
  EXPECT_EQ(read_message(world.view, c, id, Seq(52)).error().code, ErrorCode::MESSAGE_NOT_FOUND);
}

TEST(Conformance, S88_pages_over_two_periods_name_what_is_hidden) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  while (world.view.line(id).seq < Seq(9)) world.send(id, a);
  ASSERT_EQ(world.join(id, c), Seq(10));
  while (world.view.line(id).seq < Seq(49)) world.send(id, a);
  ASSERT_EQ(world.leave(id, c), Seq(50));
  while (world.view.line(id).seq < Seq(79)) world.send(id, a);
  ASSERT_EQ(world.join(id, c), Seq(80));
  while (world.view.line(id).seq < Seq(85)) world.send(id, a);
  std::vector<Seq> expected = seqs(10, 50);
  for (const Seq seq : seqs(80, 85)) expected.push_back(seq);
  for (const HistoryPage& got : {page(world, before(query(c, id), 86)), page(world, after(query(c, id), 0))}) {
    EXPECT_EQ(seqs_of(got.messages), expected);
    EXPECT_EQ(got.covers, interval(0, 85));
    EXPECT_EQ(got.hidden, (std::vector{by_period(0, 9), by_period(50, 79)}));
    EXPECT_TRUE(got.end);
  }
  EXPECT_EQ(walk(world, c, id, 3, Direction::down).rows, expected);
  EXPECT_EQ(walk(world, c, id, 3, Direction::up).rows, expected);
}

TEST(History, what_is_hidden_between_periods_costs_no_read) {
  ReadsWorld world;
  const ConversationId id = world.group({a, c});
  world.leave(id, c);
  for (int i = 0; i < 5'000; ++i) world.send(id, a);
  world.join(id, c);
  const std::size_t before_page = world.view.entries_read();
  EXPECT_EQ(page(world, query(c, id)).messages.size(), 3u);
  EXPECT_LE(world.view.entries_read() - before_page, 3u);
}

TEST(History, rows_that_are_no_messages_come_along_without_counting) {
  ReadsWorld world;
  const ConversationId id = world.group({a, b});
  for (int i = 0; i < 5; ++i) world.send(id, a);
  for (int i = 0; i < 30; ++i) world.rename(id, "title");
  const HistoryPage got = page(world, query(a, id, 2));
  EXPECT_EQ(got.messages.size(), 8u) << "at most four rows a message";
  EXPECT_EQ(seqs_of(page(world, after(query(a, id, 2), 2)).messages), seqs(3, 4));
  EXPECT_EQ(walk(world, a, id, 2, Direction::down).rows, seqs(1, 37));
  EXPECT_EQ(walk(world, a, id, 2, Direction::up).rows, seqs(1, 37));
}

TEST(History, long_bodies_come_as_their_front) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 60; ++i) world.send(id, a, std::string(65'536, 'x'));
  const HistoryPage got = page(world, query(b, id, 50));
  ASSERT_EQ(got.messages.size(), 50u);
  EXPECT_EQ(got.messages[0].body.text, std::string(1'024, 'x'));
  EXPECT_EQ(got.messages[0].body.cut->size_bytes, 65'536u);
  EXPECT_EQ(read_message(world.view, b, id, Seq(1))->body.text.size(), 65'536u);
  EXPECT_EQ(read_body(world.view, b, id, Seq(1))->body.text.size(), 65'536u);
}

TEST(History, large_bodies_make_short_pages_that_go_on) {
  ReadsWorld world;
  world.params.inline_bytes = 65'536;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 60; ++i) world.send(id, a, std::string(65'536, 'x'));
  const HistoryPage got = page(world, query(a, id, 50));
  EXPECT_LT(got.messages.size(), 17u);
  EXPECT_FALSE(got.end);
  EXPECT_EQ(walk(world, a, id, 50, Direction::down).rows, seqs(1, 60));
}

TEST(History, a_dead_row_is_a_marker) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  world.send(id, a, "secret", 77);
  world.recall(id, Seq(1));
  for (const Entry& row : {page(world, query(b, id)).messages.front(), *read_message(world.view, b, id, Seq(1))}) {
    EXPECT_EQ(row.state, MessageState::recalled);
    EXPECT_EQ(row.body, Body());
    EXPECT_EQ(row.sender, a);
    EXPECT_EQ(row.server_time, 77);
  }
  const Preview preview = read_change(world.view, world.params, b, id)->preview;
  EXPECT_EQ(preview.seq, Seq(1));
  EXPECT_EQ(preview.state, MessageState::recalled);
  EXPECT_EQ(preview.text, "");
}

TEST(History, client_ids_are_shown_to_their_sender_alone) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  world.send(id, a);
  EXPECT_EQ(page(world, query(a, id)).messages.front().client_msg_id, "m1");
  EXPECT_EQ(page(world, query(b, id)).messages.front().client_msg_id, "");
  EXPECT_EQ(read_message(world.view, a, id, Seq(1))->client_msg_id, "m1");
  EXPECT_EQ(read_message(world.view, b, id, Seq(1))->client_msg_id, "");
}

TEST(History, single_rows_of_others_are_as_unknown_as_those_that_do_not_exist) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  world.send(id, a);
  const Error foreign = read_message(world.view, c, id, Seq(1)).error();
  EXPECT_EQ(foreign.code, ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_EQ(foreign, read_message(world.view, a, id, Seq(2)).error());
  EXPECT_EQ(foreign, read_message(world.view, a, id, Seq(0)).error());
  EXPECT_EQ(foreign, read_message(world.view, a, ConversationId("nonsense"), Seq(1)).error());
  world.clear(a, id, Seq(1));
  EXPECT_EQ(foreign, read_message(world.view, a, id, Seq(1)).error());
}

TEST(History, a_read_that_fails_makes_the_answer_the_failure) {
  for (std::size_t step = 1; step <= 4; ++step) {
    ReadsWorld world;
    const ConversationId id = world.single(a, b);
    for (int i = 0; i < 5; ++i) world.send(id, a);
    world.view.fail_at(step);
    HistoryQuery asked = query(a, id);
    asked.at = 3;
    EXPECT_EQ(refusal(world, asked).code, ErrorCode::RETRY_LATER) << step;
  }
}

/// Something happens in a group with a, b and c.
void happen(ReadsWorld& world, const ConversationId& id) {
  const UserId user = *rc::gen::element(b, c);
  const bool member = world.view.conversation(id)->member(user);
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      if (member) world.leave(id, user);
      break;
    case 1:
      if (!member) world.join(id, user, Seq(*rc::gen::inRange<std::uint64_t>(0, 3) * 3));
      break;
    case 2:
      world.rename(id, "title");
      break;
    case 3:
      if (member) world.clear(user, id, Seq(*rc::gen::inRange<std::uint64_t>(0, world.view.line(id).seq.value)));
      break;
    default:
      world.send(id, member ? user : a);
  }
}

TEST(History, I15_pages_of_any_size_return_every_visible_row_once) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const ConversationId id = world.group({a, b});
    const int steps = *rc::gen::inRange(0, 60);
    for (int i = 0; i < steps; ++i) happen(world, id);
    for (const UserId& user : {a, b, c}) {
      if (!world.view.user_conversation(user, id)) continue;
      const std::vector<Seq> expected(world.seen(user, id).begin(), world.seen(user, id).end());
      const auto size = *rc::gen::inRange<std::uint32_t>(1, 12);
      RC_ASSERT(walk(world, user, id, size, Direction::up).rows == expected);
      RC_ASSERT(walk(world, user, id, size, Direction::down).rows == expected);
    }
  }));
}

TEST(History, I15_a_walk_back_is_not_disturbed_by_what_arrives) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const ConversationId id = world.group({a, b});
    for (int i = 0; i < 40; ++i) world.send(id, *rc::gen::element(a, b));
    const std::vector<Seq> expected(world.seen(b, id).begin(), world.seen(b, id).end());
    HistoryQuery asked = query(b, id, *rc::gen::inRange<std::uint32_t>(1, 15));
    std::vector<Seq> got;
    while (true) {
      const HistoryPage part = page(world, asked);
      const std::vector<Seq> rows = seqs_of(part.messages);
      got.insert(got.begin(), rows.begin(), rows.end());
      if (part.end) break;
      asked.before = part.next_before;
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) world.send(id, a);
    }
    RC_ASSERT(got == expected);
  }));
}

}  // namespace
}  // namespace tidemark
