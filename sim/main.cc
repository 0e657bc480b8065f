// tidemark-sim: many runs of the simulated world, one of them again with a trace, or a search for new faults.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <thread>

#include "core/planted.h"
#include "sim/session.h"

namespace {
using namespace tidemark::sim;

struct Flags {
  SessionOptions session;
  std::string mode = "both";
  double minutes = 1;
  bool all_counters = false;
  bool quiet = false;
  std::string plant;
};

std::vector<RunMode> modes_of(const std::string& mode) {
  if (mode == "safety") return {RunMode::safety};
  if (mode == "liveness") return {RunMode::liveness};
  return {RunMode::safety, RunMode::liveness};
}

void print_failure(const Failure& failure) {
  const RunOptions prefix = shortest_prefix(failure.options, failure.actions);
  fmt::print("seed {} ({}) fails: {}\n", failure.options.seed, name_of(failure.options.mode), failure.violation);
  fmt::print("  the first {} of {} actions are enough; to see them:\n", prefix.actions_max, failure.actions);
  fmt::print("  tidemark-sim --seed {} --mode {} --actions {} --trace\n", prefix.seed, name_of(prefix.mode),
             prefix.actions_max);
}

/// Returns whether all of them were met.
bool print_counters(const Counters& counters) {
  bool all = true;
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    fmt::print("{:>10}  {}\n", counters.counts[i], kCounters[i].text);
    all = all && counters.counts[i] > 0;
  }
  return all;
}

int run(const Flags& flags) {
  const bool bar = isatty(STDERR_FILENO) != 0 && !flags.session.tracing;
  const std::uint64_t total = flags.session.runs * flags.session.modes.size();
  const Session session = run_session(flags.session, [&](std::uint64_t runs, std::uint64_t failed) {
    if (bar && runs % 16 == 0)
      fmt::print(stderr, "\r{} of {} runs, {} failed ", runs,
                 flags.session.seconds_max > 0 ? "?" : std::to_string(total), failed);
  });
  if (bar) fmt::print(stderr, "\r\033[K");
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, session.failures.size()); ++i) print_failure(session.failures[i]);
  const bool all_met = flags.quiet || print_counters(session.counters);
  const double hours = static_cast<double>(session.virtual_ms) / 3.6e6;
  fmt::print("{} runs, {} failed; {:.1f} simulated hours in {:.1f} s ({:.2f} hours a second); final number {:016x}\n",
             session.runs, session.failures.size(), hours, session.seconds, hours / session.seconds,
             session.fingerprint);
  if (flags.all_counters && !all_met) {
    fmt::print("Something of the list was never met: these runs have not shown what they are meant to show.\n");
    return 1;
  }
  return session.failures.empty() ? 0 : 1;
}

#ifdef TIDEMARK_PLANTED_FAULTS
const std::map<std::string, tidemark::Fault> kFaults{
    {"gap_by_count", tidemark::Fault::gap_by_count},
    {"no_epoch_on_restore", tidemark::Fault::no_epoch_on_restore},
    {"read_set_not_joined", tidemark::Fault::read_set_not_joined},
    {"push_before_commit", tidemark::Fault::push_before_commit},
    {"ack_before_sync", tidemark::Fault::ack_before_sync},
    {"fan_out_to_present", tidemark::Fault::fan_out_to_present},
    {"snapshot_by_activity", tidemark::Fault::snapshot_by_activity},
    {"dedup_without_hash", tidemark::Fault::dedup_without_hash},
    {"dedup_written_apart", tidemark::Fault::dedup_written_apart},
    {"reconnect_window", tidemark::Fault::reconnect_window},
    {"end_on_short_page", tidemark::Fault::end_on_short_page},
    {"late_page_revives", tidemark::Fault::late_page_revives},
    {"quote_embeds_text", tidemark::Fault::quote_embeds_text},
    {"fenced_link_commits", tidemark::Fault::fenced_link_commits},
    {"late_fan_out", tidemark::Fault::late_fan_out},
    {"one_visible_from", tidemark::Fault::one_visible_from},
};
#endif

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the real engine and real client engines in a simulated world. The same seed gives the same run.",
               "tidemark-sim");
  app.footer("Ends with status 0 only when all runs hold. docs/testing.md says what is simulated and checked.");
  Flags flags;
  flags.session.threads = std::max(1U, std::thread::hardware_concurrency());
  const auto common = [&](CLI::App& command) {
    command.add_option("--seed", flags.session.seed, "The first seed")->capture_default_str();
    command
        .add_option("--mode", flags.mode,
                    "safety: faults for ever; liveness: they stop and everybody must arrive; both")
        ->check(CLI::IsMember({"safety", "liveness", "both"}))
        ->capture_default_str();
    command.add_option("--threads", flags.session.threads, "Runs at a time")->capture_default_str();
    command.add_flag("--quiet", flags.quiet, "Without the list of what was met");
#ifdef TIDEMARK_PLANTED_FAULTS
    command.add_option("--plant", flags.plant, "The fault that is to be found")->check(CLI::IsMember(kFaults));
#endif
  };
  common(app);
  app.add_option("--runs", flags.session.runs, "Seeds from there on")->capture_default_str();
  app.add_option("--actions", flags.session.actions_max, "Only the first actions of users");
  app.add_flag("--trace", flags.session.tracing, "Print what happens");
  app.add_flag("--all-met", flags.all_counters, "Fail when something of the list was never met");
  CLI::App* explore = app.add_subcommand("explore", "Look for seeds that fail, from a random one on");
  common(*explore);
  explore->add_option("--minutes", flags.minutes, "How long")->capture_default_str();
  explore->add_flag("--first", flags.session.stop_at_failure, "Stop at the first");
  CLI11_PARSE(app, argc, argv);

  flags.session.modes = modes_of(flags.mode);
  if (flags.session.tracing) flags.session.threads = 1;
  if (*explore) {
    if (explore->count("--seed") == 0) flags.session.seed = tidemark::SystemRandom().next_u64() >> 32;
    flags.session.runs = 1ULL << 40;
    flags.session.seconds_max = flags.minutes * 60;
    fmt::print("from seed {}\n", flags.session.seed);
  }
#ifdef TIDEMARK_PLANTED_FAULTS
  if (!flags.plant.empty()) tidemark::planted_fault = kFaults.at(flags.plant);
#endif
  return run(flags);
}
