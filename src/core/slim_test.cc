// Long bodies as they travel: what stands for them is short, whole characters, and known again.
#include "core/slim.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/utf8.h"
#include "core/body.h"

namespace tidemark {
namespace {

TEST(Slim, AShortBodyIsItself) {
  Body body;
  body.text = std::string(4'096, 'x');
  EXPECT_EQ(slim(body, 4'096), body);
  EXPECT_TRUE(stands_for(body, body));
}

TEST(Slim, ALongOneIsTypeFrontLengthAndHash) {
  Body body;
  body.type = "card";
  body.text = std::string(5'000, 'x');
  body.data = "{}";
  body.attachments = {{"https://example.org/a", 7, "image/png", "h", 5}};
  const Body front = slim(body, 4'096);
  EXPECT_EQ(front.type, "card");
  EXPECT_EQ(front.text, std::string(1'024, 'x'));
  EXPECT_EQ(front.data, "");
  EXPECT_TRUE(front.attachments.empty());
  ASSERT_TRUE(front.cut.has_value());
  EXPECT_EQ(front.cut->size_bytes, body_size(body));
  EXPECT_EQ(front.cut->hash, digest_of_body(body));
  EXPECT_TRUE(stands_for(front, body));
  EXPECT_EQ(slim(front, 10), front) << "what is cut is not cut again";
  Body other = body;
  other.text.back() = 'y';
  EXPECT_FALSE(stands_for(front, other));
}

TEST(Slim, ASummaryStandsInsteadOfTheText) {
  Body body;
  body.text = std::string(5'000, 'x');
  body.summary = "a long story";
  EXPECT_EQ(slim(body, 4'096).summary, "a long story");
  EXPECT_EQ(slim(body, 4'096).text, "");
}

TEST(Slim, NoCharacterIsCut) {
  EXPECT_TRUE(rc::check([] {
    const auto kind = *rc::gen::element<std::string>("é", "中", "👍", "👨‍👩‍👧", "a");
    const auto count = *rc::gen::inRange<std::size_t>(1, 400);
    Body body;
    for (std::size_t i = 0; i < count; ++i) body.text += kind;
    const auto bytes = *rc::gen::inRange<std::size_t>(1, 900);
    const Body front = slim(body, bytes);
    RC_ASSERT(valid_utf8(front.text));
    RC_ASSERT(front.text.size() % kind.size() == 0u);
    RC_ASSERT(front.text.size() <= std::max<std::size_t>(bytes, body_size(body) <= bytes ? body.text.size() : bytes));
    RC_ASSERT(front.cut.has_value() == (body_size(body) > bytes));
    RC_ASSERT(stands_for(front, body));
  }));
}

}  // namespace
}  // namespace tidemark
