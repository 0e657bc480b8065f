// What wins when two changes meet: the table of the design (section 7), cell by cell. The order of the log decides;
// so each cell is told in both orders (engine/conflict_cells.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/conflict_cells.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Conflicts : public ConflictCells {};

INSTANTIATE_TEST_SUITE_P(InRounds, Conflicts, ::testing::Values(Rounds::one, Rounds::two), name_of_rounds);

// ------------------------------------------------------------------------------------------------ replies and ends

TEST_P(Conflicts, S71_AReplyAfterARecallIsRefused) {
  SendCommand late = reply(kBen, Seq(1));
  meet(recall(Seq(1)), late);
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(entries(), 3u) << "no entry";
  EXPECT_EQ(shown(kBen, Seq(1)), "(recalled)");
  late.reply_to = {};
  EXPECT_FALSE(world_.get<SentReply>(late).duplicate) << "the id was not used up: it goes without the quote";
}

TEST_P(Conflicts, S71_AReplyBeforeARecallStaysAndQuotesTheMarker) {
  meet(reply(kBen, Seq(1)), recall(Seq(1)));
  const Seq answer = first<SentReply>().seq;
  EXPECT_EQ(then<MutatedReply>().state, MessageState::recalled);
  for (const UserId& user : {kAnn, kBen}) {
    EXPECT_EQ(shown(user, answer), "answer");
    EXPECT_EQ(shown(user, Seq(1)), "(recalled)");
  }
  EXPECT_EQ(log_of(world_, kChat.value)[answer.value - 1].reply_to, Seq(1)) << "a reference";
  EXPECT_THAT(all_texts(), Not(HasSubstr("secret"))) << "and never a copy";
}

TEST_P(Conflicts, AReplyAfterAnOperatorsDeleteIsRefused) {
  SendCommand late = reply(kBen, Seq(1));
  meet(operators_delete(Seq(1)), late);
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(entries(), 3u);
  EXPECT_EQ(shown(kBen, Seq(1)), "(deleted)");
  late.reply_to = {};
  EXPECT_FALSE(world_.get<SentReply>(late).duplicate);
}

TEST_P(Conflicts, AReplyBeforeAnOperatorsDeleteStaysAndQuotesTheMarker) {
  meet(reply(kBen, Seq(1)), operators_delete(Seq(1)));
  EXPECT_EQ(shown(kAnn, first<SentReply>().seq), "answer");
  EXPECT_EQ(shown(kBen, Seq(1)), "(deleted)");
  EXPECT_THAT(all_texts(), Not(HasSubstr("secret")));
}

TEST_P(Conflicts, WhoDeletedAMessageForHimselfCannotAnswerItOnAnyDevice) {
  SendCommand late = reply(kBen, Seq(1), "desk");
  meet(delete_for_me(kBen, Seq(1), "phone"), late);
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(entries(), 2u);
  late.reply_to = {};
  EXPECT_FALSE(world_.get<SentReply>(late).duplicate) << "the id was not used up";
}

TEST_P(Conflicts, WhatOneDeletedForHimselfOthersCanAnswer) {
  meet(delete_for_me(kBen, Seq(1)), reply(kAnn, Seq(1)));
  EXPECT_EQ(shown(kBen, then<SentReply>().seq), "answer");
  EXPECT_EQ(shown(kBen, Seq(1)), "") << "his quote shows the marker";
  EXPECT_EQ(shown(kAnn, Seq(1)), "secret");
}

TEST_P(Conflicts, AReplyStaysWhenItsTargetIsDeletedForOneself) {
  meet(reply(kBen, Seq(1), "desk"), delete_for_me(kBen, Seq(1), "phone"));
  const Seq answer = first<SentReply>().seq;
  EXPECT_EQ(then<MutatedReply>().deleted, 1u);
  EXPECT_EQ(shown(kBen, answer), "answer");
  EXPECT_EQ(shown(kBen, Seq(1)), "") << "his quote shows the marker";
  EXPECT_EQ(shown(kAnn, answer), "answer");
  EXPECT_EQ(shown(kAnn, Seq(1)), "secret") << "others' quotes are as before";
}

// ------------------------------------------------------------------------------------------------ edits and recalls

TEST_P(Conflicts, S72_AnEditAfterARecallIsRefused) {
  meet(recall(Seq(1), "phone"), edit(Seq(1), "secret too", "desk"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  for (const UserId& user : {kAnn, kBen}) EXPECT_EQ(shown(user, Seq(1)), "(recalled)");
  EXPECT_EQ(entries(), 3u);
}

TEST_P(Conflicts, S72_AnEditBeforeARecallIsTakenBackWithIt) {
  meet(edit(Seq(1), "secret too", "desk"), recall(Seq(1), "phone"));
  EXPECT_EQ(first<MutatedReply>().state, MessageState::edited);
  EXPECT_EQ(then<MutatedReply>().state, MessageState::recalled);
  for (const UserId& user : {kAnn, kBen}) EXPECT_EQ(shown(user, Seq(1)), "(recalled)");
  EXPECT_THAT(all_texts(), Not(HasSubstr("secret"))) << "no version of it";
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 1u);
}

TEST_P(Conflicts, AnEditAfterAnOperatorsDeleteIsRefused) {
  meet(operators_delete(Seq(1)), edit(Seq(1), "secret too"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(shown(kBen, Seq(1)), "(deleted)");
}

TEST_P(Conflicts, AnEditBeforeAnOperatorsDeleteIsDeletedWithIt) {
  meet(edit(Seq(1), "secret too"), operators_delete(Seq(1)));
  EXPECT_EQ(shown(kBen, Seq(1)), "(deleted)");
  EXPECT_THAT(all_texts(), Not(HasSubstr("secret")));
}

TEST_P(Conflicts, ARecallAndAnOperatorsDeleteLeaveTheMarkerOfTheFirst) {
  meet(recall(Seq(1)), operators_delete(Seq(1)));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::recalled) << "as it was already";
  EXPECT_EQ(shown(kBen, Seq(1)), "(recalled)");
  meet(operators_delete(Seq(2)), recall(Seq(2)));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::deleted);
  EXPECT_EQ(shown(kBen, Seq(2)), "(deleted)");
  EXPECT_EQ(entries(), 4u) << "one entry for each message that ended";
}

TEST_P(Conflicts, S73_OfTwoEditsTheLaterSeqWins) {
  meet(edit(Seq(1), "from the phone", "phone"), edit(Seq(1), "from the desk", "desk"));
  const Seq earlier = first<MutatedReply>().revision;
  const Seq later = then<MutatedReply>().revision;
  EXPECT_LT(earlier, later);
  EXPECT_EQ(shown(kBen, Seq(1)), "from the desk");
  meet(edit(Seq(1), "the desk again", "desk"), edit(Seq(1), "the phone again", "phone"));
  EXPECT_EQ(shown(kBen, Seq(1)), "the phone again");
  EXPECT_EQ(shown(kAnn, Seq(1)), "the phone again");
  EXPECT_LT(later, then<MutatedReply>().revision) << "a revision never goes down";
}

TEST_P(Conflicts, S73_OfTwoEditsOfOneRevisionTheSecondIsRefused) {
  meet(edit(Seq(1), "from the phone", "phone", Seq()), edit(Seq(1), "from the desk", "desk", Seq()));
  EXPECT_EQ(then_refused(), ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(shown(kBen, Seq(1)), "from the phone");
  const Seq revision = first<MutatedReply>().revision;
  meet(edit(Seq(1), "the desk again", "desk", revision), edit(Seq(1), "the phone again", "phone", revision));
  EXPECT_EQ(then_refused(), ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(shown(kBen, Seq(1)), "the desk again");
}

// ----------------------------------------------------------------------------------------------------- for oneself

TEST_P(Conflicts, S77_WhatWasDeletedForOneselfStaysHiddenWhenItIsEdited) {
  meet(delete_for_me(kBen, Seq(1)), edit(Seq(1), "secret too"));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::edited);
  EXPECT_EQ(shown(kBen, Seq(1)), "");
  EXPECT_EQ(shown(kAnn, Seq(1)), "secret too");
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 1u);
}

TEST_P(Conflicts, WhatWasEditedCanBeDeletedForOneself) {
  meet(edit(Seq(1), "secret too"), delete_for_me(kBen, Seq(1)));
  EXPECT_EQ(then<MutatedReply>().deleted, 1u);
  EXPECT_EQ(shown(kBen, Seq(1)), "");
  EXPECT_EQ(shown(kAnn, Seq(1)), "secret too");
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 1u);
}

TEST_P(Conflicts, S76_WhatWasDeletedForOneselfShowsNothingWhenItIsTakenBack) {
  meet(delete_for_me(kBen, Seq(1)), recall(Seq(1)));
  EXPECT_EQ(shown(kBen, Seq(1)), "") << "not even a marker";
  EXPECT_EQ(shown(kAnn, Seq(1)), "(recalled)");
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 1u) << "dead and deleted is one less, not two";
}

TEST_P(Conflicts, S76_TheMarkerOfWhatWasTakenBackCanBeDeletedForOneself) {
  meet(recall(Seq(1)), delete_for_me(kBen, Seq(1)));
  EXPECT_EQ(shown(kBen, Seq(1)), "");
  EXPECT_EQ(shown(kAnn, Seq(1)), "(recalled)");
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 1u);
}

TEST_P(Conflicts, ItsAuthorWhoDeletedItForHimselfMayTakeItBackAndNotEditIt) {
  meet(delete_for_me(kAnn, Seq(1), "phone"), edit(Seq(1), "secret too", "desk"));
  EXPECT_EQ(then_refused(), ErrorCode::MESSAGE_DELETED);
  meet(delete_for_me(kAnn, Seq(2), "phone"), recall(Seq(2), "desk"));
  EXPECT_EQ(then<MutatedReply>().state, MessageState::recalled);
  EXPECT_EQ(shown(kBen, Seq(1)), "secret");
  EXPECT_EQ(shown(kBen, Seq(2)), "(recalled)");
}

TEST_P(Conflicts, S46_ReadPointersMeetAtTheFurther) {
  for (int i = 3; i <= 30; ++i) world_.send("ann", "ben", "more");
  meet(read_to(Seq(30), "phone"), read_to(Seq(25), "desk"));
  EXPECT_EQ(then<MutatedReply>().read, Seq(30));
  EXPECT_EQ(then<MutatedReply>().mark, first<MutatedReply>().mark) << "nothing changed";
  EXPECT_EQ(world_.change("ben", kChat.value).read, Seq(30));
}

TEST_P(Conflicts, S46_ReadPointersMeetAtTheFurtherInEitherOrder) {
  for (int i = 3; i <= 30; ++i) world_.send("ann", "ben", "more");
  meet(read_to(Seq(25), "desk"), read_to(Seq(30), "phone"));
  EXPECT_EQ(first<MutatedReply>().unread.count, 5u);
  EXPECT_EQ(then<MutatedReply>().read, Seq(30));
  EXPECT_EQ(world_.change("ben", kChat.value).read, Seq(30));
  EXPECT_EQ(world_.change("ben", kChat.value).unread.count, 0u);
}

// ----------------------------------------------------------------------------------------------------- sent again

TEST_P(Conflicts, S10_ARetryAfterARecallBringsNothingBack) {
  meet(recall(Seq(1), "desk"), said_);
  const SentReply again = then<SentReply>();
  EXPECT_EQ(again.seq, Seq(1));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.state, MessageState::recalled);
  EXPECT_EQ(shown(kBen, Seq(1)), "(recalled)");
  EXPECT_THAT(all_texts(), Not(HasSubstr("secret")));
  EXPECT_EQ(entries(), 3u);
}

TEST_P(Conflicts, S10_ARetryBeforeARecallIsADuplicateOfWhatLives) {
  meet(said_, recall(Seq(1), "desk"));
  EXPECT_TRUE(first<SentReply>().duplicate);
  EXPECT_EQ(first<SentReply>().state, MessageState::live);
  EXPECT_EQ(shown(kBen, Seq(1)), "(recalled)");
  EXPECT_EQ(entries(), 3u);
}

TEST_P(Conflicts, S10_SentAndTakenBackAtOnceTheRetryFindsTheMarker) {
  // The first attempt is of the same moment: nothing of it was published when it is taken back.
  const SendCommand fresh = world_.message("ann", "ben", "a slip");
  meet(fresh, recall(Seq(3), "desk"));
  EXPECT_EQ(first<SentReply>().seq, Seq(3));
  const auto again = world_.get<SentReply>(fresh);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.state, MessageState::recalled);
  EXPECT_THAT(all_texts(), Not(HasSubstr("slip")));
}

// ------------------------------------------------------------------------------------------------- the later commit

TEST_P(Conflicts, S56_OfTwoDraftsTheLaterCommitWins) {
  const auto draft = [](const char* text, const char* device) {
    DraftCommand command{{}, kChat, {}, {}};
    command.body.text = text;
    return mutate(kBen, device, std::move(command));
  };
  const auto saved = [&] {
    const auto all = objects(kBen);
    EXPECT_EQ(all.size(), 1u) << "the loser is not merged into it";
    return all.empty() ? "" : std::get<SavedDraft>(all.front().what).body.text;
  };
  meet(draft("of the phone", "phone"), draft("of the desk", "desk"));
  EXPECT_EQ(saved(), "of the desk");
  meet(draft("of the desk again", "desk"), draft("of the phone again", "phone"));
  EXPECT_EQ(saved(), "of the phone again");
}

TEST_P(Conflicts, S57_OfTwoSettingsTheLaterCommitWins) {
  const auto set = [](const char* value, const char* device) {
    return mutate(kBen, device, SettingCommand{{}, "theme", value});
  };
  const auto value = [&] { return std::get<Setting>(objects(kBen).at(0).what).value; };
  meet(set("\"dark\"", "phone"), set("\"light\"", "desk"));
  EXPECT_EQ(value(), "\"light\"");
  meet(set("1", "desk"), set("2", "phone"));
  EXPECT_EQ(value(), "2");
  EXPECT_LT(first<MutatedReply>().mark, then<MutatedReply>().mark);
}

TEST_P(Conflicts, S57_MutingAndUnmutingTheLaterCommitWins) {
  const auto mute = [](std::int64_t until, const char* device) {
    return mutate(kBen, device, MuteCommand{{}, kChat, until});
  };
  meet(mute(kForEver, "phone"), mute(0, "desk"));
  EXPECT_EQ(world_.change("ben", kChat.value).muted_until, 0);
  meet(mute(0, "desk"), mute(kForEver, "phone"));
  EXPECT_EQ(world_.change("ben", kChat.value).muted_until, kForEver);
}

}  // namespace
}  // namespace tidemark
