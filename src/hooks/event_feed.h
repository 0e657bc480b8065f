// Reads what waits in the outbox into the queue of what is told next, as far as that has room.
#pragma once

#include "engine/outbox.h"
#include "hooks/event_queue.h"

namespace tidemark {

class EventFeed {
 public:
  explicit EventFeed(EventQueue& queue) : queue_(queue) {}

  /// There is something new in the outbox.
  void wake() { more_ = true; }
  /// Something of it may be read, and has room.
  bool wanted() const { return has_more() || queue_.refill(); }
  bool has_more() const { return more_ && !queue_.full(); }
  /// When it fails, what was read counts, and the rest is still wanted.
  Result<void> read(const Snapshot& snapshot);

 private:
  Result<void> take_more(const Snapshot& snapshot);
  Result<void> refill(const Snapshot& snapshot, const EventQueue::Refill& refill);

  EventQueue& queue_;
  EventPlace read_from_;  // the outbox is read up to here
  bool more_ = true;      // there may be something behind it
};

}  // namespace tidemark
