// What priorities never change (I16): a log reaches a device in its own order, and the list has the order in which
// conversations were last written to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/replica/frames.h"
#include "core/replica/memory_store.h"
#include "sim/log_book.h"
#include "sim/run_context.h"

namespace tidemark::sim {

class SimDevice;

class OrderJudge {
 public:
  OrderJudge(RunContext& run, const LogBook& book) : run_(run), book_(book) {}

  void welcomed(const SimDevice& device) { reached_[&device].clear(); }
  void pushed(const SimDevice& device, const replica::Push& push);
  /// From here on the network does not keep the order of frames, whatever the plan says.
  void reordered() { reordered_ = true; }
  /// The device is in step.
  void check_list(const SimDevice& device);

 private:
  /// When the conversation got its place in the user's list: epoch and round. Nothing: its place is another matter.
  using Moment = std::pair<std::uint32_t, std::uint64_t>;
  std::optional<Moment> placed(const UserId& user, const replica::ConversationState& state) const;

  RunContext& run_;
  const LogBook& book_;
  bool reordered_ = false;
  std::map<const SimDevice*, std::map<ConversationId, std::set<Seq>>> reached_;  // pushed since the link stands
};

}  // namespace tidemark::sim
