#include "sim/reactions.h"

#include <fmt/format.h>

#include "sim/run_context.h"

namespace tidemark::sim {

Reacted reactions_in(const LogBook::Log& log) {
  Reacted reacted;
  for (const auto& [seq, entry] : log) {
    if (!entry.reaction) continue;
    const auto target = log.find(entry.target);
    if (target == log.end() || target->second.dead()) continue;
    auto& by = reacted[entry.target][entry.reaction->name];
    const bool changed = entry.reaction->on ? by.insert(entry.sender).second : by.erase(entry.sender) > 0;
    if (!changed) throw Violation("I4", fmt::format("entry {} of the log changes nothing", seq.value));
    if (by.empty()) reacted[entry.target].erase(entry.reaction->name);
  }
  return reacted;
}

void check_reactions(const std::string& named, const Entry& row, const Reacted& reacted, const UserId& user) {
  static const std::map<std::string, std::set<UserId>> none;
  const auto found = reacted.find(row.seq);
  const auto& truth = found == reacted.end() ? none : found->second;
  if (row.reactions.size() != truth.size())
    throw Violation("I8",
                    fmt::format("{} shows {} reactions instead of {}", named, row.reactions.size(), truth.size()));
  for (const Reaction& shown : row.reactions) {
    const auto by = truth.find(shown.name);
    if (by == truth.end() || by->second.size() != shown.count)
      throw Violation("I8", fmt::format("{} shows {} of {}", named, shown.count, shown.name));
    if (shown.mine != by->second.contains(user))
      throw Violation("I8", fmt::format("{} is wrong about whether {} is the user's own", named, shown.name));
  }
}

void check_reactions(const ConversationId& id, const LogBook::Log& log, const CoreParams& params) {
  const Reacted reacted = reactions_in(log);
  for (const auto& [seq, entry] : log)
    if (entry.countable()) check_reactions(fmt::format("{}:{}", id.value, seq.value), entry, reacted, {});
  for (const auto& [seq, names] : reacted) {
    std::map<UserId, std::size_t> ways;
    for (const auto& [name, users] : names)
      for (const UserId& user : users)
        if (++ways[user] > params.reactions_per_user_max)
          throw Violation("I8", fmt::format("{} reacts to {}:{} too often", user.value, id.value, seq.value));
    if (names.size() > params.reactions_per_message_max)
      throw Violation("I8", fmt::format("{}:{} has too many reactions", id.value, seq.value));
  }
}

}  // namespace tidemark::sim
