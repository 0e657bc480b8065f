#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tidemark {

void check_failed(const char* condition, const char* file, int line, const char* why) {
  std::fprintf(stderr, "tidemark: invariant broken at %s:%d: %s (%s)\n", file, line, condition, why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tidemark
