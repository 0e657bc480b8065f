// How long a device waits before it connects again: anywhere between nothing and a limit that doubles with each failure
// in a row ("full jitter"), so that those who lost a server at the same moment do not come back at the same moment.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidemark {

class ReconnectWaits {
 public:
  /// The first wait is at most `min_ms`, none is longer than `max_ms`.
  ReconnectWaits(std::int64_t min_ms, std::int64_t max_ms) : min_ms_(min_ms), max_ms_(max_ms) {}

  /// `random`: any 64 bits.
  std::int64_t next(std::uint64_t random) {
    const std::int64_t limit = std::min(max_ms_, min_ms_ << std::min<std::uint32_t>(failures_++, 16));
    return static_cast<std::int64_t>(random % static_cast<std::uint64_t>(limit + 1));
  }
  /// The device is in step again: the next wait is a short one.
  void settled() { failures_ = 0; }

 private:
  const std::int64_t min_ms_;
  const std::int64_t max_ms_;
  std::uint32_t failures_ = 0;
};

}  // namespace tidemark
