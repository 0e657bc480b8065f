// tidemark-sim: many runs of the simulated world, or one again, or a search for new faults.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "sim/world.h"

namespace {
using namespace tidemark::sim;

struct Flags {
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::string mode = "both";
  bool trace = false;
};

struct Sum {
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::uint64_t fingerprint = 0;
  std::int64_t virtual_ms = 0;
  std::uint64_t steps = 0;
  Counters counters;
};

void add(Sum& sum, const RunResult& result) {
  ++sum.runs;
  sum.fingerprint = (sum.fingerprint ^ result.fingerprint) * 0x100000001b3ULL;
  sum.virtual_ms += result.virtual_ms;
  sum.steps += result.steps;
  sum.counters.add(result.counters);
}

/// The fewest actions of users after which the run still fails, by halving.
RunOptions shortest(RunOptions options, std::uint64_t actions) {
  std::uint64_t holds = 0;
  std::uint64_t fails = actions;
  while (holds + 1 < fails) {
    options.actions_max = holds + (fails - holds) / 2;
    (run_world(options).violation.empty() ? holds : fails) = options.actions_max;
  }
  options.actions_max = fails;
  return options;
}

void report(const RunOptions& options, const RunResult& result) {
  fmt::print("seed {} ({}) FAILS: {}\n", options.seed, options.mode == RunMode::safety ? "safety" : "liveness",
             result.violation);
  const RunOptions short_one = shortest(options, result.actions);
  fmt::print("  the first {} of {} actions are enough:\n  tidemark-sim --seed {} --mode {} --actions {} --trace\n",
             short_one.actions_max, result.actions, options.seed,
             options.mode == RunMode::safety ? "safety" : "liveness", short_one.actions_max);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the real engine and real client engines in a simulated world, from one seed.", "tidemark-sim");
  Flags flags;
  std::uint64_t actions = ~std::uint64_t{0};
  app.add_option("--seed", flags.seed, "First seed")->capture_default_str();
  app.add_option("--runs", flags.runs, "Seeds from there on")->capture_default_str();
  app.add_option("--mode", flags.mode, "safety: faults for ever; liveness: they stop, and everybody arrives; both")
      ->check(CLI::IsMember({"safety", "liveness", "both"}))
      ->capture_default_str();
  app.add_option("--actions", actions, "Only the first actions of users");
  app.add_flag("--trace", flags.trace, "Print what happens");
  CLI11_PARSE(app, argc, argv);

  Sum sum;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < flags.runs; ++i) {
    for (const RunMode mode : {RunMode::safety, RunMode::liveness}) {
      if ((mode == RunMode::safety) == (flags.mode == "liveness") && flags.mode != "both") continue;
      const RunOptions options{flags.seed + i, mode, actions, flags.trace};
      const RunResult result = run_world(options);
      add(sum, result);
      if (result.violation.empty()) continue;
      ++sum.failed;
      if (!flags.trace) report(options, result);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < kCounters.size(); ++i)
    fmt::print("{:>10}  {}\n", sum.counters.counts[i], kCounters[i].text);
  fmt::print("{} runs, {} failed; {:.1f} simulated hours in {:.1f} s ({:.2f} hours a second); final number {:016x}\n",
             sum.runs, sum.failed, static_cast<double>(sum.virtual_ms) / 3.6e6, seconds,
             static_cast<double>(sum.virtual_ms) / 3.6e6 / seconds, sum.fingerprint);
  return sum.failed == 0 ? 0 : 1;
}
