// What tells the application of events in a run: the product's queue over the engine's outbox, and posts that take
// their time, fail, arrive though nobody heard the answer, or arrive twice. What the real one does in threads is events
// here.
#pragma once

#include <functional>
#include <string>

#include "engine/engine.h"
#include "hooks/event_feed.h"
#include "sim/run_context.h"

namespace tidemark::sim {

/// The application's end.
class HookWatch {
 public:
  virtual ~HookWatch() = default;
  /// A post has arrived; it is answered as the run has it.
  virtual void on_hook(const std::string& body) = 0;
  /// An event was given up.
  virtual void on_given_up(const Event& event) = 0;
};

/// Of one process of the server: what it knew and had not settled dies with it.
class Teller {
 public:
  using Later = std::function<void(std::int64_t delay_ms, std::function<void()> act)>;

  /// `later` acts only as long as the process lives.
  Teller(RunContext& run, Engine& engine, const SimClock& clock, HookWatch& watch, Later later)
      : run_(run),
        engine_(engine),
        clock_(clock),
        watch_(watch),
        later_(std::move(later)),
        queue_(run.plan.event_queue) {}

  /// There may be something new in the outbox.
  void wake();

 private:
  enum class Fate : std::uint8_t { taken, refused, unreachable };
  void go_on();
  void work();
  void tell(const Attempt& attempt);
  Fate any_fate();
  void finish(const Attempt& attempt, Fate fate);
  void settle();

  RunContext& run_;
  Engine& engine_;
  const SimClock& clock_;
  HookWatch& watch_;
  const Later later_;
  EventQueue queue_;
  EventFeed feed_{queue_};
  int on_the_way_ = 0;
  bool goes_on_ = false;      // at once
  bool looks_again_ = false;  // after a while
  Settlement to_settle_;
};

}  // namespace tidemark::sim
