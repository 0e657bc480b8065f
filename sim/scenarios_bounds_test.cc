// What a device costs at most: one that takes nothing, and one that begins with very much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::ConversationSync;
using replica::Hint;
using replica::History;
using replica::Push;
using replica::Sync;
using replica::SyncAnswer;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

std::size_t pushed(const Phone& phone) {
  std::size_t items = 0;
  for (const Push& push : phone.got<Push>()) items += push.items.size();
  return items;
}

TEST(Conformance, S37_slow_consumer) {
  constexpr int kEvents = 10'000;
  constexpr int kAtOnce = 100;
  Scenario s([](Plan& plan) { plan.window_bytes = 10'000; });
  Phone& b1 = s.phone("B1");
  Phone& b2 = s.phone("B2");
  b1.forget();
  b2.forget();
  std::size_t most_entries = 0;
  std::size_t most_bytes = 0;
  s.telling = [&](const Outcome&) {
    s.server().delivery().each_queue([&](SessionId, const auto& pending) {
      std::size_t bytes = 0;
      for (const PushRef& push : pending) bytes += push.item->entry->body.text.size();
      most_entries = std::max(most_entries, pending.size());
      most_bytes = std::max(most_bytes, bytes);
    });
  };
  b1.stops_reading();
  for (int sent = 0; sent < kEvents; sent += kAtOnce) {
    s.posts("A", "B", kAtOnce);
    s.pass(50);
  }
  s.pass(1'000);
  ASSERT_THAT(s.log(kChat), SizeIs(kEvents));
  EXPECT_LE(most_entries, 50U);
  EXPECT_LE(most_bytes, 64U * 1024);
  EXPECT_EQ(b2.cursor(), s.listed("B", kChat).mark) << "nobody else slows down";
  EXPECT_THAT(b1.got<Push>(), IsEmpty()) << "it has read nothing";

  b1.reads_on();
  s.quiet();
  EXPECT_LT(pushed(b1), 1'000U) << "what the window and one queue held";
  EXPECT_THAT(b1.got<Hint>(), SizeIs(1)) << "instead of all the others";
  EXPECT_THAT(b1.asked<Sync>(), Not(IsEmpty())) << "the rest comes by pull";
  EXPECT_EQ(b1.cursor(), s.listed("B", kChat).mark);
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{999, false}));
  b1.opens(kChat);
  s.quiet();
  EXPECT_EQ(b1.rows(kChat).back(), Seq(kEvents));
}

TEST(Conformance, S150_an_account_with_ten_thousand_conversations_on_a_new_phone) {
  constexpr std::size_t kConversations = 10'000;
  constexpr std::size_t kScreen = 20;
  const std::string kText = "shall we meet at the usual place?";
  Scenario s;
  for (std::size_t i = 0; i < kConversations; ++i) {
    s.post("friend" + std::to_string(i), "B", kText);
    if (i % 1'000 == 0) s.pass(100);
  }
  s.pass(20'000);

  // The whole list, page by page, as its bytes stand on the wire.
  Wire& wire = s.wire("B2");
  Sync question;
  std::size_t bytes = 0;
  std::size_t rows = 0;
  int screen = 0;  // questions until the first screen is there
  for (int asked = 1;; ++asked) {
    const auto answer = wire.ask<SyncAnswer>(question);
    bytes += wire.bytes().size();
    rows += answer.page.changes.size();
    for (const Change& change : answer.page.changes) {
      EXPECT_EQ(change.preview.text, kText);
      EXPECT_EQ(change.unread.count, 1U);
      EXPECT_THAT(change.messages, IsEmpty());
    }
    if (rows >= kScreen && screen == 0) screen = asked;
    if (!answer.page.after) break;
    question.p0 = answer.page.p0;
    question.p0_round = answer.page.p0_round;
    question.below = answer.page.after;
  }
  EXPECT_EQ(rows, kConversations);
  EXPECT_LE(screen, 2) << "round trips";
  EXPECT_LE(bytes, 2'000'000U);

  // A phone that brings no bodies along asks for nothing else.
  Phone& b1 = s.new_phone("B1");
  const auto shown = [&] {
    std::size_t count = 0;
    for (const auto& [id, stored] : b1.store().conversations())
      count += stored.state.object.unread.count == 1 && stored.state.object.preview.text == kText ? 1 : 0;
    return count;
  };
  int asked_for_screen = 0;
  s.asking = [&](const SimDevice& device, const replica::Operation& operation) {
    if (&device == &b1.device() && std::holds_alternative<Sync>(operation) && shown() < kScreen) ++asked_for_screen;
  };
  replica::Options options;
  options.bodies = Bodies::none;
  b1.device().start(options);
  s.quiet();
  EXPECT_LE(asked_for_screen, 2) << "round trips after the welcome until the first screen is there";
  EXPECT_EQ(shown(), kConversations);
  EXPECT_THAT(b1.asked<ConversationSync>(), IsEmpty()) << "bodies only on opening";
  EXPECT_THAT(b1.asked<History>(), IsEmpty());
  b1.opens(ConversationId("B_friend77"));
  s.quiet();
  EXPECT_THAT(b1.texts(ConversationId("B_friend77")), testing::ElementsAre(kText));
}

}  // namespace
}  // namespace tidemark::sim
