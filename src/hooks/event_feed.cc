#include "hooks/event_feed.h"

#include <utility>

#include "core/planted.h"

namespace tidemark {

Result<void> EventFeed::read(const Snapshot& snapshot) {
  for (auto lane = queue_.refill(); lane; lane = queue_.refill()) TM_TRY(refill(snapshot, *lane));
  return more_ ? take_more(snapshot) : Result<void>();
}

Result<void> EventFeed::take_more(const Snapshot& snapshot) {
  bool full = false;
  TM_TRY(read_waiting_events(snapshot, read_from_, [&](WaitingEvent event) {
    const EventPlace next = behind(event.place);
    full = queue_.offer(std::move(event)) == EventQueue::Offered::full;
    if (!full) read_from_ = next;
    return !full;
  }));
  more_ = full;
  return {};
}

Result<void> EventFeed::refill(const Snapshot& snapshot, const EventQueue::Refill& refill) {
  bool taken = true;
  TM_TRY(read_waiting_events(snapshot, refill.from, [&](WaitingEvent event) {
    if (event.place >= read_from_) return false;
    if (lane_of(event.event) == refill.lane) taken = queue_.offer_more(refill.lane, std::move(event));
    return taken;
  }));
  if (taken || planted(Fault::lane_left_behind)) queue_.refilled(refill.lane);
  return {};
}

}  // namespace tidemark
