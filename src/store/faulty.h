// A wrapper over any Warm that fails at chosen steps, so that callers can be run again and again with the fault one
// step later each time. It keeps the guarantees W1-W10 of what it wraps: a fault is one that a real disk could show.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "store/warm.h"

namespace tidemark {

/// Where a fault can strike. get_many counts as one get; a scan has a step before its first key and one after its last.
enum class FaultStep : std::uint8_t { get, scan, commit_before, commit_after, recover };
inline constexpr std::size_t kFaultSteps = 5;

/// Decides which steps fail. Thread-safe.
class FaultPlan {
 public:
  /// The nth step from now, of any kind, fails; 0 is the next.
  void fail_at(std::uint64_t nth);
  /// The nth step of this kind from now fails (0 is the next), and the `times - 1` after it.
  void fail(FaultStep step, std::uint64_t nth = 0, std::uint64_t times = 1);
  /// No more faults.
  void clear();
  /// Steps of all kinds taken so far, those that failed included.
  std::uint64_t steps() const;
  /// Faults that have struck so far.
  std::uint64_t faults() const;

  /// Counts a step; true when it has to fail.
  bool strikes(FaultStep step);

 private:
  struct Window {
    std::uint64_t skip = 0;
    std::uint64_t times = 0;
  };
  static bool take(Window& window);

  mutable std::mutex mutex_;
  Window any_;
  std::array<Window, kFaultSteps> of_step_;
  std::uint64_t steps_ = 0;
  std::uint64_t faults_ = 0;
};

/// See Warm for the contract and the threads. commit_before: nothing of the batch reached the store. commit_after: the
/// batch is durable and yet reported as failed; it shows after recover().
class FaultyWarm final : public Warm {
 public:
  FaultyWarm(std::unique_ptr<Warm> inner, std::shared_ptr<FaultPlan> plan);

  std::shared_ptr<const Snapshot> snapshot() const override;
  Result<void> commit(const Batch& batch) override;
  Result<void> recover() override;
  WarmStatus status() const override;
  Result<void> room() const override { return inner_->room(); }

 private:
  void break_down(std::shared_ptr<const Snapshot> last_published);

  const std::unique_ptr<Warm> inner_;
  const std::shared_ptr<FaultPlan> plan_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> pinned_;  // what readers see between a fault of ours and the recovery
};

}  // namespace tidemark
