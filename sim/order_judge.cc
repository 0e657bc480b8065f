#include "sim/order_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/device.h"

namespace tidemark::sim {

/// Within a frame in any case; from frame to frame where the network keeps their order and loses none. What was pushed
/// before may come again.
void OrderJudge::pushed(const SimDevice& device, const replica::Push& push) {
  const Plan& plan = run_.plan;
  const bool in_order = !reordered_ && plan.drop == 0 && plan.twice == 0 && plan.reorder == 0;
  std::map<ConversationId, Seq> in_frame;
  for (const PushItem& item : push.items) {
    if (!item.entry) continue;
    run_.ask(Judge::I16);
    const Seq seq = item.entry->seq;
    std::set<Seq>& reached = reached_[&device][item.conversation];
    const bool fresh = reached.insert(seq).second;
    const Seq before = std::exchange(in_frame[item.conversation], seq);
    if (seq <= before || (in_order && fresh && seq < *reached.rbegin()))
      throw Violation("I16", fmt::format("{}:{} is pushed to {} behind one that comes later in the log",
                                         item.conversation.value, seq.value, device.name().shown));
  }
}

std::optional<OrderJudge::Moment> OrderJudge::placed(const UserId& user,
                                                     const replica::ConversationState& state) const {
  if (state.object.removed || state.only_here() || state.object.large) return std::nullopt;
  const Sight sight = book_.sight(state.id(), user);
  std::optional<Moment> moment;
  for (const auto& [seq, entry] : book_.log(state.id())) {
    if (entry.config && entry.config->large) return std::nullopt;  // in a large group its place is another matter
    const bool joins = entry.member && entry.member->action == MemberAction::joined &&
                       std::ranges::find(entry.member->users, user) != entry.member->users.end();
    if (joins || (entry.countable() && sight.in_period(seq))) moment = {entry.epoch, entry.round};
  }
  return moment;
}

void OrderJudge::check_list(const SimDevice& device) {
  std::vector<std::pair<Moment, const Change*>> list;
  for (const auto& [id, stored] : device.store().conversations())
    if (const auto moment = placed(device.user(), stored.state)) list.emplace_back(*moment, &stored.state.object);
  std::ranges::sort(list, {}, [](const auto& each) { return each.first; });
  for (std::size_t i = 1; i < list.size(); ++i) {
    run_.ask(Judge::I16);
    const auto& [before, below] = list[i - 1];
    const auto& [moment, above] = list[i];
    if (before != moment && below->sort_time >= above->sort_time)
      throw Violation("I16", fmt::format("{} lists {} below {}, which was written to before", device.name().shown,
                                         above->conversation.value, below->conversation.value));
  }
}

}  // namespace tidemark::sim
