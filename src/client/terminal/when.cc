#include "client/terminal/when.h"

#include <fmt/core.h>

#include <ctime>

namespace tidemark::terminal {
namespace {

std::tm broken_down(std::int64_t time_ms, std::int64_t utc_offset_s) {
  std::time_t seconds = time_ms / 1'000 + utc_offset_s;
  if (time_ms % 1'000 < 0) --seconds;
  std::tm parts{};
  gmtime_r(&seconds, &parts);  // leaves zeros where the year is out of range
  return parts;
}

}  // namespace

std::string short_time(std::int64_t time_ms, std::int64_t now_ms, std::int64_t utc_offset_s) {
  if (time_ms == 0) return {};
  const std::tm then = broken_down(time_ms, utc_offset_s);
  const std::tm now = broken_down(now_ms, utc_offset_s);
  if (then.tm_year != now.tm_year)
    return fmt::format("{:04}-{:02}-{:02}", then.tm_year + 1900, then.tm_mon + 1, then.tm_mday);
  if (then.tm_yday != now.tm_yday)
    return fmt::format("{:02}-{:02} {:02}:{:02}", then.tm_mon + 1, then.tm_mday, then.tm_hour, then.tm_min);
  return fmt::format("{:02}:{:02}", then.tm_hour, then.tm_min);
}

std::string full_time(std::int64_t time_ms, std::int64_t utc_offset_s) {
  const std::tm then = broken_down(time_ms, utc_offset_s);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", then.tm_year + 1900, then.tm_mon + 1, then.tm_mday,
                     then.tm_hour, then.tm_min, then.tm_sec);
}

}  // namespace tidemark::terminal
