// The list of a user with thousands of conversations, each with an unread message: its first 50, as a screen asks for
// them.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/clock.h"
#include "apps/bench/filler.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr int kFriendsAtOnce = 500;
constexpr std::uint32_t kListShown = 50;
constexpr double kListTargetMs = 5;

/// Everyone of them writes to `user` once, and goes.
Result<void> write_from(World& world, const std::string& user, int first, int count, const Options& options) {
  Links friends;
  FillPlan plan;
  plan.text_bytes = options.text_bytes;
  for (int i = 0; i < count; ++i) {
    TM_ASSIGN(auto link, world.make_link(world.user("friend", first + i), "phone",
                                         [](LinkPlan& each) { each.on_hint = OnHint::ignore; }));
    plan.jobs.push_back({link.get(), user, 1});
    friends.push_back(std::move(link));
  }
  TM_TRY(world.connect(friends));
  Progress silent(fmt::format("list: friends {} to {}", first + 1, first + count));
  TM_TRY(fill(world, plan, silent));
  silent.done();
  return {};
}

}  // namespace

Result<void> work_list(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  const std::string user = world->user("popular", 0);
  for (int written = 0; written < options.listed; written += kFriendsAtOnce)
    TM_TRY(write_from(*world, user, written, std::min(kFriendsAtOnce, options.listed - written), options));

  TM_ASSIGN(auto link, world->make_link(user, "phone", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
  TM_TRY(link->start());
  TM_TRY(world->loop().run_until([&] { return link->welcomed(); }, kPatienceNs, "a welcome"));
  Progress progress("list: first 50", options.pages);
  Histogram first;
  Histogram totals;
  for (int i = 0; i < options.pages; ++i) {
    pb::ClientFrame ask;
    ask.mutable_conversations()->set_limit(kListShown);
    std::int64_t begin = now_ns();
    TM_ASSIGN(const pb::ServerFrame list, world->call(*link, ask));
    first.add(now_ns() - begin);
    const auto& shown = list.conversations().conversations();
    if (shown.size() != static_cast<int>(kListShown) ||
        !std::ranges::all_of(shown, [](const v1::Change& each) { return each.unread() == 1; }))
      return trouble("The list does not show 50 conversations with an unread message each.");
    ask.mutable_totals();
    begin = now_ns();
    TM_ASSIGN(const pb::ServerFrame badge, world->call(*link, ask));
    totals.add(now_ns() - begin);
    if (badge.totals().unread() != static_cast<std::uint64_t>(options.listed))
      return trouble(fmt::format("The badge says {} of {}.", badge.totals().unread(), options.listed));
    progress.at(i + 1);
  }
  progress.done();
  const std::string of = fmt::format("of {} conversations with unread: ", options.listed);
  report.latency("first_50", of + "the first 50", std::move(first), at_most(kListTargetMs));
  report.latency("totals", of + "the numbers on the badge", std::move(totals));
  return {};
}

}  // namespace tidemark::bench
