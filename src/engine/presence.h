// Who is online, and who is told of it. A user is online while one of his devices has a link. Pure: links and time are
// handed in, what is to be told is taken out; the host decides when a link can take it. Network thread only.
//
// A watcher is told of states, not of flips: what changed and changed back between two looks is not told at all. So a
// storm costs a link one frame a second at most, and its memory is bounded by the users that it watches.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/delivery.h"

namespace tidemark {

struct PresenceState {
  UserId user;
  bool online = false;
  std::int64_t last_seen_ms = 0;  // wall time; 0: not known, or online
  bool operator==(const PresenceState&) const = default;
};

class Presence {
 public:
  explicit Presence(std::int64_t every_ms) : every_ms_(every_ms) {}

  /// A link of the user was welcomed.
  void up(SessionId session, const UserId& user);
  /// It has ended; `seen_ms` is when its device was here last. The link watches nobody any more.
  void down(SessionId session, std::int64_t seen_ms);

  bool online(const UserId& user) const { return links_of_.contains(user); }
  /// The state to be answered: `last_seen_ms` counts unless the user is online, or has been seen here since.
  PresenceState state(const UserId& user, std::int64_t last_seen_ms) const;

  /// The user blocks another, or no longer does: to those who watch him he is offline meanwhile.
  void hide(const UserId& user, const UserId& from, bool hidden);
  /// How often that happened. Whoever read who may be watched before the last time reads again: it has to be in.
  std::uint64_t blocks() const { return blocks_; }

  /// From now on the link watches these users and no others; it has just been told these states of them.
  void watch(SessionId session, const std::vector<PresenceState>& told, std::int64_t now_ms);

  /// Links to which something is to be told and that were told nothing for a while, in an order.
  std::vector<SessionId> due(std::int64_t now_ms) const;
  /// What to tell one of them now; it counts as told. May be empty.
  std::vector<PresenceState> take(SessionId session, std::int64_t now_ms);

  std::size_t watched() const { return watchers_of_.size(); }

 private:
  struct Watcher {
    std::map<UserId, bool> told;  // whether the user was online when it was told last
    std::set<UserId> changed;
    std::set<UserId> hidden;  // they have blocked the watcher
    std::int64_t told_ms = 0;
  };
  void changed(const UserId& user);
  void unwatch(SessionId session);

  const std::int64_t every_ms_;
  std::uint64_t blocks_ = 0;
  std::unordered_map<SessionId, UserId> user_of_;
  std::unordered_map<UserId, std::size_t> links_of_;
  std::map<SessionId, Watcher> watchers_;  // in an order, for the simulator
  std::set<SessionId> waiting_;            // watchers with changes
  std::unordered_map<UserId, std::set<SessionId>> watchers_of_;
  std::unordered_map<UserId, std::int64_t> left_ms_;  // of watched users that went offline
};

}  // namespace tidemark
