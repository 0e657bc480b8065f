// What many runs have met together: how many of them met each thing, how often, the most in one run, and which faults
// came together in one. It can be kept in a file, so that other runs may be compared with it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/counters.h"
#include "sim/disk.h"
#include "sim/judges.h"

namespace tidemark::sim {

/// The kinds of faults among the counters, in the order of tables.
inline constexpr auto kFaultKinds = std::to_array<Counter>({
    Counter::cuts,
    Counter::frames_dropped,
    Counter::frames_doubled,
    Counter::frames_reordered,
    Counter::one_way,
    Counter::half_open,
    Counter::slow_consumers,
    Counter::gluttons,
    Counter::server_crashes,
    Counter::crashes_before_sync,
    Counter::crashes_after_sync,
    Counter::failed_writes,
    Counter::failed_syncs,
    Counter::full_disks,
    Counter::restores,
    Counter::client_crashes,
    Counter::client_batches_lost,
    Counter::clock_jumps,
    Counter::old_backups,
    Counter::clones,
});
inline constexpr std::size_t kPairs = kFaultKinds.size() * (kFaultKinds.size() - 1) / 2;

/// A seed, and the mode of its run by name.
struct RunName {
  std::uint64_t number = 0;  // of the run in its session: what was met first is the same whatever thread was faster
  std::uint64_t seed = 0;
  std::string_view mode = {};
};

class Met {
 public:
  struct Thing {
    std::uint64_t runs = 0;   // that met it
    std::uint64_t times = 0;  // in all of them
    std::uint64_t most = 0;   // in one of them
    RunName most_in = {};
  };
  struct Pair {
    std::uint64_t runs = 0;
    RunName first = {};
  };

  void add(const Counters& counters, const Asked& asked, const RunName& run);

  std::uint64_t runs() const { return runs_; }
  const Thing& of(Counter counter) const { return things_[static_cast<std::size_t>(counter)]; }
  /// Faults by their place in kFaultKinds, a > b.
  const Pair& pair(std::size_t a, std::size_t b) const { return pairs_[place(a, b)]; }
  std::size_t pairs_met() const;
  const Asked& asked() const { return asked_; }

  /// A line for each thing and each pair, by name.
  std::string text() const;
  /// MALFORMED for what is no such text. What the program does not count by now is passed over.
  static Result<Met> from_text(std::string_view text);

 private:
  static std::size_t place(std::size_t a, std::size_t b) { return a * (a - 1) / 2 + b; }

  std::uint64_t runs_ = 0;
  std::array<Thing, kCounters.size()> things_{};
  std::array<Pair, kPairs> pairs_{};
  Asked asked_;
};

/// What was never met, and which judges were never asked; a store that is all memory tears nothing.
std::vector<std::string> missing(const Met& met, StoreKind store);

/// What is new in `met`, a sentence each: faults that came together in a run for the first time, and things of which
/// one run met at least twice as many as any before.
std::vector<std::string> news(const Met& met, const Met& before);

}  // namespace tidemark::sim
