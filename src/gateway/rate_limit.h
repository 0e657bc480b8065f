// How often somebody may do something: one token bucket for each key, in bounded memory.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tidemark {

/// `count` in each `period_ms` in the long run, and `burst` at once after a rest.
struct Rate {
  std::int64_t count = 0;  // 0 is no limit
  std::int64_t period_ms = 1'000;
  std::int64_t burst = 1;  // at least 1
};

/// Buckets by key (a user id, an address). It holds at most `keys_max` of them: one that is full again is as good as
/// new and dropped, and when all are in use the one used longest ago is dropped, whose owner then starts with a full
/// bucket. Time is handed in, in milliseconds of a clock that should not go back (if it does, nobody waits longer than
/// a full bucket takes). Thread-safe.
class RateLimiter {
 public:
  /// REQUIRES rate.count >= 0, rate.period_ms >= 1, rate.burst >= 1, keys_max >= 1.
  RateLimiter(Rate rate, std::size_t keys_max);

  /// Takes one from the key's bucket. 0 when it was there; otherwise nothing is taken, and the answer is after how many
  /// milliseconds one will be (for Error::retry_after_ms and Retry-After).
  std::uint32_t take(std::string_view key, std::int64_t now_ms);

  /// Puts one back that was taken for nothing.
  void give_back(std::string_view key);

  /// Buckets held now.
  std::size_t size() const;

 private:
  struct Bucket {
    std::string key;
    std::int64_t full_at_us = 0;  // when the bucket will be full again
  };
  using Buckets = std::list<Bucket>;

  Bucket& bucket_of(std::string_view key, std::int64_t now_us);
  void drop_oldest();

  const Rate rate_;
  const std::size_t keys_max_;
  const std::int64_t each_us_;   // time in which one is earned
  const std::int64_t whole_us_;  // time in which a whole burst is earned
  mutable std::mutex mutex_;
  Buckets buckets_;                                                 // used last in front
  std::unordered_map<std::string_view, Buckets::iterator> by_key_;  // keys live in buckets_
};

}  // namespace tidemark
