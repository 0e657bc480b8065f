#include "core/visibility.h"

#include <algorithm>
#include <limits>

#include "core/intervals.h"

namespace tidemark {
namespace {

constexpr Seq kNoEnd{std::numeric_limits<std::uint64_t>::max()};

/// What a period shows: from visible_from up to and including the own leave entry.
Interval shown_by(const Period& period) {
  const Seq first = period.visible_from ? period.visible_from : Seq(1);
  return {first - 1, period.leave ? period.leave : kNoEnd};
}

Intervals periods_of(const UserConversation& row) {
  Intervals shown;
  shown.reserve(row.periods.size());
  for (const Period& period : row.periods) shown.push_back(shown_by(period));
  return joined(std::move(shown));
}

}  // namespace

bool visible(const UserConversation& row, Seq seq) {
  if (seq <= row.cleared) return false;
  return std::ranges::any_of(row.periods, [&](const Period& period) {
    const Interval shown = shown_by(period);
    return shown.after < seq && seq <= shown.to;
  });
}

std::vector<Interval> visible_in(const UserConversation& row, Seq after, Seq to) {
  return clipped(periods_of(row), std::max(after, row.cleared), to);
}

std::vector<Hidden> hidden_in(const UserConversation& row, Seq after, Seq to) {
  std::vector<Hidden> hidden;
  if (to <= after) return hidden;
  // What was never the user's is hidden for that reason, whatever he cleared later.
  const Intervals periods = periods_of(row);
  for (const Interval& part : minus({{after, to}}, periods))
    hidden.push_back({part.after, part.to, HiddenReason::period});
  for (const Interval& part : clipped(periods, after, std::min(to, row.cleared)))
    hidden.push_back({part.after, part.to, HiddenReason::cleared});
  std::ranges::sort(hidden, {}, &Hidden::after);
  return hidden;
}

Seq lower_bound_of(const UserConversation& row) {
  const Intervals shown = visible_in(row, Seq(0), kNoEnd);
  return shown.empty() ? std::max(row.cleared, upper_bound_of(row, row.head_seq)) : shown.front().after;
}

Seq upper_bound_of(const UserConversation& row, Seq head) {
  Seq last;
  for (const Period& period : row.periods) last = std::max(last, period.leave ? std::min(period.leave, head) : head);
  return last;
}

}  // namespace tidemark
