#include "base/localhost.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

TEST(LookUp, FindsThisMachineByItsNameAndItsNumber) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const auto found = look_up(host, "7700");
    ASSERT_TRUE(found) << host;
    EXPECT_NE(found->get(), nullptr);
    EXPECT_EQ((*found)->ai_socktype, SOCK_STREAM);
  }
}

TEST(LookUp, SaysWhyThereIsNothing) {
  // A port that is no number fails without asking anybody.
  const auto found = look_up("127.0.0.1", "no port");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error(), "");
}

}  // namespace
}  // namespace tidemark
