#include "core/replica/read_marks.h"

#include <algorithm>
#include <utility>

#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

/// The unread flag once the server has been told what it is yet to be told; nothing: it knows all.
std::optional<bool> flag_wanted(const ConversationState& state) {
  if (state.wants_unread) return true;
  return state.wants_read ? std::optional(false) : std::nullopt;
}

}  // namespace

ReadMarks::ReadMarks(Workspace& workspace, Mutations& mutations, const StoreImage& image)
    : ws_(workspace), mutations_(mutations) {
  for (const MutationItem& item : image.mutations) {
    if (item.kind != MutationKind::read && item.kind != MutationKind::mark_unread) continue;
    if (Held* held = ws_.find(item.conversation)) {
      ++held->marks_open;
      held->local_flag = item.kind == MutationKind::mark_unread;
    }
  }
  for (auto& [id, held] : ws_.conversations) {
    if (const auto flag = flag_wanted(held.state)) {
      held.local_flag = flag;
      wanting_.insert(id);
    }
  }
}

// -------------------------------------------------------------------------------------------- local actions

Result<void> ReadMarks::mark_read(const ConversationId& id, Seq seq) {
  Held* held = ws_.find(id);
  if (held == nullptr || held->state.only_here()) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  const Change& object = held->state.object;
  const Seq head = held->state.stale ? held->state.tail : std::max(object.head_seq, held->state.tail);
  const Seq read = std::min(seq, head);
  const bool clears_flag = object.unread_flag && read >= object.read;
  if (read <= object.read && !clears_flag) return {};
  ConversationState& state = ws_.edit(*held);
  lower_unread(state, held->notes, read);
  state.local_read = std::max(state.local_read, read);
  state.object.unread_flag = false;
  state.wants_read = true;
  state.wants_unread = false;
  held->local_flag = false;
  wanting_.insert(id);
  return {};
}

Result<void> ReadMarks::mark_unread(const ConversationId& id) {
  Held* held = ws_.find(id);
  if (held == nullptr || held->state.only_here()) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (held->state.object.unread_flag) return {};
  ConversationState& state = ws_.edit(*held);
  state.object.unread_flag = true;
  state.wants_unread = true;
  held->local_flag = true;
  wanting_.insert(id);
  return {};
}

// ---------------------------------------------------------------------------------------------------- asking

void ReadMarks::on_welcome() {
  for (const auto& [id, held] : ws_.conversations)
    if (flag_wanted(held.state)) wanting_.insert(id);
}

void ReadMarks::work() {
  for (auto it = wanting_.begin(); it != wanting_.end();) {
    Held* held = ws_.find(*it);
    const bool wants = held && flag_wanted(held->state);
    if (!wants) {
      // The server knew, or knows nothing of it any more.
      if (held && held->marks_open == 0 && std::exchange(held->local_flag, std::nullopt) &&
          held->state.object.unread_flag != held->state.server_flag)
        ws_.edit(*held).object.unread_flag = held->state.server_flag;
      it = wanting_.erase(it);
      continue;
    }
    // One at a time for a conversation: meanwhile further moves of the pointer become one.
    // What the server has not told of yet may be none of its conversations.
    if (!held->state.stale && held->marks_open == 0 && !mutations_.full()) number_next(*held);
    ++it;
  }
}

void ReadMarks::number_next(Held& held) {
  ConversationState& state = ws_.edit(held);
  MutationItem item;
  item.conversation = held.id();
  if (state.wants_read) {
    state.wants_read = false;
    item.kind = MutationKind::read;
    item.seq = state.local_read;
  } else {
    state.wants_unread = false;
    item.kind = MutationKind::mark_unread;
  }
  ++held.marks_open;
  mutations_.add(std::move(item));
}

/// Read pointers are merged by max. A flag may have been taken off again elsewhere.
void ReadMarks::on_new_install(const Error& expired) {
  for (auto& [id, held] : ws_.conversations) {
    if (!held.state.wants_unread) continue;
    ConversationState& state = ws_.edit(held);
    state.wants_unread = false;
    held.local_flag = flag_wanted(state);
    state.object.unread_flag = held.local_flag.value_or(state.server_flag);
    ws_.raise(ChangeRefusedEvent{id, MutationKind::mark_unread, {}, {}, expired});
  }
}

// --------------------------------------------------------------------------------------------------- answers

void ReadMarks::close(Held& held) {
  if (held.marks_open > 0) --held.marks_open;  // not of one that was dropped and came anew
  if (held.marks_open == 0) held.local_flag = flag_wanted(held.state);
}

void ReadMarks::on_mutated(const MutationItem& item, const MutatedReply& reply) {
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  close(*held);
  ConversationState& state = ws_.edit(*held);
  // Clamped: what comes above the head is born unread. A pointer that is shown there, up to what was asked for, was set
  // before a restore; what lies above that was read since.
  const auto fall = [&](Seq& pointer) {
    if (pointer <= item.seq) pointer = std::min(pointer, reply.read);
  };
  if (reply.clamped) {
    fall(state.local_read);
    fall(state.object.read);
  }
  // Another device may have read further; a summary from before that must not take it back.
  state.local_read = std::max(state.local_read, reply.read);
  lower_unread(state, held->notes, reply.read);
  // The answer may have been overtaken by a summary of a later change.
  if (reply.mark >= state.object.mark) state.server_flag = reply.unread_flag;
  state.object.unread_flag = held->local_flag.value_or(state.server_flag);
}

void ReadMarks::on_refused(const MutationItem& item, const Error& error) {
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  close(*held);
  if (held->state.only_here()) return;  // there is nobody to tell any more
  const bool again = error.code == ErrorCode::MUTATION_CONFLICT ||
                     (error.code == ErrorCode::MUTATION_EXPIRED && is_repeatable(item.kind));
  if (!again) {
    ConversationState& refused = ws_.edit(*held);
    refused.object.unread_flag = held->local_flag.value_or(refused.server_flag);
    return ws_.raise(ChangeRefusedEvent{item.conversation, item.kind, item.seq, {}, error});
  }
  // The number is spent, the change is not: merged by max, it may be made again under a new one.
  ConversationState& state = ws_.edit(*held);
  if (item.kind == MutationKind::read) {
    state.wants_read = true;
  } else if (!state.wants_read) {
    state.wants_unread = true;
  }
  held->local_flag = state.wants_unread;
  wanting_.insert(item.conversation);
}

}  // namespace tidemark::replica
