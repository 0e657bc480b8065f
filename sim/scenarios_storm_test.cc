// Ten thousand devices lose their server at the same moment, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::Hello;
using replica::Welcome;
using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kGroupOf = 200;

std::string user_name(int number) {
  std::string name = "U";
  for (int i = 0; i < 3; ++i, number /= 26) name += static_cast<char>('a' + number % 26);
  return name;
}

/// So many devices, two of each user, all in step, each user in a group with 199 others.
class Crowd {
 public:
  explicit Crowd(std::size_t devices, const Scenario::ChangePlan& change = nullptr)
      : s([&](Plan& plan) {
          plan.round_max_ms = 50;  // about what a real one takes
          const Limits usual;
          Limits& limits = plan.config.limits;
          limits.logins_per_minute = usual.logins_per_minute;
          limits.messages_per_second = usual.messages_per_second;
          limits.requests_per_second = usual.requests_per_second;
          if (change) change(plan);
        }) {
    const int users = static_cast<int>(devices / 2);
    for (int first = 0; first < users; first += kGroupOf) {
      std::vector<std::string> members;
      for (int i = first + 1; i < first + kGroupOf; ++i) members.push_back(user_name(i));
      groups_.push_back(s.group(user_name(first), members));
    }
    for (int i = 0; i < users; ++i)
      for (const char* device : {"1", "2"}) phones_.push_back(&s.new_phone(user_name(i) + device));
    s.judge_users(50);
    for (const Phone* phone : phones_) phone->device().start({});
    s.quiet();
    everybody_writes();
    s.quiet();
    s.asking = [this](const SimDevice&, const replica::Operation& operation) {
      if (std::holds_alternative<Hello>(operation)) hellos_.push_back(s.now_ms());
    };
  }

  /// One in each group.
  void everybody_writes() {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      s.post_in(user_name(static_cast<int>(i) * kGroupOf), groups_[i], "hello");
  }

  /// How long the server was up when 99 of 100 devices were in step again, and all of them.
  struct Took {
    std::int64_t most_ms = 0;
    std::int64_t all_ms = 0;
  };
  Took come_back(std::int64_t down_ms) {
    for (Phone* phone : phones_) phone->forget();
    hellos_.clear();
    s.pass(down_ms);
    hellos_.clear();
    s.server_starts();
    const std::int64_t begin = s.now_ms();
    everybody_writes();
    Took took;
    const auto in_step = [](const Phone* phone) { return phone->device().settled(); };
    for (std::size_t there = 0; there < phones_.size(); s.pass(100)) {
      there = static_cast<std::size_t>(std::ranges::count_if(phones_, in_step));
      took.all_ms = s.now_ms() - begin;
      if (there < phones_.size() / 100 * 99) took.most_ms = took.all_ms;
      if (took.all_ms > 600'000) throw Violation("I19", "not everybody comes back");
    }
    everybody_writes();
    s.quiet();
    return took;
  }

  void expect_nothing_lost() {
    for (std::size_t i = 0; i < phones_.size(); ++i) {
      const Phone& phone = *phones_[i];
      const ConversationId& group = groups_[i / (2 * kGroupOf)];
      ASSERT_THAT(phone.got<Welcome>(), Not(IsEmpty()));
      ASSERT_THAT(phone.got<Welcome>(), Each(Field(&Welcome::mode, Mode::delta))) << "no reset";
      // The line of the index goes on: what it holds is the log, once.
      ASSERT_EQ(phone.rows(group), seqs(1, phone.shows(group).head_seq.value));
      ASSERT_THAT(phone.saw<replica::MessageEvent>(), SizeIs(2)) << "of the storm, and after it";
    }
  }

  /// Of all hellos, how many came in the fullest tenth of a second.
  double fullest() const {
    std::map<std::int64_t, std::size_t> tenths;
    for (const std::int64_t at : hellos_) ++tenths[at / 100];
    std::size_t most = 0;
    for (const auto& [tenth, count] : tenths) most = std::max(most, count);
    return static_cast<double>(most) / static_cast<double>(hellos_.size());
  }
  std::size_t hellos() const { return hellos_.size(); }
  std::size_t refused() const {
    std::size_t count = 0;
    for (const Phone* phone : phones_) count += phone->got<Error>().size();
    return count;
  }

  std::vector<std::int64_t> hellos_;  // when they came
  Scenario s;

 private:
  std::vector<ConversationId> groups_;
  std::vector<Phone*> phones_;
};

TEST(Conformance, S130_restart_with_ten_thousand_connections) {
  constexpr std::size_t kDevices = 10'000;
  Crowd crowd(kDevices);
  // Stopped in order, and back at once: most devices come with their first wait, of up to a second.
  crowd.s.server().stop();
  Crowd::Took took = crowd.come_back(200);
  crowd.expect_nothing_lost();
  EXPECT_EQ(crowd.hellos(), kDevices) << "one each";
  EXPECT_EQ(crowd.refused(), 0U) << "within the limits of logins and of what may wait";
  EXPECT_LT(crowd.fullest(), 0.15) << "no more in a tenth of a second";
  EXPECT_LT(took.most_ms, 3'000);
  EXPECT_LT(took.all_ms, 40'000) << "a wait is at most 30 s";

  // Dead for a while: by then the waits are longer, and the storm is weaker.
  crowd.s.server_dies();
  took = crowd.come_back(15'000);
  crowd.expect_nothing_lost();
  EXPECT_EQ(crowd.hellos(), kDevices);
  EXPECT_EQ(crowd.refused(), 0U);
  EXPECT_LT(crowd.fullest(), 0.03);
  EXPECT_LT(took.all_ms, 40'000);
}

// A server that can take a small part of the storm refuses the rest for now, and gets them all in the end.
TEST(Conformance, S130_a_storm_beyond_the_limits) {
  constexpr std::size_t kDevices = 2'000;
  Crowd crowd(kDevices, [](Plan& plan) { plan.round_max_ms = 200; });
  crowd.s.run().plan.config.limits.commit_queue_max = 50;
  crowd.s.server_dies();
  const Crowd::Took took = crowd.come_back(200);
  crowd.expect_nothing_lost();
  EXPECT_GT(crowd.refused(), kDevices / 10);
  EXPECT_LT(crowd.hellos(), 5 * kDevices) << "who is refused waits longer each time";
  EXPECT_LT(took.all_ms, 90'000);
}

}  // namespace
}  // namespace tidemark::sim
