// Sending once: acks, retries, ids that meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conversation_id.h"
#include "core/uuid7.h"
#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::OutboxEvent;
using replica::OutboxOutcome;
using replica::Push;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

auto sent_as(Seq seq, bool duplicate) {
  return AllOf(Field(&SentReply::seq, seq), Field(&SentReply::duplicate, duplicate));
}

replica::Send to_user(const std::string& user, const std::string& id, const std::string& text) {
  replica::Send send;
  send.to = UserId(user);
  send.client_msg_id = id;
  send.body.text = text;
  return send;
}

std::vector<OutboxOutcome> outcomes(const Phone& phone) {
  std::vector<OutboxOutcome> all;
  for (const auto& event : phone.saw<OutboxEvent>()) all.push_back(event.outcome);
  return all;
}

TEST(Conformance, S1_first_send) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& a2 = s.phone("A2");
  Phone& b1 = s.phone("B1");
  a1.says("B", "m1");
  s.quiet();
  EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(1), false)));
  EXPECT_EQ(b1.shows(kChat).head_seq, Seq(1));
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{1, true}));
  EXPECT_EQ(a2.row(kChat, Seq(1)).body.text, "m1");
  EXPECT_EQ(a2.row(kChat, Seq(1)).sender_device, DeviceId("A1"));
  for (const Phone* phone : {&a1, &a2}) EXPECT_EQ(phone->shows(kChat).unread, Unread());
}

TEST(Conformance, S2_retry_after_a_lost_ack) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& b1 = s.phone("B1");
  a1.loses<SentReply>();
  a1.loses<Push>();
  a1.says("B", "m1");
  s.pass(2'000);
  ASSERT_THAT(s.log(kChat), SizeIs(1));
  ASSERT_THAT(a1.store().outbox(), SizeIs(1)) << "pending";

  a1.goes_offline();
  a1.network_heals();
  s.pass(5'000);
  a1.comes_online();
  s.quiet();
  const auto asked = a1.asked<replica::Send>();
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].client_msg_id, asked[1].client_msg_id);
  EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(1), true)));
  EXPECT_THAT(s.log(kChat), SizeIs(1));
  EXPECT_THAT(b1.texts(kChat), ElementsAre("m1"));
  EXPECT_THAT(b1.saw<replica::MessageEvent>(), SizeIs(1)) << "exactly one visible message";
}

TEST(Conformance, S3_echo_before_ack) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  // The message is in the log; neither ack nor push gets through before the line breaks.
  a1.loses<SentReply>();
  a1.loses<Push>();
  a1.says("B", "hello");
  s.pass(2'000);
  ASSERT_THAT(a1.store().outbox(), SizeIs(1)) << "pending";
  ASSERT_THAT(s.log(kChat), SizeIs(1));

  // The echo is pushed behind the welcome, in front of the answer to the second attempt.
  a1.network_heals();
  a1.forget();
  std::size_t pushes_before_ack = 0;
  std::size_t pending_at_ack = 1;
  a1.meets = [&](const replica::ServerFrame& frame) {
    if (!std::holds_alternative<SentReply>(frame.answer)) return true;
    pushes_before_ack = a1.got<Push>().size();
    pending_at_ack = a1.store().outbox().size();
    return true;
  };
  a1.goes_offline();
  a1.comes_online();
  s.quiet();
  EXPECT_EQ(pushes_before_ack, 1U);
  EXPECT_EQ(pending_at_ack, 0U) << "it became sent on the push";
  EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(1), true)));
  const auto told = a1.saw<OutboxEvent>();
  ASSERT_THAT(told, SizeIs(1)) << "once, by the push; the ack is a no-op";
  EXPECT_EQ(told[0].outcome, OutboxOutcome::sent);
  EXPECT_EQ(told[0].seq, Seq(1));
  EXPECT_THAT(a1.store().outbox(), IsEmpty());
  EXPECT_THAT(a1.rows(kChat), ElementsAre(Seq(1))) << "one bubble";
  EXPECT_THAT(s.log(kChat), SizeIs(1));
}

TEST(Conformance, S4_two_concurrent_copies_on_two_connections) {
  Scenario s;
  Phone& b1 = s.phone("B1");
  Wire& over_wifi = s.wire("A1");
  Wire& over_mobile = s.wire("A2");
  const replica::Send copy = to_user("B", s.fresh_id(s.server().clock().wall_ms()), "m1");
  const std::uint64_t first = over_wifi.sends(copy);
  const std::uint64_t second = over_mobile.sends(copy);
  const auto one = std::get<SentReply>(over_wifi.answer(first));
  const auto other = std::get<SentReply>(over_mobile.answer(second));
  EXPECT_EQ(one.seq, other.seq);
  EXPECT_NE(one.duplicate, other.duplicate) << "exactly one is new";
  s.quiet();
  EXPECT_THAT(s.log(kChat), SizeIs(1));
  EXPECT_THAT(b1.texts(kChat), ElementsAre("m1"));
}

TEST(Conformance, S5_same_id_other_body) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  a1.goes_offline();
  a1.says("B", "mine");
  // Something else of A's uses the same id first.
  SendCommand other = s.message("A", "B", "of another program");
  other.client_msg_id = a1.store().outbox().begin()->second.client_msg_id;
  ASSERT_EQ(s.send(other).value().seq, Seq(1));
  a1.comes_online();
  s.quiet();
  const auto refused = a1.got<Error>();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].code, ErrorCode::CLIENT_MSG_ID_CONFLICT);
  EXPECT_THAT(outcomes(a1), ElementsAre(OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent));
  EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(2), false)));
  EXPECT_THAT(s.texts_of(kChat), ElementsAre("of another program", "mine")) << "nothing is lost";
  EXPECT_NE(s.log(kChat).at(Seq(2)).client_msg_id, other.client_msg_id);
}

TEST(Conformance, S6_same_id_to_two_conversations) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  s.posts("B", "A", 4);
  const std::string id = s.fresh_id(s.server().clock().wall_ms());
  Wire& wire = s.wire("A2");
  EXPECT_THAT(wire.ask<SentReply>(to_user("B", id, "forwarded")), sent_as(Seq(5), false));
  EXPECT_THAT(wire.ask<SentReply>(to_user("C", id, "forwarded")), sent_as(Seq(1), false));
  s.quiet();
  EXPECT_EQ(a1.row(kChat, Seq(5)).body.text, "forwarded");
  EXPECT_EQ(a1.row(ConversationId("A_C"), Seq(1)).body.text, "forwarded");
}

TEST(Conformance, S11_a_refused_send_is_not_remembered) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  const ConversationId group = s.group("B", {"A", "C"});
  ASSERT_TRUE(s.command(RemoveMemberCommand{UserId("B"), DeviceId("http"), group, UserId("A")}));
  s.quiet();
  replica::Send send;
  send.conversation = group;
  send.client_msg_id = s.fresh_id(s.server().clock().wall_ms());
  send.body.text = "may I";
  Wire& wire = s.wire("A2");
  EXPECT_EQ(wire.ask<Error>(send).code, ErrorCode::NOT_MEMBER);
  a1.says_in(group, "or I");
  s.quiet();
  EXPECT_EQ(outcomes(a1).back(), OutboxOutcome::failed) << "the text is kept";

  ASSERT_TRUE(s.command(AddMembersCommand{UserId("B"), DeviceId("http"), group, {UserId("A")}}));
  const Seq head = s.log(group).rbegin()->first;
  EXPECT_THAT(wire.ask<SentReply>(send), sent_as(head + 1, false));
  EXPECT_THAT(wire.ask<SentReply>(send), sent_as(head + 1, true)) << "appended once";
  a1.device().settle_outbox();  // what has failed is given up
  s.quiet();
  EXPECT_EQ(a1.row(group, head + 1).body.text, "may I");

  // A stranger learns no more than of a group that there is not.
  Wire& stranger = s.wire("D1");
  EXPECT_EQ(stranger.ask<Error>(send).code, ErrorCode::CONVERSATION_NOT_FOUND);
  send.conversation = ConversationId("group_99");
  EXPECT_EQ(stranger.ask<Error>(send).code, ErrorCode::CONVERSATION_NOT_FOUND);
}

TEST(Conformance, S99_ids_of_single_chats) {
  Scenario s;
  struct Pair {
    std::string a;
    std::string b;
    std::string id;
  };
  const std::vector<Pair> pairs{
      {"a_b", "c", "a%5Fb_c"}, {"a", "b_c", "a_b%5Fc"}, {"group_1", "z", "group%5F1_z"}, {"10", "9", "9_10"}};
  for (const auto& [a, b, id] : pairs) {
    // Each side writes, by the other's name and by the conversation's.
    SendCommand back = s.message(b, "", "to " + a);
    back.conversation = ConversationId(id);
    EXPECT_EQ(s.send(s.message(a, b, "to " + b)).value().conversation.value, id);
    EXPECT_EQ(s.send(back).value().conversation.value, id);
    EXPECT_THAT(s.texts_of(ConversationId(id)), ElementsAre("to " + b, "to " + a));
    EXPECT_EQ(s.listed(a, ConversationId(id)).peer, UserId(b));
    EXPECT_EQ(s.listed(b, ConversationId(id)).peer, UserId(a));
  }
  // With himself: never unread, on any device.
  Phone& a1 = s.phone("A1");
  Phone& a2 = s.phone("A2");
  const ConversationId self("A_A");
  a1.says("A", "a note");
  s.quiet();
  for (Phone* phone : {&a1, &a2}) {
    EXPECT_EQ(phone->shows(self).unread, Unread());
    EXPECT_THAT(phone->texts(self), ElementsAre("a note"));
    EXPECT_THAT(phone->notified(self), IsEmpty());
  }
}

TEST(Conformance, S151_largest_body) {
  Scenario s([](Plan& plan) { plan.config.limits.inline_bytes = 65'536; });
  Phone& b1 = s.phone("B1");
  Wire& wire = s.wire("A1");
  const std::size_t most = s.server().params().body_bytes_max;
  const std::string id = s.fresh_id(s.server().clock().wall_ms());
  EXPECT_THAT(wire.ask<SentReply>(to_user("B", s.fresh_id(s.server().clock().wall_ms()), std::string(most, 'x'))),
              sent_as(Seq(1), false));
  const Error refused = wire.ask<Error>(to_user("B", id, std::string(most + 1, 'x')));
  EXPECT_EQ(refused.code, ErrorCode::TOO_LARGE);
  EXPECT_EQ(refused.field, "body");
  EXPECT_THAT(wire.ask<SentReply>(to_user("B", id, "shorter")), sent_as(Seq(2), false)) << "the id was not used up";
  s.quiet();
  EXPECT_EQ(b1.row(kChat, Seq(1)).body.text.size(), most);
  EXPECT_EQ(b1.row(kChat, Seq(2)).body.text, "shorter");
}

}  // namespace
}  // namespace tidemark::sim
