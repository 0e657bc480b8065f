// Moments for people, as short as they are clear.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark::terminal {

/// A moment as "14:05", of another day "11-28 14:05", of another year "2025-11-28". Times are milliseconds since
/// 1970-01-01 UTC; the offset is that of local time from UTC. A moment of 0 is no moment: "".
std::string short_time(std::int64_t time_ms, std::int64_t now_ms, std::int64_t utc_offset_s);

/// A moment to the second: "2026-11-29 14:05:09".
std::string full_time(std::int64_t time_ms, std::int64_t utc_offset_s);

}  // namespace tidemark::terminal
