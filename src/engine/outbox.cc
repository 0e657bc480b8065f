#include "engine/outbox.h"

#include <algorithm>
#include <utility>

#include "store/keys.h"

namespace tidemark {
namespace {

constexpr EventPlace kEnd{~std::uint64_t{0}, ~std::uint32_t{0}};

Result<std::uint64_t> count_between(const Snapshot& snapshot, const std::string& from, const std::string& to) {
  std::uint64_t count = 0;
  TM_TRY(snapshot.scan(Table::events, from, to, [&](std::string_view, std::string_view) {
    ++count;
    return true;
  }));
  return count;
}

}  // namespace

Result<void> read_dead_events(const Snapshot& snapshot, EventPlace from,
                              const std::function<bool(const DeadEvent&)>& visit) {
  Result<void> read;
  TM_TRY(snapshot.scan(Table::events, keys::dead_event(from), keys::dead_event(kEnd),
                       [&](std::string_view key, std::string_view value) {
                         const auto dead = decode_dead_event(value, keys::place_in(key));
                         if (dead) return visit(*dead);
                         read = std::unexpected(dead.error());
                         return false;
                       }));
  return read;
}

Result<void> read_waiting_events(const Snapshot& snapshot, EventPlace from,
                                 const std::function<bool(WaitingEvent)>& visit) {
  Result<void> read;
  TM_TRY(snapshot.scan(Table::events, keys::waiting_event(from), keys::waiting_event(kEnd),
                       [&](std::string_view key, std::string_view value) {
                         auto waiting = decode_waiting_event(value, keys::place_in(key));
                         if (waiting) return visit(std::move(*waiting));
                         read = std::unexpected(waiting.error());
                         return false;
                       }));
  return read;
}

Result<void> read_notifying_messages(const Snapshot& snapshot,
                                     const std::function<void(const NotifyingMessage&)>& visit) {
  Result<void> read;
  TM_TRY(snapshot.scan(Table::events, keys::notifying_message({}), keys::notifying_message(kEnd),
                       [&](std::string_view, std::string_view value) {
                         const auto message = decode_notifying_message(value);
                         if (!message) read = std::unexpected(message.error());
                         if (message) visit(*message);
                         return read.has_value();
                       }));
  return read;
}

Result<NotifiedUser> read_notified_user(const Snapshot& snapshot, const UserId& user) {
  TM_ASSIGN(const auto stored, snapshot.get(Table::events, keys::notified_user(user)));
  if (!stored) return NotifiedUser{};
  return decode_notified_user(*stored);
}

Result<void> read_notified_users(const Snapshot& snapshot,
                                 const std::function<void(const UserId&, const NotifiedUser&)>& visit) {
  Result<void> read;
  TM_TRY(snapshot.scan(Table::events, keys::notified_user(UserId()), keys::after_notified_users(),
                       [&](std::string_view key, std::string_view value) {
                         const auto notified = decode_notified_user(value);
                         if (notified) visit(keys::user_in_notified(key), *notified);
                         if (!notified) read = std::unexpected(notified.error());
                         return notified.has_value();
                       }));
  return read;
}

Result<void> Outbox::count(const Snapshot& snapshot) {
  TM_ASSIGN(const std::uint64_t waiting, count_between(snapshot, keys::waiting_event({}), keys::waiting_event(kEnd)));
  TM_ASSIGN(const std::uint64_t dead, count_between(snapshot, keys::dead_event({}), keys::dead_event(kEnd)));
  TM_ASSIGN(const auto lost, snapshot.get(Table::events, keys::lost_events()));
  lost_ = {};
  if (lost) {
    TM_ASSIGN(lost_, decode_lost_events(*lost));
  }
  waiting_ = waiting;
  dead_ = dead;
  return {};
}

void Outbox::add(View& view, const Command& command, const Decision& decision, std::int64_t now_ms) {
  if (!options_) return;
  if (options_->notifications && !std::holds_alternative<ImportCommand>(command)) note_messages(decision);
  if (!options_->events) return;
  for (Event& event : events_of(view, command, decision, options_->choice, now_ms)) made_.push_back(std::move(event));
}

void Outbox::note_messages(const Decision& decision) {
  for (const auto& [conversation, entry] : decision.writes.entries)
    if (entry->countable()) notifying_[conversation] = {entry->server_time, conversation, entry->seq};
}

void Outbox::put_notifying(Round& round, std::int64_t now_ms) {
  std::uint32_t index = 0;
  for (const auto& [conversation, message] : notifying_)
    round.batch.put(Table::events, keys::notifying_message({round.number, index++}), encode(message));
  // All of a while go together.
  constexpr std::int64_t kApartMs = 10 * kSecondMs;
  if (notifying_rounds_.empty() || now_ms - notifying_rounds_.back().first >= kApartMs)
    notifying_rounds_.emplace_back(now_ms, round.number);
  if (now_ms - notifying_rounds_.front().first < kNotifyingMs + kApartMs) return;
  round.batch.erase_range(Table::events, keys::notifying_message({}),
                          keys::notifying_message({notifying_rounds_.front().second + 1, 0}));
  notifying_rounds_.pop_front();
}

void Outbox::put_waiting(Round& round, const Event& event, std::optional<EventName> name) {
  WaitingEvent waiting;
  waiting.place = {round.number, round.next_index++};
  waiting.name = name.value_or(EventName{round.epoch, waiting.place});
  waiting.event = event;
  round.batch.put(Table::events, keys::waiting_event(waiting.place), encode(waiting));
  ++waiting_change_;
}

/// There is room again: what was not kept is told of in front of what comes now.
void Outbox::put_lost(Round& round) {
  put_waiting(round, {.kind = EventKind::events_lost, .at = lost_in_round_.since, .lost = lost_in_round_.count},
              std::nullopt);
  lost_in_round_ = {};
  round.batch.erase(Table::events, keys::lost_events());
}

Result<void> Outbox::write(const Snapshot& snapshot, std::uint32_t epoch, std::uint64_t round_number,
                           std::int64_t now_ms, Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(to_settle_, std::back_inserter(settling_));
    to_settle_.clear();
  }
  if (made_.empty() && settling_.empty() && notifying_.empty()) return {};
  waiting_change_ = 0;
  dead_change_ = 0;
  lost_now_ = 0;
  lost_in_round_ = lost_;
  Round round{batch, epoch, round_number};
  if (!notifying_.empty()) put_notifying(round, now_ms);
  for (Settling& settling : settling_) TM_TRY(settle_in(round, snapshot, settling));
  const auto most = static_cast<std::int64_t>(options_ ? options_->waiting_max : 0);
  const auto waits = [&] { return static_cast<std::int64_t>(waiting_.load()) + waiting_change_; };
  // Not for every place that becomes free: one event tells of many.
  if (lost_in_round_.count > 0 && waits() <= most - most / 10 - 1) put_lost(round);
  for (const Event& event : made_) {
    if (lost_in_round_.count == 0 && waits() < most) {
      put_waiting(round, event, std::nullopt);
      continue;
    }
    // Whatever comes behind a loss is lost as well, until the loss itself is told of.
    if (lost_in_round_.count++ == 0) lost_in_round_.since = event.at;
    ++lost_now_;
  }
  if (lost_now_ > 0) batch.put(Table::events, keys::lost_events(), encode(lost_in_round_));
  return {};
}

Result<void> Outbox::settle_in(Round& round, const Snapshot& snapshot, Settling& settling) {
  // What a round of unknown outcome has settled already is not there any more.
  const auto settle_one = [&](EventPlace place) -> Result<bool> {
    TM_ASSIGN(const auto waits, snapshot.get(Table::events, keys::waiting_event(place)));
    if (!waits) return false;
    round.batch.erase(Table::events, keys::waiting_event(place));
    --waiting_change_;
    return true;
  };
  for (const EventPlace& place : settling.settlement.told) TM_TRY(settle_one(place));
  for (const DeadEvent& dead : settling.settlement.dead) {
    TM_ASSIGN(const bool waited, settle_one(dead.waiting.place));
    if (!waited) continue;
    round.batch.put(Table::events, keys::dead_event(dead.waiting.place), encode(dead));
    ++dead_change_;
  }
  for (const auto& [user, notified] : settling.settlement.notified)
    round.batch.put(Table::events, keys::notified_user(user), encode(notified));
  if (!settling.settlement.dead.empty()) TM_TRY(forget_oldest_dead(round, snapshot));
  settling.replayed = 0;
  if (settling.settlement.replay_all || !settling.settlement.replayed.empty()) return replay(round, snapshot, settling);
  return {};
}

Result<void> Outbox::replay(Round& round, const Snapshot& snapshot, Settling& settling) {
  const std::vector<EventName>& asked = settling.settlement.replayed;
  return read_dead_events(snapshot, {}, [&](const DeadEvent& dead) {
    const bool meant = settling.settlement.replay_all || std::ranges::find(asked, dead.waiting.name) != asked.end();
    if (!meant) return true;
    put_waiting(round, dead.waiting.event, dead.waiting.name);
    round.batch.erase(Table::events, keys::dead_event(dead.waiting.place));
    --dead_change_;
    ++settling.replayed;
    return true;
  });
}

Result<void> Outbox::forget_oldest_dead(Round& round, const Snapshot& snapshot) {
  if (!options_) return {};
  auto over = static_cast<std::int64_t>(dead_.load()) + dead_change_ - static_cast<std::int64_t>(options_->dead_max);
  if (over <= 0) return {};
  return read_dead_events(snapshot, {}, [&](const DeadEvent& oldest) {
    round.batch.erase(Table::events, keys::dead_event(oldest.waiting.place));
    --dead_change_;
    return --over > 0;
  });
}

bool Outbox::committed() {
  notifying_.clear();
  if (made_.empty() && settling_.empty()) return false;
  const bool tells_of_loss = lost_.count > 0 && lost_in_round_.count == 0;
  const bool grown = waiting_change_ > 0 || !made_.empty() || tells_of_loss;
  waiting_ += static_cast<std::uint64_t>(waiting_change_);
  dead_ += static_cast<std::uint64_t>(dead_change_);
  lost_total_ += lost_now_;
  lost_ = lost_in_round_;
  made_.clear();
  bool replayed = false;
  for (Settling& each : std::exchange(settling_, {})) {
    replayed = replayed || each.replayed > 0;
    if (each.settled) each.settled(each.replayed);
  }
  return grown || replayed;
}

void Outbox::dropped() {
  made_.clear();
  notifying_.clear();
  std::vector<Settling> again;
  for (Settling& each : std::exchange(settling_, {}))
    if (each.settled)
      each.settled(fail(ErrorCode::RETRY_LATER, "", "Nothing can be stored at the moment.", 1'000));
    else
      again.push_back(std::move(each));
  const std::lock_guard lock(mutex_);
  std::ranges::move(to_settle_, std::back_inserter(again));
  to_settle_ = std::move(again);
}

void Outbox::settle(Settlement settlement, Settled settled) {
  const std::lock_guard lock(mutex_);
  to_settle_.push_back({std::move(settlement), std::move(settled)});
}

bool Outbox::to_settle() const {
  const std::lock_guard lock(mutex_);
  return !to_settle_.empty();
}

}  // namespace tidemark
