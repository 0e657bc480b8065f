#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "core/reads_test_world.h"

namespace tidemark {
namespace {

const UserId a("1001"), b("2002"), c("3003");

Change change(ReadsWorld& world, const UserId& user, const ConversationId& id) {
  const Result<Change> answer = read_change(world.view, world.params, user, id);
  EXPECT_TRUE(answer);
  return answer.value_or(Change{});
}

TEST(Change, tells_a_single_chat) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  world.send(id, a, "hello", 50);
  world.read(a, id, Seq(1));
  const Change got = change(world, b, id);
  EXPECT_EQ(got.conversation, id);
  EXPECT_EQ(got.kind, ConversationKind::single);
  EXPECT_EQ(got.peer, a);
  EXPECT_TRUE(got.member);
  EXPECT_EQ(got.mark, Mark(1));
  EXPECT_EQ(got.head_seq, Seq(1));
  EXPECT_EQ(got.top, Seq(1));
  EXPECT_EQ(got.sort_time, 50);
  EXPECT_EQ(got.unread, (Unread{1, true}));
  EXPECT_EQ(got.preview, (Preview{Seq(1), a, 50, MessageState::live, "text", "hello", false}));
  EXPECT_TRUE(got.messages.empty());
  EXPECT_EQ(change(world, a, id).read, Seq(1));
  EXPECT_EQ(change(world, a, id).peer, b);
}

TEST(Change, of_a_self_chat_names_its_user) {
  ReadsWorld world;
  const ConversationId id = world.single(a, a);
  world.send(id, a);
  EXPECT_EQ(change(world, a, id).peer, a);
  EXPECT_EQ(change(world, a, id).unread, Unread());
}

TEST(Change, of_a_group_has_its_title_for_members_only) {
  ReadsWorld world;
  const ConversationId id = world.group({a, c});
  world.send(id, a, "old");
  world.rename(id, "Plans");
  EXPECT_EQ(change(world, c, id).title, "Plans");
  EXPECT_EQ(change(world, c, id).kind, ConversationKind::group);
  const Seq leave = world.leave(id, c);
  world.rename(id, "Secret plans");
  world.send(id, a, "new");
  const Change former = change(world, c, id);
  EXPECT_FALSE(former.member);
  EXPECT_EQ(former.head_seq, leave);
  EXPECT_EQ(former.top, Seq(3));
  EXPECT_EQ(former.title, "");
  EXPECT_EQ(former.preview.text, "old");
  EXPECT_EQ(former.unread, Unread());
}

TEST(Change, the_preview_is_the_last_message_the_user_may_see) {
  ReadsWorld world;
  const ConversationId id = world.group({a});
  world.join(id, c);
  world.send(id, a, "first");
  world.leave(id, c);
  world.send(id, a, "unseen");
  world.join(id, c);
  EXPECT_EQ(change(world, c, id).preview.text, "first");
  world.send(id, a, "second");
  world.rename(id, "title");
  EXPECT_EQ(change(world, c, id).preview.text, "second");
  world.clear(c, id, world.view.line(id).seq);
  EXPECT_EQ(change(world, c, id).preview, Preview());
}

TEST(Change, the_preview_is_the_summary_or_a_text_cut_between_characters) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "你";
  world.send(id, a, text);
  const Preview cut = change(world, b, id).preview;
  EXPECT_EQ(cut.text, text.substr(0, 240));
  EXPECT_TRUE(cut.cut);
  Entry row = *world.view.entry(id, Seq(1));
  row.body.summary = "[photo]";
  row.body.type = "image";
  world.view.put_entry(id, row);
  EXPECT_EQ(change(world, b, id).preview.text, "[photo]");
  EXPECT_EQ(change(world, b, id).preview.type, "image");
}

TEST(Change, unread_is_right_even_where_the_checkpoint_lags) {
  ReadsWorld world;
  const ConversationId id = world.single(a, b);
  for (int i = 0; i < 9; ++i) world.send(id, i % 3 ? a : b);
  UserConversation row = world.row_of(b, id);
  row.read = Seq(5);
  world.view.put_row(b, row);
  EXPECT_EQ(change(world, b, id).unread, (Unread{3, true}));
}

TEST(Change, is_unknown_to_others_and_groups_tell_former_members_apart) {
  ReadsWorld world;
  const ConversationId id = world.group({a, c});
  const ConversationId chat = world.single(a, b);
  EXPECT_EQ(read_change(world.view, world.params, b, id).error().code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(read_group(world.view, a, id)->members.size(), 2u);
  world.leave(id, c);
  EXPECT_EQ(read_group(world.view, c, id).error().code, ErrorCode::NOT_MEMBER);
  const Error foreign = read_group(world.view, b, id).error();
  EXPECT_EQ(foreign.code, ErrorCode::CONVERSATION_NOT_FOUND);
  EXPECT_EQ(foreign, read_group(world.view, b, ConversationId("group_77")).error());
  EXPECT_EQ(foreign, read_group(world.view, a, chat).error());
}

struct Listed {
  std::vector<ConversationId> ids;
  int pages = 0;
};

Listed list_all(ReadsWorld& world, const UserId& user, std::uint32_t limit) {
  Listed listed;
  std::int64_t below = 0;
  ConversationId conversation;
  do {
    const Result<ConversationList> part =
        read_conversations(world.view, world.params, user, limit, below, conversation);
    EXPECT_TRUE(part);
    EXPECT_LE(part->conversations.size(), limit);
    for (const Change& item : part->conversations) listed.ids.push_back(item.conversation);
    below = part->next_sort_time;
    conversation = part->next_conversation;
  } while (++listed.pages < 1'000 && below != 0);
  return listed;
}

TEST(Conversations, are_listed_newest_first_in_pages) {
  ReadsWorld world;
  std::vector<ConversationId> expected;
  for (int i = 0; i < 25; ++i) {
    expected.insert(expected.begin(), world.single(a, UserId("u" + std::to_string(i))));
    world.send(expected.front(), a, "x", 1'000);
  }
  world.read(a, expected.back(), Seq(1));  // moves no place
  EXPECT_EQ(list_all(world, a, 10).ids, expected);
  EXPECT_EQ(list_all(world, a, 10).pages, 3);
  EXPECT_EQ(list_all(world, a, 25).pages, 1);
  EXPECT_EQ(list_all(world, a, 1).ids, expected);
  EXPECT_TRUE(list_all(world, UserId("nobody"), 10).ids.empty());
  const auto refused = read_conversations(world.view, world.params, a, 201, 0, ConversationId());
  EXPECT_EQ(refused.error().code, ErrorCode::OUT_OF_RANGE);
  EXPECT_EQ(refused.error().field, "limit");
}

TEST(Conversations, a_deep_page_costs_a_page) {
  ReadsWorld world;
  for (int i = 0; i < 3'000; ++i) world.send(world.single(a, UserId("u" + std::to_string(i))), a, "x", 1'000);
  const std::size_t before = world.view.rows_read();
  EXPECT_EQ(read_conversations(world.view, world.params, a, 10, 1'100, ConversationId())->conversations.size(), 10u);
  EXPECT_LE(world.view.rows_read() - before, 50u);
}

TEST(Conversations, I15_nothing_that_stays_in_place_is_missed_or_doubled) {
  EXPECT_TRUE(rc::check([] {
    ReadsWorld world;
    const int count = *rc::gen::inRange(1, 20);
    const auto some = [&] { return UserId("u" + std::to_string(*rc::gen::inRange(0, count))); };
    for (int i = 0; i < 40; ++i) world.send(world.single(a, some()), a, "x", *rc::gen::inRange(0, 100));
    std::vector<ConversationId> got, bubbled;
    std::int64_t below = 0;
    ConversationId conversation;
    const std::vector<ConversationId> all = list_all(world, a, 200).ids;
    const auto limit = *rc::gen::inRange<std::uint32_t>(1, 6);
    do {
      const Result<ConversationList> part = read_conversations(world.view, world.params, a, limit, below, conversation);
      for (const Change& item : part->conversations) got.push_back(item.conversation);
      below = part->next_sort_time;
      conversation = part->next_conversation;
      if (*rc::gen::arbitrary<bool>()) {
        bubbled.push_back(world.single(a, some()));
        world.send(bubbled.back(), a);
      }
    } while (below != 0);
    for (const ConversationId& id : all) {
      const auto times = std::ranges::count(got, id);
      RC_ASSERT(times <= 1);
      if (std::ranges::find(bubbled, id) == bubbled.end()) RC_ASSERT(times == 1);
    }
    if (bubbled.empty()) RC_ASSERT(got == all);
  }));
}

TEST(Drafts, come_in_pages_bounded_in_number_and_in_bytes) {
  ReadsWorld world;
  const auto save = [&](int number, std::size_t bytes) {
    SavedDraft draft{ConversationId("c" + std::to_string(1'000 + number))};
    draft.body.text.assign(bytes, 'x');
    world.view.put_object(a, {draft, Mark(static_cast<std::uint64_t>(number) + 1)});
  };
  for (int i = 0; i < 40; ++i) save(i, i % 4 == 0 ? 0 : 65'000);  // some are gone
  world.view.put_object(a, {Setting{"app.x", "1"}, Mark(100)});
  const auto run = [&](std::uint32_t limit) {
    std::vector<std::size_t> sizes;
    ConversationId after;
    std::set<ConversationId> names;
    do {
      const Result<DraftsPage> page = read_drafts(world.view, world.params, a, limit, after);
      EXPECT_TRUE(page);
      if (!page) break;
      sizes.push_back(page->drafts.size());
      for (const UserObject& each : page->drafts) names.insert(std::get<SavedDraft>(each.what).conversation);
      after = page->next_after;
    } while (!after.empty());
    EXPECT_EQ(names.size(), 30u) << "each once";
    return sizes;
  };
  EXPECT_EQ(run(0), (std::vector<std::size_t>{16, 14}));
  EXPECT_EQ(run(12), (std::vector<std::size_t>{12, 12, 6}));
  world.params.sync_bytes_max = 10;
  EXPECT_EQ(run(0), std::vector<std::size_t>(30, 1)) << "one in any case";
  EXPECT_EQ(read_drafts(world.view, world.params, a, 201, {}).error().field, "limit");
  EXPECT_TRUE(read_drafts(world.view, world.params, b, 0, {})->drafts.empty());
}

}  // namespace
}  // namespace tidemark
