// Coming back to a backlog: a device with a cursor has been away while thousands of messages came, once all in one
// conversation, once spread over a thousand. The clock runs from the moment at which hello is written on an open
// socket.
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

constexpr int kSpread = 1'000;
constexpr std::uint32_t kScreenConversations = 20;
constexpr std::uint32_t kFirst = 50;
constexpr double kFirstTargetMs = 5;
constexpr double kAllTargetMs = 50;
constexpr std::int64_t kRestNs = 20 * kMilli;

class Backlog {
 public:
  Backlog(World& world, const Options& options, int senders)
      : world_(world), options_(options), senders_(senders), user_(world.user(fmt::format("away{}x", senders), 0)) {}

  /// Gives the device a cursor, then lets the messages come while it is away.
  Result<void> make() {
    TM_TRY(connect_senders());
    Progress progress(fmt::format("backlog: {} messages in {} conversation(s)", options_.backlog, senders_),
                      options_.backlog);
    Progress first("backlog: a first message");
    TM_TRY(fill(world_, {{{links_[0].get(), user_, 1}}, 1, options_.text_bytes}, first));
    first.done();
    TM_TRY(take_position());
    FillPlan plan;
    plan.text_bytes = options_.text_bytes;
    plan.in_flight = senders_ == 1 ? 200 : 4;
    for (int i = 0; i < senders_; ++i)
      plan.jobs.push_back({links_[static_cast<std::size_t>(i)].get(), user_, share_of(i)});
    TM_TRY(fill(world_, plan, progress));
    progress.done();
    links_.clear();
    return {};
  }

  Result<void> measure(const std::string& key, const std::string& text, Report& report) {
    Progress progress("backlog: " + text, options_.rounds);
    Histogram screen;
    Histogram first;
    Histogram all;
    for (int i = 0; i < options_.rounds; ++i) {
      TM_TRY(come_back(v1::BODIES_NONE,
                       std::min<std::uint64_t>(kScreenConversations, static_cast<std::uint64_t>(senders_)), screen));
      TM_TRY(come_back(v1::BODIES_RECENT, std::min<std::uint64_t>(kFirst, static_cast<std::uint64_t>(options_.backlog)),
                       first));
      TM_TRY(come_back(v1::BODIES_ALL, static_cast<std::uint64_t>(options_.backlog), all));
      progress.at(i + 1);
    }
    progress.done();
    report.latency(key + "_screen", text + ": first screen", std::move(screen), at_most(kFirstTargetMs), 50);
    report.latency(key + "_first_50", text + ": first 50 messages", std::move(first), at_most(kFirstTargetMs), 50);
    report.latency(key + "_all", text + ": all messages", std::move(all), at_most(kAllTargetMs), 50);
    return {};
  }

 private:
  std::int64_t share_of(int sender) const {
    return options_.backlog / senders_ + (sender < options_.backlog % senders_ ? 1 : 0);
  }

  Result<void> connect_senders() {
    Progress progress("backlog: connecting senders", senders_);
    for (int i = 0; i < senders_; ++i) {
      TM_ASSIGN(auto link, world_.make_link(world_.user(fmt::format("friend{}x", senders_), i), "phone",
                                            [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
      links_.push_back(std::move(link));
    }
    TM_TRY(world_.connect(links_, [&](std::int64_t welcomed) { progress.at(welcomed); }));
    progress.done();
    return {};
  }

  /// Where the device stands before it goes: it has seen the first message.
  Result<void> take_position() {
    TM_ASSIGN(auto link, world_.make_link(user_, "phone"));
    TM_TRY(link->start());
    TM_TRY(world_.loop().run_until([&] { return link->position().mark > 0; }, kPatienceNs,
                                   "a device pulls a first message"));
    position_ = link->position();
    link->drop();
    return {};
  }

  /// The server has put away what the return before has left.
  Result<void> rest() {
    for (const std::int64_t end = now_ns() + kRestNs; now_ns() < end;) TM_TRY(world_.loop().turn(end - now_ns()));
    return {};
  }

  /// One return of the device; `wanted` conversations, or messages, have to come.
  Result<void> come_back(v1::Bodies bodies, std::uint64_t wanted, Histogram& histogram) {
    TM_ASSIGN(auto link, world_.make_link(user_, "phone", [this](LinkPlan& plan) {
      plan.position = position_;
      plan.on_hint = OnHint::ignore;
    }));
    std::uint64_t conversations = 0;
    std::uint64_t messages = 0;
    bool complete = false;
    link->on_answer = [&, link = link.get()](const pb::ServerFrame& frame) {
      if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
      if (!frame.has_sync()) return;
      conversations += static_cast<std::uint64_t>(frame.sync().changes_size());
      for (const v1::Change& change : frame.sync().changes())
        messages += static_cast<std::uint64_t>(change.messages_size());
      complete = bodies != v1::BODIES_ALL || frame.sync().page_token().empty();
      if (!complete) link->send(sync_request(bodies, frame.sync().page_token()));
    };
    TM_TRY(link->start(Link::Start::upgrade_only));
    TM_TRY(world_.loop().run_until([&] { return link->upgraded(); }, kPatienceNs, "an upgrade"));
    TM_TRY(rest());
    const std::int64_t begin = now_ns();
    link->hello();
    link->send(sync_request(bodies, {}));  // behind hello: the server keeps the order, so no round trip is lost
    TM_TRY(world_.loop().run_until([&] { return complete; }, kPatienceNs, "a device comes back"));
    histogram.add(now_ns() - begin);
    link->drop();
    const std::uint64_t came = bodies == v1::BODIES_NONE ? conversations : messages;
    if (came < wanted || (bodies == v1::BODIES_ALL && came != wanted))
      return trouble(
          fmt::format("A device that came back got {} of {}: the server lost or doubled some.", came, wanted));
    return {};
  }

  pb::ClientFrame sync_request(v1::Bodies bodies, const std::string& page_token) const {
    pb::ClientFrame frame;
    frame.set_id(1);
    v1::SyncRequest& sync = *frame.mutable_sync();
    sync.mutable_cursor()->set_epoch(position_.epoch);
    sync.mutable_cursor()->set_epoch_id(position_.epoch_id);
    sync.mutable_cursor()->set_mark(position_.mark);
    sync.mutable_cursor()->set_round(position_.round);
    sync.set_bodies(bodies);
    sync.set_page_token(page_token);
    if (bodies == v1::BODIES_NONE) sync.set_limit(kScreenConversations);
    if (bodies == v1::BODIES_RECENT) {
      const auto each = static_cast<std::uint32_t>(std::max(1, options_.backlog / senders_));
      sync.set_recent(std::min(each, kFirst));
      sync.set_limit((kFirst + sync.recent() - 1) / sync.recent());
    }
    if (bodies == v1::BODIES_ALL) sync.set_byte_budget(1u << 20);
    return frame;
  }

  World& world_;
  const Options& options_;
  const int senders_;
  const std::string user_;
  Links links_;
  Position position_;
};

}  // namespace

Result<void> work_backlog(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  Backlog together(*world, options, 1);
  TM_TRY(together.make());
  TM_TRY(together.measure("one", fmt::format("{} in one conversation", options.backlog), report));
  const int spread = std::min(kSpread, options.backlog);
  Backlog apart(*world, options, spread);
  TM_TRY(apart.make());
  TM_TRY(apart.measure("spread", fmt::format("{} over {} conversations", options.backlog, spread), report));
  return {};
}

}  // namespace tidemark::bench
