// Memory of idle connections: how much the server's memory grows while thousands of devices log in and then say
// nothing. Everything it grows by counts, the rows of their users and devices in the store's memory included.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/clock.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"

namespace tidemark::bench {
namespace {

constexpr int kWarmUp = 100;                     // first links, after which code and pools are in memory
constexpr int kPerAddress = 2'500;               // as if they came from several machines
constexpr std::int64_t kSettleNs = 7 * kSecond;  // the server has noted by then what it notes late
constexpr double kTargetBytes = 3 * 1'024;

std::string source_address(int connection) {
  return fmt::format("127.0.0.{}", 2 + connection / kPerAddress % 250);
}

Result<Memory> settled(World& world, const std::string& step) {
  Progress progress(step, kSettleNs / kSecond);
  const std::int64_t begin = now_ns();
  while (now_ns() - begin < kSettleNs) {
    TM_TRY(world.loop().turn(kSecond / 10));
    progress.at((now_ns() - begin) / kSecond);
  }
  const Memory memory = memory_of(world.server_pid());
  progress.done(fmt::format("{:.1f} MiB anonymous", static_cast<double>(memory.anonymous) / 1'048'576));
  return memory;
}

}  // namespace

Result<void> work_idle(const Options& options, Report& report) {
  if (!options.url.empty())
    return trouble("The idle work looks into the server's process: leave --url out, so that it starts one of its own.");
  TM_ASSIGN(const auto world, World::open(options));
  Links links;
  const int all = options.connections + kWarmUp;
  for (int i = 0; i < all; ++i) {
    TM_ASSIGN(auto link, world->make_link(world->user("idle", i), "phone",
                                          [i](LinkPlan& plan) { plan.source = source_address(i); }));
    links.push_back(std::move(link));
  }
  const std::span<const std::unique_ptr<Link>> every(links);
  TM_TRY(world->connect(every.first(kWarmUp)));
  TM_ASSIGN(const Memory before, settled(*world, "idle: before"));
  Progress progress(fmt::format("idle: {} connections", options.connections), options.connections);
  const std::int64_t begin = now_ns();
  TM_TRY(world->connect(every.subspan(kWarmUp), [&](std::int64_t welcomed) { progress.at(welcomed); }));
  const double rate = options.connections / as_seconds(now_ns() - begin);
  progress.done(fmt::format("{:.0f} logins/s", rate));
  TM_ASSIGN(const Memory after, settled(*world, "idle: after"));

  const auto each = [&](std::uint64_t from, std::uint64_t to) {
    return (static_cast<double>(to) - static_cast<double>(from)) / options.connections;
  };
  report.figure("connections", "idle connections", options.connections, "");
  report.figure("login_rate", "logins, each durable", rate, "1/s");
  report.figure("anonymous_bytes", "server's memory per connection (anonymous)",
                each(before.anonymous, after.anonymous), "B", at_most(kTargetBytes));
  report.figure("private_bytes", "server's memory per connection (private)",
                each(before.private_pages, after.private_pages), "B");
  report.figure("resident_bytes", "server's memory in all", static_cast<double>(after.resident) / 1'048'576, "MiB");
  return {};
}

}  // namespace tidemark::bench
