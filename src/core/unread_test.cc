#include "core/unread.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/reads_test_world.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

Unread unread(ReadsWorld& world, const UserId& user, const ConversationId& id) {
  return unread_of(world.view, user, *world.view.user_conversation(user, id), world.view.line(id), world.params,
                   parse_conversation(id)->self());
}
Unread exactly(std::uint32_t count) {
  return {count, true};
}

TEST(Unread, others_messages_above_the_pointer_count) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 4; ++i) world.send(id, a);
  for (int i = 0; i < 3; ++i) world.send(id, b);
  EXPECT_EQ(unread(world, a, id), exactly(3));
  EXPECT_EQ(unread(world, b, id), exactly(4));
  world.read(a, id, Seq(6));
  EXPECT_EQ(unread(world, a, id), exactly(1));
  world.read(a, id, Seq(7));
  EXPECT_EQ(unread(world, a, id), exactly(0));
  EXPECT_EQ(unread(world, b, id), exactly(4));
}

TEST(Unread, a_joiner_counts_from_his_join_and_a_former_member_nothing) {
  ReadsWorld world;
  const ConversationId id = world.group({a, b});
  for (int i = 0; i < 9; ++i) world.send(id, a);
  world.join(id, c);
  EXPECT_EQ(unread(world, c, id), exactly(0));
  world.send(id, a);
  world.rename(id, "other");
  EXPECT_EQ(unread(world, c, id), exactly(1));
  world.leave(id, c);
  EXPECT_EQ(unread(world, c, id), exactly(0));
  for (int i = 0; i < 5; ++i) world.send(id, a);
  world.join(id, c);
  EXPECT_EQ(unread(world, c, id), exactly(0));
  world.send(id, b);
  EXPECT_EQ(unread(world, c, id), exactly(1));
}

TEST(Conformance, S85_history_for_newcomers_does_not_count_as_unread) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  for (int i = 0; i < 99; ++i) world.send(id, a);
  ASSERT_EQ(world.join(id, c, Seq(81)), Seq(101));
  world.send(id, a);
  EXPECT_EQ(unread(world, c, id), exactly(1));
}

TEST(Conformance, S99_self_chat_is_never_unread) {
  ReadsWorld world;
  const ConversationId id = world.single(UserId("7"), UserId("7"));
  ASSERT_EQ(id.value, "7_7");
  for (int i = 0; i < 3; ++i) world.send(id, UserId("7"));
  EXPECT_EQ(unread(world, UserId("7"), id), exactly(0));
}

TEST(Conformance, S64_unread_is_exact_up_to_its_cap) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 5'000; ++i) world.send(id, a);
  EXPECT_EQ(unread(world, b, id), (Unread{999, false}));
  world.read(b, id, Seq(4'000));
  EXPECT_EQ(unread(world, b, id), (Unread{999, false}));
  world.read(b, id, Seq(4'001));
  EXPECT_EQ(unread(world, b, id), exactly(999));
  world.read(b, id, Seq(4'100));
  EXPECT_EQ(unread(world, b, id), exactly(900));
}

TEST(Unread, reading_to_the_head_costs_no_entry_and_a_step_costs_the_step) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 2'000; ++i) world.send(id, i % 2 ? a : b);
  std::size_t before = world.view.entries_read();
  world.read(b, id, Seq(2'000));
  EXPECT_EQ(world.view.entries_read(), before);
  world.read(a, id, Seq(10));
  world.read(a, id, Seq(1'995));
  EXPECT_LE(world.view.entries_read() - before, 10u + 5u + 2u);
  EXPECT_EQ(unread(world, a, id), exactly(2));
  before = world.view.entries_read();
  unread(world, a, id);
  EXPECT_EQ(world.view.entries_read(), before);
}

TEST(Unread, a_floor_in_a_hole_of_the_numbers_counts_as_the_entry_below) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 3; ++i) world.send(id, a);
  Entry later;
  later.seq = Seq(1'000);
  later.sender = a;
  later.ord = 4;
  later.top = later.seq;
  world.view.put_entry(id, later);
  UserConversation row = world.row_of(b, id);
  row.read = Seq(500);
  settle_floor(world.view, b, world.view.line(id), row);
  EXPECT_EQ(row.floor_ord, 3u);
  EXPECT_EQ(unread_of(world.view, b, row, world.view.line(id), world.params, false), exactly(1));
}

TEST(Unread, a_recall_lowers_it_for_those_for_whom_the_message_counted) {
  ReadsWorld world;
  const ConversationId id = world.group({a, b, c});
  for (int i = 0; i < 4; ++i) world.send(id, a);  // 4 to 7
  world.send(id, b);
  world.read(c, id, Seq(5));
  EXPECT_EQ(unread(world, a, id), exactly(1));
  EXPECT_EQ(unread(world, b, id), exactly(4));
  EXPECT_EQ(unread(world, c, id), exactly(3));
  world.recall(id, Seq(5));
  EXPECT_EQ(unread(world, a, id), exactly(1));
  EXPECT_EQ(unread(world, b, id), exactly(3));
  EXPECT_EQ(unread(world, c, id), exactly(3));
  world.edit(id, Seq(7), "other");
  EXPECT_EQ(unread(world, b, id), exactly(3));
  world.recall(id, Seq(7));
  EXPECT_EQ(unread(world, b, id), exactly(2));
  EXPECT_EQ(unread(world, c, id), exactly(2));
  world.read(c, id, world.view.line(id).seq);
  EXPECT_EQ(unread(world, c, id), exactly(0));
}

TEST(Unread, changes_are_looked_up_only_where_they_can_make_a_difference) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 1'500; ++i) world.send(id, a);
  for (int i = 1; i <= 100; ++i) world.recall(id, Seq(i));
  EXPECT_EQ(unread(world, b, id), (Unread{999, false}));
  EXPECT_EQ(world.view.touches_read(), 0u);  // 1,500 are too many even without a hundred
  world.read(b, id, Seq(1'450));
  EXPECT_EQ(unread(world, b, id), exactly(50));
  EXPECT_EQ(world.view.touches_read(), 100u);
  world.read(b, id, world.view.line(id).seq);
  world.send(id, a);
  EXPECT_EQ(unread(world, b, id), exactly(1));
  EXPECT_EQ(world.view.touches_read(), 100u);  // nothing changed above the floor
  world.recall(id, world.view.line(id).seq);
  EXPECT_EQ(unread(world, b, id), exactly(0));
  EXPECT_EQ(world.view.touches_read(), 101u);
}

TEST(Unread, damaged_checkpoints_never_make_it_negative) {
  UserConversation row;
  row.periods = {{Seq(), Seq(), Seq(1)}};
  row.floor_ord = 90;
  row.own = 3;
  row.floor_own = 7;
  TestView view;
  EXPECT_EQ(unread_of(view, b, row, LineHead{Seq(5), 5, Seq(5), 0, 1, 0, Seq()}, CoreParams(), false), exactly(0));
}

/// The definition, message by message.
std::uint32_t naive(ReadsWorld& world, const UserId& user, const ConversationId& id) {
  const UserConversation& row = *world.view.user_conversation(user, id);
  if (row.periods.empty() || row.periods.back().leave) return 0;
  std::uint32_t count = 0;
  for (std::uint64_t seq = 1; seq <= world.view.line(id).seq.value; ++seq) {
    const std::optional<Entry> entry = world.view.entry(id, Seq(seq));
    const bool above = Seq(seq) > row.read && Seq(seq) > row.cleared && Seq(seq) > row.periods.back().join;
    count += entry->countable() && above && entry->sender != user && !entry->dead();
  }
  return count;
}

/// A message that can still be changed.
std::optional<Seq> some_live(ReadsWorld& world, const ConversationId& id) {
  std::vector<Seq> live;
  world.view.entries(id, Seq(), world.view.line(id).seq, Direction::up, [&](const Entry& entry) {
    if (entry.countable() && !entry.dead()) live.push_back(entry.seq);
    return true;
  });
  if (live.empty()) return std::nullopt;
  return live[*rc::gen::inRange<std::size_t>(0, live.size())];
}

/// Any of the things that can happen in a conversation.
void happen(ReadsWorld& world, const ConversationId& id, bool group) {
  const UserId user = *rc::gen::element(a, b, c);
  const Conversation& conversation = *world.view.conversation(id);
  const bool member = conversation.member(user);
  const Seq any(*rc::gen::inRange<std::uint64_t>(0, world.view.line(id).seq.value + 3));
  switch (*rc::gen::inRange(0, 13)) {
    case 0:
      if (member) world.read(user, id, any);
      break;
    case 1:
      if (member) world.read(user, id, world.view.line(id).seq);
      break;
    case 2:
      if (member) world.clear(user, id, any);
      break;
    case 3:
      if (group) world.rename(id, "title");
      break;
    case 4:
      if (group && member && conversation.members.size() > 1) world.leave(id, user);
      break;
    case 5:
      if (group && !member) world.join(id, user, *rc::gen::arbitrary<bool>() ? Seq(1) : Seq());
      break;
    case 6:
    case 7:
      if (const auto live = some_live(world, id)) world.recall(id, *live);
      break;
    case 8:
      if (const auto live = some_live(world, id)) world.edit(id, *live, "edited");
      break;
    default:
      if (member) world.send(id, user);
  }
}

TEST(Conformance, S66_unread_equals_a_recount_after_any_history) {
  // 100 runs of up to some 100 steps: 10^4 operations, compared after each.
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const bool group = *rc::gen::arbitrary<bool>();
    const ConversationId id = group ? world.group({a, b}) : world.single(a, b);
    const int steps = *rc::gen::inRange(50, 150);
    for (int i = 0; i < steps; ++i) {
      happen(world, id, group);
      for (const UserId& user : {a, b, c})
        if (world.view.user_conversation(user, id))
          RC_ASSERT(unread(world, user, id) == exactly(naive(world, user, id)));
    }
  }));
}

}  // namespace
}  // namespace tidemark
