// Who may do what in a group: the one table of it (docs/protocol.md, section 13, says the same in words).
#pragma once

#include "base/error.h"
#include "core/types.h"

namespace tidemark {

/// mention_all: in a large group; in a small one everybody may.
enum class Right : std::uint8_t { write, add, remove, mute, rename, mention_all, set_policy, set_role, dissolve };

/// The least role that has the right. Whoever acts on another member needs, besides, a higher role than that one's.
constexpr Role least_role(Right right, const GroupPolicy& policy) {
  const auto who = [](Allowed allowed) { return allowed == Allowed::members ? Role::member : Role::admin; };
  switch (right) {
    case Right::write:
      return who(policy.send);
    case Right::add:
      return who(policy.add);
    case Right::remove:
    case Right::mute:
    case Right::rename:
    case Right::mention_all:
      return Role::admin;
    case Right::set_policy:
    case Right::set_role:
    case Right::dissolve:
      return Role::owner;
  }
  return Role::owner;
}

/// FORBIDDEN when a present member's role has not the right.
Result<void> check_right(const Conversation& group, const UserId& user, Right right);

/// FORBIDDEN with `field` when the other's role is not lower than the member's own.
Result<void> check_outranks(const Conversation& group, const UserId& user, const Member& other, std::string_view field);

/// Until when the member may not write, by the group's own time; 0: he may, as far as that goes.
std::int64_t muted_until(const Conversation& group, const UserId& user, std::int64_t now_ms);

/// Whether a present member may write now: FORBIDDEN by role and policy, MEMBER_MUTED with the time. Anybody may write
/// in a single chat of his.
Result<void> check_may_write(const Conversation& conversation, const UserId& user, std::int64_t now_ms);

/// Why one who is not in it now (any more) may do nothing: CONVERSATION_CLOSED for whoever was there when the group was
/// dissolved, NOT_MEMBER for who had left before, and is not told that it was.
Error no_longer_in(const Conversation& conversation, const UserConversation& row);

/// The group ended while he was in it.
bool saw_the_end(const Conversation& conversation, const UserConversation& row);

}  // namespace tidemark
