// What a user makes of a conversation for himself alone: clearing, removing, deleting messages, muting, pinning
// (design, sections 2, 6 and 8). The log knows nothing of it.
#include <algorithm>

#include "core/conversation_id.h"
#include "core/mutation_parts.h"
#include "core/read_parts.h"
#include "core/unread.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

/// Up to where the user may see the log, and up to where he wants it hidden.
struct Reach {
  Seq last;
  Seq wanted;
};

Reach reach_of(Draft& draft, const UserConversation& row, Seq seq) {
  const Seq last = upper_bound_of(row, draft.line(row.conversation).seq);
  return {last, seq ? std::min(seq, last) : last};
}

void clear(Draft& draft, const UserId& user, UserConversation& row, Seq to) {
  row.cleared = std::max(row.cleared, to);
  if (row.cleared >= row.read) row.unread_flag = false;  // nothing is left that it could stand for
  settle_floor(draft, user, draft.line(row.conversation), row);
}

/// A message that the user may still see stands above the place.
bool has_message_above(Draft& draft, const UserId& user, const UserConversation& row, Reach reach) {
  bool found = false;
  for (const Interval& part : visible_in({draft, user, row}, reach.wanted, reach.last))
    if (!found)
      draft.entries(row.conversation, part.after, part.to, Direction::down,
                    [&](const Entry& entry) { return !(found = entry.countable()); });
  return found;
}

Result<Intervals> checked_ranges(const DeleteForMeCommand& command, const CoreParams& params) {
  if (command.ranges.empty()) return fail(ErrorCode::MALFORMED, "ranges", "Name at least one message.");
  if (command.ranges.size() > params.delete_ranges_max)
    return fail(ErrorCode::LIMIT_REACHED, "ranges", "At most " + std::to_string(params.delete_ranges_max) + ".");
  for (const Interval& range : command.ranges)
    if (range.to <= range.after) return fail(ErrorCode::OUT_OF_RANGE, "ranges", "after must lie below to.");
  return joined(command.ranges);
}

/// Marks the messages of these parts of the log as deleted; returns how many.
std::uint64_t delete_in(Draft& draft, const DeleteForMeCommand& command, const Intervals& parts) {
  std::vector<std::pair<Seq, bool>> found;  // and whether somebody else sent it
  for (const Interval& part : parts)
    draft.entries(command.conversation, part.after, part.to, Direction::up, [&](const Entry& entry) {
      if (entry.countable()) found.emplace_back(entry.seq, entry.sender != command.user);
      return true;
    });
  for (const auto& [seq, by_others] : found) {
    UserObject& object =
        draft.edit_object(command.user, {DeletedBlock{command.conversation, block_of(seq), {}, {}}, Mark()});
    auto& block = std::get<DeletedBlock>(object.what);
    block.deleted.set(seq);
    if (by_others) block.others.set(seq);
  }
  if (!found.empty()) {
    UserConversation& row = draft.edit_row(command.user, command.conversation);
    row.deleted_to = std::max(row.deleted_to, found.back().first);
  }
  return found.size();
}

}  // namespace

Result<Changed> decide_clear(Draft& draft, const ClearCommand& command) {
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  const Reach reach = reach_of(draft, *before, command.seq);
  Changed changed;
  if (reach.wanted > before->cleared) {
    clear(draft, command.user, draft.edit_row(command.user, command.conversation), reach.wanted);
    tell_state(draft, command.user, command.conversation, changed.notices);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  changed.reply.clamped = command.seq > reach.last;
  return changed;
}

Result<Changed> decide_remove(Draft& draft, const RemoveCommand& command) {
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  const Reach reach = reach_of(draft, *before, command.seq);
  const bool goes = !before->removed && !has_message_above(draft, command.user, *before, reach);
  Changed changed;
  if (goes || reach.wanted > before->cleared) {
    UserConversation& row = draft.edit_row(command.user, command.conversation);
    clear(draft, command.user, row, reach.wanted);
    if (goes) {
      row.removed = true;
      row.unread_flag = false;
      row.pinned_at = 0;
    }
    const Mark mark = tell_state(draft, command.user, command.conversation, changed.notices);
    if (goes) draft.bury(command.user, tombstone_of(command.conversation), mark);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  changed.reply.clamped = command.seq > reach.last;
  return changed;
}

Result<Changed> decide_delete_for_me(Draft& draft, const DeleteForMeCommand& command) {
  const CoreParams& params = draft.context().params;
  TM_ASSIGN(const Intervals ranges, checked_ranges(command, params));
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  const Sight sight{draft, command.user, *before};
  const Seq last = upper_bound_of(*before, draft.line(command.conversation).seq);
  Intervals parts;
  for (const Interval& range : ranges)
    std::ranges::copy(visible_in(sight, range.after, std::min(range.to, last)), std::back_inserter(parts));
  if (length_of(parts) > params.delete_max)
    return fail(ErrorCode::LIMIT_REACHED, "ranges", "At most " + std::to_string(params.delete_max) + " entries.");

  const Seq only = length_of(ranges) == 1 ? ranges.front().to : Seq();
  const bool gone_before = only && granted(*before, only) && !visible(sight, only);
  Changed changed;
  const std::uint64_t deleted = delete_in(draft, command, parts);
  if (only && deleted == 0 && !gone_before) return fail(ErrorCode::MESSAGE_NOT_FOUND, "seq");
  if (deleted > 0) {
    Receiver receiver = draft.touch_objects(command.user);
    draft.touch_state(command.user, command.conversation, nullptr);  // under the same mark
    draft.add_summary(receiver, command.conversation);
    changed.notices.push_back({command.conversation, nullptr, draft.round(), {std::move(receiver)}});
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  changed.reply.deleted = deleted;
  return changed;
}

Result<Changed> decide_mute(Draft& draft, const MuteCommand& command) {
  if (command.until < 0 || command.until > kForEver)
    return fail(ErrorCode::OUT_OF_RANGE, "until", "A time in milliseconds since 1970, 0 to end it.");
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  const std::int64_t until = command.until > draft.context().now_ms ? command.until : 0;
  Changed changed;
  if (before->muted_until != until) {
    draft.edit_row(command.user, command.conversation).muted_until = until;
    tell_state(draft, command.user, command.conversation, changed.notices);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  return changed;
}

Result<Changed> decide_pin(Draft& draft, const PinCommand& command) {
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  Changed changed;
  if ((before->pinned_at != 0) != command.pinned) {
    draft.edit_row(command.user, command.conversation).pinned_at = command.pinned ? draft.context().now_ms : 0;
    tell_state(draft, command.user, command.conversation, changed.notices);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  return changed;
}

std::string tombstone_of(const ConversationId& conversation) {
  return "c" + conversation.value;
}

}  // namespace tidemark
