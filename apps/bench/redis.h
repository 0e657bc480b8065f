// Redis Streams, the yardstick: a server of its own, and links to it that speak its protocol within the bench's loop.
#pragma once

#include <hiredis/hiredis.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/bench/loop.h"

namespace tidemark::bench {

/// `redis-server` on a free port of 127.0.0.1 that syncs its log before every reply; stopped when this goes.
class RedisProcess {
 public:
  /// The data goes into `directory`. An error that says what to install when there is no redis-server.
  static Result<std::unique_ptr<RedisProcess>> start(const std::string& directory);
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  pid_t pid() const { return pid_; }
  int port() const { return port_; }

 private:
  RedisProcess(pid_t pid, int port) : pid_(pid), port_(port) {}

  pid_t pid_;
  int port_;
};

/// A connection. Commands leave gathered, when the loop turns; replies come in the order of the commands.
class RedisLink final : public Loop::Watched {
 public:
  explicit RedisLink(Loop& loop) : loop_(loop) {}
  ~RedisLink() override;
  Result<void> start(int port);
  void command(std::span<const std::string_view> words);

  std::function<void(const redisReply&)> on_reply;

  void on_ready(std::uint32_t events) override;
  void flush() override;
  void tick(std::int64_t) override {}

 private:
  void give_up(const std::string& why);

  Loop& loop_;
  int fd_ = -1;
  bool blocked_ = false;
  bool flush_queued_ = false;
  std::string out_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{redisReaderCreate(), redisReaderFree};
};

}  // namespace tidemark::bench
