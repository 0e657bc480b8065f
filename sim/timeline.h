// Virtual time: what is to happen and when. Of events at the same millisecond chance takes the first, so that every
// order that a real machine could show is met.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/ports.h"
#include "sim/dice.h"

namespace tidemark::sim {

class Timeline {
 public:
  explicit Timeline(Dice& dice) : dice_(dice) {}

  std::int64_t now_ms() const { return now_ms_; }
  /// Runs `act` in `delay_ms`, from 0 on. Events at one moment come in any order.
  void after(std::int64_t delay_ms, std::function<void()> act);
  /// Takes the next event that is due by `until_ms`; false when there is none, and then it is `until_ms`.
  bool step(std::int64_t until_ms);
  std::uint64_t steps() const { return steps_; }

 private:
  struct Event {
    std::int64_t at_ms;
    std::uint64_t order;  // by chance
    std::uint64_t number;
    std::function<void()> act;
    bool operator<(const Event& other) const {
      if (at_ms != other.at_ms) return at_ms > other.at_ms;
      return order != other.order ? order > other.order : number > other.number;
    }
  };
  Dice& dice_;
  std::int64_t now_ms_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t scheduled_ = 0;
  std::priority_queue<Event> events_;
};

/// A machine's clocks: the steady one is virtual time, the wall clock may be wrong and jump.
class SimClock final : public Clock {
 public:
  explicit SimClock(const Timeline& timeline) : timeline_(timeline) {}
  std::int64_t wall_ms() const override { return kBeginMs + timeline_.now_ms() + offset_ms_; }
  std::int64_t steady_ms() const override { return kSteadyBeginMs + timeline_.now_ms(); }
  void jump(std::int64_t by_ms) { offset_ms_ += by_ms; }
  void set_right() { offset_ms_ = 0; }

 private:
  static constexpr std::int64_t kBeginMs = 1'790'000'000'000;
  static constexpr std::int64_t kSteadyBeginMs = 1'000'000;
  const Timeline& timeline_;
  std::int64_t offset_ms_ = 0;
};

}  // namespace tidemark::sim
