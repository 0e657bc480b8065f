// The yardstick: the same pairs with the same messages in flight over Redis Streams, whose log is synced before every
// reply. A stream for each pair: one link adds, the other waits for what was added. That is less than a chat needs (no
// index of the receiver's conversations, no dedup, no unread), so whoever is ahead of it is ahead by more than it says.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/bench/load.h"
#include "apps/bench/redis.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

/// Like Load, with Redis in the place of the server.
class RedisLoad {
 public:
  explicit RedisLoad(const Options& options) : options_(options), maker_(options.text_bytes) {}

  Result<void> connect(int port) {
    for (int i = 0; i < options_.pairs; ++i) {
      Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>(loop_));
      pair.stream = fmt::format("pair:{}", i);
      TM_TRY(pair.sender.start(port));
      TM_TRY(pair.receiver.start(port));
      pair.sender.on_reply = [this, &pair](const redisReply&) { acknowledged(pair); };
      pair.receiver.on_reply = [this, &pair](const redisReply& reply) { received(pair, reply); };
      wait_for_more(pair);
    }
    return {};
  }

  Result<Phase> closed(Progress& progress) {
    phase_.from_ns = now_ns() + kWarmUpNs;
    phase_.to_ns = phase_.from_ns + options_.seconds * kSecond;
    for (const auto& pair : pairs_)
      for (int i = 0; i < options_.in_flight; ++i) send(*pair);
    while (now_ns() < phase_.to_ns) {
      TM_TRY(loop_.turn(phase_.to_ns - now_ns()));
      progress.at((now_ns() - phase_.from_ns) / kSecond);
    }
    return std::move(phase_);
  }

  std::size_t sent() const { return sent_; }

 private:
  struct Pair {
    explicit Pair(Loop& loop) : sender(loop), receiver(loop) {}
    RedisLink sender;
    RedisLink receiver;
    std::string stream;
    std::string last_id = "0";
    std::vector<std::int64_t> begun_ns;  // by the order of sending, which is that of acks and deliveries too
    std::size_t acknowledged = 0;
    std::size_t received = 0;
  };

  void send(Pair& pair) {
    pair.begun_ns.push_back(now_ns());
    ++sent_;
    const std::string& text = maker_.text(static_cast<std::uint32_t>(sent_));
    pair.sender.command(std::array<std::string_view, 5>{"XADD", pair.stream, "*", "m", text});
  }

  void wait_for_more(Pair& pair) {
    pair.receiver.command(std::array<std::string_view, 6>{"XREAD", "BLOCK", "0", "STREAMS", pair.stream, pair.last_id});
  }

  void acknowledged(Pair& pair) {
    ++pair.acknowledged;
    if (pair.acknowledged <= pair.received) done(pair);
  }

  /// One stream, its entries: [[name, [[id, [field, value]], ...]]].
  void received(Pair& pair, const redisReply& reply) {
    if (reply.elements != 1 || reply.element[0]->elements != 2)
      return loop_.stop_with({ErrorCode::INTERNAL, {}, "redis-server answered something else than a stream."});
    const redisReply& entries = *reply.element[0]->element[1];
    for (std::size_t i = 0; i < entries.elements; ++i) {
      const redisReply& id = *entries.element[i]->element[0];
      pair.last_id.assign(id.str, id.len);
      const std::int64_t now = now_ns();
      if (now >= phase_.from_ns && now < phase_.to_ns) phase_.to_screen.add(now - pair.begun_ns[pair.received]);
      ++pair.received;
      if (pair.received <= pair.acknowledged) done(pair);
    }
    wait_for_more(pair);
  }

  void done(Pair& pair) {
    const std::int64_t now = now_ns();
    if (now >= phase_.from_ns && now < phase_.to_ns) ++phase_.completed;
    send(pair);
  }

  const Options& options_;
  MessageMaker maker_;
  Loop loop_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::size_t sent_ = 0;
  Phase phase_;
};

}  // namespace

Result<void> work_redis(const Options& options, Report& report) {
  TM_ASSIGN(const auto directory, TemporaryDirectory::make(options.directory));
  TM_ASSIGN(const auto redis, RedisProcess::start(directory->path()));
  RedisLoad load(options);
  TM_TRY(load.connect(redis->port()));
  Progress progress("redis: closed loop", options.seconds);
  const CpuWatch cpu(redis->pid());
  TM_ASSIGN(Phase phase, load.closed(progress));
  const CpuShares shares = cpu.shares();
  const double rate = static_cast<double>(phase.completed) / options.seconds;
  progress.done(fmt::format("{:.0f} messages/s", rate));
  report.figure("max_rate", "Redis Streams, synced before each reply, acknowledged and received", rate, "msg/s");
  report.latency("max_screen", "at the maximum: send to receiver", std::move(phase.to_screen));
  report_cpu("closed", shares, static_cast<double>(load.sent()), report);
  return {};
}

}  // namespace tidemark::bench
