// The end of a user: his id is never used again, and nothing of his goes on (design, section 2).
#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_parts.h"

namespace tidemark {
namespace {

/// The groups that he is in.
std::vector<ConversationId> groups_of(View& view, const UserId& user) {
  std::vector<ConversationId> all;
  view.changed_since(user, Mark(), [&](const ConversationId& id) { all.push_back(id); });
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  std::erase_if(all, [&](const ConversationId& id) {
    const auto parsed = parse_conversation(id);
    const UserConversation* row = view.user_conversation(user, id);
    return !parsed || parsed->kind != ConversationKind::group || row == nullptr || !row->in_period();
  });
  return all;
}

}  // namespace

Result<Decision> decide_delete_user(View& view, const DeleteUserCommand& command, const Context& context) {
  TM_TRY(check_user_id(command.user, "user"));
  if (!view.user(command.user).exists()) return fail(ErrorCode::USER_NOT_FOUND, "user");
  const std::vector<ConversationId> groups = groups_of(view, command.user);
  Draft draft(view, context);
  UserHead& head = draft.edit_user(command.user);
  if (!head.retired()) head.deleted_at = std::max<std::int64_t>(context.now_ms, 1);
  for (const Device& device : view.devices(command.user)) {
    head.forgotten_round = std::max(head.forgotten_round, device.acknowledged_round);
    draft.writes().erased_devices.emplace_back(command.user, device.id);
  }
  const std::size_t leaving = std::min(groups.size(), command.groups_max);
  std::vector<Notice> notices;
  for (std::size_t i = 0; i < leaving; ++i)
    take_out(draft, {groups[i], command.user, DeviceId()}, command.user, notices);
  UserReply reply{command.user, head, groups.size() > leaving};
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
