// The outbox: what the application is yet to be told of (core/event.h). Events are written in the batch of the round
// that makes them, so that nothing acknowledged is ever untold; whoever tells them settles them in a later round.
// Bounded: beyond `waiting_max` events are counted and not kept, and one event tells how many were lost.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/event.h"
#include "core/params.h"
#include "store/event_codec.h"
#include "store/warm.h"

namespace tidemark {

struct OutboxOptions {
  EventChoice choice;
  bool events = true;
  bool notifications = false;  // also keeps, for a while, of which messages receivers may have to be notified
  std::size_t waiting_max = 1'000'000;
  std::size_t dead_max = 10'000;  // beyond it the oldest are forgotten
};

/// What has become of events.
struct Settlement {
  std::vector<EventPlace> told = {};
  std::vector<DeadEvent> dead = {};
  std::vector<EventName> replayed = {};  // dead ones that wait again, at the end
  bool replay_all = false;
  std::vector<std::pair<UserId, NotifiedUser>> notified = {};
  bool empty() const { return told.empty() && dead.empty() && replayed.empty() && !replay_all && notified.empty(); }
};

class Outbox {
 public:
  struct Status {
    std::uint64_t waiting = 0;
    std::uint64_t dead = 0;
    std::uint64_t lost = 0;  // since the start
  };
  /// Told once the settlement is durable: how many dead events wait again. Whoever wants no answer is tried again until
  /// it is; whoever does is refused when the round fails.
  using Settled = std::move_only_function<void(Result<std::uint64_t> replayed)>;

  /// Nothing: no events are made.
  explicit Outbox(std::optional<OutboxOptions> options) : options_(std::move(options)) {}

  bool makes_events() const { return options_.has_value(); }
  /// Counts what is there: at the start, and after a round of which nobody knows whether it was written.
  Result<void> count(const Snapshot& snapshot);

  // The lane's.
  void add(View& view, const Command& command, const Decision& decision, std::int64_t now_ms);
  /// Adds this round's events and settlements to its batch. `snapshot` is as it was before.
  Result<void> write(const Snapshot& snapshot, std::uint32_t epoch, std::uint64_t round, std::int64_t now_ms,
                     Batch& batch);
  /// Returns whether there is something new to tell.
  bool committed();
  /// The round comes to nothing.
  void dropped();

  /// Any thread.
  void settle(Settlement settlement, Settled settled = nullptr);
  bool to_settle() const;
  /// Whether some more events would be kept; what can wait for that waits.
  bool has_room() const { return !options_ || 2 * waiting_.load() < options_->waiting_max; }
  Status status() const { return {waiting_, dead_, lost_total_}; }

 private:
  struct Settling {
    Settlement settlement;
    Settled settled;
    std::uint64_t replayed = 0;
  };
  struct Round {
    Batch& batch;
    std::uint32_t epoch = 1;
    std::uint64_t number = 0;
    std::uint32_t next_index = 0;
  };
  void note_messages(const Decision& decision);
  void put_notifying(Round& round, std::int64_t now_ms);
  void put_waiting(Round& round, const Event& event, std::optional<EventName> name);
  void put_lost(Round& round);
  Result<void> settle_in(Round& round, const Snapshot& snapshot, Settling& settling);
  Result<void> replay(Round& round, const Snapshot& snapshot, Settling& settling);
  Result<void> forget_oldest_dead(Round& round, const Snapshot& snapshot);

  const std::optional<OutboxOptions> options_;
  std::vector<Event> made_;                                              // by the round being decided
  std::map<ConversationId, NotifyingMessage> notifying_;                 // of that round, the last of each conversation
  std::deque<std::pair<std::int64_t, std::uint64_t>> notifying_rounds_;  // some of them, by time
  std::vector<Settling> settling_;                                       // in the round being written
  std::int64_t waiting_change_ = 0;
  std::int64_t dead_change_ = 0;
  LostEvents lost_;  // as stored
  LostEvents lost_in_round_;
  std::uint64_t lost_now_ = 0;

  std::atomic<std::uint64_t> waiting_ = 0;
  std::atomic<std::uint64_t> dead_ = 0;
  std::atomic<std::uint64_t> lost_total_ = 0;
  mutable std::mutex mutex_;
  std::vector<Settling> to_settle_;  // guarded by mutex_
};

/// How long a message can lead to a notification, though the server stops meanwhile.
inline constexpr std::int64_t kNotifyingMs = 10 * kMinuteMs;
/// Visits the messages that may notify, the oldest first.
Result<void> read_notifying_messages(const Snapshot& snapshot,
                                     const std::function<void(const NotifyingMessage&)>& visit);
/// What the user was notified of.
Result<NotifiedUser> read_notified_user(const Snapshot& snapshot, const UserId& user);
/// Visits all users who were notified, in the order of the keys.
Result<void> read_notified_users(const Snapshot& snapshot,
                                 const std::function<void(const UserId&, const NotifiedUser&)>& visit);

/// Visits dead events from `from` on, the oldest first, until `visit` returns false.
Result<void> read_dead_events(const Snapshot& snapshot, EventPlace from,
                              const std::function<bool(const DeadEvent&)>& visit);
/// The same of those that wait.
Result<void> read_waiting_events(const Snapshot& snapshot, EventPlace from,
                                 const std::function<bool(WaitingEvent)>& visit);

}  // namespace tidemark
