// A request under a key of its own, asked again: what it answers, and to whom no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

class UnderAKey : public testing::Test {
 protected:
  Session by(const std::string& user, const std::string& key) {
    Session session;
    session.user = UserId(user);
    session.idempotency_key = key;
    session.request = digest_of({key});
    return session;
  }
  EngineWorld world;
};

TEST_F(UnderAKey, WhatIsOfTheUserHimselfIsAnsweredAgain) {
  MutateCommand setting;
  setting.user = UserId("a");
  setting.change = SettingCommand{UserId("a"), "theme", "1"};
  MutateCommand block;
  block.user = UserId("a");
  block.change = BlockCommand{UserId("a"), UserId("b"), true};
  for (const MutateCommand& command : {setting, block}) {
    const std::string key = std::to_string(command.change.index());
    const auto first = world.get<MutatedReply>(command, by("a", key));
    const auto again = world.get<MutatedReply>(command, by("a", key));
    EXPECT_EQ(again.mark, first.mark) << "done once";
  }
}

TEST_F(UnderAKey, WhoHasLeftIsToldNothingOfHowTheGroupWentOn) {
  const Group group = make_group(world, "a", {"b", "c"});
  ChangeGroupCommand rename;
  rename.user = UserId("a");
  rename.conversation = ConversationId(group.id);
  rename.title = "before";
  world.get<GroupReply>(rename, by("a", "k"));
  EXPECT_EQ(world.get<GroupReply>(rename, by("a", "k")).group.title, "before");
  world.get<GroupReply>(remove("a", group, "a"));
  const Seq left = world.change("a", group.id).head_seq;
  ChangeGroupCommand later = rename;
  later.user = UserId("b");
  later.title = "secret";
  later.data = "{}";
  world.get<GroupReply>(later);
  const auto again = world.get<GroupReply>(rename, by("a", "k"));
  EXPECT_EQ(again.group.title, "");
  EXPECT_EQ(again.group.data, "");
  EXPECT_EQ(again.group.size, 0U);
  EXPECT_TRUE(again.group.members.empty());
  EXPECT_EQ(again.head, left);
}

}  // namespace
}  // namespace tidemark
