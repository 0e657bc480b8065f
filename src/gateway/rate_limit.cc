#include "gateway/rate_limit.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark {
namespace {

/// Full buckets dropped with each call: more than can come with one, so that idle ones do not stay.
constexpr int kDropsEach = 2;

}  // namespace

RateLimiter::RateLimiter(Rate rate, std::size_t keys_max)
    : rate_(rate),
      keys_max_(keys_max),
      each_us_(rate.count > 0 ? std::max<std::int64_t>(1, rate.period_ms * 1000 / rate.count) : 0),
      whole_us_(each_us_ * rate.burst) {
  TM_CHECK(rate.count >= 0 && rate.period_ms >= 1 && rate.burst >= 1 && keys_max >= 1, "a rate outside its ranges");
}

std::uint32_t RateLimiter::take(std::string_view key, std::int64_t now_ms) {
  if (rate_.count == 0) return 0;
  const std::int64_t now_us = now_ms * 1000;
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(key, now_us);
  // A bucket is what is missing in it, told as the time when nothing will be (the generic cell rate algorithm). After a
  // clock went back that may seem further away than an empty bucket can be.
  const std::int64_t full_at_us = std::clamp(bucket.full_at_us, now_us, now_us + whole_us_);
  const std::int64_t wait_us = full_at_us + each_us_ - (now_us + whole_us_);
  bucket.full_at_us = wait_us > 0 ? full_at_us : full_at_us + each_us_;
  if (wait_us <= 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>((wait_us + 999) / 1000, UINT32_MAX));
}

void RateLimiter::give_back(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) found->second->full_at_us -= each_us_;
}

std::size_t RateLimiter::size() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

RateLimiter::Bucket& RateLimiter::bucket_of(std::string_view key, std::int64_t now_us) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, found->second);
    return buckets_.front();
  }
  for (int i = 0; i < kDropsEach && !buckets_.empty() && buckets_.back().full_at_us <= now_us; ++i) drop_oldest();
  if (buckets_.size() == keys_max_) drop_oldest();
  buckets_.push_front({std::string(key), now_us});
  by_key_.emplace(buckets_.front().key, buckets_.begin());
  return buckets_.front();
}

void RateLimiter::drop_oldest() {
  by_key_.erase(buckets_.back().key);
  buckets_.pop_back();
}

}  // namespace tidemark
