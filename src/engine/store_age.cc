#include "engine/store_age.h"

#include <algorithm>

#include "base/codec.h"
#include "core/params.h"

namespace tidemark {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::int64_t kStoreEveryMs = 5 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::size_t kHoursKept = 48 + 400;  // two days, and a year and more of days

}  // namespace

// age := version svarint(age_ms) count { svarint(age_ms) svarint(wall_hour) }
Result<StoreAge> StoreAge::decode(std::string_view bytes) {
  ByteReader in(bytes);
  StoreAge age;
  const bool known = in.u8() == kVersion;
  age.age_ms_ = age.stored_age_ms_ = in.svarint();
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; known && i < std::min<std::uint64_t>(count, kHoursKept); ++i)
    age.hours_.push_back({in.svarint(), in.svarint()});
  if (!known || !in.done()) return fail(ErrorCode::INTERNAL, "", "The record of the store's age is damaged.");
  return age;
}

std::string StoreAge::encode() const {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.svarint(age_ms_);
  out.varint(hours_.size());
  for (const Hour& hour : hours_) {
    out.svarint(hour.age_ms);
    out.svarint(hour.wall_hour);
  }
  return bytes;
}

bool StoreAge::pass(std::int64_t steady_ms, std::int64_t wall_ms) {
  age_ms_ += std::max<std::int64_t>(0, steady_ms - last_steady_ms_);
  last_steady_ms_ = steady_ms;
  bool due = age_ms_ - stored_age_ms_ >= kStoreEveryMs;
  if (hours_.empty() || age_ms_ - hours_.back().age_ms >= kHourMs) {
    hours_.push_back({age_ms_, wall_ms / kHourMs});
    thin_out();
    due = true;
  }
  if (due) stored_age_ms_ = age_ms_;
  return due;
}

void StoreAge::thin_out() {
  const auto recent =
      std::ranges::find_if(hours_, [&](const Hour& hour) { return hour.age_ms > age_ms_ - 2 * kDayMs; });
  if (const auto older = recent - hours_.begin(); older >= 2) {
    const auto last = std::prev(recent);
    if (last->age_ms - std::prev(last)->age_ms < kDayMs) hours_.erase(last);
  }
  if (hours_.size() > kHoursKept) hours_.pop_front();
}

std::int64_t StoreAge::hours_over(std::int64_t wall_ms, std::int64_t keep_ms) const {
  // The last hour that was noted so long ago: by then the wall clock had left all hours before it.
  const auto later = std::ranges::find_if(hours_, [&](const Hour& hour) { return hour.age_ms > age_ms_ - keep_ms; });
  if (later == hours_.begin()) return 0;
  return std::min(std::prev(later)->wall_hour, (wall_ms - keep_ms) / kHourMs);
}

}  // namespace tidemark
