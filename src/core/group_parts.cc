#include "core/group_parts.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "base/check.h"
#include "core/conversation_id.h"
#include "core/group_rights.h"
#include "core/large_group.h"
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
  TM_CHECK(group->large || group->member(user) != nullptr, "who is in period is a member");
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

std::optional<Member> member_of(View& view, const Conversation& conversation, const UserId& user) {
  if (const Member* member = conversation.member(user)) return *member;
  if (!conversation.large) return std::nullopt;
  const UserConversation* row = view.user_conversation(user, conversation.id);
  if (row == nullptr || !row->in_period()) return std::nullopt;
  return Member{user, row->role, row->periods.back().join};
}

Result<std::vector<UserId>> checked_users(View& view, const std::vector<UserId>& users, std::string_view field,
                                          const CoreParams& params) {
  std::vector<UserId> once;
  std::unordered_set<UserId> known;
  for (const UserId& user : users) {
    TM_TRY(check_user_id(user, field));
    TM_TRY(check_registered(view, params, user, field));
    if (known.insert(user).second) once.push_back(user);
  }
  return once;
}

Result<void> check_named(std::size_t users, std::string_view field, const CoreParams& params) {
  if (users == 0) return fail(ErrorCode::MALFORMED, std::string(field), "Name at least one user.");
  if (users <= params.members_per_call) return {};
  return fail(ErrorCode::LIMIT_REACHED, std::string(field),
              "At most " + std::to_string(params.members_per_call) + " at once.");
}

Result<void> check_size(std::size_t members, std::string_view field, const CoreParams& params) {
  if (members <= params.large_max) return {};
  return fail(ErrorCode::LIMIT_REACHED, std::string(field),
              "A group has at most " + std::to_string(params.large_max) + " members.");
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

Notice tell_all(Draft& draft, const Conversation& group, const std::shared_ptr<const Entry>& entry,
                const std::vector<UserId>& concerned) {
  Notice notice{group.id, entry, draft.round(), {}};
  notice.large = group.large;
  const auto tell = [&](const UserId& user, bool whole) {
    Receiver receiver = draft.touch_state(user, group.id, entry.get());
    if (whole) draft.add_summary(receiver, group.id);
    notice.receivers.push_back(std::move(receiver));
  };
  const auto is_concerned = [&](const UserId& user) { return std::ranges::find(concerned, user) != concerned.end(); };
  if (!group.large)
    for (const Member& member : group.members)
      if (!is_concerned(member.user)) tell(member.user, false);
  for (const UserId& user : concerned) tell(user, true);
  return notice;
}

namespace {

void put_member(Draft& draft, Conversation& group, const Member& member) {
  if (group.large) draft.put_large_member(group.id, member, true);
  if (!group.large || member.role != Role::member) group.members.push_back(member);
}

/// A large group's newcomers alone have something to be told.
Receiver greet(Draft& draft, const UserId& user, const Entry& entry, const ConversationId& id) {
  draft.touch_state(user, id, &entry);
  Receiver receiver = draft.touch_head(user, id, entry);
  settle_floor(draft, user, draft.line(id), draft.edit_row(user, id));
  draft.add_summary(receiver, id);
  return receiver;
}

}  // namespace

Notice join(Draft& draft, const GroupAct& act, const std::vector<UserId>& users, Role first) {
  Conversation& group = draft.edit_conversation(act.id);
  std::vector<UserId> before;
  if (!group.large)
    for (const Member& member : group.members) before.push_back(member.user);
  const Seq at = next_seq(draft, act.id);
  const Seq visible_from = visible_from_at_join(draft, group, at);
  const std::optional<Entry> last = draft.entry(act.id, draft.line(act.id).seq);
  group.size += users.size();
  for (const UserId& user : users) {
    const Role role = user == users.front() ? first : Role::member;
    put_member(draft, group, {user, role, at});
    UserConversation& row = draft.edit_row(user, act.id);
    // While he was away not every change of what he had seen was told to him.
    if (!row.periods.empty() && last) row.touch_seq = std::max(row.touch_seq, last->touch);
    if (planted(Fault::one_visible_from) && !row.periods.empty())
      row.periods.back().leave = Seq();
    else
      row.periods.push_back({at, Seq(), visible_from});
    row.role = role;
    if (group.large) draft.set_large(user, act.id, true);
  }
  const auto entry = append_member(draft, act, {MemberAction::joined, users, Role::member, visible_from});
  TM_CHECK(entry->seq == at, "the join is the next entry");
  Notice notice{act.id, entry, draft.round(), {}};
  notice.large = group.large;
  for (const UserId& user : before) notice.receivers.push_back(draft.touch_state(user, act.id, entry.get()));
  for (const UserId& user : users) {
    Receiver receiver = greet(draft, user, *entry, act.id);
    if (group.large) receiver.large = true;
    notice.receivers.push_back(std::move(receiver));
  }
  return notice;
}

void take_out(Draft& draft, const GroupAct& act, const UserId& user, std::vector<Notice>& notices) {
  Conversation& group = draft.edit_conversation(act.id);
  const MemberAction action = user == act.by ? MemberAction::left : MemberAction::removed;
  const auto entry = append_member(draft, act, {action, {user}, Role::member, Seq()});
  std::erase_if(group.members, [&](const Member& member) { return member.user == user; });
  TM_CHECK(group.size > 0 || draft.failure(), "who is in it is counted");
  group.size = std::max<std::uint64_t>(group.size, 1) - 1;
  UserConversation& row = draft.edit_row(user, act.id);
  if (group.large) draft.put_large_member(act.id, {user, row.role, row.periods.back().join}, false);
  draft.set_large(user, act.id, false);
  row.periods.back().leave = entry->seq;
  row.role = Role::member;
  row.unread_flag = false;
  const bool told = !planted(Fault::fan_out_to_present);
  notices.push_back(tell_all(draft, group, entry, told ? std::vector<UserId>{user} : std::vector<UserId>()));
  if (group.large && told) {
    Receiver& leaver = notices.back().receivers.back();
    // From here on it has its place in the list by mark again.
    leaver = draft.touch_head(user, act.id, *entry);
    draft.add_summary(leaver, act.id);
    leaver.large = false;
  }
  pass_on(draft, act.id, notices);
  follow_size(draft, act, notices);
}

Notice give_role(Draft& draft, const GroupAct& act, Member member, Role role) {
  Conversation& group = draft.edit_conversation(act.id);
  const UserId& user = member.user;
  member.role = role;
  if (group.large) {
    draft.put_large_member(act.id, member, true);
    std::erase_if(group.members, [&](const Member& each) { return each.user == user; });
    if (role != Role::member) group.members.push_back(member);
    std::ranges::sort(group.members, {}, [](const Member& each) { return std::tie(each.join, each.user); });
  } else {
    const auto known = std::ranges::find(group.members, user, &Member::user);
    TM_CHECK(known != group.members.end(), "roles are for members");
    known->role = role;
  }
  draft.edit_row(user, act.id).role = role;
  // Nobody could take it from an owner again.
  if (role == Role::owner) std::erase_if(group.mutes, [&](const Mute& mute) { return mute.user == user; });
  const auto entry = append_member(draft, act, {MemberAction::role, {user}, role, Seq()});
  return tell_all(draft, group, entry, {user});
}

namespace {
/// Admins first; among equals who has been in it for longer.
auto succession(const Member& member) {
  return std::tuple(member.role == Role::admin ? 0 : 1, member.join, member.user);
}
}  // namespace

void pass_on(Draft& draft, const ConversationId& id, std::vector<Notice>& notices) {
  const Conversation& group = *draft.conversation(id);
  std::optional<Member> heir;  // nothing: nobody is left
  for (const Member& member : group.members) {
    if (member.role == Role::owner) return;
    if (!heir || succession(member) < succession(*heir)) heir = member;
  }
  // A large group names here none but its owner and admins.
  if (!heir && group.large) {
    draft.members(id, Member(), [&](const Member& eldest) {
      heir = eldest;
      return false;
    });
  }
  if (heir) notices.push_back(give_role(draft, {id, heir->user, DeviceId()}, *heir, Role::owner));
}

namespace {

void become_large(Draft& draft, Conversation& group) {
  for (const Member& member : group.members) {
    draft.put_large_member(group.id, member, true);
    draft.set_large(member.user, group.id, true);
  }
  std::erase_if(group.members, [](const Member& member) { return member.role == Role::member; });
}

void become_small(Draft& draft, Conversation& group, const std::vector<Member>& members) {
  for (const Member& member : members) {
    draft.put_large_member(group.id, member, false);
    draft.set_large(member.user, group.id, false);
  }
  group.members = members;
}

}  // namespace

void follow_size(Draft& draft, const GroupAct& act, std::vector<Notice>& notices) {
  Conversation& group = draft.edit_conversation(act.id);
  const bool large = counts_as_large(group.large, group.size, draft.context().params.small_max);
  if (large == group.large) return;
  std::vector<Member> members = group.members;
  if (group.large) {
    members.clear();
    draft.members(act.id, Member(), [&](const Member& member) {
      members.push_back(member);
      return true;
    });
  }
  ConfigChange change;
  change.large = large;
  const auto entry = append_config(draft, act, std::move(change));
  group.large = large;
  if (large)
    become_large(draft, group);
  else
    become_small(draft, group, members);
  Notice notice{act.id, entry, draft.round(), {}};
  for (const Member& member : members) {
    Receiver receiver = draft.touch_state(member.user, act.id, entry.get());
    // In small conversations the order by mark is the order of the list.
    if (!large) receiver = draft.touch_head(member.user, act.id, *entry);
    draft.add_summary(receiver, act.id);
    receiver.large = large;
    notice.receivers.push_back(std::move(receiver));
  }
  notices.push_back(std::move(notice));
}

Decision finish_group(Draft&& draft, const ConversationId& id, std::vector<Notice> notices) {
  GroupReply reply{*draft.conversation(id), draft.line(id).seq, false};
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
