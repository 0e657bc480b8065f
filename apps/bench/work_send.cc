// Durable 1:1 sends between pairs: the maximum in a closed loop, then open loops at a quarter and at half of it.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/load.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr double kRateTarget = 10'000;
constexpr double kRawShareTarget = 30;
constexpr double kScreenTargetMs = 5;
constexpr double kQuarter = 0.25;

/// Two links for each pair: sender, receiver, sender, receiver ...
Result<Links> connect_pairs(World& world, const Options& options) {
  Progress progress("send: connecting pairs", options.pairs * 2);
  Links links;
  for (int i = 0; i < options.pairs; ++i)
    for (const char* role : {"sender", "receiver"}) {
      TM_ASSIGN(auto link, world.make_link(world.user(role, i), "phone"));
      links.push_back(std::move(link));
    }
  TM_TRY(world.connect(links, [&](std::int64_t welcomed) { progress.at(welcomed); }));
  progress.done();
  return links;
}

LoadPlan plan_of(const Options& options, const Links& links) {
  LoadPlan plan;
  plan.in_flight = options.in_flight;
  plan.seconds = options.seconds;
  plan.text_bytes = options.text_bytes;
  for (std::size_t i = 0; i < links.size(); i += 2) plan.routes.push_back({links[i].get(), links[i + 1]->plan().user});
  return plan;
}

void report_store(const std::map<std::string, double>& before, const std::map<std::string, double>& after,
                  double messages, Report& report) {
  const auto grown = [&](const std::string& name) {
    const auto from = before.find(name);
    const auto to = after.find(name);
    return from == before.end() || to == after.end() ? 0 : to->second - from->second;
  };
  report.figure("puts_per_message", "puts per message", grown("tidemark_store_puts_total") / messages, "");
  report.figure("put_bytes_per_message", "bytes put per message", grown("tidemark_store_put_bytes_total") / messages,
                "B");
  report.figure("round_size", "mean size of a commit round",
                grown("tidemark_commands_total") / std::max(1.0, grown("tidemark_rounds_total")), "commands");
}

Result<void> open_loop(World& world, Load& load, const std::string& key, double rate, Report& report) {
  Progress progress(fmt::format("send: open loop, {:.0f}/s", rate));
  const std::size_t before = load.sent();
  const CpuWatch cpu(world.server_pid());
  TM_ASSIGN(Phase phase, load.open(rate, progress));
  const CpuShares shares = cpu.shares();
  progress.done();
  const std::string text = fmt::format("at {:.0f}/s: ", rate);
  report.figure(key + "_rate", "open loop at", rate, "msg/s");
  report.latency(key + "_ack", text + "send to ack", std::move(phase.to_ack));
  report.latency(key + "_screen", text + "send to other's screen", std::move(phase.to_screen),
                 at_most(kScreenTargetMs));
  report_cpu(key, shares, static_cast<double>(load.sent() - before), report);
  return {};
}

}  // namespace

Result<void> work_send(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  TM_ASSIGN(const Links links, connect_pairs(*world, options));
  Load load(*world, plan_of(options, links));
  for (std::size_t i = 0; i < links.size(); i += 2) {
    load.take_answers(*links[i]);
    load.take_screen(*links[i + 1], 0);
  }

  TM_ASSIGN(const auto before, world->metrics());
  Progress progress("send: closed loop", options.seconds);
  const CpuWatch cpu(world->server_pid());
  TM_ASSIGN(Phase closed, load.closed(progress));
  const CpuShares shares = cpu.shares();
  const double max_rate = static_cast<double>(closed.completed) / options.seconds;
  progress.done(fmt::format("{:.0f} messages/s", max_rate));
  const auto messages = static_cast<double>(load.sent());
  TM_ASSIGN(const auto after, world->metrics());

  report.figure("max_rate", "durable sends, acknowledged and shown", max_rate, "msg/s", at_least(kRateTarget));
  if (const auto redis = report.value("redis", "max_rate"))
    report.figure("of_redis", "times Redis Streams, always synced, in the same run", max_rate / *redis, "",
                  at_least(1));
  report.latency("max_screen", "at the maximum: send to other's screen", std::move(closed.to_screen));
  report_cpu("closed", shares, messages, report);
  report_store(before, after, messages, report);

  if (options.rate > 0) {
    TM_TRY(open_loop(*world, load, "open", options.rate, report));
  } else {
    TM_TRY(open_loop(*world, load, "quarter", max_rate * kQuarter, report));
    TM_TRY(open_loop(*world, load, "open", max_rate * options.load, report));
  }

  TM_ASSIGN(const RawLimit raw, measure_raw(world->scratch(), std::max(1, options.seconds / 3), report));
  report.figure("raw_share", "the server reaches of the raw limit", max_rate / raw.rate * 100, "%",
                at_least(kRawShareTarget));
  std::uint64_t hints = 0;
  for (const auto& link : links) hints += link->hints();
  if (hints > 0)
    report.remark(fmt::format("links were told to pull {} times; what they pulled counts as shown", hints));
  return {};
}

}  // namespace tidemark::bench
