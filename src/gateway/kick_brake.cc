#include "gateway/kick_brake.h"

#include <algorithm>

namespace tidemark {
namespace {
constexpr std::int64_t kKickWaitMs = 1'000;
constexpr std::int64_t kPersonsDelayMs = 10'000;  // what comes back sooner was no person
}  // namespace

std::int64_t KickBrake::wait_of(const Held& held) {
  if (held.level == 0) return 0;
  return std::min(kKickWaitMs << std::min(held.level, 20U), kKickWaitMaxMs);
}

std::int64_t KickBrake::end_of(const Held& held) {
  // Of two that fight each stays in for as long as the other waits.
  if (held.back_ms >= 0) return held.back_ms + 2 * kKickWaitMaxMs;
  return held.displaced_ms + 2 * wait_of(held) + kPersonsDelayMs;
}

void KickBrake::displaced(const UserId& user, const DeviceId& device, std::int64_t now_ms) {
  const std::string key = key_of(user, device);
  auto found = held_.find(key);
  if (found == held_.end()) {
    if (held_.size() >= devices_max_) tick(now_ms);
    if (held_.size() >= devices_max_) return;
    found = held_.try_emplace(key).first;
  }
  Held& held = found->second;
  held.level = held.back_ms >= 0 && now_ms <= end_of(held) ? held.level + 1 : 0;
  held.displaced_ms = now_ms;
  held.back_ms = -1;
}

std::uint32_t KickBrake::come_back(const UserId& user, const DeviceId& device, std::int64_t now_ms) {
  const auto found = held_.find(key_of(user, device));
  if (found == held_.end()) return 0;
  Held& held = found->second;
  const std::int64_t from = held.displaced_ms + wait_of(held);
  if (held.back_ms < 0 && now_ms < from) return static_cast<std::uint32_t>(from - now_ms);
  if (now_ms > end_of(held))
    held_.erase(found);
  else if (held.back_ms < 0)
    held.back_ms = now_ms;
  return 0;
}

void KickBrake::tick(std::int64_t now_ms) {
  std::erase_if(held_, [&](const auto& each) { return now_ms > end_of(each.second); });
}

}  // namespace tidemark
