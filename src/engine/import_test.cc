// Import and doing things once, through the engine.
#include <gmock/gmock.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kThen = 1'600'000'000'000;

ImportCommand::Message old(const std::string& id, const std::string& sender, std::int64_t time,
                           const std::string& text) {
  ImportCommand::Message message;
  message.source_id = id;
  message.sender = UserId(sender);
  message.server_time = kThen + time;
  message.body.text = text;
  return message;
}

ImportCommand import_into(const std::string& conversation, std::vector<ImportCommand::Message> messages) {
  ImportCommand command;
  command.user = UserId("operator");
  command.name = "old-chat";
  command.conversation = ConversationId(conversation);
  command.messages = std::move(messages);
  return command;
}

ImportCommand::Group room() {
  return {"room-7", "Room", UserId("1"), {UserId("2"), UserId("3")}, kThen};
}

std::vector<std::string> texts(EngineWorld& world, const std::string& conversation) {
  std::vector<std::string> found;
  for (const Entry& entry : log_of(world, conversation))
    found.push_back(std::to_string(entry.server_time - kThen) + " " + entry.sender.value + " " + entry.body.text);
  return found;
}

TEST(Import, KeepsTimesAndSendersAndCountsAsRead) {
  EngineWorld world;
  const auto made = world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "hello"), old("b", "2", 20, "hi")}));
  EXPECT_EQ(made.added, 2u);
  EXPECT_EQ(made.head, Seq(2));
  EXPECT_THAT(texts(world, "1_2"), ElementsAre("10 1 hello", "20 2 hi"));
  for (const char* user : {"1", "2"}) {
    const Change change = world.change(user, "1_2");
    EXPECT_EQ(change.unread.count, 0u);
    EXPECT_EQ(change.read, Seq(2));
    EXPECT_EQ(change.preview.text, "hi");
  }
}

TEST(Import, TheSameAgainAddsNothingThoughYearsPass) {
  EngineWorld world;
  const auto command = import_into("1_2", {old("a", "1", 10, "hello")});
  world.get<ImportReply>(command);
  world.clock.pass(400 * 24 * kHourMs);
  world.send("1", "2", "today");
  world.crash();
  const auto again = world.get<ImportReply>(command);
  EXPECT_EQ(again.added, 0u);
  EXPECT_EQ(again.known, 1u);
  EXPECT_EQ(log_of(world, "1_2").size(), 2u);
  EXPECT_EQ(world.refused(import_into("1_2", {old("a", "1", 10, "other")})), ErrorCode::IDEMPOTENCY_CONFLICT);
}

TEST(Import, GoesOnWhereItEndedWhenAPartIsKnown) {
  EngineWorld world;
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one")}));
  const auto more = world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one"), old("b", "2", 20, "two")}));
  EXPECT_EQ(more.added, 1u);
  EXPECT_EQ(more.known, 1u);
  EXPECT_THAT(texts(world, "1_2"), ElementsAre("10 1 one", "20 2 two"));
}

TEST(Import, WhatIsEarlierThanWhatIsThereIsRefusedAsAWhole) {
  EngineWorld world;
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one")}));
  EXPECT_EQ(world.refused(import_into("1_2", {old("b", "1", 20, "two"), old("c", "1", 15, "back")})),
            ErrorCode::IMPORT_OUT_OF_ORDER);
  EXPECT_EQ(log_of(world, "1_2").size(), 1u);
  world.send("1", "2", "today");
  EXPECT_EQ(world.refused(import_into("1_2", {old("d", "1", 30, "late")})), ErrorCode::IMPORT_OUT_OF_ORDER);
}

TEST(Import, PointersGoWhereTheyAreTold) {
  EngineWorld world;
  auto command = import_into("1_2", {old("a", "1", 10, "one"), old("b", "1", 20, "two"), old("c", "1", 30, "three")});
  command.reads = {{UserId("2"), "a"}};
  world.get<ImportReply>(command);
  EXPECT_EQ(world.change("2", "1_2").unread.count, 2u);
  EXPECT_EQ(world.change("2", "1_2").read, Seq(1));
  auto other = import_into("1_3", {old("x", "1", 10, "one")});
  other.reads = {{UserId("3"), ""}};
  world.get<ImportReply>(other);
  EXPECT_EQ(world.change("3", "1_3").unread.count, 1u);
}

std::pair<ErrorCode, std::string> refusal_of(EngineWorld& world, const Command& command) {
  const auto reply = world.call(command);
  if (reply) return {ErrorCode::INTERNAL, "taken"};
  return {reply.error().code, reply.error().field};
}

TEST(Import, WhatIsUnreadAndMentionsSomebodyCounts) {
  EngineWorld world;
  auto command = import_into("1_2", {old("a", "1", 10, "one"), old("b", "1", 20, "two"), old("c", "1", 30, "three")});
  for (auto& message : command.messages) message.mentions = {UserId("2"), UserId("1")};
  command.reads = {{UserId("2"), "a"}};
  world.get<ImportReply>(command);
  const Change change = world.change("2", "1_2");
  EXPECT_EQ(change.mentions, 2U);
  EXPECT_EQ(change.mentioned_at, Seq(2));
  EXPECT_EQ(world.change("1", "1_2").mentions, 0U) << "he knows what he wrote";
}

TEST(Import, APointerOnceGivenStandsUntilAnotherIs) {
  EngineWorld world;
  auto first = import_into("1_2", {old("a", "1", 10, "one"), old("b", "1", 20, "two")});
  first.reads = {{UserId("2"), "b"}};
  world.get<ImportReply>(first);
  world.get<ImportReply>(import_into("1_2", {old("c", "1", 30, "three")}));
  EXPECT_EQ(world.change("2", "1_2").read, Seq(2)) << "he has read no further";
  EXPECT_EQ(world.change("2", "1_2").unread.count, 1u);
  EXPECT_EQ(world.change("1", "1_2").read, Seq(3)) << "of him nothing was said";
  auto alone = import_into("1_2", {});
  alone.reads = {{UserId("2"), "c"}};
  const std::uint64_t mark = world.change("2", "1_2").mark.value;
  world.get<ImportReply>(alone);
  EXPECT_EQ(world.change("2", "1_2").unread.count, 0u) << "pointers may come by themselves";
  EXPECT_EQ(world.change("2", "1_2").mark.value, mark + 1);
  world.get<ImportReply>(alone);
  world.get<ImportReply>(first);
  EXPECT_EQ(world.change("2", "1_2").mark.value, mark + 1) << "twice is as good as once";
  EXPECT_EQ(world.change("2", "1_2").read, Seq(3));
}

TEST(Import, WhatWasUnreadBeforeStaysUnread) {
  EngineWorld world;
  world.clock.wall = kThen;
  world.send("1", "2", "live and not seen yet");
  world.clock.wall = kThen + kHourMs;
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one"), old("b", "2", 20, "two")}));
  EXPECT_EQ(world.change("2", "1_2").read, Seq());
  EXPECT_EQ(world.change("2", "1_2").unread.count, 2u);
  EXPECT_EQ(world.change("1", "1_2").read, Seq(3)) << "to him it was his own";
  auto given = import_into("1_2", {old("c", "1", 30, "three")});
  given.reads = {{UserId("2"), "b"}};
  world.get<ImportReply>(given);
  EXPECT_EQ(world.change("2", "1_2").unread.count, 1u) << "a pointer that is given is believed";
}

TEST(Import, AnotherConversationsMessagesAreNoneOfThisOne) {
  EngineWorld world;
  world.get<ImportReply>(import_into("1_3", {old("x", "1", 10, "elsewhere")}));
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one")}));
  auto reply = old("b", "2", 20, "two");
  reply.reply_to = "x";
  EXPECT_EQ(refusal_of(world, import_into("1_2", {old("c", "1", 15, "c"), reply})),
            std::pair(ErrorCode::MESSAGE_NOT_FOUND, std::string("messages[1].reply_to")));
  auto read = import_into("1_2", {old("b", "2", 20, "two")});
  read.reads = {{UserId("1"), "b"}, {UserId("2"), "x"}};
  EXPECT_EQ(refusal_of(world, read), std::pair(ErrorCode::MESSAGE_NOT_FOUND, std::string("reads[1].source_id")));
  read.reads[1].source_id = "never";
  EXPECT_EQ(refusal_of(world, read), std::pair(ErrorCode::MESSAGE_NOT_FOUND, std::string("reads[1].source_id")));
  EXPECT_EQ(refusal_of(world, import_into("1_2", {old("x", "1", 10, "elsewhere")})),
            std::pair(ErrorCode::IDEMPOTENCY_CONFLICT, std::string("messages[0].source_id")));
}

TEST(Import, OnlyMembersHaveRead) {
  EngineWorld world;
  auto command = import_into("1_2", {old("a", "1", 10, "one")});
  command.reads = {{UserId("3"), "a"}};
  EXPECT_EQ(refusal_of(world, command), std::pair(ErrorCode::NOT_MEMBER, std::string("reads[0].user")));
  command.reads = {{UserId(""), "a"}};
  EXPECT_EQ(refusal_of(world, command), std::pair(ErrorCode::MALFORMED, std::string("reads[0].user")));
  EXPECT_THAT(log_of(world, "1_2"), IsEmpty());
  ImportCommand group = import_into("", {old("g", "2", 10, "hello")});
  group.group = room();
  group.reads = {{UserId("3"), ""}};
  world.get<ImportReply>(group);
  world.get<GroupReply>(remove("3", {"group_1", 0}, "3"));
  EXPECT_EQ(world.get<ImportReply>(group).known, 1u) << "the same again, though he has left meanwhile";
}

TEST(Import, AConversationTakenOutOfTheListComesBackWithAllOfIt) {
  EngineWorld world;
  world.clock.wall = kThen;
  world.send("1", "2", "cleared");
  MutateCommand gone;
  gone.user = UserId("2");
  gone.change = RemoveCommand{UserId("2"), ConversationId("1_2"), Seq()};
  world.get<MutatedReply>(gone);
  world.clock.wall = kThen + kHourMs;
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one"), old("b", "1", 20, "two")}));
  const Change change = world.change("2", "1_2");
  EXPECT_FALSE(change.removed);
  EXPECT_EQ(change.cleared, Seq(1));
  EXPECT_EQ(change.unread.count, 0u);
  EXPECT_EQ(world.change("1", "1_2").cleared, Seq());
}

TEST(Import, WhatWasImportedIsKnownThoughNothingNewMayCome) {
  EngineOptions options;
  options.params.small_max = 5;
  EngineWorld world(options);
  ImportCommand command = import_into("", {old("a", "2", 10, "hello")});
  command.group = room();
  command.reads = {{UserId("2"), "a"}};
  world.get<ImportReply>(command);
  AddMembersCommand more;
  more.user = UserId("1");
  more.conversation = ConversationId("group_1");
  for (const char* user : {"4", "5", "6", "7"}) more.added.emplace_back(user);
  world.get<GroupReply>(more);
  ImportCommand longer = command;
  longer.messages.push_back(old("b", "2", 20, "more"));
  EXPECT_EQ(world.get<ImportReply>(command).known, 1u);
  EXPECT_EQ(refusal_of(world, longer), std::pair(ErrorCode::LIMIT_REACHED, std::string("group.source_id")));
  DissolveGroupCommand end;
  end.user = UserId("1");
  end.conversation = ConversationId("group_1");
  world.get<GroupReply>(end);
  EXPECT_EQ(world.get<ImportReply>(command).known, 1u);
  EXPECT_EQ(refusal_of(world, longer), std::pair(ErrorCode::CONVERSATION_CLOSED, std::string("group.source_id")));
  EXPECT_EQ(refusal_of(world, import_into("group_1", {old("b", "2", 20, "more")})),
            std::pair(ErrorCode::CONVERSATION_CLOSED, std::string("conversation_id")));
}

TEST(Import, AGroupIsMadeOnceWithItsTime) {
  EngineWorld world;
  ImportCommand command = import_into("", {old("a", "2", 10, "hello")});
  command.group = room();
  const auto made = world.get<ImportReply>(command);
  EXPECT_EQ(made.conversation.value, "group_1");
  const auto log = log_of(world, "group_1");
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].server_time, kThen);
  EXPECT_EQ(log[0].kind, EntryKind::member);
  ImportCommand later = import_into("", {old("b", "3", 20, "more")});
  later.group = ImportCommand::Group{};
  later.group->source_id = "room-7";
  EXPECT_EQ(world.get<ImportReply>(later).conversation.value, "group_1");
  EXPECT_EQ(world.change("3", "group_1").unread.count, 0u);
  EXPECT_EQ(world.change("1", "group_1").role, Role::owner);
  EXPECT_EQ(world.send("3", "group_1", "today").seq, Seq(4));
  EXPECT_EQ(world.change("1", "group_1").unread.count, 1u);
}

TEST(Import, TouchesEachHeadOnceAndTellsLinksToPull) {
  EngineWorld world;
  world.send("2", "9", "before");
  StoreView before = world.view();
  const Mark mark = before.user(UserId("2")).mark;
  world.take_notices();
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one"), old("b", "1", 20, "two")}));
  StoreView after = world.view();
  EXPECT_EQ(after.user(UserId("2")).mark, mark + 1);
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry, nullptr);
  const Receiver* told = receiver(notices[0], "2");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->summary, nullptr);
}

TEST(Import, RaisesNoEventAndNoNotification) {
  EngineOptions options;
  options.outbox = OutboxOptions{.choice = {}, .notifications = true};
  EngineWorld world(options);
  ImportCommand command = import_into("", {old("a", "2", 10, "hello")});
  command.group = room();
  world.get<ImportReply>(command);
  EXPECT_EQ(world.engine().outbox().waiting, 0u);
  int notifying = 0;
  ASSERT_TRUE(read_notifying_messages(*world.warm().snapshot(), [&](const NotifyingMessage&) { ++notifying; }));
  EXPECT_EQ(notifying, 0);
}

TEST(Import, ADryRunTellsAndChangesNothing) {
  EngineWorld world;
  ImportCommand command = import_into("", {old("a", "2", 10, "hello")});
  command.group = room();
  command.dry_run = true;
  const auto told = world.get<ImportReply>(command);
  EXPECT_EQ(told.added, 1u);
  EXPECT_TRUE(told.conversation.empty());
  EXPECT_THAT(log_of(world, "group_1"), IsEmpty());
  command.dry_run = false;
  EXPECT_EQ(world.get<ImportReply>(command).added, 1u);
}

TEST(Import, RepliesNameWhatTheyAnswerByItsSourceId) {
  EngineWorld world;
  auto reply = old("b", "2", 20, "two");
  reply.reply_to = "a";
  world.get<ImportReply>(import_into("1_2", {old("a", "1", 10, "one"), reply}));
  EXPECT_EQ(log_of(world, "1_2")[1].reply_to, Seq(1));
  auto lost = old("c", "2", 30, "three");
  lost.reply_to = "never";
  EXPECT_EQ(world.refused(import_into("1_2", {lost})), ErrorCode::MESSAGE_NOT_FOUND);
}

TEST(Import, WhoIsNotInASingleChatCannotHaveWrittenThere) {
  EngineWorld world;
  EXPECT_EQ(world.refused(import_into("1_2", {old("a", "3", 10, "x")})), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.refused(import_into("2_1", {old("a", "1", 10, "x")})), ErrorCode::NON_CANONICAL_ID);
  EXPECT_EQ(world.refused(import_into("group_9", {old("a", "1", 10, "x")})), ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(world.refused(import_into("1_2", {old("a", "1", 10, "x"), old("a", "1", 10, "x")})),
            ErrorCode::IDEMPOTENCY_CONFLICT);
  auto tomorrow = old("t", "1", 0, "x");
  tomorrow.server_time = world.clock.wall + 1'000;
  EXPECT_EQ(world.refused(import_into("1_2", {tomorrow})), ErrorCode::OUT_OF_RANGE);
}

// ------------------------------------------------------------------------------------------------ the system's word

TEST(SystemSend, HasNoSenderAndReachesEverybody) {
  EngineWorld world;
  const Group group = make_group(world, "1", {"2"});
  SendCommand command = world.message("", group.id, "maintenance tonight");
  command.device = DeviceId();
  command.admin = true;
  command.system = true;
  const auto sent = world.get<SentReply>(command);
  EXPECT_TRUE(world.get<SentReply>(command).duplicate);
  EXPECT_EQ(log_of(world, group.id).back().sender, UserId());
  EXPECT_EQ(log_of(world, group.id).back().seq, sent.seq);
  for (const char* user : {"1", "2"}) EXPECT_EQ(world.change(user, group.id).unread.count, 1u);
  command.conversation = ConversationId("group_77");
  EXPECT_EQ(world.refused(command), ErrorCode::CONVERSATION_NOT_FOUND);
}

// ---------------------------------------------------------------------------------------------------------- once

Session keyed(const std::string& user, const std::string& key, const std::string& request) {
  Session session;
  session.user = UserId(user);
  session.idempotency_key = key;
  session.request = digest_of({request});
  return session;
}

TEST(Once, TheSameRequestUnderItsKeyIsDoneOnceWhateverHappensBetween) {
  EngineWorld world;
  const Group group = make_group(world, "1", {"2"});
  const auto first = world.get<GroupReply>(add("1", group, "3"), keyed("1", "k", "add 3"));
  EXPECT_NE(first.group.member(UserId("3")), nullptr);
  world.get<GroupReply>(remove("1", group, "3"));
  world.crash();
  const auto again = world.get<GroupReply>(add("1", group, "3"), keyed("1", "k", "add 3"));
  EXPECT_EQ(again.group.member(UserId("3")), nullptr) << "as it stands now";
  EXPECT_TRUE(again.duplicate);
}

TEST(Once, AnotherRequestUnderTheKeyIsRefusedAndSomebodyElsesKeyIsHisOwn) {
  EngineWorld world;
  const Group group = make_group(world, "1", {"2"});
  world.get<GroupReply>(add("1", group, "3"), keyed("1", "k", "add 3"));
  EXPECT_EQ(world.refused(add("1", group, "4"), keyed("1", "k", "add 4")), ErrorCode::IDEMPOTENCY_CONFLICT);
  world.get<GroupReply>(remove("2", group, "2"), keyed("2", "k", "leave"));
  EXPECT_EQ(world.get<GroupReply>(remove("2", group, "2"), keyed("2", "k", "leave")).group.members.size(), 0u);
}

TEST(Once, ARefusalIsNotKept) {
  EngineWorld world;
  const Group group = make_group(world, "1", {"2"});
  EXPECT_EQ(world.refused(add("2", group, "3"), keyed("2", "k", "add 3")), ErrorCode::FORBIDDEN);
  SetRoleCommand promote;
  promote.user = UserId("1");
  promote.conversation = ConversationId(group.id);
  promote.member = UserId("2");
  promote.role = Role::admin;
  world.get<GroupReply>(promote);
  world.get<GroupReply>(add("2", group, "3"), keyed("2", "k", "add 3"));
}

TEST(Once, AKeyIsForgottenAfterADay) {
  EngineWorld world;
  const Group group = make_group(world, "1", {"2"});
  world.get<GroupReply>(add("1", group, "3"), keyed("1", "k", "add 3"));
  world.clock.pass(26 * kHourMs);
  world.get<GroupReply>(add("1", group, "4"), keyed("1", "k", "add 4"));
}

TEST(Once, AnEditAndAClearAreDoneOnce) {
  EngineWorld world;
  world.send("1", "2", "a");
  MutateCommand edit;
  edit.user = UserId("1");
  EditCommand change;
  change.user = UserId("1");
  change.conversation = ConversationId("1_2");
  change.seq = Seq(1);
  change.body.text = "b";
  edit.change = change;
  const auto first = world.get<MutatedReply>(edit, keyed("1", "e", "b"));
  change.body.text = "c";
  MutateCommand other = edit;
  other.change = change;
  world.get<MutatedReply>(other);
  const auto again = world.get<MutatedReply>(edit, keyed("1", "e", "b"));
  EXPECT_EQ(again.seq, first.seq);
  EXPECT_EQ(log_of(world, "1_2")[0].body.text, "c");

  MutateCommand clear;
  clear.user = UserId("2");
  clear.change = ClearCommand{UserId("2"), ConversationId("1_2"), Seq()};
  const auto cleared = world.get<MutatedReply>(clear, keyed("2", "c", "all"));
  world.send("1", "2", "new");
  EXPECT_EQ(world.get<MutatedReply>(clear, keyed("2", "c", "all")).cleared, cleared.cleared);
  EXPECT_EQ(world.change("2", "1_2").unread.count, 1u);
}

}  // namespace
}  // namespace tidemark
