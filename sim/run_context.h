// What everything in a run shares.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/counters.h"
#include "sim/dice.h"
#include "sim/disk.h"
#include "sim/judges.h"
#include "sim/plan.h"
#include "sim/timeline.h"

namespace tidemark::sim {

/// An invariant that does not hold; ends the run.
class Violation : public std::runtime_error {
 public:
  Violation(std::string invariant, const std::string& what)
      : std::runtime_error(invariant + ": " + what), invariant_(std::move(invariant)) {}
  const std::string& invariant() const { return invariant_; }

 private:
  std::string invariant_;
};

struct RunContext {
  explicit RunContext(std::uint64_t a_seed, StoreKind kind = StoreKind::memory)
      : seed(a_seed), store(kind), dice(a_seed), timeline(dice) {}

  const std::uint64_t seed;
  const StoreKind store;

  Dice dice;
  Timeline timeline;
  Plan plan;
  Counters counters;
  Asked asked;
  bool calm = false;              // no more faults
  bool application_down = false;  // it takes no posts
  bool tracing = false;
  std::function<void(const std::string&)> traced;  // takes the lines of the trace; nothing: they are printed
  std::uint64_t fingerprint = 0;                   // of everything that was told
  std::function<void(std::string_view)> leaving = [](std::string_view) {};  // told of what the server writes

  bool strikes(std::uint32_t per_mille) { return !calm && per_mille > 0 && dice.chance(per_mille); }
  void hit(Counter counter) { counters.hit(counter); }
  void ask(Judge judge, std::uint64_t times = 1) { asked.ask(judge, times); }
  /// A line of the trace; also what the fingerprint is made of.
  void tell(const std::string& line);
  /// A line of the trace alone: whoever watches must not change what is seen.
  void show(const std::string& line) const;
};

}  // namespace tidemark::sim
