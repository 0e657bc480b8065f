// The whole product as processes: a server and devices that are killed, behind a proxy that cuts and freezes.
//
//     TIDEMARK_PROCESSES_SEED             what users and faults are drawn from (random)
//     TIDEMARK_PROCESSES_SECONDS          how long users act and faults strike in the short run (20)
//     TIDEMARK_PROCESSES_MINUTES          how long the slow test goes from seed to seed (10)
//     TIDEMARK_PROCESSES_ARRIVE_SECONDS   how long everybody may take to come into step (60)
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/ports.h"
#include "processes/process_world.h"
#include "sim/run_context.h"

namespace tidemark::testing {
namespace {
namespace fs = std::filesystem;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

std::string make_directory() {
  std::string path = (fs::temp_directory_path() / "tidemark-processes-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return path;
}

/// The last lines of a file.
std::string end_of(const fs::path& path, std::size_t most) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(0, 160));
  std::string text;
  for (std::size_t i = lines.size() - std::min(most, lines.size()); i < lines.size(); ++i)
    text += "    " + lines[i] + "\n";
  return text;
}

/// What is known when a run has failed: enough to see what kind of fault it is.
std::string excerpt(const std::string& directory) {
  std::string text;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".log" && entry.path().extension() != ".err") continue;
    const std::string end = end_of(entry.path(), 12);
    if (!end.empty()) text += "  " + entry.path().filename().string() + ":\n" + end;
  }
  return text;
}

void print_counters(const Counters& counters) {
  for (std::size_t i = 0; i < kCounters.size(); ++i)
    fmt::print("{:>10}  {}\n", counters.of(static_cast<Counter>(i)), kCounters[i].text);
}

/// Runs a world and says why it does not hold, or "".
std::string run(const WorldOptions& options, Counters& counters) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  ProcessWorld world(options, counters, [terminal](const std::string& line) {
    if (terminal) fmt::print(stderr, "\r\033[K{}", line);
  });
  std::string fault;
  try {
    world.run();
  } catch (const std::exception& error) {
    fault = error.what();
    std::ofstream(options.directory + "/server.log") << world.server_log();
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  return fault;
}

/// Whether it holds.
bool check(WorldOptions options, Counters& counters) {
  options.arrive_ms = static_cast<std::int64_t>(setting("TIDEMARK_PROCESSES_ARRIVE_SECONDS", 60)) * 1'000;
  options.directory = make_directory();
  const std::string fault = run(options, counters);
  if (fault.empty()) {
    fs::remove_all(options.directory);
    return true;
  }
  ADD_FAILURE() << fault << "\nseed " << options.seed << "; logs and stores are kept in " << options.directory << "\n"
                << excerpt(options.directory);
  return false;
}

std::uint64_t first_seed() {
  return setting("TIDEMARK_PROCESSES_SEED", SystemRandom().next_u64() >> 32);
}

TEST(Processes, EverybodyComesIntoStepAfterKillsOfBothSidesAndABadNetwork) {
  WorldOptions options;
  options.seed = first_seed();
  options.busy_ms = static_cast<std::int64_t>(setting("TIDEMARK_PROCESSES_SECONDS", 20)) * 1'000;
  Counters counters;
  const bool holds = check(options, counters);
  print_counters(counters);
  if (!holds) return;
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!may_stay_away(counter))
      EXPECT_GT(counters.of(counter), 0U) << kCounters[i].text << ": never met in seed " << options.seed;
  }
}

TEST(Processes, WorldsOfAllSizesInAllWeathers_slow) {
  const std::int64_t end = steady_ms() + static_cast<std::int64_t>(setting("TIDEMARK_PROCESSES_MINUTES", 10)) * 60'000;
  std::uint64_t seed = first_seed();
  Counters counters;
  while (check(any_world(seed), counters) && steady_ms() < end) ++seed;
  print_counters(counters);
}

}  // namespace
}  // namespace tidemark::testing
