// A group whose members are online and have it open: what is said is shown on a thousand screens. Once a group of
// these members alone, once one of 100,000 of whom as many are online.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/load.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr int kOnlineSenders = 8;
constexpr int kJoinAtOnce = 1'000;  // members named in one call
constexpr int kAllMembers = 100'000;
constexpr int kSenderInFlight = 4;  // of each sender
constexpr double kOnlineTarget = 200'000;
constexpr double kRatioTarget = 1.5;

struct Shown {
  double deliveries = 0;
  double server_us = 0;  // for a delivery
};

class OnlineGroup {
 public:
  OnlineGroup(World& world, const Options& options, int members)
      : world_(world), options_(options), members_(members), last_seq_(static_cast<std::size_t>(options.online)) {}

  Result<Shown> run(const std::string& key, Report& report) {
    TM_TRY(make_group());
    TM_TRY(connect());
    LoadPlan plan;
    plan.in_flight = kSenderInFlight;
    plan.screens = options_.online - kOnlineSenders;
    plan.seconds = options_.seconds;
    plan.text_bytes = options_.text_bytes;
    for (int i = 0; i < kOnlineSenders; ++i)
      plan.routes.push_back({links_[static_cast<std::size_t>(i)].get(), {}, group_});
    Load load(world_, plan);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (i < kOnlineSenders)
        load.take_answers(*links_[i]);
      else
        take_screen(load, i);
    }
    Progress progress(fmt::format("online: a group of {}, {} online", members_, options_.online), options_.seconds);
    const CpuWatch cpu(world_.server_pid());
    TM_ASSIGN(Phase phase, load.closed(progress));
    const CpuShares shares = cpu.shares();
    Shown shown;
    shown.deliveries = static_cast<double>(phase.deliveries) / options_.seconds;
    progress.done(fmt::format("{:.0f} deliveries/s", shown.deliveries));
    const auto messages = static_cast<double>(load.sent());
    shown.server_us = shares.server_s / messages * 1e6;
    const std::string text = fmt::format("{} members, {} online: ", members_, options_.online);
    report.figure(key + "_deliveries", text + "shown", shown.deliveries, "1/s", at_least(kOnlineTarget));
    report.figure(key + "_rate", text + "messages", static_cast<double>(phase.completed) / options_.seconds, "msg/s");
    report.latency(key + "_screen", text + "send to the last screen", std::move(phase.to_screen));
    report_cpu(key, shares, messages, report);
    return shown;
  }

 private:
  std::string member(int i) const { return world_.user(fmt::format("m{}x", members_), i); }

  Result<void> make_group() {
    Progress progress(fmt::format("online: {} members join", members_), members_);
    TM_ASSIGN(owner_, world_.make_link(member(0), "phone", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
    TM_TRY(owner_->start());
    TM_TRY(world_.loop().run_until([&] { return owner_->welcomed(); }, kPatienceNs, "the owner's welcome"));
    pb::ClientFrame create;
    create.mutable_create_group()->set_title("bench");
    TM_ASSIGN(const pb::ServerFrame made, world_.call(*owner_, create));
    group_ = made.group().conversation_id();
    for (int joined = 1; joined <= members_;) {
      pb::ClientFrame add;
      add.mutable_add_members()->set_conversation_id(group_);
      for (int i = 0; i < kJoinAtOnce && joined <= members_; ++i)
        add.mutable_add_members()->add_users(member(joined++));
      TM_TRY(world_.call(*owner_, add));
      progress.at(joined);
    }
    progress.done();
    return world_.wait_until_idle();
  }

  Result<void> connect() {
    Progress progress("online: connecting", options_.online);
    for (int i = 0; i < options_.online; ++i) {
      TM_ASSIGN(auto link, world_.make_link(member(i + 1), "phone"));
      links_.push_back(std::move(link));
    }
    TM_TRY(world_.connect(links_, [&](std::int64_t welcomed) { progress.at(welcomed); }));
    for (const auto& link : links_) {
      pb::ClientFrame focus;
      focus.mutable_focus()->add_conversation_ids(group_);
      TM_TRY(world_.call(*link, focus));
    }
    progress.done();
    return {};
  }

  /// Numbers grow on each link, so one that does not was shown before.
  void take_screen(Load& load, std::size_t screen) {
    links_[screen]->on_item = [this, &load, screen](const pb::PushItem& item) { show(load, screen, item.entry()); };
    links_[screen]->on_pulled = [this, &load, screen](const v1::Change& change) {
      for (const v1::Message& message : change.messages()) show(load, screen, message);
    };
  }
  void show(Load& load, std::size_t screen, const v1::Message& message) {
    if (message.seq() <= last_seq_[screen]) return;
    last_seq_[screen] = message.seq();
    load.shown(message);
  }

  World& world_;
  const Options& options_;
  const int members_;
  std::string group_;
  std::unique_ptr<Link> owner_;
  Links links_;
  std::vector<std::uint64_t> last_seq_;  // of each link
};

}  // namespace

Result<void> work_online(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  TM_ASSIGN(const Shown alone, OnlineGroup(*world, options, options.online).run("alone", report));
  TM_ASSIGN(const Shown among, OnlineGroup(*world, options, kAllMembers).run("among", report));
  if (alone.server_us > 0)
    report.figure("ratio", "cost per message among 100,000 members, of that without them",
                  among.server_us / alone.server_us, "", at_most(kRatioTarget));
  return {};
}

}  // namespace tidemark::bench
