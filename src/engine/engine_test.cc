// The commit round as a whole: commands in, durable state and notices out.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/test_world.h"
#include "store/keys.h"

namespace tidemark {
namespace {

TEST(Engine, a_failed_round_answers_retry_later_and_goes_on_by_itself) {
  EngineWorld world;
  world.send("A", "B", "1");
  for (const FaultStep step : {FaultStep::commit_before, FaultStep::commit_after}) {
    world.plan->fail(step);
    const SendCommand m = world.message("A", "B", "2");
    auto refused = world.call(m);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::RETRY_LATER);
    EXPECT_GT(refused.error().retry_after_ms, 0u);
    EXPECT_FALSE(world.engine().status().writable);
    EXPECT_EQ(world.change("B", "A_B").head_seq, world.change("A", "A_B").head_seq) << "reads go on";
    // The recovery fails once, and is not tried again at once.
    world.plan->fail(FaultStep::recover);
    EXPECT_EQ(world.refused(m), ErrorCode::RETRY_LATER);
    EXPECT_EQ(world.refused(m), ErrorCode::RETRY_LATER);
    world.take_notices();
    world.clock.pass(1'000);
    EXPECT_EQ(world.get<SentReply>(m).duplicate, step == FaultStep::commit_after);
    EXPECT_TRUE(world.engine().status().writable);
    // However it went: everybody is told of the message, once.
    const auto notices = world.take_notices();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].entry->client_msg_id, m.client_msg_id);
  }
  const auto log = log_of(world, "A_B");
  ASSERT_EQ(log.size(), 3u);
  for (std::size_t i = 0; i < log.size(); ++i) EXPECT_EQ(log[i].seq, Seq(i + 1));
}

TEST(Engine, what_waited_behind_a_failed_round_does_not_overtake_it) {
  EngineOptions options;
  options.round_commands_max = 2;
  EngineWorld world(options);
  std::vector<std::optional<Result<Reply>>> answers(3);
  std::vector<SendCommand> messages;
  for (int i = 0; i < 3; ++i) messages.push_back(world.message("A", "B", std::to_string(i)));
  world.plan->fail(FaultStep::commit_before);
  for (std::size_t i = 0; i < 3; ++i) world.submit(messages[i], &answers[i]);
  world.run();
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer);
    ASSERT_FALSE(*answer);
    EXPECT_EQ(answer->error().code, ErrorCode::RETRY_LATER);
  }
  for (const SendCommand& message : messages) world.get<SentReply>(message);
  const auto log = log_of(world, "A_B");
  ASSERT_EQ(log.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(log[i].body.text, std::to_string(i));
}

TEST(Engine, a_refusal_that_rests_on_a_lost_write_is_taken_back) {
  EngineWorld world;
  const Group g = make_group(world, "O", {"A"});
  std::optional<Result<Reply>> removed;
  std::optional<Result<Reply>> sent;
  world.plan->fail(FaultStep::commit_before);
  const SendCommand m = world.message("A", g.id, "still in");
  world.submit(remove("O", g, "A"), &removed);
  world.submit(m, &sent);
  world.run();
  ASSERT_TRUE(sent && !*sent);
  EXPECT_EQ(sent->error().code, ErrorCode::RETRY_LATER);
  EXPECT_FALSE(world.get<SentReply>(m).duplicate);
}

TEST(Engine, a_read_that_fails_at_any_step_leaves_the_index_whole) {
  // Cold caches, rows in and out of the block, groups: whatever read fails, the retry gives the right result.
  for (std::uint64_t step = 0; step < 60; ++step) {
    EngineOptions options;
    options.state.block_rows = 1;
    EngineWorld world(options);
    make_group(world, "A", {"B"});
    world.send("A", "B", "1");
    world.get<MutatedReply>(world.read_to("B", "A_B", 1));
    world.send("C", "B", "1");
    world.crash();
    world.plan->fail_at(step);
    CreateGroupCommand create;
    create.creator = UserId("B");
    create.title = "second";
    const SendCommand m = world.message("A", "B", "2");
    std::vector<std::optional<Result<Reply>>> answers(3);
    world.submit(m, &answers[0]);
    world.submit(create, &answers[1]);
    world.submit(world.read_to("B", "A_B", 2), &answers[2]);
    world.run();
    for (const auto& answer : answers) ASSERT_TRUE(answer) << step;
    world.plan->clear();
    world.clock.pass(1'000);
    EXPECT_EQ(world.get<SentReply>(m).seq, Seq(2)) << step;
    if (*answers[1]) EXPECT_EQ(std::get<GroupReply>(**answers[1]).group.id, ConversationId("group_2")) << step;
    world.get<MutatedReply>(world.read_to("B", "A_B", 2));
    world.crash();
    StoreView view = world.view();
    std::set<std::string> seen;
    view.by_head_mark(UserId("B"), Mark(), Mark(1u << 20), Direction::down, [&](const UserConversation& row) {
      EXPECT_TRUE(seen.insert(row.conversation.value).second) << "twice in the list, step " << step;
      return true;
    });
    EXPECT_EQ(world.change("B", "A_B").unread.count, 0u) << step;
    EXPECT_FALSE(view.failure());
  }
}

TEST(Engine, a_damaged_row_voids_the_command_alone) {
  EngineWorld world;
  world.send("A", "B", "1");
  world.send("C", "D", "1");
  world.disk->damage(Table::users, keys::user(UserId("A")));
  world.crash();
  std::optional<Result<Reply>> hurt;
  std::optional<Result<Reply>> fine;
  world.submit(world.message("A", "B", "2"), &hurt);
  world.submit(world.message("C", "D", "2"), &fine);
  world.run();
  ASSERT_TRUE(hurt && fine);
  ASSERT_FALSE(*hurt);
  EXPECT_EQ(hurt->error().code, ErrorCode::INTERNAL);
  EXPECT_EQ(hurt->error().detail, "") << "what is wrong with the disk is for its operator";
  ASSERT_TRUE(*fine);
  EXPECT_EQ(std::get<SentReply>(**fine).seq, Seq(2));
}

TEST(Engine, mutations_are_answered_once_and_the_same_again) {
  EngineWorld world;
  for (int i = 0; i < 5; ++i) world.send("B", "A", "x");
  const auto first = world.get<MutatedReply>(world.read_to("A", "A_B", 3, 1));
  world.get<MutatedReply>(world.read_to("A", "A_B", 5, 2));
  EXPECT_EQ(world.get<MutatedReply>(world.read_to("A", "A_B", 3, 1)), first) << "as it was answered then";
  EXPECT_EQ(world.refused(world.read_to("A", "A_B", 4, 1)), ErrorCode::MUTATION_CONFLICT);
  world.get<MutatedReply>(world.read_to("A", "A_B", 5, 100));
  EXPECT_EQ(world.refused(world.read_to("A", "A_B", 3, 1)), ErrorCode::MUTATION_EXPIRED);
  EXPECT_EQ(world.refused(world.read_to("A", "A_B", 3, 36)), ErrorCode::MUTATION_EXPIRED);
  world.get<MutatedReply>(world.read_to("A", "A_B", 3, 37));
  world.crash();
  EXPECT_EQ(world.refused(world.read_to("A", "A_B", 4, 37)), ErrorCode::MUTATION_CONFLICT);
  for (const std::uint64_t number : {~0ULL, ~0ULL - 62, ~0ULL - 64, (1ULL << 53) + 1})
    EXPECT_EQ(world.refused(world.read_to("A", "A_B", 3, number)), ErrorCode::OUT_OF_RANGE);
  world.get<MutatedReply>(world.read_to("A", "A_B", 3, 1ULL << 53));
  EXPECT_EQ(world.refused(world.read_to("A", "A_B", 3, 101)), ErrorCode::MUTATION_EXPIRED);
}

TEST(Engine, groups_create_add_remove_leave_and_hand_over) {
  EngineWorld world;
  const Group g = make_group(world, "O", {"A", "B", "A"});
  EXPECT_EQ(g.head, 1u);
  EXPECT_EQ(world.refused(add("A", g, "C")), ErrorCode::FORBIDDEN);
  EXPECT_EQ(world.refused(add("stranger", g, "C")), ErrorCode::CONVERSATION_NOT_FOUND);
  world.send("A", g.id, "before C");
  world.take_notices();
  world.get<GroupReply>(add("O", g, "C"));
  auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].receivers.size(), 4u);
  EXPECT_NE(receiver(notices[0], "C")->summary, nullptr);
  EXPECT_EQ(receiver(notices[0], "A")->summary, nullptr);
  EXPECT_EQ(world.change("C", g.id).unread.count, 0u);
  world.send("A", g.id, "after C");
  EXPECT_EQ(world.change("C", g.id).unread.count, 1u);

  // The owner leaves: the eldest takes over, and each user's index stays a chain.
  std::map<std::string, Mark> at;
  for (const char* user : {"O", "A", "B", "C"}) at[user] = world.view().user(UserId(user)).mark;
  world.take_notices();
  const auto left = world.get<GroupReply>(remove("O", g, "O"));
  EXPECT_TRUE(left.group.members.empty()) << "the leaver is told nothing of how it goes on";
  StoreView after = world.view();
  const auto group = read_group(after, UserId("A"), ConversationId(g.id));
  ASSERT_TRUE(group);
  ASSERT_EQ(group->members.size(), 3u);
  EXPECT_EQ(group->members[0].user, UserId("A"));
  EXPECT_EQ(group->members[0].role, Role::owner);
  notices = world.take_notices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(receiver(notices[1], "O"), nullptr) << "nothing after his own leave";
  for (const Notice& notice : notices)
    for (const Receiver& each : notice.receivers) {
      EXPECT_EQ(each.after, at[each.user.value]);
      at[each.user.value] = each.to;
    }
  EXPECT_EQ(world.refused(world.message("O", g.id, "x")), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.change("O", g.id).unread.count, 0u);
  EXPECT_FALSE(world.change("O", g.id).member);
}

TEST(Engine, an_idempotency_key_makes_one_group) {
  EngineWorld world;
  CreateGroupCommand create;
  create.creator = UserId("A");
  create.title = "G";
  create.idempotency_key = "key";
  const auto first = world.get<GroupReply>(create);
  world.crash();
  const auto again = world.get<GroupReply>(create);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.group.id, first.group.id);
  create.title = "H";
  EXPECT_EQ(world.refused(create), ErrorCode::IDEMPOTENCY_CONFLICT);
  create.idempotency_key = "other";
  EXPECT_NE(world.get<GroupReply>(create).group.id, first.group.id);
}

TEST(Engine, logins_raise_the_generation_and_find_out_copies) {
  EngineWorld world;
  LoginCommand login;
  login.user = UserId("A");
  login.device = DeviceId("phone");
  login.install = InstallId("i1");
  EXPECT_EQ(world.get<LoginReply>(login).generation, 1u);
  EXPECT_EQ(world.get<LoginReply>(login).generation, 2u) << "the welcome was lost";
  login.generation = 2;
  EXPECT_EQ(world.get<LoginReply>(login).generation, 3u);
  world.get<NoReply>(DeviceSeenCommand{UserId("A"), DeviceId("phone"), 3, Mark()});
  EXPECT_EQ(world.refused(login), ErrorCode::NEW_INSTALL_REQUIRED) << "3 was in use";
  login.install = InstallId("i2");
  EXPECT_EQ(world.get<LoginReply>(login).generation, 4u);
  login.cursor = {world.view().epoch(), Mark(50), 1};
  login.generation = 4;
  EXPECT_EQ(world.get<LoginReply>(login).mode, Mode::reset) << "a mark that was never given";
  login.generation = 5;
  login.cursor.epoch.id ^= 1;
  EXPECT_EQ(world.get<LoginReply>(login).mode, Mode::reset) << "of another store";
}

TEST(Engine, devices_of_a_user_are_bounded) {
  EngineOptions options;
  options.params.devices.max = 3;
  EngineWorld world(options);
  LoginCommand login;
  login.user = UserId("A");
  for (int i = 0; i < 6; ++i) {
    login.device = DeviceId("d" + std::to_string(i));
    world.clock.pass(1'000);
    world.get<LoginReply>(login);
  }
  StoreView view = world.view();
  std::set<std::string> kept;
  for (const Device& device : view.devices(UserId("A")))
    if (device.live) kept.insert(device.id.value);
  EXPECT_EQ(kept, (std::set<std::string>{"d3", "d4", "d5"}));
}

TEST(Engine, lists_and_gaps_read_to_the_very_end) {
  EngineWorld world;
  for (int peer = 0; peer < 12; ++peer) world.send("p" + std::to_string(peer), "A", "hi");
  StoreView view = world.view();
  const auto list = read_conversations(view, world.params(), UserId("A"), 50, 0, {});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->conversations.size(), 12u);
  SyncQuery query;
  query.user = UserId("A");
  query.bodies = Bodies::all;
  const auto page = read_sync(view, world.params(), query);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->changes.size(), 12u);
  for (const Change& change : page->changes) EXPECT_EQ(change.messages.size(), 1u);
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  int rows = 0;
  view.by_state_mark(UserId("A"), Mark(), Mark(kEnd), Direction::up, [&](const UserConversation&) { return true; });
  view.by_head_mark(UserId("A"), Mark(), Mark(kEnd), Direction::up,
                    [&](const UserConversation&) { return ++rows > 0; });
  EXPECT_EQ(rows, 12);
  int entries = 0;
  view.entries(ConversationId("A_p1"), Seq(), Seq(kEnd), Direction::up, [&](const Entry&) { return ++entries > 0; });
  EXPECT_EQ(entries, 1);
}

// Devices whose clocks are apart, ids of the same millisecond, retries in any order and after crashes.
RC_GTEST_PROP(EngineProperty, an_id_is_used_once_in_whatever_order_ids_come, ()) {
  EngineOptions options;
  options.state.users_max = 1;
  EngineWorld world(options);
  std::vector<SendCommand> messages;
  for (int i = 0; i < 8; ++i)
    messages.push_back(world.message(i % 2 == 0 ? "a" : "b", "c", std::to_string(i), world.clock.wall + i % 3));
  std::map<std::size_t, Seq> used;
  for (const auto& [which, crash] : *rc::gen::container<std::vector<std::pair<std::size_t, bool>>>(
           rc::gen::pair(rc::gen::inRange<std::size_t>(0, 8), rc::gen::arbitrary<bool>()))) {
    if (crash) world.crash();
    const auto sent = world.get<SentReply>(messages[which]);
    const auto [place, fresh] = used.emplace(which, sent.seq);
    RC_ASSERT(sent.duplicate == !fresh);
    RC_ASSERT(sent.seq == place->second);
  }
}

// What the index says equals what a naive walk over everything says, with blocks so small that rows move all the time,
// and after restarts at any point.
RC_GTEST_PROP(EngineProperty, the_index_is_what_the_logs_say, ()) {
  EngineOptions options;
  options.state.block_rows = 2;
  options.state.users_max = 3;
  options.state.conversations_max = 3;
  options.state.rows_max = 2;
  EngineWorld world(options);
  const std::vector<std::string> users = {"a", "b", "c", "d", "e"};
  struct Seen {
    Mark mark;
    Mark head_mark;
  };
  std::map<std::string, std::map<std::string, Seen>> expected;  // user, conversation
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 5), rc::gen::inRange(0, 5), rc::gen::inRange(0, 10)));
  for (const auto& [from, to, what] : steps) {
    const std::string& sender = users[static_cast<std::size_t>(from)];
    const std::string& peer = users[static_cast<std::size_t>(to)];
    if (what == 0) world.crash();
    if (what <= 6) {
      world.send(sender, peer, "x");
    } else {
      const std::string id = std::min(sender, peer) + "_" + std::max(sender, peer);
      world.call(world.read_to(sender, id, static_cast<std::uint64_t>(what - 6)));
    }
    for (const Notice& notice : world.take_notices())
      for (const Receiver& each : notice.receivers) {
        Seen& seen = expected[each.user.value][notice.conversation.value];
        seen.mark = each.to;
        if (notice.entry) seen.head_mark = each.to;
      }
  }
  for (const std::string& user : users) {
    StoreView view = world.view();
    std::map<std::string, Mark> by_head;
    Mark last = Mark(~std::uint64_t{0});
    view.by_head_mark(UserId(user), Mark(), Mark(1u << 30), Direction::down, [&](const UserConversation& row) {
      RC_ASSERT(row.head_mark < last);
      last = row.head_mark;
      RC_ASSERT(by_head.emplace(row.conversation.value, row.head_mark).second);
      RC_ASSERT(row.mark() == (expected[user][row.conversation.value].mark));
      return true;
    });
    RC_ASSERT(by_head.size() == expected[user].size());
    for (const auto& [conversation, seen] : expected[user]) RC_ASSERT(by_head[conversation] == seen.head_mark);
    std::set<std::string> by_state;
    view.by_state_mark(UserId(user), Mark(), Mark(1u << 30), Direction::up, [&](const UserConversation& row) {
      RC_ASSERT(by_state.insert(row.conversation.value).second);
      return true;
    });
    for (const auto& [conversation, seen] : expected[user])
      RC_ASSERT(by_state.contains(conversation) == (seen.mark != seen.head_mark || by_state.contains(conversation)));
    const Mark after = Mark(*rc::gen::inRange<std::uint64_t>(0, 20));
    std::set<std::string> changed;
    view.changed_since(UserId(user), after, [&](const ConversationId& id) { changed.insert(id.value); });
    for (const auto& [conversation, seen] : expected[user])
      RC_ASSERT(changed.contains(conversation) == (seen.mark > after));
    RC_ASSERT(!view.failure());
  }
}

std::size_t remembered_ids(EngineWorld& world) {
  std::size_t count = 0;
  EXPECT_TRUE(world.warm().snapshot()->scan(Table::dedup, "", "\xff", [&](std::string_view, std::string_view) {
    ++count;
    return true;
  }));
  return count;
}

void use_for_hours(EngineWorld& world, int hours) {
  for (int i = 0; i < hours; ++i) {
    world.clock.pass(kHourMs);
    world.send("C", "D", "time passes");
  }
}

TEST(Send, a_push_says_whom_it_means_by_name_or_with_everybody) {
  EngineWorld world;
  const Group group = make_group(world, "A", {"B", "C"});
  const auto meant = [&](const std::vector<std::string>& names, bool all) {
    world.take_notices();
    SendCommand command = world.message("A", group.id, "look");
    for (const std::string& name : names) command.mentions.emplace_back(name);
    command.mention_all = all;
    world.get<SentReply>(command);
    std::vector<std::string> found;
    const std::vector<Notice> notices = world.take_notices();
    for (const Receiver& each : notices.at(0).receivers)
      if (each.mentioned) found.push_back(each.user.value);
    return found;
  };
  EXPECT_THAT(meant({}, false), testing::IsEmpty());
  EXPECT_THAT(meant({"B", "A"}, false), testing::UnorderedElementsAre("B")) << "whoever says it knows";
  EXPECT_THAT(meant({}, true), testing::UnorderedElementsAre("B", "C"));
  EXPECT_EQ(world.change("B", group.id).mentions, 1u) << "by name";
}

TEST(Engine, old_ids_are_dropped_by_hours_of_use) {
  EngineWorld world;
  world.send("A", "B", "hi");
  use_for_hours(world, 24);
  EXPECT_EQ(remembered_ids(world), 25u);
  use_for_hours(world, 24);
  EXPECT_LE(remembered_ids(world), 28u) << "some 25 hours are kept";
  EXPECT_GE(remembered_ids(world), 25u);
}

TEST(Engine, a_wall_clock_that_is_wrong_at_a_start_makes_no_retry_a_second_message) {
  EngineWorld world;
  use_for_hours(world, 30);
  const SendCommand m1 = world.message("A", "B", "hi");
  const SentReply first = world.get<SentReply>(m1);
  // The machine comes up two days ahead, works for a while, and is set right before the next start.
  world.clock.wall += 48 * kHourMs;
  world.crash();
  world.send("C", "D", "tomorrow");
  world.clock.wall -= 48 * kHourMs;
  world.crash();
  const SentReply again = world.get<SentReply>(m1);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.seq, first.seq);
}

TEST(Send, can_be_asked_about_without_being_made) {
  EngineWorld world;
  SendCommand question = world.message("A", "B", "hi");
  question.ask_only = true;
  EXPECT_EQ(world.get<SentReply>(question), (SentReply{ConversationId("A_B"), Seq(), 0, MessageState::live, false}));
  EXPECT_THAT(log_of(world, "A_B"), testing::IsEmpty());
  EXPECT_THAT(world.take_notices(), testing::IsEmpty());
  SendCommand made = question;
  made.ask_only = false;
  EXPECT_FALSE(world.get<SentReply>(made).duplicate) << "the id is not used up";
  EXPECT_TRUE(world.get<SentReply>(question).duplicate);

  SendCommand refused = world.message("C", "group_7", "hi");
  refused.ask_only = true;
  EXPECT_EQ(world.refused(refused), ErrorCode::CONVERSATION_NOT_FOUND);
  SendCommand answer = world.message("B", "A", "to nothing");
  answer.ask_only = true;
  answer.reply_to = Seq(9);
  EXPECT_EQ(world.refused(answer), ErrorCode::MESSAGE_NOT_FOUND);
  const Group group = make_group(world, "A", {"B"});
  world.get<GroupReply>(remove("B", group, "B"));
  SendCommand left = world.message("B", group.id, "hi");
  left.ask_only = true;
  EXPECT_EQ(world.refused(left), ErrorCode::NOT_MEMBER);
}

}  // namespace
}  // namespace tidemark
