// Reactions: who may, what they leave in the log and in the row, and whom they are told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "engine/test_world.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MutateCommand mutate(const std::string& user, decltype(MutateCommand::change) change) {
  MutateCommand command;
  command.user = UserId(user);
  command.device = DeviceId(user + "1");
  command.change = std::move(change);
  return command;
}

MutateCommand react(const std::string& user, const std::string& conversation, std::uint64_t seq,
                    const std::string& name, bool on = true) {
  return mutate(user,
                ReactCommand{UserId(user), DeviceId(user + "1"), ConversationId(conversation), Seq(seq), name, on});
}

MutateCommand edit(const std::string& user, const std::string& conversation, std::uint64_t seq,
                   const std::string& text) {
  EditCommand command{UserId(user), DeviceId(user + "1"), ConversationId(conversation), Seq(seq), {}, {}};
  command.body.text = text;
  return mutate(user, std::move(command));
}

std::vector<Reaction> reactions_of(EngineWorld& world, const std::string& user, const std::string& conversation,
                                   std::uint64_t seq) {
  StoreView view = world.view();
  auto row = read_message(view, UserId(user), ConversationId(conversation), Seq(seq));
  EXPECT_TRUE(row.has_value());
  return row ? row->reactions : std::vector<Reaction>{};
}

Result<ReactionsPage> who(EngineWorld& world, const std::string& user, const std::string& conversation,
                          std::uint64_t seq, const std::string& name = {}, const UserId& after = {},
                          std::uint32_t limit = 0) {
  StoreView view = world.view();
  return read_reactions(view, world.params(),
                        {UserId(user), ConversationId(conversation), Seq(seq), name, after, limit});
}

TEST(Reaction, is_an_entry_and_shows_in_the_row) {
  EngineWorld world;
  world.send("a", "b", "lunch?");
  world.get<MutatedReply>(world.read_to("b", "a_b", 1));
  world.take_notices();
  const auto reply = world.get<MutatedReply>(react("b", "a_b", 1, "👍"));
  EXPECT_EQ(reply.seq, Seq(2));
  EXPECT_EQ(reply.state, MessageState::live);
  world.get<MutatedReply>(react("a", "a_b", 1, "👍"));
  world.get<MutatedReply>(react("a", "a_b", 1, "🎉"));

  EXPECT_THAT(reactions_of(world, "a", "a_b", 1), ElementsAre(Reaction{"👍", 2, true}, Reaction{"🎉", 1, true}));
  EXPECT_THAT(reactions_of(world, "b", "a_b", 1), ElementsAre(Reaction{"👍", 2, true}, Reaction{"🎉", 1, false}));

  const std::vector<Entry> log = log_of(world, "a_b");
  ASSERT_THAT(log, SizeIs(4));
  EXPECT_EQ(log[1].kind, EntryKind::reaction);
  EXPECT_EQ(log[1].sender.value, "b");
  EXPECT_EQ(log[1].target, Seq(1));
  EXPECT_EQ(log[1].target_sender.value, "a");
  EXPECT_EQ(*log[1].reaction, (ReactionChange{"👍", true}));
  EXPECT_THAT(log[1].reactions, IsEmpty()) << "numbers stand in the message's row alone";
  EXPECT_EQ(log[3].ord, 1u) << "no reaction counts as a message";
  EXPECT_EQ(log[0].touched_by, Seq(4));
  EXPECT_EQ(log[0].reacted, Seq(4));
  EXPECT_EQ(log[0].revision, Seq());
  EXPECT_EQ(log[0].state, MessageState::live);

  const Change change = world.change("b", "a_b");
  EXPECT_EQ(change.unread, (Unread{0, true}));
  EXPECT_EQ(change.touch_seq, Seq(4));
  EXPECT_EQ(change.preview.seq, Seq(1));
}

TEST(Reaction, is_pushed_with_what_it_left_and_without_a_summary) {
  EngineWorld world;
  world.send("a", "b", "lunch?");
  world.get<MutatedReply>(react("a", "a_b", 1, "x"));
  world.take_notices();
  world.get<MutatedReply>(react("b", "a_b", 1, "x"));
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_THAT(notices[0].entry->reactions, ElementsAre(Reaction{"x", 2, false}));
  EXPECT_EQ(notices[0].entry->body, Body());
  ASSERT_NE(receiver(notices[0], "a"), nullptr);
  EXPECT_EQ(receiver(notices[0], "a")->summary, nullptr) << "neither unread number nor preview changed";
}

TEST(Reaction, the_same_again_is_so_already) {
  EngineWorld world;
  world.send("a", "b", "x");
  EXPECT_EQ(world.get<MutatedReply>(react("b", "a_b", 1, "y", false)).seq, Seq());
  world.get<MutatedReply>(react("b", "a_b", 1, "y"));
  EXPECT_EQ(world.get<MutatedReply>(react("b", "a_b", 1, "y")).seq, Seq());
  world.get<MutatedReply>(react("b", "a_b", 1, "y", false));
  EXPECT_THAT(reactions_of(world, "a", "a_b", 1), IsEmpty());
  EXPECT_THAT(who(world, "a", "a_b", 1)->users, IsEmpty());
  EXPECT_THAT(log_of(world, "a_b"), SizeIs(3));
}

TEST(Reaction, has_bounds_for_a_user_and_for_a_message) {
  EngineOptions options;
  options.params.reactions_per_user_max = 2;
  options.params.reactions_per_message_max = 3;
  EngineWorld world(options);
  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.get<MutatedReply>(react("a", group.id, seq, "1"));
  world.get<MutatedReply>(react("a", group.id, seq, "2"));
  EXPECT_EQ(world.refused(react("a", group.id, seq, "3")), ErrorCode::LIMIT_REACHED);
  world.get<MutatedReply>(react("b", group.id, seq, "3"));
  EXPECT_EQ(world.refused(react("b", group.id, seq, "4")), ErrorCode::LIMIT_REACHED);
  world.get<MutatedReply>(react("b", group.id, seq, "1"));
  world.get<MutatedReply>(react("a", group.id, seq, "1", false));
  world.get<MutatedReply>(react("a", group.id, seq, "3"));
  EXPECT_EQ(world.refused(react("a", group.id, seq, "")), ErrorCode::OUT_OF_RANGE);
  EXPECT_EQ(world.refused(react("a", group.id, seq, std::string(65, 'x'))), ErrorCode::OUT_OF_RANGE);
  EXPECT_EQ(world.refused(react("a", group.id, seq, "a\nb")), ErrorCode::OUT_OF_RANGE);
}

TEST(Reaction, is_no_edit_in_either_order) {
  for (const bool edited_first : {false, true}) {
    EngineWorld world;
    world.send("a", "b", "x");
    world.get<MutatedReply>(edited_first ? edit("a", "a_b", 1, "z") : react("b", "a_b", 1, "y"));
    world.get<MutatedReply>(edited_first ? react("b", "a_b", 1, "y") : edit("a", "a_b", 1, "z"));
    const Entry row = log_of(world, "a_b").front();
    EXPECT_EQ(row.body.text, "z");
    EXPECT_EQ(row.revision, Seq(edited_first ? 2 : 3)) << "a reaction is no edit";
    EXPECT_EQ(row.reacted, Seq(edited_first ? 3 : 2));
    EXPECT_EQ(row.touched_by, Seq(3));
    EXPECT_THAT(row.reactions, SizeIs(1));
  }
}

TEST(Reaction, who_may_not_see_the_message_may_not_react_and_learns_nothing) {
  EngineWorld world;
  world.send("a", "b", "old");
  EXPECT_EQ(world.refused(react("c", "a_b", 1, "y")), ErrorCode::MESSAGE_NOT_FOUND);
  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "before").seq.value;
  world.get<GroupReply>(add("a", group, "c"));
  EXPECT_EQ(world.refused(react("c", group.id, seq, "y")), ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_EQ(who(world, "c", group.id, seq).error().code, ErrorCode::MESSAGE_NOT_FOUND);
  world.take_notices();
  world.get<MutatedReply>(react("b", group.id, seq, "y"));
  for (const Notice& notice : world.take_notices()) {
    EXPECT_EQ(receiver(notice, "c") != nullptr, !notice.entry->reaction);
    EXPECT_EQ(receiver(notice, "c") != nullptr, notice.entry->reactions.empty());
  }
  StoreView view = world.view();
  const auto page = read_history(view, world.params(), {UserId("c"), ConversationId(group.id), {}, {}, {}, {}, 0});
  ASSERT_TRUE(page.has_value());
  EXPECT_FALSE(page->messages.back().reaction.has_value());
  world.get<GroupReply>(remove("b", group, "b"));
  EXPECT_EQ(world.refused(react("b", group.id, seq, "z")), ErrorCode::NOT_MEMBER);
}

TEST(Reaction, deleted_for_oneself_is_deleted) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(mutate("b", DeleteForMeCommand{UserId("b"), ConversationId("a_b"), {{Seq(0), Seq(1)}}}));
  EXPECT_EQ(world.refused(react("b", "a_b", 1, "y")), ErrorCode::MESSAGE_DELETED);
  world.get<MutatedReply>(react("a", "a_b", 1, "y"));
}

TEST(Reaction, the_muted_and_the_blocked_may_only_take_theirs_off) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(react("b", "a_b", 1, "y"));
  world.get<MutatedReply>(mutate("a", BlockCommand{UserId("a"), UserId("b"), true}));
  EXPECT_EQ(world.refused(react("b", "a_b", 1, "z")), ErrorCode::BLOCKED);
  world.get<MutatedReply>(react("b", "a_b", 1, "y", false));

  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.get<MutatedReply>(react("b", group.id, seq, "y"));
  world.get<GroupReply>(
      MuteMemberCommand{UserId("a"), DeviceId("a1"), ConversationId(group.id), UserId("b"), world.clock.wall + 60'000});
  EXPECT_EQ(world.refused(react("b", group.id, seq, "z")), ErrorCode::MEMBER_MUTED);
  world.get<MutatedReply>(react("b", group.id, seq, "y", false));
}

TEST(Reaction, who_reacts_comes_in_pages) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b", "c", "d"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  for (const char* user : {"a", "b", "c", "d"}) world.get<MutatedReply>(react(user, group.id, seq, "y"));
  world.get<MutatedReply>(react("c", group.id, seq, "z"));
  std::vector<std::string> users;
  UserId after;
  do {
    const auto page = who(world, "b", group.id, seq, {}, after, 2);
    ASSERT_TRUE(page.has_value());
    EXPECT_LE(page->users.size(), 2u);
    for (const auto& each : page->users) users.push_back(each.user.value);
    after = page->next;
  } while (!after.empty());
  EXPECT_THAT(users, ElementsAre("a", "b", "c", "d"));
  const auto only = who(world, "b", group.id, seq, "z");
  ASSERT_THAT(only->users, SizeIs(1));
  EXPECT_THAT(only->users[0].names, ElementsAre("y", "z"));
}

TEST(Reaction, a_former_member_is_told_of_none_and_learns_of_it_when_he_comes_back) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.get<GroupReply>(remove("b", group, "b"));
  const Change left = world.change("b", group.id);
  world.take_notices();
  const Seq by = world.get<MutatedReply>(react("a", group.id, seq, "y")).seq;
  for (const Notice& notice : world.take_notices()) EXPECT_EQ(receiver(notice, "b"), nullptr);
  EXPECT_EQ(world.change("b", group.id), left);
  EXPECT_THAT(reactions_of(world, "b", group.id, seq), SizeIs(1)) << "of a row that he fetches";

  world.get<GroupReply>(add("a", group, "b"));
  EXPECT_EQ(world.change("b", group.id).touch_seq, by);
  StoreView view = world.view();
  ConversationSyncQuery query{UserId("b"), ConversationId(group.id), left.head_seq, {{Seq(0), left.head_seq}}, 0, {},
                              {}};
  const auto page = read_conversation_sync(view, world.params(), query);
  ASSERT_TRUE(page.has_value());
  ASSERT_THAT(page->touched, SizeIs(1));
  EXPECT_THAT(page->touched[0].reactions, ElementsAre(Reaction{"y", 1, false}));
}

TEST(Reaction, a_device_that_was_away_learns_of_it_by_touches) {
  EngineWorld world;
  world.send("a", "b", "old");
  for (int i = 0; i < 20; ++i) world.send("a", "b", "news");
  world.get<MutatedReply>(react("a", "a_b", 1, "y"));
  StoreView view = world.view();
  ConversationSyncQuery query{UserId("b"), ConversationId("a_b"), Seq(21), {{Seq(0), Seq(21)}}, 0, {}, {}};
  const auto page = read_conversation_sync(view, world.params(), query);
  ASSERT_TRUE(page.has_value());
  ASSERT_THAT(page->touched, SizeIs(1));
  EXPECT_THAT(page->touched[0].reactions, ElementsAre(Reaction{"y", 1, false}));
}

TEST(Reaction, numbers_are_those_of_the_rows_whatever_comes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps) {
    EngineOptions options;
    options.params.reactions_per_user_max = 3;
    options.params.reactions_per_message_max = 4;
    EngineWorld world(options);
    const std::vector<std::string> users = {"a", "b", "c"};
    const Group group = make_group(world, "a", {"b", "c"});
    const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
    std::map<std::string, std::set<std::string>> naive;
    for (const std::uint16_t step : steps) {
      const std::string& user = users[step % 3];
      const std::string name = "r" + std::to_string(step / 3 % 6);
      const bool on = step / 18 % 3 != 0;
      if (!world.call(react(user, group.id, seq, name, on)).has_value()) continue;
      if (on)
        naive[name].insert(user);
      else if (naive[name].erase(user) > 0 && naive[name].empty())
        naive.erase(name);
      if (naive[name].empty()) naive.erase(name);
    }
    for (const std::string& user : users) {
      std::size_t mine = 0;
      const auto shown = reactions_of(world, user, group.id, seq);
      RC_ASSERT(shown.size() == naive.size());
      RC_ASSERT(shown.size() <= 4u);
      for (const Reaction& each : shown) {
        RC_ASSERT(each.count == naive[each.name].size());
        RC_ASSERT(each.mine == naive[each.name].contains(user));
        mine += each.mine ? 1 : 0;
      }
      RC_ASSERT(mine <= 3u);
    }
  }));
}

TEST(Reaction, a_read_that_fails_at_any_step_leaves_nothing_half_done) {
  for (std::size_t step = 1; step < 40; ++step) {
    EngineWorld world;
    world.send("a", "b", "x");
    world.start();  // nothing is cached
    world.plan->fail_at(step);
    const auto reply = world.call(react("b", "a_b", 1, "y"));
    world.plan->clear();
    world.start();
    // What was refused may have been done: never a part of it.
    const std::size_t there = reactions_of(world, "b", "a_b", 1).size();
    if (reply.has_value()) EXPECT_EQ(there, 1u) << step;
    EXPECT_THAT(log_of(world, "a_b"), SizeIs(1 + there)) << step;
    StoreView view = world.view();
    EXPECT_THAT(view.reactions_of(ConversationId("a_b"), Seq(1), UserId("b")), SizeIs(there)) << step;
  }
}

TEST(Reaction, of_what_is_no_conversation_nobody_is_told) {
  EngineWorld world;
  EXPECT_EQ(who(world, "a", "b_a", 1).error().code, ErrorCode::NON_CANONICAL_ID);
  EXPECT_EQ(who(world, "a", "", 1).error().code, ErrorCode::MALFORMED);
}

TEST(Reaction, whoever_has_left_is_told_of_nobody_who_came_later) {
  EngineWorld world;
  CreateGroupCommand open;
  open.creator = UserId("a");
  open.title = "open";
  open.members = {UserId("b"), UserId("c")};
  open.newcomers = HistoryForNewcomers::all;
  const Group seen{world.get<GroupReply>(open).group.id.value, 1};
  const std::uint64_t seq = world.send("a", seen.id, "x").seq.value;
  world.get<MutatedReply>(react("c", seen.id, seq, "y"));
  world.get<GroupReply>(remove("c", seen, "c"));
  world.get<GroupReply>(remove("b", seen, "b"));
  world.get<GroupReply>(add("a", seen, "d"));
  for (const char* user : {"a", "d"}) world.get<MutatedReply>(react(user, seen.id, seq, "y"));
  const auto users = [&](const std::string& user, std::uint32_t limit) {
    std::vector<std::string> found;
    UserId after;
    do {
      const auto page = who(world, user, seen.id, seq, {}, after, limit);
      for (const auto& each : page->users) found.push_back(each.user.value);
      after = page->next;
    } while (!after.empty());
    return found;
  };
  EXPECT_THAT(users("a", 1), ElementsAre("a", "c", "d"));
  EXPECT_THAT(users("d", 2), ElementsAre("a", "c", "d")) << "a member may know who was there";
  EXPECT_THAT(users("b", 1), ElementsAre("a", "c"));
  EXPECT_THAT(users("b", 0), ElementsAre("a", "c"));
  EXPECT_EQ(reactions_of(world, "b", seen.id, seq)[0].count, 3u) << "the row is as it is now";
  world.get<GroupReply>(add("a", seen, "b"));
  EXPECT_THAT(users("b", 1), ElementsAre("a", "c", "d"));
}

}  // namespace
}  // namespace tidemark
