// A picture of latencies by percentile.
#pragma once

#include <string>

#include "apps/bench/report.h"

namespace tidemark::bench {

/// An SVG drawing: percentiles to the right, each nine as wide as the one before; milliseconds upwards, logarithmic.
/// "" without latencies.
std::string latency_picture(const Report& report, const Machine& machine);

}  // namespace tidemark::bench
