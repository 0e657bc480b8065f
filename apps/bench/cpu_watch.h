// Who used the processors while something was measured: this client, each of the server's threads, and others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tidemark::bench {

struct CpuShares {
  double client = 0;    // of one processor, 0 to 1
  double server = 0;    // of one processor, all its threads
  double others = 0;    // of one processor: neither client nor server
  double idle = 0;      // of one processor
  double client_s = 0;  // processor time
  double server_s = 0;
  std::vector<std::pair<std::string, double>> threads;  // of the server, busiest first
};

/// Begins when it is made.
class CpuWatch {
 public:
  /// `server` may be 0: not known.
  explicit CpuWatch(pid_t server);
  /// The shares since the beginning.
  CpuShares shares() const;

 private:
  struct Sample {
    std::int64_t wall_ns = 0;
    std::int64_t client_ns = 0;
    double busy_s = 0;  // of all processors
    double idle_s = 0;
    std::map<int, std::pair<std::string, double>> threads;  // by tid: name and seconds
  };
  Sample sample() const;

  pid_t server_;
  Sample begin_;
};

/// From this share on the client's thread may have been what limited a figure.
inline constexpr double kClientLimit = 0.9;

}  // namespace tidemark::bench
