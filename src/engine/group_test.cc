// Groups through the commit round: roles, policies, mutes, the end of a group, the end of a user.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/group_rights.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

template <typename Command>
Command by(const std::string& user, const Group& group) {
  Command command;
  command.user = UserId(user);
  command.conversation = ConversationId(group.id);
  return command;
}

ChangeGroupCommand change(const std::string& user, const Group& group) {
  return by<ChangeGroupCommand>(user, group);
}
ChangeGroupCommand rename(const std::string& user, const Group& group, const std::string& title) {
  ChangeGroupCommand command = change(user, group);
  command.title = title;
  return command;
}
SetRoleCommand role(const std::string& user, const Group& group, const std::string& member, Role role) {
  auto command = by<SetRoleCommand>(user, group);
  command.member = UserId(member);
  command.role = role;
  return command;
}
MuteMemberCommand mute(const std::string& user, const Group& group, const std::string& member, std::int64_t until) {
  auto command = by<MuteMemberCommand>(user, group);
  command.member = UserId(member);
  command.until = until;
  return command;
}
JoinGroupCommand join(const std::string& user, const Group& group) {
  return by<JoinGroupCommand>(user, group);
}
DissolveGroupCommand dissolve(const std::string& user, const Group& group) {
  return by<DissolveGroupCommand>(user, group);
}
MutateCommand edit(const std::string& user, const std::string& id, Seq seq, const std::string& text) {
  MutateCommand command;
  command.user = UserId(user);
  EditCommand edited{UserId(user), {}, ConversationId(id), seq, {}, {}};
  edited.body.text = text;
  command.change = edited;
  return command;
}

Role role_in(const GroupReply& reply, const std::string& user) {
  const Member* member = reply.group.member(UserId(user));
  EXPECT_NE(member, nullptr) << user;
  return member ? member->role : Role::member;
}

std::vector<std::uint64_t> seqs_seen(EngineWorld& world, const std::string& user, const std::string& id) {
  StoreView view = world.view();
  HistoryQuery query;
  query.user = UserId(user);
  query.conversation = ConversationId(id);
  query.limit = 200;
  std::vector<std::uint64_t> seqs;
  if (const auto page = read_history(view, world.params(), query))
    for (const Entry& entry : page->messages) seqs.push_back(entry.seq.value);
  return seqs;
}

// ------------------------------------------------------------------------------------------------------ the table

TEST(Groups, every_right_is_had_by_the_roles_of_the_table_and_no_others) {
  // docs/protocol.md, section 13; the policies as a new group has them, and the other way.
  const GroupPolicy fresh;
  GroupPolicy other;
  other.add = Allowed::members;
  other.send = Allowed::admins;
  const std::vector<std::tuple<Right, Role, Role>> table = {
      {Right::write, Role::member, Role::admin},   {Right::add, Role::admin, Role::member},
      {Right::remove, Role::admin, Role::admin},   {Right::mute, Role::admin, Role::admin},
      {Right::rename, Role::admin, Role::admin},   {Right::set_policy, Role::owner, Role::owner},
      {Right::set_role, Role::owner, Role::owner}, {Right::dissolve, Role::owner, Role::owner},
  };
  for (const auto& [right, least, least_other] : table) {
    EXPECT_EQ(least_role(right, fresh), least) << static_cast<int>(right);
    EXPECT_EQ(least_role(right, other), least_other) << static_cast<int>(right);
  }
}

TEST(Groups, what_a_role_may_not_is_refused_and_leaves_no_entry) {
  EngineWorld world;
  const Group g = make_group(world, "owner", {"admin", "admin2", "m", "n"});
  world.get<GroupReply>(role("owner", g, "admin", Role::admin));
  world.get<GroupReply>(role("owner", g, "admin2", Role::admin));
  const std::uint64_t head = log_of(world, g.id).size();
  ChangeGroupCommand policy = change("admin", g);
  policy.send = Allowed::admins;
  const std::vector<Command> forbidden = {
      Command(add("m", g, "x")),  // members add by policy alone
      Command(remove("m", g, "n")),
      Command(remove("admin", g, "owner")),
      Command(remove("admin", g, "admin2")),
      Command(mute("m", g, "n", world.clock.wall + 1'000)),
      Command(mute("admin", g, "owner", world.clock.wall + 1'000)),
      Command(mute("admin", g, "admin2", world.clock.wall + 1'000)),
      Command(mute("owner", g, "owner", world.clock.wall + 1'000)),
      Command(rename("m", g, "new")),
      Command(policy),
      Command(role("admin", g, "m", Role::admin)),
      Command(role("admin", g, "admin", Role::owner)),
      Command(role("owner", g, "owner", Role::member)),
      Command(dissolve("admin", g)),
      Command(dissolve("m", g)),
  };
  for (std::size_t i = 0; i < forbidden.size(); ++i)
    EXPECT_EQ(world.refused(forbidden[i]), ErrorCode::FORBIDDEN) << "no. " << i;
  EXPECT_EQ(log_of(world, g.id).size(), head);
  EXPECT_EQ(world.refused(role("owner", g, "stranger", Role::admin)), ErrorCode::USER_NOT_FOUND);
  EXPECT_EQ(world.refused(change("owner", g)), ErrorCode::MALFORMED) << "nothing to change";
  // And who may, may.
  world.get<GroupReply>(add("admin", g, "x"));
  world.get<GroupReply>(rename("admin", g, "new"));
  world.get<GroupReply>(mute("admin", g, "m", world.clock.wall + 1'000));
  world.get<GroupReply>(remove("admin", g, "n"));
  world.get<GroupReply>(remove("owner", g, "admin2"));
  EXPECT_EQ(log_of(world, g.id).size(), head + 5);
}

TEST(Groups, a_role_is_an_entry_and_its_holder_gets_his_new_state) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  world.take_notices();
  const auto made = world.get<GroupReply>(role("o", g, "a", Role::admin));
  EXPECT_EQ(role_in(made, "a"), Role::admin);
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->member, (MemberChange{MemberAction::role, {UserId("a")}, Role::admin, Seq(), 0}));
  EXPECT_EQ(notices[0].receivers.size(), 3u);
  ASSERT_NE(receiver(notices[0], "a")->summary, nullptr);
  EXPECT_EQ(receiver(notices[0], "a")->summary->role, Role::admin);
  EXPECT_EQ(receiver(notices[0], "b")->summary, nullptr);
  EXPECT_EQ(world.change("a", g.id).role, Role::admin);
  const auto again = world.get<GroupReply>(role("o", g, "a", Role::admin));
  EXPECT_EQ(again.head, made.head) << "the same again changes nothing";
  EXPECT_TRUE(world.take_notices().empty());
}

TEST(Groups, ownership_is_handed_over_in_one_commit) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  world.take_notices();
  const auto made = world.get<GroupReply>(role("o", g, "b", Role::owner));
  EXPECT_EQ(role_in(made, "b"), Role::owner);
  EXPECT_EQ(role_in(made, "o"), Role::admin);
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].round, notices[1].round);
  for (const char* user : {"o", "a", "b"})
    EXPECT_EQ(receiver(notices[0], user)->to, receiver(notices[1], user)->after) << "each index stays a chain";
  EXPECT_EQ(world.change("o", g.id).role, Role::admin);
  EXPECT_EQ(world.change("b", g.id).role, Role::owner);
  EXPECT_EQ(world.refused(role("o", g, "a", Role::admin)), ErrorCode::FORBIDDEN);
}

TEST(Groups, when_the_owner_leaves_the_eldest_admin_takes_over_or_else_the_eldest_member) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b", "c"});
  world.get<GroupReply>(role("o", g, "c", Role::admin));
  world.get<GroupReply>(role("o", g, "b", Role::admin));
  world.take_notices();
  world.get<GroupReply>(remove("o", g, "o"));
  auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[1].entry->member->users.front(), UserId("b")) << "he was in before c";
  EXPECT_EQ(notices[1].entry->seq, notices[0].entry->seq + 1);
  EXPECT_EQ(world.change("b", g.id).role, Role::owner);
  world.get<GroupReply>(remove("b", g, "b"));
  EXPECT_EQ(world.change("c", g.id).role, Role::owner);
  world.get<GroupReply>(remove("c", g, "c"));
  EXPECT_EQ(world.change("a", g.id).role, Role::owner) << "no admin is left";
}

// ----------------------------------------------------------------------------------------------------- policies

TEST(Groups, a_config_entry_carries_what_changed_and_nothing_else) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a"});
  world.take_notices();
  ChangeGroupCommand both = change("o", g);
  both.title = "G";  // as it is
  both.data = R"({"avatar": "x.png"})";
  both.add = Allowed::members;
  both.newcomers = HistoryForNewcomers::last;
  both.newcomers_last = 3;
  const auto made = world.get<GroupReply>(both);
  auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  ASSERT_TRUE(notices[0].entry->config);
  EXPECT_EQ(notices[0].entry->config->title, "");
  EXPECT_EQ(notices[0].entry->config->data, both.data);
  EXPECT_EQ(notices[0].entry->config->policy,
            (GroupPolicy{Allowed::members, Allowed::members, JoinPolicy::closed, HistoryForNewcomers::last, 3}));
  EXPECT_EQ(made.group.policy, *notices[0].entry->config->policy);
  world.get<GroupReply>(both);
  EXPECT_TRUE(world.take_notices().empty()) << "it is so already";
  both.newcomers_last = 0;
  EXPECT_EQ(world.refused(both), ErrorCode::OUT_OF_RANGE);
  both.newcomers_last = 3;
  both.data = std::string(world.params().group_data_bytes_max + 1, ' ');
  EXPECT_EQ(world.refused(both), ErrorCode::TOO_LARGE);
  world.crash();
  StoreView view = world.view();
  EXPECT_EQ(view.conversation(ConversationId(g.id))->data, R"({"avatar": "x.png"})");
}

TEST(Groups, policies_let_members_add_and_keep_them_from_writing) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  world.get<GroupReply>(role("o", g, "a", Role::admin));
  const auto own = world.send("b", g.id, "before");
  ChangeGroupCommand policy = change("o", g);
  policy.add = Allowed::members;
  policy.send = Allowed::admins;
  world.get<GroupReply>(policy);
  world.get<GroupReply>(add("b", g, "c"));
  const std::size_t head = log_of(world, g.id).size();
  const SendCommand m = world.message("b", g.id, "may I?");
  EXPECT_EQ(world.refused(m), ErrorCode::FORBIDDEN);
  EXPECT_EQ(world.refused(edit("b", g.id, own.seq, "then so")), ErrorCode::FORBIDDEN) << "an edit says something";
  EXPECT_EQ(log_of(world, g.id).size(), head);
  world.send("a", g.id, "admins may");
  policy.send = Allowed::members;
  world.get<GroupReply>(policy);
  EXPECT_FALSE(world.get<SentReply>(m).duplicate) << "the refusal did not use up its id";
}

TEST(Groups, joining_by_oneself_is_for_open_groups_and_not_for_who_was_removed) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  EXPECT_EQ(world.refused(join("x", g)), ErrorCode::CONVERSATION_NOT_FOUND) << "as if there were none";
  EXPECT_EQ(world.refused(join("x", {"group_77", 0})), ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(world.refused(join("x", {"a_x", 0})), ErrorCode::CONVERSATION_NOT_FOUND);
  world.get<GroupReply>(remove("a", g, "a"));
  EXPECT_EQ(world.refused(join("a", g)), ErrorCode::FORBIDDEN);
  world.get<GroupReply>(remove("o", g, "b"));
  ChangeGroupCommand policy = change("o", g);
  policy.join = JoinPolicy::open;
  world.get<GroupReply>(policy);
  world.take_notices();
  world.get<GroupReply>(join("x", g));
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->sender, UserId("x"));
  EXPECT_EQ(notices[0].entry->member->users, std::vector{UserId("x")});
  EXPECT_NE(receiver(notices[0], "x")->summary, nullptr);
  const auto in = world.get<GroupReply>(join("x", g));
  EXPECT_EQ(in.head, notices[0].entry->seq) << "who is in is in";
  world.get<GroupReply>(join("a", g));
  EXPECT_EQ(world.refused(join("b", g)), ErrorCode::FORBIDDEN) << "he was removed";
  world.get<GroupReply>(add("o", g, "b"));
  world.send("b", g.id, "back");
}

TEST(Groups, the_policy_for_newcomers_is_that_of_the_moment_they_join) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a"});
  for (int i = 2; i <= 9; ++i) world.send("o", g.id, "m");
  world.get<GroupReply>(add("o", g, "none"));  // 10
  ChangeGroupCommand policy = change("o", g);
  policy.newcomers = HistoryForNewcomers::last;
  policy.newcomers_last = 2;
  world.get<GroupReply>(policy);               // 11
  world.get<GroupReply>(add("o", g, "last"));  // 12
  policy.newcomers = HistoryForNewcomers::all;
  world.get<GroupReply>(policy);              // 13
  world.get<GroupReply>(add("o", g, "all"));  // 14
  policy.newcomers = HistoryForNewcomers::none;
  world.get<GroupReply>(policy);  // 15
  EXPECT_EQ(seqs_seen(world, "none", g.id).front(), 10u);
  EXPECT_EQ(seqs_seen(world, "last", g.id).front(), 8u);
  EXPECT_EQ(seqs_seen(world, "all", g.id).front(), 1u);
  EXPECT_EQ(log_of(world, g.id)[11].member->visible_from, Seq(8)) << "it is written into the entry";
}

// --------------------------------------------------------------------------------------------------------- mutes

TEST(Groups, who_is_muted_is_refused_until_the_time_and_his_id_is_not_used_up) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  const auto own = world.send("a", g.id, "before");
  const std::int64_t until = world.clock.wall + 60'000;
  world.take_notices();
  const auto muted = world.get<GroupReply>(mute("o", g, "a", until));
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->member, (MemberChange{MemberAction::muted, {UserId("a")}, Role::member, Seq(), until}));
  EXPECT_EQ(notices[0].receivers.size(), 3u);
  const SendCommand m = world.message("a", g.id, "later");
  const auto refused = world.call(m);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::MEMBER_MUTED);
  EXPECT_NE(refused.error().message().find(std::to_string(until)), std::string::npos) << refused.error().message();
  EXPECT_EQ(world.refused(edit("a", g.id, own.seq, "so then")), ErrorCode::MEMBER_MUTED);
  world.send("b", g.id, "others may");
  EXPECT_EQ(world.get<GroupReply>(mute("o", g, "a", until)).head, muted.head + 1) << "the same again: no entry";
  world.crash();
  EXPECT_EQ(world.refused(m), ErrorCode::MEMBER_MUTED);
  world.clock.pass(60'000);
  EXPECT_FALSE(world.get<SentReply>(m).duplicate);
  world.get<MutatedReply>(edit("a", g.id, own.seq, "so then"));
}

TEST(Groups, a_mute_outlasts_leaving_and_a_clock_set_back_but_not_a_word_of_an_admin) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  ChangeGroupCommand policy = change("o", g);
  policy.join = JoinPolicy::open;
  world.get<GroupReply>(policy);
  world.get<GroupReply>(mute("o", g, "a", world.clock.wall + 60'000));
  world.get<GroupReply>(remove("a", g, "a"));
  world.get<GroupReply>(join("a", g));
  EXPECT_EQ(world.refused(world.message("a", g.id, "x")), ErrorCode::MEMBER_MUTED);
  world.clock.pass(59'000);
  world.send("b", g.id, "time is told by the log");
  world.clock.pass(1'000);
  world.send("b", g.id, "and goes on");
  world.clock.wall -= 3'600'000;
  world.send("a", g.id, "it was over and stays so");
  world.clock.wall += 3'600'000;
  world.get<GroupReply>(mute("o", g, "a", world.clock.wall + 60'000));
  const auto free = world.get<GroupReply>(mute("o", g, "a", 0));
  EXPECT_TRUE(free.group.mutes.empty());
  world.send("a", g.id, "thanks");
  EXPECT_EQ(world.get<GroupReply>(mute("o", g, "a", world.clock.wall - 5)).head, free.head + 1) << "a time gone by";
  EXPECT_EQ(world.refused(mute("o", g, "a", -1)), ErrorCode::OUT_OF_RANGE);
  // Whoever becomes owner can be freed by nobody.
  world.get<GroupReply>(mute("o", g, "b", world.clock.wall + 60'000));
  world.get<GroupReply>(role("o", g, "b", Role::owner));
  world.send("b", g.id, "mine");
}

// ------------------------------------------------------------------------------------------------------- the end

TEST(Conformance, S97_dissolved) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "gone"});
  const auto m = world.send("o", g.id, "unread");
  world.get<GroupReply>(remove("gone", g, "gone"));
  const SendCommand known = world.message("a", g.id, "known");
  world.get<SentReply>(known);
  EXPECT_EQ(world.change("a", g.id).unread.count, 1u);
  world.take_notices();
  const auto ended = world.get<GroupReply>(dissolve("o", g));
  EXPECT_EQ(ended.group.dissolved, ended.head);
  // The final entry, visible to all who were in.
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(notices[0].entry->config->dissolved);
  EXPECT_EQ(notices[0].receivers.size(), 2u);
  world.crash();
  for (const char* user : {"o", "a"}) {
    ASSERT_NE(receiver(notices[0], user), nullptr);
    EXPECT_FALSE(receiver(notices[0], user)->summary->member);
    EXPECT_EQ(seqs_seen(world, user, g.id).back(), ended.head.value);
    EXPECT_EQ(world.refused(world.message(user, g.id, "x")), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(rename(user, g, "x")), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(add(user, g, "x")), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(join(user, g)), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(dissolve(user, g)), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(mute(user, g, "a", 0)), ErrorCode::CONVERSATION_CLOSED);
    EXPECT_EQ(world.refused(edit(user, g.id, m.seq, "x")), ErrorCode::CONVERSATION_CLOSED);
    const Change change = world.change(user, g.id);
    EXPECT_FALSE(change.member);
    EXPECT_EQ(change.unread.count, 0u) << "a badge does not count what is over";
    EXPECT_EQ(change.title, "G") << "its row stays, under its name";
    EXPECT_EQ(change.head_seq, ended.head);
    StoreView view = world.view();
    const auto group = read_group(view, UserId(user), ConversationId(g.id));
    ASSERT_TRUE(group);
    EXPECT_EQ(group->dissolved, ended.head);
  }
  EXPECT_EQ(world.get<SentReply>(known).seq, Seq(4)) << "what was sent was sent";
  // Who left before learns nothing of it, strangers as ever.
  EXPECT_EQ(seqs_seen(world, "gone", g.id).back(), 3u);
  EXPECT_EQ(world.refused(world.message("gone", g.id, "x")), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.change("gone", g.id).title, "");
  EXPECT_EQ(world.refused(join("x", g)), ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(log_of(world, g.id).size(), ended.head.value);
  // Its row remains until its user takes it away.
  const auto listed = [&] {
    StoreView view = world.view();
    return read_conversations(view, world.params(), UserId("a"), 50, 0, {})->conversations.size();
  };
  EXPECT_EQ(listed(), 1u);
  MutateCommand away;
  away.user = UserId("a");
  away.change = RemoveCommand{UserId("a"), ConversationId(g.id), ended.head};
  world.get<MutatedReply>(away);
  EXPECT_EQ(listed(), 0u);
}

TEST(Groups, an_operator_ends_any_group_and_deletes_in_it_after_its_end) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a"});
  const auto m = world.send("o", g.id, "secret-7f3a");
  DissolveGroupCommand command = dissolve("ops", g);
  command.admin = true;
  const auto ended = world.get<GroupReply>(command);
  EXPECT_EQ(world.refused(command), ErrorCode::CONVERSATION_CLOSED);
  world.take_notices();
  const auto deleted = world.get<MutatedReply>(DeleteMessageCommand{UserId("ops"), {}, ConversationId(g.id), m.seq});
  EXPECT_EQ(deleted.state, MessageState::deleted);
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry, nullptr) << "nobody is in to get the entry";
  for (const char* user : {"o", "a"}) {
    ASSERT_NE(receiver(notices[0], user), nullptr);
    EXPECT_EQ(receiver(notices[0], user)->summary->touch_seq, deleted.seq);
    EXPECT_EQ(seqs_seen(world, user, g.id).back(), ended.head.value);
  }
  StoreView view = world.view();
  EXPECT_EQ(read_message(view, UserId("a"), ConversationId(g.id), m.seq)->body.text, "");
}

TEST(Groups, an_operators_delete_is_like_a_recall_at_any_time) {
  EngineWorld world;
  const auto m = world.send("a", "b", "secret-7f3a");
  world.clock.pass(200 * 24 * kHourMs);
  world.take_notices();
  const DeleteMessageCommand command{UserId("ops"), {}, ConversationId("a_b"), m.seq};
  const auto deleted = world.get<MutatedReply>(command);
  EXPECT_EQ(deleted.state, MessageState::deleted);
  EXPECT_EQ(deleted.seq, Seq(2));
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->kind, EntryKind::deletion);
  EXPECT_EQ(notices[0].entry->target, m.seq);
  EXPECT_NE(notices[0].dead, nullptr);
  EXPECT_EQ(world.change("b", "a_b").unread.count, 0u);
  EXPECT_EQ(world.change("b", "a_b").preview.text, "");
  EXPECT_EQ(world.get<MutatedReply>(command).seq, Seq(0)) << "it is so already";
  EXPECT_EQ(world.refused(edit("a", "a_b", m.seq, "x")), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(world.refused(DeleteMessageCommand{UserId("ops"), {}, ConversationId("a_b"), Seq(9)}),
            ErrorCode::MESSAGE_NOT_FOUND);
}

// --------------------------------------------------------------------------------------------------- operators

TEST(Groups, an_operator_makes_fills_and_empties_groups_without_being_in_them) {
  EngineWorld world;
  CreateGroupCommand create;
  create.by = UserId("ops");
  create.creator = UserId("o");
  create.title = "G";
  create.members = {UserId("a"), UserId("b")};
  create.idempotency_key = "key";
  const auto made = world.get<GroupReply>(create);
  const Group g{made.group.id.value, made.head.value};
  EXPECT_EQ(role_in(made, "o"), Role::owner);
  EXPECT_EQ(made.group.members.size(), 3u);
  EXPECT_EQ(made.group.member(UserId("ops")), nullptr);
  EXPECT_EQ(log_of(world, g.id)[0].sender, UserId("ops"));
  EXPECT_TRUE(world.get<GroupReply>(create).duplicate);
  create.creator = UserId("a");
  EXPECT_EQ(world.refused(create), ErrorCode::IDEMPOTENCY_CONFLICT);

  AddMembersCommand many = by<AddMembersCommand>("ops", g);
  many.admin = true;
  for (int i = 0; i < 50; ++i) many.added.emplace_back("m" + std::to_string(i));
  EXPECT_EQ(world.get<GroupReply>(many).group.members.size(), 53u);
  EXPECT_EQ(log_of(world, g.id).size(), 2u) << "one entry for all";
  many.conversation = ConversationId("group_99");
  EXPECT_EQ(world.refused(many), ErrorCode::CONVERSATION_NOT_FOUND);

  auto out = by<RemoveMembersCommand>("ops", g);
  out.removed = many.added;
  out.removed.emplace_back("o");
  out.removed.emplace_back("stranger");
  out.removed.emplace_back("m0");
  const auto left = world.get<GroupReply>(out);
  EXPECT_EQ(left.group.members.size(), 2u);
  EXPECT_EQ(role_in(left, "a"), Role::owner);
  EXPECT_EQ(log_of(world, g.id).size(), 2u + 51u + 1u) << "each leaving has an entry of its own, and so has the heir";
  // Everybody is out, and somebody comes: he owns it.
  out.removed = {UserId("a"), UserId("b")};
  EXPECT_TRUE(world.get<GroupReply>(out).group.members.empty());
  many.conversation = ConversationId(g.id);
  many.added = {UserId("new"), UserId("newer")};
  EXPECT_EQ(role_in(world.get<GroupReply>(many), "new"), Role::owner);
}

TEST(Conformance, S100_a_deleted_user) {
  EngineOptions options;
  options.state.block_rows = 2;
  EngineWorld world(options);
  std::vector<Group> groups;
  for (int i = 0; i < 6; ++i) groups.push_back(make_group(world, "owner", {"u", "w"}));
  groups.push_back(make_group(world, "u", {"w"}));
  world.send("u", "w", "old secret");
  world.get<GroupReply>(remove("u", groups[0], "u"));
  LoginCommand login;
  login.user = UserId("u");
  login.device = DeviceId("phone");
  world.get<LoginReply>(login);
  world.crash();
  EXPECT_EQ(world.refused(DeleteUserCommand{UserId("nobody")}), ErrorCode::USER_NOT_FOUND);

  // In pieces, and the process dies between them.
  const DeleteUserCommand command{UserId("u"), 4};
  EXPECT_TRUE(world.get<UserReply>(command).groups_left);
  EXPECT_EQ(world.refused(add("owner", groups[0], "u")), ErrorCode::USER_ID_RETIRED) << "from the first piece on";
  world.crash();
  const auto done = world.get<UserReply>(command);
  EXPECT_FALSE(done.groups_left);
  EXPECT_TRUE(done.head.retired());
  EXPECT_EQ(world.get<UserReply>(command).head.deleted_at, done.head.deleted_at);
  world.crash();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const auto log = log_of(world, groups[i].id);
    const auto left = std::ranges::count_if(log, [](const Entry& entry) {
      return entry.member && entry.member->action == MemberAction::left && entry.sender == UserId("u");
    });
    EXPECT_EQ(left, 1) << groups[i].id;
    StoreView view = world.view();
    EXPECT_EQ(view.conversation(ConversationId(groups[i].id))->member(UserId("u")), nullptr);
  }
  EXPECT_EQ(world.change("w", groups.back().id).role, Role::owner) << "what was his has another owner";
  StoreView view = world.view();
  EXPECT_TRUE(view.devices(UserId("u")).empty());

  // Nowhere can the id be used again: not by himself, not for him, not to him.
  EXPECT_EQ(world.refused(login), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(world.message("u", "w", "x")), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(world.message("w", "u", "x")), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(world.message("w", "u_w", "x")), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(world.message("stranger", "u", "x")), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(world.read_to("u", "u_w", 1)), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(SetUserCommand{UserId("u"), "vip"}), ErrorCode::USER_ID_RETIRED);
  EXPECT_EQ(world.refused(join("u", groups[1])), ErrorCode::USER_ID_RETIRED);
  CreateGroupCommand create;
  create.creator = UserId("w");
  create.title = "G";
  create.members = {UserId("u")};
  EXPECT_EQ(world.refused(create), ErrorCode::USER_ID_RETIRED);
  create.creator = UserId("u");
  create.members = {UserId("w")};
  EXPECT_EQ(world.refused(create), ErrorCode::USER_ID_RETIRED);
  // The other side keeps what was said.
  EXPECT_EQ(seqs_seen(world, "w", "u_w"), std::vector<std::uint64_t>{1});
}

TEST(Groups, a_users_deletion_survives_a_failed_round_and_reads_that_fail) {
  for (std::uint64_t step = 0; step < 40; ++step) {
    EngineWorld world;
    const Group g = make_group(world, "u", {"w", "x"});
    const Group h = make_group(world, "w", {"u"});
    world.crash();
    world.plan->fail_at(step);
    world.call(DeleteUserCommand{UserId("u")});
    world.plan->clear();
    world.clock.pass(1'000);
    EXPECT_FALSE(world.get<UserReply>(DeleteUserCommand{UserId("u")}).groups_left);
    EXPECT_EQ(log_of(world, g.id).size(), 3u) << "left once, and passed on, at step " << step;
    EXPECT_EQ(log_of(world, h.id).size(), 2u) << step;
  }
}

// --------------------------------------------------------------------------------------------------------- races

/// Whom the notices of a conversation told of which entries.
std::map<std::string, std::vector<std::uint64_t>> told_by(const std::vector<Notice>& notices, const std::string& id) {
  std::map<std::string, std::vector<std::uint64_t>> told;
  for (const Notice& notice : notices)
    if (notice.entry && notice.conversation.value == id)
      for (const Receiver& each : notice.receivers) told[each.user.value].push_back(notice.entry->seq.value);
  return told;
}

TEST(Conformance, S86_a_join_racing_with_a_send) {
  for (int before = 0; before <= 3; ++before) {
    EngineWorld world;
    const Group g = make_group(world, "o", {"a"});
    world.take_notices();
    std::vector<std::optional<Result<Reply>>> answers(4);
    std::vector<Command> round;
    for (int i = 0; i < 3; ++i) round.emplace_back(world.message("a", g.id, "m" + std::to_string(i)));
    round.insert(round.begin() + before, Command(add("o", g, "d")));
    for (std::size_t i = 0; i < round.size(); ++i) world.submit(round[i], &answers[i]);
    world.run();  // all in one round
    const Seq joined = world.change("d", g.id).periods.back().join;
    std::vector<std::uint64_t> expected{joined.value};
    for (const auto& answer : answers)
      if (const auto* sent = std::get_if<SentReply>(&**answer); sent && sent->seq > joined)
        expected.push_back(sent->seq.value);
    EXPECT_EQ(joined, Seq(2 + static_cast<std::uint64_t>(before)));
    EXPECT_EQ(told_by(world.take_notices(), g.id)["d"], expected) << "pushes";
    EXPECT_EQ(seqs_seen(world, "d", g.id), expected) << "pages";
    EXPECT_EQ(world.change("d", g.id).unread.count, expected.size() - 1) << "badge";
  }
}

TEST(Conformance, S87_a_kick_racing_with_a_fan_out) {
  for (const FaultStep fault : {FaultStep::commit_before, FaultStep::commit_after}) {
    EngineOptions options;
    options.params.small_max = 500;
    EngineWorld world(options);
    std::vector<std::string> members{"c"};
    for (int i = 0; i < 298; ++i) members.push_back("m" + std::to_string(i));
    const Group g = make_group(world, "o", members);
    world.take_notices();
    const SendCommand first = world.message("m0", g.id, "#50");
    const SendCommand later = world.message("m1", g.id, "after");
    std::vector<std::optional<Result<Reply>>> answers(3);
    world.plan->fail(fault);
    world.submit(first, &answers[0]);
    world.submit(remove("o", g, "c"), &answers[1]);
    world.submit(later, &answers[2]);
    world.run();
    // The process dies whatever became of the commit, and everybody asks again.
    world.crash(fault == FaultStep::commit_after ? MemoryDisk::Fate::kept : MemoryDisk::Fate::lost);
    EXPECT_EQ(world.get<SentReply>(first).duplicate, fault == FaultStep::commit_after);
    world.call(remove("o", g, "c"));
    world.get<SentReply>(later);
    EXPECT_EQ(seqs_seen(world, "c", g.id), (std::vector<std::uint64_t>{1, 2, 3})) << "#50 and the kick, no more";
    EXPECT_EQ(world.change("c", g.id).head_seq, Seq(3));
    EXPECT_FALSE(world.change("c", g.id).member);
    for (const auto& [user, seqs] : told_by(world.take_notices(), g.id))
      if (user == "c") EXPECT_EQ(seqs, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(log_of(world, g.id).size(), 4u);
  }
}

TEST(Conformance, S89_what_comes_after_a_leave_leaves_the_row_as_it_is) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"a", "b"});
  const auto m = world.send("o", g.id, "old");
  world.take_notices();
  std::vector<std::optional<Result<Reply>>> answers(5);
  world.submit(remove("a", g, "a"), &answers[0]);
  world.submit(world.message("o", g.id, "late"), &answers[1]);
  world.submit(rename("o", g, "late"), &answers[2]);
  world.submit(world.read_to("a", g.id, 99), &answers[3]);
  world.submit(edit("o", g.id, m.seq, "a late edit of what a may see"), &answers[4]);
  world.run();
  world.crash();
  const Change left = world.change("a", g.id);
  EXPECT_FALSE(left.member);
  EXPECT_EQ(left.head_seq, Seq(3));
  EXPECT_EQ(left.top, Seq(2));
  EXPECT_EQ(left.unread.count, 0u);
  EXPECT_EQ(left.title, "");
  EXPECT_EQ(left.periods.back().leave, Seq(3));
  EXPECT_EQ(told_by(world.take_notices(), g.id)["a"], std::vector<std::uint64_t>{3});
}

TEST(Conformance, S90_a_fan_out_that_dies_half_way) {
  for (const FaultStep fault : {FaultStep::commit_before, FaultStep::commit_after}) {
    EngineWorld world;
    std::vector<std::string> members;
    for (int i = 0; i < 100; ++i) members.push_back("m" + std::to_string(i));
    const Group g = make_group(world, "o", members);
    std::map<std::string, Mark> before;
    for (const std::string& user : members) before[user] = world.view().user(UserId(user)).mark;
    const SendCommand m = world.message("o", g.id, "to all");
    world.plan->fail(fault);
    world.call(m);
    world.crash(fault == FaultStep::commit_after ? MemoryDisk::Fate::kept : MemoryDisk::Fate::lost);
    EXPECT_EQ(world.get<SentReply>(m).duplicate, fault == FaultStep::commit_after);
    EXPECT_TRUE(world.get<SentReply>(m).duplicate);
    for (const std::string& user : members) {
      EXPECT_EQ(world.change(user, g.id).head_seq, Seq(2)) << user;
      EXPECT_EQ(world.change(user, g.id).unread.count, 1u) << user;
      EXPECT_EQ(world.view().user(UserId(user)).mark, before[user] + 1) << "once: " << user;
    }
  }
}

TEST(Conformance, S44_nothing_committed_beside_a_leave_reaches_the_leaver) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"b"});
  while (log_of(world, g.id).size() < 49) world.send("o", g.id, "m");
  world.take_notices();
  std::optional<Result<Reply>> left;
  std::optional<Result<Reply>> sent;
  world.submit(remove("b", g, "b"), &left);
  world.submit(world.message("o", g.id, "#51"), &sent);
  world.run();
  EXPECT_EQ(std::get<SentReply>(**sent).seq, Seq(51));
  EXPECT_EQ(told_by(world.take_notices(), g.id)["b"], std::vector<std::uint64_t>{50});
  EXPECT_EQ(seqs_seen(world, "b", g.id).back(), 50u);
  EXPECT_EQ(world.change("b", g.id).unread.count, 0u);
  EXPECT_EQ(world.change("b", g.id).preview.seq, Seq(49));
}

TEST(Conformance, S68_rejoin) {
  EngineWorld world;
  const Group g = make_group(world, "o", {"d"});
  const auto up_to = [&](std::uint64_t seq) {
    while (log_of(world, g.id).size() < seq) world.send("o", g.id, "m");
  };
  up_to(49);
  world.get<GroupReply>(remove("d", g, "d"));  // 50
  up_to(79);
  world.get<GroupReply>(add("o", g, "d"));  // 80
  up_to(82);
  world.send("d", g.id, "own");
  up_to(85);
  EXPECT_EQ(world.change("d", g.id).unread.count, 4u) << "85 - 80, but his own";
  std::vector<std::uint64_t> expected;
  for (std::uint64_t seq = 1; seq <= 85; ++seq)
    if (seq <= 50 || seq >= 80) expected.push_back(seq);
  EXPECT_EQ(seqs_seen(world, "d", g.id), expected);
}

TEST(Field, F24_only_the_author_changes_a_message_and_only_while_he_is_in) {
  EngineWorld world;
  const Group g = make_group(world, "u0", {"u1", "u2", "u3"});
  const auto of1 = world.send("u1", g.id, "one");
  const auto of3 = world.send("u3", g.id, "three");
  world.send("u1", "u2", "elsewhere");
  world.get<GroupReply>(remove("u3", g, "u3"));
  world.take_notices();
  const auto recall = [&](const std::string& user, const std::string& id, Seq seq) {
    MutateCommand command;
    command.user = UserId(user);
    command.change = RecallCommand{UserId(user), {}, ConversationId(id), seq, false};
    return command;
  };
  for (const char* user : {"u2", "u0"}) {
    EXPECT_EQ(world.refused(edit(user, g.id, of1.seq, "x")), ErrorCode::FORBIDDEN);
    EXPECT_EQ(world.refused(recall(user, g.id, of1.seq)), ErrorCode::FORBIDDEN);
  }
  EXPECT_EQ(world.refused(edit("u3", g.id, of3.seq, "x")), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.refused(recall("u3", g.id, of3.seq)), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.refused(edit("u1", "u1_u2", of1.seq, "x")), ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_EQ(world.refused(edit("u1", g.id, Seq(99), "x")), ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_TRUE(world.take_notices().empty()) << "nobody hears of it";
  world.get<MutatedReply>(edit("u1", g.id, of1.seq, "as its author says"));
}

}  // namespace
}  // namespace tidemark
