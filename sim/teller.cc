#include "sim/teller.h"

#include <utility>

#include "hooks/event_json.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {
constexpr int kParallel = 4;
constexpr std::int64_t kLookAgainMs = 1'000;
}  // namespace

void Teller::wake() {
  feed_.wake();
  go_on();
}

void Teller::go_on() {
  if (std::exchange(goes_on_, true)) return;
  later_(0, [this] {
    goes_on_ = false;
    work();
  });
}

void Teller::work() {
  if (feed_.wanted()) (void)feed_.read(*engine_.snapshot());
  while (on_the_way_ < kParallel) {
    const auto attempt = queue_.next(clock_.steady_ms());
    if (!attempt) break;
    tell(*attempt);
  }
  // Those that wait after a failure.
  if (std::exchange(looks_again_, true)) return;
  later_(kLookAgainMs, [this] {
    looks_again_ = false;
    work();
  });
}

Teller::Fate Teller::any_fate() {
  if (run_.application_down) return Fate::unreachable;
  return run_.strikes(run_.plan.hook_refused) ? Fate::refused : Fate::taken;
}

/// What is told is read as it leaves. What is on its way arrives though the server dies.
void Teller::tell(const Attempt& attempt) {
  StoreView view(engine_.snapshot());
  const std::optional<std::string> json = event_json(view, attempt.event, attempt.number);
  if (view.failure()) return queue_.returned(attempt.event);
  if (!json) {
    if (to_settle_.empty()) later_(run_.dice.skewed(0, 500), [this] { settle(); });
    queue_.told(attempt.event);
    return to_settle_.told.push_back(attempt.event.place);
  }
  const std::string& body = *json;
  run_.leaving(body);
  ++on_the_way_;
  Fate fate = any_fate();
  const std::int64_t slow_ms = run_.calm ? 10 : 300;
  const std::int64_t there = run_.dice.skewed(0, slow_ms);
  const auto arrive = [&](std::int64_t delay_ms) {
    run_.timeline.after(delay_ms, [watch = &watch_, body] { watch->on_hook(body); });
  };
  if (fate == Fate::taken) {
    arrive(there);
    if (run_.strikes(run_.plan.hook_twice)) arrive(there + run_.dice.skewed(0, 5'000));
    if (run_.strikes(run_.plan.hook_unheard)) fate = Fate::refused;  // its answer is lost
  }
  later_(there + 1 + run_.dice.skewed(0, slow_ms), [this, attempt, fate] {
    --on_the_way_;
    finish(attempt, fate);
    go_on();
  });
}

void Teller::finish(const Attempt& attempt, Fate fate) {
  if (to_settle_.empty()) later_(run_.dice.skewed(0, 500), [this] { settle(); });
  if (fate == Fate::taken) {
    run_.hit(Counter::events_told);
    queue_.told(attempt.event);
    to_settle_.told.push_back(attempt.event.place);
    return;
  }
  run_.hit(Counter::events_failed);
  const auto failure = fate == Fate::unreachable ? EventQueue::Failure::unreachable : EventQueue::Failure::refused;
  if (queue_.failed(attempt.event, failure, clock_.steady_ms(), run_.dice.next()) == EventQueue::Fate::again) return;
  run_.hit(Counter::events_given_up);
  watch_.on_given_up(attempt.event.event);
  to_settle_.dead.push_back({attempt.event, attempt.number, "it did not take it", clock_.wall_ms()});
}

void Teller::settle() {
  if (!to_settle_.empty()) engine_.settle(std::exchange(to_settle_, {}));
}

}  // namespace tidemark::sim
