#include "core/contacts.h"

#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide_parts.h"

namespace tidemark {

Result<std::vector<UserId>> members_seen_by(View& view, const UserId& user, const ConversationId& id,
                                            std::string_view field) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id, field));
  const UserConversation* row = view.user_conversation(user, id);
  const Conversation* conversation = row != nullptr && row->in_period() ? view.conversation(id) : nullptr;
  if (conversation == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, std::string(field));
  if (parsed.kind == ConversationKind::single && !parsed.self() && blocks(view, parsed.peer_of(user), user))
    return fail(ErrorCode::BLOCKED, std::string(field));
  std::vector<UserId> members;
  if (conversation->large) return members;  // what is said in passing there would be told to too many
  for (const Member& member : conversation->members) members.push_back(member.user);
  return members;
}

bool may_be_watched(View& view, const UserId& user, const UserId& by) {
  return view.user_conversation(by, single_conversation(user, by)) != nullptr && !blocks(view, user, by);
}

std::int64_t last_seen_of(View& view, const UserId& user) {
  std::int64_t last = 0;
  for (const Device& device : view.devices(user)) last = std::max(last, device.last_seen);
  return last;
}

}  // namespace tidemark
