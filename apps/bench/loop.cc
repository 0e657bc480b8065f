#include "apps/bench/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "apps/bench/clock.h"
#include "base/check.h"

namespace tidemark::bench {
namespace {

constexpr std::size_t kRoomBytes = 512 * 1024;
constexpr int kEventsMax = 512;
constexpr std::int64_t kTickNs = kSecond / 2;
constexpr std::int64_t kWaitMaxNs = kSecond / 10;  // so that an interrupt between the check and the wait is seen

volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) {
  interrupt_seen = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() {
  return interrupt_seen != 0;
}

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), room_(kRoomBytes), ticked_ns_(now_ns()) {
  TM_CHECK(epoll_ >= 0, "epoll is there");
}

Loop::~Loop() {
  close(epoll_);
}

void Loop::watch(int fd, std::uint32_t events, Watched& watched) {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  TM_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "a new socket can be watched");
  watched_.insert(&watched);
}

void Loop::change(int fd, std::uint32_t events, Watched& watched) {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  TM_CHECK(epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0, "a watched socket stays so");
}

void Loop::forget(int fd, Watched& watched) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  watched_.erase(&watched);
  std::erase(to_flush_, &watched);
}

void Loop::stop_with(Error error) {
  if (!error_) error_ = std::move(error);
}

void Loop::flush_all() {
  flushing_.swap(to_flush_);
  for (Watched* each : flushing_) each->flush();
  flushing_.clear();
}

void Loop::tick_all(std::int64_t now) {
  if (now - ticked_ns_ < kTickNs) return;
  ticked_ns_ = now;
  for (Watched* each : watched_) each->tick(now);
}

Result<void> Loop::turn(std::int64_t wait_ns) {
  flush_all();
  const std::int64_t wait = std::clamp<std::int64_t>(wait_ns, 0, kWaitMaxNs);
  const timespec timeout{.tv_sec = 0, .tv_nsec = wait};
  std::array<epoll_event, kEventsMax> events;
  const int count = epoll_pwait2(epoll_, events.data(), kEventsMax, &timeout, nullptr);
  if (count < 0 && errno != EINTR) return trouble("epoll failed; run it on a newer Linux (5.11 or later).");
  for (int i = 0; i < count; ++i)
    static_cast<Watched*>(events[static_cast<std::size_t>(i)].data.ptr)
        ->on_ready(events[static_cast<std::size_t>(i)].events);
  tick_all(now_ns());
  if (interrupted()) return trouble("Interrupted.");
  if (!error_) return {};
  Error error = std::move(*error_);
  error_.reset();
  return std::unexpected(std::move(error));
}

Result<void> Loop::run_until(const std::function<bool()>& done, std::int64_t timeout_ns, const std::string& what) {
  const std::int64_t end = now_ns() + timeout_ns;
  while (!done()) {
    const std::int64_t left = end - now_ns();
    if (left <= 0)
      return trouble("The server did not finish within " + std::to_string(timeout_ns / kSecond) + " s: " + what +
                     ". Look at its log (--keep leaves it), or give it a quieter machine.");
    TM_TRY(turn(left));
  }
  return {};
}

}  // namespace tidemark::bench
