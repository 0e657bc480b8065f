// tidemark-bench: measures a Tidemark server, its own or a running one.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "apps/bench/loop.h"
#include "apps/bench/machine.h"
#include "apps/bench/messages.h"
#include "apps/bench/options.h"
#include "apps/bench/report.h"
#include "apps/bench/svg.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

struct Work {
  const char* name;
  const char* says;
  Result<void> (*run)(const Options&, Report&);
  bool in_all;
};

// The long one last; raw is part of send.
constexpr Work kWorks[] = {
    {"field", "the field's five figures: offline pull, history query, device sync, read sync, dedup rate", work_field,
     true},
    {"send", "durable 1:1 sends: maximum, latencies at half of it, and the raw limit of the disk", work_send, true},
    {"backlog", "10,000 messages came while away: first screen, first 50, all", work_backlog, true},
    {"idle", "memory of 10,000 idle connections", work_idle, true},
    {"history", "history pages from 100,000 messages in a store of 1,000,000", work_history, true},
    {"groups", "groups of 100 to 100,000 members: joining, sending, coming back, reading", work_groups, true},
    {"raw", "what RocksDB alone reaches on this disk", work_raw, false},
};

std::string list_of_works() {
  std::string text = "Works:\n";
  for (const Work& work : kWorks)
    text += std::string("  ") + work.name + std::string(9 - std::string(work.name).size(), ' ') + work.says + "\n";
  return text + "  all      all of them";
}

constexpr const char* kExamples =
    "\nExamples:\n"
    "  tidemark-bench send                          a server of its own, 50 pairs, 10 s each phase\n"
    "  tidemark-bench all --json run.json --svg run.svg\n"
    "  tidemark-bench history --fill 100000         a smaller store, quicker\n"
    "  tidemark-bench send --set store.round_commands_max=256\n"
    "  tidemark-bench send --url http://127.0.0.1:7700 --data ./data\n"
    "                                               a running server; start it without rates:\n"
    "                                               --set limits.messages_per_second=0 (requests_..., "
    "logins_per_minute)\n"
    "docs/performance.md says what each figure means.";

void add_options(CLI::App& app, Options& options) {
  app.add_option("work", options.work, list_of_works())->required()->type_name("WORK");
  app.add_option("--url", options.url, "A running server; its rate limits must be off [one of its own]")
      ->type_name("URL");
  app.add_option("--data", options.data, "With --url: that server's data directory, for its secret")->type_name("DIR");
  app.add_option("--json", options.json, "Write all figures there")->type_name("FILE");
  app.add_option("--svg", options.svg, "Write a picture of the latencies there")->type_name("FILE");
  app.add_option("--seconds", options.seconds, "Of each measured phase")
      ->capture_default_str()
      ->check(CLI::Range(1, 3'600));
  app.add_option("--pairs", options.pairs, "send: pairs of sender and receiver")
      ->capture_default_str()
      ->check(CLI::Range(1, 5'000));
  app.add_option("--in-flight", options.in_flight, "send: messages in flight of each pair")
      ->capture_default_str()
      ->check(CLI::Range(1, 200));
  app.add_option("--text-bytes", options.text_bytes, "Length of the texts")
      ->capture_default_str()
      ->check(CLI::Range(kTextBytesMin, 60'000));
  app.add_option("--load", options.load, "send: open loop, part of the maximum")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--rate", options.rate, "send: open loop, messages a second instead")->check(CLI::Range(1.0, 1e6));
  app.add_option("--backlog", options.backlog, "backlog: messages")
      ->capture_default_str()
      ->check(CLI::Range(50, 1'000'000));
  app.add_option("--rounds", options.rounds, "backlog: how often the device comes back")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--fill", options.fill, "history: messages in the store")
      ->capture_default_str()
      ->check(CLI::Range(2'000, 100'000'000));
  app.add_option("--pages", options.pages, "history: pages of each kind")
      ->capture_default_str()
      ->check(CLI::Range(10, 1'000'000));
  app.add_option("--connections", options.connections, "idle: connections")
      ->capture_default_str()
      ->check(CLI::Range(100, 100'000));
  app.add_option("--set", options.settings, "A setting for its own server; may be repeated")->type_name("NAME=VALUE");
  app.add_option("--server", options.server, "The server's binary [the tidemark beside this one]")->type_name("FILE");
  app.add_option("--dir", options.directory, "Temporary data goes below it [TMPDIR or /tmp]")->type_name("DIR");
  app.add_flag("--keep", options.keep, "Leave the temporary data and the server's log");
  app.add_flag("--strict", options.strict, "Exit with 3 when a target is missed");
}

/// One descriptor for each connection, on both sides.
bool raise_open_files(const Options& options) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return true;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const bool wants_many = options.work == "idle" || options.work == "all";
  if (!wants_many || files.rlim_max >= static_cast<rlim_t>(options.connections) + 500) return true;
  std::fprintf(stderr,
               "tidemark-bench: a process may open %llu files here; ask for fewer --connections, or raise the hard "
               "limit (ulimit -Hn).\n",
               static_cast<unsigned long long>(files.rlim_max));
  return false;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return true;
  std::fprintf(stderr, "tidemark-bench: cannot write %s.\n", path.c_str());
  return false;
}

void print_machine(const Machine& machine, const Options& options) {
  std::printf("%s | %d x %s | %s | load %.1f | commit %s\n", machine.system.c_str(), machine.processors,
              machine.processor.c_str(), machine.file_system.c_str(), machine.load_before, machine.commit.c_str());
  if (machine.in_memory)
    std::printf("  - %s is in memory: its syncs cost nothing, so nothing here is durable; choose a disk with --dir.\n",
                options.directory.c_str());
  if (machine.load_before > machine.processors * 0.5)
    std::printf(
        "  - other work was running (load %.1f on %d processors): expect worse figures than on a quiet machine.\n",
        machine.load_before, machine.processors);
  std::fflush(stdout);
}

int run(const Options& options) {
  options.json.empty() ? void() : void(std::remove(options.json.c_str()));
  const Machine machine = describe_machine(options.directory);
  print_machine(machine, options);
  Report report;
  bool failed = false;
  for (const Work& work : kWorks) {
    if (options.work != work.name && !(options.work == "all" && work.in_all)) continue;
    report.begin_work(work.name);
    const auto done = work.run(options, report);
    if (!done) {
      std::fprintf(stderr, "tidemark-bench: %s: %s\n", work.name,
                   (done.error().detail.empty() ? done.error().message() : done.error().detail).c_str());
      report.remark("failed: " + done.error().detail);
      failed = true;
    }
    std::fputs(report.table().c_str(), stdout);
    std::fflush(stdout);
    if (interrupted()) break;
  }
  if (!options.json.empty()) failed |= !write_file(options.json, report.json(options, machine));
  if (const std::string picture = latency_picture(report, machine); !options.svg.empty() && !picture.empty())
    failed |= !write_file(options.svg, picture);
  if (failed) return 1;
  return options.strict && !report.all_met() ? 3 : 0;
}

bool known_work(const std::string& name) {
  if (name == "all") return true;
  for (const Work& work : kWorks)
    if (name == work.name) return true;
  std::fprintf(stderr, "tidemark-bench: there is no work \"%s\".\n%s\n", name.c_str(), list_of_works().c_str());
  return false;
}

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  using namespace tidemark::bench;
  Options options;
  std::string dialect = "binary";
  CLI::App app{"Measures a Tidemark server: one of its own in a temporary directory, or a running one.",
               "tidemark-bench"};
  app.footer(kExamples);
  add_options(app, options);
  app.add_option("--dialect", dialect, "Of the WebSocket")
      ->capture_default_str()
      ->check(CLI::IsMember({"binary", "json"}));
  CLI11_PARSE(app, argc, argv);
  options.dialect = dialect == "json" ? tidemark::Dialect::json : tidemark::Dialect::binary;
  if (options.server.empty()) options.server = own_directory() + "/tidemark";
  const char* temporary = std::getenv("TMPDIR");
  if (options.directory.empty()) options.directory = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
  if (!known_work(options.work) || !raise_open_files(options)) return 2;
  catch_interrupts();
  return run(options);
}
