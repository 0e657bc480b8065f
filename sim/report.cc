#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark::sim {
namespace {

constexpr std::size_t kNewsMax = 30;
constexpr std::size_t kNeverMax = 12;

/// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

double hours_of(const Session& session) {
  return static_cast<double>(session.virtual_ms) / 3.6e6;
}

const CounterInfo& info_of(Counter counter) {
  return kCounters[static_cast<std::size_t>(counter)];
}

/// The letter by which a fault is named in the table of pairs; a space for what is none.
char letter_of(Counter counter) {
  const auto found = std::ranges::find(kFaultKinds, counter);
  return found == kFaultKinds.end() ? ' ' : static_cast<char>('a' + (found - kFaultKinds.begin()));
}

/// Runs in a hundred: "+" for less than one, "." for none.
std::string share(std::uint64_t runs, std::uint64_t of) {
  if (runs == 0) return ".";
  const std::uint64_t percent = 100 * runs / of;
  return percent == 0 ? "+" : std::to_string(percent);
}

std::string never_met(const Met& met) {
  std::string names;
  std::size_t count = 0;
  for (std::size_t a = 1; a < kFaultKinds.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (met.pair(a, b).runs > 0 || ++count > kNeverMax) continue;
      names += fmt::format("    {} and {}\n", info_of(kFaultKinds[a]).name, info_of(kFaultKinds[b]).name);
    }
  if (count == 0) return {};
  if (count > kNeverMax) names += fmt::format("    and {} more\n", count - kNeverMax);
  return "  Never in one run:\n" + names;
}

}  // namespace

std::string progress_line(const Session& session, const Goal& goal, const Met* before) {
  std::string line = clock_time(session.seconds);
  if (goal.seconds_max > 0) line += " of " + clock_time(goal.seconds_max);
  line += fmt::format("  {} runs", grouped(session.runs));
  if (goal.seconds_max == 0) line += " of " + grouped(goal.runs_max);
  line += fmt::format("  {:.1f} virtual hours  {} failed  {} of {} pairs", hours_of(session), session.failures.size(),
                      session.met.pairs_met(), kPairs);
  if (before != nullptr) line += fmt::format("  {} new", news(session.met, *before).size());
  return line;
}

std::string table_of_things(const Met& met) {
  std::string table = fmt::format("{:>10} {:>9} {:>8}\n", "times", "in runs", "most");
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    const Met::Thing& thing = met.of(counter);
    table += fmt::format("{:>10} {:>9} {:>8}  {} {}\n", thing.times, thing.runs, thing.most, letter_of(counter),
                         kCounters[i].text);
  }
  return table;
}

std::string table_of_pairs(const Met& met) {
  std::string table = "Faults that met in one run, of a hundred runs (+: less than one, .: none):\n";
  for (std::size_t a = 0; a < kFaultKinds.size(); ++a) {
    table += fmt::format("  {} {:<20}", letter_of(kFaultKinds[a]), info_of(kFaultKinds[a]).name);
    for (std::size_t b = 0; b < a; ++b) table += fmt::format("{:>3}", share(met.pair(a, b).runs, met.runs()));
    table += fmt::format("{:>3}\n", letter_of(kFaultKinds[a]));
  }
  return table + never_met(met);
}

std::string table_of_judges(const Met& met) {
  std::string table = "Judges were asked so often:\n";
  for (std::size_t i = 0; i < kJudges.size(); ++i)
    table += fmt::format("{:>15}  {:<3} {}\n", grouped(met.asked().counts[i]), kJudges[i].name, kJudges[i].text);
  return table;
}

std::string table_of_news(const Met& met, const Met* before) {
  if (before == nullptr)
    return "What is new is told against build/sim-met.txt, which ./test sim writes, or --against FILE.\n";
  const std::vector<std::string> all = news(met, *before);
  std::string table = fmt::format("New against {} runs:{}\n", grouped(before->runs()), all.empty() ? " nothing" : "");
  for (std::size_t i = 0; i < std::min(kNewsMax, all.size()); ++i) table += "  " + all[i] + "\n";
  if (all.size() > kNewsMax) table += fmt::format("  and {} more\n", all.size() - kNewsMax);
  return table;
}

std::string last_line(const Session& session) {
  const double rate = session.seconds > 0 ? hours_of(session) / session.seconds : 0;
  return fmt::format("{} runs, {} failed; {:.1f} virtual hours in {:.1f} s ({:.2f}/s); final number {:016x}\n",
                     session.runs, session.failures.size(), hours_of(session), session.seconds, rate,
                     session.fingerprint);
}

std::string report(const Met& met, const Met* before) {
  return table_of_things(met) + "\n" + table_of_pairs(met) + "\n" + table_of_judges(met) + "\n" +
         table_of_news(met, before);
}

}  // namespace tidemark::sim
