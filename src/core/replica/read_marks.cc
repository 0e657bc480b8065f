#include "core/replica/read_marks.h"

#include <algorithm>

#include "core/replica/objects.h"

namespace tidemark::replica {

ReadMarks::ReadMarks(Workspace& workspace, const StoreImage& image) : ws_(workspace) {
  for (const MutationItem& item : image.mutations) {
    open_[item.number].item = item;
    if (Held* held = ws_.find(item.conversation)) {
      ++held->mutations_open;
      held->local_flag = item.kind == MutationKind::mark_unread;
    }
  }
  for (auto& [id, held] : ws_.conversations) {
    if (held.state.wants_read) held.local_flag = false;
    if (held.state.wants_unread) held.local_flag = true;
    if (held.state.wants_read || held.state.wants_unread) wanting_.insert(id);
  }
}

// -------------------------------------------------------------------------------------------- local actions

Result<void> ReadMarks::mark_read(const ConversationId& id, Seq seq) {
  Held* held = ws_.find(id);
  if (held == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  const Change& object = held->state.object;
  const Seq read = std::min(seq, std::max(object.head_seq, held->state.tail));
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
  if (held == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (held->state.object.unread_flag) return {};
  ConversationState& state = ws_.edit(*held);
  state.object.unread_flag = true;
  state.wants_unread = true;
  held->local_flag = true;
  wanting_.insert(id);
  return {};
}

// ---------------------------------------------------------------------------------------------------- asking

void ReadMarks::on_welcome(std::uint64_t highest_mutation) {
  if (ws_.device().next_mutation <= highest_mutation) ws_.edit_device().next_mutation = highest_mutation + 1;
  for (const auto& [id, held] : ws_.conversations)
    if (held.state.wants_read || held.state.wants_unread) wanting_.insert(id);
}

void ReadMarks::work() {
  for (auto it = wanting_.begin(); it != wanting_.end();) {
    Held* held = ws_.find(*it);
    const bool wants = held && (held->state.wants_read || held->state.wants_unread);
    if (!wants) {
      if (held && held->mutations_open == 0) held->local_flag.reset();
      it = wanting_.erase(it);
      continue;
    }
    // One at a time for a conversation: meanwhile further moves of the pointer become one.
    // What the server has not told of yet may be none of its conversations.
    if (!held->state.stale && held->mutations_open == 0 && open_.size() < ws_.options.mutations_max) number_next(*held);
    ++it;
  }
  for (auto& [number, open] : open_)
    if (!open.in_flight && ws_.ready(open.retry)) ask(open);
}

void ReadMarks::number_next(Held& held) {
  ConversationState& state = ws_.edit(held);
  MutationItem item;
  item.number = ws_.edit_device().next_mutation++;
  item.conversation = held.id();
  if (state.wants_read) {
    state.wants_read = false;
    item.kind = MutationKind::read;
    item.seq = state.local_read;
  } else {
    state.wants_unread = false;
    item.kind = MutationKind::mark_unread;
  }
  ++held.mutations_open;
  ws_.out.batch.mutations.push_back(item);
  open_[item.number].item = item;
}

void ReadMarks::ask(Open& open) {
  open.in_flight = true;
  Pending pending;
  pending.kind = Pending::Kind::mutate;
  pending.conversation = open.item.conversation;
  pending.key = open.item.number;
  ws_.ask(Mutate{open.item}, std::move(pending));
}

std::optional<std::int64_t> ReadMarks::next_work_ms() const {
  std::optional<std::int64_t> next;
  for (const auto& [number, open] : open_)
    if (!open.in_flight) ws_.sooner(next, open.retry.not_before_ms);
  return next;
}

void ReadMarks::on_link_down() {
  for (auto& [number, open] : open_) {
    open.in_flight = false;
    open.retry = {};
  }
}

// --------------------------------------------------------------------------------------------------- answers

void ReadMarks::close(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  if (Held* held = ws_.find(found->second.item.conversation)) {
    --held->mutations_open;
    if (held->mutations_open == 0 && !held->state.wants_read && !held->state.wants_unread) held->local_flag.reset();
  }
  open_.erase(found);
  std::erase_if(ws_.out.batch.mutations, [&](const MutationItem& item) { return item.number == number; });
  ws_.out.batch.mutations_removed.push_back(number);
}

void ReadMarks::on_mutated(const Pending& asked, const MutatedReply& reply) {
  const auto found = open_.find(asked.key);
  if (found == open_.end()) return;
  const MutationItem item = found->second.item;
  close(asked.key);
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  ConversationState& state = ws_.edit(*held);
  // Clamped: what comes above the head is born unread.
  if (reply.clamped) state.local_read = std::min(state.local_read, reply.read);
  lower_unread(state, held->notes, reply.read);
  // The answer may have been overtaken by a summary of a later change.
  if (reply.mark >= state.object.mark) state.server_flag = reply.unread_flag;
  state.object.unread_flag = held->local_flag.value_or(state.server_flag);
}

void ReadMarks::on_refused(const Pending& asked, const Error& error) {
  const auto found = open_.find(asked.key);
  if (found == open_.end()) return;
  if (error_info(error.code).retryable) {
    found->second.in_flight = false;
    return ws_.fail(found->second.retry, error.retry_after_ms);
  }
  const MutationItem item = found->second.item;
  close(asked.key);
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  if (error.code != ErrorCode::MUTATION_EXPIRED && error.code != ErrorCode::MUTATION_CONFLICT) {
    ConversationState& refused = ws_.edit(*held);
    refused.object.unread_flag = held->local_flag.value_or(refused.server_flag);
    return ws_.raise(ChangeRefusedEvent{item.conversation, error});
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
