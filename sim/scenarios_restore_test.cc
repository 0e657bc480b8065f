// Something is put back from a backup: a phone, or the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::LostEvent;
using replica::Push;
using replica::Send;
using replica::SyncAnswer;
using replica::Welcome;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ConversationId kChat("A_B");
constexpr std::uint64_t kJump = 1ULL << 32;

TEST(Conformance, S125_an_old_backup_is_restored_on_the_same_phone) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  s.posts("B", "A", 20);
  s.quiet();
  a1.reads(kChat, Seq(5));
  s.quiet();
  // The backup is made when three messages have been sent and their acks have not come.
  a1.goes_offline();
  for (const char* text : {"mine 1", "mine 2", "mine 3"}) a1.says_in(kChat, text);
  const replica::MemoryStore backup = a1.store();
  ASSERT_THAT(backup.outbox(), SizeIs(3));
  a1.comes_online();
  s.quiet();
  a1.reads(kChat, Seq(20));
  s.quiet();
  ASSERT_THAT(s.log(kChat), SizeIs(23));
  s.throw_away(a1);
  s.pass(10LL * 24 * kHourMs);
  s.posts("B", "A", 30);
  s.pass(10'000);

  Phone& restored = s.new_phone("A1", backup);
  restored.device().start({});
  s.quiet();
  EXPECT_THAT(restored.got<Welcome>(), Each(Field(&Welcome::mode, Mode::delta))) << "not reset";
  EXPECT_THAT(restored.got<Welcome>(), Not(IsEmpty()));
  EXPECT_THAT(restored.store().outbox(), IsEmpty()) << "its own echoes were found";
  for (const auto& event : restored.saw<replica::OutboxEvent>()) EXPECT_EQ(event.outcome, replica::OutboxOutcome::sent);
  EXPECT_THAT(s.log(kChat), SizeIs(53)) << "nothing was sent twice";
  EXPECT_EQ(restored.shows(kChat).head_seq, Seq(53)) << "all that came since is told";
  EXPECT_EQ(restored.shows(kChat).read, Seq(20)) << "the pointer does not go back";
  EXPECT_EQ(restored.shows(kChat).unread, (Unread{30, true}));
}

UserObject draft_with(const std::string& text) {
  SavedDraft draft{kChat};
  draft.body.text = text;
  return {draft};
}

std::string draft_on(const Phone& phone) {
  for (const auto& [name, state] : phone.store().objects())
    if (const auto* draft = std::get_if<SavedDraft>(&state.shown().what)) return draft->body.text;
  return {};
}

TEST(Conformance, S125_drafts_and_edits_of_an_old_backup_replace_nothing_newer) {
  // What the backup holds has its number or waits for it; what came after it was made on this phone or on another.
  for (const bool numbered : {false, true}) {
    for (const bool elsewhere : {false, true}) {
      SCOPED_TRACE(std::string(numbered ? "numbered" : "waiting") + (elsewhere ? ", elsewhere" : ", here"));
      Scenario s;
      Phone& a1 = s.phone("A1");
      Phone& a2 = s.phone("A2");
      Phone& b1 = s.phone("B1");
      a1.says("B", "original");
      s.quiet();
      if (numbered) {
        a1.loses_asked<replica::Mutate>(2);
      } else {
        a1.goes_offline();
      }
      a1.device().set_object(draft_with("old draft"));
      a1.device().edit(kChat, Seq(1), "edit one", std::nullopt);
      s.pass(1'000);
      const replica::MemoryStore backup = a1.store();
      if (numbered) a1.goes_offline();
      a1.comes_online();
      s.quiet();
      ASSERT_EQ(draft_on(a2), "old draft");
      ASSERT_EQ(b1.row(kChat, Seq(1)).body.text, "edit one");
      Phone& later = elsewhere ? a2 : a1;
      later.device().set_object(draft_with("new draft"));
      later.device().edit(kChat, Seq(1), "edit two", std::nullopt);
      s.quiet();
      s.throw_away(a1);
      for (Phone* phone : {&a2, &b1}) phone->goes_offline();
      s.pass(10LL * 24 * kHourMs);
      for (Phone* phone : {&a2, &b1}) phone->comes_online();
      s.posts("B", "A", 1);
      s.pass(10'000);

      Phone& restored = s.new_phone("A1", backup);
      restored.device().start({});
      s.quiet();
      for (Phone* phone : {&restored, &a2}) {
        EXPECT_EQ(draft_on(*phone), "new draft") << "not overwritten by an older one";
        EXPECT_EQ(phone->row(kChat, Seq(1)).body.text, "edit two");
      }
      EXPECT_EQ(b1.row(kChat, Seq(1)).body.text, "edit two");
      std::vector<std::string> given_back;
      for (const auto& event : restored.saw<replica::ChangeRefusedEvent>()) given_back.push_back(event.body.text);
      EXPECT_THAT(given_back, ::testing::UnorderedElementsAre("old draft", "edit one")) << "no text is lost";
    }
  }
}

/// S as it stood at the backup, and as it went on: B1 has it all; B2 has its rows, and an older place in the index.
struct Restored {
  explicit Restored(Scenario& s) : b1(s.phone("B1")), b2(s.phone("B2")) {
    s.posts("A", "B", 100);
    s.quiet();
    s.back_up_server();
    b2.goes_offline();
    for (int i = 101; i <= 110; ++i) b1.says("A", "mine " + std::to_string(i));
    s.quiet();
    s.posts("A", "B", 38);
    s.pass(1'000);
    const RecallCommand recall{UserId("A"), DeviceId("http"), kChat, Seq(50), false};
    EXPECT_TRUE(s.command(MutateCommand{UserId("A"), DeviceId("http"), {}, 0, recall}));
    s.post("A", "B", "the last");
    s.quiet();
    b1.reads(kChat, Seq(150));
    s.pass(60'000);
    b2.loses<SyncAnswer>();
    b2.loses<Push>();
    b2.comes_online();
    s.pass(2'000);
    b2.scrolls_forward(kChat, Seq(100));
    s.pass(2'000);
    EXPECT_EQ(s.log(kChat).at(Seq(149)).target, Seq(50));
    EXPECT_EQ(s.log(kChat).rbegin()->first, Seq(150));
    EXPECT_EQ(b1.row(kChat, Seq(50)).state, MessageState::recalled);
    EXPECT_EQ(b1.cursor(), s.listed("B", kChat).mark);
    EXPECT_EQ(b2.cursor(), Mark(101)) << "100 messages, and that it has logged in";
    EXPECT_EQ(b2.rows(kChat).back(), Seq(150));
    for (Phone* phone : {&b1, &b2}) {
      phone->goes_offline();
      phone->network_heals();
      phone->forget();
    }
    s.restore_server();
    s.server_starts();
    EXPECT_EQ(s.log(kChat).rbegin()->first, Seq(100));
  }
  Phone& b1;
  Phone& b2;
};

TEST(Conformance, S135_restore_from_backup) {
  Scenario s;
  Restored restored(s);
  for (Phone* phone : {&restored.b1, &restored.b2}) {
    phone->comes_online();
    s.quiet();
    EXPECT_THAT(phone->got<Welcome>(), ElementsAre(Field(&Welcome::mode, Mode::rollback)));
    EXPECT_THAT(phone->state(kChat).lost.ranges(), ElementsAre(Interval{Seq(100), Seq(150)})) << "not on the server";
    EXPECT_EQ(phone->row(kChat, Seq(101)).body.text, "mine 101") << "and still there";
    EXPECT_EQ(phone->row(kChat, Seq(150)).body.text, "the last");
    EXPECT_EQ(phone->row(kChat, Seq(50)).state, MessageState::live) << "its recall is lost: fetched again";
    EXPECT_EQ(phone->row(kChat, Seq(50)).body.text, "m 50");
    EXPECT_EQ(phone->shows(kChat).read, Seq(100)) << "read to 150 before; asserted again, and clamped";
    EXPECT_EQ(phone->shows(kChat).unread, Unread());
    EXPECT_THAT(phone->asked<Send>(), IsEmpty()) << "what was acknowledged is not sent again";
  }
  EXPECT_EQ(s.listed("B", kChat).read, Seq(100));
  EXPECT_THAT(s.log(kChat), SizeIs(100));

  s.post("A", "B", "after it");
  s.quiet();
  EXPECT_EQ(s.log(kChat).rbegin()->first, Seq(101 + kJump)) << "a number that nothing ever had";
  Phone& fresh = s.phone("B3");
  for (Phone* phone : {&restored.b1, &restored.b2}) {
    EXPECT_EQ(phone->row(kChat, Seq(101 + kJump)).body.text, "after it");
    EXPECT_EQ(phone->row(kChat, Seq(101)).body.text, "mine 101");
    EXPECT_EQ(phone->shows(kChat), fresh.shows(kChat)) << "in all else as a fresh device";
  }
}

TEST(Conformance, S136_restore_then_retry_of_a_send_whose_entry_was_lost) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& a2 = s.phone("A2");
  s.posts("B", "A", 119);
  s.quiet();
  s.back_up_server();
  a1.loses<SentReply>();
  a1.loses<Push>();
  a1.says("B", "mine");
  s.pass(5'000);
  ASSERT_EQ(s.log(kChat).rbegin()->first, Seq(120));
  ASSERT_EQ(a2.row(kChat, Seq(120)).body.text, "mine") << "seen by the other device";
  const auto pending = a1.store().outbox();
  ASSERT_THAT(pending, SizeIs(1));
  a1.goes_offline();
  s.restore_server();
  s.server_starts();
  s.quiet();
  ASSERT_THAT(a2.state(kChat).lost.ranges(), ElementsAre(Interval{Seq(119), Seq(120)})) << "an orphan";
  s.pass(20 * kHourMs);
  a1.network_heals();
  a1.forget();
  a1.comes_online();
  s.quiet();
  const Seq found(120 + kJump);
  const auto acks = a1.got<SentReply>();
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_FALSE(acks[0].duplicate) << "the server has no record of it";
  EXPECT_EQ(acks[0].seq, found);
  EXPECT_EQ(s.log(kChat).at(found).client_msg_id, pending.begin()->second.client_msg_id);
  for (Phone* phone : {&a1, &a2}) {
    const auto texts = phone->texts(kChat);
    EXPECT_EQ(std::ranges::count(texts, "mine"), 1) << "one bubble";
    EXPECT_EQ(phone->row(kChat, found).body.text, "mine");
    EXPECT_TRUE(phone->state(kChat).lost.empty());
  }
  const auto told = a2.saw<LostEvent>();
  ASSERT_THAT(told, Not(IsEmpty()));
  EXPECT_EQ(told.back().rows, (Interval{Seq(119), Seq(120)}));
  EXPECT_EQ(told.back().now, found);
}

}  // namespace
}  // namespace tidemark::sim
