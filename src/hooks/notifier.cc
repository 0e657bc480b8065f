#include "hooks/notifier.h"

#include <algorithm>

namespace tidemark {

Notifier::User* Notifier::user_of(const UserId& user) {
  if (const auto found = users_.find(user); found != users_.end()) return &found->second;
  if (users_.size() >= options_.users_max) {
    ++dropped_;
    return nullptr;
  }
  return &users_[user];
}

std::int64_t Notifier::wait_ms(bool online, Priority priority) const {
  if (online) return options_.after_ms;
  if (priority == Priority::high) return 0;
  return priority == Priority::low ? options_.low_ms : options_.offline_ms;
}

void Notifier::message(const UserId& user, Mark mark, bool online, std::int64_t now_ms, Priority priority) {
  User* waiting = user_of(user);
  if (waiting == nullptr) return;
  waiting->newest = std::max(waiting->newest, mark);
  waiting->newest_ms = now_ms + wait_ms(online, priority);
  if (waiting->message_ms == 0) {
    waiting->oldest = mark;
    waiting->message_ms = waiting->newest_ms;
  }
  // Whoever has gone meanwhile need not be waited for.
  waiting->message_ms = std::min(waiting->message_ms, waiting->newest_ms);
}

void Notifier::changed(const UserId& user, std::int64_t now_ms) {
  User* waiting = user_of(user);
  if (waiting != nullptr && waiting->changed_ms == 0) waiting->changed_ms = now_ms + options_.offline_ms;
}

bool Notifier::message_due(User& user, Mark acknowledged, std::int64_t now_ms) {
  if (user.message_ms == 0 || user.message_ms > now_ms) return false;
  if (acknowledged >= user.newest) {
    user.message_ms = 0;
    user.oldest = user.newest = Mark();
    return false;
  }
  if (acknowledged < user.oldest) return true;
  // What waited longest has arrived; the rest has its own time.
  user.oldest = user.newest;
  user.message_ms = user.newest_ms;
  return user.message_ms <= now_ms;
}

std::vector<Notifier::Turn> Notifier::due(std::int64_t now_ms, const std::function<Mark(const UserId&)>& acknowledged) {
  std::vector<Turn> turns;
  for (auto next = users_.begin(); next != users_.end();) {
    auto& [id, user] = *next;
    const bool changed = user.changed_ms != 0 && user.changed_ms <= now_ms;
    const bool waited = user.message_ms != 0 && user.message_ms <= now_ms;
    if (!user.in_turn && (changed || waited)) {
      const Mark has = acknowledged(id);
      const bool message = message_due(user, has, now_ms);
      if (message || changed) {
        turns.push_back({id, has, message ? user.newest : Mark(), user.tries + 1});
        user.in_turn = true;
        user.changed_ms = 0;
        if (message) {
          user.message_ms = 0;
          user.oldest = user.newest = Mark();
        }
      }
    }
    next = user.idle() ? users_.erase(next) : std::next(next);
  }
  // In an order, for those who replay what happened.
  std::ranges::sort(turns, {}, &Turn::user);
  return turns;
}

void Notifier::done(const Turn& turn) {
  const auto found = users_.find(turn.user);
  if (found == users_.end()) return;
  found->second.in_turn = false;
  found->second.tries = 0;
  if (found->second.idle()) users_.erase(found);
}

bool Notifier::failed(const Turn& turn, std::int64_t now_ms, std::uint64_t dice) {
  const auto found = users_.find(turn.user);
  if (found == users_.end()) return false;
  User& user = found->second;
  if (turn.number >= options_.tries) {
    done(turn);
    return false;
  }
  user.in_turn = false;
  user.tries = turn.number;
  std::int64_t wait = options_.retry_ms;
  for (std::uint32_t i = 1; i < turn.number && wait < options_.retry_max_ms; ++i) wait *= 2;
  wait = std::min(wait, options_.retry_max_ms);
  wait -= static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(wait / 2 + 1));
  if (!turn.up_to) {
    user.changed_ms = now_ms + wait;
    return true;
  }
  user.oldest = turn.up_to;
  user.newest = std::max(user.newest, turn.up_to);
  user.message_ms = now_ms + wait;
  user.newest_ms = std::max(user.newest_ms, user.message_ms);
  return true;
}

}  // namespace tidemark
