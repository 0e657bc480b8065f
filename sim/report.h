// What a session has covered, for people: a line while it goes on, and tables at its end that fit a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/session.h"

namespace tidemark::sim {

inline constexpr std::size_t kReportColumns = 100;  // no line of a report is wider

/// How far it is: of `seconds_max` seconds, or of `runs_max` runs. With what is new against `before`, if that is given.
struct Goal {
  double seconds_max = 0;  // 0: none
  std::uint64_t runs_max = 0;
};
std::string progress_line(const Session& session, const Goal& goal, const Met* before);

/// How often each thing was met, in how many runs, and the most in one.
std::string table_of_things(const Met& met);
/// Of how many runs in a hundred each two faults were met together, and which never were.
std::string table_of_pairs(const Met& met);
std::string table_of_judges(const Met& met);
/// What is new against `before`, or how to have something to compare with.
std::string table_of_news(const Met& met, const Met* before);
/// Runs, failures, virtual time and the final number.
std::string last_line(const Session& session);

/// All tables.
std::string report(const Met& met, const Met* before);

}  // namespace tidemark::sim
