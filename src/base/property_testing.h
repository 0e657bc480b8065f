// For tests: how much a program's properties are tried.
#pragma once

#include <cstdlib>
#include <string>

namespace tidemark {

/// So many cases of each property, unless the environment orders a number. Rapidcheck reads it at its first use: to be
/// called while the program's globals are made.
inline bool cases_of_each_property(int cases) {
  const char* ordered = std::getenv("RC_PARAMS");
  std::string params = ordered ? ordered : "";
  if (params.find("max_success=") == std::string::npos) params += " max_success=" + std::to_string(cases);
  return ::setenv("RC_PARAMS", params.c_str(), 1) == 0;
}

}  // namespace tidemark
