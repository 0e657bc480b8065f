// The index of a user: deltas, snapshots, questions asked twice, and tokens of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::ConversationSync;
using replica::History;
using replica::Sync;
using replica::SyncAnswer;
using replica::Welcome;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

TEST(Conformance, S20_three_of_five_thousand_changed_in_twenty_days) {
  Scenario s;
  for (int i = 0; i < 5'000; ++i) s.post("f" + std::to_string(i), "B", "hello");
  s.pass(5'000);
  Phone& b1 = s.phone("B1");
  ASSERT_THAT(b1.store().conversations(), SizeIs(5'000));
  for (const char* name : {"theme", "sound", "language"}) b1.device().set_object({Setting{name, "1"}});
  s.quiet();
  b1.goes_offline();
  b1.forget();
  s.pass(20LL * 24 * kHourMs);
  for (const char* sender : {"f7", "f77", "f4321"}) s.post(sender, "B", "after a while");
  replica::MutationItem set;
  set.number = 1;
  set.kind = replica::MutationKind::setting;
  set.name = "sound";
  set.value = "2";
  s.wire("B2").ask<MutatedReply>(replica::Mutate{set});
  s.pass(5'000);
  b1.comes_online();
  s.quiet();
  const auto welcomes = b1.got<Welcome>();
  ASSERT_THAT(welcomes, SizeIs(1));
  EXPECT_EQ(welcomes[0].mode, Mode::delta) << "no reset";
  const auto syncs = b1.got<SyncAnswer>();
  ASSERT_THAT(syncs, SizeIs(1));
  EXPECT_EQ(syncs[0].page.mode, Mode::delta);
  EXPECT_FALSE(syncs[0].page.more);
  std::vector<std::string> changed;
  for (const Change& change : syncs[0].page.changes) changed.push_back(change.peer.value);
  EXPECT_THAT(changed, testing::UnorderedElementsAre("f7", "f77", "f4321")) << "exactly these";
  // And the setting that changed, beside the word that there is another device.
  ASSERT_THAT(syncs[0].page.objects, SizeIs(2));
  EXPECT_EQ(std::get<Setting>(syncs[0].page.objects[0].what), (Setting{"sound", "2"}));
  EXPECT_TRUE(std::holds_alternative<DevicesChanged>(syncs[0].page.objects[1].what));
  EXPECT_EQ(b1.shows(ConversationId("B_f77")).unread, (Unread{2, true}));
}

TEST(Conformance, S21_empty_delta) {
  Scenario s;
  Phone& b1 = s.phone("B1");
  Wire& wire = s.wire("B2");
  s.posts("A", "B", 40);
  s.quiet();
  const Mark head = b1.cursor();
  ASSERT_EQ(head, Mark(41)) << "the other device has logged in, and 40 messages";
  Sync question;
  question.cursor = b1.store().device().cursor;
  const auto answer = wire.ask<SyncAnswer>(question);  // one round trip
  EXPECT_EQ(answer.page.after, head);
  EXPECT_EQ(answer.page.to, head);
  EXPECT_FALSE(answer.page.more);
  EXPECT_THAT(answer.page.changes, IsEmpty());
  EXPECT_LT(wire.bytes().size(), 100U);
}

TEST(Conformance, S22_cursor_older_than_the_tombstone_floor) {
  Scenario s([](Plan& plan) { plan.config.limits.tombstone_ms = 6 * kHourMs; });
  const ConversationId gone = s.group("A", {"B"});
  const ConversationId gone_too = s.group("A", {"B"});
  Phone& b1 = s.phone("B1");
  Phone& b2 = s.phone("B2");
  const auto post_up_to = [&](Mark mark) {
    s.posts("A", "B", static_cast<int>(mark - b2.cursor()));
    s.quiet();
    ASSERT_EQ(b2.cursor(), mark);
  };
  post_up_to(Mark(900));
  b1.goes_offline();
  b1.forget();
  ASSERT_EQ(b1.cursor(), Mark(900));
  ASSERT_EQ(b1.shows(gone).head_seq, b2.shows(gone).head_seq) << "it holds the group";
  post_up_to(Mark(949));
  b2.device().remove(gone);
  s.quiet();
  ASSERT_EQ(b2.cursor(), Mark(950));
  post_up_to(Mark(999));
  b2.device().remove(gone_too);
  s.quiet();
  ASSERT_EQ(b2.cursor(), Mark(1'000));
  b2.goes_offline();
  b2.forget();
  // The tombstones are forgotten, the younger one last.
  for (int hour = 0; hour < 9; ++hour) {
    s.pass(kHourMs);
    s.post("A", "C", "time goes by");
  }
  s.post("A", "B", "the 1001st");
  s.pass(1'000);

  for (Phone* phone : {&b1, &b2}) phone->comes_online();
  s.quiet();
  EXPECT_THAT(b1.got<Welcome>(), ElementsAre(Field(&Welcome::mode, Mode::reset)));
  EXPECT_THAT(b2.got<Welcome>(), ElementsAre(Field(&Welcome::mode, Mode::delta))) << "it stood at the floor";
  EXPECT_THAT(b1.store().conversations(), SizeIs(1)) << "what the snapshot does not name is swept away";
  for (Phone* phone : {&b1, &b2}) {
    EXPECT_EQ(phone->cursor(), Mark(1'001));
    for (const ConversationId& group : {gone, gone_too}) {
      const auto* held = phone->store().conversation(group);
      EXPECT_TRUE(held == nullptr || held->state.object.removed) << group.value << " is in the list";
    }
    EXPECT_EQ(phone->shows(kChat).preview.text, "the 1001st");
  }
}

TEST(Conformance, S23_snapshot_while_conversations_bubble) {
  constexpr int kConversations = 3'000;
  Scenario s;
  for (int i = 0; i < kConversations; ++i) s.post("friend" + std::to_string(i), "B", "hello");
  s.pass(10'000);
  Phone& b1 = s.new_phone("B1");
  int bubbled = 0;
  b1.meets = [&](const replica::ServerFrame& frame) {
    // The conversation at each page's edge gets a message and moves to the top.
    const auto* sync = std::get_if<SyncAnswer>(&frame.answer);
    if (sync && sync->page.after && !sync->page.changes.empty() && bubbled++ < 100)
      s.post(sync->page.changes.back().peer.value, "B", "up");
    return true;
  };
  replica::Options options;
  options.sync_limit = 100;
  b1.device().start(options);
  s.quiet();
  EXPECT_GE(bubbled, 29);

  const auto expected = s.listed("B");
  ASSERT_THAT(expected, SizeIs(kConversations));
  EXPECT_THAT(b1.store().conversations(), SizeIs(kConversations)) << "none missing, none twice";
  for (const auto& [id, change] : expected) {
    const Change& shown = b1.shows(id);
    EXPECT_EQ(shown.head_seq, change.head_seq) << id.value;
    EXPECT_EQ(shown.unread, change.unread) << id.value;
    EXPECT_EQ(shown.preview, change.preview) << id.value;
    EXPECT_EQ(shown.sort_time, change.sort_time) << id.value;
  }
}

TEST(Conformance, S28_the_same_question_again) {
  for (const Dialect dialect : {Dialect::binary, Dialect::json}) {
    Scenario s;
    s.posts("A", "B", 70);
    s.pass(1'000);
    Sync sync;
    sync.bodies = Bodies::recent;
    sync.recent = 5;
    const auto listed = s.listed("B");
    const auto log = s.log(kChat);
    Wire& wire = s.wire("B1", {}, dialect);
    for (const replica::Operation& question :
         {replica::Operation(sync), replica::Operation(History{kChat, Seq(40), {}, 15}),
          replica::Operation(ConversationSync{kChat, Seq(10), {{Seq(0), Seq(10)}}, 20, {}, {}})}) {
      (void)wire.ask(question);
      const std::string first = wire.bytes();
      for (int i = 0; i < 3; ++i) {
        (void)wire.ask_again();
        EXPECT_EQ(wire.bytes(), first);
      }
    }
    EXPECT_EQ(s.listed("B"), listed) << "asking changes nothing";
    EXPECT_EQ(s.log(kChat), log);

    // With something new: it begins where it began, and holds all it held.
    const auto page = wire.ask<ConversationPage>(ConversationSync{kChat, Seq(10), {{Seq(0), Seq(10)}}, 100, {}, {}});
    s.post("A", "B", "new");
    s.pass(1'000);
    const auto more = std::get<ConversationPage>(wire.ask_again());
    EXPECT_EQ(more.after, page.after);
    EXPECT_EQ(more.covers, (Interval{Seq(10), Seq(71)}));
    EXPECT_THAT(more.messages, IsSupersetOf(page.messages));
  }
}

TEST(Conformance, S29_tokens_of_others) {
  Scenario s;
  s.posts("A", "B", 10);
  s.post("C", "B", "a secret text");
  s.pass(1'000);
  Wire& wire = s.wire("B1");
  Sync question;
  question.bodies = Bodies::all;
  question.limit = 1;
  question.byte_budget = 1;
  const auto page = wire.ask<SyncAnswer>(question);
  ASSERT_NE(page.page_token, "");
  question.page_token = page.page_token;
  question.p0 = page.page.p0;
  question.p0_round = page.page.p0_round;
  // B is the same user on another device; A is another user, who may see the conversation.
  for (Wire* other : {&s.wire("B2"), &s.wire("A1")}) {
    const Error refused = other->ask<Error>(question);
    EXPECT_EQ(refused.code, ErrorCode::BAD_TOKEN);
    EXPECT_THAT(other->bytes(), testing::Not(testing::HasSubstr("secret"))) << "no data";
    EXPECT_THAT(other->bytes(), testing::Not(testing::HasSubstr("m 1")));
  }
  EXPECT_THAT(wire.ask<SyncAnswer>(question).page.changes, testing::Not(IsEmpty())) << "its owner may use it";
}

}  // namespace
}  // namespace tidemark::sim
