// A network of our own between devices and their server: it carries bytes and, until it is told to be calm, cuts,
// freezes, delays and crumbles what it carries. It knows nothing of what it carries but where frames end, and that for
// its counters alone.
//
// What it does is drawn from one seed. When it strikes depends on the machine, so the same seed gives the same kind of
// weather and never the same run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "processes/counters.h"

namespace tidemark::testing {

/// Chances are per mille.
struct Weather {
  std::uint32_t cut = 500;               // of each connection: it ends after a number of bytes
  std::int64_t cut_bytes_max = 12'000;   // in one direction, hello and all
  std::uint32_t half_open = 300;         // of each end: only one side learns of it
  std::uint32_t born_frozen = 60;        // of each connection: nothing comes through at first
  std::int64_t change_every_ms = 5'000;  // between changes of a connection's weather
  std::int64_t silence_max_ms = 6'000;   // how long a freeze lasts, and a half-open end
  std::uint32_t dribble = 150;           // of each connection: a few bytes at a time
  std::int64_t latency_max_ms = 40;      // of each piece

  static Weather calm() {
    return {.cut = 0, .half_open = 0, .born_frozen = 0, .change_every_ms = 0, .dribble = 0, .latency_max_ms = 0};
  }
};

/// Has a thread of its own; everything may be called from any thread.
class Proxy {
 public:
  Proxy(std::uint64_t seed, const Weather& weather, Counters& counters);
  /// Resets all connections.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Where devices connect to, on 127.0.0.1.
  int port() const;
  /// Where the server listens now.
  void forward_to(int port);
  /// The line heals: what stood still goes on, whoever has not learned of an end does so now, and nothing more happens.
  void calm_down();
  /// The connections that stand, for whoever looks for what is stuck.
  std::string describe() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::testing
