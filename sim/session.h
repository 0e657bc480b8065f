// Many runs: seeds one after the other on several threads, what they met together, and the shortest prefix of one that
// fails.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/met.h"
#include "sim/world.h"

namespace tidemark::sim {

struct Failure {
  std::uint64_t number = 0;  // of the run in its session
  RunOptions options;
  std::uint64_t actions = 0;
  std::string violation;
};

struct Session {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::int64_t virtual_ms = 0;
  std::uint64_t fingerprint = 0;  // of all runs in their order, whatever thread ran them
  double seconds = 0;
  Met met;
  std::vector<Failure> failures;  // in the order of their runs, once it is over
};

struct SessionOptions {
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::vector<RunMode> modes;
  std::uint64_t actions_max = ~std::uint64_t{0};
  unsigned threads = 1;
  double seconds_max = 0;  // begins no more runs then; 0: no limit
  bool stop_at_failure = false;
  bool tracing = false;
  StoreKind store = StoreKind::memory;
};

/// `at` is shown how far it is after each run, on one of the threads at a time.
Session run_session(const SessionOptions& options, const std::function<void(const Session&)>& at);

/// The fewest actions of users after which the run still fails, by halving.
RunOptions shortest_prefix(RunOptions options, std::uint64_t actions);

/// "safety" or "liveness".
std::string_view name_of(RunMode mode);

}  // namespace tidemark::sim
