// The bench's clocks: the monotonic one for all latencies, and the CPU time of its one thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace tidemark::bench {

inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Nanoseconds since some start; never goes back.
inline std::int64_t now_ns() {
  return read_clock_ns(CLOCK_MONOTONIC);
}
/// CPU time used by the calling thread.
inline std::int64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
/// Wall time, for ids.
inline std::int64_t wall_ms() {
  return read_clock_ns(CLOCK_REALTIME) / 1'000'000;
}

inline constexpr std::int64_t kMilli = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;
/// How long a benchmark waits for what must come, in nanoseconds, before it gives up with an error.
inline constexpr std::int64_t kPatienceNs = 60 * kSecond;
/// The first part of a load, which is not measured.
inline constexpr std::int64_t kWarmUpNs = kSecond;

inline double as_ms(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}
inline double as_seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

}  // namespace tidemark::bench
