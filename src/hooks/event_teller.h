// Tells the application of the events in the outbox: threads that post, each one event at a time, in the order that
// EventQueue gives. What was told or given up is settled in the outbox a moment later, so that a crash tells it again.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ports.h"
#include "engine/engine.h"
#include "hooks/event_feed.h"
#include "hooks/http_post.h"

namespace tidemark {

struct EventTellerOptions {
  HookUrl url;
  std::string secret;
  std::int64_t timeout_ms = 5'000;
  std::size_t parallel = 4;
  EventQueueOptions queue = {};
};

class EventTeller {
 public:
  struct Status {
    std::uint64_t told = 0;
    std::uint64_t failed = 0;  // tries
    std::uint64_t dead = 0;
    bool reachable = true;
  };

  /// All that is given by reference must outlive this; `tls` is null for http.
  EventTeller(Engine& engine, const Clock& clock, Random& random, EventTellerOptions options, const TlsContext* tls);
  ~EventTeller();

  void start();
  void stop();

  // Any thread.

  /// There is something new in the outbox.
  void wake();
  /// Messages of this conversation were taken back in a round that snapshots show by now: what was read of it before
  /// leaves no more. To be told before anybody is told of the taking back.
  void taken_back(const ConversationId& conversation);
  Status status() const;

 private:
  /// An event on its way, and whether what was read for it is still true.
  struct Flight {
    ConversationId conversation;
    bool stale = false;
  };
  struct Outcome {
    enum class Kind : std::uint8_t { told, void_now, failed, held_back };
    Kind kind = Kind::told;
    EventQueue::Failure failure = EventQueue::Failure::refused;
    std::string why;
  };
  void work(HttpPost& post);
  Outcome tell(HttpPost& post, const Attempt& attempt, const Flight& flight);
  void finish(const Attempt& attempt, Outcome outcome);
  void feed();
  void settle_if_due();
  void rest(std::unique_lock<std::mutex>& lock);

  Engine& engine_;
  const Clock& clock_;
  Random& random_;
  const EventTellerOptions options_;
  std::vector<std::unique_ptr<HttpPost>> posts_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable woken_;
  bool stopping_ = false;
  EventQueue queue_;
  EventFeed feed_{queue_};
  std::int64_t read_again_ms_ = 0;
  std::vector<Flight*> flights_;
  Settlement to_settle_;
  std::int64_t settle_at_ms_ = 0;
  Status status_;
};

}  // namespace tidemark
