#include "sim/session.h"

#include <algorithm>
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
class Shared {
 public:
  explicit Shared(const std::function<void(const Session&)>& at) : at_(at) {}

  void take(std::uint64_t number, const RunOptions& run, RunResult result) {
    const std::lock_guard lock(mutex_);
    ++session_.runs;
    session_.steps += result.steps;
    session_.virtual_ms += result.virtual_ms;
    session_.met.add(result.counters, result.asked, {number, run.seed, name_of(run.mode)});
    fingerprints_[number] = result.fingerprint;
    if (!result.violation.empty())
      session_.failures.push_back({number, run, result.actions, std::move(result.violation)});
    session_.seconds = seconds();
    at_(session_);
  }
  double seconds() const { return now_s() - begin_s_; }
  bool failed() {
    const std::lock_guard lock(mutex_);
    return !session_.failures.empty();
  }

  Session finish() {
    for (const auto& [number, fingerprint] : fingerprints_)
      session_.fingerprint = (session_.fingerprint ^ fingerprint) * 0x100000001b3ULL;
    std::ranges::sort(session_.failures, {}, &Failure::number);
    session_.seconds = seconds();
    return std::move(session_);
  }

 private:
  const std::function<void(const Session&)>& at_;
  const double begin_s_ = now_s();
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> fingerprints_;  // by the number of the run
  Session session_;
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

Session run_session(const SessionOptions& options, const std::function<void(const Session&)>& at) {
  Shared shared(at);
  std::atomic<std::uint64_t> next{0};
  const std::uint64_t total = options.runs * options.modes.size();
  const auto work = [&] {
    for (std::uint64_t number = next++; number < total; number = next++) {
      if (options.seconds_max > 0 && shared.seconds() > options.seconds_max) return;
      if (options.stop_at_failure && shared.failed()) return;
      const RunOptions run{options.seed + number / options.modes.size(), options.modes[number % options.modes.size()],
                           options.actions_max, options.tracing, options.store};
      shared.take(number, run, run_world(run));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return shared.finish();
}

}  // namespace tidemark::sim
