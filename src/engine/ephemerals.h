// What is said and not kept: typing, call signalling. Held for the few seconds of its life, for links that come to the
// foreground meanwhile; never stored, never in sync. Pure: time is handed in. Network thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace tidemark {

struct Ephemeral {
  ConversationId conversation;
  UserId sender;
  DeviceId sender_device;
  std::string type;
  std::string payload;             // opaque
  std::int64_t expires_at_ms = 0;  // by the steady clock
};

class Ephemerals {
 public:
  using Shared = std::shared_ptr<const Ephemeral>;
  /// At most `per_user_max` are held for a user; the oldest goes.
  explicit Ephemerals(std::size_t per_user_max) : per_user_max_(per_user_max) {}

  /// Holds it for the user, in place of an earlier one of the same device, conversation and type.
  void hold(const UserId& user, Shared ephemeral);
  /// What is held for the user and still lives, oldest first.
  std::vector<Shared> alive(const UserId& user, std::int64_t now_ms) const;
  /// Drops what has died. Call about once a second.
  void tick(std::int64_t now_ms);

  std::size_t users() const { return held_.size(); }

 private:
  const std::size_t per_user_max_;
  std::unordered_map<UserId, std::deque<Shared>> held_;
};

}  // namespace tidemark
