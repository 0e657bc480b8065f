// Retries long after the press of the button, and clocks that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/uuid7.h"
#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::OutboxEvent;
using replica::OutboxOutcome;
using replica::Push;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

std::vector<OutboxOutcome> outcomes(const Phone& phone) {
  std::vector<OutboxOutcome> all;
  for (const auto& event : phone.saw<OutboxEvent>()) all.push_back(event.outcome);
  return all;
}

std::vector<ErrorCode> refusals(const Phone& phone) {
  std::vector<ErrorCode> all;
  for (const Error& error : phone.got<Error>()) all.push_back(error.code);
  return all;
}

/// So much has happened elsewhere that a returning device is not pushed what it missed.
void make_busy(Scenario& s, const std::string& user) {
  for (int i = 0; i < 60; ++i) s.post("X" + std::string(1, static_cast<char>('a' + i % 26)), user, "news");
}

TEST(Conformance, S7_retry_beyond_the_window) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  a1.loses<SentReply>();
  a1.loses<Push>();
  a1.says("B", "mine");
  s.pass(2'000);
  ASSERT_THAT(s.log(kChat), SizeIs(1)) << "committed";
  ASSERT_THAT(a1.store().outbox(), SizeIs(1)) << "and not known to be";
  a1.goes_offline();
  a1.network_heals();
  s.pass(3 * 24 * kHourMs);
  make_busy(s, "A");
  s.posts("B", "A", 70);  // the echo lies some pages back
  s.pass(1'000);
  a1.comes_online();
  s.quiet();
  EXPECT_THAT(refusals(a1), ElementsAre(ErrorCode::CLIENT_MSG_ID_EXPIRED));
  EXPECT_THAT(outcomes(a1), ElementsAre(OutboxOutcome::queued, OutboxOutcome::sent)) << "its user is not asked";
  EXPECT_EQ(a1.saw<OutboxEvent>().back().seq, Seq(1));
  EXPECT_THAT(a1.store().outbox(), IsEmpty());
  EXPECT_EQ(s.log(kChat).at(Seq(1)).body.text, "mine");
  EXPECT_THAT(s.log(kChat), SizeIs(71)) << "still one entry of it";
}

TEST(Conformance, S8_retry_beyond_the_window_of_what_was_never_committed) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  s.posts("B", "A", 70);
  s.quiet();
  a1.loses_asked<replica::Send>();
  a1.says("B", "mine");
  s.pass(2'000);
  a1.goes_offline();
  a1.network_heals();
  s.pass(3 * 24 * kHourMs);
  a1.comes_online();
  s.quiet();
  EXPECT_THAT(refusals(a1), ElementsAre(ErrorCode::CLIENT_MSG_ID_EXPIRED));
  EXPECT_THAT(outcomes(a1), ElementsAre(OutboxOutcome::queued, OutboxOutcome::undecided)) << "send again?";
  ASSERT_THAT(a1.store().outbox(), SizeIs(1));
  const replica::OutboxItem before = a1.store().outbox().begin()->second;
  EXPECT_EQ(before.body.text, "mine") << "the text is kept";
  EXPECT_THAT(s.log(kChat), SizeIs(70)) << "nothing is sent by itself";

  a1.device().settle_outbox();  // yes
  const std::int64_t now = s.server().clock().wall_ms();
  s.quiet();
  ASSERT_THAT(s.log(kChat), SizeIs(71)) << "one entry";
  const Entry& made = s.log(kChat).at(Seq(71));
  EXPECT_EQ(made.body.text, "mine");
  EXPECT_NE(made.client_msg_id, before.client_msg_id);
  EXPECT_NEAR(static_cast<double>(made.server_time - now), 0, 1'000);
}

TEST(Conformance, S9_age_of_a_retry) {
  Scenario s;
  const std::string id = s.fresh_id(s.server().clock().wall_ms());
  SendCommand send = s.message("A", "B", "m1");
  send.client_msg_id = id;
  const SentReply first = s.send(send).value();
  ASSERT_EQ(first.seq, Seq(1));
  const std::int64_t begin = s.now_ms();
  std::vector<std::int64_t> minutes{1,       60,          12 * 60,     23 * 60 - 1, 23 * 60 + 1,
                                    24 * 60, 25 * 60 - 1, 25 * 60 + 1, 72 * 60};
  for (const std::int64_t age : minutes) {
    s.pass(begin + age * kMinuteMs - s.now_ms());
    const auto again = s.send(send);
    if (age < 23 * 60) {
      ASSERT_TRUE(again) << age;
      EXPECT_EQ(again->seq, Seq(1));
      EXPECT_TRUE(again->duplicate);
    } else {
      ASSERT_FALSE(again) << age;
      EXPECT_EQ(again.error().code, ErrorCode::CLIENT_MSG_ID_EXPIRED);
    }
    EXPECT_THAT(s.log(kChat), SizeIs(1)) << "at no age a second entry";
  }
}

TEST(Conformance, S13_clock_skew) {
  Scenario s;
  Phone& a1 = s.new_phone("A1");
  a1.device().clock().jump(3 * kHourMs);
  a1.device().start({});
  Phone& b1 = s.phone("B1");
  for (int i = 0; i < 3; ++i) {
    a1.says("B", "A " + std::to_string(i));
    s.quiet();
    b1.says("A", "B " + std::to_string(i));
    s.quiet();
  }
  EXPECT_THAT(a1.got<Error>(), IsEmpty()) << "accepted";
  EXPECT_THAT(s.texts_of(kChat), ElementsAre("A 0", "B 0", "A 1", "B 1", "A 2", "B 2")) << "as they arrived";
  EXPECT_EQ(a1.texts(kChat), b1.texts(kChat));
  for (const auto& [seq, entry] : s.log(kChat)) {
    EXPECT_LE(entry.server_time, s.server().clock().wall_ms());
    EXPECT_NEAR(static_cast<double>(entry.server_time - uuid7_time_ms(entry.client_msg_id).value()), 0, 1'000)
        << "the id bears the corrected time";
    EXPECT_EQ(a1.row(kChat, seq).server_time, entry.server_time) << "which is what is displayed";
  }
}

TEST(Conformance, S13_a_clock_two_days_ahead_and_no_hello_yet) {
  Scenario s;
  Phone& a1 = s.new_phone("A1");
  a1.device().clock().jump(48 * kHourMs);
  a1.goes_offline();
  a1.device().start({});
  a1.says("B", "mine");
  EXPECT_EQ(a1.store().outbox().begin()->second.attempts, 0U);
  a1.comes_online();
  s.quiet();
  EXPECT_THAT(refusals(a1), Each(ErrorCode::CLIENT_MSG_ID_EXPIRED)) << "it lies in the future";
  EXPECT_THAT(refusals(a1), SizeIs(1));
  EXPECT_THAT(outcomes(a1), ElementsAre(OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent));
  EXPECT_THAT(outcomes(a1), Not(Contains(OutboxOutcome::undecided))) << "silently";
  EXPECT_THAT(s.texts_of(kChat), ElementsAre("mine"));
}

}  // namespace
}  // namespace tidemark::sim
