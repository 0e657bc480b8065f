// Sends spread over many conversations, one in flight in each: every sender writes to every receiver. Rounds meet
// another conversation with each message, so that nothing of one serves the next.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/filler.h"
#include "apps/bench/load.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr int kReceiversMax = 200;  // a sender has so many in flight: the server takes 256
constexpr double kOfSendTarget = 50;

}  // namespace

Result<void> work_spread(const Options& options, Report& report) {
  Options own = options;
  // All of them are under way at once, five times what the server lets wait.
  own.settings.insert(own.settings.begin(), fmt::format("limits.commit_queue_max={}", 2 * options.conversations));
  TM_ASSIGN(const auto world, World::open(own));
  const int receivers = std::min(kReceiversMax, options.conversations);
  const int senders = std::max(1, options.conversations / receivers);
  Progress connecting("spread: connecting", senders + receivers);
  Links links;
  for (int i = 0; i < senders + receivers; ++i) {
    const bool sends = i < senders;
    TM_ASSIGN(auto link,
              world->make_link(world->user(sends ? "sender" : "receiver", sends ? i : i - senders), "phone"));
    links.push_back(std::move(link));
  }
  TM_TRY(world->connect(links, [&](std::int64_t welcomed) { connecting.at(welcomed); }));
  connecting.done();

  LoadPlan plan;
  plan.in_flight = 1;
  plan.seconds = options.seconds;
  plan.text_bytes = options.text_bytes;
  for (int sender = 0; sender < senders; ++sender)
    for (int receiver = 0; receiver < receivers; ++receiver)
      plan.routes.push_back({links[static_cast<std::size_t>(sender)].get(), world->user("receiver", receiver)});
  Load load(*world, plan);
  // Each conversation begins before anything is measured.
  FillPlan begin;
  begin.in_flight = kReceiversMax;
  begin.text_bytes = options.text_bytes;
  for (const Route& route : plan.routes) begin.jobs.push_back({route.sender, route.to, 1});
  Progress beginning("spread: first messages", static_cast<std::int64_t>(begin.jobs.size()));
  TM_TRY(fill(*world, begin, beginning));
  beginning.done();
  for (int i = 0; i < senders + receivers; ++i) {
    Link& link = *links[static_cast<std::size_t>(i)];
    if (i < senders)
      load.take_answers(link);
    else
      load.take_screen(link, 0);
  }
  Progress progress(fmt::format("spread: {} conversations", plan.routes.size()), options.seconds);
  const CpuWatch cpu(world->server_pid());
  TM_ASSIGN(Phase phase, load.closed(progress));
  const CpuShares shares = cpu.shares();
  const double rate = static_cast<double>(phase.completed) / options.seconds;
  progress.done(fmt::format("{:.0f} messages/s", rate));

  report.figure("conversations", "conversations, one message in flight in each",
                static_cast<double>(plan.routes.size()), "");
  report.figure("max_rate", "durable sends, acknowledged and shown", rate, "msg/s");
  if (const auto pairs = report.value("send", "max_rate"))
    report.figure("of_send", "of the sends between pairs in the same run", rate / *pairs * 100, "%",
                  at_least(kOfSendTarget));
  report.latency("screen", "send to other's screen", std::move(phase.to_screen));
  report_cpu("closed", shares, static_cast<double>(load.sent()), report);
  return {};
}

}  // namespace tidemark::bench
