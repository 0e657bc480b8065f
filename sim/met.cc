#include "sim/met.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tidemark::sim {
namespace {

constexpr std::string_view kHeader = "tidemark-sim met";

std::string_view counter_name(Counter counter) {
  return kCounters[static_cast<std::size_t>(counter)].name;
}

template <typename List, typename Name>
std::optional<std::size_t> place_of(const List& list, const std::string& wanted, Name name) {
  const auto found = std::ranges::find(list, wanted, name);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

std::string in_run(const RunName& run) {
  return fmt::format("seed {}, {}", run.seed, run.mode);
}

}  // namespace

void Met::add(const Counters& counters, const Asked& asked, const RunName& run) {
  ++runs_;
  asked_.add(asked);
  for (std::size_t i = 0; i < things_.size(); ++i) {
    Thing& thing = things_[i];
    const std::uint64_t count = counters.counts[i];
    thing.times += count;
    thing.runs += count > 0 ? 1 : 0;
    if (count < thing.most || (count == thing.most && thing.most_in.number <= run.number)) continue;
    thing.most = count;
    thing.most_in = run;
  }
  for (std::size_t a = 1; a < kFaultKinds.size(); ++a) {
    if (counters.of(kFaultKinds[a]) == 0) continue;
    for (std::size_t b = 0; b < a; ++b) {
      if (counters.of(kFaultKinds[b]) == 0) continue;
      Pair& met = pairs_[place(a, b)];
      if (met.runs++ == 0 || run.number < met.first.number) met.first = run;
    }
  }
}

std::size_t Met::pairs_met() const {
  return static_cast<std::size_t>(std::ranges::count_if(pairs_, [](const Pair& pair) { return pair.runs > 0; }));
}

// ------------------------------------------------------------------------------------------------------ as a file

std::string Met::text() const {
  std::string text = fmt::format("{}\nruns {}\n", kHeader, runs_);
  for (std::size_t i = 0; i < things_.size(); ++i)
    text += fmt::format("thing {} {} {} {}\n", kCounters[i].name, things_[i].runs, things_[i].times, things_[i].most);
  for (std::size_t a = 1; a < kFaultKinds.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      text +=
          fmt::format("pair {} {} {}\n", counter_name(kFaultKinds[a]), counter_name(kFaultKinds[b]), pair(a, b).runs);
  for (std::size_t i = 0; i < kJudges.size(); ++i)
    text += fmt::format("judge {} {}\n", kJudges[i].name, asked_.counts[i]);
  return text;
}

Result<Met> Met::from_text(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != kHeader)
    return fail(ErrorCode::MALFORMED, "met", "This is not what tidemark-sim --save has written.");
  Met met;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind;
    if (kind == "runs") {
      words >> met.runs_;
    } else if (kind == "thing") {
      Thing thing;
      words >> name >> thing.runs >> thing.times >> thing.most;
      if (const auto i = place_of(kCounters, name, &CounterInfo::name); words && i) met.things_[*i] = thing;
    } else if (kind == "pair") {
      std::string other;
      Pair pair;
      words >> name >> other >> pair.runs;
      const auto a = place_of(kFaultKinds, name, counter_name);
      const auto b = place_of(kFaultKinds, other, counter_name);
      if (words && a && b && *a != *b) met.pairs_[place(std::max(*a, *b), std::min(*a, *b))] = pair;
    } else if (kind == "judge") {
      std::uint64_t count = 0;
      words >> name >> count;
      if (const auto i = place_of(kJudges, name, &JudgeInfo::name); words && i) met.asked_.counts[*i] = count;
    }
    if (!words) return fail(ErrorCode::MALFORMED, "met", "This line lacks something: " + line);
  }
  return met;
}

// ---------------------------------------------------------------------------------------------------------- news

std::vector<std::string> missing(const Met& met, StoreKind store) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter == Counter::torn && store == StoreKind::memory) continue;
    if (met.of(counter).runs == 0) names.emplace_back(kCounters[i].text);
  }
  for (std::size_t i = 0; i < kJudges.size(); ++i)
    if (met.asked().counts[i] == 0) names.push_back(fmt::format("judge {}: {}", kJudges[i].name, kJudges[i].text));
  return names;
}

std::vector<std::string> news(const Met& met, const Met& before) {
  std::vector<std::string> all;
  for (std::size_t a = 1; a < kFaultKinds.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (met.pair(a, b).runs > 0 && before.pair(a, b).runs == 0)
        all.push_back(fmt::format("{} and {} in one run ({})", counter_name(kFaultKinds[a]),
                                  counter_name(kFaultKinds[b]), in_run(met.pair(a, b).first)));
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    const Met::Thing& now = met.of(static_cast<Counter>(i));
    const std::uint64_t most = before.of(static_cast<Counter>(i)).most;
    if (now.most > 0 && now.most >= 2 * most)
      all.push_back(fmt::format("{} {} in one run, at most {} before ({})", now.most, kCounters[i].name, most,
                                in_run(now.most_in)));
  }
  return all;
}

}  // namespace tidemark::sim
