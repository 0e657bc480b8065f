// Ports for the world: time and randomness are handed in, so that the same code runs in the server and, with
// time and dice of its own, in the simulator.
#pragma once

#include <cstdint>
#include <span>

namespace tidemark {

/// Time. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970-01-01 UTC by the wall clock; may jump either way.
  virtual std::int64_t wall_ms() const = 0;
  /// Milliseconds since some start; never goes back.
  virtual std::int64_t steady_ms() const = 0;
};

/// Randomness fit for ids and keys. Implementations are thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  /// Fills the whole span.
  virtual void fill(std::span<std::uint8_t> out) = 0;
  /// A uniform 64-bit number.
  std::uint64_t next_u64() {
    std::uint8_t bytes[8];
    fill(bytes);
    std::uint64_t value = 0;
    for (std::uint8_t byte : bytes) value = value << 8 | byte;
    return value;
  }
};

/// The machine's clocks and the kernel's random source.
class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() const override;
  std::int64_t steady_ms() const override;
};
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override;
};

}  // namespace tidemark
