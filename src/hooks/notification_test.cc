// What a user is notified of, over an engine's store.
#include "hooks/notification.h"

#include <gmock/gmock.h>

#include "core/conversation_id.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Look : public ::testing::Test {
 protected:
  NotificationLook look(const std::string& user, bool news = true, Mark acknowledged = {}) {
    StoreView view = world_.view();
    const UserId id(user);
    const Mark up_to = news ? view.user(id).mark : Mark();
    auto made = look_at(view, world_.params(), options_, id, told_[user], acknowledged, up_to, world_.clock.wall);
    EXPECT_FALSE(view.failure());
    return made;
  }
  /// What is told, as "conversation:seq unread text", and noted as told.
  std::vector<std::string> tell(const std::string& user, bool news = true) {
    NotificationLook made = look(user, news);
    std::vector<std::string> texts;
    if (!made.tell) return texts;
    told_[user] = made.after;
    for (const ShownConversation& each : made.tell->conversations)
      texts.push_back(message_id(each.conversation, each.message.seq) + " " + std::to_string(each.unread.count) + " " +
                      each.text + (each.mentioned ? " @" : ""));
    for (const ConversationId& each : made.tell->withdrawn) texts.push_back("-" + each.value);
    return texts;
  }
  void mutate(const std::string& user, auto change) {
    MutateCommand command;
    command.user = UserId(user);
    command.change = std::move(change);
    world_.get<MutatedReply>(command);
  }

  static EngineOptions options() {
    EngineOptions made;
    made.params.small_max = 5;
    return made;
  }

  EngineWorld world_{options()};
  NotificationOptions options_;
  std::map<std::string, NotifiedUser> told_;
};

TEST_F(Look, WhatWasImportedIsNoNews) {
  world_.send("1", "2", "before");
  ImportCommand import;
  import.name = "old";
  import.conversation = ConversationId("2_3");
  import.messages.resize(1);
  import.messages[0].source_id = "1";
  import.messages[0].sender = UserId("3");
  import.messages[0].server_time = world_.clock.wall - 1;
  import.messages[0].body.text = "imported";
  import.reads = {{UserId("2"), ""}};
  world_.get<ImportReply>(import);
  EXPECT_THAT(tell("2"), ElementsAre("1_2:1 1 before"));
  world_.clock.pass(5);
  world_.send("3", "2", "new");
  EXPECT_THAT(tell("2"), ElementsAre("2_3:2 2 new", "1_2:1 1 before"));
}

TEST_F(Look, TellsTheNewestOfEachConversationAndTheBadge) {
  world_.send("1", "2", "a");
  world_.send("1", "2", "b");
  world_.clock.pass(5);
  world_.send("3", "2", "c");
  const auto made = look("2");
  ASSERT_TRUE(made.tell);
  EXPECT_EQ(made.tell->badge, (Unread{3, true}));
  EXPECT_THAT(tell("2"), ElementsAre("2_3:1 1 c", "1_2:2 2 b"));
  EXPECT_THAT(tell("2"), IsEmpty()) << "it was told";
  EXPECT_THAT(tell("1"), IsEmpty()) << "nobody is notified of his own";
  world_.send("1", "2", "d");
  EXPECT_THAT(tell("2"), ElementsAre("1_2:3 3 d", "2_3:1 1 c")) << "it replaces what was told before";
}

TEST_F(Look, WhatADeviceHasAcknowledgedIsNotNews) {
  world_.send("1", "2", "a");
  StoreView view = world_.view();
  EXPECT_FALSE(look("2", true, view.user(UserId("2")).mark).tell);
}

TEST_F(Look, ReadingTakesItAway) {
  world_.send("1", "2", "a");
  tell("2");
  world_.get<MutatedReply>(world_.read_to("2", "1_2", 1));
  EXPECT_THAT(tell("2", false), ElementsAre("-1_2"));
  EXPECT_THAT(tell("2", false), IsEmpty());
}

TEST_F(Look, ARecallTakesItAwayOrShowsWhatIsLeft) {
  world_.send("1", "2", "a");
  world_.send("1", "2", "b");
  tell("2");
  mutate("1", RecallCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(2)});
  EXPECT_THAT(tell("2", false), ElementsAre("1_2:1 1 a"));
  mutate("1", RecallCommand{UserId("1"), DeviceId(), ConversationId("1_2"), Seq(1)});
  EXPECT_THAT(tell("2", false), ElementsAre("-1_2"));
}

TEST_F(Look, AChangeTellsNothingNew) {
  world_.send("1", "2", "a");
  EXPECT_THAT(tell("2", false), IsEmpty());
  tell("2");
  world_.send("1", "2", "b");
  EXPECT_THAT(tell("2", false), IsEmpty()) << "b has its own time";
  EXPECT_THAT(tell("2"), ElementsAre("1_2:2 2 b"));
}

TEST_F(Look, AMutedConversationNotifiesOnlyWhomItMentionsAndCountsInTheBadgeOnlySo) {
  world_.send("1", "2", "a");
  mutate("2", MuteCommand{UserId("2"), ConversationId("1_2"), kForEver});
  EXPECT_THAT(tell("2"), IsEmpty());
  SendCommand mention = world_.message("1", "2", "hey");
  mention.mentions = {UserId("2")};
  world_.get<SentReply>(mention);
  const auto made = look("2");
  ASSERT_TRUE(made.tell);
  EXPECT_EQ(made.tell->badge.count, 1u) << "the mention alone";
  EXPECT_THAT(tell("2"), ElementsAre("1_2:2 2 hey @"));
}

TEST_F(Look, S44_WhoLeftIsNotToldOfWhatCameAfter) {
  const Group group = make_group(world_, "1", {"2", "3"});
  world_.send("1", group.id, "before");
  EXPECT_THAT(tell("2"), ElementsAre(group.id + ":2 1 before"));
  world_.get<GroupReply>(remove("2", group, "2"));
  world_.send("1", group.id, "after");
  EXPECT_THAT(tell("2"), ElementsAre("-" + group.id));
  EXPECT_THAT(tell("2"), IsEmpty());
}

TEST_F(Look, S86_WhoJoinedIsToldOfWhatCameSinceAlone) {
  const Group group = make_group(world_, "1", {"3"});
  world_.send("1", group.id, "before");
  world_.get<GroupReply>(add("1", group, "2"));
  EXPECT_THAT(tell("2"), IsEmpty());
  world_.send("1", group.id, "after");
  EXPECT_THAT(tell("2"), ElementsAre(group.id + ":4 1 after"));
}

TEST_F(Look, WithoutTextsNoneLeaves) {
  options_.text = false;
  world_.send("1", "2", "secret words");
  const auto made = look("2");
  ASSERT_TRUE(made.tell);
  EXPECT_EQ(notification_json(*made.tell, 1).find("secret words"), std::string::npos);
}

TEST_F(Look, DevicesWithAPushTokenAreNamedButThoseThatHaveItAlready) {
  LoginCommand login;
  login.user = UserId("2");
  for (const char* device : {"phone", "tablet", "web"}) {
    login.device = DeviceId(device);
    login.platform = "ios";
    world_.get<LoginReply>(login);
    if (login.device.value == "web") continue;
    world_.get<Device>(ChangeDeviceCommand{UserId("2"), login.device, std::nullopt, "token of " + login.device.value});
  }
  world_.send("1", "2", "a");
  const auto made = look("2");
  ASSERT_TRUE(made.tell);
  ASSERT_EQ(made.tell->devices.size(), 2u);
  EXPECT_EQ(made.tell->devices[0].push_token, "token of phone");
}

TEST_F(Look, TheSameTellingHasTheSameNameAndAnotherHasNot) {
  world_.send("1", "2", "a");
  const auto first = notification_json(*look("2").tell, 1);
  EXPECT_EQ(first, notification_json(*look("2").tell, 1));
  world_.send("1", "2", "b");
  const auto second = notification_json(*look("2").tell, 1);
  EXPECT_NE(first.substr(0, 40), second.substr(0, 40));
}

TEST_F(Look, ALargeGroupNotifiesOnlyWhomItMentions) {
  const Group group = make_group(world_, "1", {"2", "3", "4", "5", "6", "7"});
  world_.send("1", group.id, "to all");
  SendCommand mention = world_.message("1", group.id, "hey");
  mention.mentions = {UserId("2")};
  const auto sent = world_.get<SentReply>(mention);
  EXPECT_THAT(tell("2"), ElementsAre(group.id + ":" + std::to_string(sent.seq.value) + " 2 hey @"));
  EXPECT_THAT(tell("3"), IsEmpty());
}

TEST_F(Look, WhomAMessageMayNotifyIsSaidByItsConversation) {
  Conversation group;
  group.large = true;
  for (const char* user : {"1", "2", "3"}) group.members.push_back({UserId(user), Role::member, Seq(1)});
  Entry message;
  message.sender = UserId("1");
  message.mentions = {UserId("3")};
  EXPECT_THAT(notified_by(group, message), ElementsAre(UserId("3")));
  group.large = false;
  EXPECT_THAT(notified_by(group, message), ElementsAre(UserId("2"), UserId("3")));
}

}  // namespace
}  // namespace tidemark
