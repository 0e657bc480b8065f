// The black-box tests: the real server's program, spoken to over sockets alone.
#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // servers die under our writes on purpose
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
