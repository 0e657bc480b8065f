#include "hooks/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark {

EventQueue::Offered EventQueue::offer(WaitingEvent event) {
  if (full()) return Offered::full;
  Lane& lane = lanes_[lane_of(event.event)];
  if (lane.left_from || lane.events.size() >= options_.lane_max) {
    if (!lane.left_from) lane.left_from = event.place;
    return Offered::left;
  }
  TM_CHECK(lane.events.empty() || lane.events.back().place < event.place, "events are offered in their order");
  lane.events.push_back(std::move(event));
  ++held_;
  return Offered::taken;
}

std::optional<EventQueue::Refill> EventQueue::refill() const {
  if (full()) return std::nullopt;
  for (const auto& [name, lane] : lanes_)
    if (lane.left_from && lane.events.empty()) return Refill{name, *lane.left_from};
  return std::nullopt;
}

bool EventQueue::offer_more(const std::string& name, WaitingEvent event) {
  Lane& lane = lanes_.at(name);
  if (full() || lane.events.size() >= options_.lane_max) {
    lane.left_from = event.place;
    return false;
  }
  lane.events.push_back(std::move(event));
  ++held_;
  return true;
}

void EventQueue::refilled(const std::string& name) {
  const auto found = lanes_.find(name);
  found->second.left_from.reset();
  if (found->second.events.empty()) lanes_.erase(found);
}

std::optional<Attempt> EventQueue::next(std::int64_t now_ms) {
  if (now_ms < paused_until_ms_) return std::nullopt;
  // One tries whether somebody answers again.
  if (!reachable() && on_the_way_ > 0) return std::nullopt;
  const auto ready = [now_ms](const auto& each) {
    const Lane& lane = each.second;
    return !lane.on_the_way && !lane.events.empty() && lane.not_before_ms <= now_ms;
  };
  auto found = std::find_if(lanes_.upper_bound(turn_), lanes_.end(), ready);
  if (found == lanes_.end()) found = std::find_if(lanes_.begin(), lanes_.end(), ready);
  if (found == lanes_.end()) return std::nullopt;
  turn_ = found->first;
  found->second.on_the_way = true;
  ++on_the_way_;
  return Attempt{found->second.events.front(), found->second.tries + 1};
}

std::optional<std::int64_t> EventQueue::wakes_at() const {
  std::optional<std::int64_t> earliest;
  if (!reachable() && on_the_way_ > 0) return earliest;
  for (const auto& [name, lane] : lanes_)
    if (!lane.on_the_way && !lane.events.empty() && (!earliest || lane.not_before_ms < *earliest))
      earliest = lane.not_before_ms;
  if (earliest) earliest = std::max(*earliest, paused_until_ms_);
  return earliest;
}

EventQueue::Lane& EventQueue::lane_on_the_way(const WaitingEvent& event) {
  Lane& lane = lanes_.at(lane_of(event.event));
  TM_CHECK(lane.on_the_way && lane.events.front().place == event.place, "an answer is to the event on the way");
  lane.on_the_way = false;
  --on_the_way_;
  return lane;
}

void EventQueue::drop_first(const std::string& name, Lane& lane) {
  lane.events.pop_front();
  --held_;
  lane.tries = 0;
  lane.not_before_ms = 0;
  if (lane.events.empty() && !lane.left_from) lanes_.erase(name);
}

void EventQueue::told(const WaitingEvent& event) {
  Lane& lane = lane_on_the_way(event);
  unreachable_times_ = 0;
  drop_first(lane_of(event.event), lane);
}

std::int64_t EventQueue::wait_ms(std::uint32_t failures, std::uint64_t dice) const {
  std::int64_t wait = options_.retry_ms;
  for (std::uint32_t i = 1; i < failures && wait < options_.retry_max_ms; ++i) wait *= 2;
  wait = std::min(wait, options_.retry_max_ms);
  // Between half of it and all: those who failed together do not come back together.
  return wait - static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(wait / 2 + 1));
}

EventQueue::Fate EventQueue::failed(const WaitingEvent& event, Failure failure, std::int64_t now_ms,
                                    std::uint64_t dice) {
  Lane& lane = lane_on_the_way(event);
  if (failure == Failure::unreachable) {
    paused_until_ms_ = std::max(paused_until_ms_, now_ms + wait_ms(++unreachable_times_, dice));
    return Fate::again;
  }
  unreachable_times_ = 0;
  if (++lane.tries >= options_.tries) {
    drop_first(lane_of(event.event), lane);
    return Fate::dead;
  }
  lane.not_before_ms = now_ms + wait_ms(lane.tries, dice);
  return Fate::again;
}

void EventQueue::returned(const WaitingEvent& event) {
  lane_on_the_way(event);
}

}  // namespace tidemark
