#include "hooks/event_teller.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "hooks/event_json.h"
#include "hooks/signed_post.h"
#include "store/store_view.h"

namespace tidemark {
namespace {

constexpr std::size_t kSettleAt = 256;        // events together
constexpr std::int64_t kSettleAfterMs = 200;  // or when the first of them has waited so long
constexpr std::int64_t kReadAgainMs = 1'000;  // after a read that failed
constexpr std::int64_t kRestMs = 1'000;
constexpr std::size_t kWhyBytes = 200;

}  // namespace

EventTeller::EventTeller(Engine& engine, const Clock& clock, Random& random, EventTellerOptions options,
                         const TlsContext* tls)
    : engine_(engine), clock_(clock), random_(random), options_(std::move(options)), queue_(options_.queue) {
  for (std::size_t i = 0; i < options_.parallel; ++i) posts_.push_back(std::make_unique<HttpPost>(options_.url, tls));
}

EventTeller::~EventTeller() {
  stop();
}

void EventTeller::start() {
  for (const auto& post : posts_)
    threads_.emplace_back([this, &post] {
      pthread_setname_np(pthread_self(), "hooks");
      work(*post);
    });
}

void EventTeller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  for (const auto& post : posts_) post->interrupt();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  if (!to_settle_.empty()) engine_.settle(std::exchange(to_settle_, {}));
}

void EventTeller::wake() {
  {
    const std::lock_guard lock(mutex_);
    feed_.wake();
  }
  woken_.notify_one();
}

void EventTeller::taken_back(const ConversationId& conversation) {
  const std::lock_guard lock(mutex_);
  for (Flight* flight : flights_) flight->stale = flight->stale || flight->conversation == conversation;
}

EventTeller::Status EventTeller::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void EventTeller::work(HttpPost& post) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    feed();
    settle_if_due();
    const auto attempt = queue_.next(clock_.steady_ms());
    if (!attempt) {
      rest(lock);
      continue;
    }
    // Known before anything is read, so that no taking back falls between.
    Flight flight{attempt->event.event.conversation};
    flights_.push_back(&flight);
    woken_.notify_one();  // another lane may be ready
    lock.unlock();
    Outcome outcome = tell(post, *attempt, flight);
    lock.lock();
    std::erase(flights_, &flight);
    finish(*attempt, std::move(outcome));
  }
}

void EventTeller::rest(std::unique_lock<std::mutex>& lock) {
  const std::int64_t now_ms = clock_.steady_ms();
  std::int64_t until_ms = now_ms + kRestMs;
  if (const auto wakes = queue_.wakes_at()) until_ms = std::min(until_ms, *wakes);
  if (!to_settle_.empty()) until_ms = std::min(until_ms, settle_at_ms_);
  if (feed_.has_more()) until_ms = std::min(until_ms, read_again_ms_);
  woken_.wait_for(lock, std::chrono::milliseconds(std::max<std::int64_t>(until_ms - now_ms, 1)));
}

EventTeller::Outcome EventTeller::tell(HttpPost& post, const Attempt& attempt, const Flight& flight) {
  StoreView view(engine_.snapshot());
  const std::optional<std::string> body = event_json(view, attempt.event, attempt.number);
  if (view.failure()) return {Outcome::Kind::failed, EventQueue::Failure::unreachable, told_of(*view.failure()).detail};
  if (!body) return {.kind = Outcome::Kind::void_now, .why = {}};
  const auto response = post_signed(post, clock_, options_.secret, *body, options_.timeout_ms, [&] {
    const std::lock_guard lock(mutex_);
    return !flight.stale;
  });
  if (!response) {
    const PostError& error = response.error();
    if (error.kind == PostError::Kind::held_back) return {.kind = Outcome::Kind::held_back, .why = {}};
    const bool unreachable = error.kind == PostError::Kind::unreachable;
    return {Outcome::Kind::failed, unreachable ? EventQueue::Failure::unreachable : EventQueue::Failure::refused,
            error.what};
  }
  if (response->status >= 200 && response->status <= 299) return {};
  return {Outcome::Kind::failed, EventQueue::Failure::refused, "It answered " + std::to_string(response->status) + "."};
}

void EventTeller::finish(const Attempt& attempt, Outcome outcome) {
  if (to_settle_.empty()) settle_at_ms_ = clock_.steady_ms() + kSettleAfterMs;
  switch (outcome.kind) {
    case Outcome::Kind::held_back:
      return queue_.returned(attempt.event);
    case Outcome::Kind::told:
      ++status_.told;
      [[fallthrough]];
    case Outcome::Kind::void_now:
      queue_.told(attempt.event);
      to_settle_.told.push_back(attempt.event.place);
      break;
    case Outcome::Kind::failed: {
      if (stopping_) return queue_.returned(attempt.event);
      ++status_.failed;
      if (outcome.why.size() > kWhyBytes) outcome.why.resize(kWhyBytes);
      if (status_.reachable && outcome.failure == EventQueue::Failure::unreachable)
        log_warning("hook_unreachable", {{"error", outcome.why}});
      const auto fate = queue_.failed(attempt.event, outcome.failure, clock_.steady_ms(), random_.next_u64());
      if (fate == EventQueue::Fate::again) break;
      ++status_.dead;
      log_warning("hook_event_given_up", {{"event", text_of(attempt.event.name)}, {"error", outcome.why}});
      to_settle_.dead.push_back({attempt.event, attempt.number, outcome.why, clock_.wall_ms()});
      break;
    }
  }
  status_.reachable = queue_.reachable();
}

void EventTeller::settle_if_due() {
  if (to_settle_.empty()) return;
  if (to_settle_.told.size() < kSettleAt && clock_.steady_ms() < settle_at_ms_) return;
  engine_.settle(std::exchange(to_settle_, {}));
}

void EventTeller::feed() {
  if (!feed_.wanted() || clock_.steady_ms() < read_again_ms_) return;
  const auto read = feed_.read(*engine_.snapshot());
  if (read) return;
  log_error("events_not_read", {{"error", read.error().message()}});
  read_again_ms_ = clock_.steady_ms() + kReadAgainMs;
}

}  // namespace tidemark
