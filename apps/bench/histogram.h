// Latencies in logarithmic buckets: every value is kept to better than one part in a hundred, from a nanosecond to
// hours, in a few tens of kilobytes.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemark::bench {

class Histogram {
 public:
  /// Negative values count as 0.
  void add(std::int64_t ns);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::int64_t max_ns() const { return max_ns_; }
  /// The value that `percent` of a hundred values do not exceed (0 to 100); 0 when empty.
  std::int64_t percentile_ns(double percent) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace tidemark::bench
