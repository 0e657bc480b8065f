// Ending sessions within a decision: the devices' rows, their push tokens, and whom to tell.
#pragma once

#include <vector>

#include "core/draft.h"

namespace tidemark {

class SessionEnds {
 public:
  /// Both must outlive it.
  SessionEnds(Draft& draft, const UserId& user) : draft_(draft), user_(user) {}

  /// The device's session, if it has one, ends; its tokens up to now are good for nothing more. Once for a device.
  void end(const Device& device, SessionEnd why);
  /// The device's own newer link takes the place of its older one.
  void replace(const Device& device);
  /// Drops the rows of devices that ended too long ago, but not that of `kept`.
  void forget_outlived(const DeviceId& kept);
  std::vector<EndedSession> take() { return std::move(ended_); }

 private:
  Draft& draft_;
  const UserId& user_;
  std::vector<EndedSession> ended_;
};

/// Tells the user's devices that their list has changed, unless none is logged in but the one that `knows` it anyway.
void tell_devices(Draft& draft, const UserId& user, const DeviceId& knows, std::vector<Notice>& notices);

/// The user's devices as the decision leaves them, by id.
std::vector<Device> devices_after(Draft& draft, const UserId& user);

}  // namespace tidemark
