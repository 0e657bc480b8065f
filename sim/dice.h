// All chance of a run, from its seed: xoshiro256** of Blackman and Vigna (2018), seeded through SplitMix64.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ports.h"

namespace tidemark::sim {

/// Not thread-safe: a run has one thread.
class Dice final : public Random {
 public:
  explicit Dice(std::uint64_t seed);

  std::uint64_t next();
  /// Uniform in [0, n); 0 for n = 0.
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(std::uint32_t per_mille) { return below(1'000) < per_mille; }
  template <typename T>
  T& pick(std::vector<T>& from) {
    return from[below(from.size())];
  }
  /// Small values more often than large ones.
  std::int64_t skewed(std::int64_t low, std::int64_t high) { return between(low, between(low, high)); }

  void fill(std::span<std::uint8_t> out) override;

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace tidemark::sim
