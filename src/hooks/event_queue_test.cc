#include "hooks/event_queue.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace tidemark {
namespace {

using Failure = EventQueue::Failure;
using Fate = EventQueue::Fate;
using Offered = EventQueue::Offered;

WaitingEvent event(std::uint64_t round, const std::string& conversation) {
  WaitingEvent made;
  made.place = {round, 0};
  made.name = {1, made.place};
  made.event.conversation = ConversationId(conversation);
  made.event.seq = Seq(round);
  return made;
}

std::uint64_t round_of(const std::optional<Attempt>& attempt) {
  return attempt ? attempt->event.place.round : 0;
}

TEST(EventQueue, TellsALaneInOrderAndLanesSideBySide) {
  EventQueue queue({});
  queue.offer(event(1, "a"));
  queue.offer(event(2, "a"));
  queue.offer(event(3, "b"));
  const auto first = queue.next(0);
  const auto other = queue.next(0);
  EXPECT_EQ(round_of(first), 1u);
  EXPECT_EQ(round_of(other), 3u);
  EXPECT_FALSE(queue.next(0)) << "2 waits for 1";
  queue.told(first->event);
  EXPECT_EQ(round_of(queue.next(0)), 2u);
}

TEST(EventQueue, WhatFailsKeepsOnlyItsOwnLaneWaitingAndIsTriedAgainLater) {
  EventQueue queue({.retry_ms = 1'000});
  queue.offer(event(1, "a"));
  queue.offer(event(2, "a"));
  queue.offer(event(3, "b"));
  EXPECT_EQ(queue.failed(queue.next(0)->event, Failure::refused, 0, 0), Fate::again);
  const auto other = queue.next(0);
  EXPECT_EQ(round_of(other), 3u);
  queue.told(other->event);
  EXPECT_FALSE(queue.next(999));
  EXPECT_EQ(queue.wakes_at(), 1'000);
  const auto again = queue.next(1'000);
  EXPECT_EQ(round_of(again), 1u);
  EXPECT_EQ(again->number, 2u);
}

TEST(EventQueue, WaitsDoubleUpToTheLongestAndDiceTakeHalfAtMost) {
  EventQueue queue({.tries = 100, .retry_ms = 1'000, .retry_max_ms = 5'000});
  queue.offer(event(1, "a"));
  std::int64_t now = 0;
  for (const std::int64_t wait : {1'000, 2'000, 4'000, 5'000, 5'000}) {
    queue.failed(queue.next(now)->event, Failure::refused, now, 0);
    EXPECT_EQ(queue.wakes_at(), now + wait);
    now += wait;
  }
  queue.failed(queue.next(now)->event, Failure::refused, now, 2'500);
  EXPECT_EQ(queue.wakes_at(), now + 2'500);
}

TEST(EventQueue, GivesUpAfterSoManyTriesAndGoesOnBehind) {
  EventQueue queue({.tries = 2, .retry_ms = 10});
  queue.offer(event(1, "a"));
  queue.offer(event(2, "a"));
  EXPECT_EQ(queue.failed(queue.next(0)->event, Failure::refused, 0, 0), Fate::again);
  EXPECT_EQ(queue.failed(queue.next(10)->event, Failure::refused, 10, 0), Fate::dead);
  const auto behind = queue.next(10);
  EXPECT_EQ(round_of(behind), 2u);
  EXPECT_EQ(behind->number, 1u) << "tries are an event's own";
}

TEST(EventQueue, WhereNobodyAnswersAllWaitAndNoTryIsCounted) {
  EventQueue queue({.tries = 1, .retry_ms = 1'000});
  queue.offer(event(1, "a"));
  queue.offer(event(2, "b"));
  const auto a = queue.next(0);
  const auto b = queue.next(0);
  EXPECT_EQ(queue.failed(a->event, Failure::unreachable, 0, 0), Fate::again);
  EXPECT_EQ(queue.failed(b->event, Failure::unreachable, 0, 0), Fate::again);
  EXPECT_FALSE(queue.reachable());
  EXPECT_FALSE(queue.next(1'999));
  const auto probe = queue.next(2'000);
  ASSERT_TRUE(probe);
  EXPECT_FALSE(queue.next(2'000)) << "one tries whether somebody is there again";
  queue.told(probe->event);
  EXPECT_TRUE(queue.reachable());
  const auto rest = queue.next(2'000);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->number, 1u);
}

TEST(EventQueue, WhatWasHeldBackGoesAtOnceAndAsTheSameTry) {
  EventQueue queue({});
  queue.offer(event(1, "a"));
  queue.returned(queue.next(0)->event);
  const auto again = queue.next(0);
  EXPECT_EQ(round_of(again), 1u);
  EXPECT_EQ(again->number, 1u);
}

TEST(EventQueue, ALaneBeyondItsShareIsLeftInTheOutboxAndTakenUpFromThere) {
  EventQueue queue({.window = 10, .lane_max = 2});
  EXPECT_EQ(queue.offer(event(1, "a")), Offered::taken);
  EXPECT_EQ(queue.offer(event(2, "a")), Offered::taken);
  EXPECT_EQ(queue.offer(event(3, "a")), Offered::left);
  EXPECT_EQ(queue.offer(event(4, "b")), Offered::taken);
  EXPECT_EQ(queue.offer(event(5, "a")), Offered::left);
  EXPECT_FALSE(queue.refill()) << "it still has some to tell";
  for (const std::uint64_t round : {1, 4, 2}) {
    const auto attempt = queue.next(0);
    ASSERT_EQ(round_of(attempt), round);
    queue.told(attempt->event);
  }
  const auto refill = queue.refill();
  ASSERT_TRUE(refill);
  EXPECT_EQ(refill->from, (EventPlace{3, 0}));
  EXPECT_TRUE(queue.offer_more(refill->lane, event(3, "a")));
  EXPECT_TRUE(queue.offer_more(refill->lane, event(5, "a")));
  EXPECT_FALSE(queue.offer_more(refill->lane, event(6, "a")));
  EXPECT_EQ(queue.offer(event(7, "a")), Offered::left) << "6 goes first";
  queue.told(queue.next(0)->event);
  queue.told(queue.next(0)->event);
  EXPECT_EQ(queue.refill()->from, (EventPlace{6, 0}));
  EXPECT_TRUE(queue.offer_more(refill->lane, event(6, "a")));
  queue.refilled(refill->lane);
  queue.told(queue.next(0)->event);
  EXPECT_EQ(queue.held(), 0u);
}

TEST(EventQueue, AFullWindowTakesNoMore) {
  EventQueue queue({.window = 2});
  queue.offer(event(1, "a"));
  queue.offer(event(2, "b"));
  EXPECT_EQ(queue.offer(event(3, "c")), Offered::full);
  queue.told(queue.next(0)->event);
  EXPECT_EQ(queue.offer(event(3, "c")), Offered::taken);
}

/// Whatever fails, and however small the window: each event is told once or given up, and each lane in order.
RC_GTEST_PROP(EventQueue, EachLaneIsToldInOrderAndNothingIsForgotten, ()) {
  const auto lanes = *rc::gen::inRange(1, 4);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 40);
  EventQueue queue({.window = static_cast<std::size_t>(*rc::gen::inRange(1, 8)),
                    .lane_max = static_cast<std::size_t>(*rc::gen::inRange(1, 4)),
                    .tries = 3,
                    .retry_ms = 10,
                    .retry_max_ms = 20});
  std::vector<WaitingEvent> outbox;
  for (std::uint64_t round = 1; round <= count; ++round)
    outbox.push_back(event(round, std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, lanes)))));
  std::size_t offered = 0;
  std::map<std::string, std::vector<std::uint64_t>> done;
  std::int64_t now = 0;
  for (int step = 0; done.empty() || queue.held() > 0 || offered < outbox.size() || queue.refill(); ++step) {
    RC_ASSERT(step < 10'000);
    while (offered < outbox.size() && queue.offer(outbox[offered]) != Offered::full) ++offered;
    while (const auto refill = queue.refill()) {
      bool all = true;
      for (std::size_t i = 0; i < offered && all; ++i)
        if (outbox[i].place >= refill->from && lane_of(outbox[i].event) == refill->lane)
          all = queue.offer_more(refill->lane, outbox[i]);
      if (all) queue.refilled(refill->lane);
    }
    const auto attempt = queue.next(now);
    if (!attempt) {
      now += 7;
      continue;
    }
    const int fate = *rc::gen::inRange(0, 4);
    const auto settle = [&] { done[lane_of(attempt->event.event)].push_back(attempt->event.place.round); };
    if (fate == 1) {
      if (queue.failed(attempt->event, Failure::refused, now, 0) == Fate::dead) settle();
    } else if (fate == 2) {
      queue.failed(attempt->event, Failure::unreachable, now, 0);
    } else if (fate == 3) {
      queue.returned(attempt->event);
    } else {
      queue.told(attempt->event);
      settle();
    }
  }
  std::size_t all = 0;
  for (const auto& [lane, rounds] : done) {
    RC_ASSERT(std::is_sorted(rounds.begin(), rounds.end()));
    all += rounds.size();
  }
  RC_ASSERT(all == outbox.size());
}

}  // namespace
}  // namespace tidemark
