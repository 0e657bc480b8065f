// Counters of the server and their text form (Prometheus exposition format 0.0.4). Network thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tidemark {

/// Counts durations in buckets whose bounds double from 0.25 ms to 8 s.
class LatencyHistogram {
 public:
  void add(std::int64_t micros);
  void write(std::string& out, std::string_view name, std::string_view help) const;

 private:
  static constexpr int kBuckets = 16;
  std::array<std::uint64_t, kBuckets + 1> counts_{};  // the last: above all bounds
  std::uint64_t count_ = 0;
  std::uint64_t sum_micros_ = 0;
};

struct Metrics {
  std::uint64_t accepted_connections = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t frames_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t pushed_entries = 0;
  std::uint64_t hints = 0;
  std::uint64_t head_notices = 0;
  std::uint64_t kicks = 0;
  std::uint64_t closed_unacknowledged = 0;
  std::map<int, std::uint64_t> http_answers;         // by status
  std::map<std::string_view, std::uint64_t> errors;  // by code
  LatencyHistogram commit_latency;                   // from a change's arrival to its durable answer
  LatencyHistogram read_latency;                     // from a read's arrival to its answer
};

/// One metric line with its help and type.
void write_metric(std::string& out, std::string_view name, std::string_view type, std::string_view help, double value);
/// The counters above.
void write_metrics(std::string& out, const Metrics& metrics);

}  // namespace tidemark
