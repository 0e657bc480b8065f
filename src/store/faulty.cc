#include "store/faulty.h"

#include <utility>

namespace tidemark {
namespace {

std::unexpected<Error> fault(const char* what) {
  return fail(ErrorCode::RETRY_LATER, {}, std::string("ordered fault: ") + what);
}

class FaultySnapshot final : public Snapshot {
 public:
  FaultySnapshot(std::shared_ptr<const Snapshot> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<std::optional<std::string>> get(Table table, std::string_view key) const override {
    if (plan_->strikes(FaultStep::get)) return fault("get");
    return inner_->get(table, key);
  }

  Result<std::vector<std::optional<std::string>>> get_many(Table table,
                                                           const std::vector<std::string>& keys) const override {
    if (plan_->strikes(FaultStep::get)) return fault("get");
    return inner_->get_many(table, keys);
  }

  Result<void> scan(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    if (plan_->strikes(FaultStep::scan)) return fault("scan");
    TM_TRY(inner_->scan(table, from, to, visit));
    if (plan_->strikes(FaultStep::scan)) return fault("scan");
    return {};
  }

  Result<void> scan_back(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    if (plan_->strikes(FaultStep::scan)) return fault("scan");
    TM_TRY(inner_->scan_back(table, from, to, visit));
    if (plan_->strikes(FaultStep::scan)) return fault("scan");
    return {};
  }

 private:
  const std::shared_ptr<const Snapshot> inner_;
  const std::shared_ptr<FaultPlan> plan_;
};

}  // namespace

void FaultPlan::fail_at(std::uint64_t nth) {
  const std::lock_guard lock(mutex_);
  any_ = {nth, 1};
}

void FaultPlan::fail(FaultStep step, std::uint64_t nth, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  of_step_[static_cast<std::size_t>(step)] = {nth, times};
}

void FaultPlan::clear() {
  const std::lock_guard lock(mutex_);
  any_ = {};
  of_step_ = {};
}

std::uint64_t FaultPlan::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::uint64_t FaultPlan::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

bool FaultPlan::take(Window& window) {
  if (window.times == 0) return false;
  if (window.skip > 0) {
    --window.skip;
    return false;
  }
  --window.times;
  return true;
}

bool FaultPlan::strikes(FaultStep step) {
  const std::lock_guard lock(mutex_);
  ++steps_;
  const bool by_count = take(any_);
  const bool by_step = take(of_step_[static_cast<std::size_t>(step)]);
  if (by_count || by_step) ++faults_;
  return by_count || by_step;
}

FaultyWarm::FaultyWarm(std::unique_ptr<Warm> inner, std::shared_ptr<FaultPlan> plan)
    : inner_(std::move(inner)), plan_(std::move(plan)) {}

std::shared_ptr<const Snapshot> FaultyWarm::snapshot() const {
  std::shared_ptr<const Snapshot> inner;
  {
    const std::lock_guard lock(mutex_);
    inner = pinned_;
  }
  if (!inner) inner = inner_->snapshot();
  return std::make_shared<const FaultySnapshot>(std::move(inner), plan_);
}

void FaultyWarm::break_down(std::shared_ptr<const Snapshot> last_published) {
  const std::lock_guard lock(mutex_);
  pinned_ = std::move(last_published);
}

Result<void> FaultyWarm::commit(const Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    if (pinned_) return fault("the store waits for a recovery");
  }
  std::shared_ptr<const Snapshot> before = inner_->snapshot();
  if (plan_->strikes(FaultStep::commit_before)) {
    break_down(std::move(before));
    return fault("commit, nothing written");
  }
  // Decided before the batch is written, so that no reader ever sees a batch whose commit will fail.
  const bool fails_after = plan_->strikes(FaultStep::commit_after);
  if (fails_after) break_down(before);
  TM_TRY(inner_->commit(batch));
  if (fails_after) return fault("commit, batch written");
  return {};
}

Result<void> FaultyWarm::recover() {
  if (plan_->strikes(FaultStep::recover)) return fault("recover");
  TM_TRY(inner_->recover());
  const std::lock_guard lock(mutex_);
  pinned_.reset();
  return {};
}

WarmStatus FaultyWarm::status() const {
  WarmStatus status = inner_->status();
  const std::lock_guard lock(mutex_);
  if (pinned_ && status.writable) {
    status.writable = false;
    status.problem = "an ordered fault waits for a recovery";
  }
  return status;
}

}  // namespace tidemark
