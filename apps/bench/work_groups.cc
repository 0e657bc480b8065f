// Groups of 100, 1,000, 10,000 and 100,000 members: joining, sending, catching up, reading. The members who are
// connected are as many at every size, so that what changes with it is the server's own. A group of 100 is small: what
// is said in it touches the index of each member; the others are large.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "apps/bench/clock.h"
#include "apps/bench/cpu_watch.h"
#include "apps/bench/messages.h"
#include "apps/bench/progress.h"
#include "apps/bench/works.h"
#include "apps/bench/world.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr int kSizes[] = {100, 1'000, 10'000, 100'000};
constexpr int kAtOnce = 1'000;  // members named in one call
constexpr int kSenders = 8;
constexpr int kInFlightEach = 16;  // of each sender
constexpr int kOpen = 8;           // devices that have the group open
constexpr int kUnfocused = 32;     // devices in the foreground that have not
constexpr int kShown = 200;
constexpr double kLargeRatioTarget = 1.5;

struct Found {
  double joined_per_s = 0;
  double sent_per_s = 0;
  double server_us = 0;
  Histogram to_ack;
  Histogram to_open;
  Histogram back;
  Histogram read;
  std::uint64_t notices = 0;
};

class GroupLoad {
 public:
  GroupLoad(World& world, const Options& options, int size)
      : world_(world), options_(options), size_(size), maker_(options.text_bytes) {}

  Result<Found> run() {
    TM_TRY(make_group());
    TM_TRY(connect());
    TM_TRY(show_one_by_one());
    TM_TRY(open({}));
    TM_TRY(send_for_a_while());
    TM_TRY(come_back());
    TM_TRY(read());
    return std::move(found_);
  }

 private:
  std::string member(int i) const { return world_.user(fmt::format("m{}x", size_), i); }

  Result<void> make_group() {
    Progress progress(fmt::format("groups: {} members join", size_), size_);
    TM_ASSIGN(owner_, world_.make_link(member(0), "phone"));
    TM_TRY(owner_->start());
    TM_TRY(world_.loop().run_until([&] { return owner_->welcomed(); }, kPatienceNs, "the owner's welcome"));
    pb::ClientFrame create;
    create.mutable_create_group()->set_title("bench");
    TM_ASSIGN(const pb::ServerFrame made, world_.call(*owner_, create));
    group_ = made.group().conversation_id();
    const std::int64_t begin = now_ns();
    for (int joined = 1; joined < size_;) {
      pb::ClientFrame add;
      add.mutable_add_members()->set_conversation_id(group_);
      for (int i = 0; i < kAtOnce && joined < size_; ++i) add.mutable_add_members()->add_users(member(joined++));
      TM_ASSIGN(const pb::ServerFrame done, world_.call(*owner_, add));
      progress.at(joined);
    }
    found_.joined_per_s = (size_ - 1) / as_seconds(now_ns() - begin);
    progress.done(fmt::format("{:.0f} a second", found_.joined_per_s));
    // What the store still writes for the joins is not the messages' cost.
    return world_.wait_until_idle();
  }

  Result<void> connect() {
    for (int i = 0; i < kSenders + kOpen + kUnfocused; ++i) {
      TM_ASSIGN(auto link, world_.make_link(member(i + 1), "phone"));
      const bool opens = i >= kSenders && i < kSenders + kOpen;
      link->on_answer = [this](const pb::ServerFrame& frame) { answered(frame); };
      if (opens) link->on_item = [this, i](const pb::PushItem& item) { shown(i - kSenders, item.entry()); };
      links_.push_back(std::move(link));
    }
    TM_TRY(world_.connect(links_));
    return open({group_});
  }

  /// What the devices that have something open have open from now on.
  Result<void> open(const std::vector<std::string>& groups) {
    for (int i = kSenders; i < kSenders + kOpen; ++i) {
      pb::ClientFrame focus;
      focus.mutable_focus();
      for (const std::string& id : groups) focus.mutable_focus()->add_conversation_ids(id);
      auto& handler = links_[static_cast<std::size_t>(i)]->on_answer;
      const auto kept = std::exchange(handler, {});
      TM_TRY(world_.call(*links_[static_cast<std::size_t>(i)], focus));
      handler = kept;
    }
    return {};
  }

  /// One message at a time, until a device that has the group open shows it. At the rate of the next phase a screen is
  /// told to pull instead.
  Result<void> show_one_by_one() {
    to_ns_ = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < kShown; ++i) {
      const std::size_t before = shown_;
      send(0);
      TM_TRY(world_.loop().run_until([&] { return shown_ > before && answered_ == begun_.size(); }, kPatienceNs,
                                     "a message is shown where the group is open"));
    }
    return {};
  }

  Result<void> send_for_a_while() {
    Progress progress(fmt::format("groups: sending to {} members", size_), options_.seconds);
    from_ns_ = now_ns() + kWarmUpNs;
    to_ns_ = from_ns_ + options_.seconds * kSecond;
    sends_go_on_ = true;
    for (int sender = 0; sender < kSenders; ++sender)
      for (int i = 0; i < kInFlightEach; ++i) send(static_cast<std::size_t>(sender));
    while (now_ns() < from_ns_) TM_TRY(world_.loop().turn(from_ns_ - now_ns()));
    const CpuWatch cpu(world_.server_pid());
    while (now_ns() < to_ns_) {
      TM_TRY(world_.loop().turn(to_ns_ - now_ns()));
      progress.at((now_ns() - from_ns_) / kSecond);
    }
    const CpuShares shares = cpu.shares();
    sends_go_on_ = false;
    found_.sent_per_s = static_cast<double>(completed_) / options_.seconds;
    found_.server_us = shares.server_s / static_cast<double>(completed_) * 1e6;
    TM_TRY(world_.loop().run_until([&] { return answered_ == begun_.size(); }, kPatienceNs, "all acks"));
    progress.done(fmt::format("{:.0f} a second", found_.sent_per_s));
    return {};
  }

  void send(std::size_t sender) {
    const auto index = static_cast<std::uint32_t>(begun_.size());
    begun_.emplace_back(now_ns(), sender);
    maker_.fill(frame_, index + 1, "", index);
    frame_.mutable_send()->set_conversation_id(group_);
    links_[sender]->send(frame_);
  }

  void answered(const pb::ServerFrame& frame) {
    if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
    if (frame.has_head_notice()) ++found_.notices;
    if (!frame.has_sent() || frame.id() == 0 || frame.id() > begun_.size()) return;
    ++answered_;
    const auto [begin_ns, sender] = begun_[frame.id() - 1];
    const std::int64_t now = now_ns();
    if (from_ns_ != 0 && begin_ns >= from_ns_ && now < to_ns_) {
      found_.to_ack.add(now - begin_ns);
      ++completed_;
    }
    if (sends_go_on_) send(sender);
  }

  void shown(int device, const v1::Message& message) {
    const auto index = index_of(message.body().text());
    if (!index || *index >= begun_.size() || device != 0) return;
    ++shown_;
    if (from_ns_ == 0) found_.to_open.add(now_ns() - begun_[*index].first);
  }

  /// A member who was away, with nothing in hand: the heads of his large groups, and the newest page of this one.
  Result<void> come_back() {
    Progress progress(fmt::format("groups: members of {} come back", size_), options_.rounds);
    for (int i = 0; i < options_.rounds; ++i) {
      TM_ASSIGN(auto link,
                world_.make_link(member(50 + i % 40), "tablet", [](LinkPlan& plan) { plan.on_hint = OnHint::ignore; }));
      TM_TRY(link->start(Link::Start::upgrade_only));
      TM_TRY(world_.loop().run_until([&] { return link->upgraded(); }, kPatienceNs, "an upgrade"));
      const std::int64_t begin = now_ns();
      link->hello();
      pb::ClientFrame ask;
      ask.mutable_heads();
      TM_ASSIGN(const pb::ServerFrame heads, world_.call(*link, ask));
      pb::ClientFrame page;
      page.mutable_history()->set_conversation_id(group_);
      TM_ASSIGN(const pb::ServerFrame rows, world_.call(*link, page));
      found_.back.add(now_ns() - begin);
      if (rows.history().messages_size() < 50)
        return trouble("A member who came back was shown less than a page: the server lost messages.");
      link->drop();
      progress.at(i + 1);
    }
    progress.done();
    return {};
  }

  Result<void> read() {
    for (int i = 0; i < options_.rounds; ++i) {
      pb::ClientFrame mark;
      mark.mutable_mutate()->set_number(static_cast<std::uint64_t>(i) + 1);
      mark.mutable_mutate()->mutable_read()->set_conversation_id(group_);
      mark.mutable_mutate()->mutable_read()->set_seq(static_cast<std::uint64_t>(i) + 2);
      const std::int64_t begin = now_ns();
      TM_TRY(world_.call(*owner_, mark));
      found_.read.add(now_ns() - begin);
    }
    return {};
  }

  World& world_;
  const Options& options_;
  const int size_;
  MessageMaker maker_;
  std::string group_;
  std::unique_ptr<Link> owner_;
  Links links_;  // senders, who has it open, the others
  pb::ClientFrame frame_;
  std::vector<std::pair<std::int64_t, std::size_t>> begun_;
  std::size_t answered_ = 0;
  std::size_t shown_ = 0;
  std::uint64_t completed_ = 0;
  std::int64_t from_ns_ = 0;
  std::int64_t to_ns_ = 0;
  bool sends_go_on_ = false;
  Found found_;
};

}  // namespace

Result<void> work_groups(const Options& options, Report& report) {
  TM_ASSIGN(const auto world, World::open(options));
  double large_us = 0;
  double last_us = 0;
  for (const int size : kSizes) {
    TM_ASSIGN(Found found, GroupLoad(*world, options, size).run());
    const std::string key = fmt::format("of_{}_", size);
    const std::string text = fmt::format("{} members: ", size);
    report.figure(key + "joined", text + "join", found.joined_per_s, "members/s");
    report.figure(key + "rate", text + "messages, acknowledged", found.sent_per_s, "msg/s");
    report.figure(key + "server_us", text + "server's processor time per message", found.server_us, "us");
    report.latency(key + "ack", text + "send to ack", std::move(found.to_ack));
    report.latency(key + "open", text + "send to a screen that has it open, one at a time", std::move(found.to_open));
    report.latency(key + "back", text + "coming back: heads and the newest page", std::move(found.back), std::nullopt,
                   50);
    report.latency(key + "read", text + "reading", std::move(found.read), std::nullopt, 50);
    if (size == 1'000) large_us = found.server_us;
    last_us = found.server_us;
  }
  if (large_us > 0)
    report.figure("large_ratio", "cost per message at 100,000 members, of that at 1,000", last_us / large_us, "",
                  at_most(kLargeRatioTarget));
  return {};
}

}  // namespace tidemark::bench
