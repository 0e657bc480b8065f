#include "core/visibility.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/intervals.h"
#include "core/test_view.h"

namespace tidemark {
namespace {

Period period(std::uint64_t join, std::uint64_t leave, std::uint64_t visible_from) {
  return {Seq(join), Seq(leave), Seq(visible_from)};
}

UserConversation row_with(std::vector<Period> periods, std::uint64_t cleared = 0) {
  UserConversation row;
  row.periods = std::move(periods);
  row.cleared = Seq(cleared);
  return row;
}

Hidden hidden(std::uint64_t after, std::uint64_t to, HiddenReason reason) {
  return {Seq(after), Seq(to), reason};
}

/// A user who has deleted nothing, or what a test put there.
struct Eyes {
  TestView view;
  UserId user{"u"};

  void deletes(UserConversation& row, Seq seq) {
    const std::string name = name_of_deleted(row.conversation, block_of(seq));
    auto object = view.object(user, name).value_or(UserObject{DeletedBlock{row.conversation, block_of(seq), {}, {}}});
    std::get<DeletedBlock>(object.what).deleted.set(seq);
    view.put_object(user, object);
    row.deleted_to = std::max(row.deleted_to, seq);
  }
};

Eyes& plain() {
  static Eyes eyes;
  return eyes;
}
bool visible(const UserConversation& row, Seq seq, Eyes& eyes = plain()) {
  return visible(Sight{eyes.view, eyes.user, row}, seq);
}
std::vector<Hidden> hidden_in(const UserConversation& row, Seq after, Seq to, Eyes& eyes = plain()) {
  return hidden_in(Sight{eyes.view, eyes.user, row}, after, to);
}
Intervals visible_in(const UserConversation& row, Seq after, Seq to, Eyes& eyes = plain()) {
  return visible_in(Sight{eyes.view, eyes.user, row}, after, to);
}

TEST(Visibility, what_the_user_deleted_is_hidden_for_that_reason) {
  Eyes eyes;
  UserConversation row = row_with({period(0, 0, 1)}, 5);
  for (const std::uint64_t seq : {4, 7, 8, 1'024, 1'025}) eyes.deletes(row, Seq(seq));
  EXPECT_FALSE(visible(row, Seq(7), eyes));
  EXPECT_FALSE(visible(row, Seq(1'025), eyes));
  EXPECT_TRUE(visible(row, Seq(9), eyes));
  EXPECT_TRUE(visible(row, Seq(1'026), eyes));
  EXPECT_TRUE(granted(row, Seq(7)));
  EXPECT_EQ(hidden_in(row, Seq(0), Seq(2'000), eyes),
            (std::vector{hidden(0, 5, HiddenReason::cleared), hidden(6, 8, HiddenReason::deleted),
                         hidden(1'023, 1'025, HiddenReason::deleted)}));
  EXPECT_EQ(visible_in(row, Seq(6), Seq(1'024), eyes), (Intervals{{Seq(8), Seq(1'023)}}));
}

TEST(Visibility, single_chats_show_everything_above_the_clear_floor) {
  const UserConversation row = row_with({period(0, 0, 1)}, 5);
  EXPECT_FALSE(visible(row, Seq(5)));
  EXPECT_TRUE(visible(row, Seq(6)));
  EXPECT_TRUE(visible(row, Seq(~0ull)));
  EXPECT_EQ(lower_bound_of(row), Seq(5));
  EXPECT_EQ(upper_bound_of(row, Seq(9)), Seq(9));
  EXPECT_EQ(hidden_in(row, Seq(0), Seq(9)), std::vector{hidden(0, 5, HiddenReason::cleared)});
  EXPECT_TRUE(hidden_in(row, Seq(5), Seq(9)).empty());
  EXPECT_TRUE(hidden_in(row, Seq(9), Seq(9)).empty());
  EXPECT_TRUE(hidden_in(row, Seq(9), Seq(3)).empty());
  EXPECT_FALSE(visible(row_with({period(0, 0, 0)}), Seq(0)));
}

TEST(Visibility, without_a_period_nothing_is_visible) {
  const UserConversation row = row_with({});
  EXPECT_FALSE(visible(row, Seq(1)));
  EXPECT_EQ(upper_bound_of(row, Seq(9)), Seq(0));
  EXPECT_EQ(hidden_in(row, Seq(0), Seq(9)), std::vector{hidden(0, 9, HiddenReason::period)});
}

TEST(Visibility, a_former_member_keeps_his_periods_until_he_clears_them) {
  UserConversation row = row_with({period(10, 50, 10)});
  EXPECT_FALSE(visible(row, Seq(9)));
  EXPECT_TRUE(visible(row, Seq(10)));
  EXPECT_TRUE(visible(row, Seq(50)));
  EXPECT_FALSE(visible(row, Seq(51)));
  EXPECT_EQ(upper_bound_of(row, Seq(1'000)), Seq(50));
  EXPECT_EQ(lower_bound_of(row), Seq(9));
  row.cleared = Seq(50);
  EXPECT_FALSE(visible(row, Seq(50)));
  EXPECT_EQ(lower_bound_of(row), Seq(50));
  EXPECT_EQ(hidden_in(row, Seq(0), Seq(60)),
            (std::vector{hidden(0, 9, HiddenReason::period), hidden(9, 50, HiddenReason::cleared),
                         hidden(50, 60, HiddenReason::period)}));
}

TEST(Conformance, S88_leave_and_rejoin_hides_what_lies_between) {
  const UserConversation row = row_with({period(10, 50, 10), period(80, 0, 80)});
  for (std::uint64_t seq = 1; seq <= 85; ++seq)
    EXPECT_EQ(visible(row, Seq(seq)), (seq >= 10 && seq <= 50) || seq >= 80) << seq;
  EXPECT_EQ(hidden_in(row, Seq(0), Seq(85)),
            (std::vector{hidden(0, 9, HiddenReason::period), hidden(50, 79, HiddenReason::period)}));
  EXPECT_EQ(visible_in(row, Seq(0), Seq(85)), (std::vector<Interval>{{Seq(9), Seq(50)}, {Seq(79), Seq(85)}}));
}

TEST(Visibility, the_lower_bound_rises_over_periods_that_were_cleared) {
  EXPECT_EQ(lower_bound_of(row_with({period(10, 50, 10), period(80, 0, 80)}, 60)), Seq(79));
  EXPECT_EQ(lower_bound_of(row_with({period(10, 50, 10), period(80, 0, 80)}, 20)), Seq(20));
}

TEST(Visibility, a_later_period_may_show_what_an_earlier_one_did_not) {
  const UserConversation row = row_with({period(10, 50, 10), period(80, 0, 40)});
  EXPECT_TRUE(hidden_in(row, Seq(9), Seq(90)).empty());
  EXPECT_TRUE(visible(row, Seq(60)));
}

TEST(Visibility, ranges_and_single_answers_agree) {
  EXPECT_TRUE(rc::check([] {
    UserConversation row;
    std::uint64_t at = 0;
    for (int i = 0; i < *rc::gen::inRange(0, 4); ++i) {
      const std::uint64_t join = at + *rc::gen::inRange<std::uint64_t>(1, 8);
      const std::uint64_t leave = join + *rc::gen::inRange<std::uint64_t>(1, 8);
      const std::uint64_t from = *rc::gen::inRange<std::uint64_t>(1, join + 1);
      row.periods.push_back(period(join, leave, from));
      at = leave;
    }
    if (!row.periods.empty() && *rc::gen::arbitrary<bool>()) row.periods.back().leave = Seq(0);
    row.cleared = Seq(*rc::gen::inRange<std::uint64_t>(0, 40));
    Eyes eyes;
    const auto deleted = *rc::gen::container<std::vector<unsigned char>>(rc::gen::inRange<unsigned char>(1, 40));
    for (const unsigned char seq : deleted)
      if (granted(row, Seq(seq))) eyes.deletes(row, Seq(seq));
    const Seq after(*rc::gen::inRange<std::uint64_t>(0, 40));
    const Seq to(*rc::gen::inRange<std::uint64_t>(0, 40));
    const Intervals shown = visible_in(row, after, to, eyes);
    const std::vector<Hidden> denied = hidden_in(row, after, to, eyes);
    const Seq upper = upper_bound_of(row, Seq(45));
    for (std::uint64_t seq = 1; seq <= 45; ++seq) {
      const bool inside = seq > after.value && seq <= to.value;
      const bool can = visible(row, Seq(seq), eyes);
      int named = 0;
      for (const Hidden& part : denied) named += part.after.value < seq && seq <= part.to.value;
      RC_ASSERT(holds(shown, Seq(seq)) == (inside && can));
      RC_ASSERT(named == (inside && !can ? 1 : 0));
      if (can) RC_ASSERT(seq > lower_bound_of(row).value && seq <= upper.value);
    }
    for (std::size_t i = 1; i < denied.size(); ++i) {
      RC_ASSERT(denied[i - 1].to <= denied[i].after);
      RC_ASSERT(denied[i - 1].to < denied[i].after || denied[i - 1].reason != denied[i].reason);
    }
  }));
}

Intervals any_intervals() {
  Intervals parts;
  const auto pairs = *rc::gen::container<std::vector<std::pair<unsigned char, unsigned char>>>(
      rc::gen::pair(rc::gen::inRange<unsigned char>(0, 30), rc::gen::inRange<unsigned char>(0, 30)));
  for (const auto& [after, to] : pairs) parts.push_back({Seq(after), Seq(to)});
  return parts;
}

TEST(Intervals, behave_as_sets_of_numbers) {
  EXPECT_TRUE(rc::check([] {
    const Intervals parts = any_intervals();
    const Intervals a = joined(parts), b = joined(any_intervals());
    const Seq after(*rc::gen::inRange<std::uint64_t>(0, 30)), to(*rc::gen::inRange<std::uint64_t>(0, 30));
    const Intervals rest = minus(a, b), inside = clipped(a, after, to);
    std::uint64_t length = 0;
    for (std::uint64_t n = 1; n <= 31; ++n) {
      const Seq seq(n);
      RC_ASSERT(holds(a, seq) == holds(parts, seq));
      RC_ASSERT(holds(rest, seq) == (holds(a, seq) && !holds(b, seq)));
      RC_ASSERT(holds(inside, seq) == (holds(a, seq) && after < seq && seq <= to));
      length += holds(a, seq) ? 1 : 0;
    }
    RC_ASSERT(length_of(a) == length);
    RC_ASSERT(joined(rest) == rest);
    for (std::size_t i = 1; i < a.size(); ++i) RC_ASSERT(a[i - 1].to < a[i].after);
  }));
}

}  // namespace
}  // namespace tidemark
