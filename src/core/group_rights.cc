#include "core/group_rights.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark {

Result<void> check_right(const Conversation& group, const UserId& user, Right right) {
  const Member* member = group.member(user);
  TM_CHECK(member != nullptr || group.large, "rights are a member's");
  const Role role = member != nullptr ? member->role : Role::member;
  if (role >= least_role(right, group.policy)) return {};
  return fail(ErrorCode::FORBIDDEN, "conversation_id");
}

Result<void> check_outranks(const Conversation& group, const UserId& user, const Member& other,
                            std::string_view field) {
  const Member* member = group.member(user);
  if (member != nullptr && member->role > other.role) return {};
  return fail(ErrorCode::FORBIDDEN, std::string(field), "Only for members of a lower role.");
}

std::int64_t muted_until(const Conversation& group, const UserId& user, std::int64_t now_ms) {
  const auto mute = std::ranges::find(group.mutes, user, &Mute::user);
  return mute != group.mutes.end() && mute->until > now_ms ? mute->until : 0;
}

Result<void> check_may_write(const Conversation& conversation, const UserId& user, std::int64_t now_ms) {
  if (conversation.kind != ConversationKind::group) return {};
  TM_TRY(check_right(conversation, user, Right::write));
  const std::int64_t until = muted_until(conversation, user, now_ms);
  if (until == 0) return {};
  return fail(ErrorCode::MEMBER_MUTED, "conversation_id", "Until " + std::to_string(until) + ".");
}

bool saw_the_end(const Conversation& conversation, const UserConversation& row) {
  return conversation.dissolved && !row.periods.empty() && row.periods.back().leave == conversation.dissolved;
}

Error no_longer_in(const Conversation& conversation, const UserConversation& row) {
  const bool closed = saw_the_end(conversation, row);
  return {closed ? ErrorCode::CONVERSATION_CLOSED : ErrorCode::NOT_MEMBER, "conversation_id"};
}

}  // namespace tidemark
