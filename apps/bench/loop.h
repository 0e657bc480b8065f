// The client's event loop: one thread, epoll, and writes gathered so that a link costs one system call a turn.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"

namespace tidemark::bench {

/// From here on SIGINT and SIGTERM end the loop with an error, so that everything started is stopped.
void catch_interrupts();
bool interrupted();

/// A fault of the bench as an error; the sentence says what to do.
inline std::unexpected<Error> trouble(std::string sentence) {
  return fail(ErrorCode::INTERNAL, {}, std::move(sentence));
}

class Loop {
 public:
  /// Something with a socket.
  class Watched {
   public:
    virtual ~Watched() = default;
    virtual void on_ready(std::uint32_t events) = 0;
    /// Writes what is queued.
    virtual void flush() = 0;
    /// About twice a second.
    virtual void tick(std::int64_t now_ns) = 0;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void watch(int fd, std::uint32_t events, Watched& watched);
  void change(int fd, std::uint32_t events, Watched& watched);
  void forget(int fd, Watched& watched);
  /// Calls flush() before the loop waits the next time.
  void flush_later(Watched& watched) { to_flush_.push_back(&watched); }
  /// Room for one read, shared by all.
  std::span<char> read_buffer() { return room_; }
  /// Ends the present run with this error; the first one counts.
  void stop_with(Error error);

  /// Writes what is queued, waits at most `wait_ns` for sockets and serves them.
  Result<void> turn(std::int64_t wait_ns);
  /// Turns until `done`; an error with `what` in it after `timeout_ns`.
  Result<void> run_until(const std::function<bool()>& done, std::int64_t timeout_ns, const std::string& what);

 private:
  void flush_all();
  void tick_all(std::int64_t now);

  int epoll_ = -1;
  std::unordered_set<Watched*> watched_;
  std::vector<Watched*> to_flush_;
  std::vector<Watched*> flushing_;
  std::vector<char> room_;
  std::optional<Error> error_;
  std::int64_t ticked_ns_ = 0;
};

}  // namespace tidemark::bench
