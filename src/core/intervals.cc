#include "core/intervals.h"

#include <algorithm>

namespace tidemark {

Intervals joined(Intervals parts) {
  std::erase_if(parts, [](const Interval& part) { return part.to <= part.after; });
  std::ranges::sort(parts, {}, &Interval::after);
  Intervals set;
  for (const Interval& part : parts) {
    if (!set.empty() && part.after <= set.back().to) {
      set.back().to = std::max(set.back().to, part.to);
    } else {
      set.push_back(part);
    }
  }
  return set;
}

Intervals minus(const Intervals& whole, const Intervals& taken) {
  Intervals rest;
  auto hole = taken.begin();
  for (Interval part : whole) {
    while (hole != taken.end() && hole->to <= part.after) ++hole;
    for (auto next = hole; next != taken.end() && next->after < part.to; ++next) {
      if (part.after < next->after) rest.push_back({part.after, next->after});
      part.after = next->to;
      if (part.to <= part.after) break;
    }
    if (part.after < part.to) rest.push_back(part);
  }
  return rest;
}

Intervals clipped(const Intervals& whole, Seq after, Seq to) {
  Intervals inside;
  for (const Interval& part : whole) {
    const Interval cut{std::max(part.after, after), std::min(part.to, to)};
    if (cut.after < cut.to) inside.push_back(cut);
  }
  return inside;
}

std::uint64_t length_of(const Intervals& whole) {
  std::uint64_t sum = 0;
  for (const Interval& part : whole) sum += part.to - part.after;
  return sum;
}

bool holds(const Intervals& whole, Seq seq) {
  return std::ranges::any_of(whole, [&](const Interval& part) { return part.after < seq && seq <= part.to; });
}

}  // namespace tidemark
