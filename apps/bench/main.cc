// tidemark-bench: measures a Tidemark server, its own or a running one.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
  unsigned groups;
};

// The works of a group run in this order, for some look at what others found: send at redis, spread at send.
constexpr unsigned kInAll = 1;
constexpr unsigned kInLimit = 2;
constexpr Work kWorks[] = {
    {"field", "the field's five figures: offline pull, history query, device sync, read sync, dedup rate", work_field,
     kInAll},
    {"redis", "the yardstick: what Redis Streams, always synced, reach with the work of send", work_redis, kInLimit},
    {"send", "durable 1:1 sends: maximum, latencies at a quarter and half of it, and the raw limit of the disk",
     work_send, kInAll | kInLimit},
    {"spread", "sends over 100,000 conversations, one in flight in each", work_spread, kInAll | kInLimit},
    {"devices", "sends with three devices of each user", work_devices, kInAll | kInLimit},
    {"online", "groups that 1,000 members have open, of 1,000 and of 100,000", work_online, kInAll | kInLimit},
    {"backlog", "10,000 messages came while away: first screen, first 50, all", work_backlog, kInAll | kInLimit},
    {"list", "the list of 10,000 conversations with unread: first 50, badge", work_list, kInAll | kInLimit},
    {"storm", "10,000 devices come back within two seconds, while sends go on", work_storm, kInAll | kInLimit},
    {"idle", "memory of 10,000 idle connections", work_idle, kInAll | kInLimit},
    {"restart", "kill -9 with a log of 1 GB that is in no sorted file: until the next ack", work_restart,
     kInAll | kInLimit},
    {"history", "history pages from a large conversation in a store of 1,000,000", work_history, kInAll | kInLimit},
    {"groups", "groups of 100 to 100,000 members: joining, sending, coming back, reading", work_groups, kInAll},
    {"raw", "what RocksDB alone reaches on this disk (part of send)", work_raw, 0},
};

struct Group {
  const char* name;
  const char* says;
  unsigned bit;
};
constexpr Group kGroups[] = {
    {"all", "all but redis and raw", kInAll},
    {"limit", "those by which we go for the limit, with Redis beside them", kInLimit},
};

std::string list_of_works() {
  std::string text = "Works:\n";
  for (const Work& work : kWorks) text += fmt::format("  {:<9}{}\n", work.name, work.says);
  for (const Group& group : kGroups) text += fmt::format("  {:<9}{}\n", group.name, group.says);
  return text;
}

bool chosen(const Work& work, const Options& options) {
  return std::ranges::any_of(options.works, [&](const std::string& name) {
    return name == work.name || std::ranges::any_of(kGroups, [&](const Group& group) {
             return name == group.name && (work.groups & group.bit) != 0;
           });
  });
}

bool chosen(std::string_view name, const Options& options) {
  return std::ranges::any_of(kWorks, [&](const Work& work) { return work.name == name && chosen(work, options); });
}

constexpr const char* kExamples =
    "\nExamples:\n"
    "  tidemark-bench send                          a server of its own, 50 pairs, 10 s each phase\n"
    "  tidemark-bench all --json run.json --svg run.svg\n"
    "  tidemark-bench redis send --repeat 5         both in turns, medians\n"
    "  tidemark-bench history --fill 100000         a smaller store, quicker\n"
    "  tidemark-bench send --set store.round_commands_max=256\n"
    "  tidemark-bench send --url http://127.0.0.1:7700 --data ./data\n"
    "                                               a running server; start it without rates:\n"
    "                                               --set limits.messages_per_second=0 (requests_..., "
    "logins_per_minute)\n"
    "docs/performance.md says what each figure means.";

void add_options(CLI::App& app, Options& options) {
  app.add_option("work", options.works, list_of_works())->required()->type_name("WORK");
  app.add_option("--repeat", options.repeat, "Run all works so often, in turns; figures are medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
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
  app.add_option("--rounds", options.rounds,
                 "backlog, groups: how often a device comes back; restart: four times as often as the server")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--fill", options.fill, "history: messages in the store")
      ->capture_default_str()
      ->check(CLI::Range(2'000, 100'000'000));
  app.add_option("--large", options.large, "history: of them in the conversation that is read [a tenth]")
      ->check(CLI::Range(500, 100'000'000));
  app.add_option("--pages", options.pages, "history, list: pages of each kind")
      ->capture_default_str()
      ->check(CLI::Range(10, 1'000'000));
  app.add_option("--connections", options.connections, "idle, storm: connections")
      ->capture_default_str()
      ->check(CLI::Range(100, 100'000));
  app.add_option("--conversations", options.conversations, "spread: conversations")
      ->capture_default_str()
      ->check(CLI::Range(200, 1'000'000));
  app.add_option("--listed", options.listed, "list: conversations")
      ->capture_default_str()
      ->check(CLI::Range(50, 1'000'000));
  app.add_option("--online", options.online, "online: members who have the group open")
      ->capture_default_str()
      ->check(CLI::Range(500, 10'000));
  app.add_option("--log-bytes", options.log_bytes, "restart: bytes of log to replay")
      ->capture_default_str()
      ->check(CLI::Range(10'000'000, 1'000'000'000));
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
  const bool wants_many = chosen("idle", options) || chosen("storm", options);
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

bool run_work(const Work& work, const Options& options, Report& report) {
  report.begin_work(work.name);
  const auto done = work.run(options, report);
  if (!done) {
    const std::string why = done.error().detail.empty() ? done.error().message() : done.error().detail;
    std::fprintf(stderr, "tidemark-bench: %s: %s\n", work.name, why.c_str());
    report.remark("failed: " + why);
  }
  std::fputs(report.table().c_str(), stdout);
  std::fflush(stdout);
  return done.has_value();
}

int run(const Options& options) {
  options.json.empty() ? void() : void(std::remove(options.json.c_str()));
  const Machine machine = describe_machine(options.directory);
  print_machine(machine, options);
  Report report;
  bool failed = false;
  for (int run = 0; run < options.repeat && !interrupted(); ++run) {
    for (const Work& work : kWorks) {
      if (!chosen(work, options)) continue;
      failed |= !run_work(work, options, report);
      if (interrupted()) break;
    }
  }
  if (!options.json.empty()) failed |= !write_file(options.json, report.json(options, machine));
  if (const std::string picture = latency_picture(report, machine); !options.svg.empty() && !picture.empty())
    failed |= !write_file(options.svg, picture);
  if (failed) return 1;
  return options.strict && !report.all_met() ? 3 : 0;
}

bool known_works(const Options& options) {
  for (const std::string& name : options.works) {
    if (std::ranges::find(kWorks, name, &Work::name) != std::end(kWorks)) continue;
    if (std::ranges::find(kGroups, name, &Group::name) != std::end(kGroups)) continue;
    std::fprintf(stderr, "tidemark-bench: there is no work \"%s\".\n%s\n", name.c_str(), list_of_works().c_str());
    return false;
  }
  return true;
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
  if (!known_works(options) || !raise_open_files(options)) return 2;
  catch_interrupts();
  return run(options);
}
