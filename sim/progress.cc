#include "sim/progress.h"

#include <fmt/format.h>

namespace tidemark::sim {
namespace {
constexpr double kEveryS = 0.2;  // on a terminal
}  // namespace

double Progress::part_of(const Session& session) const {
  if (goal_.seconds_max > 0) return session.seconds / goal_.seconds_max;
  return static_cast<double>(session.runs) / static_cast<double>(goal_.runs_max);
}

void Progress::show(const Session& session) {
  if (where_ == Where::nowhere) return;
  // What fails is worth a line of its own at once.
  for (; failures_ < session.failures.size(); ++failures_) {
    clear();
    const Failure& failure = session.failures[failures_];
    write_(fmt::format("seed {} ({}) fails: {}\n", failure.options.seed, name_of(failure.options.mode),
                       failure.violation));
  }
  if (where_ == Where::terminal) {
    if (line_stands_ && session.seconds < shown_s_ + kEveryS) return;
    shown_s_ = session.seconds;
    line_stands_ = true;
    return write_("\r\033[K" + progress_line(session, goal_, before_));
  }
  const int tenths = static_cast<int>(10 * part_of(session));
  if (tenths <= tenths_) return;
  tenths_ = tenths;
  write_(progress_line(session, goal_, before_) + "\n");
}

void Progress::clear() {
  if (std::exchange(line_stands_, false)) write_("\r\033[K");
}

}  // namespace tidemark::sim
