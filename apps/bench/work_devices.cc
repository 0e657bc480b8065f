// Three devices of each user: what one of a pair sends is shown on the other's three and on the sender's other two.
#include <fmt/format.h>

#include "apps/bench/load.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr int kDevices = 3;
constexpr int kScreens = 2 * kDevices - 1;  // all but the one that sends
constexpr double kDevicesTarget = 150'000;

}  // namespace

Result<void> work_devices(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  Progress connecting("devices: connecting", std::int64_t{options.pairs} * 2 * kDevices);
  Links links;  // of each pair the sender's devices, then the receiver's
  for (int pair = 0; pair < options.pairs; ++pair)
    for (const char* role : {"sender", "receiver"})
      for (int device = 0; device < kDevices; ++device) {
        TM_ASSIGN(auto link, world->make_link(world->user(role, pair), fmt::format("device{}", device)));
        links.push_back(std::move(link));
      }
  TM_TRY(world->connect(links, [&](std::int64_t welcomed) { connecting.at(welcomed); }));
  connecting.done();

  LoadPlan plan;
  plan.in_flight = options.in_flight;
  plan.screens = kScreens;
  plan.seconds = options.seconds;
  plan.text_bytes = options.text_bytes;
  for (std::size_t first = 0; first < links.size(); first += 2 * kDevices)
    plan.routes.push_back({links[first].get(), links[first + kDevices]->plan().user});
  Load load(*world, plan);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto place = static_cast<unsigned>(i % (2 * kDevices));
    if (place == 0)
      load.take_answers(*links[i]);
    else
      load.take_screen(*links[i], place);
  }
  Progress progress("devices: closed loop", options.seconds);
  const CpuWatch cpu(world->server_pid());
  TM_ASSIGN(Phase phase, load.closed(progress));
  const CpuShares shares = cpu.shares();
  const double deliveries = static_cast<double>(phase.deliveries) / options.seconds;
  progress.done(fmt::format("{:.0f} deliveries/s", deliveries));

  report.figure("deliveries", "shown on devices other than the one that sent", deliveries, "1/s",
                at_least(kDevicesTarget));
  report.figure("max_rate", "durable sends, acknowledged and shown on all",
                static_cast<double>(phase.completed) / options.seconds, "msg/s");
  report.latency("screen", "send to the last of the screens", std::move(phase.to_screen));
  report_cpu("closed", shares, static_cast<double>(load.sent()), report);
  return {};
}

}  // namespace tidemark::bench
