#include "apps/bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tidemark::bench {
namespace {

// Below 256 each value has a bucket of its own; above, each power of two is cut into 128.
constexpr unsigned kSubBits = 7;
constexpr std::uint64_t kExact = 2ULL << kSubBits;

std::size_t bucket_of(std::uint64_t value) {
  if (value < kExact) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - (kSubBits + 1);
  return kExact + (std::size_t{shift - 1} << kSubBits) + ((value >> shift) - (1ULL << kSubBits));
}

std::uint64_t top_of_bucket(std::size_t bucket) {
  if (bucket < kExact) return bucket;
  const std::size_t above = bucket - kExact;
  const std::size_t shift = (above >> kSubBits) + 1;
  const std::uint64_t step = (above & ((1ULL << kSubBits) - 1)) + (1ULL << kSubBits);
  return ((step + 1) << shift) - 1;
}

}  // namespace

void Histogram::add(std::int64_t ns) {
  const std::int64_t value = std::max<std::int64_t>(ns, 0);
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  ++counts_[bucket];
  ++count_;
  max_ns_ = std::max(max_ns_, value);
}

void Histogram::merge(const Histogram& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t bucket = 0; bucket < other.counts_.size(); ++bucket) counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::int64_t Histogram::percentile_ns(double percent) const {
  if (count_ == 0) return 0;
  const double exact = std::ceil(percent / 100.0 * static_cast<double>(count_));
  const std::uint64_t wanted = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max(exact, 1.0)), 1, count_);
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    below += counts_[bucket];
    if (below >= wanted) return std::min(static_cast<std::int64_t>(top_of_bucket(bucket)), max_ns_);
  }
  return max_ns_;
}

}  // namespace tidemark::bench
