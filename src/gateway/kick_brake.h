// Devices that push each other out of a user's places for ever, by themselves: each of them has to wait longer and
// longer before it may come back (design, section 10). A machine without clock. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/ids.h"

namespace tidemark {

/// A device that was logged out for another one may come back at once. One that did, without a person's delay, and was
/// logged out again, waits: 2 s, 4 s, and so on up to kKickWaitMaxMs. Whoever stays away for longer than that, as
/// people do who use one device after the other, or stays in, begins anew.
class KickBrake {
 public:
  /// Beyond `devices_max` the brake holds nobody further. REQUIRES devices_max >= 1.
  explicit KickBrake(std::size_t devices_max) : devices_max_(devices_max) {}

  /// The device was logged out because another one came.
  void displaced(const UserId& user, const DeviceId& device, std::int64_t now_ms);
  /// The device wants in: 0, and it counts as come back; or after how many milliseconds it may.
  std::uint32_t come_back(const UserId& user, const DeviceId& device, std::int64_t now_ms);
  /// Forgets what counts no more. Call now and then.
  void tick(std::int64_t now_ms);

  std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    std::int64_t displaced_ms = 0;
    std::int64_t back_ms = -1;  // when it came back of its own; -1: it did not
    std::uint32_t level = 0;
  };
  static std::string key_of(const UserId& user, const DeviceId& device) { return user.value + '\0' + device.value; }
  static std::int64_t wait_of(const Held& held);
  /// Up to when it counts.
  static std::int64_t end_of(const Held& held);

  const std::size_t devices_max_;
  std::unordered_map<std::string, Held> held_;
};

inline constexpr std::int64_t kKickWaitMaxMs = 300'000;

}  // namespace tidemark
