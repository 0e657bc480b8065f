// What a run found: figures with their targets, latencies, remarks; as a table, as JSON and (svg.h) as a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/bench/histogram.h"
#include "apps/bench/machine.h"
#include "apps/bench/options.h"

namespace tidemark::bench {

struct Target {
  enum class Kind : std::uint8_t { at_most, at_least };
  Kind kind = Kind::at_most;
  double value = 0;
};
inline Target at_most(double value) {
  return {Target::Kind::at_most, value};
}
inline Target at_least(double value) {
  return {Target::Kind::at_least, value};
}

struct Figure {
  std::string work;
  std::string key;   // for programs: lower-case words joined by '_', unique within the work
  std::string text;  // for people
  double value = 0;  // the median of `values`
  std::string unit;
  std::optional<Target> target;
  std::vector<double> values = {};  // one for each time the work has run

  bool met() const {
    return !target || (target->kind == Target::Kind::at_most ? value <= target->value : value >= target->value);
  }
};

struct Latency {
  std::string work;
  std::string key;
  std::string text;
  Histogram histogram;
};

class Report {
 public:
  /// The works run one after the other, each as often as one likes.
  void begin_work(std::string work);
  void figure(std::string key, std::string text, double value, std::string unit,
              std::optional<Target> target = std::nullopt);
  /// Keeps the histogram and adds its p50, p99 and p99.9 as far as there are values beyond them, or the worst, as
  /// figures in ms; the target is for `percent`, or for the worst instead of it.
  void latency(const std::string& key, const std::string& text, Histogram histogram,
               std::optional<Target> target = std::nullopt, double percent = 99);
  /// A sentence that the reader of the figures has to know.
  void remark(std::string sentence);

  /// What a work last found in this run of the program; nothing when it has not run.
  std::optional<double> value(const std::string& work, const std::string& key) const;
  /// The table of the present work: medians, and from where to where, of what ran several times.
  std::string table() const;
  std::string json(const Options& options, const Machine& machine) const;
  const std::vector<Latency>& latencies() const { return latencies_; }
  bool all_met() const;

 private:
  struct Remark {
    std::string work;
    std::string sentence;
  };
  std::string work_;
  std::vector<Figure> figures_;
  std::vector<Latency> latencies_;
  std::vector<Remark> remarks_;
};

}  // namespace tidemark::bench
