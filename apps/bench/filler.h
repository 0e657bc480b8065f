// Fills the store through the server's own front door, fast: many messages in flight over several links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/bench/progress.h"
#include "apps/bench/world.h"

namespace tidemark::bench {

struct FillJob {
  Link* link;
  std::string to;
  std::int64_t count;
};

struct FillPlan {
  std::vector<FillJob> jobs;  // those of one link are taken in turns, message by message
  int in_flight = 64;         // of each link; the server takes 256 at most
  int text_bytes = 100;
};

/// Sends all and waits until all are acknowledged.
Result<void> fill(World& world, const FillPlan& plan, Progress& progress);

}  // namespace tidemark::bench
