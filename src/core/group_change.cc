// Groups: what they are called, who may do what in them, and their end.
#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_parts.h"
#include "core/group_rights.h"

namespace tidemark {
namespace {

constexpr std::int64_t kUntilMax = std::int64_t{1} << 53;

bool changes_policy(const ChangeGroupCommand& command) {
  return command.add || command.send || command.join || command.newcomers;
}

GroupPolicy changed_policy(GroupPolicy policy, const ChangeGroupCommand& command) {
  policy.add = command.add.value_or(policy.add);
  policy.send = command.send.value_or(policy.send);
  policy.join = command.join.value_or(policy.join);
  if (command.newcomers) {
    policy.newcomers = *command.newcomers;
    policy.newcomers_last = *command.newcomers == HistoryForNewcomers::last ? command.newcomers_last : 0;
  }
  return policy;
}

Result<void> check_change(const Conversation& group, const ChangeGroupCommand& command, const CoreParams& params) {
  if (!command.title && !command.data && !changes_policy(command))
    return fail(ErrorCode::MALFORMED, "title", "Say what is to change.");
  if (command.title || command.data) TM_TRY(check_right(group, command.user, Right::rename));
  if (changes_policy(command)) TM_TRY(check_right(group, command.user, Right::set_policy));
  if (command.title) TM_TRY(check_title(*command.title, params));
  if (command.newcomers) TM_TRY(check_newcomers(*command.newcomers, command.newcomers_last, params));
  if (command.data && command.data->size() > params.group_data_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "data", "At most " + std::to_string(params.group_data_bytes_max) + " bytes.");
  return {};
}

/// What of it is not so already.
ConfigChange difference(const Conversation& group, const ChangeGroupCommand& command) {
  ConfigChange change;
  if (command.title && *command.title != group.title) change.title = *command.title;
  if (command.data && *command.data != group.data) change.data = command.data;
  const GroupPolicy policy = changed_policy(group.policy, command);
  if (policy != group.policy) change.policy = policy;
  return change;
}

Result<Member> member_named(View& view, const Conversation& group, const UserId& user) {
  TM_TRY(check_user_id(user, "user"));
  std::optional<Member> member = member_of(view, group, user);
  if (!member) return fail(ErrorCode::USER_NOT_FOUND, "user", "Not in this group.");
  return *std::move(member);
}

}  // namespace

Result<Decision> decide_change_group(View& view, const ChangeGroupCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  TM_TRY(check_change(*before, command, context.params));
  const ConfigChange change = difference(*before, command);
  Draft draft(view, context);
  std::vector<Notice> notices;
  if (change != ConfigChange()) {
    Conversation& group = draft.edit_conversation(command.conversation);
    if (!change.title.empty()) group.title = change.title;
    group.policy = change.policy.value_or(group.policy);
    group.data = change.data.value_or(group.data);
    const auto entry = append_config(draft, act_of(command), change);
    notices.push_back(tell_all(draft, group, entry));
  }
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

Result<Decision> decide_set_role(View& view, const SetRoleCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  TM_TRY(check_right(*before, command.user, Right::set_role));
  TM_ASSIGN(const Member member, member_named(view, *before, command.member));
  if (command.member == command.user && command.role != Role::owner)
    return fail(ErrorCode::FORBIDDEN, "role", "Make somebody else the owner first.");
  Draft draft(view, context);
  std::vector<Notice> notices;
  if (member.role != command.role) {
    notices.push_back(give_role(draft, act_of(command), member, command.role));
    // A group has one owner.
    if (command.role == Role::owner)
      notices.push_back(give_role(draft, act_of(command), *before->member(command.user), Role::admin));
  }
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

Result<Decision> decide_mute_member(View& view, const MuteMemberCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  TM_TRY(check_right(*before, command.user, Right::mute));
  TM_ASSIGN(const Member member, member_named(view, *before, command.member));
  TM_TRY(check_outranks(*before, command.user, member, "user"));
  if (command.until < 0 || command.until > kUntilMax)
    return fail(ErrorCode::OUT_OF_RANGE, "until", "A server time in milliseconds, or 0.");
  Draft draft(view, context);
  const std::int64_t now_ms = group_time(draft, command.conversation);
  const std::int64_t until = command.until > now_ms ? command.until : 0;
  std::vector<Notice> notices;
  if (until != muted_until(*before, command.member, now_ms)) {
    Conversation& group = draft.edit_conversation(command.conversation);
    std::erase_if(group.mutes, [&](const Mute& mute) { return mute.user == command.member || mute.until <= now_ms; });
    if (until != 0) group.mutes.push_back({command.member, until});
    const auto entry =
        append_member(draft, act_of(command), {MemberAction::muted, {command.member}, member.role, Seq(), until});
    notices.push_back(tell_all(draft, group, entry));
  }
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

Result<Decision> decide_dissolve_group(View& view, const DissolveGroupCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, command.admin ? any_group(view, command.conversation)
                                                      : own_group(view, command.user, command.conversation));
  if (!command.admin) TM_TRY(check_right(*before, command.user, Right::dissolve));
  Draft draft(view, context);
  Conversation& group = draft.edit_conversation(command.conversation);
  ConfigChange change;
  change.dissolved = true;
  const auto entry = append_config(draft, act_of(command), std::move(change));
  group.dissolved = entry->seq;
  group.mutes.clear();
  std::vector<UserId> concerned;
  // The rows of a large group's members follow its log by themselves.
  if (!group.large)
    for (const Member& member : group.members) {
      UserConversation& row = draft.edit_row(member.user, command.conversation);
      row.periods.back().leave = entry->seq;
      row.role = Role::member;
      row.unread_flag = false;
      concerned.push_back(member.user);
    }
  std::vector<Notice> notices;
  notices.push_back(tell_all(draft, group, entry, concerned));
  return finish_group(std::move(draft), command.conversation, std::move(notices));
}

}  // namespace tidemark
