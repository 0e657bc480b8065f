// Priorities through the commit round: who may send with them, and what a returning device is brought first (design,
// section 11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/reads.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Priorities : public testing::Test {
 protected:
  SendCommand message(const std::string& sender, const std::string& to, Priority priority,
                      const std::string& level = "") {
    SendCommand command = world.message(sender, to, "hello");
    command.priority = priority;
    command.level = level;
    return command;
  }
  void send(const std::string& sender, const std::string& to, Priority priority) {
    ASSERT_TRUE(world.call(message(sender, to, priority)).has_value());
  }
  /// Fifty people write to b; `early` of the first of them with high priority.
  void fifty_write(int early) {
    for (int i = 0; i < 50; ++i) send(person(i), "b", i < early ? Priority::high : Priority::normal);
  }
  static std::string person(int number) { return "c" + std::to_string(100 + number); }
  static std::string with_person(int number) { return "b_" + person(number); }

  SyncPage page(SyncQuery query = {}) {
    StoreView view = world.view();
    query.user = UserId("b");
    query.limit = 10;
    auto read = read_sync(view, world.params(), query);
    EXPECT_TRUE(read.has_value());
    return read ? std::move(*read) : SyncPage{};
  }
  std::vector<std::string> extras(SyncQuery query = {}) {
    std::vector<std::string> ids;
    for (const Change& change : page(std::move(query)).extras) ids.push_back(change.conversation.value);
    return ids;
  }
  EngineWorld world;
};

TEST_F(Priorities, WhoeverMaySendWithThemByDefault) {
  send("a", "b", Priority::high);
  send("a", "b", Priority::low);
  StoreView view = world.view();
  EXPECT_EQ(view.entry(ConversationId("a_b"), Seq(1))->priority, Priority::high);
  EXPECT_EQ(view.entry(ConversationId("a_b"), Seq(2))->priority, Priority::low);
}

/// What each level may, for every setting: free, paid, vip, an admin token.
TEST_F(Priorities, TheyAreGrantedByLevel) {
  for (const Granted granted : {Granted::everyone, Granted::paid, Granted::vip, Granted::admin}) {
    EngineOptions options;
    options.params.high_priority = granted;
    EngineWorld strict(options);
    const std::vector<std::string> levels{"free", "paid", "vip"};
    for (std::size_t rank = 0; rank <= levels.size(); ++rank) {
      SendCommand command = strict.message("a", "b", "hello");
      command.priority = Priority::high;
      command.admin = rank == levels.size();
      if (rank < levels.size()) command.level = levels[rank];
      const auto reply = strict.call(command);
      EXPECT_EQ(reply.has_value(), rank >= static_cast<std::size_t>(granted)) << rank;
      if (reply) continue;
      EXPECT_EQ(reply.error().code, ErrorCode::FORBIDDEN);
      EXPECT_EQ(reply.error().field, "priority");
    }
    SendCommand low = strict.message("a", "b", "hello");
    low.priority = Priority::low;
    EXPECT_TRUE(strict.call(low).has_value()) << "each priority has a setting of its own";
  }
}

TEST_F(Priorities, TheStoredLevelCountsAndNotTheTokens) {
  EngineOptions options;
  options.params.high_priority = Granted::vip;
  EngineWorld strict(options);
  SendCommand command = strict.message("a", "b", "hello");
  command.priority = Priority::high;
  command.level = "free";
  ASSERT_TRUE(strict.call(SetUserCommand{UserId("a"), "vip"}).has_value());
  EXPECT_TRUE(strict.call(command).has_value());
  ASSERT_TRUE(strict.call(SetUserCommand{UserId("a"), "free"}).has_value());
  command = strict.message("a", "b", "hello");
  command.priority = Priority::high;
  command.level = "vip";
  EXPECT_EQ(strict.refused(command), ErrorCode::FORBIDDEN);
}

TEST_F(Priorities, AReturningDeviceIsBroughtFirstWhatIsHigh) {
  fifty_write(2);
  const SyncPage first = page();
  ASSERT_TRUE(first.more);
  ASSERT_EQ(first.extras.size(), 2u);
  EXPECT_EQ(first.extras[0].conversation.value, with_person(1)) << "the newest of them first";
  EXPECT_EQ(first.extras[1].conversation.value, with_person(0));
  EXPECT_EQ(first.extras[0].unread.count, 1u);
  EXPECT_EQ(first.changes.size(), 10u) << "besides what is on the page";
  SyncQuery next;
  next.p0 = first.p0;
  next.p0_round = first.p0_round;
  next.below = first.after;
  EXPECT_THAT(extras(next), IsEmpty()) << "once for a run";
}

TEST_F(Priorities, WhatIsOnThePageIsNotBroughtTwice) {
  for (int i = 0; i < 50; ++i) send(person(i), "b", i == 49 ? Priority::high : Priority::normal);
  EXPECT_THAT(extras(), IsEmpty());
}

TEST_F(Priorities, WhatWasReadTakenBackOrKnownComesAtItsPlace) {
  fifty_write(4);
  ASSERT_TRUE(world.call(world.read_to("b", with_person(0), 1)).has_value());
  MutateCommand recall;
  recall.user = UserId(person(1));
  recall.device = DeviceId("d");
  recall.change = RecallCommand{UserId(person(1)), DeviceId("d"), ConversationId(with_person(1)), Seq(1), false};
  ASSERT_TRUE(world.call(recall).has_value());
  for (int i = 10; i < 40; ++i) send(person(i), "b", Priority::normal);
  EXPECT_THAT(extras(), ElementsAre(with_person(3), with_person(2)));
  SyncQuery knows;
  StoreView view = world.view();
  knows.cursor.epoch = view.epoch();
  knows.cursor.mark = view.user_conversation(UserId("b"), ConversationId(with_person(2)))->mark();
  EXPECT_THAT(extras(knows), ElementsAre(with_person(3)));
}

TEST_F(Priorities, EightConversationsAtMostAndTheNewestOfThem) {
  fifty_write(12);
  std::vector<std::string> expected;
  for (int i = 11; i >= 4; --i) expected.push_back(with_person(i));
  EXPECT_EQ(extras(), expected);
}

TEST_F(Priorities, TheyTakeAtMostHalfOfAPageButOneAlwaysComes) {
  for (int i = 0; i < 50; ++i) {
    SendCommand command = message(person(i), "b", i < 3 ? Priority::high : Priority::normal);
    command.body.text = std::string(900, 'x');
    ASSERT_TRUE(world.call(command).has_value());
  }
  SyncQuery recent;
  recent.bodies = Bodies::recent;
  recent.recent = 1;
  recent.byte_budget = 4'096;
  EXPECT_THAT(extras(recent), ElementsAre(with_person(2), with_person(1)));
}

}  // namespace
}  // namespace tidemark
