// What users make of conversations for themselves, through the engine and its store.
#include <algorithm>
#include <set>

#include "core/visibility.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

template <typename Change>
MutateCommand change_of(const std::string& user, Change change) {
  MutateCommand command;
  command.user = UserId(user);
  command.device = DeviceId("d");
  change.user = UserId(user);
  command.change = std::move(change);
  return command;
}

MutateCommand clear(const std::string& user, const std::string& id, std::uint64_t seq = 0) {
  return change_of(user, ClearCommand{{}, ConversationId(id), Seq(seq)});
}
MutateCommand remove_from_list(const std::string& user, const std::string& id, std::uint64_t seq = 0) {
  return change_of(user, RemoveCommand{{}, ConversationId(id), Seq(seq)});
}
MutateCommand delete_one(const std::string& user, const std::string& id, std::uint64_t seq) {
  return change_of(user, DeleteForMeCommand{{}, ConversationId(id), {{Seq(seq - 1), Seq(seq)}}});
}
MutateCommand delete_range(const std::string& user, const std::string& id, std::uint64_t after, std::uint64_t to) {
  return change_of(user, DeleteForMeCommand{{}, ConversationId(id), {{Seq(after), Seq(to)}}});
}
MutateCommand recall(const std::string& user, const std::string& id, std::uint64_t seq) {
  return change_of(user, RecallCommand{{}, DeviceId("d"), ConversationId(id), Seq(seq), false});
}
MutateCommand edit(const std::string& user, const std::string& id, std::uint64_t seq, const std::string& text) {
  EditCommand command{{}, DeviceId("d"), ConversationId(id), Seq(seq), {}, std::nullopt};
  command.body.text = text;
  return change_of(user, command);
}
MutateCommand block(const std::string& user, const std::string& other, bool blocked) {
  return change_of(user, BlockCommand{{}, UserId(other), blocked});
}

SyncPage sync(EngineWorld& world, const std::string& user, const Cursor& cursor = {}) {
  StoreView view = world.view();
  SyncQuery query;
  query.user = UserId(user);
  query.cursor = cursor;
  auto page = read_sync(view, world.params(), query);
  EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message());
  return page ? std::move(*page) : SyncPage{};
}

/// Conversations in the user's list.
long listed(EngineWorld& world, const std::string& user) {
  return std::ranges::count(sync(world, user).changes, false, &Change::removed);
}

HistoryPage history(EngineWorld& world, const std::string& user, const std::string& id) {
  StoreView view = world.view();
  HistoryQuery query;
  query.user = UserId(user);
  query.conversation = ConversationId(id);
  query.limit = 200;
  auto page = read_history(view, world.params(), query);
  EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message());
  return page ? std::move(*page) : HistoryPage{};
}

std::vector<std::uint64_t> seqs(const HistoryPage& page) {
  std::vector<std::uint64_t> seqs;
  for (const Entry& entry : page.messages) seqs.push_back(entry.seq.value);
  return seqs;
}

/// Messages 1 to `count` from 1001 to 2002.
void talk(EngineWorld& world, int count) {
  for (int i = 1; i <= count; ++i) world.send("1001", "2002", "text " + std::to_string(i));
}

TEST(OwnState, clearing_hides_everything_up_to_there_from_the_user_alone_and_for_good) {
  EngineWorld world;
  talk(world, 5);
  const auto made = world.get<MutatedReply>(clear("2002", "1001_2002", 3));
  EXPECT_EQ(made.cleared, Seq(3));
  EXPECT_EQ(made.unread.count, 2u);
  EXPECT_EQ(seqs(history(world, "2002", "1001_2002")), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(history(world, "2002", "1001_2002").hidden, (std::vector<Hidden>{{Seq(0), Seq(3), HiddenReason::cleared}}));
  EXPECT_EQ(seqs(history(world, "1001", "1001_2002")).size(), 5u);
  EXPECT_EQ(world.change("2002", "1001_2002").preview.seq, Seq(5));
  // It never goes back, and what lies beyond the head is clamped.
  EXPECT_EQ(world.get<MutatedReply>(clear("2002", "1001_2002", 1)).cleared, Seq(3));
  const auto all = world.get<MutatedReply>(clear("2002", "1001_2002", 99));
  EXPECT_EQ(all.cleared, Seq(5));
  EXPECT_TRUE(all.clamped);
  EXPECT_EQ(world.change("2002", "1001_2002").preview.seq, Seq(0));
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 0u);
  EXPECT_EQ(world.refused(clear("2002", "1001_3003")), ErrorCode::CONVERSATION_NOT_FOUND);
  world.send("1001", "2002", "again");
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 1u);
}

TEST(OwnState, a_removed_conversation_comes_back_with_the_next_message_above_the_floor) {
  EngineWorld world;
  talk(world, 3);
  const Cursor before = sync(world, "2002").next;
  ASSERT_TRUE(world.get<MutatedReply>(remove_from_list("2002", "1001_2002")).removed);
  EXPECT_EQ(listed(world, "2002"), 0);
  const SyncPage delta = sync(world, "2002", before);
  ASSERT_EQ(delta.changes.size(), 1u);
  EXPECT_TRUE(delta.changes.front().removed);
  EXPECT_EQ(delta.changes.front().cleared, Seq(3));
  StoreView view = world.view();
  EXPECT_TRUE(read_conversations(view, world.params(), UserId("2002"), 0, 0, {})->conversations.empty());
  EXPECT_EQ(read_conversations(view, world.params(), UserId("1001"), 0, 0, {})->conversations.size(), 1u);

  // An edit and a recall of what he cleared away touch nothing of his.
  const Mark quiet = sync(world, "2002").head;
  world.take_notices();
  ASSERT_TRUE(world.call(edit("1001", "1001_2002", 3, "otherwise")).has_value());
  ASSERT_TRUE(world.call(recall("1001", "1001_2002", 2)).has_value());
  EXPECT_EQ(sync(world, "2002").head, quiet);
  for (const Notice& notice : world.take_notices()) EXPECT_EQ(receiver(notice, "2002"), nullptr);

  world.send("1001", "2002", "are you there?");
  const auto notices = world.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  const Receiver* told = receiver(notices.front(), "2002");
  ASSERT_NE(told, nullptr);
  ASSERT_NE(told->summary, nullptr) << "a device that dropped it is told all of it";
  EXPECT_FALSE(told->summary->removed);
  EXPECT_EQ(told->summary->unread.count, 1u);
  const SyncPage back = sync(world, "2002");
  ASSERT_EQ(back.changes.size(), 1u);
  EXPECT_FALSE(back.changes.front().removed);
  EXPECT_EQ(back.changes.front().cleared, Seq(5));
  EXPECT_EQ(seqs(history(world, "2002", "1001_2002")), (std::vector<std::uint64_t>{6}))
      << "4 and 5 came while it was removed";
}

TEST(OwnState, removing_what_was_seen_leaves_a_conversation_with_a_newer_message_in_the_list) {
  EngineWorld world;
  talk(world, 5);
  const auto made = world.get<MutatedReply>(remove_from_list("2002", "1001_2002", 4));
  EXPECT_FALSE(made.removed);
  EXPECT_EQ(made.cleared, Seq(4));
  EXPECT_EQ(listed(world, "2002"), 1);
  EXPECT_TRUE(world.get<MutatedReply>(remove_from_list("2002", "1001_2002", 5)).removed);
}

TEST(OwnState, a_removed_group_comes_back_with_joining_again) {
  EngineWorld world;
  const Group group = make_group(world, "1001", {"2002"});
  ASSERT_TRUE(world.call(remove("2002", group, "2002")).has_value());
  ASSERT_TRUE(world.get<MutatedReply>(remove_from_list("2002", group.id)).removed);
  EXPECT_EQ(listed(world, "2002"), 0);
  ASSERT_TRUE(world.call(add("1001", group, "2002")).has_value());
  ASSERT_EQ(listed(world, "2002"), 1);
  EXPECT_TRUE(sync(world, "2002").changes.front().member);
}

TEST(Conformance, S22_a_cursor_from_before_the_tombstones_that_are_gone_begins_anew) {
  EngineOptions options;
  options.params.tombstone_ms = 3 * kHourMs;
  EngineWorld world(options);
  const Group group = make_group(world, "1001", {"2002"});
  talk(world, 2);
  const Cursor old = sync(world, "2002").next;
  ASSERT_TRUE(world.get<MutatedReply>(remove_from_list("2002", group.id)).removed);
  const Cursor younger = sync(world, "2002").next;
  EXPECT_EQ(sync(world, "2002", old).mode, Mode::delta);
  for (int hour = 0; hour < 6; ++hour) {
    world.clock.pass(kHourMs);
    world.send("1001", "3003", "time goes by");
  }
  EXPECT_EQ(sync(world, "2002", old).mode, Mode::reset);
  const SyncPage anew = sync(world, "2002");
  ASSERT_EQ(anew.changes.size(), 1u) << "the group is not there";
  EXPECT_EQ(anew.changes.front().conversation.value, "1001_2002");
  EXPECT_EQ(sync(world, "2002", younger).mode, Mode::delta) << "who knew of it goes on";
  // It is still his, above the floor, when somebody writes; also after a restart.
  world.start();
  world.send("1001", group.id, "still there?");
  EXPECT_EQ(sync(world, "2002").changes.size(), 2u);
  EXPECT_EQ(seqs(history(world, "2002", group.id)), (std::vector<std::uint64_t>{group.head + 1}));
  EXPECT_EQ(sync(world, "2002", younger).changes.size(), 1u);
}

TEST(Conformance, S60_deleting_an_unread_message_for_oneself_lowers_the_own_number_alone) {
  EngineWorld world;
  talk(world, 3);
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 3u);
  const auto made = world.get<MutatedReply>(delete_one("2002", "1001_2002", 2));
  EXPECT_EQ(made.deleted, 1u);
  EXPECT_EQ(made.unread.count, 2u);
  const auto notices = world.take_notices();
  const Receiver* told = receiver(notices.back(), "2002");
  ASSERT_NE(told, nullptr) << "all his devices are told";
  ASSERT_NE(told->summary, nullptr);
  EXPECT_EQ(told->summary->unread.count, 2u);
  ASSERT_NE(told->objects, nullptr);
  EXPECT_TRUE(std::get<DeletedBlock>(told->objects->front().what).deleted.test(Seq(2)));
  EXPECT_EQ(notices.back().receivers.size(), 1u) << "nobody else";
  EXPECT_EQ(world.change("1001", "1001_2002").unread.count, 0u);
  EXPECT_EQ(seqs(history(world, "1001", "1001_2002")), (std::vector<std::uint64_t>{1, 2, 3}));
  // Once more changes nothing, and what never was there is said to be so.
  const Mark quiet = sync(world, "2002").head;
  EXPECT_EQ(world.get<MutatedReply>(delete_one("2002", "1001_2002", 2)).deleted, 0u);
  EXPECT_EQ(sync(world, "2002").head, quiet);
  EXPECT_EQ(world.refused(delete_one("2002", "1001_2002", 77)), ErrorCode::MESSAGE_NOT_FOUND);
}

TEST(Conformance, S75_what_was_deleted_for_oneself_stays_hidden_on_a_new_installation) {
  EngineWorld world;
  talk(world, 4);
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 2)).has_value());
  world.start();
  const HistoryPage mine = history(world, "2002", "1001_2002");
  EXPECT_EQ(seqs(mine), (std::vector<std::uint64_t>{1, 3, 4}));
  EXPECT_EQ(mine.covers, (Interval{Seq(0), Seq(4)})) << "contiguous";
  EXPECT_EQ(mine.hidden, (std::vector<Hidden>{{Seq(1), Seq(2), HiddenReason::deleted}}));
  EXPECT_EQ(seqs(history(world, "1001", "1001_2002")), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  StoreView view = world.view();
  EXPECT_EQ(read_message(view, UserId("2002"), ConversationId("1001_2002"), Seq(2)).error().code,
            ErrorCode::MESSAGE_NOT_FOUND);
  EXPECT_TRUE(read_message(view, UserId("1001"), ConversationId("1001_2002"), Seq(2)).has_value());
}

TEST(Conformance, S76_deleted_for_oneself_then_recalled_shows_nothing) {
  EngineWorld world;
  talk(world, 3);
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 2)).has_value());
  ASSERT_TRUE(world.call(recall("1001", "1001_2002", 2)).has_value());
  EXPECT_EQ(seqs(history(world, "2002", "1001_2002")), (std::vector<std::uint64_t>{1, 3, 4})) << "4 is the recall";
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 2u)
      << "counted once: deleted and dead is one less, not two";
  // The other way round: the marker can be deleted too.
  ASSERT_TRUE(world.call(recall("1001", "1001_2002", 3)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 1u);
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 3)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 1u);
}

TEST(Conformance, S77_deleted_for_oneself_then_edited_stays_hidden) {
  EngineWorld world;
  talk(world, 2);
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 2)).has_value());
  world.take_notices();
  ASSERT_TRUE(world.call(edit("1001", "1001_2002", 2, "SECRET")).has_value());
  for (const Notice& notice : world.take_notices())
    if (receiver(notice, "2002") != nullptr && notice.entry) EXPECT_EQ(notice.entry->body, Body()) << "no text for him";
  EXPECT_EQ(seqs(history(world, "2002", "1001_2002")), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 1u);
  EXPECT_NE(world.change("2002", "1001_2002").preview.text, "SECRET");
}

TEST(Conformance, S78_the_list_shows_the_message_before_a_deleted_one_at_the_same_place) {
  EngineWorld world;
  talk(world, 4);
  const Change before = world.change("2002", "1001_2002");
  ASSERT_TRUE(world.call(delete_range("2002", "1001_2002", 2, 4)).has_value());
  const Change after = world.change("2002", "1001_2002");
  EXPECT_EQ(after.preview.seq, Seq(2));
  EXPECT_EQ(after.sort_time, before.sort_time);
  EXPECT_EQ(world.change("1001", "1001_2002").preview.seq, Seq(4));
}

TEST(Conformance, S82_a_mass_deletion_makes_a_few_blocks) {
  EngineWorld w;
  std::vector<std::optional<Result<Reply>>> answers(10'000);
  for (auto& answer : answers) w.submit(w.message("1001", "2002", "x"), &answer);
  w.run();
  const Cursor before = sync(w, "2002").next;
  EXPECT_EQ(w.get<MutatedReply>(delete_range("2002", "1001_2002", 0, 10'000)).deleted, 10'000u);
  const SyncPage delta = sync(w, "2002", before);
  EXPECT_LE(delta.objects.size(), 11u);
  EXPECT_EQ(delta.changes.size(), 1u);
  EXPECT_EQ(delta.changes.front().unread.count, 0u);
  EXPECT_EQ(w.change("2002", "1001_2002").preview.seq, Seq(0));
  Intervals hidden;
  for (const UserObject& object : delta.objects) {
    const auto& block = std::get<DeletedBlock>(object.what);
    std::ranges::copy(block.deleted.intervals(block.block), std::back_inserter(hidden));
  }
  EXPECT_EQ(joined(hidden), (Intervals{{Seq(0), Seq(10'000)}}));
}

TEST(OwnState, a_deletion_is_bounded_and_a_part_of_none_is_done) {
  EngineOptions options;
  options.params.delete_max = 3;
  EngineWorld world(options);
  talk(world, 5);
  EXPECT_EQ(world.refused(delete_range("2002", "1001_2002", 0, 4)), ErrorCode::LIMIT_REACHED);
  EXPECT_EQ(seqs(history(world, "2002", "1001_2002")).size(), 5u);
  EXPECT_EQ(world.get<MutatedReply>(delete_range("2002", "1001_2002", 2, 99)).deleted, 3u) << "the head bounds it";
  EXPECT_EQ(world.refused(delete_range("2002", "1001_2002", 4, 4)), ErrorCode::OUT_OF_RANGE);
}

TEST(OwnState, deletions_and_floors_count_as_the_definition_says) {
  EngineWorld world;
  talk(world, 6);
  world.send("2002", "1001", "mine");  // 7
  ASSERT_TRUE(world.call(delete_range("2002", "1001_2002", 0, 2)).has_value());
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 7)).has_value()) << "an own one counts nowhere";
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 4u);
  ASSERT_TRUE(world.call(world.read_to("2002", "1001_2002", 3)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 3u);
  ASSERT_TRUE(world.call(delete_one("2002", "1001_2002", 5)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 2u);
  ASSERT_TRUE(world.call(clear("2002", "1001_2002", 5)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 1u);
}

TEST(OwnState, a_message_deleted_for_oneself_cannot_be_answered_or_edited_but_taken_back) {
  EngineWorld world;
  talk(world, 2);
  ASSERT_TRUE(world.call(delete_one("1001", "1001_2002", 1)).has_value());
  auto reply = world.message("1001", "2002", "re");
  reply.reply_to = Seq(1);
  EXPECT_EQ(world.refused(reply), ErrorCode::MESSAGE_DELETED);
  reply.reply_to = Seq(2);
  EXPECT_TRUE(world.call(reply).has_value()) << "the id was not used up";
  EXPECT_EQ(world.refused(edit("1001", "1001_2002", 1, "new")), ErrorCode::MESSAGE_DELETED);
  EXPECT_TRUE(world.call(recall("1001", "1001_2002", 1)).has_value());
  EXPECT_EQ(world.change("2002", "1001_2002").unread.count, 2u);
}

TEST(OwnState, muting_and_pinning_are_states_of_the_user_alone) {
  EngineWorld world;
  talk(world, 1);
  const auto muted = world.get<MutatedReply>(change_of("2002", MuteCommand{{}, ConversationId("1001_2002"), kForEver}));
  EXPECT_EQ(muted.muted_until, kForEver);
  EXPECT_EQ(world.change("2002", "1001_2002").muted_until, kForEver);
  EXPECT_EQ(world.change("1001", "1001_2002").muted_until, 0);
  // A time that has passed is none.
  EXPECT_EQ(world.get<MutatedReply>(change_of("2002", MuteCommand{{}, ConversationId("1001_2002"), 5})).muted_until, 0);
  EXPECT_EQ(world.refused(change_of("2002", MuteCommand{{}, ConversationId("1001_2002"), -1})),
            ErrorCode::OUT_OF_RANGE);
  EXPECT_EQ(world.get<MutatedReply>(change_of("2002", PinCommand{{}, ConversationId("1001_2002"), true})).pinned_at,
            world.clock.wall);
  world.start();
  EXPECT_EQ(world.change("2002", "1001_2002").pinned_at, world.clock.wall);
  EXPECT_EQ(world.get<MutatedReply>(change_of("2002", PinCommand{{}, ConversationId("1001_2002"), false})).pinned_at,
            0);
}

TEST(Conformance, S14_a_blocked_sender_gets_an_error_and_no_entry_is_made) {
  EngineWorld world;
  talk(world, 1);
  ASSERT_TRUE(world.call(block("2002", "1001", true)).has_value());
  const Mark quiet = sync(world, "2002").head;
  const auto refused = world.message("1001", "2002", "hello?");
  EXPECT_EQ(world.refused(refused), ErrorCode::BLOCKED);
  EXPECT_EQ(world.refused(edit("1001", "1001_2002", 1, "hello?")), ErrorCode::BLOCKED);
  EXPECT_EQ(sync(world, "2002").head, quiet);
  EXPECT_EQ(log_of(world, "1001_2002").size(), 1u) << "no hole";
  EXPECT_TRUE(world.call(world.message("2002", "1001", "I may")).has_value());
  EXPECT_TRUE(world.call(world.message("3003", "2002", "others may")).has_value());
  ASSERT_TRUE(world.call(block("2002", "1001", false)).has_value());
  EXPECT_TRUE(world.call(refused).has_value()) << "the id was not used up";
  EXPECT_EQ(world.refused(block("2002", "2002", true)), ErrorCode::MALFORMED);
}

TEST(Conformance, S56_of_two_drafts_the_later_commit_wins_on_all_devices) {
  EngineWorld world;
  talk(world, 1);
  const Cursor before = sync(world, "2002").next;
  const auto draft = [](const std::string& text) {
    DraftCommand command{{}, ConversationId("1001_2002"), {}, Seq(1)};
    command.body.text = text;
    return change_of("2002", command);
  };
  ASSERT_TRUE(world.call(draft("from the phone")).has_value());
  ASSERT_TRUE(world.call(draft("from the desk")).has_value());
  SyncPage delta = sync(world, "2002", before);
  ASSERT_EQ(delta.objects.size(), 1u) << "the loser is not merged into it";
  EXPECT_EQ(std::get<SavedDraft>(delta.objects.front().what).body.text, "from the desk");
  EXPECT_TRUE(sync(world, "1001").objects.empty());
  DraftCommand none{{}, ConversationId("1001_2002"), {}, {}};
  ASSERT_TRUE(world.call(change_of("2002", none)).has_value());
  delta = sync(world, "2002", before);
  ASSERT_EQ(delta.objects.size(), 1u);
  EXPECT_TRUE(delta.objects.front().empty());
  EXPECT_TRUE(sync(world, "2002").objects.empty()) << "who begins with nothing is not told of it";
}

TEST(OwnState, drafts_end_a_page_of_bodies_all_at_its_budget) {
  EngineWorld world;
  std::set<std::string> texts;
  for (int i = 0; i < 10; ++i) {
    world.send("1" + std::to_string(i), "2002", "hello");
    DraftCommand command{{}, ConversationId("1" + std::to_string(i) + "_2002"), {}, {}};
    command.body.text = std::to_string(i) + std::string(60'000, 'x');
    texts.insert(command.body.text);
    ASSERT_TRUE(world.call(change_of("2002", command)).has_value());
  }
  SyncQuery query;
  query.user = UserId("2002");
  query.bodies = Bodies::all;
  StoreView view = world.view();
  std::size_t messages = 0, pages = 0;
  std::set<std::string> told;
  SyncPage page;
  do {
    auto read = read_sync(view, world.params(), query);
    ASSERT_TRUE(read.has_value());
    page = std::move(*read);
    ++pages;
    for (const Change& change : page.changes) messages += change.messages.size();
    std::size_t bytes = 0;
    for (const UserObject& object : page.objects) {
      const std::string& text = std::get<SavedDraft>(object.what).body.text;
      EXPECT_TRUE(told.insert(text).second) << "each once";
      bytes += text.size();
    }
    EXPECT_LE(bytes, world.params().sync_bytes_default);
    EXPECT_EQ(page.complete(), page.after == Mark(0)) << "the last page covers the index";
    query.p0 = page.p0;
    query.p0_round = page.p0_round;
    query.resume_conversation = page.resume_conversation;
    query.resume_after = page.resume_after;
    query.resume_objects = page.resume_objects;
  } while (!page.complete() && pages < 20);
  EXPECT_EQ(pages, 3u);
  EXPECT_EQ(messages, 10u);
  EXPECT_EQ(told, texts);
  EXPECT_FALSE(page.more);
}

TEST(Conformance, S57_of_two_settings_the_one_with_the_larger_mark_stands) {
  EngineWorld world;
  const auto set = [](const std::string& value) { return change_of("7", SettingCommand{{}, "app.theme", value}); };
  const Mark first = world.get<MutatedReply>(set("\"dark\"")).mark;
  const Mark second = world.get<MutatedReply>(set("\"light\"")).mark;
  EXPECT_GT(second, first);
  const SyncPage page = sync(world, "7");
  ASSERT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(page.objects.front().mark, second);
  EXPECT_EQ(std::get<Setting>(page.objects.front().what).value, "\"light\"");
  EXPECT_EQ(world.get<MutatedReply>(set("\"light\"")).mark, second) << "the same again changes nothing";
  // Muted on one device and unmuted on another at the same time: in one round, in this order.
  talk(world, 1);
  std::optional<Result<Reply>> muted, unmuted;
  world.submit(change_of("2002", MuteCommand{{}, ConversationId("1001_2002"), kForEver}), &muted);
  world.submit(change_of("2002", MuteCommand{{}, ConversationId("1001_2002"), 0}), &unmuted);
  world.run();
  EXPECT_GT(std::get<MutatedReply>(**unmuted).mark, std::get<MutatedReply>(**muted).mark);
  EXPECT_EQ(world.change("2002", "1001_2002").muted_until, 0);
  EXPECT_EQ(world.refused(change_of("7", SettingCommand{{}, "No Such Name", "1"})), ErrorCode::MALFORMED);
  EXPECT_EQ(world.refused(change_of("7", SettingCommand{{}, "level", "\"vip\""})), ErrorCode::FORBIDDEN);
  EXPECT_EQ(world.refused(change_of("7", SettingCommand{{}, "big", std::string(5'000, '1')})), ErrorCode::TOO_LARGE);
}

TEST(OwnState, the_level_is_told_as_a_setting) {
  EngineWorld world;
  ASSERT_TRUE(world.call(SetUserCommand{UserId("7"), "vip"}).has_value());
  const SyncPage page = sync(world, "7");
  ASSERT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(std::get<Setting>(page.objects.front().what), (Setting{"level", "\"vip\""}));
}

TEST(OwnState, empty_objects_are_forgotten_with_their_tombstones) {
  EngineOptions options;
  options.params.tombstone_ms = 3 * kHourMs;
  EngineWorld world(options);
  ASSERT_TRUE(world.call(change_of("7", SettingCommand{{}, "a", "1"})).has_value());
  const Cursor old = sync(world, "7").next;
  ASSERT_TRUE(world.call(change_of("7", SettingCommand{{}, "a", ""})).has_value());
  ASSERT_TRUE(world.call(block("7", "8", true)).has_value());
  ASSERT_TRUE(world.call(block("7", "8", false)).has_value());
  ASSERT_TRUE(world.call(block("7", "8", true)).has_value()) << "its first tombstone is out of date";
  for (int hour = 0; hour < 6; ++hour) {
    world.clock.pass(kHourMs);
    world.send("1001", "3003", "time goes by");
  }
  StoreView view = world.view();
  EXPECT_FALSE(view.object(UserId("7"), name_of_setting("a")).has_value());
  EXPECT_TRUE(view.object(UserId("7"), name_of_blocked(UserId("8"))).has_value());
  EXPECT_EQ(sync(world, "7", old).mode, Mode::reset);
  EXPECT_EQ(sync(world, "7").objects.size(), 1u);
}

}  // namespace
}  // namespace tidemark
