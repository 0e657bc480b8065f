// Durable 1:1 sends. First a closed loop, which finds the maximum: each pair keeps its messages in flight and sends the
// next one when one is acknowledged and delivered. Then an open loop at a part of it: messages leave at their intended
// instants whatever is still under way, and are timed from those instants, so that a stall counts for every message
// that it delayed.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/clock.h"
#include "apps/bench/cpu_watch.h"
#include "apps/bench/messages.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr std::int64_t kDrainNs = 30 * kSecond;
constexpr double kRateTarget = 10'000;
constexpr double kRawShareTarget = 30;
constexpr double kScreenTargetMs = 5;

struct Flight {
  std::int64_t begin_ns = 0;  // closed loop: when it was sent; open loop: when it should have been
  std::size_t pair = 0;
  bool acknowledged = false;
  bool delivered = false;
};

/// What one phase found.
struct Phase {
  std::int64_t from_ns = 0;  // what began or ended before is warm-up
  std::int64_t to_ns = 0;
  std::uint64_t completed = 0;
  Histogram to_ack;
  Histogram to_screen;
};

class SendLoad {
 public:
  SendLoad(World& world, const Options& options) : world_(world), options_(options), maker_(options.text_bytes) {}

  Result<void> set_up() {
    Progress progress("send: connecting pairs", options_.pairs * 2);
    for (int i = 0; i < options_.pairs; ++i) {
      TM_ASSIGN(auto sender, world_.make_link(world_.user("sender", i), "phone"));
      TM_ASSIGN(auto receiver, world_.make_link(world_.user("receiver", i), "phone"));
      sender->on_answer = [this](const pb::ServerFrame& frame) { answered(frame); };
      receiver->on_item = [this](const pb::PushItem& item) { shown(item.entry()); };
      receiver->on_pulled = [this](const v1::Change& change) {
        for (const v1::Message& message : change.messages()) shown(message);
      };
      links_.push_back(std::move(sender));
      links_.push_back(std::move(receiver));
    }
    TM_TRY(world_.connect(links_, [&](std::int64_t welcomed) { progress.at(welcomed); }));
    progress.done();
    return {};
  }

  Result<Phase> closed(Progress& progress) {
    begin_phase();
    sends_go_on_ = true;
    for (std::size_t pair = 0; pair < pairs(); ++pair)
      for (int i = 0; i < options_.in_flight; ++i) send(pair, now_ns());
    while (now_ns() < phase_.to_ns) {
      TM_TRY(world_.loop().turn(phase_.to_ns - now_ns()));
      progress.at((now_ns() - phase_.from_ns) / kSecond);
    }
    sends_go_on_ = false;
    TM_TRY(drain());
    return std::exchange(phase_, {});
  }

  Result<Phase> open(double rate, Progress& progress) {
    begin_phase();
    const std::int64_t begin = phase_.from_ns - kWarmUpNs;
    const auto total = static_cast<std::int64_t>(rate * as_seconds(phase_.to_ns - begin));
    const auto intended = [&](std::int64_t i) {
      return begin + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate);
    };
    for (std::int64_t i = 0; i < total;) {
      for (const std::int64_t now = now_ns(); i < total && intended(i) <= now; ++i)
        send(static_cast<std::size_t>(i) % pairs(), intended(i));
      TM_TRY(world_.loop().turn(intended(i) - now_ns()));
      progress.at((now_ns() - phase_.from_ns) / kSecond);
    }
    TM_TRY(drain());
    return std::exchange(phase_, {});
  }

  std::size_t sent() const { return flights_.size(); }
  std::uint64_t hints() const {
    std::uint64_t hints = 0;
    for (const auto& link : links_) hints += link->hints();
    return hints;
  }

 private:
  std::size_t pairs() const { return links_.size() / 2; }

  void begin_phase() {
    phase_ = {};
    phase_.from_ns = now_ns() + kWarmUpNs;
    phase_.to_ns = phase_.from_ns + options_.seconds * kSecond;
  }

  void send(std::size_t pair, std::int64_t begin_ns) {
    const auto index = static_cast<std::uint32_t>(flights_.size());
    flights_.push_back({begin_ns, pair});
    ++under_way_;
    maker_.fill(frame_, index + 1, links_[2 * pair + 1]->plan().user, index);
    links_[2 * pair]->send(frame_);
  }

  void answered(const pb::ServerFrame& frame) {
    if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
    if (frame.id() == 0 || frame.id() > flights_.size()) return;
    Flight& flight = flights_[frame.id() - 1];
    if (std::exchange(flight.acknowledged, true)) return;
    note(flight, phase_.to_ack);
  }

  void shown(const v1::Message& message) {
    const auto index = index_of(message.body().text());
    if (!index || *index >= flights_.size()) return;
    Flight& flight = flights_[*index];
    if (std::exchange(flight.delivered, true)) return;  // pushed again
    note(flight, phase_.to_screen);
  }

  void note(const Flight& flight, Histogram& histogram) {
    const std::int64_t now = now_ns();
    if (flight.begin_ns >= phase_.from_ns && flight.begin_ns < phase_.to_ns) histogram.add(now - flight.begin_ns);
    if (!flight.acknowledged || !flight.delivered) return;
    --under_way_;
    if (now >= phase_.from_ns && now < phase_.to_ns) ++phase_.completed;
    if (sends_go_on_) send(flight.pair, now);
  }

  Result<void> drain() {
    return world_.loop().run_until([this] { return under_way_ == 0; }, kDrainNs,
                                   "a message was not acknowledged, or not shown to the other");
  }

  World& world_;
  const Options& options_;
  MessageMaker maker_;
  Links links_;  // sender, receiver, sender, receiver ...
  pb::ClientFrame frame_;
  std::vector<Flight> flights_;
  std::size_t under_way_ = 0;
  bool sends_go_on_ = false;
  Phase phase_;
};

void report_cpu(const std::string& phase, const CpuShares& cpu, double messages, Report& report) {
  report.figure(phase + "_client_cpu", fmt::format("{} loop: client's thread", phase), cpu.client * 100, "% busy");
  report.figure(phase + "_client_us", fmt::format("{} loop: client's processor time per message", phase),
                cpu.client_s / messages * 1e6, "us");
  if (cpu.server_s > 0)
    report.figure(phase + "_server_us", fmt::format("{} loop: server's processor time per message", phase),
                  cpu.server_s / messages * 1e6, "us");
  std::string threads;
  for (std::size_t i = 0; i < std::min<std::size_t>(cpu.threads.size(), 6); ++i)
    threads += fmt::format("{}{} {:.0f} %", i == 0 ? "; " : ", ", cpu.threads[i].first, cpu.threads[i].second * 100);
  report.remark(fmt::format("processors, {}: client {:.0f} %, server {:.0f} %, others {:.0f} %, idle {:.0f} %{}", phase,
                            cpu.client * 100, cpu.server * 100, cpu.others * 100, cpu.idle * 100, threads));
  if (cpu.client > kClientLimit)
    report.remark(
        fmt::format("THE CLIENT WAS THE LIMIT in the {} loop: its thread was busy {:.0f} % of the time, so the "
                    "server can do more than this says.",
                    phase, cpu.client * 100));
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

}  // namespace

Result<void> work_send(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  SendLoad load(*world, options);
  TM_TRY(load.set_up());

  TM_ASSIGN(const auto before, world->metrics());
  Progress closed_progress("send: closed loop", options.seconds);
  const CpuWatch closed_cpu(world->server_pid());
  TM_ASSIGN(Phase closed, load.closed(closed_progress));
  const CpuShares closed_shares = closed_cpu.shares();
  const double max_rate = static_cast<double>(closed.completed) / options.seconds;
  closed_progress.done(fmt::format("{:.0f} messages/s", max_rate));
  const auto messages = static_cast<double>(load.sent());
  TM_ASSIGN(const auto after, world->metrics());

  const double rate = options.rate > 0 ? options.rate : max_rate * options.load;
  Progress open_progress(fmt::format("send: open loop, {:.0f}/s", rate), options.seconds);
  const CpuWatch open_cpu(world->server_pid());
  TM_ASSIGN(Phase open, load.open(rate, open_progress));
  const CpuShares open_shares = open_cpu.shares();
  open_progress.done();

  report.figure("max_rate", "durable sends, acknowledged and shown", max_rate, "msg/s", at_least(kRateTarget));
  report.latency("max_screen", "at the maximum: send to other's screen", std::move(closed.to_screen));
  report.figure("open_rate", "open loop at", rate, "msg/s");
  report.latency("ack", "open loop: send to ack", std::move(open.to_ack));
  report.latency("screen", "open loop: send to other's screen", std::move(open.to_screen), at_most(kScreenTargetMs));
  report_store(before, after, messages, report);
  TM_ASSIGN(const RawLimit raw, measure_raw(world->scratch(), std::max(1, options.seconds / 3), report));
  report.figure("raw_share", "the server reaches of the raw limit", max_rate / raw.rate * 100, "%",
                at_least(kRawShareTarget));
  report_cpu("closed", closed_shares, messages, report);
  report_cpu("open", open_shares, static_cast<double>(load.sent()) - messages, report);
  if (load.hints() > 0)
    report.remark(fmt::format("links were told to pull {} times; what they pulled counts as shown", load.hints()));
  return {};
}

}  // namespace tidemark::bench
