// The commit round: takes the queued commands, decides each in order against the growing state, writes one batch,
// makes it durable once, answers all, publishes the notices (design, section 9). One lane. The engine owns no
// thread: its host calls run_round() from one thread, and is told by `wake` when there is something to do.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/ports.h"
#include "core/commands.h"
#include "core/params.h"
#include "engine/commit_state.h"
#include "engine/outbox.h"
#include "engine/store_age.h"
#include "store/page_cache.h"
#include "store/store_view.h"
#include "store/warm.h"

namespace tidemark {

/// Called once for each command, wherever the host publishes outcomes.
using Done = std::move_only_function<void(Result<Reply>)>;

/// What becomes of one command. The links of the sessions that it has ended are told before it is answered.
struct Answered {
  Done done;
  Result<Reply> reply;
  std::vector<EndedSession> ended = {};
};

/// What a round leads to, in the order of its commands. Answers are to be given before notices are delivered.
struct Outcome {
  std::vector<Answered> answers;
  std::vector<Notice> notices;
};

struct EngineOptions {
  CoreParams params;
  CommitStateOptions state;
  std::size_t round_commands_max = 1'024;
  std::size_t queue_max = 50'000;  // commands waiting; more are answered RETRY_LATER at once
  std::size_t queue_bytes_max = 64 * 1024 * 1024;
  std::int64_t recover_every_ms = 1'000;        // between attempts to make the store writable again
  std::int64_t clock_jump_ms = 10 * kMinuteMs;  // a wall clock that jumps by more stops purging
  std::optional<OutboxOptions> outbox = {};     // nothing: no hook is told of anything
  std::size_t page_cache_bytes = 32 * 1024 * 1024;
};

struct EngineStatus {
  bool writable = true;
  bool purging = true;  // false: the wall clock jumped, nothing is dropped by age until the next start
  std::uint64_t rounds = 0;
  std::uint64_t commands = 0;
  std::uint64_t refused_rounds = 0;
};

class Engine {
 public:
  struct Host {
    std::function<void()> wake;            // any thread: run_round() has something to do
    std::function<void(Outcome)> publish;  // the lane's thread; must keep the order of calls
    std::function<void()> events = {};     // the lane's thread: there is something new to tell the application
  };

  Engine(Warm& warm, const Clock& clock, Random& random, EngineOptions options, Host host);

  /// Makes the first epoch of a new store. Call once, before all else.
  Result<void> open();

  /// Queues a command, asked for by this session. Any thread.
  void submit(Command command, Done done, Session by = {});
  /// Commands that wait for a round. Any thread.
  std::size_t queued() const;
  /// What has become of events of the outbox. Any thread.
  void settle(Settlement settlement, Outbox::Settled settled = nullptr);
  Outbox::Status outbox() const { return outbox_.status(); }
  /// One round, or one attempt to recover. Returns whether there may be more to do at once. The lane's thread.
  bool run_round();
  /// Whether files have expired and the application is to be told: a round is due though nothing woke it. The lane's
  /// thread.
  bool files_expire() const;
  /// Answers everything still queued with RETRY_LATER. The lane's thread, at the end.
  void refuse_queued();

  /// A moment to read from. Any thread.
  std::shared_ptr<const Snapshot> snapshot() const { return warm_.snapshot(); }
  /// The same, for one reader's questions. Any thread.
  StoreView view() { return StoreView(warm_.snapshot(), StoreView::kTailEntries, &pages_); }
  PageCache::Counts pages() const { return pages_.counts(); }
  const CoreParams& params() const { return options_.params; }
  EngineStatus status() const;

 private:
  struct Queued {
    Command command;
    Done done;
    Session by;
    std::size_t bytes = 0;
  };
  std::vector<Queued> take_queued();
  /// Fails when the round as a whole cannot be made.
  Result<void> decide_all(std::vector<Queued>& queued, Outcome& outcome);
  Result<void> commit(const Outcome& outcome);
  void refuse(std::vector<Queued> queued);
  /// What a command is answered while nothing can be written: a device may still come to read.
  Result<Reply> unwritten(const Command& command) const;
  void keep_unsettled(const Outcome& outcome);
  void fail_round(Outcome outcome, std::vector<Queued> queued, const Error& error);
  bool try_recover();
  Result<Batch> take_batch();
  /// Adds to a round what is due once in a while: the store's age, and what has become too old.
  void keep_house(Batch& batch);
  void note_files(const Decision& decision);
  void drop_tombstones(std::uint32_t below_hour);
  void watch_clock(std::int64_t now_ms);

  Warm& warm_;
  const Clock& clock_;
  Random& random_;
  const EngineOptions options_;
  const Host host_;
  PageCache pages_;

  mutable std::mutex queue_mutex_;
  std::deque<Queued> queue_;     // guarded by queue_mutex_
  std::size_t queue_bytes_ = 0;  // guarded by queue_mutex_

  // The lane's own.
  CommitState state_;
  Outbox outbox_;
  std::uint64_t round_ = 0;
  bool recovering_ = false;
  Outcome unsettled_;  // what the round whose commit failed has to tell: its fate shows at the recovery
  std::int64_t next_recover_ms_ = 0;
  std::int64_t last_wall_ms_ = 0;
  std::int64_t last_steady_ms_ = 0;
  StoreAge age_;
  std::int64_t purged_hour_ = 0;
  std::int64_t next_file_expires_ms_ = 0;  // not later than the first does
  std::int64_t forgotten_hour_ = 0;        // tombstones made in hours below are being dropped, or gone

  mutable std::mutex status_mutex_;
  EngineStatus status_;  // guarded by status_mutex_
};

}  // namespace tidemark
