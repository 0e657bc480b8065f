// The runs under way, to be named when the process dies of one: a check of the product that fails ends it at once.
#pragma once

#include <cstddef>

#include "sim/world.h"

namespace tidemark::sim {

/// While it lives its run is named.
class UnderWay {
 public:
  explicit UnderWay(const RunOptions& run);
  ~UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::size_t place_;
};

/// From now on a process that ends by abort() says on its standard error which runs were under way.
void name_runs_on_abort();

}  // namespace tidemark::sim
