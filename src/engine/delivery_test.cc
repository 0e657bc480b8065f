// Delivery without sockets: what each link is given, in order, and when it is told to pull instead.
#include "engine/delivery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tidemark {
namespace {

class TestPort final : public DeliveryPort {
 public:
  void push(SessionId session, std::span<const PushRef> items) override {
    for (const PushRef& ref : items) {
      pushed[session].push_back(ref.item->index_to.value);
      texts[session].push_back(ref.item->entry ? ref.item->entry->body.text : "");
    }
    ++frames[session];
  }
  void hint(SessionId session, Mark head) override { hints[session].push_back(head.value); }
  void heads(SessionId session, std::span<const KnownHead> told, std::int64_t spread_ms) override {
    for (const KnownHead& head : told) heads_told[session].push_back(head);
    spread = spread_ms;
  }
  void end(SessionId session, LinkEnd reason) override { ended[session] = reason; }
  bool blocked(SessionId session) const override { return blocked_sessions.contains(session); }

  std::map<SessionId, std::vector<std::uint64_t>> pushed;
  std::map<SessionId, std::vector<std::string>> texts;
  std::map<SessionId, int> frames;
  std::map<SessionId, std::vector<std::uint64_t>> hints;
  std::map<SessionId, LinkEnd> ended;
  std::map<SessionId, std::vector<KnownHead>> heads_told;
  std::int64_t spread = 0;
  std::map<SessionId, bool> blocked_sessions;
};

class DeliveryTest : public testing::Test {
 protected:
  void attach(SessionId session, const std::string& device, std::uint64_t cursor, Mode mode = Mode::delta) {
    LoginReply login;
    login.mode = mode;
    login.head.mark = Mark(head_);
    delivery_.attach({session, UserId("B"), DeviceId(device), login, Mark(cursor)}, now_);
  }
  /// `count` messages to B, in one round.
  void messages(int count, std::size_t text_bytes = 10, Priority priority = Priority::normal) {
    std::vector<Notice> notices;
    for (int i = 0; i < count; ++i) {
      auto entry = std::make_shared<Entry>();
      entry->seq = Seq(head_ + 1);
      entry->sender = UserId("A");
      entry->client_msg_id = "secret";
      entry->body.text = std::string(text_bytes, 'x');
      entry->priority = priority;
      notices.push_back({ConversationId("A_B"), entry, 1, {{UserId("B"), Mark(head_), Mark(head_ + 1), 0, false, {}}}});
      ++head_;
    }
    delivery_.publish(notices, now_);
  }
  /// Twenty messages of A_B wait for the socket, and one of high priority of C_B behind them; then it takes all.
  void overtake() {
    port_.blocked_sessions[1] = true;
    messages(20);
    auto entry = std::make_shared<Entry>();
    entry->seq = Seq(1);
    entry->sender = UserId("C");
    entry->body.text = "urgent";
    entry->priority = Priority::high;
    delivery_.publish({{ConversationId("C_B"), entry, 1, {{UserId("B"), Mark(head_), Mark(head_ + 1), 0, false, {}}}}},
                      now_);
    ++head_;
    port_.blocked_sessions.clear();
    delivery_.unblocked(1, now_);
  }
  std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = from; i <= to; ++i) numbers.push_back(i);
    return numbers;
  }

  TestPort port_;
  Delivery delivery_{port_, {}};
  std::int64_t now_ = 1'000;
  std::uint64_t head_ = 0;
  std::uint64_t others_ = 0;  // D's head
};
using DeliveryConformance = DeliveryTest;

TEST_F(DeliveryConformance, S36_a_backlog_of_51_is_fifty_entries_and_one_hint) {
  attach(1, "B1", 0);
  messages(50);
  EXPECT_EQ(port_.pushed[1], range(1, 50));
  EXPECT_TRUE(port_.hints[1].empty());
  delivery_.acknowledge(1, Mark(50), now_);
  messages(51);
  EXPECT_EQ(port_.pushed[1], range(1, 100));
  EXPECT_EQ(port_.hints[1], (std::vector<std::uint64_t>{101}));
  // Nothing is pushed until a sync answer reaches the head; that answer arms again.
  messages(1);
  EXPECT_EQ(port_.pushed[1].size(), 100u);
  delivery_.pulling(1);
  delivery_.answered(1, Mark(102), true, now_, 0);
  messages(1);
  EXPECT_EQ(port_.pushed[1].back(), 103u);
}

TEST_F(DeliveryTest, AnAckOfARoundsLastChangeCoversTheRound) {
  attach(1, "B1", 0);
  messages(3);
  delivery_.acknowledge(1, Mark(2), now_);
  EXPECT_EQ(delivery_.acknowledged_round(1), 0u);
  delivery_.acknowledge(1, Mark(3), now_);
  EXPECT_EQ(delivery_.acknowledged_round(1), 1u);
  // A sync answer says by itself how far it goes.
  delivery_.answered(1, Mark(3), true, now_, 9);
  delivery_.acknowledge(1, Mark(3), now_);
  EXPECT_EQ(delivery_.acknowledged_round(1), 9u);
}

TEST_F(DeliveryConformance, S16_a_returning_device_far_behind_gets_a_hint_and_no_bodies) {
  attach(1, "B1", 0);
  messages(120);
  delivery_.detach(1, now_);
  port_ = {};
  attach(2, "B1", 0);
  EXPECT_TRUE(port_.pushed[2].empty());
  EXPECT_EQ(port_.hints[2], (std::vector<std::uint64_t>{120}));
}

TEST_F(DeliveryTest, a_device_that_was_away_for_a_moment_is_pushed_what_it_missed) {
  attach(1, "B1", 0);
  messages(10);
  delivery_.detach(1, now_);
  messages(5);
  attach(2, "B1", 10);
  EXPECT_EQ(port_.pushed[2], range(11, 15));
  EXPECT_TRUE(port_.hints[2].empty());
}

TEST_F(DeliveryTest, a_slow_socket_costs_one_hint_and_bounded_memory) {
  attach(1, "B1", 0);
  attach(2, "B2", 0);
  port_.blocked_sessions[1] = true;
  for (int i = 0; i < 10'000; ++i) {
    messages(1);
    delivery_.acknowledge(2, Mark(head_), now_);
  }
  EXPECT_TRUE(port_.pushed[1].empty());
  EXPECT_EQ(port_.hints[1].size(), 1u);
  EXPECT_EQ(port_.pushed[2].size(), 10'000u) << "nobody else slows down";
}

TEST_F(DeliveryTest, a_socket_that_takes_again_gets_what_waited) {
  attach(1, "B1", 0);
  port_.blocked_sessions[1] = true;
  messages(20);
  port_.blocked_sessions.clear();
  delivery_.unblocked(1, now_);
  EXPECT_EQ(port_.pushed[1], range(1, 20));
}

TEST_F(DeliveryTest, bytes_are_bounded_as_entries_are) {
  attach(1, "B1", 0);
  messages(40, 4'000);
  EXPECT_EQ(port_.pushed[1], range(1, 15));
  EXPECT_EQ(port_.hints[1].size(), 1u);
}

TEST_F(DeliveryTest, a_long_body_travels_as_its_front) {
  attach(1, "B1", 0);
  messages(10, 20'000);
  EXPECT_EQ(port_.pushed[1], range(1, 10)) << "and weighs no more than that";
  EXPECT_EQ(port_.texts[1].front(), std::string(1'024, 'x'));
}

TEST_F(DeliveryTest, what_is_not_acknowledged_is_pushed_again_and_then_the_link_ends) {
  attach(1, "B1", 0);
  messages(3);
  delivery_.acknowledge(1, Mark(1), now_);
  port_.pushed.clear();
  for (int i = 0; i < 3; ++i) {
    now_ += 9'999;
    delivery_.tick(now_);
    EXPECT_TRUE(port_.pushed[1].empty());
    now_ += 1;
    delivery_.tick(now_);
    EXPECT_EQ(port_.pushed[1], range(2, 3)) << "from the acknowledged mark";
    port_.pushed.clear();
  }
  now_ += 10'000;
  delivery_.tick(now_);
  EXPECT_EQ(port_.ended.at(1), LinkEnd::unacknowledged);
  EXPECT_EQ(delivery_.sessions(), 0u);
}

TEST_F(DeliveryTest, an_acknowledged_link_is_left_alone) {
  attach(1, "B1", 0);
  messages(3);
  delivery_.acknowledge(1, Mark(3), now_);
  port_.pushed.clear();
  for (int i = 0; i < 100; ++i) delivery_.tick(now_ += 10'000);
  EXPECT_TRUE(port_.pushed[1].empty());
  EXPECT_FALSE(port_.ended.contains(1));
}

TEST_F(DeliveryTest, an_entry_that_overtakes_comes_without_its_index_part_which_follows) {
  attach(1, "B1", 0);
  overtake();
  ASSERT_EQ(port_.pushed[1].size(), 22u);
  EXPECT_EQ(port_.texts[1].front(), "urgent");
  EXPECT_EQ(port_.pushed[1].front(), 0u) << "it says nothing of the index";
  EXPECT_EQ(port_.texts[1].back(), "");
  EXPECT_EQ(std::vector(port_.pushed[1].begin() + 1, port_.pushed[1].end()), range(1, 21));
  EXPECT_EQ(port_.frames[1], 2) << "it waits for nothing";
}

TEST_F(DeliveryTest, an_entry_acknowledged_ahead_is_not_pushed_again_but_its_index_part_is) {
  attach(1, "B1", 0);
  overtake();
  delivery_.acknowledge(1, Mark(5), now_);
  delivery_.acknowledge_ahead(1, {{ConversationId("C_B"), Seq(1)}});
  port_.pushed.clear();
  port_.texts.clear();
  delivery_.tick(now_ += 10'000);
  EXPECT_EQ(port_.pushed[1], range(6, 21));
  EXPECT_EQ(std::ranges::count(port_.texts[1], "urgent"), 0);
}

TEST_F(DeliveryTest, an_entry_that_was_not_acknowledged_is_pushed_again_whole) {
  attach(1, "B1", 0);
  overtake();
  delivery_.acknowledge(1, Mark(5), now_);
  port_.pushed.clear();
  port_.texts.clear();
  delivery_.tick(now_ += 10'000);
  EXPECT_EQ(std::ranges::count(port_.texts[1], "urgent"), 1);
}

TEST_F(DeliveryTest, low_waits_for_company_until_the_next_tick) {
  attach(1, "B1", 0);
  messages(2, 10, Priority::low);
  EXPECT_TRUE(port_.pushed[1].empty());
  messages(1);
  EXPECT_EQ(port_.pushed[1], range(1, 3)) << "it goes along with what comes";
  messages(1, 10, Priority::low);
  delivery_.tick(now_ += 1'000);
  EXPECT_EQ(port_.pushed[1], range(1, 4)) << "nobody is kept waiting by it";
}

TEST_F(DeliveryTest, a_busy_server_keeps_low_waiting_but_not_for_more_than_five_seconds) {
  attach(1, "B1", 0);
  attach(2, "B2", 0);
  std::int64_t waited = 0;
  messages(1, 10, Priority::low);
  const auto second_device = [&] { return port_.pushed[2].size(); };
  EXPECT_EQ(second_device(), 0u);
  while (second_device() == 0 && waited < 60'000) {
    // To somebody else, so many that the server is busy.
    LoginReply login;
    login.head.mark = Mark(0);
    if (waited == 0) delivery_.attach({3, UserId("D"), DeviceId("D1"), login, Mark(0)}, now_);
    std::vector<Notice> notices;
    for (std::uint64_t i = 0; i < 21'000; ++i) {
      auto entry = std::make_shared<Entry>();
      entry->seq = Seq(others_ + 1);
      entry->sender = UserId("A");
      notices.push_back(
          {ConversationId("A_D"), entry, 1, {{UserId("D"), Mark(others_), Mark(others_ + 1), 0, false, {}}}});
      ++others_;
      if (i % 40 == 39) {
        delivery_.publish(notices, now_);
        delivery_.acknowledge(3, Mark(others_), now_);
        notices.clear();
      }
    }
    delivery_.tick(now_ += 1'000);
    waited += 1'000;
  }
  EXPECT_GE(waited, 3'000);
  EXPECT_LE(waited, 5'000);
}

TEST_F(DeliveryTest, low_without_end_fills_a_push_and_leaves) {
  attach(1, "B1", 0);
  messages(49, 10, Priority::low);
  EXPECT_TRUE(port_.pushed[1].empty());
  messages(1, 10, Priority::low);
  EXPECT_EQ(port_.pushed[1], range(1, 50));
}

TEST_F(DeliveryTest, a_new_link_of_a_device_replaces_the_old_one) {
  attach(1, "B1", 0);
  attach(2, "B2", 0);
  attach(3, "B1", 0);
  EXPECT_EQ(port_.ended.at(1), LinkEnd::replaced);
  messages(1);
  EXPECT_TRUE(port_.pushed[1].empty());
  EXPECT_EQ(port_.pushed[2], range(1, 1));
  EXPECT_EQ(port_.pushed[3], range(1, 1));
  delivery_.detach(1, now_);  // its late end touches nothing
  EXPECT_EQ(delivery_.sessions(), 2u);
}

TEST_F(DeliveryTest, a_sync_answer_arms_although_more_came_meanwhile) {
  attach(1, "B1", 0, Mode::reset);
  EXPECT_EQ(port_.hints[1].size(), 1u);
  messages(2);
  delivery_.pulling(1);
  messages(3);  // while the answer was on its way, which ends at 2
  delivery_.answered(1, Mark(2), true, now_, 0);
  EXPECT_EQ(port_.pushed[1], range(3, 5));
  messages(1);
  EXPECT_EQ(port_.pushed[1].back(), 6u);
}

TEST_F(DeliveryTest, users_without_links_are_forgotten_after_a_while) {
  attach(1, "B1", 0);
  messages(1);
  delivery_.detach(1, now_);
  delivery_.tick(now_ + 59'999);
  EXPECT_EQ(delivery_.users(), 1u);
  delivery_.tick(now_ + 60'000);
  EXPECT_EQ(delivery_.users(), 0u);
}

/// Keeps what frames would be made of.
// ---------------------------------------------------------------------------------------------- large groups

class LargeDelivery : public DeliveryTest {
 protected:
  void come(SessionId session, const std::string& user, std::vector<ConversationId> groups, bool foreground = true) {
    LoginReply login;
    login.mode = Mode::delta;
    login.large_groups = std::move(groups);
    delivery_.attach({session, UserId(user), DeviceId("d"), login, Mark(), foreground}, now_);
  }
  Notice said(const ConversationId& group, std::uint64_t seq, const std::string& by) {
    auto entry = std::make_shared<Entry>();
    entry->seq = Seq(seq);
    entry->sender = UserId(by);
    entry->client_msg_id = "id";
    entry->body.text = "x";
    Notice notice{group, entry, 1, {}};
    notice.large = true;
    return notice;
  }
  void say(const ConversationId& group, std::uint64_t seq, const std::string& by = "z") {
    delivery_.publish({said(group, seq, by)}, now_);
  }
  /// Told of by a change that touches the user's index.
  void leaves(const ConversationId& group, std::uint64_t seq, const std::string& user) {
    Notice notice = said(group, seq, user);
    Receiver leaver{UserId(user), Mark(0), Mark(1), 0, false, {}};
    leaver.large = false;
    notice.receivers = {leaver};
    delivery_.publish({notice}, now_);
  }
  void second() { delivery_.tick(now_ += 1'000); }

  const ConversationId g{"group_1"};
  const ConversationId h{"group_2"};
};
using LargeDeliveryConformance = LargeDelivery;

TEST_F(LargeDeliveryConformance, S94_one_notice_a_second_in_the_foreground_and_bodies_to_who_has_it_open) {
  come(1, "open", {g});
  come(2, "there", {g});
  come(3, "away", {g}, false);
  come(4, "stranger", {h});
  delivery_.focus(1, {g});
  for (std::uint64_t seq = 1; seq <= 1'000; ++seq) say(g, seq);
  EXPECT_EQ(port_.pushed[1].size(), 1'000U);
  EXPECT_TRUE(port_.pushed[2].empty());
  EXPECT_TRUE(port_.heads_told.empty()) << "not before the second is over";
  second();
  EXPECT_EQ(port_.heads_told[2], (std::vector<KnownHead>{{g, Seq(1'000)}}));
  EXPECT_FALSE(port_.heads_told.contains(1)) << "it has them all";
  EXPECT_FALSE(port_.heads_told.contains(3));
  EXPECT_FALSE(port_.heads_told.contains(4));
  second();
  EXPECT_EQ(port_.heads_told[2].size(), 1U) << "nothing new, no notice";
}

TEST_F(LargeDelivery, TheSendersOtherDevicesAreToldAtOnce) {
  come(1, "z", {g});
  say(g, 1);
  EXPECT_EQ(port_.pushed[1], (std::vector<std::uint64_t>{0})) << "an entry without a place in the index";
  second();
  EXPECT_TRUE(port_.ended.empty()) << "it is not waited for an ack of it";
}

TEST_F(LargeDelivery, EntriesOfItAreNotWaitedFor) {
  come(1, "open", {g});
  delivery_.focus(1, {g});
  say(g, 1);
  for (int i = 0; i < 60; ++i) second();
  EXPECT_EQ(port_.pushed[1].size(), 1U);
  EXPECT_TRUE(port_.ended.empty());
}

TEST_F(LargeDelivery, WhoLeavesIsPushedNothingMore) {
  come(1, "b", {g});
  delivery_.focus(1, {g});
  say(g, 1);
  leaves(g, 2, "b");
  say(g, 3);
  EXPECT_EQ(port_.pushed[1], (std::vector<std::uint64_t>{0, 1})) << "his leaving is the last";
  second();
  EXPECT_TRUE(port_.heads_told.empty());
  EXPECT_FALSE(delivery_.in_large_groups(1));
}

TEST_F(LargeDelivery, WhatABlockedSocketMissedIsMadeUpForByANotice) {
  come(1, "open", {g});
  delivery_.focus(1, {g});
  port_.blocked_sessions[1] = true;
  for (std::uint64_t seq = 1; seq <= 60; ++seq) say(g, seq);
  EXPECT_EQ(port_.hints[1].size(), 1U) << "a full queue becomes a hint";
  EXPECT_TRUE(port_.pushed[1].empty());
  port_.blocked_sessions.clear();
  second();
  EXPECT_EQ(port_.heads_told[1], (std::vector<KnownHead>{{g, Seq(60)}}));
}

TEST_F(LargeDelivery, ADeviceThatPullsMissesNothingForGood) {
  come(1, "open", {g});
  delivery_.focus(1, {g});
  delivery_.pulling(1);
  say(g, 1);
  EXPECT_TRUE(port_.pushed[1].empty());
  second();
  EXPECT_EQ(port_.heads_told[1], (std::vector<KnownHead>{{g, Seq(1)}}));
}

TEST_F(LargeDelivery, WhatWasTakenBackIsPushedToNobody) {
  come(1, "open", {g});
  delivery_.focus(1, {g});
  port_.blocked_sessions[1] = true;
  say(g, 1);
  Notice recall = said(g, 2, "z");
  auto dead = std::make_shared<Entry>();
  dead->seq = Seq(1);
  dead->state = MessageState::recalled;
  recall.dead = dead;
  delivery_.publish({recall}, now_);
  port_.blocked_sessions.clear();
  delivery_.unblocked(1, now_);
  ASSERT_EQ(port_.texts[1].size(), 2U);
  EXPECT_EQ(port_.texts[1][0], "");
}

/// What every user here keeps and what waits for every link.
struct KeptTexts {
  explicit KeptTexts(const Delivery& delivery) {
    delivery.each_user([&](const UserId&, const std::list<PushRef>& recent, std::size_t) { add(recent); });
    delivery.each_queue([&](SessionId, const std::vector<PushRef>& pending) { add(pending); });
  }
  template <typename Refs>
  void add(const Refs& refs) {
    for (const PushRef& ref : refs) {
      if (ref.item->entry) texts.push_back(ref.item->entry->body.text);
      if (ref.item->summary) texts.push_back(ref.item->summary->preview.text);
    }
  }
  std::vector<std::string> texts;
};

TEST_F(LargeDelivery, WhatIsKeptForOthersThanItsReceiversIsTakenBackToo) {
  const auto index_change = [](const std::string& user, std::uint64_t to) {
    return Receiver{UserId(user), Mark(to - 1), Mark(to), 0, false, nullptr};
  };
  const auto message = [&](const std::string& user) {
    Notice notice = said(g, 1, "z");
    auto entry = std::make_shared<Entry>(*notice.entry);
    entry->body.text = "secret";
    notice.entry = entry;
    notice.large = user.empty();
    if (!user.empty()) notice.receivers = {index_change(user, 1)};
    return notice;
  };
  auto summary = std::make_shared<Change>();
  summary->preview.seq = Seq(1);
  summary->preview.text = "secret preview";
  summary->member = summary->large = true;
  // Reads on, and his devices are told what the list shows.
  come(1, "reader", {g});
  Notice own{g, nullptr, 2, {index_change("reader", 1)}};
  own.receivers[0].summary = summary;
  delivery_.publish({own}, now_);
  // Was told when it was small.
  come(2, "old member", {});
  Notice grows = said(g, 2, "z");
  grows.receivers = {index_change("old member", 2)};
  grows.receivers[0].large = true;
  delivery_.publish({message("old member"), grows}, now_);
  // Has left since.
  come(3, "leaver", {});
  summary = std::make_shared<Change>(*summary);
  summary->member = summary->large = false;
  Notice leave = said(g, 3, "leaver");
  leave.receivers = {index_change("leaver", 2)};
  leave.receivers[0].summary = summary;
  delivery_.publish({message("leaver"), leave}, now_);
  // Has closed it before his socket took the message; and the sender's own.
  for (const auto& [session, user] : {std::pair{SessionId(4), "was there"}, std::pair{SessionId(5), "z"}}) {
    come(session, user, {g});
    port_.blocked_sessions[session] = true;
  }
  delivery_.focus(4, {g});
  delivery_.publish({message("")}, now_);
  delivery_.focus(4, {});
  EXPECT_EQ(std::ranges::count_if(KeptTexts(delivery_).texts, [](auto& text) { return text.starts_with("secret"); }),
            6);

  Notice recall = said(g, 4, "operator");
  auto dead = std::make_shared<Entry>();
  dead->seq = Seq(1);
  dead->state = MessageState::recalled;
  recall.dead = dead;
  delivery_.publish({recall}, now_);
  for (const std::string& text : KeptTexts(delivery_).texts) EXPECT_FALSE(text.starts_with("secret"));
}

TEST_F(LargeDelivery, ManyWhoAreToldAtOnceAskOverATime) {
  for (SessionId id = 1; id <= 9'000; ++id) come(id, "u" + std::to_string(id), {g});
  say(g, 1);
  second();
  EXPECT_EQ(port_.spread, 2'000) << "4,000 a second";
}

TEST_F(LargeDelivery, WhatBecomesLargeWhileItIsOpenIsPushedFromThenOn) {
  come(1, "b", {});
  delivery_.focus(1, {g});
  say(g, 1);
  EXPECT_TRUE(port_.pushed[1].empty());
  Notice grown = said(g, 2, "a");
  grown.large = false;
  Receiver member{UserId("b"), Mark(0), Mark(1), 0, false, {}};
  member.large = true;
  grown.receivers = {member};
  delivery_.publish({grown}, now_);
  say(g, 3);
  EXPECT_EQ(port_.pushed[1], (std::vector<std::uint64_t>{1, 0}));
}

class TextPort final : public DeliveryPort {
 public:
  void push(SessionId, std::span<const PushRef> items) override {
    for (const PushRef& ref : items) {
      if (ref.shared) texts.push_back(ref.shared->entry->body.text);
      if (ref.item->entry) texts.push_back(ref.item->entry->body.text);
      if (ref.item->summary) texts.push_back(ref.item->summary->preview.text);
    }
  }
  void heads(SessionId, std::span<const KnownHead>, std::int64_t) override {}
  void hint(SessionId, Mark) override {}
  void end(SessionId, LinkEnd) override {}
  bool blocked(SessionId) const override { return is_blocked; }
  std::vector<std::string> texts;
  bool is_blocked = false;
};

class DeliveryOfRecalls : public testing::Test {
 protected:
  void SetUp() override {
    LoginReply login;
    login.mode = Mode::delta;
    for (const SessionId session : {1, 2})
      delivery_.attach({session, UserId("B"), DeviceId("B" + std::to_string(session)), login, Mark()}, 1'000);
  }
  void tell(Entry entry, bool summary = false, std::shared_ptr<const Entry> dead = nullptr) {
    Receiver receiver{UserId("B"), Mark(mark_), Mark(mark_ + 1), 0, false, nullptr};
    ++mark_;
    if (summary) {
      auto change = std::make_shared<Change>();
      change->preview.seq = Seq(1);
      change->preview.text = "secret preview";
      receiver.summary = change;
    }
    delivery_.publish({{ConversationId("A_B"), std::make_shared<const Entry>(std::move(entry)), 1, {receiver}, dead}},
                      1'000);
  }
  void tell_and_recall() {
    Entry message;
    message.seq = Seq(1);
    message.body.text = "secret";
    tell(message, true);
    Entry other;
    other.seq = Seq(2);
    other.body.text = "other";
    tell(other, true);  // its summary may still show the first
    Entry edit;
    edit.seq = Seq(3);
    edit.kind = EntryKind::edit;
    edit.target = Seq(1);
    edit.body.text = "secret edit";
    tell(edit);
    Entry recall;
    recall.seq = Seq(4);
    recall.kind = EntryKind::recall;
    recall.target = Seq(1);
    message.state = MessageState::recalled;
    message.body = Body();
    tell(recall, false, std::make_shared<const Entry>(message));
  }

  TextPort port_;
  Delivery delivery_{port_, {}};
  std::uint64_t mark_ = 0;
};

TEST_F(DeliveryOfRecalls, what_waits_for_a_socket_holds_no_recalled_text) {
  port_.is_blocked = true;
  tell_and_recall();
  port_.is_blocked = false;
  for (const SessionId session : {1, 2}) delivery_.unblocked(session, 2'000);
  EXPECT_EQ(port_.texts, (std::vector<std::string>{"", "", "", "other", "other", "", "", "", "", "",  //
                                                   "", "", "", "other", "other", "", "", "", "", ""}));
}

TEST_F(DeliveryOfRecalls, what_is_pushed_again_holds_no_recalled_text) {
  tell_and_recall();
  port_.texts.clear();
  delivery_.tick(20'000);
  EXPECT_EQ(port_.texts.size(), 20u);
  for (const std::string& text : port_.texts) EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(port_.texts, "other"), 4);
}

}  // namespace
}  // namespace tidemark
