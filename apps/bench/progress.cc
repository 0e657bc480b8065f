#include "apps/bench/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/bench/clock.h"

namespace tidemark::bench {
namespace {

constexpr std::int64_t kDrawEveryNs = 100 * kMilli;
constexpr std::int64_t kBarCells = 24;

void write_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string step, std::int64_t total)
    : step_(std::move(step)), total_(total), begun_ns_(now_ns()), terminal_(isatty(STDERR_FILENO) == 1) {
  if (terminal_) draw(0);
}

Progress::~Progress() {
  if (terminal_ && !done_) write_stderr("\n");
}

void Progress::at(std::int64_t units) {
  const std::int64_t now = now_ns();
  if (!terminal_ || now - drawn_ns_ < kDrawEveryNs) return;
  drawn_ns_ = now;
  draw(units);
}

void Progress::draw(std::int64_t units) {
  if (total_ <= 0) return write_stderr(fmt::format("\r\033[K{} ...", step_));
  const std::int64_t reached = std::clamp<std::int64_t>(units, 0, total_);
  const auto cells = static_cast<std::size_t>(reached * kBarCells / total_);
  const double spent = as_seconds(now_ns() - begun_ns_);
  std::string left;
  if (reached > 0 && spent > 1)
    left = fmt::format(" {:.0f} s left", spent * static_cast<double>(total_ - reached) / static_cast<double>(reached));
  write_stderr(fmt::format("\r\033[K{} [{:<{}}] {:3}%{}", step_, std::string(cells, '#'), kBarCells,
                           reached * 100 / total_, left));
}

void Progress::done(const std::string& result) {
  done_ = true;
  write_stderr(fmt::format("{}{}{} ({:.1f} s)\n", terminal_ ? "\r\033[K" : "", step_,
                           result.empty() ? "" : ": " + result, as_seconds(now_ns() - begun_ns_)));
}

}  // namespace tidemark::bench
