#include "core/group_parts.h"

#include <algorithm>

#include "base/check.h"
#include "core/conversation_id.h"
#include "core/group_rights.h"
#include "core/planted.h"
#include "core/registered.h"
#include "core/unread.h"

namespace tidemark {
namespace {

/// First seq that someone who joins with the next entry may see.
Seq visible_from_at_join(View& view, const Conversation& group, Seq join) {
  if (group.policy.newcomers == HistoryForNewcomers::all) return Seq(1);
  if (group.policy.newcomers == HistoryForNewcomers::none) return join;
  Seq from = join;
  std::uint32_t left = group.policy.newcomers_last;
  view.entries(group.id, Seq(), join - 1, Direction::down, [&](const Entry& entry) {
    if (entry.countable()) {
      from = entry.seq;
      --left;
    }
    return left > 0;
  });
  return from;
}

Seq next_seq(Draft& draft, const ConversationId& id) {
  const LineHead head = draft.line(id);
  return Seq(next_number(head.seq.value, head.epoch, draft.epoch().number));
}

Entry entry_of(const GroupAct& act, EntryKind kind) {
  Entry entry;
  entry.kind = kind;
  entry.sender = act.by;
  entry.sender_device = act.device;
  return entry;
}

}  // namespace

Result<const Conversation*> own_group(View& view, const UserId& user, const ConversationId& id) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id));
  const UserConversation* row = view.user_conversation(user, id);
  const Conversation* group = view.conversation(id);
  if (row == nullptr || group == nullptr || parsed.kind != ConversationKind::group)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (!row->in_period()) return std::unexpected(no_longer_in(*group, *row));
  TM_CHECK(group->member(user) != nullptr, "who is in period is a member");
  return group;
}

Result<const Conversation*> any_group(View& view, const ConversationId& id) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id));
  const Conversation* group = view.conversation(id);
  if (group == nullptr || parsed.kind != ConversationKind::group)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (group->dissolved) return fail(ErrorCode::CONVERSATION_CLOSED, "conversation_id");
  return group;
}

Result<std::vector<UserId>> checked_users(View& view, const std::vector<UserId>& users, std::string_view field,
                                          const CoreParams& params) {
  std::vector<UserId> once;
  for (const UserId& user : users) {
    TM_TRY(check_user_id(user, field));
    TM_TRY(check_registered(view, params, user, field));
    if (std::ranges::find(once, user) == once.end()) once.push_back(user);
  }
  return once;
}

Result<void> check_size(std::size_t members, std::string_view field, const CoreParams& params) {
  if (members <= params.small_max) return {};
  return fail(ErrorCode::LIMIT_REACHED, std::string(field),
              "A group has at most " + std::to_string(params.small_max) + " members.");
}

Result<void> check_title(const std::string& title, const CoreParams& params) {
  if (title.empty() || title.size() > params.title_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "title", "1 to " + std::to_string(params.title_bytes_max) + " bytes.");
  for (const char c : title)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail(ErrorCode::MALFORMED, "title", "Control characters are not allowed.");
  return {};
}

Result<void> check_newcomers(HistoryForNewcomers newcomers, std::uint32_t last, const CoreParams& params) {
  if (newcomers != HistoryForNewcomers::last) return {};
  if (last >= 1 && last <= params.newcomers_last_max) return {};
  return fail(ErrorCode::OUT_OF_RANGE, "history_last", "1 to " + std::to_string(params.newcomers_last_max) + ".");
}

std::int64_t group_time(Draft& draft, const ConversationId& id) {
  return std::max(draft.line(id).server_time, draft.context().now_ms);
}

std::shared_ptr<const Entry> append_member(Draft& draft, const GroupAct& act, MemberChange change) {
  Entry entry = entry_of(act, EntryKind::member);
  entry.member = std::move(change);
  return draft.append(act.id, std::move(entry));
}

std::shared_ptr<const Entry> append_config(Draft& draft, const GroupAct& act, ConfigChange change) {
  Entry entry = entry_of(act, EntryKind::config);
  entry.config = std::move(change);
  return draft.append(act.id, std::move(entry));
}

std::vector<UserId> users_of(const Conversation& group) {
  std::vector<UserId> users;
  for (const Member& member : group.members) users.push_back(member.user);
  return users;
}

Notice join(Draft& draft, const GroupAct& act, const std::vector<UserId>& users, Role first) {
  Conversation& group = draft.edit_conversation(act.id);
  const Seq at = next_seq(draft, act.id);
  const Seq visible_from = visible_from_at_join(draft, group, at);
  for (const UserId& user : users) {
    const Role role = user == users.front() ? first : Role::member;
    group.members.push_back({user, role, at});
    UserConversation& row = draft.edit_row(user, act.id);
    if (planted(Fault::one_visible_from) && !row.periods.empty())
      row.periods.back().leave = Seq();
    else
      row.periods.push_back({at, Seq(), visible_from});
    row.role = role;
  }
  const auto entry = append_member(draft, act, {MemberAction::joined, users, Role::member, visible_from});
  TM_CHECK(entry->seq == at, "the join is the next entry");
  Notice notice{act.id, entry, draft.round(), {}};
  for (const Member& member : group.members) {
    Receiver receiver = draft.touch_state(member.user, act.id, entry.get());
    if (std::ranges::find(users, member.user) != users.end()) {
      receiver = draft.touch_head(member.user, act.id, *entry);
      settle_floor(draft, member.user, draft.line(act.id), draft.edit_row(member.user, act.id));
      draft.add_summary(receiver, act.id);
    }
    notice.receivers.push_back(std::move(receiver));
  }
  return notice;
}

void take_out(Draft& draft, const GroupAct& act, const UserId& user, std::vector<Notice>& notices) {
  Conversation& group = draft.edit_conversation(act.id);
  std::vector<UserId> receivers = users_of(group);
  if (planted(Fault::fan_out_to_present)) std::erase(receivers, user);
  const MemberAction action = user == act.by ? MemberAction::left : MemberAction::removed;
  const auto entry = append_member(draft, act, {action, {user}, Role::member, Seq()});
  std::erase_if(group.members, [&](const Member& member) { return member.user == user; });
  UserConversation& row = draft.edit_row(user, act.id);
  row.periods.back().leave = entry->seq;
  row.role = Role::member;
  row.unread_flag = false;
  notices.push_back(tell_all(draft, act.id, entry, receivers, [&](const UserId& each) { return each == user; }));
  pass_on(draft, act.id, notices);
}

Notice give_role(Draft& draft, const GroupAct& act, const UserId& user, Role role) {
  Conversation& group = draft.edit_conversation(act.id);
  const auto member = std::ranges::find(group.members, user, &Member::user);
  TM_CHECK(member != group.members.end(), "roles are for members");
  member->role = role;
  draft.edit_row(user, act.id).role = role;
  // Nobody could take it from an owner again.
  if (role == Role::owner) std::erase_if(group.mutes, [&](const Mute& mute) { return mute.user == user; });
  const auto entry = append_member(draft, act, {MemberAction::role, {user}, role, Seq()});
  return tell_all(draft, act.id, entry, users_of(group), [&](const UserId& each) { return each == user; });
}

void pass_on(Draft& draft, const ConversationId& id, std::vector<Notice>& notices) {
  const Conversation& group = *draft.conversation(id);
  const auto with_role = [&](Role role) { return std::ranges::find(group.members, role, &Member::role); };
  if (group.members.empty() || with_role(Role::owner) != group.members.end()) return;
  auto heir = with_role(Role::admin);
  if (heir == group.members.end()) heir = group.members.begin();
  const UserId user = heir->user;
  notices.push_back(give_role(draft, {id, user, DeviceId()}, user, Role::owner));
}

Decision finish_group(Draft&& draft, const ConversationId& id, std::vector<Notice> notices) {
  GroupReply reply{*draft.conversation(id), draft.line(id).seq, false};
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
