#include "core/uuid7.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tidemark {
namespace {

TEST(Uuid7, WritesTheExampleOfTheStandard) {
  // RFC 9562, appendix A.6: rand_a 0xcc3, variant 10, rand_b 0x18c4dc0c0c07398f.
  const Uuid7Random random{0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f};
  EXPECT_EQ(make_uuid_v7(0x017f22e279b0, random), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(Uuid7, KeepsItsTimeWhateverTheRandomness) {
  EXPECT_TRUE(rc::check([](const Uuid7Random& random) {
    const auto time = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 48);
    const std::string text = make_uuid_v7(time, random);
    RC_ASSERT(text.size() == 36u);
    RC_ASSERT(uuid7_time_ms(text) == time);
  }));
}

TEST(Uuid7, LaterTimesSortLaterAsText) {
  EXPECT_TRUE(rc::check([](const Uuid7Random& first, const Uuid7Random& second) {
    const auto time = *rc::gen::inRange<std::int64_t>(0, (std::int64_t{1} << 48) - 1);
    RC_ASSERT(make_uuid_v7(time, first) < make_uuid_v7(time + 1, second));
  }));
}

TEST(Uuid7, TimesBeyond48BitsStayAtTheEnds) {
  EXPECT_EQ(uuid7_time_ms(make_uuid_v7(-1, {})), 0);
  EXPECT_EQ(uuid7_time_ms(make_uuid_v7(std::int64_t{1} << 60, {})), (std::int64_t{1} << 48) - 1);
}

TEST(Uuid7, TakesUpperCase) {
  EXPECT_EQ(uuid7_time_ms("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), 0x017f22e279b0);
}

TEST(Uuid7, RefusesWhatIsNoUuidOfVersion7) {
  EXPECT_EQ(uuid7_time_ms(""), std::nullopt);
  EXPECT_EQ(uuid7_time_ms("017f22e2-79b0-4cc3-98c4-dc0c0c07398f"), std::nullopt) << "version 4";
  EXPECT_EQ(uuid7_time_ms("017f22e2-79b0-7cc3-c8c4-dc0c0c07398f"), std::nullopt) << "another variant";
  EXPECT_EQ(uuid7_time_ms("017f22e279b07cc398c4dc0c0c07398f"), std::nullopt) << "no hyphens";
  EXPECT_EQ(uuid7_time_ms("017f22e2-79b0-7cc3-98c4-dc0c0c07398"), std::nullopt) << "too short";
  EXPECT_EQ(uuid7_time_ms("017f22e2-79b0-7cc3-98c4-dc0c0c07398fa"), std::nullopt) << "too long";
  EXPECT_EQ(uuid7_time_ms("017f22e2-79b0-7cc3-98c4-dc0c0c07398g"), std::nullopt) << "no hex digit";
  EXPECT_EQ(uuid7_time_ms("017f22e2079b0-7cc3-98c4-dc0c0c07398f"), std::nullopt) << "hyphen missing";
}

}  // namespace
}  // namespace tidemark
