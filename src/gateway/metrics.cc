#include "gateway/metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace tidemark {
namespace {

constexpr std::int64_t kFirstBoundMicros = 250;

void write_head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void LatencyHistogram::add(std::int64_t micros) {
  std::size_t bucket = 0;
  for (std::int64_t bound = kFirstBoundMicros; bucket < kBuckets && micros > bound; bound *= 2) ++bucket;
  ++counts_[bucket];
  ++count_;
  sum_micros_ += static_cast<std::uint64_t>(micros);
}

void LatencyHistogram::write(std::string& out, std::string_view name, std::string_view help) const {
  write_head(out, name, "histogram", help);
  std::uint64_t below = 0;
  double bound = kFirstBoundMicros / 1e6;
  for (std::size_t i = 0; i < kBuckets; ++i, bound *= 2) {
    below += counts_[i];
    fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"{}\"}} {}\n", name, bound, below);
  }
  fmt::format_to(std::back_inserter(out), "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, count_,
                 static_cast<double>(sum_micros_) / 1e6);
}

void write_metric(std::string& out, std::string_view name, std::string_view type, std::string_view help, double value) {
  write_head(out, name, type, help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void write_metrics(std::string& out, const Metrics& m) {
  const auto counter = [&out](std::string_view name, std::string_view help, std::uint64_t value) {
    write_metric(out, name, "counter", help, static_cast<double>(value));
  };
  counter("tidemark_connections_accepted_total", "TCP connections accepted.", m.accepted_connections);
  counter("tidemark_connections_refused_total", "TCP connections refused because of a limit.", m.refused_connections);
  counter("tidemark_frames_in_total", "Frames taken from sockets.", m.frames_in);
  counter("tidemark_bytes_in_total", "Bytes of such frames.", m.bytes_in);
  counter("tidemark_pushed_entries_total", "Entries pushed to links, repeats included.", m.pushed_entries);
  counter("tidemark_head_notices_total", "Times a link was told where logs of large groups stand.", m.head_notices);
  counter("tidemark_hints_total", "Times a link was told to pull.", m.hints);
  counter("tidemark_kicks_total", "Links ended by the server with a reason.", m.kicks);
  counter("tidemark_unacknowledged_total", "Links ended because pushes were not acknowledged.",
          m.closed_unacknowledged);
  write_head(out, "tidemark_http_answers_total", "counter", "HTTP answers by status.");
  for (const auto& [status, count] : m.http_answers)
    fmt::format_to(std::back_inserter(out), "tidemark_http_answers_total{{status=\"{}\"}} {}\n", status, count);
  write_head(out, "tidemark_errors_total", "counter", "Refusals by code.");
  for (const auto& [code, count] : m.errors)
    fmt::format_to(std::back_inserter(out), "tidemark_errors_total{{code=\"{}\"}} {}\n", code, count);
  m.commit_latency.write(out, "tidemark_commit_seconds", "From a change's arrival to its durable answer.");
  m.read_latency.write(out, "tidemark_read_seconds", "From a read's arrival to its answer.");
}

}  // namespace tidemark
