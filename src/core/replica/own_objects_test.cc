#include "core/replica/own_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/memory_store.h"
#include "core/replica/mutations.h"
#include "core/replica/replica_testing.h"
#include "core/replica/workspace.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

UserObject theme(std::uint64_t mark) {
  return {.what = Setting{.name = "theme", .value = "\"dark\""}, .mark = Mark(mark)};
}

/// A snapshot ends without naming an object that a push behind it brings: both in one input.
TEST(OwnObjects, WhatComesAgainAfterASweepIsStored) {
  MemoryStore store(UserId("anna"), DeviceId("d1"), InstallId("i1"));
  Workspace workspace(Options{}, store.image(), [](const ConversationId&, Seq) { return nullptr; });
  Mutations mutations(workspace, store.image());
  OwnObjects objects(workspace, mutations, store.image());
  objects.take(theme(5));
  workspace.edit_device().pass.id += 1;
  objects.sweep();
  EXPECT_FALSE(objects.find("s/theme").has_value());
  objects.take(theme(6));
  store.apply(workspace.out.batch);
  ASSERT_EQ(objects.all().size(), 1U);
  ASSERT_EQ(store.objects().size(), 1U);
  EXPECT_EQ(store.objects().begin()->second.object, theme(6));
}

UserObject draft_of(const std::string& text) {
  SavedDraft draft{kChat};
  draft.body.text = text;
  return {draft};
}
UserObject setting_of(const std::string& value) {
  return {Setting{"theme", value}};
}
UserObject block_of(bool blocked) {
  return {BlockedUser{kBen, blocked}};
}

/// A phone, of which a copy is made with something on its way; then the copy of its state comes back.
class WishesInDoubt : public ::testing::Test {
 protected:
  WishesInDoubt() {
    server.send(kAnna, kBen, "mine");
    server.send(kBen, kAnna, "his");
    link = &join(server, phone);
  }
  Replica& replica() { return *phone.replica; }
  void offline() {
    phone.disconnect();
    server.disconnect(*link);
  }
  void online() { link = &join(server, phone); }
  /// What waits now is of the copy; the phone itself goes on and tells it.
  void copy() {
    phone.take();
    backup = phone.store;
    phone.start();
    online();
  }
  void tell() {
    phone.take();
    settle(server, phone, *link);
  }
  void put_back() {
    offline();
    online();  // one generation back may be one whose welcome was lost
    offline();
    phone.store = backup;
    phone.start();
    phone.events.clear();
    phone.close_asked = false;
    online();
    EXPECT_TRUE(phone.close_asked) << "a copy";
    offline();
  }
  void restore() {
    put_back();
    online();
    EXPECT_TRUE(replica().settled());
    EXPECT_THAT(phone.store.mutations(), IsEmpty());
  }
  std::optional<UserObject> on_server(const UserObject& like) {
    for (const UserObject& object : server.read(kAnna).objects)
      if (name_of(object) == name_of(like)) return object;
    return std::nullopt;
  }
  bool shows(const UserObject& object) {
    const auto shown = replica().objects().find(name_of(object));
    if (!shown) return false;
    const auto* draft = std::get_if<SavedDraft>(&object.what);
    return draft ? std::get<SavedDraft>(shown->what).body == draft->body : shown->what == object.what;
  }
  std::vector<MutationKind> given_back() {
    std::vector<MutationKind> kinds;
    for (const auto& event : phone.seen<ChangeRefusedEvent>()) {
      EXPECT_EQ(event.error.code, ErrorCode::MUTATION_EXPIRED);
      kinds.push_back(event.kind);
    }
    return kinds;
  }

  TestServer server;
  TestDevice phone{kAnna};
  MemoryStore backup{kAnna, DeviceId("d1"), InstallId("none")};
  TestLink* link = nullptr;
};

TEST_F(WishesInDoubt, ACopysWishReplacesNothingNewer) {
  struct Case {
    UserObject older, newer;
    MutationKind kind;
  };
  for (const bool numbered : {false, true}) {
    for (const Case& each : {Case{draft_of("older"), draft_of("newer"), MutationKind::draft},
                             Case{setting_of("1"), setting_of("2"), MutationKind::setting},
                             Case{block_of(true), block_of(false), MutationKind::block}}) {
      SCOPED_TRACE(name_of(each.older) + (numbered ? ", numbered" : ""));
      server = TestServer();
      phone = TestDevice(kAnna);
      server.send(kAnna, kBen, "mine");
      online();
      if (!numbered) offline();
      ASSERT_TRUE(replica().set_object(phone.now, each.older));
      if (numbered) phone.take(), offline();
      copy();
      ASSERT_TRUE(replica().set_object(phone.now, each.newer));
      tell();
      const auto before = on_server(each.newer);
      restore();
      EXPECT_EQ(on_server(each.newer), before) << "not told again";
      EXPECT_TRUE(shows(each.newer));
      EXPECT_THAT(given_back(), ElementsAre(each.kind));
    }
  }
}

TEST_F(WishesInDoubt, ACopysWishThatNobodyKnowsIsTold) {
  offline();
  const MemoryStore before = phone.store;
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("only here")));
  phone.take();
  backup = phone.store;
  phone.store = before;
  phone.start();
  online();
  server.send(kBen, kAnna, "later");
  settle(server, phone, *link);
  restore();
  ASSERT_TRUE(on_server(draft_of("")));
  EXPECT_EQ(std::get<SavedDraft>(on_server(draft_of(""))->what).body.text, "only here");
  EXPECT_THAT(given_back(), IsEmpty());
}

TEST_F(WishesInDoubt, WhatWasMadeAndNotReplacedIsNotGivenBack) {
  offline();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("the same")));
  copy();
  const auto before = on_server(draft_of(""));
  ASSERT_TRUE(before);
  restore();
  EXPECT_EQ(on_server(draft_of("")), before);
  EXPECT_THAT(given_back(), IsEmpty());
}

TEST_F(WishesInDoubt, TheDoubtOutlivesARestart) {
  offline();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("older")));
  copy();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("newer")));
  tell();
  put_back();
  phone.start();
  online();
  EXPECT_EQ(std::get<SavedDraft>(on_server(draft_of(""))->what).body.text, "newer");
  EXPECT_THAT(given_back(), ElementsAre(MutationKind::draft));
}

TEST_F(WishesInDoubt, WishedForAgainItIsTold) {
  offline();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("older")));
  copy();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("newer")));
  tell();
  put_back();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("older")));
  phone.take();
  online();
  EXPECT_EQ(std::get<SavedDraft>(on_server(draft_of(""))->what).body.text, "older") << "by its user, and now";
  EXPECT_THAT(given_back(), IsEmpty());
}

TEST_F(WishesInDoubt, MerelyOfflineTheLaterCommitWins) {
  offline();
  ASSERT_TRUE(replica().set_object(phone.now, draft_of("mine")));
  phone.take();
  const DraftCommand command{kAnna, kChat, std::get<SavedDraft>(draft_of("of another device").what).body, {}};
  ASSERT_TRUE(server.run(MutateCommand{kAnna, DeviceId("http"), {}, 0, command}));
  online();
  EXPECT_EQ(std::get<SavedDraft>(on_server(draft_of(""))->what).body.text, "mine");
  EXPECT_THAT(given_back(), IsEmpty());
}

TEST_F(WishesInDoubt, AnExpiredNumberLooksAtWhatTheIndexSays) {
  for (const bool replaced : {true, false}) {
    SCOPED_TRACE(replaced);
    phone.events.clear();
    const std::string text = replaced ? "mine" : "mine again";
    ASSERT_TRUE(replica().set_object(phone.now, draft_of(text)));
    phone.take();
    const Request first = phone.expect<Mutate>();
    if (replaced) {
      // Its push is lost: only a sync tells of it.
      const DraftCommand command{kAnna, kChat, std::get<SavedDraft>(draft_of("of another device").what).body, {}};
      ASSERT_TRUE(server.run(MutateCommand{kAnna, DeviceId("http"), {}, 0, command}));
      link->down.clear();
    }
    phone.answer(first, Error{ErrorCode::MUTATION_EXPIRED});
    settle(server, phone, *link);
    EXPECT_TRUE(replica().settled());
    EXPECT_EQ(std::get<SavedDraft>(on_server(draft_of(""))->what).body.text, replaced ? "of another device" : text);
    EXPECT_THAT(given_back(), SizeIs(replaced ? 1 : 0));
  }
}

TEST_F(WishesInDoubt, OfACopyOnlyWhatMayBeDoneTwiceIsDoneAgain) {
  for (const bool numbered : {false, true}) {
    SCOPED_TRACE(numbered);
    server = TestServer();
    phone = TestDevice(kAnna);
    for (const char* text : {"one", "two", "three", "four"}) server.send(kAnna, kBen, text);
    server.send(kBen, kAnna, "his");
    online();
    if (!numbered) offline();
    Body body;
    body.text = "edited";
    ASSERT_TRUE(replica().edit(phone.now, kChat, Seq(1), body, std::nullopt));
    ASSERT_TRUE(replica().recall(phone.now, kChat, Seq(2)));
    ASSERT_TRUE(replica().react(phone.now, kChat, Seq(5), "heart", true));
    ASSERT_TRUE(replica().delete_for_me(phone.now, kChat, {{Seq(2), Seq(3)}}));
    ASSERT_TRUE(replica().mark_read(phone.now, kChat, Seq(5)));
    ASSERT_TRUE(replica().mark_unread(phone.now, kChat));
    ASSERT_TRUE(replica().pin(phone.now, kChat, true));
    ASSERT_TRUE(replica().mute(phone.now, kChat, kForEver));
    if (numbered) phone.take(), offline();
    copy();
    ASSERT_TRUE(replica().pin(phone.now, kChat, false));
    ASSERT_TRUE(replica().mute(phone.now, kChat, 0));
    ASSERT_TRUE(replica().mark_read(phone.now, kChat, Seq(5)));
    body.text = "edited again";
    ASSERT_TRUE(replica().edit(phone.now, kChat, Seq(1), body, std::nullopt));
    tell();
    restore();
    EXPECT_THAT(given_back(), ::testing::UnorderedElementsAre(MutationKind::edit, MutationKind::mark_unread,
                                                              MutationKind::pin, MutationKind::mute));
    EXPECT_EQ(phone.object(kChat).pinned_at, 0);
    EXPECT_EQ(phone.object(kChat).muted_until, 0);
    EXPECT_FALSE(phone.object(kChat).unread_flag);
    EXPECT_EQ(phone.object(kChat).read, Seq(5));
    EXPECT_EQ(server.view.user_conversation(kAnna, kChat)->unread_flag, false);
    EXPECT_EQ(phone.store.row(kChat, Seq(1))->body.text, "edited again");
    EXPECT_EQ(phone.store.row(kChat, Seq(2))->state, MessageState::recalled);
    for (const auto& event : phone.seen<ChangeRefusedEvent>())
      if (event.kind == MutationKind::edit) EXPECT_EQ(event.body.text, "edited") << "no text is lost";
  }
}

}  // namespace
}  // namespace tidemark::replica
