#include "core/replica/coverage.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace tidemark::replica {
namespace {

Interval interval(std::uint64_t after, std::uint64_t to) {
  return {Seq(after), Seq(to)};
}

TEST(Coverage, AdjacentRangesMelt) {
  Coverage held;
  held.add(interval(10, 20));
  held.add(interval(0, 5));
  EXPECT_EQ(held.ranges().size(), 2u);
  held.add(interval(5, 10));
  EXPECT_EQ(held.ranges(), std::vector{interval(0, 20)});
}

TEST(Coverage, TwoFillsThatMeetLeaveNoSeamAndNoDoubling) {
  Coverage held({interval(0, 10), interval(89'950, 90'000)});
  held.add(interval(50'000, 89'950));
  held.add(interval(10, 50'010));
  EXPECT_EQ(held.ranges(), std::vector{interval(0, 90'000)});
}

TEST(Coverage, SubtractingCutsARangeInTwo) {
  Coverage held({interval(0, 10)});
  held.subtract(interval(3, 5));
  EXPECT_EQ(held.ranges(), (std::vector{interval(0, 3), interval(5, 10)}));
  EXPECT_FALSE(held.covers(interval(0, 10)));
  EXPECT_TRUE(held.covers(interval(5, 10)));
  EXPECT_FALSE(held.contains(Seq(4)));
  EXPECT_TRUE(held.contains(Seq(3)));
}

TEST(Coverage, EmptyIntervalsAreCoveredAndChangeNothing) {
  Coverage held;
  held.add(interval(7, 7));
  held.add(interval(9, 7));
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(held.covers(interval(4, 4)));
  EXPECT_FALSE(held.contains(Seq(0)));
}

// Against a plain set of numbers.
TEST(Coverage, AgreesWithASetOfSeqs) {
  EXPECT_TRUE(rc::check([] {
    Coverage held;
    std::set<std::uint64_t> model;
    const auto steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      const auto after = *rc::gen::inRange<std::uint64_t>(0, 40);
      const auto to = *rc::gen::inRange<std::uint64_t>(0, 40);
      const bool adds = *rc::gen::arbitrary<bool>();
      adds ? held.add(interval(after, to)) : held.subtract(interval(after, to));
      for (std::uint64_t seq = after + 1; seq <= to; ++seq) adds ? void(model.insert(seq)) : void(model.erase(seq));
      for (std::uint64_t seq = 1; seq < 42; ++seq) RC_ASSERT(held.contains(Seq(seq)) == model.contains(seq));
      for (std::size_t n = 1; n < held.ranges().size(); ++n)
        RC_ASSERT(held.ranges()[n - 1].to < held.ranges()[n].after);
    }
  }));
}

}  // namespace
}  // namespace tidemark::replica
