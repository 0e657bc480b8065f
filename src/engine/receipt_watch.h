// Which links look at how far others have read, and what of it changed since they were told. Pure: what happens is
// handed in, what is to be looked up and told is taken out, at most once in a while for a link and conversation,
// however often somebody reads. Bounded by what the links watch. Network thread only.
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

class ReceiptWatch {
 public:
  static constexpr std::size_t kWatchedMax = 8;  // conversations of one link; the oldest is given up

  explicit ReceiptWatch(std::int64_t every_ms) : every_ms_(every_ms) {}

  /// To be called before the receipts are read that the link is told at first: what changes from then on is told.
  void watch(SessionId link, const ConversationId& conversation);
  void unwatch(SessionId link, const ConversationId& conversation);
  void down(SessionId link);
  /// The others of a watched conversation, as far as they are known.
  void know(const ConversationId& conversation, std::span<const UserId> users);

  /// The user has read on.
  void read(const ConversationId& conversation, const UserId& user);
  /// A device of the user has acknowledged more.
  void acknowledged(const UserId& user);

  struct Due {
    SessionId link = 0;
    ConversationId conversation;
    std::vector<UserId> users;  // whose receipts may be others by now
  };
  /// What is to be told now; it counts as told.
  std::vector<Due> take_due(std::int64_t now_ms);
  /// It could not be told: once more, later.
  void put_back(const Due& due);

  bool empty() const { return watched_.empty(); }

 private:
  struct Watched {
    std::map<SessionId, std::set<UserId>> changed;  // by link that watches
    std::set<UserId> users;
    std::int64_t told_ms = 0;
  };
  void forget(const ConversationId& conversation);

  const std::int64_t every_ms_;
  std::map<ConversationId, Watched> watched_;                           // in an order, for the simulator
  std::set<ConversationId> waiting_;                                    // with changes
  std::unordered_map<SessionId, std::vector<ConversationId>> by_link_;  // the last asked for is the last
  std::unordered_map<UserId, std::set<ConversationId>> by_user_;
};

}  // namespace tidemark
