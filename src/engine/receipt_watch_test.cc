// Who watches whose receipts: coalesced, bounded, and forgotten with the last watcher.
#include "engine/receipt_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ConversationId kChat("a_b");
const UserId kBen("b");

TEST(ReceiptWatch, many_changes_within_a_while_are_told_once) {
  ReceiptWatch watch(1'000);
  watch.watch(1, kChat);
  for (int i = 0; i < 100; ++i) watch.read(kChat, kBen);
  const auto due = watch.take_due(5'000);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].link, 1u);
  EXPECT_THAT(due[0].users, ElementsAre(kBen));
  EXPECT_THAT(watch.take_due(6'000), IsEmpty()) << "nothing since";
  watch.read(kChat, kBen);
  EXPECT_THAT(watch.take_due(5'999), IsEmpty()) << "not so soon";
  EXPECT_THAT(watch.take_due(6'000), SizeIs(1));
}

TEST(ReceiptWatch, acknowledgements_count_for_users_that_are_known) {
  ReceiptWatch watch(0);
  watch.watch(1, kChat);
  watch.acknowledged(kBen);
  EXPECT_THAT(watch.take_due(1), IsEmpty());
  watch.know(kChat, std::vector{kBen});
  watch.acknowledged(kBen);
  EXPECT_THAT(watch.take_due(1), SizeIs(1));
  watch.read(ConversationId("a_c"), kBen);
  EXPECT_THAT(watch.take_due(1), IsEmpty()) << "nobody looks there";
}

TEST(ReceiptWatch, what_could_not_be_told_waits) {
  ReceiptWatch watch(0);
  watch.watch(1, kChat);
  watch.read(kChat, kBen);
  const auto due = watch.take_due(1);
  watch.put_back(due.at(0));
  EXPECT_THAT(watch.take_due(2), SizeIs(1));
  watch.down(1);
  watch.put_back(due.at(0));
  EXPECT_THAT(watch.take_due(3), IsEmpty());
}

TEST(ReceiptWatch, the_last_eight_conversations_of_a_link_are_watched) {
  ReceiptWatch watch(0);
  for (int i = 0; i < 9; ++i) watch.watch(1, ConversationId("a_" + std::to_string(i)));
  watch.read(ConversationId("a_0"), kBen);
  EXPECT_THAT(watch.take_due(1), IsEmpty());
  watch.read(ConversationId("a_8"), kBen);
  EXPECT_THAT(watch.take_due(1), SizeIs(1));
}

TEST(ReceiptWatch, nothing_is_kept_of_links_that_went) {
  ReceiptWatch watch(0);
  watch.watch(1, kChat);
  watch.watch(2, kChat);
  watch.know(kChat, std::vector{kBen});
  watch.down(1);
  watch.acknowledged(kBen);
  EXPECT_THAT(watch.take_due(1), SizeIs(1));
  watch.unwatch(2, kChat);
  EXPECT_TRUE(watch.empty());
  watch.acknowledged(kBen);
  EXPECT_THAT(watch.take_due(2), IsEmpty());
}

}  // namespace
}  // namespace tidemark
