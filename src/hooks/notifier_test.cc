#include "hooks/notifier.h"

#include <gmock/gmock.h>

namespace tidemark {
namespace {

class Notifying : public ::testing::Test {
 protected:
  std::vector<Notifier::Turn> due(std::int64_t now_ms) {
    return notifier_.due(now_ms, [this](const UserId&) { return has_; });
  }
  const UserId user_{"1"};
  Mark has_;
  Notifier notifier_{{.after_ms = 10'000, .offline_ms = 1'000, .tries = 3, .retry_ms = 1'000, .users_max = 2}};
};

TEST_F(Notifying, WhoHasADeviceIsGivenTenSecondsAndWhoHasNoneOne) {
  notifier_.message(user_, Mark(5), true, 0);
  notifier_.message(UserId("2"), Mark(7), false, 0);
  EXPECT_EQ(due(999).size(), 0u);
  const auto first = due(1'000);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].user.value, "2");
  EXPECT_EQ(first[0].up_to, Mark(7));
  EXPECT_EQ(due(9'999).size(), 0u);
  ASSERT_EQ(due(10'000).size(), 1u);
}

TEST_F(Notifying, WhoHasNoDeviceIsToldOfHighAtOnceAndOfLowLater) {
  notifier_.message(user_, Mark(5), false, 1'000, Priority::low);
  notifier_.message(UserId("2"), Mark(7), false, 1'000, Priority::high);
  const auto first = due(1'000);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].user.value, "2");
  EXPECT_EQ(due(5'999).size(), 0u);
  ASSERT_EQ(due(6'000).size(), 1u);
}

TEST_F(Notifying, LowGoesAlongWithWhatComesAfterIt) {
  notifier_.message(user_, Mark(5), false, 0, Priority::low);
  notifier_.message(user_, Mark(6), false, 100, Priority::high);
  const auto turns = due(100);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].up_to, Mark(6));
}

TEST_F(Notifying, ADeviceThatIsThereBringsHighItself) {
  notifier_.message(user_, Mark(5), true, 0, Priority::high);
  EXPECT_EQ(due(9'999).size(), 0u);
  ASSERT_EQ(due(10'000).size(), 1u);
}

TEST_F(Notifying, WhatWasAcknowledgedInTimeNeedsNoTelling) {
  notifier_.message(user_, Mark(5), true, 0);
  has_ = Mark(5);
  EXPECT_EQ(due(10'000).size(), 0u);
  EXPECT_EQ(notifier_.users(), 0u);
}

TEST_F(Notifying, EachMessageHasItsOwnTimeOnceThoseBeforeItHaveArrived) {
  notifier_.message(user_, Mark(5), true, 0);
  notifier_.message(user_, Mark(6), true, 6'000);
  has_ = Mark(5);
  EXPECT_EQ(due(10'000).size(), 0u);
  EXPECT_EQ(due(15'999).size(), 0u);
  ASSERT_EQ(due(16'000).size(), 1u);
}

TEST_F(Notifying, WhatComesTogetherIsToldTogetherAndNothingWhileATurnLasts) {
  for (std::uint64_t mark = 1; mark <= 50; ++mark) notifier_.message(user_, Mark(mark), false, 0);
  const auto turns = due(1'000);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].up_to, Mark(50));
  notifier_.message(user_, Mark(51), false, 1'000);
  EXPECT_EQ(due(5'000).size(), 0u) << "the last telling is still on its way";
  notifier_.done(turns[0]);
  EXPECT_EQ(due(5'000).size(), 1u);
}

TEST_F(Notifying, WhoLosesHisDeviceNeedNotBeWaitedFor) {
  notifier_.message(user_, Mark(5), true, 0);
  notifier_.message(user_, Mark(6), false, 500);
  EXPECT_EQ(due(1'500).size(), 1u);
}

TEST_F(Notifying, AChangeAloneTakesAwayAndTellsNothingNew) {
  notifier_.message(user_, Mark(5), true, 0);
  notifier_.changed(user_, 0);
  const auto turns = due(1'000);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].up_to, Mark());
  notifier_.done(turns[0]);
  EXPECT_EQ(due(10'000).size(), 1u) << "the message has its own time";
}

TEST_F(Notifying, AFailureIsTriedAgainLaterAndGivenUpInTheEnd) {
  notifier_.message(user_, Mark(5), false, 0);
  std::int64_t now = 1'000;
  for (const std::int64_t wait : {1'000, 2'000}) {
    const auto turns = due(now);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_TRUE(notifier_.failed(turns[0], now, 0));
    EXPECT_EQ(due(now + wait - 1).size(), 0u);
    now += wait;
  }
  const auto last = due(now);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].number, 3u);
  EXPECT_EQ(last[0].up_to, Mark(5));
  EXPECT_FALSE(notifier_.failed(last[0], now, 0));
  EXPECT_EQ(notifier_.users(), 0u);
}

TEST_F(Notifying, BeyondItsBoundNobodyIsHeld) {
  for (const char* user : {"1", "2", "3"}) notifier_.message(UserId(user), Mark(1), false, 0);
  EXPECT_EQ(notifier_.users(), 2u);
  EXPECT_EQ(notifier_.dropped(), 1u);
}

}  // namespace
}  // namespace tidemark
