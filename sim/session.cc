#include "sim/session.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace tidemark::sim {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What the threads of a session share.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> fingerprints;  // by the number of the run
  std::map<std::uint64_t, Failure> failures;
  Session session;
};

}  // namespace

std::string_view name_of(RunMode mode) {
  return mode == RunMode::safety ? "safety" : "liveness";
}

RunOptions shortest_prefix(RunOptions options, std::uint64_t actions) {
  options.tracing = false;
  std::uint64_t holds = 0;
  std::uint64_t fails = actions;
  while (holds + 1 < fails) {
    options.actions_max = holds + (fails - holds) / 2;
    (run_world(options).violation.empty() ? holds : fails) = options.actions_max;
  }
  options.actions_max = fails;
  return options;
}

Session run_session(const SessionOptions& options, const std::function<void(std::uint64_t, std::uint64_t)>& at) {
  Shared shared;
  const double begin = now_s();
  const std::uint64_t total = options.runs * options.modes.size();
  const auto work = [&] {
    for (std::uint64_t number = shared.next++; number < total && !shared.stop; number = shared.next++) {
      if (options.seconds_max > 0 && now_s() - begin > options.seconds_max) return;
      const RunOptions run{options.seed + number / options.modes.size(), options.modes[number % options.modes.size()],
                           options.actions_max, options.tracing};
      RunResult result = run_world(run);
      const std::lock_guard lock(shared.mutex);
      Session& session = shared.session;
      ++session.runs;
      session.steps += result.steps;
      session.virtual_ms += result.virtual_ms;
      session.counters.add(result.counters);
      shared.fingerprints[number] = result.fingerprint;
      if (!result.violation.empty()) {
        shared.failures[number] = {run, result.actions, std::move(result.violation)};
        shared.stop = shared.stop || options.stop_at_failure;
      }
      at(session.runs, shared.failures.size());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const auto& [number, fingerprint] : shared.fingerprints)
    shared.session.fingerprint = (shared.session.fingerprint ^ fingerprint) * 0x100000001b3ULL;
  for (auto& [number, failure] : shared.failures) shared.session.failures.push_back(std::move(failure));
  shared.session.seconds = now_s() - begin;
  return std::move(shared.session);
}

}  // namespace tidemark::sim
