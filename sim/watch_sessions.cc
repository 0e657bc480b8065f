// Who may act: sessions and their ends (I14), and users who are none any more.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/judged_world.h"
#include "store/store_view.h"

namespace tidemark::sim {

/// At most the allowed number of sessions, and nothing of one that is over.
void JudgedWorld::check_sessions(const Outcome& outcome) {
  run_.ask(Judge::I14);
  StoreView view(server_.snapshot());
  std::set<std::pair<UserId, DeviceId>> live;
  const DevicesConfig& policy = run_.plan.config.devices;
  for (const UserId& user : users_) {
    std::map<std::string, std::int64_t> by_platform;
    std::int64_t count = 0;
    for (const Device& device : view.devices(user)) {
      if (!device.live) continue;
      live.emplace(user, device.id);
      ++count;
      ++by_platform[device.platform];
    }
    const bool single = policy.policy == DevicePolicy::Kind::single;
    if (count > (single ? 1 : policy.max)) throw Violation("I14", fmt::format("{} has {} sessions", user.value, count));
    for (const auto& [platform, same] : by_platform)
      if (policy.policy == DevicePolicy::Kind::one_per_platform && same > 1)
        throw Violation("I14", fmt::format("{} has {} sessions of {}", user.value, same, platform));
  }
  std::set<std::pair<UserId, DeviceId>> was_live = std::exchange(live_, live);
  was_live.merge(live);
  for (const auto& [done, answer, ended] : outcome.answers)
    for (const EndedSession& each : ended) {
      check_ended(each);
      was_live.emplace(each.user, each.device);
      if (each.end == SessionEnd::other_device) run_.hit(Counter::made_room);
    }
  for (const Notice& notice : outcome.notices)
    if (notice.entry && std::ranges::find(users_, notice.entry->sender) != users_.end() &&
        view.device(notice.entry->sender, notice.entry->sender_device) &&
        !was_live.contains({notice.entry->sender, notice.entry->sender_device}))
      throw Violation("I14", fmt::format("{}:{} comes from {}, which has no session", notice.conversation.value,
                                         notice.entry->seq.value, notice.entry->sender_device.value));
}

/// A session ends by its own word or by somebody's who may end it, and not by what an earlier one said.
void JudgedWorld::check_ended(const EndedSession& ended) const {
  if (ended.end != SessionEnd::logged_out && ended.end != SessionEnd::removed) return;
  const auto others = logged_out_by_others_.find(ended.user);
  if (others != logged_out_by_others_.end() && others->second > 0) return;
  if (logging_out_.contains({ended.user, ended.device, ended.generation})) return;
  throw Violation("I14", fmt::format("session {} of {}/{} was logged out, and nobody had asked for that",
                                     ended.generation, ended.user.value, ended.device.value));
}

void JudgedWorld::note_logout(const SimDevice& device) {
  logging_out_.emplace(device.user(), device.name().device, device.store().device().generation);
}

/// Nothing of a user who was deleted goes on.
void JudgedWorld::check_deleted() const {
  if (deleted_.empty()) return;
  StoreView view(server_.snapshot());
  for (const auto& [user, deletion] : deleted_) {
    if (deletion != Deletion::done) continue;
    if (!view.user(user).retired()) throw Violation("I9", user.value + " was deleted, and is there again");
    if (!view.devices(user).empty()) throw Violation("I14", user.value + " was deleted, and has devices");
    for (const auto& [id, log] : book_.logs())
      if (id.value.starts_with("group_") && book_.sight(id, user).member())
        throw Violation("I10", fmt::format("{} was deleted, and is in {}", user.value, id.value));
  }
}

}  // namespace tidemark::sim
