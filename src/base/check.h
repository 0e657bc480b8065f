// Assertions that stay on in release builds: a broken invariant is our fault and must stop the process
// before it can write anything that is wrong.
#pragma once

namespace tidemark {

/// Prints the failed condition with its place to stderr and aborts. Thread-safe; never returns.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* why);

}  // namespace tidemark

#define TM_CHECK(condition, why)                                     \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::tidemark::check_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
