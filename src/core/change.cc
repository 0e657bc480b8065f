// Changing what was sent: recall and edit (design, sections 2, 7 and 8). The log gets an entry that names its target;
// the target's row is folded at once, so that its body stands in one place only and a recalled one nowhere.
#include <algorithm>

#include "base/check.h"
#include "core/body.h"
#include "core/change_parts.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_rights.h"
#include "core/mentions.h"
#include "core/mutation_parts.h"
#include "core/planted.h"
#include "core/unread.h"
#include "core/visibility.h"

namespace tidemark {

Result<Entry> target_of(Draft& draft, const UserId& user, const ConversationId& id, Seq seq, bool admin) {
  TM_TRY(parse_conversation(id));
  const auto unknown = [] { return fail(ErrorCode::MESSAGE_NOT_FOUND, "seq"); };
  if (!admin) {
    const UserConversation* row = draft.user_conversation(user, id);
    if (row == nullptr) return unknown();
    const Conversation* conversation = draft.conversation(id);
    if (conversation == nullptr) return unknown();
    if (!row->in_period()) return std::unexpected(no_longer_in(*conversation, *row));
    if (!granted(*row, seq)) return unknown();
  }
  std::optional<Entry> target = draft.entry(id, seq);
  if (!target || !target->countable()) return unknown();
  return std::move(*target);
}

namespace {

/// By the conversation's own time, which a clock set back leaves where it is.
Result<void> check_age(Draft& draft, const ConversationId& id, const Entry& target, std::int64_t allowed_ms) {
  const std::int64_t now_ms = std::max(draft.line(id).server_time, draft.context().now_ms);
  if (allowed_ms == 0 || now_ms - target.server_time <= allowed_ms) return {};
  return fail(ErrorCode::TOO_LATE, "seq", std::to_string(allowed_ms / kSecondMs) + " seconds after the message.");
}

/// An edit says something: whoever may not write may not edit.
Result<void> check_may_say(Draft& draft, const EditCommand& command) {
  const Conversation* conversation = draft.conversation(command.conversation);
  if (conversation == nullptr) return fail(ErrorCode::MESSAGE_NOT_FOUND, "seq");
  const std::int64_t now_ms = std::max(draft.line(command.conversation).server_time, draft.context().now_ms);
  return check_may_write(*conversation, command.user, now_ms);
}

/// Whether the change shows in the member's list otherwise than he can tell from the entry alone: in his unread number
/// or his preview.
bool shows_in_list(const Sight& sight, const Entry& entry, const Entry& before) {
  const auto& [view, user, row] = sight;
  if (entry.kind == EntryKind::reaction) return false;
  const bool previewed = before.seq == entry.top || !visible(sight, entry.top);
  const bool counted = entry.kind != EntryKind::edit && before.seq > floor_of(row) && before.sender != user;
  return previewed || counted;
}

/// In a large group those whom the message mentions have to learn by their index of what changes what it says.
void tell_mentioned(Draft& draft, const Entry& before, Notice notice, std::vector<Notice>& notices) {
  notice.large = true;
  std::vector<UserId> told;
  if (notice.entry->kind != EntryKind::reaction) told = before.mentions;
  std::ranges::sort(told);
  const auto repeated = std::ranges::unique(told);
  told.erase(repeated.begin(), repeated.end());
  for (const UserId& user : told) {
    const UserConversation* row = draft.user_conversation(user, notice.conversation);
    if (row == nullptr || !row->in_period()) continue;
    Receiver receiver = draft.touch_state(user, notice.conversation, notice.entry.get());
    draft.add_summary(receiver, notice.conversation);
    notice.receivers.push_back(std::move(receiver));
  }
  notices.push_back(std::move(notice));
}

/// The entry as it is told to those who may see the message: with what it made of it.
std::shared_ptr<const Entry> with_content(const Entry& entry, const Entry& after) {
  Entry full = entry;
  if (entry.kind == EntryKind::edit) full.body = after.body;
  if (entry.kind == EntryKind::reaction) full.reactions = after.reactions;
  return std::make_shared<const Entry>(std::move(full));
}

/// And to the others.
std::shared_ptr<const Entry> without_content(const Entry& entry) {
  Entry bare = entry;
  bare.reaction.reset();
  return std::make_shared<const Entry>(std::move(bare));
}

/// Everybody in period gets the entry; with what it says, if he may see the message at all.
void tell_members(Draft& draft, const Conversation& conversation, const Entry& before, const Entry& after,
                  const std::shared_ptr<const Entry>& entry, std::vector<Notice>& notices) {
  if (conversation.dissolved) return;  // nobody is in it
  Notice seen{conversation.id, with_content(*entry, after), draft.round(), {}};
  Notice unseen{conversation.id, without_content(*entry), draft.round(), {}};
  // In a large group not everybody is asked whether he may see the message: without what it says, devices ask for it.
  if (conversation.large) return tell_mentioned(draft, before, std::move(unseen), notices);
  for (const Member& member : conversation.members) {
    Receiver receiver = draft.touch_state(member.user, conversation.id, entry.get());
    UserConversation& row = draft.edit_row(member.user, conversation.id);
    row.touch_seq = entry->seq;
    const Sight sight{draft, member.user, row};
    if (shows_in_list(sight, *entry, before)) draft.add_summary(receiver, conversation.id);
    (visible(sight, before.seq) ? seen : unseen).receivers.push_back(std::move(receiver));
  }
  for (Notice* notice : {&seen, &unseen})
    if (!notice->receivers.empty()) notices.push_back(std::move(*notice));
}

/// Who has left and may still see the message learns that it changed, and nothing of how the log went on.
void tell_former(Draft& draft, const Conversation& conversation, Seq target, Seq changed_by,
                 std::vector<Notice>& notices) {
  if (conversation.large && planted(Fault::left_large_ignored)) return;
  std::vector<UserId> former;
  const auto add = [&](const UserId& user) {
    const UserConversation* row = draft.user_conversation(user, conversation.id);
    if (row == nullptr || row->in_period() || !visible({draft, user, *row}, target)) return;
    if (std::ranges::find(former, user) == former.end()) former.push_back(user);
  };
  // Whoever may see it as a former member left behind it, or was there at the end.
  draft.left(conversation.id, target, add);
  if (conversation.dissolved)
    for (const Member& member : conversation.members) add(member.user);
  Notice notice{conversation.id, nullptr, draft.round(), {}};
  for (const UserId& user : former) {
    draft.edit_row(user, conversation.id).touch_seq = changed_by;
    Receiver receiver = draft.touch_state(user, conversation.id, nullptr);
    draft.add_summary(receiver, conversation.id);
    notice.receivers.push_back(std::move(receiver));
  }
  if (!notice.receivers.empty()) notices.push_back(std::move(notice));
}

}  // namespace

Changed reply_with(Draft& draft, const Changing& what, const Entry& row, Seq by) {
  Changed changed;
  changed.reply = reply_of(draft, what.by, what.id);
  changed.reply.seq = by;
  changed.reply.state = row.state;
  changed.reply.revision = row.revision;
  return changed;
}

Changed change(Draft& draft, const Changing& what, const Entry& before, Entry after) {
  TM_CHECK(what.kind != EntryKind::reaction || what.reaction, "a reaction says which");
  TM_CHECK(after.state >= before.state || planted(Fault::edit_revives), "a message's state only moves up");
  Entry made;
  made.kind = what.kind;
  made.sender = what.by;
  made.sender_device = what.device;
  made.target = before.seq;
  made.target_sender = before.sender;
  made.reaction = what.reaction;
  const auto entry = draft.append(what.id, std::move(made));
  if (what.kind == EntryKind::edit) after.revision = entry->seq;
  if (what.kind == EntryKind::reaction) after.reacted = entry->seq;
  if (after.dead() && !before.reactions.empty()) draft.writes().erased_reactions.emplace_back(what.id, before.seq);
  draft.change(what.id, after, entry->seq, what.kind == EntryKind::reaction ? before.reacted : before.revision);
  if (after.dead()) note_mention_of_all(draft, what.id, after);

  std::vector<Notice> notices;
  if (const Conversation* conversation = draft.conversation(what.id)) {
    tell_members(draft, *conversation, before, after, entry, notices);
    // Reactions are not told to those who have left: with a row that they fetch they see those of that moment.
    if (what.kind != EntryKind::reaction) tell_former(draft, *conversation, before.seq, entry->seq, notices);
  }
  if (after.dead()) {
    const auto dead = std::make_shared<const Entry>(*draft.entry(what.id, before.seq));
    for (Notice& notice : notices) notice.dead = dead;
  }
  Changed changed = reply_with(draft, what, after, entry->seq);
  changed.notices = std::move(notices);
  return changed;
}

Result<Changed> decide_recall(Draft& draft, const RecallCommand& command) {
  TM_ASSIGN(const Entry target, target_of(draft, command.user, command.conversation, command.seq, command.admin));
  const Changing what{command.conversation, command.user, command.device, EntryKind::recall};
  if (!command.admin && target.sender != command.user)
    return fail(ErrorCode::FORBIDDEN, "seq", "Only its author or an operator may recall a message.");
  if (target.dead()) return reply_with(draft, what, target, Seq());
  if (!command.admin) TM_TRY(check_age(draft, command.conversation, target, draft.context().params.recall_ms));
  Entry recalled = target;
  recalled.state = MessageState::recalled;
  erase_content(recalled);
  return change(draft, what, target, std::move(recalled));
}

Result<Changed> decide_edit(Draft& draft, const EditCommand& command) {
  TM_TRY(check_body(command.body, draft.context().params));
  TM_ASSIGN(const Entry target, target_of(draft, command.user, command.conversation, command.seq, false));
  const Changing what{command.conversation, command.user, command.device, EntryKind::edit};
  if (target.sender != command.user) return fail(ErrorCode::FORBIDDEN, "seq", "Only its author may edit a message.");
  TM_TRY(check_may_say(draft, command));
  const ParsedConversation parsed = *parse_conversation(command.conversation);
  if (parsed.kind == ConversationKind::single && blocks(draft, parsed.peer_of(command.user), command.user))
    return fail(ErrorCode::BLOCKED, "conversation_id");
  const UserConversation* row = draft.user_conversation(command.user, command.conversation);
  const bool deleted_for_me = row != nullptr && !visible({draft, command.user, *row}, command.seq);
  const bool dead = target.dead() && !planted(Fault::edit_revives);
  if (dead || deleted_for_me) return fail(ErrorCode::MESSAGE_DELETED, "seq");
  TM_TRY(check_age(draft, command.conversation, target, draft.context().params.edit_ms));
  if (command.base_revision && *command.base_revision != target.revision)
    return fail(ErrorCode::REVISION_CONFLICT, "base_revision");
  if (command.body == target.body) return reply_with(draft, what, target, Seq());
  Entry edited = target;
  edited.state = MessageState::edited;
  edited.body = command.body;
  return change(draft, what, target, std::move(edited));
}

Result<Decision> decide_delete_message(View& view, const DeleteMessageCommand& command, const Context& context) {
  Draft draft(view, context);
  TM_ASSIGN(const Entry target, target_of(draft, command.user, command.conversation, command.seq, true));
  const Changing what{command.conversation, command.user, command.device, EntryKind::deletion};
  Changed changed;
  if (target.dead()) {
    changed = reply_with(draft, what, target, Seq());
  } else {
    Entry deleted = target;
    deleted.state = MessageState::deleted;
    erase_content(deleted);
    changed = change(draft, what, target, std::move(deleted));
  }
  return std::move(draft).finish(std::move(changed.reply), std::move(changed.notices));
}

}  // namespace tidemark
