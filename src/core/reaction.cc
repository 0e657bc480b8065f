// Reactions (design, sections 2 and 7): each is an entry of the log; how a user reacts to a message stands in a row of
// its own, and the numbers of all of them in the message's row (docs/decisions/0015).
#include <algorithm>

#include "base/utf8.h"
#include "core/change_parts.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_rights.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

Result<void> check_name_of_reaction(const std::string& name, const CoreParams& params) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!name.empty() && name.size() <= params.reaction_bytes_max && valid_utf8(name) &&
      std::ranges::none_of(name, control))
    return {};
  return fail(ErrorCode::OUT_OF_RANGE, "reaction",
              "1 to " + std::to_string(params.reaction_bytes_max) + " bytes without control characters.");
}

/// Who was muted, or blocked by the other, says nothing this way either. Where only admins write all may react.
Result<void> check_may_react(Draft& draft, const ReactCommand& command) {
  const ParsedConversation parsed = *parse_conversation(command.conversation);
  if (parsed.kind == ConversationKind::single) {
    if (!blocks(draft, parsed.peer_of(command.user), command.user)) return {};
    return fail(ErrorCode::BLOCKED, "conversation_id");
  }
  const std::int64_t now_ms = std::max(draft.line(command.conversation).server_time, draft.context().now_ms);
  const std::int64_t until = muted_until(*draft.conversation(command.conversation), command.user, now_ms);
  if (until == 0) return {};
  return fail(ErrorCode::MEMBER_MUTED, "conversation_id", "Until " + std::to_string(until) + ".");
}

Result<void> add(std::vector<Reaction>& all, std::vector<std::string>& mine, const std::string& name,
                 const CoreParams& params) {
  if (mine.size() >= params.reactions_per_user_max)
    return fail(ErrorCode::LIMIT_REACHED, "reaction",
                "At most " + std::to_string(params.reactions_per_user_max) + " by one user.");
  auto found = std::ranges::find(all, name, &Reaction::name);
  if (found == all.end()) {
    if (all.size() >= params.reactions_per_message_max)
      return fail(ErrorCode::LIMIT_REACHED, "reaction",
                  "At most " + std::to_string(params.reactions_per_message_max) + " different ones.");
    found = all.insert(all.end(), Reaction{name, 0, false});
  }
  ++found->count;
  mine.push_back(name);
  return {};
}

void take_off(std::vector<Reaction>& all, std::vector<std::string>& mine, const std::string& name) {
  std::erase(mine, name);
  const auto found = std::ranges::find(all, name, &Reaction::name);
  if (found == all.end()) return;
  if (--found->count == 0) all.erase(found);
}

}  // namespace

Result<Changed> decide_react(Draft& draft, const ReactCommand& command) {
  const CoreParams& params = draft.context().params;
  TM_TRY(check_name_of_reaction(command.reaction, params));
  TM_ASSIGN(const Entry target, target_of(draft, command.user, command.conversation, command.seq, false));
  const Changing what{command.conversation, command.user, command.device, EntryKind::reaction,
                      ReactionChange{command.reaction, command.on}};
  const UserConversation* row = draft.user_conversation(command.user, command.conversation);
  const bool deleted_for_me = row != nullptr && !visible({draft, command.user, *row}, command.seq);
  if (target.dead() || deleted_for_me) return fail(ErrorCode::MESSAGE_DELETED, "seq");
  std::vector<std::string> mine = draft.reactions_of(command.conversation, command.seq, command.user);
  if ((std::ranges::find(mine, command.reaction) != mine.end()) == command.on)
    return reply_with(draft, what, target, Seq());
  Entry reacted = target;
  if (command.on) {
    TM_TRY(check_may_react(draft, command));
    TM_TRY(add(reacted.reactions, mine, command.reaction, params));
  } else {
    take_off(reacted.reactions, mine, command.reaction);
  }
  draft.set_reactions(command.conversation, command.seq, command.user, std::move(mine));
  return change(draft, what, target, std::move(reacted));
}

}  // namespace tidemark
