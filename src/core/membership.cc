// Groups: who is in, since when, and what he may see of it (design, sections 2 and 8).
#include <algorithm>

#include "base/codec.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_parts.h"
#include "core/group_rights.h"

namespace tidemark {
namespace {

struct IdempotentCreate {
  std::vector<DedupKey> keys;
  Digest content{};
};

/// Who asks, whose keys these are.
const UserId& asker_of(const CreateGroupCommand& command) {
  return command.by.empty() ? command.creator : command.by;
}

IdempotentCreate idempotent(const CreateGroupCommand& command, const Context& context) {
  const char* kind = command.by.empty() ? "create_group" : "create_group_as";
  const Digest identity = digest_of({kind, asker_of(command).value, command.idempotency_key});
  std::string bytes;
  ByteWriter out(bytes);
  out.string(command.title);
  out.u8(static_cast<std::uint8_t>(command.newcomers));
  out.varint(command.newcomers_last);
  for (const UserId& user : command.members) out.string(user.value);
  if (!command.by.empty()) out.string(command.creator.value);
  const std::int64_t newest = context.now_ms / kHourMs;
  const std::int64_t oldest = std::max<std::int64_t>(0, context.now_ms - context.params.dedup_remember_ms) / kHourMs;
  IdempotentCreate made{{}, digest_of({bytes})};
  for (std::int64_t hour = newest; hour >= oldest; --hour)
    made.keys.push_back({static_cast<std::uint32_t>(hour), identity});
  return made;
}

/// The group that an earlier request under the same key made.
Result<Decision> made_before(View& view, const CreateGroupCommand& command, const DedupRecord& record,
                             const Digest& content) {
  if (record.content != content) return fail(ErrorCode::IDEMPOTENCY_CONFLICT, "idempotency_key");
  const ConversationId id = group_conversation(record.seq.value);
  const Conversation* group = view.conversation(id);
  if (group == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "idempotency_key");
  if (command.by.empty() && !member_of(view, *group, command.creator))
    return fail(ErrorCode::NOT_MEMBER, "idempotency_key");
  return Decision{GroupReply{*group, view.line(id).seq, true}, {}, {}};
}

/// Who has left stays out when he leaves again. He is told no more of the group than where it ended for him.
std::optional<Decision> leaving_again(View& view, const RemoveMemberCommand& command) {
  if (command.user != command.removed || !parse_conversation(command.conversation)) return std::nullopt;
  const UserConversation* row = view.user_conversation(command.user, command.conversation);
  const Conversation* group = view.conversation(command.conversation);
  if (row == nullptr || group == nullptr || group->kind != ConversationKind::group || row->in_period())
    return std::nullopt;
  GroupReply reply;
  reply.group.id = group->id;
  reply.group.kind = group->kind;
  reply.head = row->head_seq;
  return Decision{std::move(reply), {}, {}};
}

/// The last time that he was in, somebody else ended it.
bool was_removed(View& view, const ConversationId& id, const UserConversation& row) {
  const auto end = view.entry(id, row.periods.back().leave);
  return end && end->member && end->member->action == MemberAction::removed;
}

}  // namespace

Result<Decision> decide_create_group(View& view, const CreateGroupCommand& command, const Context& context) {
  TM_TRY(check_title(command.title, context.params));
  TM_TRY(check_newcomers(command.newcomers, command.newcomers_last, context.params));
  if (!command.members.empty()) TM_TRY(check_named(command.members.size(), "members", context.params));
  std::vector<UserId> users{command.creator};
  TM_ASSIGN(const std::vector<UserId> named, checked_users(view, command.members, "members", context.params));
  std::ranges::copy_if(named, std::back_inserter(users), [&](const UserId& user) { return user != command.creator; });

  const IdempotentCreate once = idempotent(command, context);
  if (!command.idempotency_key.empty())
    if (const auto record = view.remembered(once.keys)) return made_before(view, command, *record, once.content);
  Draft draft(view, context);
  const std::uint64_t number = view.last_group() + 1;
  draft.set_last_group(number);
  const ConversationId id = group_conversation(number);
  Conversation& group = draft.edit_conversation(id);
  group.kind = ConversationKind::group;
  group.title = command.title;
  group.policy.newcomers = command.newcomers;
  group.policy.newcomers_last = command.newcomers_last;
  std::vector<Notice> notices;
  const GroupAct act{id, asker_of(command), command.device};
  notices.push_back(join(draft, act, users, Role::owner));
  follow_size(draft, act, notices);
  if (!command.idempotency_key.empty())
    draft.writes().dedup.emplace_back(once.keys.front(), DedupRecord{Seq(number), once.content});
  return finish_group(std::move(draft), id, std::move(notices));
}

Result<Decision> decide_add_members(View& view, const AddMembersCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* group, command.admin ? any_group(view, command.conversation)
                                                     : own_group(view, command.user, command.conversation));
  if (!command.admin) TM_TRY(check_right(*group, command.user, Right::add));
  TM_TRY(check_named(command.added.size(), "users", context.params));
  TM_ASSIGN(std::vector<UserId> users, checked_users(view, command.added, "users", context.params));
  std::erase_if(users, [&](const UserId& user) { return member_of(view, *group, user).has_value(); });
  TM_TRY(check_size(group->size + users.size(), "users", context.params));

  Draft draft(view, context);
  std::vector<Notice> notices;
  // Whoever is in already stays as he is: adding again changes nothing.
  if (!users.empty()) {
    notices.push_back(join(draft, act_of(command), users));
    pass_on(draft, command.conversation, notices);
    follow_size(draft, act_of(command), notices);
  }
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

Result<Decision> decide_join_group(View& view, const JoinGroupCommand& command, const Context& context) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(command.conversation));
  const Conversation* group = view.conversation(command.conversation);
  const UserConversation* row = view.user_conversation(command.user, command.conversation);
  const auto unknown = [] { return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id"); };
  if (group == nullptr || parsed.kind != ConversationKind::group) return unknown();
  const bool in = row != nullptr && row->in_period();
  if (row != nullptr && saw_the_end(*group, *row)) return std::unexpected(no_longer_in(*group, *row));
  const bool closed = group->policy.join == JoinPolicy::closed || group->dissolved;
  // Who never was in does not learn that there is such a group.
  if (!in && closed && row == nullptr) return unknown();
  if (!in && closed) return fail(ErrorCode::FORBIDDEN, "conversation_id", "Somebody in it has to add you.");
  if (!in && row != nullptr && was_removed(view, command.conversation, *row))
    return fail(ErrorCode::FORBIDDEN, "conversation_id", "You were removed; somebody in it has to add you.");
  if (!in) TM_TRY(check_size(group->size + 1, "conversation_id", context.params));

  Draft draft(view, context);
  std::vector<Notice> notices;
  if (!in) {
    notices.push_back(join(draft, act_of(command), {command.user}));
    pass_on(draft, command.conversation, notices);
    follow_size(draft, act_of(command), notices);
  }
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

Result<Decision> decide_remove_member(View& view, const RemoveMemberCommand& command, const Context& context) {
  if (auto again = leaving_again(view, command)) return std::move(*again);
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  TM_TRY(check_user_id(command.removed, "user"));
  const bool leaves = command.user == command.removed;
  const std::optional<Member> removed = member_of(view, *before, command.removed);
  if (!leaves) {
    TM_TRY(check_right(*before, command.user, Right::remove));
    if (removed) TM_TRY(check_outranks(*before, command.user, *removed, "user"));
  }
  Draft draft(view, context);
  std::vector<Notice> notices;
  if (removed) take_out(draft, act_of(command), command.removed, notices);
  GroupReply reply{*draft.conversation(command.conversation), draft.line(command.conversation).seq, false};
  if (leaves) {
    // How the group goes on is no longer the leaver's business.
    reply.group.members.clear();
    reply.group.mutes.clear();
    reply.group.size = 0;
    reply.head = draft.user_conversation(command.user, command.conversation)->head_seq;
  }
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

Result<Decision> decide_remove_members(View& view, const RemoveMembersCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, any_group(view, command.conversation));
  TM_TRY(check_named(command.removed.size(), "users", context.params));
  std::vector<UserId> users = command.removed;
  std::erase_if(users, [&](const UserId& user) { return !member_of(view, *before, user); });
  Draft draft(view, context);
  std::vector<Notice> notices;
  for (const UserId& user : users)
    if (member_of(draft, *draft.conversation(command.conversation), user))
      take_out(draft, act_of(command), user, notices);
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

}  // namespace tidemark
