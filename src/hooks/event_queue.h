// Which event is told next: in order within a lane, lanes side by side, again after a while when it failed, given up
// after so many tries. A machine without I/O, clock or dice. Holds a bounded window of what waits in the outbox: a lane
// that has more than its share leaves the rest there, and so keeps nobody else from being told of.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/event.h"

namespace tidemark {

struct EventQueueOptions {
  std::size_t window = 4'096;  // events held in all
  std::size_t lane_max = 64;   // of one lane
  std::uint32_t tries = 20;
  std::int64_t retry_ms = 1'000;  // the wait after the first failure; each next one is twice as long
  std::int64_t retry_max_ms = 300'000;
};

/// An event on its way, for the `number`th time.
struct Attempt {
  WaitingEvent event;
  std::uint32_t number = 1;
};

class EventQueue {
 public:
  explicit EventQueue(EventQueueOptions options) : options_(options) {}

  enum class Offered : std::uint8_t { taken, left, full };
  /// The next event of the outbox, in its order. `left`: its lane is full, see refill(); `full`: offer it again later.
  Offered offer(WaitingEvent event);
  bool full() const { return held_ >= options_.window; }

  /// A lane that has told what it held, and where its next event lies: visit the outbox from there, offering this
  /// lane's events with offer_more() until it takes no more or the end that offer() has reached.
  struct Refill {
    std::string lane;
    EventPlace from;  // inclusive
  };
  std::optional<Refill> refill() const;
  /// False: it is not taken, and the lane goes on from it later.
  bool offer_more(const std::string& lane, WaitingEvent event);
  /// The end was reached: nothing more of the lane is left behind.
  void refilled(const std::string& lane);

  /// What is to be told now; of each lane one at a time.
  std::optional<Attempt> next(std::int64_t now_ms);
  /// When there may be something to tell, if nothing else happens; nothing: not before an offer or an answer.
  std::optional<std::int64_t> wakes_at() const;

  void told(const WaitingEvent& event);
  /// Whose fault it was: an event that is refused waits alone; where nobody answers all wait, and no try is counted.
  enum class Failure : std::uint8_t { refused, unreachable };
  enum class Fate : std::uint8_t { again, dead };
  /// `dice` is any number.
  Fate failed(const WaitingEvent& event, Failure failure, std::int64_t now_ms, std::uint64_t dice);
  /// It was not sent after all, through nobody's fault.
  void returned(const WaitingEvent& event);

  std::size_t held() const { return held_; }
  bool reachable() const { return unreachable_times_ == 0; }

 private:
  struct Lane {
    std::deque<WaitingEvent> events;
    std::uint32_t tries = 0;  // of the first
    std::int64_t not_before_ms = 0;
    bool on_the_way = false;
    std::optional<EventPlace> left_from;  // from here on its events were left in the outbox
  };
  std::int64_t wait_ms(std::uint32_t failures, std::uint64_t dice) const;
  Lane& lane_on_the_way(const WaitingEvent& event);
  void drop_first(const std::string& name, Lane& lane);

  const EventQueueOptions options_;
  std::map<std::string, Lane> lanes_;
  std::string turn_;  // the lane that was told last: the next one is behind it, so that none waits for ever
  std::size_t held_ = 0;
  std::size_t on_the_way_ = 0;
  std::uint32_t unreachable_times_ = 0;
  std::int64_t paused_until_ms_ = 0;
};

}  // namespace tidemark
