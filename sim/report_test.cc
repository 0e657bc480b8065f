// What a session tells of itself: counted, kept in a file, compared, and readable in a terminal.
#include "sim/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "base/check.h"
#include "sim/progress.h"
#include "sim/under_way.h"

namespace tidemark::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Counters counters(std::initializer_list<std::pair<Counter, std::uint64_t>> met) {
  Counters all;
  for (const auto& [counter, times] : met) all.counts[static_cast<std::size_t>(counter)] = times;
  return all;
}

std::size_t place(Counter fault) {
  return static_cast<std::size_t>(std::ranges::find(kFaultKinds, fault) - kFaultKinds.begin());
}

const Met::Pair& pair_of(const Met& met, Counter a, Counter b) {
  return met.pair(std::max(place(a), place(b)), std::min(place(a), place(b)));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Runs 0 and 1 of seed 7, and run 2 of seed 8.
Met three_runs() {
  Met met;
  Asked asked;
  asked.ask(Judge::I7, 1'234'567);
  met.add(counters({{Counter::cuts, 3}, {Counter::restores, 1}, {Counter::sends, 40}}), asked, {0, 7, "safety"});
  met.add(counters({{Counter::cuts, 5}, {Counter::sends, 50}}), asked, {1, 7, "liveness"});
  met.add(counters({{Counter::clones, 1}, {Counter::restores, 5}, {Counter::cuts, 5}}), asked, {2, 8, "safety"});
  return met;
}

TEST(Met, RunsTimesAndTheMostInOneAreCounted) {
  const Met met = three_runs();
  EXPECT_EQ(met.runs(), 3U);
  EXPECT_EQ(met.of(Counter::cuts).runs, 3U);
  EXPECT_EQ(met.of(Counter::cuts).times, 13U);
  EXPECT_EQ(met.of(Counter::cuts).most, 5U);
  EXPECT_EQ(met.of(Counter::cuts).most_in.number, 1U) << "the first that met so many";
  EXPECT_EQ(met.of(Counter::sends).runs, 2U);
  EXPECT_EQ(met.of(Counter::one_way).runs, 0U);
  EXPECT_EQ(met.asked().of(Judge::I7), 3 * 1'234'567U);
}

TEST(Met, FaultsThatCameTogetherInOneRunAreAPair) {
  const Met met = three_runs();
  EXPECT_EQ(pair_of(met, Counter::cuts, Counter::restores).runs, 2U);
  EXPECT_EQ(pair_of(met, Counter::cuts, Counter::restores).first.seed, 7U);
  EXPECT_EQ(pair_of(met, Counter::clones, Counter::restores).runs, 1U);
  EXPECT_EQ(pair_of(met, Counter::clones, Counter::one_way).runs, 0U);
  EXPECT_EQ(met.pairs_met(), 3U);
}

TEST(Met, WhatWasFirstDoesNotDependOnWhichThreadWasFaster) {
  Met met;
  const Counters both = counters({{Counter::cuts, 2}, {Counter::clones, 1}});
  met.add(both, {}, {9, 13, "safety"});
  met.add(both, {}, {4, 11, "safety"});
  EXPECT_EQ(pair_of(met, Counter::cuts, Counter::clones).first.number, 4U);
  EXPECT_EQ(met.of(Counter::cuts).most_in.number, 4U);
}

TEST(Met, AFileGivesBackWhatWasKept) {
  const Met met = three_runs();
  const auto read = Met::from_text(met.text());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->text(), met.text());
  EXPECT_EQ(read->runs(), 3U);
  EXPECT_EQ(read->of(Counter::restores).most, 5U);
  EXPECT_EQ(pair_of(*read, Counter::cuts, Counter::restores).runs, 2U);
  EXPECT_THAT(news(met, *read), IsEmpty());
}

TEST(Met, AFileOfAnotherKindIsRefusedAndWhatIsNotCountedByNowIsPassedOver) {
  EXPECT_FALSE(Met::from_text("").has_value());
  EXPECT_FALSE(Met::from_text("something else\n").has_value());
  const auto cut = Met::from_text("tidemark-sim met\nruns 3\nthing cuts 1\n");
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().detail, HasSubstr("thing cuts 1"));
  const auto older =
      Met::from_text("tidemark-sim met\nruns 3\nthing of_old 1 2 3\npair of_old cuts 1\nthing cuts 1 2 2\n");
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->of(Counter::cuts).times, 2U);
}

TEST(Met, NewArePairsThatNeverWereAndTwiceAsMany) {
  Met before;
  before.add(counters({{Counter::cuts, 3}, {Counter::restores, 2}}), {}, {0, 1, "safety"});
  EXPECT_THAT(news(three_runs(), before), ElementsAre("clones and cuts in one run (seed 8, safety)",
                                                      "clones and restores in one run (seed 8, safety)",
                                                      "50 sends in one run, at most 0 before (seed 7, liveness)",
                                                      "5 restores in one run, at most 2 before (seed 8, safety)",
                                                      "1 clones in one run, at most 0 before (seed 8, safety)"));
}

// ---------------------------------------------------------------------------------------------------------- tables

TEST(Report, NoLineIsWiderThanATerminal) {
  Met met;
  Counters all;
  all.counts.fill(123'456'789);
  Asked asked;
  asked.counts.fill(123'456'789'012);
  for (std::uint64_t i = 0; i < 1'000; ++i) met.add(all, asked, {i, 1'000'000'000'000 + i, "liveness"});
  const Met nothing;
  Session session;
  session.met = met;
  session.runs = 1'234'567;
  session.virtual_ms = 1'234'567'890'123;
  session.seconds = 123'456;
  const std::string text = report(met, &nothing) + last_line(session) + progress_line(session, {600'000, 0}, &nothing);
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), kReportColumns) << line;
}

TEST(Report, ThingsHaveTheirTimesRunsAndMost) {
  const auto lines = lines_of(table_of_things(three_runs()));
  ASSERT_EQ(lines.size(), kCounters.size() + 1);
  const auto line =
      std::ranges::find_if(lines, [](const auto& each) { return each.ends_with("in the middle of a frame"); });
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(*line, "        13         3        5  a connections cut in the middle of a frame");
}

TEST(Report, PairsAreSharesOfRunsAndThoseThatNeverMetAreNamed) {
  const auto lines = lines_of(table_of_pairs(three_runs()));
  const auto row = lines.at(1 + place(Counter::restores));
  EXPECT_THAT(row, StartsWith("  o restores             66  .  .")) << "with cuts in two of three runs";
  EXPECT_THAT(lines.back(), HasSubstr("more"));
  EXPECT_THAT(table_of_pairs(three_runs()), HasSubstr("frames_dropped and cuts"));
  Met rare;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    rare.add(i == 0 ? counters({{Counter::cuts, 1}, {Counter::frames_dropped, 1}}) : Counters(), {}, {i, i, "safety"});
  EXPECT_THAT(lines_of(table_of_pairs(rare)).at(2), HasSubstr("  +"));
}

TEST(Report, PairsThatAllMetNameNone) {
  Met met;
  Counters all;
  all.counts.fill(1);
  met.add(all, {}, {0, 1, "safety"});
  EXPECT_EQ(met.pairs_met(), kPairs);
  EXPECT_THAT(table_of_pairs(met), Not(HasSubstr("Never")));
}

TEST(Report, JudgesTellHowOftenTheyWereAsked) {
  EXPECT_THAT(table_of_judges(three_runs()),
              AllOf(HasSubstr("      3,703,701  I7 "), HasSubstr("              0  I13 ")));
}

TEST(Report, NewsSayAgainstWhatTheyAreNew) {
  const Met met = three_runs();
  EXPECT_THAT(table_of_news(met, nullptr), HasSubstr("build/sim-met.txt"));
  EXPECT_EQ(table_of_news(met, &met), "New against 3 runs: nothing\n");
  const Met nothing;
  EXPECT_THAT(table_of_news(met, &nothing),
              HasSubstr("\n  5 restores in one run, at most 0 before (seed 8, safety)\n"));
}

// -------------------------------------------------------------------------------------------------------- progress

struct Written {
  std::vector<std::string> texts;
  Progress progress_in(Progress::Where where, Goal goal) {
    return {where, goal, nullptr, [this](const std::string& text) { texts.push_back(text); }};
  }
};

Session at(std::uint64_t runs, double seconds) {
  Session session;
  session.runs = runs;
  session.seconds = seconds;
  session.virtual_ms = static_cast<std::int64_t>(runs) * 360'000;
  return session;
}

TEST(Progress, ALogGetsALineForEachTenth) {
  Written written;
  Progress progress = written.progress_in(Progress::Where::log, {600, 0});
  for (int second = 1; second <= 600; ++second) progress.show(at(static_cast<std::uint64_t>(second), second));
  ASSERT_EQ(written.texts.size(), 10U);
  EXPECT_EQ(written.texts.front(), "1:00 of 10:00  60 runs  6.0 virtual hours  0 failed  0 of 190 pairs\n");
  EXPECT_THAT(written.texts.back(), StartsWith("10:00 of 10:00  600 runs"));
}

TEST(Progress, OnATerminalTheLineIsWrittenAnewAndTakenOffAtTheEnd) {
  Written written;
  Progress progress = written.progress_in(Progress::Where::terminal, {0, 200});
  for (std::uint64_t run = 1; run <= 100; ++run) progress.show(at(run, 0.01 * static_cast<double>(run)));
  EXPECT_LE(written.texts.size(), 6U) << "five times a second";
  EXPECT_THAT(written.texts.front(), AllOf(StartsWith("\r"), HasSubstr("1 runs of 200"), Not(HasSubstr("\n"))));
  const std::size_t shown = written.texts.size();
  progress.clear();
  progress.clear();
  EXPECT_EQ(written.texts.size(), shown + 1);
}

TEST(Progress, WhatFailsIsToldAtOnceAndOnce) {
  Written written;
  Progress progress = written.progress_in(Progress::Where::log, {600, 0});
  Session session = at(1, 1);
  session.failures.push_back({0, {42, RunMode::safety}, 10, "I7: it differs"});
  progress.show(session);
  progress.show(session);
  EXPECT_THAT(written.texts, ElementsAre("seed 42 (safety) fails: I7: it differs\n"));
}

// -------------------------------------------------------------------------------------------------------- sessions

TEST(Session, WhatItHasMetIsTheSameWhateverTheThreads) {
  SessionOptions options;
  options.seed = 3;
  options.runs = 3;
  options.modes = {RunMode::safety, RunMode::liveness};
  std::vector<std::uint64_t> seen;
  const auto look = [&](const Session& session) { seen.push_back(session.runs); };
  const Session one = run_session(options, look);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6));
  options.threads = 3;
  const Session three = run_session(options, [](const Session&) {});
  EXPECT_EQ(one.met.text(), three.met.text());
  EXPECT_EQ(report(one.met, nullptr), report(three.met, nullptr));
  EXPECT_EQ(one.fingerprint, three.fingerprint);
  EXPECT_EQ(one.met.runs(), 6U);
  EXPECT_GT(one.virtual_ms, 0);
}

TEST(Session, WatchingARunDoesNotChangeIt) {
  RunOptions run{5, RunMode::safety};
  const RunResult unseen = run_world(run);
  std::size_t lines = 0;
  run.tracing = true;
  run.traced = [&](const std::string&) { ++lines; };
  const RunResult seen = run_world(run);
  EXPECT_GT(lines, 1'000U);
  EXPECT_EQ(seen.fingerprint, unseen.fingerprint);
}

TEST(Session, WhatIsThrownIsAFailureOfItsRun) {
  RunOptions run{5, RunMode::safety};
  run.tracing = true;
  run.traced = [lines = 0](const std::string&) mutable {
    if (++lines == 100) throw std::out_of_range("a map has no such key");
  };
  EXPECT_EQ(run_world(run).violation, "thrown: a map has no such key");
}

TEST(Session, AFailedCheckNamesTheRunsUnderWay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto die = [] {
    name_runs_on_abort();
    const UnderWay one({42, RunMode::safety});
    {
      const UnderWay over({43, RunMode::safety});
    }
    const UnderWay other({44, RunMode::liveness});
    TM_CHECK(false, "a check of the product");
  };
  EXPECT_DEATH(die(), "under way: seed 42 \\(safety\\)\nunder way: seed 44 \\(liveness\\)\n");
}

TEST(Met, WhatIsMissingIsNamedWithTheJudges) {
  Met met;
  Counters all;
  all.counts.fill(1);
  all.counts[static_cast<std::size_t>(Counter::torn)] = 0;
  Asked asked;
  asked.counts.fill(1);
  met.add(all, asked, {0, 1, "safety"});
  EXPECT_THAT(missing(met, StoreKind::memory), IsEmpty()) << "it tears nothing";
  EXPECT_THAT(missing(met, StoreKind::log), ElementsAre(StartsWith("crashes that left a part")));
  asked.counts[static_cast<std::size_t>(Judge::I15)] = 0;
  Met other;
  other.add(all, asked, {0, 1, "safety"});
  EXPECT_THAT(missing(other, StoreKind::memory), ElementsAre(StartsWith("judge I15")));
}

TEST(Report, TheLastLineSaysTheSpeedAsARate) {
  Session session = at(20, 4);  // two hours
  EXPECT_THAT(last_line(session), HasSubstr("2.0 virtual hours in 4.0 s (0.50/s); final"));
}

TEST(Session, EveryJudgeIsAsked) {
  SessionOptions options;
  options.runs = 12;
  options.modes = {RunMode::liveness};
  options.threads = 2;
  const Session session = run_session(options, [](const Session&) {});
  for (std::size_t i = 0; i < kJudges.size(); ++i)
    EXPECT_GT(session.met.asked().counts[i], 0U) << kJudges[i].name << " was never asked";
}

}  // namespace
}  // namespace tidemark::sim
