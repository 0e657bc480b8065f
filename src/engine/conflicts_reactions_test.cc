// The same for reactions: what they leave where their message is taken back, edited, deleted for oneself, or reacted to
// by somebody else at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/conflict_cells.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr Seq kSecret{1};

MutateCommand react(const UserId& user, const std::string& name, bool on = true, const char* device = "phone",
                    const ConversationId& id = kChat, Seq seq = kSecret) {
  return mutate(user, device, ReactCommand{{}, {}, id, seq, name, on});
}

class ReactionConflicts : public ConflictCells {
 protected:
  /// In the message's row, as the user is shown it.
  std::vector<Reaction> reactions(const UserId& user) {
    StoreView view = world_.view();
    const auto row = read_message(view, user, kChat, kSecret);
    EXPECT_TRUE(row);
    return row ? row->reactions : std::vector<Reaction>();
  }
  std::vector<std::string> kept(const UserId& user) { return world_.view().reactions_of(kChat, kSecret, user); }
  /// An end of the message in this state has left nothing of how anybody reacted.
  void expect_nothing_left(const char* marker) {
    EXPECT_EQ(shown(kBen, kSecret), marker);
    EXPECT_THAT(reactions(kAnn), IsEmpty());
    EXPECT_THAT(kept(kAnn), IsEmpty());
    EXPECT_THAT(kept(kBen), IsEmpty());
    StoreView view = world_.view();
    const auto who = read_reactions(view, world_.params(), {kAnn, kChat, kSecret, "", {}, 0});
    EXPECT_EQ(who ? ErrorCode::INTERNAL : who.error().code, ErrorCode::MESSAGE_DELETED);
    const auto page = read_history(view, world_.params(), {kAnn, kChat, {}, {}, {}, {}, 0});
    ASSERT_TRUE(page);
    for (const Entry& entry : page->messages) EXPECT_FALSE(entry.reaction) << "how somebody reacted is told no more";
  }
  Group many(int users) {
    std::vector<std::string> others;
    for (int i = 1; i < users; ++i) others.push_back("u" + std::to_string(i));
    const Group group = make_group(world_, "ann", others);
    in_group_ = world_.send("ann", group.id, "vote").seq;
    return group;
  }
  std::vector<Reaction> in_group(const Group& group) {
    StoreView view = world_.view();
    const auto row = read_message(view, kAnn, ConversationId(group.id), in_group_);
    return row ? row->reactions : std::vector<Reaction>();
  }
  MutateCommand vote(const Group& group, const std::string& user, const std::string& name, bool on = true) {
    return react(UserId(user), name, on, "phone", ConversationId(group.id), in_group_);
  }

  Seq in_group_;
};

INSTANTIATE_TEST_SUITE_P(InRounds, ReactionConflicts, ::testing::Values(Rounds::one, Rounds::two), name_of_rounds);

// ------------------------------------------------------------------------------------------------ ends of the message

TEST_P(ReactionConflicts, AReactionAfterARecallIsRefused) {
  meet(recall(kSecret), react(kBen, "+"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(entries(), 3u) << "no entry";
  EXPECT_EQ(world_.refused(react(kBen, "+", false)), ErrorCode::MESSAGE_DELETED);
  expect_nothing_left("(recalled)");
}

TEST_P(ReactionConflicts, AReactionBeforeARecallGoesWithIt) {
  meet(react(kBen, "+"), recall(kSecret));
  EXPECT_EQ(first<MutatedReply>().seq, Seq(3));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::recalled);
  EXPECT_EQ(entries(), 4u) << "its entry stays";
  expect_nothing_left("(recalled)");
}

TEST_P(ReactionConflicts, AReactionAfterAnOperatorsDeleteIsRefused) {
  meet(operators_delete(kSecret), react(kBen, "+"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  expect_nothing_left("(deleted)");
}

TEST_P(ReactionConflicts, AReactionBeforeAnOperatorsDeleteGoesWithIt) {
  meet(react(kBen, "+"), operators_delete(kSecret));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::deleted);
  expect_nothing_left("(deleted)");
}

TEST_P(ReactionConflicts, TakingAReactionOffAndARecallComeToTheSameInEitherOrder) {
  world_.get<MutatedReply>(react(kBen, "+"));
  meet(react(kBen, "+", false), recall(kSecret));
  EXPECT_EQ(first<MutatedReply>().seq, Seq(4));
  expect_nothing_left("(recalled)");
}

TEST_P(ReactionConflicts, ARecallLeavesNothingToTakeOff) {
  world_.get<MutatedReply>(react(kBen, "+"));
  meet(recall(kSecret), react(kBen, "+", false));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  expect_nothing_left("(recalled)");
}

// ------------------------------------------------------------------------------------------- edits, and for oneself

TEST_P(ReactionConflicts, AnEditAndAReactionBothCount) {
  meet(edit(kSecret, "secret too"), react(kBen, "+"));
  EXPECT_THAT(reactions(kBen), ElementsAre(Reaction{"+", 1, true}));
  EXPECT_EQ(shown(kBen, kSecret), "secret too");
  EXPECT_EQ(first<MutatedReply>().revision, Seq(3));
  meet(react(kAnn, "+"), edit(kSecret, "secret still"));
  EXPECT_THAT(reactions(kBen), ElementsAre(Reaction{"+", 2, true}));
  EXPECT_EQ(shown(kBen, kSecret), "secret still");
  EXPECT_EQ(then<MutatedReply>().revision, Seq(6)) << "a reaction is no edit";
}

TEST_P(ReactionConflicts, WhoDeletedAMessageForHimselfCannotReactToItOnAnyDevice) {
  meet(delete_for_me(kBen, kSecret, "phone"), react(kBen, "+", true, "desk"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(entries(), 2u) << "no entry";
  EXPECT_THAT(reactions(kAnn), IsEmpty());
}

TEST_P(ReactionConflicts, WhatOneDeletedForHimselfOthersReactTo) {
  meet(delete_for_me(kBen, kSecret), react(kAnn, "+"));
  EXPECT_EQ(then<MutatedReply>().seq, Seq(3));
  EXPECT_THAT(reactions(kAnn), ElementsAre(Reaction{"+", 1, true}));
  EXPECT_EQ(shown(kBen, kSecret), "") << "it stays hidden";
}

TEST_P(ReactionConflicts, AReactionStaysWhenItsMessageIsDeletedForOneself) {
  meet(react(kBen, "+"), delete_for_me(kBen, kSecret));
  EXPECT_EQ(then<MutatedReply>().deleted, 1u);
  EXPECT_THAT(reactions(kAnn), ElementsAre(Reaction{"+", 1, false})) << "for everybody else";
  EXPECT_EQ(shown(kBen, kSecret), "");
}

// ----------------------------------------------------------------------------------------------- the same, twice

TEST_P(ReactionConflicts, OneUserReactsOnceInOneWay) {
  meet(react(kBen, "+", true, "phone"), react(kBen, "+", true, "desk"));
  EXPECT_EQ(first<MutatedReply>().seq, Seq(3));
  EXPECT_EQ(then<MutatedReply>().seq, Seq()) << "so already";
  EXPECT_THAT(reactions(kBen), ElementsAre(Reaction{"+", 1, true}));
  EXPECT_THAT(kept(kBen), ElementsAre("+"));
  EXPECT_EQ(entries(), 3u);
}

TEST_P(ReactionConflicts, OnAndOffTheLaterCommitWins) {
  meet(react(kBen, "+", true, "phone"), react(kBen, "+", false, "desk"));
  EXPECT_THAT(reactions(kBen), IsEmpty());
  EXPECT_THAT(kept(kBen), IsEmpty());
  meet(react(kBen, "+", false, "desk"), react(kBen, "+", true, "phone"));
  EXPECT_EQ(first<MutatedReply>().seq, Seq()) << "so already";
  EXPECT_THAT(reactions(kBen), ElementsAre(Reaction{"+", 1, true}));
}

TEST_P(ReactionConflicts, TwoUsersWhoReactAlikeAreTwo) {
  meet(react(kBen, "+"), react(kAnn, "+"));
  EXPECT_THAT(reactions(kAnn), ElementsAre(Reaction{"+", 2, true}));
  meet(react(kAnn, "+", false), react(kBen, "-"));
  EXPECT_THAT(reactions(kAnn), ElementsAre(Reaction{"+", 1, false}, Reaction{"-", 1, false}));
  EXPECT_THAT(kept(kBen), UnorderedElementsAre("+", "-"));
}

// -------------------------------------------------------------------------------------------------------- limits

TEST_P(ReactionConflicts, TheNinthReactionOfAUserIsRefusedWhateverItMeets) {
  for (int i = 0; i < 7; ++i) world_.get<MutatedReply>(react(kBen, "r" + std::to_string(i)));
  meet(react(kBen, "eighth", true, "phone"), react(kBen, "ninth", true, "desk"));
  EXPECT_EQ(first<MutatedReply>().seq, Seq(10));
  EXPECT_EQ(then_refused(), ErrorCode::LIMIT_REACHED);
  EXPECT_THAT(kept(kBen), SizeIs(8));
  meet(react(kBen, "r0", false, "phone"), react(kBen, "ninth", true, "desk"));
  EXPECT_EQ(then<MutatedReply>().seq, Seq(12)) << "one has made room";
  EXPECT_THAT(kept(kBen), SizeIs(8));
  meet(react(kBen, "tenth", true, "desk"), react(kBen, "ninth", false, "phone"));
  EXPECT_EQ(then<MutatedReply>().seq, Seq(13)) << "too late to make room";
  EXPECT_THAT(kept(kBen), SizeIs(7));
}

TEST_P(ReactionConflicts, TheKind33OfAMessageIsRefusedWhateverItMeets) {
  const Group group = many(6);
  for (int i = 0; i < 31; ++i)
    world_.get<MutatedReply>(vote(group, "u" + std::to_string(1 + i / 8), "k" + std::to_string(i)));
  meet(vote(group, "u5", "k31"), vote(group, "ann", "k32"));
  EXPECT_EQ(then_refused(), ErrorCode::LIMIT_REACHED);
  EXPECT_THAT(in_group(group), SizeIs(32));
  world_.get<MutatedReply>(vote(group, "ann", "k31"));  // one of those that are there
  meet(vote(group, "u1", "k0", false), vote(group, "ann", "k32"));
  EXPECT_NE(then<MutatedReply>().seq, Seq()) << "the only one of its kind has made room";
  EXPECT_THAT(in_group(group), SizeIs(32));
  meet(vote(group, "ann", "k33"), vote(group, "u1", "k1", false));
  EXPECT_NE(then<MutatedReply>().seq, Seq()) << "too late to make room";
  EXPECT_THAT(in_group(group), SizeIs(31));
}

}  // namespace
}  // namespace tidemark
