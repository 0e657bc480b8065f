// Whether what is kept for a connection, a device and a user stays within the limits that the run was given (I18): it
// counts what the queues themselves hold, whatever their owners believe.
#pragma once

#include <map>
#include <string>

#include "sim/device.h"
#include "sim/server.h"

namespace tidemark::sim {

class MemoryJudge {
 public:
  explicit MemoryJudge(RunContext& run) : run_(run) {}

  /// What one link holds of its device's requests, and what waits for its socket.
  void check(const WsLink& link, const Connection& connection) const;
  /// All of it. REQUIRES: the server is up.
  void check(const SimServer& server);
  /// A new process knows nothing of who was here.
  void forget_users() { present_ms_.clear(); }
  /// A round is told: who logs in by it may be gone by the end of it, and nobody has looked meanwhile.
  void on_telling(const Outcome& outcome);
  /// What waits on a device. REQUIRES: it is up.
  void check(const SimDevice& device) const;

 private:
  void check_delivery(const Delivery& delivery);
  void check_asked(const SimDevice& device) const;

  RunContext& run_;
  std::map<UserId, std::int64_t> present_ms_;  // when a user last had a link
  std::int64_t looked_ms_ = 0;
};

}  // namespace tidemark::sim
