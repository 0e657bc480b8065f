// Groups: who is in, since when, and what he may see of it (design, sections 2 and 8).
#include <algorithm>

#include "base/check.h"
#include "base/codec.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/draft.h"
#include "core/planted.h"
#include "core/registered.h"
#include "core/unread.h"

namespace tidemark {
namespace {

Result<void> check_title(const std::string& title, const CoreParams& params) {
  if (title.empty() || title.size() > params.title_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "title", "1 to " + std::to_string(params.title_bytes_max) + " bytes.");
  for (const char c : title)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail(ErrorCode::MALFORMED, "title", "Control characters are not allowed.");
  return {};
}

/// The users each once, in their order; checked, and known where users are registered.
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

/// The group for one of its present members; for everybody else as if it were not there, or NOT_MEMBER.
Result<const Conversation*> own_group(View& view, const UserId& user, const ConversationId& id) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id));
  const UserConversation* row = view.user_conversation(user, id);
  const Conversation* group = view.conversation(id);
  if (row == nullptr || group == nullptr || parsed.kind != ConversationKind::group)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (group->member(user) == nullptr) return fail(ErrorCode::NOT_MEMBER, "conversation_id");
  return group;
}

bool may_manage(const Conversation& group, const UserId& user) {
  const Member* member = group.member(user);
  return member != nullptr && member->role != Role::member;
}

Entry member_entry(const UserId& by, const DeviceId& device, MemberChange change) {
  Entry entry;
  entry.kind = EntryKind::member;
  entry.sender = by;
  entry.sender_device = device;
  entry.member = std::move(change);
  return entry;
}

/// First seq that someone who joins with the next entry may see.
Seq visible_from_at_join(View& view, const Conversation& group, Seq join) {
  if (group.newcomers == HistoryForNewcomers::all) return Seq(1);
  if (group.newcomers == HistoryForNewcomers::none) return join;
  Seq from = join;
  std::uint32_t left = group.newcomers_last;
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

/// Appends the joining entry, opens the periods and tells everybody in period, the newcomers with their summary.
Notice join(Draft& draft, const ConversationId& id, const UserId& by, const DeviceId& device,
            const std::vector<UserId>& users) {
  Conversation& group = draft.edit_conversation(id);
  const Seq at = next_seq(draft, id);
  const Seq visible_from = visible_from_at_join(draft, group, at);
  for (const UserId& user : users) {
    group.members.push_back({user, user == by && group.members.empty() ? Role::owner : Role::member, at});
    UserConversation& row = draft.edit_row(user, id);
    row.periods.push_back({at, Seq(), visible_from});
    row.role = group.members.back().role;
  }
  const auto entry =
      draft.append(id, member_entry(by, device, {MemberAction::joined, users, Role::member, visible_from}));
  TM_CHECK(entry->seq == at, "the join is the next entry");
  Notice notice{id, entry, draft.round(), {}};
  for (const Member& member : group.members) {
    Receiver receiver = draft.touch_state(member.user, id, entry.get());
    if (std::ranges::find(users, member.user) != users.end()) {
      receiver = draft.touch_head(member.user, id, *entry);
      settle_floor(draft, member.user, draft.line(id), draft.edit_row(member.user, id));
      draft.add_summary(receiver, id);
    }
    notice.receivers.push_back(std::move(receiver));
  }
  return notice;
}

/// An entry that everybody in period receives and that changes nobody's own row but `concerned`'s.
Notice tell_all(Draft& draft, const ConversationId& id, const std::shared_ptr<const Entry>& entry,
                const std::vector<UserId>& receivers, const UserId& concerned) {
  Notice notice{id, entry, draft.round(), {}};
  for (const UserId& user : receivers) {
    Receiver receiver = draft.touch_state(user, id, entry.get());
    if (user == concerned) draft.add_summary(receiver, id);
    notice.receivers.push_back(std::move(receiver));
  }
  return notice;
}

std::vector<UserId> users_of(const Conversation& group) {
  std::vector<UserId> users;
  for (const Member& member : group.members) users.push_back(member.user);
  return users;
}

/// When the owner has left, the eldest admin, or else the eldest member, takes the group over.
std::optional<Notice> pass_on(Draft& draft, const ConversationId& id) {
  Conversation& group = draft.edit_conversation(id);
  if (group.members.empty()) return std::nullopt;
  const auto has_role = [](Role role) { return [role](const Member& m) { return m.role == role; }; };
  if (std::ranges::any_of(group.members, has_role(Role::owner))) return std::nullopt;
  auto heir = std::ranges::find_if(group.members, has_role(Role::admin));
  if (heir == group.members.end()) heir = group.members.begin();
  heir->role = Role::owner;
  draft.edit_row(heir->user, id).role = Role::owner;
  const auto entry =
      draft.append(id, member_entry(heir->user, {}, {MemberAction::role, {heir->user}, Role::owner, Seq()}));
  return tell_all(draft, id, entry, users_of(group), heir->user);
}

GroupReply group_reply(Draft& draft, const ConversationId& id) {
  return {*draft.conversation(id), draft.line(id).seq, false};
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
  reply.group.newcomers = group->newcomers;
  reply.group.newcomers_last = group->newcomers_last;
  reply.head = row->head_seq;
  return Decision{std::move(reply), {}, {}};
}

struct IdempotentCreate {
  std::vector<DedupKey> keys;
  Digest content{};
};

IdempotentCreate idempotent(const CreateGroupCommand& command, const Context& context) {
  const Digest identity = digest_of({"create_group", command.creator.value, command.idempotency_key});
  std::string bytes;
  ByteWriter out(bytes);
  out.string(command.title);
  out.u8(static_cast<std::uint8_t>(command.newcomers));
  out.varint(command.newcomers_last);
  for (const UserId& user : command.members) out.string(user.value);
  const std::int64_t newest = context.now_ms / kHourMs;
  const std::int64_t oldest = std::max<std::int64_t>(0, context.now_ms - context.params.dedup_remember_ms) / kHourMs;
  IdempotentCreate made{{}, digest_of({bytes})};
  for (std::int64_t hour = newest; hour >= oldest; --hour)
    made.keys.push_back({static_cast<std::uint32_t>(hour), identity});
  return made;
}

Result<void> check_newcomers(const CreateGroupCommand& command, const CoreParams& params) {
  if (command.newcomers != HistoryForNewcomers::last) return {};
  if (command.newcomers_last >= 1 && command.newcomers_last <= params.newcomers_last_max) return {};
  return fail(ErrorCode::OUT_OF_RANGE, "history_last", "1 to " + std::to_string(params.newcomers_last_max) + ".");
}

}  // namespace

Result<Decision> decide_create_group(View& view, const CreateGroupCommand& command, const Context& context) {
  TM_TRY(check_title(command.title, context.params));
  TM_TRY(check_newcomers(command, context.params));
  std::vector<UserId> wanted{command.creator};
  wanted.insert(wanted.end(), command.members.begin(), command.members.end());
  TM_TRY(check_size(wanted.size(), "members", context.params));
  TM_ASSIGN(const std::vector<UserId> users, checked_users(view, wanted, "members", context.params));

  const IdempotentCreate once = idempotent(command, context);
  if (!command.idempotency_key.empty()) {
    if (const auto record = view.remembered(once.keys)) {
      if (record->content != once.content) return fail(ErrorCode::IDEMPOTENCY_CONFLICT, "idempotency_key");
      const ConversationId id = group_conversation(record->seq.value);
      const Conversation* group = view.conversation(id);
      if (group == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "idempotency_key");
      if (group->member(command.creator) == nullptr) return fail(ErrorCode::NOT_MEMBER, "idempotency_key");
      return Decision{GroupReply{*group, view.line(id).seq, true}, {}, {}};
    }
  }
  Draft draft(view, context);
  const std::uint64_t number = view.last_group() + 1;
  draft.set_last_group(number);
  const ConversationId id = group_conversation(number);
  Conversation& group = draft.edit_conversation(id);
  group.kind = ConversationKind::group;
  group.title = command.title;
  group.newcomers = command.newcomers;
  group.newcomers_last = command.newcomers_last;
  std::vector<Notice> notices;
  notices.push_back(join(draft, id, command.creator, command.device, users));
  if (!command.idempotency_key.empty())
    draft.writes().dedup.emplace_back(once.keys.front(), DedupRecord{Seq(number), once.content});
  GroupReply reply = group_reply(draft, id);
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

Result<Decision> decide_add_members(View& view, const AddMembersCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* group, own_group(view, command.user, command.conversation));
  if (!may_manage(*group, command.user)) return fail(ErrorCode::FORBIDDEN, "conversation_id");
  if (command.added.empty()) return fail(ErrorCode::MALFORMED, "users", "Name at least one user.");
  TM_TRY(check_size(command.added.size(), "users", context.params));
  TM_ASSIGN(std::vector<UserId> users, checked_users(view, command.added, "users", context.params));
  std::erase_if(users, [&](const UserId& user) { return group->member(user) != nullptr; });
  TM_TRY(check_size(group->members.size() + users.size(), "users", context.params));

  Draft draft(view, context);
  std::vector<Notice> notices;
  // Whoever is in already stays as he is: adding again changes nothing.
  if (!users.empty()) notices.push_back(join(draft, command.conversation, command.user, command.device, users));
  GroupReply reply = group_reply(draft, command.conversation);
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

Result<Decision> decide_remove_member(View& view, const RemoveMemberCommand& command, const Context& context) {
  if (auto again = leaving_again(view, command)) return std::move(*again);
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  TM_TRY(check_user_id(command.removed, "user"));
  const bool leaves = command.user == command.removed;
  const Member* removed = before->member(command.removed);
  if (!leaves) {
    if (!may_manage(*before, command.user)) return fail(ErrorCode::FORBIDDEN, "conversation_id");
    if (removed != nullptr && removed->role >= before->member(command.user)->role)
      return fail(ErrorCode::FORBIDDEN, "user", "Only members of a lower role can be removed.");
  }
  Draft draft(view, context);
  std::vector<Notice> notices;
  if (removed != nullptr) {
    std::vector<UserId> receivers = users_of(*before);
    if (planted(Fault::fan_out_to_present)) std::erase(receivers, command.removed);
    const MemberAction action = leaves ? MemberAction::left : MemberAction::removed;
    const auto entry =
        draft.append(command.conversation,
                     member_entry(command.user, command.device, {action, {command.removed}, Role::member, Seq()}));
    Conversation& group = draft.edit_conversation(command.conversation);
    std::erase_if(group.members, [&](const Member& member) { return member.user == command.removed; });
    UserConversation& row = draft.edit_row(command.removed, command.conversation);
    row.periods.back().leave = entry->seq;
    row.role = Role::member;
    row.unread_flag = false;
    notices.push_back(tell_all(draft, command.conversation, entry, receivers, command.removed));
    if (auto passed = pass_on(draft, command.conversation)) notices.push_back(std::move(*passed));
  }
  GroupReply reply = group_reply(draft, command.conversation);
  if (leaves) {
    // How the group goes on is no longer the leaver's business.
    reply.group.members.clear();
    reply.head = draft.user_conversation(command.user, command.conversation)->head_seq;
  }
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

Result<Decision> decide_change_group(View& view, const ChangeGroupCommand& command, const Context& context) {
  TM_ASSIGN(const Conversation* before, own_group(view, command.user, command.conversation));
  if (!may_manage(*before, command.user)) return fail(ErrorCode::FORBIDDEN, "conversation_id");
  TM_TRY(check_title(command.title, context.params));
  Draft draft(view, context);
  std::vector<Notice> notices;
  if (before->title != command.title) {
    Entry entry;
    entry.kind = EntryKind::config;
    entry.sender = command.user;
    entry.sender_device = command.device;
    entry.config = ConfigChange{command.title};
    const auto stored = draft.append(command.conversation, std::move(entry));
    Conversation& group = draft.edit_conversation(command.conversation);
    group.title = command.title;
    notices.push_back(tell_all(draft, command.conversation, stored, users_of(group), UserId()));
  }
  GroupReply reply = group_reply(draft, command.conversation);
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
