// History pages of 50 from a large conversation in a large store: its newest, and from around its middle. A tenth of
// the store's messages are in that conversation, the others in several hundred.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "apps/bench/clock.h"
#include "apps/bench/filler.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "core/conversation_id.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr int kOthers = 32;   // senders of the other conversations
constexpr int kFriends = 32;  // of each of them
constexpr int kInFlight = 160;
constexpr std::uint32_t kPage = 50;
constexpr double kPageTargetMs = 2;

class History {
 public:
  History(World& world, const Options& options)
      : world_(world),
        options_(options),
        large_(options.large > 0 ? std::min(options.large, options.fill) : options.fill / 10) {}

  Result<void> make() {
    for (const int end : {0, 1}) TM_TRY(add_link(world_.user("large", end)));
    for (int i = 0; i < kOthers; ++i) TM_TRY(add_link(world_.user("other", i)));
    TM_TRY(world_.connect(links_));
    Progress progress(fmt::format("history: filling the store with {} messages", options_.fill), options_.fill);
    FillPlan plan;
    plan.in_flight = kInFlight;
    plan.text_bytes = options_.text_bytes;
    // Both ends of the large conversation write, so that it is filled about when the others are.
    plan.jobs.push_back({links_[0].get(), world_.user("large", 1), large_ / 2});
    plan.jobs.push_back({links_[1].get(), world_.user("large", 0), large_ - large_ / 2});
    const std::int64_t rest = options_.fill - large_;
    constexpr int kConversations = kOthers * kFriends;
    for (int i = 0; i < kConversations; ++i)
      plan.jobs.push_back({links_[static_cast<std::size_t>(2 + i % kOthers)].get(), world_.user("friend", i),
                           rest / kConversations + (i < rest % kConversations ? 1 : 0)});
    TM_TRY(fill(world_, plan, progress));
    progress.done();
    return {};
  }

  /// Pages from below `before()`; 0 asks for the newest.
  template <typename Before>
  Result<Histogram> pages(const std::string& step, Before before) {
    Progress progress("history: " + step, options_.pages);
    const ConversationId conversation =
        single_conversation(UserId(world_.user("large", 0)), UserId(world_.user("large", 1)));
    Histogram histogram;
    pb::ClientFrame frame;
    for (int i = 0; i < options_.pages; ++i) {
      v1::HistoryRequest& request = *frame.mutable_history();
      request.set_conversation_id(conversation.value);
      if (const std::uint64_t seq = before(); seq != 0) request.set_before(seq);
      request.set_limit(kPage);
      const std::int64_t begin = now_ns();
      TM_ASSIGN(const pb::ServerFrame answer, world_.call(*links_[0], frame));
      histogram.add(now_ns() - begin);
      if (answer.history().messages_size() != static_cast<int>(kPage))
        return trouble(fmt::format("A page of history has {} messages of 50.", answer.history().messages_size()));
      progress.at(i + 1);
    }
    progress.done();
    return histogram;
  }

  std::int64_t large() const { return large_; }

 private:
  Result<void> add_link(const std::string& user) {
    TM_ASSIGN(auto link, world_.make_link(user, "phone", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
    links_.push_back(std::move(link));
    return {};
  }

  World& world_;
  const Options& options_;
  const std::int64_t large_;
  Links links_;
};

}  // namespace

Result<void> work_history(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  History history(*world, options);
  const std::int64_t begin = now_ns();
  TM_TRY(history.make());
  const double fill_rate = static_cast<double>(options.fill) / as_seconds(now_ns() - begin);
  std::minstd_rand dice(7);
  TM_ASSIGN(Histogram newest, history.pages("newest pages", [] { return std::uint64_t{0}; }));
  TM_ASSIGN(Histogram middle, history.pages("pages from the middle", [&] {
    const auto quarter = static_cast<std::uint64_t>(history.large()) / 4;
    return std::max<std::uint64_t>(quarter + dice() % (2 * quarter + 1), kPage + 1);
  }));
  const std::string place = fmt::format("of {} in a store of {}", history.large(), options.fill);
  report.figure("fill_rate", "filling the store (many in flight)", fill_rate, "msg/s");
  report.latency("newest", "newest page " + place, std::move(newest), at_most(kPageTargetMs));
  report.latency("middle", "page from the middle " + place, std::move(middle), at_most(kPageTargetMs));
  return {};
}

}  // namespace tidemark::bench
