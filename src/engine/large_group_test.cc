// Large groups through the commit round: when a group is one, whose index a message touches, who is in it, what is
// derived from its log (design, section 3).
#include "core/large_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/decide.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

EngineOptions small_up_to(std::size_t members) {
  EngineOptions options;
  options.params.small_max = members;
  return options;
}

class LargeGroups : public testing::Test {
 protected:
  /// a owns it; it is large from its fourth member on.
  Group large(std::vector<std::string> others = {"b", "c", "d"}) { return make_group(world, "a", std::move(others)); }

  Mark mark(const std::string& user) { return world.view().user(UserId(user)).mark; }
  std::uint64_t digest(const std::string& user) {
    StoreView view = world.view();
    return large_digest(view, UserId(user));
  }
  Conversation stored(const Group& group) { return *world.view().conversation(ConversationId(group.id)); }
  std::vector<std::string> members(const Group& group) {
    std::vector<std::string> found;
    StoreView view = world.view();
    view.members(ConversationId(group.id), Member(), [&](const Member& member) {
      found.push_back(member.user.value);
      return true;
    });
    return found;
  }
  HeadsPage heads(const std::string& user, std::vector<KnownHead> known = {}, bool only = false) {
    StoreView view = world.view();
    auto page = read_heads(view, world.params(), {UserId(user), std::move(known), {}, {}, only});
    EXPECT_TRUE(page.has_value());
    return page ? std::move(*page) : HeadsPage{};
  }
  SendCommand mentioning(const std::string& by, const Group& group, const std::vector<std::string>& users) {
    SendCommand command = world.message(by, group.id, "hi");
    for (const std::string& user : users) command.mentions.emplace_back(user);
    return command;
  }
  MutateCommand mutate(const std::string& user, auto change) {
    MutateCommand command;
    command.user = change.user = UserId(user);
    command.change = std::move(change);
    return command;
  }
  DissolveGroupCommand dissolve(const Group& group) {
    DissolveGroupCommand command;
    command.user = UserId("a");
    command.conversation = ConversationId(group.id);
    return command;
  }

  EngineWorld world{small_up_to(3)};
};
using LargeGroupsConformance = LargeGroups;

TEST_F(LargeGroups, AGroupIsOneFromItsSizeOnAndNotAgainAtOnce) {
  const Group group = make_group(world, "a", {"b", "c"});
  EXPECT_FALSE(stored(group).large);
  world.take_notices();
  world.get<GroupReply>(add("a", group, "d"));
  EXPECT_TRUE(stored(group).large);
  EXPECT_EQ(stored(group).size, 4U);
  EXPECT_THAT(members(group), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(stored(group).members, SizeIs(1)) << "its owner alone";
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices, SizeIs(2)) << "the joining, and what it made of the group";
  EXPECT_EQ(notices[1].entry->config->large, true);
  EXPECT_THAT(notices[1].receivers, SizeIs(4)) << "everybody once";
  for (const Receiver& each : notices[1].receivers) EXPECT_EQ(each.large, true) << each.user.value;
  EXPECT_TRUE(world.change("b", group.id).large);

  world.get<GroupReply>(remove("a", group, "d"));
  EXPECT_TRUE(stored(group).large) << "at three it stays";
  world.get<GroupReply>(remove("a", group, "c"));
  EXPECT_FALSE(stored(group).large) << "at two it does not";
  EXPECT_THAT(members(group), IsEmpty());
  EXPECT_THAT(stored(group).members, SizeIs(2));
  EXPECT_FALSE(world.change("b", group.id).large);
  EXPECT_EQ(digest("b"), 0U);
  world.send("a", group.id, "all hear it again");
  EXPECT_EQ(world.change("b", group.id).unread.count, 1U);
}

TEST_F(LargeGroups, AMessageTouchesNobodysIndex) {
  const Group group = large();
  const Mark before[] = {mark("a"), mark("b"), mark("c"), mark("d")};
  world.take_notices();
  const SentReply sent = world.send("a", group.id, "hello");
  const Mark after[] = {mark("a"), mark("b"), mark("c"), mark("d")};
  EXPECT_THAT(after, testing::ElementsAreArray(before));
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_TRUE(notices[0].large);
  EXPECT_THAT(notices[0].receivers, IsEmpty());
  const Change seen = world.change("b", group.id);
  EXPECT_EQ(seen.head_seq, sent.seq);
  EXPECT_EQ(seen.unread.count, 1U);
  EXPECT_EQ(seen.preview.text, "hello");
  EXPECT_EQ(seen.sort_time, sent.server_time);
  EXPECT_EQ(world.change("a", group.id).unread.count, 0U) << "his own";
}

TEST_F(LargeGroups, WhatAMessageWritesDoesNotDependOnTheSize) {
  const auto written = [&](const Group& group) {
    StoreView view = world.view();
    const auto decision =
        decide(view, world.message("a", group.id, "the same"), Context{world.clock.wall, world.params()});
    EXPECT_TRUE(decision.has_value());
    const Writes& writes = decision->writes;
    return std::vector<std::size_t>{writes.entries.size(), writes.rows.size(), writes.users.size(),
                                    writes.conversations.size(), decision->notices[0].receivers.size()};
  };
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) many.push_back("m" + std::to_string(i));
  EXPECT_EQ(written(large()), written(large(many)));
  EXPECT_THAT(written(large(many)), ElementsAre(1, 1, 1, 0, 0));
}

TEST_F(LargeGroupsConformance, S67_reading_moves_one_row_and_no_other_mark) {
  const Group group = large();
  const SentReply sent = world.send("a", group.id, "hello");
  const Mark others[] = {mark("a"), mark("c"), mark("d")};
  const Mark own = mark("b");
  world.get<MutatedReply>(world.read_to("b", group.id, sent.seq.value));
  EXPECT_GT(mark("b"), own);
  const Mark after[] = {mark("a"), mark("c"), mark("d")};
  EXPECT_THAT(after, testing::ElementsAreArray(others));
  EXPECT_EQ(world.change("b", group.id).unread.count, 0U);
  EXPECT_EQ(world.change("c", group.id).unread.count, 1U);
}

TEST_F(LargeGroupsConformance, S95_everybody_is_mentioned_without_a_row_for_each) {
  const Group group = large();
  const Mark before = mark("c");
  SendCommand all = world.message("a", group.id, "everybody!");
  all.mention_all = true;
  const SentReply sent = world.get<SentReply>(all);
  EXPECT_EQ(mark("c"), before);
  for (const std::string user : {"b", "c", "d"})
    EXPECT_EQ(world.change(user, group.id).all_mentioned_at, sent.seq) << user;
  EXPECT_EQ(world.change("a", group.id).all_mentioned_at, Seq()) << "whoever says it knows";
  world.get<MutatedReply>(world.read_to("b", group.id, sent.seq.value));
  EXPECT_EQ(world.change("b", group.id).all_mentioned_at, Seq()) << "read past it";
  EXPECT_EQ(world.change("c", group.id).all_mentioned_at, sent.seq);

  world.get<MutatedReply>(mutate("a", RecallCommand{{}, {}, ConversationId(group.id), sent.seq}));
  EXPECT_EQ(world.change("c", group.id).all_mentioned_at, Seq()) << "taken back";
}

TEST_F(LargeGroups, OnlyOwnerAndAdminsMentionEverybody) {
  const Group group = large();
  SendCommand all = world.message("b", group.id, "look");
  all.mention_all = true;
  EXPECT_EQ(world.refused(all), ErrorCode::FORBIDDEN);
  SetRoleCommand role;
  role.user = UserId("a");
  role.conversation = ConversationId(group.id);
  role.member = UserId("b");
  role.role = Role::admin;
  world.get<GroupReply>(role);
  EXPECT_FALSE(world.get<SentReply>(all).duplicate);
  const Group small = make_group(world, "a", {"b"});
  SendCommand in_small = world.message("b", small.id, "look");
  in_small.mention_all = true;
  world.get<SentReply>(in_small);
  EXPECT_NE(world.change("a", small.id).all_mentioned_at, Seq()) << "in a small one anybody may";
}

TEST_F(LargeGroupsConformance, S96_a_direct_mention_touches_the_mentioned_even_if_he_muted_the_group) {
  const Group group = large();
  world.get<MutatedReply>(mutate("b", MuteCommand{{}, ConversationId(group.id), kForEver}));
  const Mark b = mark("b");
  const Mark c = mark("c");
  world.take_notices();
  const SentReply sent = world.get<SentReply>(mentioning("a", group, {"b"}));
  EXPECT_EQ(mark("b"), b + 1);
  EXPECT_EQ(mark("c"), c);
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices[0].receivers, SizeIs(1));
  EXPECT_TRUE(notices[0].receivers[0].mentioned);
  EXPECT_EQ(notices[0].receivers[0].user.value, "b");
  const Change seen = world.change("b", group.id);
  EXPECT_EQ(seen.mentions, 1U);
  EXPECT_EQ(seen.mentioned_at, sent.seq);
  EXPECT_EQ(seen.muted_until, kForEver);

  world.take_notices();
  world.get<MutatedReply>(mutate("a", RecallCommand{{}, {}, ConversationId(group.id), sent.seq}));
  EXPECT_EQ(world.change("b", group.id).mentions, 0U);
  EXPECT_EQ(mark("b"), b + 2) << "he learns that it is gone";
  EXPECT_EQ(mark("c"), c);
}

TEST_F(LargeGroups, MentionsOfWhoIsNoMemberAreRefused) {
  const Group group = large();
  EXPECT_EQ(world.refused(mentioning("a", group, {"stranger"})), ErrorCode::MALFORMED);
  world.get<GroupReply>(remove("a", group, "b"));
  EXPECT_EQ(world.refused(mentioning("a", group, {"b"})), ErrorCode::MALFORMED);
}

TEST_F(LargeGroups, JoiningTouchesTheNewcomerAlone) {
  const Group group = large();
  const Mark before[] = {mark("a"), mark("b")};
  world.take_notices();
  world.get<GroupReply>(add("a", group, "e"));
  const Mark after[] = {mark("a"), mark("b")};
  EXPECT_THAT(after, testing::ElementsAreArray(before));
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices, SizeIs(1));
  ASSERT_THAT(notices[0].receivers, SizeIs(1));
  EXPECT_EQ(notices[0].receivers[0].user.value, "e");
  EXPECT_EQ(notices[0].receivers[0].large, true);
  const Change seen = world.change("e", group.id);
  EXPECT_TRUE(seen.member);
  EXPECT_EQ(seen.unread.count, 0U);
  world.send("a", group.id, "welcome");
  EXPECT_EQ(world.change("e", group.id).unread.count, 1U);
}

TEST_F(LargeGroups, WhoLeavesIsKeptInStepByMarksAgain) {
  const Group group = large({"b", "c", "d", "e"});
  const SentReply sent = world.send("a", group.id, "before");
  world.take_notices();
  world.get<GroupReply>(remove("b", group, "b"));
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_THAT(notices[0].receivers, SizeIs(1));
  EXPECT_EQ(notices[0].receivers[0].large, false);
  const Change left = world.change("b", group.id);
  EXPECT_FALSE(left.member);
  EXPECT_FALSE(left.large);
  EXPECT_EQ(digest("b"), 0U);
  const Seq leave = left.head_seq;
  world.send("a", group.id, "after");
  EXPECT_EQ(world.change("b", group.id).head_seq, leave);
  const Mark before = mark("b");
  world.get<MutatedReply>(mutate("a", RecallCommand{{}, {}, ConversationId(group.id), sent.seq}));
  EXPECT_EQ(mark("b"), before + 1) << "what he may still read has changed";
  EXPECT_GT(world.change("b", group.id).touch_seq, leave);
  EXPECT_EQ(world.change("b", group.id).head_seq, leave);

  world.get<GroupReply>(add("a", group, "b"));
  EXPECT_TRUE(world.change("b", group.id).large);
  EXPECT_THAT(world.change("b", group.id).periods, SizeIs(2));
}

TEST_F(LargeGroups, TheDigestFollowsEachHead) {
  const Group one = large();
  const Group two = large();
  const std::uint64_t before = digest("b");
  EXPECT_EQ(before, digest_of_head(ConversationId(one.id), world.change("b", one.id).head_seq) +
                        digest_of_head(ConversationId(two.id), world.change("b", two.id).head_seq));
  world.send("a", one.id, "x");
  EXPECT_NE(digest("b"), before);
  EXPECT_EQ(digest("b"), digest("c"));
  world.get<GroupReply>(remove("c", one, "c"));
  EXPECT_NE(digest("b"), digest("c"));
  EXPECT_EQ(digest("stranger"), 0U);
  // The value that other implementations have to find.
  EXPECT_EQ(digest_of_head(ConversationId("group_5001"), Seq(57)), 0xf6444d3939ef0440ULL);
}

TEST_F(LargeGroupsConformance, S92_nothing_changed_in_two_hundred_groups_and_nothing_is_answered) {
  for (int i = 0; i < 200; ++i) large();
  std::vector<KnownHead> known;
  const HeadsPage all = heads("b");
  EXPECT_THAT(all.changes, SizeIs(200));
  for (const Change& change : all.changes)
    known.push_back({change.conversation, std::max(change.head_seq, change.touch_seq)});
  EXPECT_THAT(heads("b", known).changes, IsEmpty());
  // What a heartbeat compares: of the vector here, of the store there.
  std::uint64_t held = 0;
  for (const KnownHead& each : known) held += digest_of_head(each.conversation, each.seq);
  EXPECT_EQ(digest("b"), held);
  world.send("a", known[77].conversation.value, "x");
  const HeadsPage one = heads("b", known);
  ASSERT_THAT(one.changes, SizeIs(1));
  EXPECT_EQ(one.changes[0].conversation, known[77].conversation);
  EXPECT_NE(digest("b"), held);
}

TEST_F(LargeGroups, MoreGroupsThanOneAnswerHoldsComeInParts) {
  EngineOptions options = small_up_to(3);
  options.params.heads_max = 3;
  EngineWorld many(options);
  for (int i = 0; i < 8; ++i) make_group(many, "a", {"b", "c", "d"});
  StoreView view = many.view();
  std::vector<std::string> told;
  ConversationId after;
  int parts = 0;
  do {
    const auto page = read_heads(view, many.params(), {UserId("b"), {}, after, {}, false});
    ASSERT_TRUE(page.has_value());
    for (const Change& change : page->changes) told.push_back(change.conversation.value);
    after = page->next_after;
    ++parts;
  } while (!after.empty() && parts < 10);
  EXPECT_THAT(told,
              ElementsAre("group_1", "group_2", "group_3", "group_4", "group_5", "group_6", "group_7", "group_8"));
  EXPECT_EQ(parts, 3);
}

TEST_F(LargeGroups, HeadsOfAGroupThatIsLargeNoMoreAreAnsweredAsItIs) {
  const Group group = large();
  const KnownHead known{ConversationId(group.id), world.change("b", group.id).head_seq};
  world.get<GroupReply>(remove("b", group, "b"));
  const HeadsPage page = heads("b", {known});
  ASSERT_THAT(page.changes, SizeIs(1));
  EXPECT_FALSE(page.changes[0].member);
  EXPECT_FALSE(page.changes[0].large);
  EXPECT_THAT(heads("stranger", {known}).changes, IsEmpty());
  EXPECT_THAT(heads("stranger", {known}, true).changes, IsEmpty());
}

TEST_F(LargeGroups, BadQuestionsForHeadsAreRefused) {
  StoreView view = world.view();
  const auto code = [&](HeadsQuery query) {
    query.user = UserId("b");
    const auto page = read_heads(view, world.params(), query);
    return page ? ErrorCode::INTERNAL : page.error().code;
  };
  HeadsQuery many;
  many.known.resize(201, {ConversationId("group_1"), Seq(1)});
  EXPECT_EQ(code(many), ErrorCode::LIMIT_REACHED);
  EXPECT_EQ(code({{}, {{ConversationId("b_a"), Seq()}}, {}, {}, false}), ErrorCode::NON_CANONICAL_ID);
  EXPECT_EQ(code({{}, {}, ConversationId("1_2"), {}, false}), ErrorCode::MALFORMED);
  EXPECT_EQ(code({{}, {}, {}, ConversationId("x"), false}), ErrorCode::MALFORMED);
}

TEST_F(LargeGroups, TheListPutsThemWhereTheirLastMessageIs) {
  const Group group = large();
  world.clock.pass(10);
  world.send("b", "x", "one");
  world.clock.pass(10);
  world.send("b", "y", "two");
  const auto listed = [&](std::uint32_t limit) {
    StoreView view = world.view();
    std::vector<std::string> ids;
    std::int64_t time = 0;
    ConversationId below;
    do {
      const auto list = read_conversations(view, world.params(), UserId("b"), limit, time, below);
      EXPECT_TRUE(list.has_value());
      for (const Change& change : list->conversations) ids.push_back(change.conversation.value);
      time = list->next_sort_time;
      below = list->next_conversation;
    } while (time != 0);
    return ids;
  };
  EXPECT_THAT(listed(50), ElementsAre("b_y", "b_x", group.id));
  world.clock.pass(10);
  world.send("a", group.id, "up");
  EXPECT_THAT(listed(50), ElementsAre(group.id, "b_y", "b_x"));
  EXPECT_THAT(listed(1), ElementsAre(group.id, "b_y", "b_x"));
}

TEST_F(LargeGroups, TakenOutOfTheListOneComesBackByItsLog) {
  const Group group = large();
  world.send("a", group.id, "x");
  world.get<MutatedReply>(mutate("b", RemoveCommand{{}, ConversationId(group.id), Seq()}));
  EXPECT_TRUE(world.change("b", group.id).removed);
  EXPECT_EQ(digest("b"), 0U);
  world.get<GroupReply>(add("a", group, "e"));
  EXPECT_TRUE(world.change("b", group.id).removed) << "a joining is not for him";
  const Mark before = mark("b");
  world.send("a", group.id, "y");
  EXPECT_FALSE(world.change("b", group.id).removed);
  EXPECT_EQ(world.change("b", group.id).unread.count, 1U);
  EXPECT_EQ(mark("b"), before);
  EXPECT_NE(digest("b"), 0U);
}

TEST_F(LargeGroups, TheEndOfOneTouchesNoRowAndEndsItForAll) {
  const Group group = large();
  const SentReply sent = world.send("a", group.id, "last");
  const Mark before = mark("b");
  const GroupReply ended = world.get<GroupReply>(dissolve(group));
  EXPECT_EQ(mark("b"), before);
  const Change seen = world.change("b", group.id);
  EXPECT_FALSE(seen.member);
  EXPECT_TRUE(seen.large) << "it is the digest that tells";
  EXPECT_EQ(seen.head_seq, ended.head);
  EXPECT_EQ(seen.unread.count, 0U);
  EXPECT_EQ(seen.periods.back().leave, ended.head);
  EXPECT_EQ(world.refused(world.message("b", group.id, "still there?")), ErrorCode::CONVERSATION_CLOSED);
  EXPECT_EQ(world.refused(add("a", group, "z")), ErrorCode::CONVERSATION_CLOSED);

  const std::uint64_t digest_before = digest("b");
  world.get<MutatedReply>(DeleteMessageCommand{UserId("op"), {}, ConversationId(group.id), sent.seq});
  EXPECT_NE(digest("b"), digest_before) << "an operator takes something back";
  EXPECT_GT(world.change("b", group.id).touch_seq, ended.head);
  EXPECT_EQ(world.change("b", group.id).head_seq, ended.head);
}

TEST_F(LargeGroups, TheEldestFollowsAnOwnerWhoLeaves) {
  const Group group = large({"d", "c", "b"});
  world.get<GroupReply>(remove("a", group, "a"));
  const Conversation after = stored(group);
  EXPECT_EQ(after.member(UserId("b"))->role, Role::owner) << "of those who joined together the first by id";
  EXPECT_EQ(world.change("b", group.id).role, Role::owner);
  std::vector<Role> roles;
  StoreView view = world.view();
  view.members(ConversationId(group.id), Member(), [&](const Member& member) {
    roles.push_back(member.role);
    return true;
  });
  EXPECT_THAT(roles, ElementsAre(Role::owner, Role::member, Role::member));
}

TEST_F(LargeGroups, MembersAreListedInPages) {
  std::vector<std::string> others;
  for (int i = 10; i < 40; ++i) others.push_back("m" + std::to_string(i));
  const Group group = large(others);
  world.get<GroupReply>(add("a", group, "late"));
  StoreView view = world.view();
  std::vector<std::string> found;
  Member after;
  do {
    const auto page = read_members(view, world.params(), UserId("m10"), ConversationId(group.id), 7, after);
    ASSERT_TRUE(page.has_value());
    EXPECT_LE(page->members.size(), 7U);
    for (const Member& member : page->members) found.push_back(member.user.value);
    after = page->next_after;
  } while (!after.user.empty());
  ASSERT_THAT(found, SizeIs(32));
  EXPECT_EQ(found.front(), "a");
  EXPECT_EQ(found.back(), "late") << "who came last";
  EXPECT_TRUE(std::ranges::is_sorted(found.begin(), found.end() - 1));
  const auto stranger = read_members(view, world.params(), UserId("x"), ConversationId(group.id), 7, {});
  ASSERT_FALSE(stranger.has_value());
  EXPECT_EQ(stranger.error().code, ErrorCode::CONVERSATION_NOT_FOUND);
}

TEST_F(LargeGroups, ACrashLosesNothingOfIt) {
  const Group group = large();
  world.send("a", group.id, "x");
  world.get<SentReply>(mentioning("a", group, {"b"}));
  const Change before = world.change("b", group.id);
  const std::uint64_t digest_before = digest("b");
  world.crash();
  EXPECT_EQ(world.change("b", group.id), before);
  EXPECT_EQ(digest("b"), digest_before);
  EXPECT_THAT(members(group), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(world.send("c", group.id, "y").seq, before.head_seq + 1);
}

TEST_F(LargeGroups, ALoginTellsWhichThereAre) {
  const Group one = large();
  const Group two = large();
  make_group(world, "b", {"c"});
  LoginCommand login;
  login.user = UserId("b");
  login.device = DeviceId("b1");
  login.install = InstallId("i");
  const LoginReply reply = world.get<LoginReply>(login);
  EXPECT_THAT(reply.large_groups, ElementsAre(ConversationId(one.id), ConversationId(two.id)));
  EXPECT_EQ(reply.large_digest, digest("b"));
}

TEST_F(LargeGroups, AFullGroupTakesNobodyMore) {
  EngineOptions options = small_up_to(3);
  options.params.large_max = 5;
  options.params.members_per_call = 4;
  EngineWorld full(options);
  const Group group = make_group(full, "a", {"b", "c", "d", "e"});
  EXPECT_EQ(full.refused(add("a", group, "f")), ErrorCode::LIMIT_REACHED);
  full.get<GroupReply>(remove("a", group, "e"));
  full.get<GroupReply>(add("a", group, "f"));
  AddMembersCommand many = add("a", group, "g");
  many.added.assign(5, UserId("g"));
  EXPECT_EQ(full.refused(many), ErrorCode::LIMIT_REACHED) << "too many in one call";
}

}  // namespace
}  // namespace tidemark
