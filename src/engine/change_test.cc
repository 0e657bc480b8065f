// Recalls and edits: who may, what they leave behind, and whom they are told to.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

MutateCommand mutate(const std::string& user, decltype(MutateCommand::change) change, std::uint64_t number = 0) {
  MutateCommand command;
  command.user = UserId(user);
  command.device = DeviceId(user + "1");
  if (number != 0) command.install = InstallId("i");
  command.number = number;
  command.change = std::move(change);
  return command;
}

MutateCommand recall(const std::string& user, const std::string& conversation, std::uint64_t seq,
                     std::uint64_t number = 0, bool admin = false) {
  return mutate(user, RecallCommand{UserId(user), DeviceId(user + "1"), ConversationId(conversation), Seq(seq), admin},
                number);
}

MutateCommand edit(const std::string& user, const std::string& conversation, std::uint64_t seq, const std::string& text,
                   std::optional<Seq> base = std::nullopt, std::uint64_t number = 0) {
  EditCommand command{UserId(user), DeviceId(user + "1"), ConversationId(conversation), Seq(seq), {}, base};
  command.body.text = text;
  return mutate(user, std::move(command), number);
}

Entry row_of(EngineWorld& world, const std::string& user, const std::string& conversation, std::uint64_t seq) {
  StoreView view = world.view();
  auto row = read_message(view, UserId(user), ConversationId(conversation), Seq(seq));
  EXPECT_TRUE(row.has_value()) << (row ? "" : row.error().message());
  return row ? std::move(*row) : Entry{};
}

const Notice* notice_for(const std::vector<Notice>& notices, const std::string& user) {
  for (const Notice& notice : notices)
    if (receiver(notice, user) != nullptr) return &notice;
  return nullptr;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> touches_of(View& view, const std::string& conversation) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touches;
  view.touches(ConversationId(conversation), Seq(), Seq(1u << 30), Direction::up, [&](Seq seq, Seq target) {
    touches.emplace_back(seq.value, target.value);
    return true;
  });
  return touches;
}

TEST(Recall, leaves_a_marker_and_nothing_of_what_was_said) {
  EngineWorld world;
  world.send("a", "b", "first");
  SendCommand said = world.message("a", "b", "secret");
  said.reply_to = Seq(1);
  said.mentions = {UserId("b")};
  world.get<SentReply>(said);
  EXPECT_EQ(world.change("b", "a_b").unread.count, 2u);
  world.take_notices();
  const auto reply = world.get<MutatedReply>(recall("a", "a_b", 2));
  EXPECT_EQ(reply.seq, Seq(3));
  EXPECT_EQ(reply.state, MessageState::recalled);

  const std::vector<Entry> log = log_of(world, "a_b");
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[1].state, MessageState::recalled);
  EXPECT_EQ(log[1].body, Body());
  EXPECT_EQ(log[1].reply_to, Seq());
  EXPECT_TRUE(log[1].mentions.empty());
  EXPECT_EQ(log[1].touched_by, Seq(3));
  EXPECT_EQ(log[1].sender.value, "a");
  EXPECT_EQ(log[1].client_msg_id, said.client_msg_id);
  EXPECT_EQ(log[2].kind, EntryKind::recall);
  EXPECT_EQ(log[2].target, Seq(2));
  EXPECT_EQ(log[2].target_sender.value, "a");
  EXPECT_EQ(log[2].ord, 2u);
  EXPECT_EQ(log[2].top, Seq(2));

  const Change change = world.change("b", "a_b");
  EXPECT_EQ(change.unread, (Unread{1, true}));
  EXPECT_EQ(change.touch_seq, Seq(3));
  EXPECT_EQ(change.head_seq, Seq(3));
  EXPECT_EQ(change.preview.state, MessageState::recalled);
  EXPECT_EQ(change.preview.text, "");

  const std::vector<Notice> notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(*notices[0].entry, log[2]);
  EXPECT_EQ(*notices[0].dead, log[1]);
  ASSERT_TRUE(receiver(notices[0], "b") && receiver(notices[0], "b")->summary);
  EXPECT_EQ(receiver(notices[0], "b")->summary->unread, (Unread{1, true}));
  EXPECT_EQ(receiver(notices[0], "b")->summary->preview.text, "");
}

TEST(Recall, is_for_the_author_in_time_and_for_an_operator_always) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.send("b", "a", "y");
  EXPECT_EQ(world.refused(recall("b", "a_b", 1)), ErrorCode::FORBIDDEN);
  world.clock.pass(120'000);
  world.get<MutatedReply>(recall("a", "a_b", 1));
  world.clock.pass(1);
  EXPECT_EQ(world.refused(recall("b", "a_b", 2)), ErrorCode::TOO_LATE);
  world.clock.pass(1'000'000'000);
  world.take_notices();
  const auto reply = world.get<MutatedReply>(recall("operator", "a_b", 2, 0, true));
  EXPECT_EQ(reply.state, MessageState::recalled);
  EXPECT_EQ(log_of(world, "a_b").back().sender.value, "operator");
  EXPECT_EQ(log_of(world, "a_b").back().target_sender.value, "b");
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(receiver(notices[0], "a") && receiver(notices[0], "b"));
  EXPECT_EQ(receiver(notices[0], "operator"), nullptr);
  StoreView view = world.view();
  EXPECT_FALSE(view.user(UserId("operator")).exists());
  EXPECT_EQ(world.change("a", "a_b").unread.count, 0u);
}

TEST(Recall, again_says_what_is_so_already_and_writes_nothing) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(recall("a", "a_b", 1));
  world.take_notices();
  world.clock.pass(1'000'000);
  const auto again = world.get<MutatedReply>(recall("a", "a_b", 1));
  EXPECT_EQ(again.seq, Seq());
  EXPECT_EQ(again.state, MessageState::recalled);
  EXPECT_EQ(log_of(world, "a_b").size(), 2u);
  EXPECT_TRUE(world.take_notices().empty());
}

TEST(Edit, rewrites_the_row_and_is_pushed_with_the_body) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.send("a", "b", "last");
  world.clock.pass(1'000'000'000);  // at any time
  world.take_notices();
  const auto reply = world.get<MutatedReply>(edit("a", "a_b", 1, "better"));
  EXPECT_EQ(reply.seq, Seq(3));
  EXPECT_EQ(reply.state, MessageState::edited);
  EXPECT_EQ(reply.revision, Seq(3));
  const Entry row = row_of(world, "b", "a_b", 1);
  EXPECT_EQ(row.state, MessageState::edited);
  EXPECT_EQ(row.revision, Seq(3));
  EXPECT_EQ(row.body.text, "better");
  EXPECT_EQ(row_of(world, "b", "a_b", 3).body, Body()) << "one body, one place";
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].entry->body.text, "better");
  EXPECT_FALSE(notices[0].dead);
  ASSERT_TRUE(receiver(notices[0], "b"));
  EXPECT_FALSE(receiver(notices[0], "b")->summary) << "neither preview nor unread changed";
  world.get<MutatedReply>(edit("a", "a_b", 2, "the last"));
  const std::vector<Notice> shown = world.take_notices();
  ASSERT_TRUE(receiver(shown[0], "b")->summary);
  EXPECT_EQ(receiver(shown[0], "b")->summary->preview.text, "the last");
  EXPECT_EQ(receiver(shown[0], "b")->summary->unread.count, 2u);
}

TEST(Edit, refusals) {
  EngineOptions options;
  options.params.edit_ms = 5'000;
  options.params.body_bytes_max = 10;
  EngineWorld world(options);
  world.send("a", "b", "x");
  EXPECT_EQ(world.refused(edit("b", "a_b", 1, "y")), ErrorCode::FORBIDDEN);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "")), ErrorCode::MALFORMED);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "12345678901")), ErrorCode::TOO_LARGE);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "y", Seq(7))), ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "y", Seq())).revision, Seq(2));
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "z", Seq())), ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "z", Seq(2))).revision, Seq(3));
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "z")).revision, Seq(4)) << "the later one wins";
  world.clock.pass(5'001);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "z")), ErrorCode::TOO_LATE);
  EXPECT_EQ(log_of(world, "a_b").size(), 4u);
}

TEST(Change, what_one_may_not_see_is_not_there) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.call(add("a", group, "c"));
  for (const auto& command :
       {recall("c", group.id, seq), recall("stranger", group.id, seq), recall("a", group.id, seq + 100),
        recall("a", group.id, 0), recall("a", group.id, 1), recall("a", "group_999", 1), recall("a", "a_z", 1),
        recall("operator", group.id, 1, 0, true), recall("operator", "a_z", 1, 0, true)})
    EXPECT_EQ(world.refused(command), ErrorCode::MESSAGE_NOT_FOUND);
  for (const auto& command : {edit("c", group.id, seq, "y"), edit("stranger", group.id, seq, "y"),
                              edit("a", group.id, 1, "y"), edit("a", "a_z", 1, "y")})
    EXPECT_EQ(world.refused(command), ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_EQ(world.refused(recall("a", "b_a", 1)), ErrorCode::NON_CANONICAL_ID);
  world.call(remove("a", group, "b"));
  EXPECT_EQ(world.refused(recall("b", group.id, seq)), ErrorCode::NOT_MEMBER);
  EXPECT_EQ(world.refused(edit("b", group.id, seq, "y")), ErrorCode::NOT_MEMBER);
}

TEST(Change, an_edit_tells_a_newcomer_nothing_of_what_he_may_not_see) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.call(add("a", group, "c"));
  world.take_notices();
  world.get<MutatedReply>(edit("a", group.id, seq, "secret"));
  const std::vector<Notice> notices = world.take_notices();
  ASSERT_TRUE(notice_for(notices, "b") && notice_for(notices, "c"));
  EXPECT_EQ(notice_for(notices, "b")->entry->body.text, "secret");
  EXPECT_EQ(notice_for(notices, "c")->entry->body, Body());
  EXPECT_EQ(notice_for(notices, "c")->entry->seq, notice_for(notices, "b")->entry->seq);
  EXPECT_EQ(receiver(*notice_for(notices, "c"), "c")->summary->preview.seq, Seq());
}

TEST(Change, a_former_member_learns_what_became_of_what_he_may_see) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b", "c"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.call(remove("c", group, "c"));
  const Change before = world.change("c", group.id);
  const std::uint64_t later = world.send("a", group.id, "y").seq.value;
  world.take_notices();
  world.get<MutatedReply>(recall("a", group.id, later));
  EXPECT_EQ(notice_for(world.take_notices(), "c"), nullptr);
  const auto reply = world.get<MutatedReply>(recall("a", group.id, seq));
  const Change after = world.change("c", group.id);
  EXPECT_EQ(after.head_seq, before.head_seq);
  EXPECT_EQ(after.touch_seq, reply.seq);
  EXPECT_EQ(after.preview.state, MessageState::recalled);
  EXPECT_EQ(after.mark, before.mark + 1);
  const std::vector<Notice> notices = world.take_notices();
  const Notice* told = notice_for(notices, "c");
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->entry);
  EXPECT_TRUE(told->dead);
  ASSERT_TRUE(receiver(*told, "c")->summary);
  EXPECT_EQ(*receiver(*told, "c")->summary, after);

  // Back again he is a member like all others: told once.
  world.call(add("a", group, "c"));
  world.take_notices();
  world.get<MutatedReply>(edit("a", group.id, world.send("a", group.id, "z").seq.value, "zz"));
  std::size_t told_to_c = 0;
  for (const Notice& notice : world.take_notices())
    if (notice.entry && notice.entry->kind == EntryKind::edit) told_to_c += receiver(notice, "c") != nullptr;
  EXPECT_EQ(told_to_c, 1u);
}

TEST(Change, the_same_number_is_answered_the_same) {
  EngineWorld world;
  world.send("a", "b", "x");
  const auto first = world.get<MutatedReply>(edit("a", "a_b", 1, "y", Seq(), 1));
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "y", Seq(), 1)), first);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "z", Seq(), 1)), ErrorCode::MUTATION_CONFLICT);
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "y", std::nullopt, 1)), ErrorCode::MUTATION_CONFLICT);
  const auto recalled = world.get<MutatedReply>(recall("a", "a_b", 1, 2));
  world.clock.pass(1'000'000);
  world.crash();
  EXPECT_EQ(world.get<MutatedReply>(recall("a", "a_b", 1, 2)), recalled);
  EXPECT_EQ(recalled.seq, Seq(3));
  EXPECT_EQ(world.refused(recall("a", "a_b", 7, 2)), ErrorCode::MUTATION_CONFLICT);
}

TEST(Change, all_of_a_round_is_one_change_and_the_recalled_text_never_reaches_the_store) {
  EngineWorld world;
  world.send("a", "b", "old");
  std::vector<std::optional<Result<Reply>>> answers(6);
  world.submit(world.message("a", "b", "secret"), &answers[0]);
  world.submit(edit("a", "a_b", 2, "other secret"), &answers[1]);
  world.submit(edit("a", "a_b", 1, "older"), &answers[2]);
  world.submit(recall("a", "a_b", 2), &answers[3]);
  world.submit(edit("a", "a_b", 1, "oldest"), &answers[4]);
  world.submit(edit("a", "a_b", 2, "no"), &answers[5]);
  world.run();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(answers[i]->has_value());
  EXPECT_EQ(answers[5]->error().code, ErrorCode::MESSAGE_DELETED);
  StoreView view = world.view();
  EXPECT_EQ(touches_of(view, "a_b"), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{5, 2}, {6, 1}}));
  EXPECT_EQ(row_of(world, "b", "a_b", 1).body.text, "oldest");
  EXPECT_EQ(row_of(world, "b", "a_b", 2).state, MessageState::recalled);
  EXPECT_EQ(world.change("b", "a_b").unread.count, 1u);
  const auto bytes = world.warm().snapshot();
  for (const Table table : kTables)
    EXPECT_TRUE(bytes->scan(table, "", std::string(16, '\xff'), [](std::string_view, std::string_view value) {
      EXPECT_EQ(value.find("secret"), std::string_view::npos);
      return true;
    }));
  for (const Notice& notice : world.take_notices())
    if (notice.entry && notice.entry->kind == EntryKind::recall) EXPECT_EQ(notice.dead->body, Body());
}

}  // namespace
}  // namespace tidemark
