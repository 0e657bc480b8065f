// How long the store has been in use, by the steady clock and kept with the store. What is dropped by age goes by it
// and by the wall clock both, so that a wall clock that is wrong at a start, or jumps, drops nothing too early (design,
// section 9). Time in which no server ran does not count: what could have gone then goes later.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// Not thread-safe.
class StoreAge {
 public:
  /// Of a store that has never been used.
  StoreAge() = default;
  /// INTERNAL when the bytes are damaged.
  static Result<StoreAge> decode(std::string_view bytes);
  std::string encode() const;

  /// Time goes by: `steady_ms` is the steady clock now, of which only differences since begin() count.
  void begin(std::int64_t steady_ms) { last_steady_ms_ = steady_ms; }
  /// Returns whether the record is to be stored again: every five minutes of use, and once for every hour.
  bool pass(std::int64_t steady_ms, std::int64_t wall_ms);

  /// Hours (of 1970) below this are older than `keep_ms`, whichever of both clocks is asked.
  std::int64_t hours_over(std::int64_t wall_ms, std::int64_t keep_ms) const;

 private:
  struct Hour {
    std::int64_t age_ms = 0;  // of the store, when it was noted
    std::int64_t wall_hour = 0;
  };
  std::int64_t age_ms_ = 0;
  std::int64_t last_steady_ms_ = 0;
  std::int64_t stored_age_ms_ = 0;
  /// Of what lies more than two days back, one hour of each day is enough.
  void thin_out();
  std::deque<Hour> hours_;  // one for each hour of use, ascending by age, a bounded number of the last ones
};

}  // namespace tidemark
