// Recalls and edits: who may, what they leave behind, and whom they are told to.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

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

TEST(Conformance, S69_recall_within_the_window) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.send("a", "b", "y");
  const std::int64_t sent_at = world.clock.wall;
  world.clock.pass(119'000);
  world.get<MutatedReply>(recall("a", "a_b", 1));
  const Entry marker = row_of(world, "b", "a_b", 1);
  EXPECT_EQ(marker.sender.value, "a");
  EXPECT_EQ(marker.server_time, sent_at);
  EXPECT_EQ(marker.body, Body());
  world.clock.pass(2'000);
  EXPECT_EQ(world.refused(recall("a", "a_b", 2)), ErrorCode::TOO_LATE);
  EXPECT_EQ(row_of(world, "b", "a_b", 2).body.text, "y");
}

TEST(Recall, a_clock_set_back_opens_no_window_again) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.clock.pass(3'600'000);
  world.send("a", "b", "y");
  world.clock.wall -= 3'599'000;
  EXPECT_EQ(world.refused(recall("a", "a_b", 1)), ErrorCode::TOO_LATE);
  world.get<MutatedReply>(recall("a", "a_b", 2));
}

TEST(Conformance, S10_a_retry_after_a_recall_brings_nothing_back) {
  EngineWorld world;
  const SendCommand said = world.message("a", "b", "secret");
  world.get<SentReply>(said);
  world.get<MutatedReply>(recall("a", "a_b", 1));
  const auto again = world.get<SentReply>(said);
  EXPECT_EQ(again.seq, Seq(1));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.state, MessageState::recalled);
  EXPECT_EQ(row_of(world, "b", "a_b", 1).body, Body());
  EXPECT_EQ(log_of(world, "a_b").size(), 2u);
}

TEST(Conformance, S59_a_recall_of_an_unread_message_lowers_the_number) {
  EngineWorld world;
  for (const char* text : {"1", "2", "3"}) world.send("b", "a", text);
  ASSERT_EQ(world.change("a", "a_b").unread.count, 3u);
  world.get<MutatedReply>(recall("b", "a_b", 2));
  EXPECT_EQ(world.change("a", "a_b").unread, (Unread{2, true}));
  const auto read = world.get<MutatedReply>(world.read_to("a", "a_b", 1));
  EXPECT_EQ(read.unread, (Unread{1, true}));
  EXPECT_EQ(world.get<MutatedReply>(world.read_to("a", "a_b", 4)).unread, Unread{});
}

TEST(Conformance, S71_reply_and_recall_in_either_order) {
  EngineWorld world;
  world.send("b", "c", "quoted");
  SendCommand reply = world.message("c", "b", "answer");
  reply.reply_to = Seq(1);
  world.get<SentReply>(reply);
  world.get<MutatedReply>(recall("b", "b_c", 1));
  EXPECT_EQ(row_of(world, "b", "b_c", 2).reply_to, Seq(1)) << "the reply stays, its quote is a reference";
  EXPECT_EQ(row_of(world, "b", "b_c", 1).state, MessageState::recalled);

  SendCommand late = world.message("c", "b", "late answer");
  late.reply_to = Seq(1);
  EXPECT_EQ(world.refused(late), ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(log_of(world, "b_c").size(), 3u);
  late.reply_to = Seq();
  EXPECT_FALSE(world.get<SentReply>(late).duplicate) << "the id was not used up";
}

TEST(Conformance, S72_edit_and_recall_in_either_order) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.send("a", "b", "y");
  world.get<MutatedReply>(edit("a", "a_b", 1, "edited"));
  EXPECT_EQ(world.get<MutatedReply>(recall("a", "a_b", 1)).state, MessageState::recalled);
  world.get<MutatedReply>(recall("a", "a_b", 2));
  EXPECT_EQ(world.refused(edit("a", "a_b", 2, "edited")), ErrorCode::MESSAGE_DELETED);
  for (const std::uint64_t seq : {1, 2}) {
    EXPECT_EQ(row_of(world, "b", "a_b", seq).state, MessageState::recalled);
    EXPECT_EQ(row_of(world, "b", "a_b", seq).body, Body());
  }
}

TEST(Conformance, S73_two_edits) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(edit("a", "a_b", 1, "one", Seq()));
  EXPECT_EQ(world.refused(edit("a", "a_b", 1, "two", Seq())), ErrorCode::REVISION_CONFLICT);
  EXPECT_EQ(row_of(world, "b", "a_b", 1).body.text, "one");
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "two")).revision, Seq(3));
  EXPECT_EQ(row_of(world, "b", "a_b", 1).body.text, "two");
  EXPECT_EQ(row_of(world, "b", "a_b", 1).revision, Seq(3));
}

TEST(Conformance, S83_a_recall_sent_twice_is_one) {
  EngineWorld world;
  world.send("a", "b", "x");
  const auto first = world.get<MutatedReply>(recall("a", "a_b", 1, 1));
  EXPECT_EQ(world.get<MutatedReply>(recall("a", "a_b", 1, 1)), first);
  EXPECT_EQ(world.get<MutatedReply>(recall("a", "a_b", 1, 2)).state, MessageState::recalled);
  EXPECT_EQ(log_of(world, "a_b").size(), 2u);
}

TEST(Change, reading_goes_past_changes_like_any_entry) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(edit("a", "a_b", 1, "y"));
  const auto read = world.get<MutatedReply>(world.read_to("b", "a_b", 2));
  EXPECT_EQ(read.read, Seq(2));
  EXPECT_FALSE(read.clamped);
  world.get<MutatedReply>(recall("a", "a_b", 1));
  EXPECT_EQ(world.change("b", "a_b").read, Seq(2)) << "a recall moves no pointer";
  EXPECT_EQ(world.change("b", "a_b").unread, Unread{});
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
  EXPECT_EQ(world.get<MutatedReply>(edit("a", "a_b", 1, "w")).revision, Seq(4)) << "the later one wins";
  const auto same = world.get<MutatedReply>(edit("a", "a_b", 1, "w"));
  EXPECT_EQ(same.seq, Seq()) << "what is so already is no change";
  EXPECT_EQ(same.revision, Seq(4));
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

TEST(Conformance, S81_a_recall_for_a_member_who_left_before) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b", "c"});
  const std::uint64_t seq = world.send("a", group.id, "secret").seq.value;
  world.call(remove("c", group, "c"));
  const Change before = world.change("c", group.id);
  world.get<MutatedReply>(recall("a", group.id, seq));
  EXPECT_EQ(row_of(world, "c", group.id, seq).state, MessageState::recalled);
  EXPECT_EQ(world.change("c", group.id).head_seq, before.head_seq);
  ConversationSyncQuery query;
  query.user = UserId("c");
  query.conversation = ConversationId(group.id);
  query.after = before.head_seq;
  query.known = {{Seq(), before.head_seq}};
  StoreView view = world.view();
  const auto page = read_conversation_sync(view, world.params(), query);
  ASSERT_TRUE(page.has_value());
  EXPECT_TRUE(page->messages.empty());
  ASSERT_EQ(page->touched.size(), 1u);
  EXPECT_EQ(page->touched[0].seq.value, seq);
  EXPECT_EQ(page->touched[0].body, Body());
  EXPECT_EQ(page->to, world.change("c", group.id).touch_seq);
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

TEST(Change, a_read_that_fails_at_any_step_leaves_nothing_half_done) {
  for (std::uint64_t step = 0; step < 60; ++step) {
    EngineOptions options;
    options.state.block_rows = 1;
    EngineWorld world(options);
    const Group group = make_group(world, "a", {"b", "c"});
    const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
    world.send("b", "a", "elsewhere");
    world.get<MutatedReply>(edit("a", group.id, seq, "y"));
    world.call(remove("c", group, "c"));
    world.crash();
    world.plan->fail_at(step);
    std::vector<std::optional<Result<Reply>>> answers(2);
    world.submit(edit("a", group.id, seq, "z"), &answers[0]);
    world.submit(recall("a", group.id, seq), &answers[1]);
    world.run();
    for (const auto& answer : answers) ASSERT_TRUE(answer) << step;
    world.plan->clear();
    world.clock.pass(1'000);
    EXPECT_EQ(world.get<MutatedReply>(recall("a", group.id, seq)).state, MessageState::recalled) << step;
    world.crash();
    StoreView view = world.view();
    const auto touches = touches_of(view, group.id);
    ASSERT_EQ(touches.size(), 1u) << step;
    EXPECT_EQ(touches[0].second, seq);
    for (const char* user : {"a", "b", "c"}) {
      EXPECT_EQ(row_of(world, user, group.id, seq).body, Body());
      EXPECT_EQ(world.change(user, group.id).touch_seq.value, touches[0].first) << user << " at step " << step;
      EXPECT_EQ(world.change(user, group.id).unread.count, 0u);
    }
    EXPECT_FALSE(view.failure());
  }
}

// ------------------------------------------------------------------------------------- against a naive model

/// What the design says, kept message by message and recounted.
struct Model {
  struct Message {
    std::string sender;
    std::string text;
    bool dead = false;
    std::uint64_t revision = 0;
  };
  struct Period {
    std::uint64_t join, leave;  // leave 0: still in
  };
  std::map<std::uint64_t, Message> messages;
  std::map<std::string, std::vector<Period>> periods;
  std::map<std::string, std::uint64_t> read;

  bool member(const std::string& user) const {
    const auto found = periods.find(user);
    return found != periods.end() && found->second.back().leave == 0;
  }
  bool sees(const std::string& user, std::uint64_t seq) const {
    const auto found = periods.find(user);
    if (found == periods.end()) return false;
    return std::ranges::any_of(found->second, [seq](const Period& period) {
      return period.join <= seq && (period.leave == 0 || seq < period.leave);
    });
  }
  std::uint32_t unread(const std::string& user) const {
    if (!member(user)) return 0;
    const auto pointer = read.find(user);
    const std::uint64_t floor = std::max(periods.at(user).back().join, pointer == read.end() ? 0 : pointer->second);
    return static_cast<std::uint32_t>(std::ranges::count_if(messages, [&](const auto& each) {
      return each.first > floor && each.second.sender != user && !each.second.dead;
    }));
  }
};

const std::vector<std::string> kUsers = {"a", "b", "c", "d"};

std::uint64_t head_of(EngineWorld& world, const Group& group) {
  StoreView view = world.view();
  return view.line(ConversationId(group.id)).seq.value;
}

/// One thing that happens, done in both; what is refused leaves both as they were.
void happen(EngineWorld& world, const Group& group, Model& model) {
  const std::string user = *rc::gen::elementOf(kUsers);
  const std::uint64_t seq = *rc::gen::inRange<std::uint64_t>(1, head_of(world, group) + 3);
  const auto found = model.messages.find(seq);
  const bool mine = found != model.messages.end() && found->second.sender == user && model.sees(user, seq);
  const std::uint64_t next = head_of(world, group) + 1;
  const int what = *rc::gen::inRange(0, 14);
  if (what < 5 && model.member(user)) {
    model.messages[world.send(user, group.id, "t" + std::to_string(next)).seq.value] = {user,
                                                                                        "t" + std::to_string(next)};
  } else if (what < 7) {
    const auto reply = world.call(recall(user, group.id, seq));
    RC_ASSERT(reply.has_value() == (mine && model.member(user)));
    if (reply) found->second.dead = true;
  } else if (what < 9) {
    const std::string text = "e" + std::to_string(next);
    const auto reply = world.call(edit(user, group.id, seq, text));
    RC_ASSERT(reply.has_value() == (mine && model.member(user) && !found->second.dead));
    if (reply) found->second.text = text, found->second.revision = next;
  } else if (what < 10) {
    const bool there = found != model.messages.end();
    RC_ASSERT(world.call(recall("operator", group.id, seq, 0, true)).has_value() == there);
    if (there) found->second.dead = true;
  } else if (what < 12 && model.periods.contains(user)) {
    const std::uint64_t last = model.member(user) ? next - 1 : model.periods[user].back().leave;
    world.get<MutatedReply>(world.read_to(user, group.id, seq));
    model.read[user] = std::max(model.read[user], std::min(seq, last));
  } else if (user != "a" && model.member(user)) {
    world.call(remove("a", group, user));
    model.periods[user].back().leave = next;
  } else if (user != "a") {
    world.call(add("a", group, user));
    model.periods[user].push_back({next, 0});
  }
}

/// A device that holds all it may see and follows by conversation sync alone.
struct Held {
  std::map<std::uint64_t, Entry> rows;
  std::uint64_t touched = 0;

  void sync(EngineWorld& world, const std::string& user, const Group& group) {
    ConversationSyncQuery query;
    query.user = UserId(user);
    query.conversation = ConversationId(group.id);
    query.limit = *rc::gen::inRange<std::uint32_t>(1, 4);
    for (bool more = true; more;) {
      query.after = Seq(touched);
      query.known.clear();
      if (touched != 0) query.known.push_back({Seq(), Seq(touched)});
      StoreView view = world.view();
      const auto page = read_conversation_sync(view, world.params(), query);
      RC_ASSERT(page.has_value());
      for (const Entry& row : page->touched)
        if (rows.contains(row.seq.value)) rows[row.seq.value] = row;
      for (const Hidden& hidden : page->hidden)
        std::erase_if(rows,
                      [&](const auto& row) { return row.first > hidden.after.value && row.first <= hidden.to.value; });
      query.touch_cursor = page->touch_cursor;
      query.to = page->touch_cursor ? page->to : Seq();
      more = page->more;
      if (page->touch_cursor) continue;
      for (const Entry& row : page->messages) rows[row.seq.value] = row;
      touched = std::max(touched, page->to.value);
    }
  }
};

RC_GTEST_PROP(ChangeProperty, rows_and_unread_are_what_a_recount_says_and_a_device_that_syncs_holds_them, ()) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b", "c"});
  Model model;
  for (const char* user : {"a", "b", "c"}) model.periods[user] = {{1, 0}};
  std::map<std::string, Held> devices;
  for (int steps = *rc::gen::inRange(10, 80); steps > 0; --steps) {
    happen(world, group, model);
    if (*rc::gen::inRange(0, 20) == 0) world.crash();
    for (const auto& [user, periods] : model.periods)
      RC_ASSERT(world.change(user, group.id).unread == (Unread{model.unread(user), true}));
    const std::string user = *rc::gen::elementOf(kUsers);
    if (model.periods.contains(user) && *rc::gen::inRange(0, 4) == 0) devices[user].sync(world, user, group);
  }
  StoreView view = world.view();
  std::map<std::uint64_t, std::uint64_t> touched_by;
  for (const auto& [seq, target] : touches_of(view, group.id)) RC_ASSERT(touched_by.emplace(target, seq).second);
  for (const auto& [seq, message] : model.messages) {
    const auto row = view.entry(ConversationId(group.id), Seq(seq));
    RC_ASSERT(row && row->dead() == message.dead);
    RC_ASSERT(row->body.text == (message.dead ? "" : message.text));
    RC_ASSERT(row->revision.value == message.revision);
    RC_ASSERT(row->touched_by.value == (touched_by.contains(seq) ? touched_by[seq] : 0));
  }
  for (const auto& [user, periods] : model.periods) {
    devices[user].sync(world, user, group);
    for (const auto& [seq, message] : model.messages) {
      RC_ASSERT(devices[user].rows.contains(seq) == model.sees(user, seq));
      if (!model.sees(user, seq)) continue;
      RC_ASSERT(devices[user].rows[seq] == row_of(world, user, group.id, seq));
    }
  }
}

}  // namespace
}  // namespace tidemark
