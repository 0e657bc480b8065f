// The five figures by which the field compares chat servers, against its targets: offline pull within 500 ms, history
// query within 200 ms, device sync within 1 s, read sync within 2 s, every repeated send recognised.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "apps/bench/clock.h"
#include "apps/bench/filler.h"
#include "apps/bench/messages.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "core/conversation_id.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr int kPullUsers = 20;
constexpr int kPullSenders = 10;
constexpr int kPullEach = 50;  // messages of each sender to each user
constexpr int kHistoryMessages = 10'000;
constexpr int kHistoryQueries = 500;
constexpr int kDevices = 3;
constexpr int kSyncs = 200;
constexpr int kDedupIds = 1'000;

class Field {
 public:
  Field(World& world, const Options& options) : world_(world), options_(options), maker_(options.text_bytes) {}

  Result<Histogram> offline_pull();
  Result<Histogram> history_query();
  Result<Histogram> device_sync();
  Result<Histogram> read_sync();
  Result<double> dedup_rate();

 private:
  Result<std::unique_ptr<Link>> online(const std::string& user, const std::string& device,
                                       const std::function<void(LinkPlan&)>& change = {}) {
    TM_ASSIGN(auto link, world_.make_link(user, device, change));
    TM_TRY(link->start());
    TM_TRY(world_.loop().run_until([&] { return link->welcomed(); }, kPatienceNs, "a login"));
    return link;
  }
  Result<void> go_online(const std::string& role, Links& links) {
    for (int i = 0; i < kDevices; ++i) {
      TM_ASSIGN(auto link, online(world_.user(role, 0), fmt::format("device{}", i)));
      links.push_back(std::move(link));
    }
    return {};
  }
  ConversationId conversation(const std::string& role_a, const std::string& role_b) const {
    return single_conversation(UserId(world_.user(role_a, 0)), UserId(world_.user(role_b, 0)));
  }
  Result<std::uint64_t> count_messages(Link& link, const ConversationId& id);

  World& world_;
  const Options& options_;
  MessageMaker maker_;
};

Result<Histogram> Field::offline_pull() {
  constexpr int kBacklog = kPullSenders * kPullEach;
  Progress filling("field: messages for users who are away", std::int64_t{kPullUsers} * kBacklog);
  FillPlan plan;
  Links senders;
  for (int i = 0; i < kPullSenders; ++i) {
    TM_ASSIGN(auto link,
              online(world_.user("pull-sender", i), "phone", [](LinkPlan& p) { p.on_hint = OnHint::ignore; }));
    for (int user = 0; user < kPullUsers; ++user)
      plan.jobs.push_back({link.get(), world_.user("pull", user), kPullEach});
    senders.push_back(std::move(link));
  }
  TM_TRY(fill(world_, plan, filling));
  filling.done();
  senders.clear();

  Progress progress("field: offline pull", kPullUsers);
  Histogram histogram;
  for (int user = 0; user < kPullUsers; ++user) {
    TM_ASSIGN(auto link, world_.make_link(world_.user("pull", user), "phone"));
    int came = 0;
    link->on_pulled = [&](const v1::Change& change) { came += change.messages_size(); };
    const std::int64_t begin = now_ns();
    TM_TRY(link->start());  // connecting and logging in are part of it
    TM_TRY(world_.loop().run_until([&] { return came >= kBacklog; }, kPatienceNs, "offline messages"));
    histogram.add(now_ns() - begin);
    if (came != kBacklog) return trouble(fmt::format("{} offline messages came instead of {}.", came, kBacklog));
    progress.at(user + 1);
  }
  progress.done();
  return histogram;
}

Result<Histogram> Field::history_query() {
  Progress filling("field: a conversation to look back in", kHistoryMessages);
  TM_ASSIGN(auto link,
            online(world_.user("talker", 0), "phone", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
  TM_TRY(
      fill(world_, {{{link.get(), world_.user("listener", 0), kHistoryMessages}}, 200, options_.text_bytes}, filling));
  filling.done();
  Progress progress("field: history query", kHistoryQueries);
  const ConversationId id = conversation("talker", "listener");
  std::minstd_rand dice(11);
  Histogram histogram;
  for (int i = 0; i < kHistoryQueries; ++i) {
    pb::ClientFrame frame;
    frame.mutable_history()->set_conversation_id(id.value);
    frame.mutable_history()->set_before(51 + dice() % (kHistoryMessages - 51));
    const std::int64_t begin = now_ns();
    TM_ASSIGN(const pb::ServerFrame answer, world_.call(*link, frame));
    histogram.add(now_ns() - begin);
    if (answer.history().messages_size() != 50) return trouble("A page of history is not full.");
    progress.at(i + 1);
  }
  progress.done();
  return histogram;
}

Result<Histogram> Field::device_sync() {
  Progress progress("field: device sync", kSyncs);
  Links devices;
  TM_TRY(go_online("ann", devices));
  TM_TRY(go_online("ben", devices));
  std::set<Link*> shown;
  std::uint32_t expected = 0;
  for (const auto& link : devices)
    link->on_item = [&, link = link.get()](const pb::PushItem& item) {
      if (index_of(item.entry().body().text()) == expected) shown.insert(link);
    };
  Histogram histogram;
  pb::ClientFrame frame;
  for (int i = 0; i < kSyncs; ++i) {
    shown.clear();
    expected = static_cast<std::uint32_t>(i);
    maker_.fill(frame, 1, world_.user("ben", 0), expected);
    const std::int64_t begin = now_ns();
    TM_TRY(world_.call(*devices[0], frame));
    TM_TRY(world_.loop().run_until([&] { return shown.size() == devices.size(); }, kPatienceNs,
                                   "a message reaches all devices"));
    histogram.add(now_ns() - begin);
    progress.at(i + 1);
  }
  progress.done();
  return histogram;
}

Result<Histogram> Field::read_sync() {
  TM_ASSIGN(auto writer, online(world_.user("cas", 0), "phone"));
  Progress filling("field: messages to read");
  TM_TRY(fill(world_, {{{writer.get(), world_.user("dee", 0), kSyncs}}, 16, options_.text_bytes}, filling));
  filling.done();
  Progress progress("field: read sync", kSyncs);
  const ConversationId id = conversation("cas", "dee");
  Links devices;
  TM_TRY(go_online("dee", devices));
  // A device that has pulled what came before is pushed to.
  TM_TRY(world_.loop().run_until(
      [&] { return std::ranges::all_of(devices, [](const auto& link) { return link->position().mark > 0; }); },
      kPatienceNs, "devices pull"));
  std::set<Link*> told;
  std::uint64_t expected = 0;
  for (const auto& link : devices)
    link->on_item = [&, link = link.get()](const pb::PushItem& item) {
      if (item.has_summary() && item.summary().read_seq() == expected) told.insert(link);
    };
  Histogram histogram;
  for (int i = 0; i < kSyncs; ++i) {
    told.clear();
    expected = static_cast<std::uint64_t>(i) + 1;
    pb::ClientFrame frame;
    v1::MutateRequest& mutate = *frame.mutable_mutate();
    mutate.set_number(expected);
    mutate.mutable_read()->set_conversation_id(id.value);
    mutate.mutable_read()->set_seq(expected);
    const std::int64_t begin = now_ns();
    TM_TRY(world_.call(*devices[0], frame));
    TM_TRY(world_.loop().run_until([&] { return told.size() >= devices.size() - 1; }, kPatienceNs,
                                   "a read mark reaches all devices"));
    histogram.add(now_ns() - begin);
    progress.at(i + 1);
  }
  progress.done();
  return histogram;
}

Result<std::uint64_t> Field::count_messages(Link& link, const ConversationId& id) {
  std::uint64_t count = 0;
  std::string token;
  do {
    pb::ClientFrame frame;
    frame.mutable_history()->set_conversation_id(id.value);
    frame.mutable_history()->set_limit(200);
    frame.mutable_history()->set_page_token(token);
    TM_ASSIGN(const pb::ServerFrame answer, world_.call(link, frame));
    count += static_cast<std::uint64_t>(answer.history().messages_size());
    token = answer.history().end() ? std::string() : answer.history().page_token();
  } while (!token.empty());
  return count;
}

/// Each id goes out four times: twice at once on one link, at the same time from another device, and once more after
/// everything was acknowledged. All answers must name one place, and the log must hold each message once.
Result<double> Field::dedup_rate() {
  Progress progress("field: repeated sends", kDedupIds);
  Links devices;
  TM_TRY(go_online("eve", devices));
  std::vector<std::set<std::uint64_t>> places(kDedupIds);
  std::size_t answers = 0;
  for (const auto& link : devices)
    link->on_answer = [&](const pb::ServerFrame& frame) {
      if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
      ++answers;
      if (frame.id() > 0 && frame.id() <= places.size()) places[frame.id() - 1].insert(frame.sent().seq());
    };
  constexpr std::size_t kAtOnce = 3;
  std::size_t sent = 0;
  std::vector<pb::ClientFrame> frames(kDedupIds);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    maker_.fill(frames[i], i + 1, world_.user("fay", 0), static_cast<std::uint32_t>(i));
    for (std::size_t copy = 0; copy < kAtOnce; ++copy) devices[copy / 2]->send(frames[i]);
    sent += kAtOnce;
    TM_TRY(world_.loop().run_until([&] { return sent - answers < 150; }, kPatienceNs, "repeated sends are answered"));
    progress.at(static_cast<std::int64_t>(i));
  }
  TM_TRY(world_.loop().run_until([&] { return answers == sent; }, kPatienceNs, "repeated sends are answered"));
  for (const pb::ClientFrame& frame : frames) {
    devices[2]->send(frame);
    ++sent;
    TM_TRY(world_.loop().run_until([&] { return sent - answers < 150; }, kPatienceNs, "late repeats are answered"));
  }
  TM_TRY(world_.loop().run_until([&] { return answers == sent; }, kPatienceNs, "late repeats are answered"));
  progress.done();
  for (const auto& link : devices) link->on_answer = nullptr;
  TM_ASSIGN(const std::uint64_t stored, count_messages(*devices[0], conversation("eve", "fay")));
  const auto doubled =
      static_cast<std::uint64_t>(std::ranges::count_if(places, [](const auto& each) { return each.size() != 1; }));
  const std::uint64_t wrong = std::max(doubled, stored > kDedupIds ? stored - kDedupIds : kDedupIds - stored);
  const double repeats = static_cast<double>(sent - kDedupIds);
  return 100.0 * (repeats - static_cast<double>(wrong)) / repeats;
}

}  // namespace

Result<void> work_field(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  Field field(*world, options);
  TM_ASSIGN(Histogram pull, field.offline_pull());
  TM_ASSIGN(Histogram query, field.history_query());
  TM_ASSIGN(Histogram devices, field.device_sync());
  TM_ASSIGN(Histogram reads, field.read_sync());
  TM_ASSIGN(const double dedup, field.dedup_rate());
  report.latency("offline_pull", fmt::format("offline pull of {} messages", kPullSenders * kPullEach), std::move(pull),
                 at_most(500));
  report.latency("history_query", "history query, 50 messages", std::move(query), at_most(200));
  report.latency("device_sync", fmt::format("device sync, {} devices of two users", 2 * kDevices), std::move(devices),
                 at_most(1'000));
  report.latency("read_sync", fmt::format("read sync, {} devices", kDevices), std::move(reads), at_most(2'000));
  report.figure("dedup_rate", "dedup rate", dedup, "%", at_least(100));
  return {};
}

}  // namespace tidemark::bench
