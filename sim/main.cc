// tidemark-sim: many runs of the simulated world, one of them again with a trace, or a search for new faults.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "base/log.h"
#include "core/planted.h"
#include "sim/progress.h"
#include "sim/under_way.h"

namespace {
using namespace tidemark::sim;

/// Where ./test sim keeps what its seeds have met.
const std::string kMetByTests = "build/sim-met.txt";

struct Flags {
  SessionOptions session;
  std::string mode = "both";
  double minutes = 1;
  bool all_counters = false;
  bool quiet = false;
  bool exploring = false;
  std::string against = kMetByTests;
  std::string save;
  std::string plant;
};

std::vector<RunMode> modes_of(const std::string& mode) {
  if (mode == "safety") return {RunMode::safety};
  if (mode == "liveness") return {RunMode::liveness};
  return {RunMode::safety, RunMode::liveness};
}

#ifdef TIDEMARK_PLANTED_FAULTS
constexpr std::string_view kProgram = "tidemark-sim-planted";
#else
constexpr std::string_view kProgram = "tidemark-sim";
#endif

/// How to see a run again.
std::string command_of(const RunOptions& run, const std::string& plant) {
  return fmt::format("{} --seed {} --mode {} --actions {}{}{} --trace", kProgram, run.seed, name_of(run.mode),
                     run.actions_max, run.store == StoreKind::log ? " --store log" : "",
                     plant.empty() ? "" : " --plant " + plant);
}

/// The trace of the shortest prefix: all of it in a file, its end here.
void print_failure(const Failure& failure, const std::string& plant, std::size_t lines_shown) {
  RunOptions prefix = shortest_prefix(failure.options, failure.actions);
  fmt::print("seed {} ({}) fails: {}\n", failure.options.seed, name_of(failure.options.mode), failure.violation);
  fmt::print("  the first {} of {} actions are enough; to see them:\n", prefix.actions_max, failure.actions);
  fmt::print("  {}\n", command_of(prefix, plant));
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("{}-{}-{}.trace", kProgram, prefix.seed, name_of(prefix.mode));
  std::ofstream file(path);
  std::deque<std::string> end;
  prefix.tracing = true;
  prefix.traced = [&](const std::string& line) {
    file << line;
    end.push_back(line);
    if (end.size() > lines_shown) end.pop_front();
  };
  (void)run_world(prefix);
  file.close();
  for (const std::string& line : end) fmt::print("{}", line);
  if (file)
    fmt::print("  all of it: {}\n", path.string());
  else
    fmt::print("  {} cannot be written.\n", path.string());
}

/// What other runs have met; nothing when there is no such file and it was not asked for by name.
tidemark::Result<std::optional<Met>> met_before(const std::string& path, bool asked_for) {
  std::ifstream in(path);
  if (!in && !asked_for) return std::nullopt;
  if (!in) return tidemark::fail(tidemark::ErrorCode::NOT_FOUND, "against", path + " cannot be read.");
  return Met::from_text(std::string(std::istreambuf_iterator<char>(in), {}));
}

Progress::Where where_to_show(const Flags& flags) {
  if (flags.session.tracing) return Progress::Where::nowhere;
  if (isatty(STDERR_FILENO) != 0) return Progress::Where::terminal;
  return flags.exploring ? Progress::Where::log : Progress::Where::nowhere;
}

int run(const Flags& flags) {
  const auto before = met_before(flags.against, flags.against != kMetByTests);
  if (!before) {
    fmt::print(stderr, "{}\n", before.error().message());
    return 2;
  }
  const Met* compared = *before ? &**before : nullptr;
  Progress progress(where_to_show(flags), {flags.session.seconds_max, flags.session.runs * flags.session.modes.size()},
                    flags.exploring ? compared : nullptr, [](const std::string& text) {
                      fmt::print(stderr, "{}", text);
                      std::fflush(stderr);
                    });
  const Session session = run_session(flags.session, [&](const Session& now) { progress.show(now); });
  progress.clear();
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kLinesShown = 60;  // of the first; the others are likely to be the same
  for (std::size_t i = 0; i < std::min(kShown, session.failures.size()); ++i)
    if (!flags.session.tracing) print_failure(session.failures[i], flags.plant, i == 0 ? kLinesShown : 0);
  if (!flags.quiet && flags.exploring) fmt::print("{}\n", report(session.met, compared));
  if (!flags.quiet && !flags.exploring)
    fmt::print("{}\n{}\n", table_of_things(session.met), table_of_judges(session.met));
  fmt::print("{}", last_line(session));
  if (!flags.save.empty() && !(std::ofstream(flags.save) << session.met.text())) {
    fmt::print(stderr, "{} cannot be written.\n", flags.save);
    return 2;
  }
  if (const auto never = missing(session.met, flags.session.store); flags.all_counters && !never.empty()) {
    fmt::print("These runs have not shown what they are meant to show. Never met:\n");
    for (const std::string& name : never) fmt::print("  {}\n", name);
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
    {"index_written_apart", tidemark::Fault::index_written_apart},
    {"queue_without_bound", tidemark::Fault::queue_without_bound},
    {"late_page_revives", tidemark::Fault::late_page_revives},
    {"quote_embeds_text", tidemark::Fault::quote_embeds_text},
    {"fenced_link_commits", tidemark::Fault::fenced_link_commits},
    {"left_large_ignored", tidemark::Fault::left_large_ignored},
    {"lane_left_behind", tidemark::Fault::lane_left_behind},
    {"high_overtakes_own", tidemark::Fault::high_overtakes_own},
    {"delivered_when_sent", tidemark::Fault::delivered_when_sent},
    {"stops_at_unheard_of", tidemark::Fault::stops_at_unheard_of},
    {"late_fan_out", tidemark::Fault::late_fan_out},
    {"one_visible_from", tidemark::Fault::one_visible_from},
    {"late_logout", tidemark::Fault::late_logout},
    {"edit_revives", tidemark::Fault::edit_revives},
    {"unread_counted", tidemark::Fault::unread_counted},
    {"read_beyond_head", tidemark::Fault::read_beyond_head},
    {"cursor_over_dropped", tidemark::Fault::cursor_over_dropped},
    {"outbox_forgets", tidemark::Fault::outbox_forgets},
    {"never_notifies", tidemark::Fault::never_notifies},
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
    command
        .add_option("--mode", flags.mode,
                    "safety: faults for ever; liveness: they stop and everybody must arrive; both")
        ->check(CLI::IsMember({"safety", "liveness", "both"}))
        ->capture_default_str();
    command
        .add_option("--store", flags.session.store,
                    "memory: a map on a simulated disk; log: the real store that appends, on simulated files")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, StoreKind>{{"memory", StoreKind::memory}, {"log", StoreKind::log}}));
    command.add_option("--threads", flags.session.threads, "Runs at a time")->capture_default_str();
    command.add_flag("--quiet", flags.quiet, "Without the list of what was met");
#ifdef TIDEMARK_PLANTED_FAULTS
    command.add_option("--plant", flags.plant, "The fault that is to be found")->check(CLI::IsMember(kFaults));
#endif
  };
  common(app);
  app.add_option("--seed", flags.session.seed, "The first seed")->capture_default_str();
  app.add_option("--runs", flags.session.runs, "Seeds from there on")->capture_default_str();
  app.add_option("--actions", flags.session.actions_max, "Only the first actions of users");
  app.add_flag("--trace", flags.session.tracing, "Print what happens");
  app.add_option("--save", flags.save, "Keep what these runs have met in a file, for `explore --against`");
  app.add_flag("--all-met", flags.all_counters,
               "Fail when something of the list was never met, or a judge never asked");
  CLI::App* explore = app.add_subcommand(
      "explore", "Look for seeds that fail, from a random one on, and tell what was covered and what of it is new");
  common(*explore);
  explore->add_option("--seed", flags.session.seed, "The first seed; without it a random one");
  explore->add_option("--minutes", flags.minutes, "How long")->capture_default_str();
  explore->add_option("--against", flags.against, "What is not new: a file that --save has written")
      ->capture_default_str();
  explore->add_flag("--first", flags.session.stop_at_failure, "Stop at the first");
  CLI11_PARSE(app, argc, argv);
  // What stores say of faults that were ordered.
  tidemark::set_log(tidemark::LogLevel::off, tidemark::LogFormat::text);

  name_runs_on_abort();
  flags.session.modes = modes_of(flags.mode);
  if (flags.session.tracing) flags.session.threads = 1;
  if (*explore) {
    flags.exploring = true;
    if (explore->count("--seed") == 0) flags.session.seed = tidemark::SystemRandom().next_u64() >> 32;
    flags.session.runs = 1ULL << 40;
    flags.session.seconds_max = flags.minutes * 60;
    fmt::print("from seed {}\n", flags.session.seed);
    std::fflush(stdout);
  }
#ifdef TIDEMARK_PLANTED_FAULTS
  if (!flags.plant.empty()) tidemark::planted_fault = kFaults.at(flags.plant);
#endif
  return run(flags);
}
