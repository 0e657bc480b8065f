#include "core/device_policy.h"

#include <algorithm>
#include <tuple>

namespace tidemark {

Result<std::vector<Device>> displaced_by(std::string_view platform, std::vector<Device> others,
                                         const DevicePolicy& policy) {
  std::erase_if(others, [](const Device& device) { return !device.live; });
  // Whoever goes in any case stands in front.
  const auto stays = [&](const Device& device) {
    return policy.kind != DevicePolicy::Kind::one_per_platform || device.platform != platform;
  };
  std::ranges::sort(others, [&](const Device& a, const Device& b) {
    return std::tuple(stays(a), a.last_seen, a.id) < std::tuple(stays(b), b.last_seen, b.id);
  });
  auto going = others.size() - static_cast<std::size_t>(std::ranges::count_if(others, stays));
  const std::size_t max = policy.kind == DevicePolicy::Kind::single ? 1 : policy.max;
  if (others.size() + 1 > max) going = std::max(going, others.size() + 1 - max);
  if (going > 0 && policy.when_full == DevicePolicy::WhenFull::refuse)
    return fail(ErrorCode::TOO_MANY_DEVICES, "device", "Log out " + others.front().id.value + ", for example.");
  others.resize(going);
  return others;
}

std::vector<Device> outlived(std::vector<Device> devices, const DevicePolicy& policy) {
  std::erase_if(devices, [](const Device& device) { return device.live; });
  if (devices.size() <= policy.ended_kept) return {};
  std::ranges::sort(devices, [](const Device& a, const Device& b) {
    return std::tie(a.ended_at, a.id) < std::tie(b.ended_at, b.id);
  });
  devices.resize(devices.size() - policy.ended_kept);
  return devices;
}

}  // namespace tidemark
