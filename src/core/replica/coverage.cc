#include "core/replica/coverage.h"

#include <algorithm>

namespace tidemark::replica {

Coverage::Coverage(const std::vector<Interval>& intervals) {
  for (const Interval& interval : intervals) add(interval);
}

void Coverage::add(Interval interval) {
  if (interval.after >= interval.to) return;
  // The ranges that touch the new one, adjacent ones too, melt into it.
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), interval.after,
                                      [](const Interval& range, Seq after) { return range.to < after; });
  auto last = first;
  for (; last != ranges_.end() && last->after <= interval.to; ++last) {
    interval.after = std::min(interval.after, last->after);
    interval.to = std::max(interval.to, last->to);
  }
  ranges_.insert(ranges_.erase(first, last), interval);
}

void Coverage::subtract(Interval interval) {
  if (interval.after >= interval.to) return;
  std::vector<Interval> left;
  left.reserve(ranges_.size() + 1);
  for (const Interval& range : ranges_) {
    const Interval below{range.after, std::min(range.to, interval.after)};
    const Interval above{std::max(range.after, interval.to), range.to};
    if (below.after < below.to) left.push_back(below);
    if (above.after < above.to) left.push_back(above);
  }
  ranges_ = std::move(left);
}

bool Coverage::contains(Seq seq) const {
  return range_of(seq).has_value();
}

bool Coverage::covers(Interval interval) const {
  if (interval.after >= interval.to) return true;
  const auto range = range_of(interval.to);
  return range && range->after <= interval.after;
}

std::optional<Interval> Coverage::range_of(Seq seq) const {
  const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), seq,
                                      [](const Interval& range, Seq wanted) { return range.to < wanted; });
  if (found == ranges_.end() || found->after >= seq) return std::nullopt;
  return *found;
}

std::optional<Interval> Coverage::newest() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.back();
}

}  // namespace tidemark::replica
