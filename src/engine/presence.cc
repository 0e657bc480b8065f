#include "engine/presence.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark {

void Presence::up(SessionId session, const UserId& user) {
  TM_CHECK(user_of_.emplace(session, user).second, "a link comes up once");
  if (++links_of_[user] > 1) return;
  left_ms_.erase(user);
  changed(user);
}

void Presence::down(SessionId session, std::int64_t seen_ms) {
  const auto found = user_of_.find(session);
  if (found == user_of_.end()) return;
  const UserId user = std::move(found->second);
  user_of_.erase(found);
  unwatch(session);
  const auto links = links_of_.find(user);
  if (--links->second > 0) return;
  links_of_.erase(links);
  if (watchers_of_.contains(user)) left_ms_[user] = seen_ms;
  changed(user);
}

PresenceState Presence::state(const UserId& user, std::int64_t last_seen_ms) const {
  if (online(user)) return {user, true, 0};
  const auto left = left_ms_.find(user);
  return {user, false, left == left_ms_.end() ? last_seen_ms : std::max(left->second, last_seen_ms)};
}

void Presence::changed(const UserId& user) {
  const auto watching = watchers_of_.find(user);
  if (watching == watchers_of_.end()) return;
  for (const SessionId session : watching->second) {
    watchers_.at(session).changed.insert(user);
    waiting_.insert(session);
  }
}

void Presence::hide(const UserId& user, const UserId& from, bool hidden) {
  ++blocks_;
  const auto watching = watchers_of_.find(user);
  if (watching == watchers_of_.end()) return;
  for (const SessionId session : watching->second) {
    if (user_of_.at(session) != from) continue;
    Watcher& watcher = watchers_.at(session);
    if (hidden)
      watcher.hidden.insert(user);
    else
      watcher.hidden.erase(user);
    watcher.changed.insert(user);
    waiting_.insert(session);
  }
}

void Presence::unwatch(SessionId session) {
  const auto watcher = watchers_.find(session);
  if (watcher == watchers_.end()) return;
  for (const auto& [user, online] : watcher->second.told) {
    const auto watching = watchers_of_.find(user);
    watching->second.erase(session);
    if (!watching->second.empty()) continue;
    watchers_of_.erase(watching);
    left_ms_.erase(user);
  }
  waiting_.erase(session);
  watchers_.erase(watcher);
}

void Presence::watch(SessionId session, const std::vector<PresenceState>& told, std::int64_t now_ms) {
  unwatch(session);
  if (told.empty() || !user_of_.contains(session)) return;
  Watcher& watcher = watchers_[session];
  watcher.told_ms = now_ms;
  for (const PresenceState& state : told) {
    watcher.told[state.user] = state.online;
    watchers_of_[state.user].insert(session);
  }
}

std::vector<SessionId> Presence::due(std::int64_t now_ms) const {
  std::vector<SessionId> sessions;
  for (const SessionId session : waiting_)
    if (now_ms - watchers_.at(session).told_ms >= every_ms_) sessions.push_back(session);
  return sessions;
}

std::vector<PresenceState> Presence::take(SessionId session, std::int64_t now_ms) {
  std::vector<PresenceState> states;
  if (waiting_.erase(session) == 0) return states;
  Watcher& watcher = watchers_.at(session);
  for (const UserId& user : watcher.changed) {
    bool& told = watcher.told.at(user);
    const bool hidden = watcher.hidden.contains(user);
    if (told == (online(user) && !hidden)) continue;
    told = !told;
    states.push_back(hidden ? PresenceState{user, false, 0} : state(user, 0));
  }
  watcher.changed.clear();
  if (!states.empty()) watcher.told_ms = now_ms;
  return states;
}

}  // namespace tidemark
