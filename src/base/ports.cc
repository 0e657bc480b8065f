#include "base/ports.h"

#include <sodium.h>

#include <chrono>

namespace tidemark {

std::int64_t SystemClock::wall_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t SystemClock::steady_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SystemRandom::fill(std::span<std::uint8_t> out) {
  randombytes_buf(out.data(), out.size());
}

}  // namespace tidemark
