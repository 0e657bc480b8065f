// A server dies (kill -9) with a long commit log that is in no sorted file yet: how long until it acknowledges again.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/clock.h"
#include "apps/bench/filler.h"
#include "apps/bench/messages.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr int kWriters = 50;
constexpr int kWriterInFlight = 200;
constexpr std::int64_t kLookEvery = 100'000;  // messages between two looks at the log
constexpr double kRestartTargetMs = 5'000;

Result<Links> connect_senders(World& world) {
  Links links;
  for (int i = 0; i < kWriters; ++i) {
    TM_ASSIGN(auto link,
              world.make_link(world.user("sender", i), "phone", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
    links.push_back(std::move(link));
  }
  TM_TRY(world.connect(links));
  return links;
}

}  // namespace

Result<void> work_restart(const Options& options, Report& report) {
  if (!options.url.empty())
    return trouble("The restart work kills the server: leave --url out, so that it starts one of its own.");
  Options own = options;
  // So that nothing goes into sorted files before the log is as long as it should be.
  own.settings.insert(own.settings.begin(), fmt::format("store.write_buffer_bytes={}", 4 * options.log_bytes));
  TM_ASSIGN(const auto world, World::open(own));
  TM_ASSIGN(Links links, connect_senders(*world));
  TM_ASSIGN(const auto before, world->metrics());
  const auto logged = [&]() -> Result<double> {
    TM_ASSIGN(const auto now, world->metrics());
    return now.at("tidemark_store_put_bytes_total") - before.at("tidemark_store_put_bytes_total");
  };
  Progress progress("restart: megabytes of log", options.log_bytes / 1'000'000);
  double bytes = 0;
  std::int64_t sent = 0;
  while (bytes < static_cast<double>(options.log_bytes)) {
    FillPlan plan;
    plan.in_flight = kWriterInFlight;
    plan.text_bytes = options.text_bytes;
    for (int i = 0; i < kWriters; ++i)
      plan.jobs.push_back(
          {links[static_cast<std::size_t>(i)].get(), world->user("receiver", i), kLookEvery / kWriters});
    Progress silent(fmt::format("restart: message {}", sent));
    TM_TRY(fill(*world, plan, silent));
    sent += kLookEvery;
    TM_ASSIGN(bytes, logged());
    progress.at(static_cast<std::int64_t>(bytes) / 1'000'000);
  }
  progress.done();
  links.clear();

  Histogram to_listen;
  Histogram to_ack;
  const int rounds = std::max(1, options.rounds / 4);
  for (int round = 0; round < rounds; ++round) {
    world->kill_server();
    const std::int64_t begin = now_ns();
    TM_TRY(world->start_again());
    to_listen.add(now_ns() - begin);
    TM_ASSIGN(auto link, world->make_link(world->user("sender", 0), "phone",
                                          [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
    TM_TRY(link->start());
    TM_TRY(world->loop().run_until([&] { return link->welcomed(); }, kPatienceNs, "a welcome after the crash"));
    MessageMaker maker(options.text_bytes);
    pb::ClientFrame frame;
    maker.fill(frame, 1, world->user("receiver", 0), 0);
    TM_TRY(world->call(*link, frame));
    to_ack.add(now_ns() - begin);
  }
  report.figure("log_bytes", "log since the last marker, as put", bytes / 1e6, "MB");
  report.figure("messages", "messages in it", static_cast<double>(sent), "");
  report.latency("listen", "kill -9 to listening", std::move(to_listen), std::nullopt, 50);
  report.latency("ack", "kill -9 to the first acknowledged message", std::move(to_ack), at_most(kRestartTargetMs), 50);
  return {};
}

}  // namespace tidemark::bench
