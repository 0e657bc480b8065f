// Priorities between conversations: what overtakes, what is kept in its order, and that nobody starves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::Ack;
using replica::MessageEvent;
using replica::Push;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ConversationId kUrgent("B_G");

void post(Scenario& s, const std::string& sender, const std::string& to, const std::string& text, Priority priority) {
  SendCommand command = s.message(sender, to, text);
  command.priority = priority;
  s.server().submit(std::move(command), [](Result<Reply> reply) { EXPECT_TRUE(reply.has_value()); });
}

/// The entries that came, in the order in which they did.
std::vector<std::string> came(const Phone& phone) {
  std::vector<std::string> texts;
  for (const Push& push : phone.got<Push>())
    for (const PushItem& item : push.items)
      if (item.entry) texts.push_back(item.conversation.value + " " + item.entry->body.text);
  return texts;
}

/// B1 takes nothing, its link is full, and 40 conversations with a message each wait for it, G's with two and then one
/// of high priority.
class Waiting {
 public:
  Waiting() : s([](Plan& plan) { plan.window_bytes = 3'000; }), b1(s.phone("B1")) {
    // G's is known, so that what comes ahead has its place.
    s.post("G", "B", "g 0");
    s.quiet();
    b1.stops_reading();
    s.post("F", "B", std::string(4'000, 'f'));  // fills what the network takes
    s.pass(200);
    b1.forget();
    for (int i = 0; i < 20; ++i) s.post("n" + std::to_string(i), "B", "hello");
    s.post("G", "B", "g 1");
    for (int i = 20; i < 39; ++i) s.post("n" + std::to_string(i), "B", "hello");
    s.post("G", "B", "g 2");
    post(s, "G", "B", "g 3", Priority::high);
    s.pass(200);
  }
  Scenario s;
  Phone& b1;
};

TEST(Conformance, S39_priority_across_conversations_order_kept_inside) {
  Waiting w;
  w.b1.reads_on();
  w.s.quiet();
  std::vector<std::string> texts = came(w.b1);
  ASSERT_THAT(texts, SizeIs(43)) << "what filled the link, 39 others, and G's three";
  EXPECT_THAT(std::vector(texts.begin() + 1, texts.begin() + 4), ElementsAre("B_G g 1", "B_G g 2", "B_G g 3"));
  std::size_t others = 0;
  for (auto text = texts.begin() + 4; text != texts.end(); ++text) others += text->ends_with(" hello") ? 1 : 0;
  EXPECT_EQ(others, 39U);
  EXPECT_THAT(w.b1.texts(kUrgent), ElementsAre("g 0", "g 1", "g 2", "g 3"));
  EXPECT_EQ(w.b1.shows(kUrgent).unread, (Unread{4, true}));
  EXPECT_THAT(w.b1.notified(kUrgent), ElementsAre(Seq(2), Seq(3), Seq(4))) << "each once";
  const auto events = w.b1.saw<MessageEvent>();
  const auto high = std::ranges::find_if(
      events, [](const MessageEvent& event) { return event.entry->priority == Priority::high && event.notify; });
  const auto other =
      std::ranges::find_if(events, [](const MessageEvent& event) { return event.entry->body.text == "hello"; });
  ASSERT_TRUE(high != events.end() && other != events.end());
  EXPECT_LT(high - events.begin(), other - events.begin()) << "at once";
  EXPECT_EQ(w.b1.cursor(), w.s.listed("B", kUrgent).mark);
  EXPECT_THAT(w.b1.asked<replica::Sync>(), IsEmpty()) << "nothing was missing";
}

TEST(Conformance, S40_the_link_breaks_after_the_high_ones) {
  Waiting w;
  const Mark before = w.b1.cursor();
  bool broken = false;
  w.b1.meets = [&](replica::ServerFrame& frame) {
    if (broken) return false;
    const Push* push = std::get_if<Push>(&frame.answer);
    broken = push != nullptr && push->items.back().entry && push->items.back().entry->priority == Priority::high;
    return true;
  };
  w.b1.reads_on();
  ASSERT_TRUE(w.s.until([&] { return broken; }));
  w.b1.goes_offline();
  w.s.pass(200);
  EXPECT_THAT(w.b1.texts(kUrgent), ElementsAre("g 0", "g 1", "g 2", "g 3"));
  EXPECT_EQ(w.b1.cursor(), before + 1) << "the one that filled the link; the others were not delivered";
  w.b1.network_heals();
  w.b1.comes_online();
  w.s.quiet();
  EXPECT_EQ(w.b1.cursor(), w.s.listed("B", kUrgent).mark);
  EXPECT_THAT(w.b1.texts(kUrgent), ElementsAre("g 0", "g 1", "g 2", "g 3"));
  for (int i = 0; i < 39; ++i) EXPECT_THAT(w.b1.texts(ConversationId("B_n" + std::to_string(i))), ElementsAre("hello"));
  EXPECT_THAT(w.b1.notified(kUrgent), ElementsAre(Seq(2), Seq(3), Seq(4))) << "the second time changes nothing";
  EXPECT_EQ(w.b1.shows(kUrgent).unread, (Unread{4, true}));
}

TEST(Conformance, S42_priority_starvation) {
  constexpr int kRounds = 50;
  Scenario s;
  Phone& b1 = s.phone("B1");
  s.post("G1", "B", "first");
  s.post("G2", "B", "first");
  s.quiet();
  b1.forget();
  const std::string text(1'000, 'x');
  for (int round = 0; round < kRounds; ++round) {
    // More than a link is pushed at once, of high priority alone.
    for (int i = 0; i < 80; ++i) post(s, "G2", "B", text, Priority::high);
    for (int i = 0; i < 20; ++i) post(s, "G1", "B", text, Priority::normal);
    s.pass(1'000);
    // G1's are not behind: what is not pushed is pulled within the second.
    EXPECT_EQ(b1.rows(ConversationId("B_G1")).size(), 1U + 20U * static_cast<unsigned>(round + 1));
  }
  std::size_t high = 0;
  std::size_t normal = 0;
  for (const Push& push : b1.got<Push>())
    for (const PushItem& item : push.items)
      if (item.entry) ++(item.entry->priority == Priority::high ? high : normal);
  EXPECT_GE(normal, 20U) << "they were pushed too";
  EXPECT_GE(normal * 2, high) << "and kept their half of what the first push of a round took";
}

TEST(Priorities, LowOnesAreToldTogetherAndWithinFiveSeconds) {
  Scenario s;
  Phone& b1 = s.phone("B1");
  b1.forget();
  for (int i = 0; i < 10; ++i) {
    post(s, "A", "B", "low " + std::to_string(i), Priority::low);
    s.pass(50);
  }
  EXPECT_TRUE(s.until([&] { return came(b1).size() == 10; }, 5'000));
  EXPECT_THAT(b1.got<Push>(), SizeIs(testing::Le(2U)));
  // Whatever else comes takes them along, in their order.
  b1.forget();
  post(s, "A", "B", "low", Priority::low);
  s.post("A", "B", "normal");
  s.pass(100);
  EXPECT_THAT(came(b1), ElementsAre("A_B low", "A_B normal"));
}

TEST(Priorities, AReturningDeviceIsShownTheUrgentOnesFirst) {
  Scenario s;
  Phone& b1 = s.phone("B1");
  b1.goes_offline();
  post(s, "G", "B", "urgent", Priority::high);
  post(s, "H", "B", "was read", Priority::high);
  s.pass(100);
  const ReadCommand read{UserId("B"), ConversationId("B_H"), Seq(1)};
  ASSERT_TRUE(s.command(MutateCommand{UserId("B"), DeviceId("http"), {}, 0, read}));
  for (int i = 0; i < 500; ++i) s.post("n" + std::to_string(i), "B", "hello");
  s.pass(1'000);
  b1.forget();
  b1.comes_online();
  s.quiet();
  const auto pages = b1.got<replica::SyncAnswer>();
  ASSERT_GT(pages.size(), 2U);
  ASSERT_THAT(pages[0].page.extras, SizeIs(1));
  EXPECT_EQ(pages[0].page.extras[0].conversation, kUrgent);
  for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_THAT(pages[i].page.extras, IsEmpty());
  EXPECT_THAT(b1.notified(kUrgent), SizeIs(testing::Le(1U)));
  EXPECT_EQ(b1.shows(kUrgent).unread, (Unread{1, true}));
}

}  // namespace
}  // namespace tidemark::sim
