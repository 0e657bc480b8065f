// Takes the turns of the Notifier: reads what the user is to be told, posts it, and notes that he was told. Threads of
// its own; each turn is answered once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ports.h"
#include "engine/engine.h"
#include "hooks/http_post.h"
#include "hooks/notification.h"
#include "hooks/notifier.h"

namespace tidemark {

struct NotifySenderOptions {
  HookUrl url;
  std::string secret;
  std::int64_t timeout_ms = 5'000;
  std::size_t parallel = 4;
  NotificationOptions content = {};
};

class NotifySender {
 public:
  struct Status {
    std::uint64_t told = 0;
    std::uint64_t failed = 0;  // tries
  };
  /// A message of before the start that has not reached its receiver.
  struct Missed {
    UserId user;
    Mark mark;
  };
  struct Host {
    std::function<void(const Notifier::Turn&, bool told)> answered;  // any thread
    std::function<void(std::vector<Missed>)> missed;                 // any thread, once
    std::function<void(std::vector<UserId>)> outdated;               // any thread: they are shown what is over
  };

  /// All that is given by reference must outlive this; `tls` is null for http.
  NotifySender(Engine& engine, const Clock& clock, NotifySenderOptions options, const TlsContext* tls, Host host);
  ~NotifySender();
  /// Begins with what was missed when the server stopped.
  void start();
  void stop();

  // Any thread.
  void send(Notifier::Turn turn);
  /// See EventTeller::taken_back.
  void taken_back(const ConversationId& conversation);
  /// A large group has ended. Nobody's index says so: who is shown something of it is looked for.
  void dissolved(const ConversationId& conversation);
  Status status() const;

 private:
  struct Flight {
    bool reading = true;
    std::vector<ConversationId> shows;
    bool stale = false;
  };
  enum class Outcome : std::uint8_t { told, failed, again };
  void work(HttpPost& post);
  bool take(HttpPost& post, const Notifier::Turn& turn);
  Outcome take_once(HttpPost& post, const Notifier::Turn& turn, Flight& flight);
  void find_missed();
  void find_shown_dissolved();

  Engine& engine_;
  const Clock& clock_;
  const NotifySenderOptions options_;
  const Host host_;
  std::vector<std::unique_ptr<HttpPost>> posts_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable woken_;
  bool stopping_ = false;
  bool find_missed_ = true;
  bool find_dissolved_ = true;
  std::deque<Notifier::Turn> turns_;
  std::vector<Flight*> flights_;
  Status status_;
};

}  // namespace tidemark
