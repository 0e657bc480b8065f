#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/reads_test_world.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

SyncQuery query(const UserId& user, const Cursor& cursor = {}) {
  SyncQuery made;
  made.user = user;
  made.cursor = cursor;
  return made;
}

SyncPage page(ReadsWorld& world, const SyncQuery& asked) {
  const Result<SyncPage> answer = read_sync(world.view, world.params, asked);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message() + " " + answer.error().field);
  return answer.value_or(SyncPage{});
}

Error refusal(ReadsWorld& world, const SyncQuery& asked) {
  const Result<SyncPage> answer = read_sync(world.view, world.params, asked);
  EXPECT_FALSE(answer);
  return answer ? Error{} : answer.error();
}

/// The question for the page below this one.
SyncQuery next_of(SyncQuery asked, const SyncPage& got) {
  asked.p0 = got.p0;
  asked.p0_round = got.p0_round;
  asked.below = got.after;
  return asked;
}

bool reached(const SyncQuery& asked, const SyncPage& got) {
  return got.after == (got.mode == Mode::delta ? asked.cursor.mark : Mark());
}

TEST(Conformance, S16_a_backlog_in_one_chat_is_one_changed_object) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 40; ++i) world.send(id, a);
  world.read(b, id, Seq(40));
  const Cursor cursor = world.cursor_of(b);
  for (int i = 0; i < 120; ++i) world.send(id, a);
  EXPECT_EQ(mode_of(world.view, cursor, world.view.user(b)), Mode::delta);
  const SyncPage got = page(world, query(b, cursor));
  EXPECT_EQ(got.mode, Mode::delta);
  ASSERT_EQ(got.changes.size(), 1u);
  EXPECT_EQ(got.changes[0].conversation, id);
  EXPECT_EQ(got.changes[0].head_seq, Seq(160));
  EXPECT_EQ(got.changes[0].unread, (Unread{120, true}));
  EXPECT_TRUE(got.changes[0].messages.empty());
  EXPECT_EQ(got.after, cursor.mark);
  EXPECT_EQ(got.to, world.head_of(b));
  EXPECT_FALSE(got.more);
  EXPECT_EQ(got.next, world.cursor_of(b));
}

TEST(Conformance, S20_three_changed_of_five_thousand_cost_three) {
  ReadsWorld world;
  for (int i = 0; i < 5'000; ++i) world.send(world.single(a, UserId("u" + std::to_string(i))), a);
  for (const char* name : {"theme", "sound", "language"}) world.set(a, name, "1");
  const Cursor cursor = world.cursor_of(a);
  for (const char* peer : {"u17", "u4000", "u999"}) world.send(world.single(a, UserId(peer)), UserId(peer));
  world.set(a, "sound", "2");
  const std::size_t before = world.view.rows_read();
  const SyncPage got = page(world, query(a, cursor));
  EXPECT_LE(world.view.rows_read() - before, 3u);
  EXPECT_EQ(got.mode, Mode::delta);
  ASSERT_EQ(got.changes.size(), 3u);
  EXPECT_EQ(got.changes[0].peer, UserId("u999"));
  EXPECT_EQ(got.changes[1].peer, UserId("u4000"));
  EXPECT_EQ(got.changes[2].peer, UserId("u17"));
  ASSERT_EQ(got.objects.size(), 1u) << "the setting that changed, and none of the others";
  EXPECT_EQ(got.objects[0], (UserObject{Setting{"sound", "2"}, world.head_of(a)}));
  EXPECT_FALSE(got.more);
}

TEST(Conformance, S21_an_empty_delta_covers_nothing_and_is_complete) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 40; ++i) world.send(id, a);
  for (const Bodies bodies : {Bodies::none, Bodies::all}) {
    SyncQuery asked = query(b, world.cursor_of(b));
    asked.bodies = bodies;
    const SyncPage got = page(world, asked);
    EXPECT_EQ(got.mode, Mode::delta);
    EXPECT_TRUE(got.changes.empty());
    EXPECT_EQ(got.after, Mark(40));
    EXPECT_EQ(got.to, Mark(40));
    EXPECT_FALSE(got.more);
    EXPECT_EQ(got.next, asked.cursor);
  }
}

TEST(Conformance, S28_the_same_sync_has_the_same_answer_and_changes_nothing) {
  ReadsWorld world;
  for (int i = 0; i < 9; ++i) world.send(world.single(a, UserId("u" + std::to_string(i))), a);
  SyncQuery asked = query(a);
  asked.limit = 4;
  asked.bodies = Bodies::recent;
  asked.recent = 3;
  const Mark head = world.head_of(a);
  const SyncPage once = page(world, asked), again = page(world, asked);
  EXPECT_EQ(once.changes, again.changes);
  EXPECT_EQ(once.after, again.after);
  EXPECT_EQ(once.next, again.next);
  EXPECT_EQ(world.head_of(a), head);
}

TEST(Sync, a_user_without_an_index_is_level) {
  ReadsWorld world;
  for (const Bodies bodies : {Bodies::none, Bodies::all}) {
    SyncQuery asked = query(UserId("nobody"));
    asked.bodies = bodies;
    const SyncPage got = page(world, asked);
    EXPECT_TRUE(got.changes.empty());
    EXPECT_FALSE(got.more);
    EXPECT_EQ(got.head, Mark(0));
    EXPECT_FALSE(got.next.empty());
    asked.cursor = got.next;
    EXPECT_EQ(page(world, asked).mode, Mode::delta);
  }
}

TEST(Sync, the_mode_tells_what_a_cursor_is_worth) {
  TestView view;
  const Epoch epoch{3, 77};
  view.set_epoch(epoch);
  view.set_lineage({{1, 5}, {2, 77}});
  UserHead head;
  head.mark = Mark(9);
  const auto mode = [&](const Cursor& cursor) { return mode_of(view, cursor, head); };
  EXPECT_EQ(mode({}), Mode::delta);
  EXPECT_EQ(mode({epoch, Mark(9), 1}), Mode::delta);
  EXPECT_EQ(mode({epoch, Mark(0), 1}), Mode::delta);
  EXPECT_EQ(mode({epoch, Mark(10), 1}), Mode::reset);
  EXPECT_EQ(mode({{2, 77}, Mark(5), 1}), Mode::rollback);
  EXPECT_EQ(mode({{1, 5}, Mark(50), 1}), Mode::rollback);
  // Of a store that is none of its forebears.
  EXPECT_EQ(mode({{3, 78}, Mark(5), 1}), Mode::reset);
  EXPECT_EQ(mode({{4, 1}, Mark(50), 1}), Mode::reset);
  EXPECT_EQ(mode({{0, 0}, Mark(5), 1}), Mode::reset);
}

TEST(Sync, a_cursor_that_is_worth_nothing_is_answered_from_the_start) {
  ReadsWorld world;
  world.view.set_epoch({2, 5});
  world.view.set_lineage({{1, 4}});
  for (int i = 0; i < 5; ++i) world.send(world.single(a, UserId("u" + std::to_string(i))), a);
  const SyncPage fresh = page(world, query(a));
  for (const Cursor& cursor : {Cursor{{2, 5}, Mark(900), 1}, Cursor{{1, 4}, Mark(3), 1}, Cursor{{2, 5}, Mark(3), 99}}) {
    SyncQuery asked = query(a, cursor);
    SyncPage got = page(world, asked);
    EXPECT_EQ(got.mode, cursor.epoch.number == 2 ? Mode::reset : Mode::rollback);
    EXPECT_EQ(got.changes, fresh.changes);
    EXPECT_EQ(got.after, Mark(0));
    EXPECT_EQ(got.next, world.cursor_of(a));
    asked.limit = 2;  // and so are the pages that go on
    got = page(world, next_of(asked, page(world, asked)));
    EXPECT_NE(got.mode, Mode::delta);
    ASSERT_EQ(got.changes.size(), 2u);
    EXPECT_EQ(got.changes[0], fresh.changes[2]);
  }
}

TEST(Sync, arguments_that_contradict_each_other_are_refused_with_their_field) {
  ReadsWorld world;
  world.next_round();
  for (int i = 0; i < 9; ++i) world.send(world.single(a, UserId("u" + std::to_string(i))), a);
  const auto field = [&](auto change) {
    SyncQuery asked = query(a, {world.view.epoch(), Mark(4), 1});
    asked.p0 = Mark(8);
    asked.p0_round = 2;
    change(asked);
    const Error error = refusal(world, asked);
    EXPECT_EQ(error.code, ErrorCode::OUT_OF_RANGE);
    return error.field;
  };
  EXPECT_EQ(field([](SyncQuery& q) { q.p0 = Mark(10); }), "p0");
  EXPECT_EQ(field([](SyncQuery& q) { q.p0 = Mark(3); }), "p0");
  EXPECT_EQ(field([](SyncQuery& q) { q.p0 = Mark(0), q.below = Mark(5); }), "below");
  EXPECT_EQ(field([](SyncQuery& q) { q.below = Mark(9); }), "below");
  EXPECT_EQ(field([](SyncQuery& q) { q.below = Mark(3); }), "below");
  EXPECT_EQ(field([](SyncQuery& q) { q.p0_round = 3; }), "p0_round");
  EXPECT_EQ(field([](SyncQuery& q) { q.p0_round = 0; }), "p0_round");
  EXPECT_EQ(field([](SyncQuery& q) { q.limit = 201; }), "limit");
  EXPECT_EQ(field([](SyncQuery& q) { q.byte_budget = 1'048'577; }), "byte_budget");
  EXPECT_EQ(field([](SyncQuery& q) { q.bodies = Bodies::recent; }), "recent");
  EXPECT_EQ(field([](SyncQuery& q) { q.bodies = Bodies::recent, q.recent = 51; }), "recent");
}

TEST(Sync, recent_gives_the_newest_rows_with_what_they_cover) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  for (int i = 0; i < 9; ++i) world.send(id, a);
  world.join(id, c);
  for (int i = 0; i < 3; ++i) world.send(id, a);
  SyncQuery asked = query(c);
  asked.bodies = Bodies::recent;
  asked.recent = 2;
  Change got = page(world, asked).changes.at(0);
  EXPECT_EQ(seqs_of(got.messages), seqs(13, 14));
  EXPECT_EQ(got.covers, (Interval{Seq(12), Seq(14)}));
  EXPECT_TRUE(got.hidden.empty());
  EXPECT_EQ(got.messages[0].client_msg_id, "");
  asked.recent = 50;
  got = page(world, asked).changes.at(0);
  EXPECT_EQ(seqs_of(got.messages), seqs(11, 14));
  EXPECT_EQ(got.covers, (Interval{Seq(0), Seq(14)}));
  EXPECT_EQ(got.hidden, (std::vector{Hidden{Seq(0), Seq(10), HiddenReason::period}}));
}

TEST(Sync, bodies_end_a_page_at_the_budget_but_never_before_one_object) {
  ReadsWorld world;
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 3; ++k)
      world.send(world.single(a, UserId("u" + std::to_string(i))), a, std::string(1'000, 'x'));
  SyncQuery asked = query(a);
  asked.bodies = Bodies::recent;
  asked.recent = 50;
  const auto pages = [&](std::uint64_t budget) {
    asked.byte_budget = budget;
    std::vector<std::size_t> sizes;
    SyncQuery step = asked;
    for (bool done = false; !done;) {
      const SyncPage got = page(world, step);
      sizes.push_back(got.changes.size());
      done = reached(step, got);
      step = next_of(step, got);
    }
    return sizes;
  };
  EXPECT_EQ(pages(7'000), (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_EQ(pages(10'000), (std::vector<std::size_t>{3, 3}));
  EXPECT_EQ(pages(10), (std::vector<std::size_t>(6, 1)));
  asked.byte_budget = 2'100;  // one object alone is cut to it, and says what it covers
  const Change cut = page(world, asked).changes.at(0);
  EXPECT_EQ(seqs_of(cut.messages), seqs(2, 3));
  EXPECT_EQ(cut.covers, (Interval{Seq(1), Seq(3)}));
}

TEST(Sync, rows_that_changed_further_up_are_not_passed_over_again_on_every_page) {
  ReadsWorld world;
  std::vector<ConversationId> ids;
  for (int i = 0; i < 2'000; ++i) {
    ids.push_back(world.single(a, UserId("u" + std::to_string(i))));
    world.send(ids.back(), UserId("u" + std::to_string(i)));
  }
  for (const ConversationId& id : ids) world.read(a, id, Seq(1));  // every state above every head
  SyncQuery step = query(a);
  const std::size_t before = world.view.rows_read();
  std::size_t objects = 0;
  for (bool done = false; !done && objects < 3'000;) {
    const SyncPage got = page(world, step);
    objects += got.changes.size();
    done = reached(step, got);
    step = next_of(step, got);
  }
  EXPECT_EQ(objects, 2'000u);
  EXPECT_LE(world.view.rows_read() - before, 3u * 2'000u);
}

TEST(Sync, a_read_that_fails_makes_the_answer_the_failure) {
  for (const Bodies bodies : {Bodies::none, Bodies::all})
    for (std::size_t step = 1; step <= 5; ++step) {
      ReadsWorld world;
      world.send(world.single(a, b), a);
      world.view.fail_at(step);
      SyncQuery asked = query(b);
      asked.bodies = bodies;
      EXPECT_EQ(refusal(world, asked).code, ErrorCode::RETRY_LATER) << step;
    }
}

/// A device's copy of the index: an object is replaced only by one of a higher mark.
using Index = std::map<ConversationId, Change>;
void apply(Index& index, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    Change& held = index[change.conversation];
    if (change.mark >= held.mark) held = change;
  }
}

/// Something happens to any of a few conversations.
void happen(ReadsWorld& world) {
  static const ConversationId kGroup = group_conversation(5001);
  if (*rc::gen::inRange(0, 3) == 0) world.next_round();
  const UserId peer("u" + std::to_string(*rc::gen::inRange(0, 7)));
  const bool member = world.view.conversation(kGroup)->member(a);
  const ConversationId chat = world.single(a, peer);
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      if (world.view.line(chat).seq) world.read(a, chat, world.view.line(chat).seq);
      break;
    case 1:
      if (member) world.leave(kGroup, a);
      break;
    case 2:
      if (!member) world.join(kGroup, a, *rc::gen::element(Seq(), Seq(1), Seq(5)));
      break;
    case 3:
      world.rename(kGroup, "title " + std::to_string(world.round()));
      break;
    case 4:
      if (world.view.line(chat).seq) world.clear(a, chat, Seq(*rc::gen::inRange<std::uint64_t>(0, 10)));
      break;
    case 5:
    case 6:
      world.send(kGroup, b);
      break;
    default:
      world.send(chat, *rc::gen::element(a, peer));
  }
}

void pass_time(ReadsWorld& world, int most) {
  for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) happen(world);
}

/// Pages down from the head until the cursor is reached, while things happen.
Cursor descend(ReadsWorld& world, SyncQuery asked, Index& index) {
  Mark expected_to;
  for (int pages = 0;; ++pages) {
    RC_ASSERT(pages < 1'000);
    const SyncPage got = page(world, asked);
    if (expected_to) RC_ASSERT(got.to == expected_to);
    RC_ASSERT(got.more == (!reached(asked, got) || world.head_of(a) > got.p0));
    for (std::size_t i = 0; i < got.changes.size(); ++i) {
      RC_ASSERT(got.changes[i].mark > got.after && got.changes[i].mark <= got.to);
      if (i > 0) RC_ASSERT(got.changes[i].mark < got.changes[i - 1].mark);
    }
    apply(index, got.changes);
    if (reached(asked, got)) return got.next;
    RC_ASSERT(!got.changes.empty());
    expected_to = got.after;
    asked = next_of(asked, got);
    pass_time(world, 4);
  }
}

Index fresh(ReadsWorld& world) {
  Index index;
  SyncQuery asked = query(a);
  asked.limit = 200;
  const SyncPage all = page(world, asked);
  EXPECT_FALSE(all.more);
  apply(index, all.changes);
  return index;
}

TEST(Sync, I8_old_state_and_pages_make_a_fresh_snapshot_whatever_happens_between_them) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    world.group({b, a});
    Index index;
    SyncQuery asked = query(a);
    for (int round = 0; round < 4; ++round) {
      pass_time(world, 15);
      asked.limit = *rc::gen::inRange<std::uint32_t>(1, 6);
      asked.bodies = *rc::gen::element(Bodies::none, Bodies::recent);
      asked.recent = 3;
      asked.cursor = descend(world, asked, index);
    }
    while (world.head_of(a) > asked.cursor.mark) asked.cursor = descend(world, asked, index);
    Index snapshot = fresh(world);
    for (auto& [id, change] : index) {
      change.messages.clear();
      change.hidden.clear();
      change.covers = {};
    }
    RC_ASSERT(index == snapshot);
  }));
}

}  // namespace
}  // namespace tidemark
