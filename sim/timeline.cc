#include "sim/timeline.h"

#include <utility>

namespace tidemark::sim {

void Timeline::after(std::int64_t delay_ms, std::function<void()> act) {
  events_.push({now_ms_ + delay_ms, dice_.next(), ++scheduled_, std::move(act)});
}

bool Timeline::step(std::int64_t until_ms) {
  if (events_.empty() || events_.top().at_ms > until_ms) {
    now_ms_ = until_ms;
    return false;
  }
  const Event event = events_.top();
  events_.pop();
  now_ms_ = event.at_ms;
  ++steps_;
  event.act();
  return true;
}

}  // namespace tidemark::sim
