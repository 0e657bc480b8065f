// The Warm port as a log: a commit is one record appended to the commit log and synced, and then a change in memory. A
// sorted store below, itself a Warm, gets what has gathered there from time to time, without anybody waiting for it; a
// start replays what it does not have yet.
//
//   commit   ->  commit log  ->  active overlay  -- full -->  frozen overlay  -- materialised -->  sorted store
//   snapshot ->  a version, the overlays, a snapshot of the sorted store: the newest that knows a key wins
//
// The sorted store carries a marker: the log's id, the number of the last record that it holds all of, and its time. It
// is written behind the rows, so after a crash some of them may be newer than the marker says; the replay says the same
// again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "store/log/commit_log.h"
#include "store/log/overlay.h"
#include "store/warm.h"

namespace tidemark {

struct LogWarmOptions {
  CommitLogOptions log = {};
  std::size_t overlay_bytes = 64u << 20;  // of memory, from which on an overlay is materialised
  std::size_t batch_bytes = 4u << 20;     // of one commit to the sorted store
  std::function<std::int64_t()> wall_ms = [] { return std::int64_t{0}; };  // what is noted beside each record
  bool threaded = true;  // materialise in a thread of its own; otherwise in commit(), for the simulator
};

/// See Warm for the contract and the threads.
class LogWarm final : public Warm {
 public:
  /// Opens the store that these two make up. `fresh_id` is random and names the log if it is made now. INTERNAL when
  /// the log lacks what the sorted store does not hold, or is another store's.
  static Result<std::unique_ptr<LogWarm>> open(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted,
                                               GroupBytes group_bytes, const LogWarmOptions& options,
                                               std::uint64_t fresh_id);
  /// A last record, and when it was written.
  struct End {
    std::uint64_t record = 0;
    std::int64_t time_ms = 0;
  };
  /// Puts all that was written until then into the sorted store, for a restore. Nothing is left of the log: what comes
  /// later goes into another one, named by `fresh_id`, so that nobody takes the records of two histories for one.
  static Result<End> settle(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted, GroupBytes group_bytes,
                            LogWarmOptions options, std::int64_t until_ms, std::uint64_t fresh_id);
  ~LogWarm() override;

  std::shared_ptr<const Snapshot> snapshot() const override;
  Result<void> commit(const Batch& batch) override;
  Result<void> recover() override;
  WarmStatus status() const override;
  Result<void> room() const override {
    TM_TRY(files_->room());
    return sorted_->room();
  }

 private:
  friend class LogSnapshot;
  /// The versions at which somebody reads; outlives the store as long as a snapshot does.
  struct Readers {
    std::mutex mutex;
    std::multiset<Version> versions;
  };
  struct Frozen {
    std::shared_ptr<const Overlay> overlay;
    End end;
  };

  LogWarm(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted, GroupBytes group_bytes,
          LogWarmOptions options);

  Result<End> replay(std::uint64_t fresh_id, std::int64_t until_ms);
  std::unexpected<Error> not_understood(std::uint64_t record) const;
  void apply(const Batch& batch);
  Result<void> make_room();
  /// The active overlay has grown to twice its size, since the one before it is not in the sorted store yet.
  bool full() const { return active_->bytes() >= 2 * options_.overlay_bytes; }
  std::unexpected<Error> behind() const;
  Result<void> materialise(const Frozen& frozen);
  enum class Extent : std::uint8_t { all, some };
  Batch marker_at(End end, Extent extent) const;
  static std::unexpected<Error> too_new();
  void work();
  std::vector<Version> readable() const;
  void count(const Batch& batch);
  Result<void> stop(const Error& error);

  const std::shared_ptr<LogFiles> files_;
  const std::unique_ptr<Warm> sorted_;
  const GroupBytes group_bytes_;
  const LogWarmOptions options_;
  const std::shared_ptr<Readers> readers_ = std::make_shared<Readers>();
  std::uint64_t log_id_ = 0;
  std::unique_ptr<CommitLog> log_;
  std::string record_;  // the writer's buffer

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::shared_ptr<Overlay> active_;
  std::optional<Frozen> frozen_;
  std::shared_ptr<const Snapshot> sorted_snapshot_;
  mutable std::shared_ptr<const Snapshot> published_;  // the present moment, made when first asked for
  Version version_ = 0;
  std::string problem_;
  std::string sorted_problem_;  // why the sorted store did not take the frozen overlay the last time
  WarmStatus counted_;
  bool ends_ = false;
  std::thread worker_;  // the last: it uses all the others
};

}  // namespace tidemark
