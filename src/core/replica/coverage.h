// Which seqs of a conversation a device holds: a set of half-open intervals (after, to], kept sorted and merged.
#pragma once

#include <optional>
#include <vector>

#include "core/results.h"

namespace tidemark::replica {

class Coverage {
 public:
  Coverage() = default;
  /// Takes intervals in any order, overlapping or not.
  explicit Coverage(const std::vector<Interval>& intervals);

  /// An interval with after >= to is empty and changes nothing.
  void add(Interval interval);
  void subtract(Interval interval);

  bool empty() const { return ranges_.empty(); }
  bool contains(Seq seq) const;
  /// Every seq of the interval is held; true for an empty one.
  bool covers(Interval interval) const;
  /// The whole range that `seq` lies in.
  std::optional<Interval> range_of(Seq seq) const;
  std::optional<Interval> newest() const;
  /// Ascending, disjoint, never adjacent.
  const std::vector<Interval>& ranges() const { return ranges_; }

  bool operator==(const Coverage&) const = default;

 private:
  std::vector<Interval> ranges_;
};

}  // namespace tidemark::replica
