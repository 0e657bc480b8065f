// A catch-up storm: thousands of devices, away for a while, come back within two seconds, while other people's messages
// go on. Each has to learn what it missed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/bench/filler.h"
#include "apps/bench/load.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr int kMissed = 5;  // messages for each device
constexpr int kStormFriends = 50;
constexpr int kFriendInFlight = 200;
constexpr int kStormPerAddress = 2'500;   // as if they came from several machines
constexpr double kMeanwhileRate = 5'000;  // of what goes on meanwhile
constexpr std::int64_t kBeginNs = 2 * kSecond;
constexpr std::int64_t kComeBackNs = 2 * kSecond;
constexpr double kStormTargetMs = 5'000;

/// The devices of the storm, each of a user of its own.
class Crowd {
 public:
  Crowd(World& world, const Options& options) : world_(world), options_(options) {}

  /// All log in once and go: they have a cursor then, and miss what is sent.
  Result<void> leave_and_miss() {
    Links friends;
    for (int i = 0; i < kStormFriends; ++i) {
      TM_ASSIGN(auto link, world_.make_link(world_.user("friend", i), "phone",
                                            [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
      friends.push_back(std::move(link));
    }
    TM_TRY(world_.connect(friends));
    TM_TRY(send_to_all(friends, 1, "storm: a first message for each"));
    TM_TRY(see_first());
    TM_TRY(send_to_all(friends, kMissed, "storm: what they miss"));
    return {};
  }

  /// Starts those that are due at this instant of the storm.
  Result<void> come(std::int64_t since_ns) {
    const auto all = static_cast<std::int64_t>(positions_.size());
    const std::int64_t due = std::clamp<std::int64_t>(all * since_ns / kComeBackNs, 0, all);
    for (auto i = static_cast<std::int64_t>(back_.size()); i < due; ++i) {
      TM_ASSIGN(auto link, world_.make_link(member(static_cast<int>(i)), "phone", [&](LinkPlan& plan) {
        plan.position = positions_[static_cast<std::size_t>(i)];
        plan.source = source(static_cast<int>(i));
      }));
      auto device = std::make_shared<Device>(Device{now_ns()});
      // The server sends what is still in its memory at once, and tells a device to pull what is not.
      link->on_item = [this, device](const pb::PushItem& item) { show(*device, item.entry()); };
      link->on_pulled = [this, device](const v1::Change& change) {
        for (const v1::Message& message : change.messages()) show(*device, message);
      };
      TM_TRY(link->start());
      back_.push_back(std::move(link));
    }
    return {};
  }

  bool all_in_step() const { return in_step_ == positions_.size(); }
  std::size_t in_step() const { return in_step_; }
  std::int64_t last_ns() const { return last_ns_; }
  Histogram each() const { return each_; }

 private:
  struct Device {
    std::int64_t begun_ns = 0;
    std::uint64_t last_seq = 1;  // of the conversation with its friend; the first message was seen before
  };

  void show(Device& device, const v1::Message& message) {
    if (message.seq() != device.last_seq + 1) return;
    if (++device.last_seq != 1 + kMissed) return;
    ++in_step_;
    last_ns_ = now_ns();
    each_.add(last_ns_ - device.begun_ns);
  }

  std::string member(int i) const { return world_.user("member", i); }
  static std::string source(int i) { return fmt::format("127.0.0.{}", 2 + i / kStormPerAddress % 250); }

  Result<void> send_to_all(const Links& friends, int each, const std::string& step) {
    Progress progress(step, std::int64_t{each} * options_.connections);
    FillPlan plan;
    plan.in_flight = kFriendInFlight;
    plan.text_bytes = options_.text_bytes;
    for (int i = 0; i < options_.connections; ++i)
      plan.jobs.push_back({friends[static_cast<std::size_t>(i % kStormFriends)].get(), member(i), each});
    TM_TRY(fill(world_, plan, progress));
    progress.done();
    return {};
  }

  Result<void> see_first() {
    Progress progress("storm: everybody has been here once", options_.connections);
    Links links;
    for (int i = 0; i < options_.connections; ++i) {
      TM_ASSIGN(auto link, world_.make_link(member(i), "phone", [&](LinkPlan& plan) { plan.source = source(i); }));
      links.push_back(std::move(link));
    }
    TM_TRY(world_.connect(links, [&](std::int64_t welcomed) { progress.at(welcomed); }));
    TM_TRY(world_.loop().run_until(
        [&] { return std::ranges::all_of(links, [](const auto& each) { return each->position().mark > 0; }); },
        kPatienceNs, "everybody pulls a first message"));
    progress.done();
    for (const auto& link : links) {
      positions_.push_back(link->position());
      link->drop();
    }
    return {};
  }

  World& world_;
  const Options& options_;
  std::vector<Position> positions_;
  Links back_;
  std::size_t in_step_ = 0;
  std::int64_t last_ns_ = 0;
  Histogram each_;
};

}  // namespace

Result<void> work_storm(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  Crowd crowd(*world, options);
  TM_TRY(crowd.leave_and_miss());

  Links links;
  LoadPlan plan;
  plan.seconds = std::max(options.seconds, 9);
  plan.text_bytes = options.text_bytes;
  for (int i = 0; i < options.pairs; ++i)
    for (const char* role : {"sender", "receiver"}) {
      TM_ASSIGN(auto link, world->make_link(world->user(role, i), "phone"));
      links.push_back(std::move(link));
    }
  TM_TRY(world->connect(links));
  for (std::size_t i = 0; i < links.size(); i += 2) plan.routes.push_back({links[i].get(), links[i + 1]->plan().user});
  Load load(*world, plan);
  for (std::size_t i = 0; i < links.size(); i += 2) {
    load.take_answers(*links[i]);
    load.take_screen(*links[i + 1], 0);
  }
  Progress progress(fmt::format("storm: {} devices come back", options.connections));
  const std::int64_t storm_ns = now_ns() + kBeginNs;
  const CpuWatch cpu(world->server_pid());
  TM_ASSIGN(Phase phase,
            load.open(kMeanwhileRate, progress, [&]() -> Result<void> { return crowd.come(now_ns() - storm_ns); }));
  const CpuShares shares = cpu.shares();
  TM_TRY(world->loop().run_until([&] { return crowd.all_in_step(); }, kPatienceNs, "a device is not in step"));
  progress.done();
  report.figure("devices", "devices that come back within two seconds", options.connections, "");
  report.figure("in_step", "the first connects to the last is in step", as_ms(crowd.last_ns() - storm_ns), "ms",
                at_most(kStormTargetMs));
  report.latency("each", "a device: connecting to in step", crowd.each());
  report.latency("screen", fmt::format("meanwhile, at {:.0f}/s: send to other's screen", kMeanwhileRate),
                 std::move(phase.to_screen));
  report_cpu("storm", shares, static_cast<double>(load.sent()), report);
  return {};
}

}  // namespace tidemark::bench
