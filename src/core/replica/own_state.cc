#include "core/replica/own_state.h"

#include <algorithm>

#include "core/params.h"
#include "core/preview.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

// What one mutation may name (core/params.h has the server's bounds).
constexpr std::size_t kRangesMax = 100;
constexpr std::uint64_t kSeqsMax = 5'000;

bool wants_any(const ConversationState& state) {
  return state.wants_clear || state.wants_remove || !state.wants_deleted.empty() || state.wants_mute || state.wants_pin;
}

/// The highest place that this device knows of.
Seq known_head(const ConversationState& state) {
  return state.stale ? state.tail : std::max(state.object.head_seq, state.tail);
}

/// As much of it as one mutation may name; taken out of `wanted`.
std::vector<Interval> take_ranges(Coverage& wanted) {
  std::vector<Interval> taken;
  std::uint64_t seqs = 0;
  for (Interval range : wanted.ranges()) {
    if (taken.size() == kRangesMax || seqs == kSeqsMax) break;
    range.to = std::min(range.to, range.after + (kSeqsMax - seqs));
    seqs += range.to - range.after;
    taken.push_back(range);
  }
  for (const Interval& range : taken) wanted.subtract(range);
  return taken;
}

}  // namespace

bool is_own_state(MutationKind kind) {
  return kind >= MutationKind::clear && kind <= MutationKind::pin;
}

OwnState::OwnState(Workspace& workspace, Conversations& conversations, Mutations& mutations, const StoreImage& image)
    : ws_(workspace), conversations_(conversations), mutations_(mutations) {
  for (const MutationItem& item : image.mutations) {
    Held* held = is_own_state(item.kind) ? ws_.find(item.conversation) : nullptr;
    if (held == nullptr) continue;
    ++held->wishes_open;
    if (item.kind == MutationKind::mute) held->local_mute = item.until;
    if (item.kind == MutationKind::pin) held->local_pin = item.on;
  }
  for (auto& [id, held] : ws_.conversations) {
    if (held.state.wants_mute) held.local_mute = held.state.wants_mute;
    if (held.state.wants_pin) held.local_pin = held.state.wants_pin;
    if (wants_any(held.state)) wanting_.insert(id);
  }
}

// -------------------------------------------------------------------------------------------- local actions

Result<Held*> OwnState::held_for(const ConversationId& id) {
  Held* held = ws_.find(id);
  if (held == nullptr || held->state.only_here()) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  return held;
}

Result<void> OwnState::clear(const ConversationId& id, Seq seq) {
  TM_ASSIGN(Held * held, held_for(id));
  const Seq head = known_head(held->state);
  const Seq to = seq ? std::min(seq, head) : head;
  if (to <= held->state.object.cleared) return {};
  ConversationState& state = ws_.edit(*held);
  state.local_cleared = std::max(state.local_cleared, to);
  state.wants_clear = true;
  raise_cleared(state, held->notes, to);
  conversations_.prune(*held);
  preview_anew(*held);
  wanting_.insert(id);
  return {};
}

Result<void> OwnState::remove(const ConversationId& id) {
  TM_ASSIGN(Held * held, held_for(id));
  ConversationState& state = ws_.edit(*held);
  const Seq head = known_head(state);
  state.local_removed = head ? head : Seq(1);
  state.local_cleared = std::max(state.local_cleared, head);
  state.wants_remove = true;
  state.wants_clear = false;  // it clears too
  state.object.removed = true;
  raise_cleared(state, held->notes, head);
  conversations_.prune(*held);
  wanting_.insert(id);
  return {};
}

Result<void> OwnState::delete_for_me(const ConversationId& id, const std::vector<Interval>& ranges) {
  TM_ASSIGN(Held * held, held_for(id));
  Coverage fresh;
  for (const Interval& range : ranges) fresh.add({range.after, std::min(range.to, known_head(held->state))});
  if (fresh.empty())
    return fail(ErrorCode::MALFORMED, "ranges", "Name at least one message that this device knows of.");
  for (const Interval& gone : held->state.deleted.ranges()) fresh.subtract(gone);
  ConversationState& state = ws_.edit(*held);
  const Seq floor = unread_floor(state.object);
  for (const Interval& range : fresh.ranges()) {
    state.wants_deleted.add(range);
    for (auto it = held->notes.upper_bound(range.after); it != held->notes.end() && it->first <= range.to; ++it) {
      const bool counted = it->first > floor && may_be_unread(state, it->second);
      if (counted && state.object.unread.count > 0) --state.object.unread.count;
    }
  }
  conversations_.hide(*held, fresh.ranges());
  preview_anew(*held);
  wanting_.insert(id);
  return {};
}

Result<void> OwnState::mute(const ConversationId& id, std::int64_t until) {
  TM_ASSIGN(Held * held, held_for(id));
  if (held->state.object.muted_until == until) return {};
  ConversationState& state = ws_.edit(*held);
  state.wants_mute = held->local_mute = state.object.muted_until = until;
  wanting_.insert(id);
  return {};
}

Result<void> OwnState::pin(const ConversationId& id, bool pinned) {
  TM_ASSIGN(Held * held, held_for(id));
  if ((held->state.object.pinned_at != 0) == pinned) return {};
  ConversationState& state = ws_.edit(*held);
  state.wants_pin = held->local_pin = pinned;
  state.object.pinned_at = pinned ? ws_.server_now() : 0;
  wanting_.insert(id);
  return {};
}

/// When the message that the list shows is gone, the one before it is shown, if it is held.
void OwnState::preview_anew(Held& held) {
  ConversationState& state = ws_.edit(held);
  Preview& preview = state.object.preview;
  const Seq shown = preview.seq;
  if (!shown || (shown > state.object.cleared && !state.deleted.contains(shown))) return;
  preview = {};
  for (auto note = std::make_reverse_iterator(held.notes.upper_bound(shown)); note != held.notes.rend(); ++note) {
    if (!note->second.countable || state.lost.contains(note->first)) continue;
    if (const auto row = ws_.row(held, note->first)) preview = preview_of(*row, CoreParams{}.preview_bytes);
    return;
  }
}

// ---------------------------------------------------------------------------------------------------- asking

void OwnState::on_welcome() {
  for (const auto& [id, held] : ws_.conversations)
    if (wants_any(held.state)) wanting_.insert(id);
}

void OwnState::work() {
  for (auto it = wanting_.begin(); it != wanting_.end();) {
    Held* held = ws_.find(*it);
    if (held == nullptr || !wants_any(held->state)) {
      it = wanting_.erase(it);
      continue;
    }
    // What the server has not told of yet may be none of its conversations.
    if (!held->state.stale && held->wishes_open == 0 && !mutations_.full()) number_next(*held);
    ++it;
  }
}

void OwnState::number_next(Held& held) {
  ConversationState& state = ws_.edit(held);
  MutationItem item;
  item.conversation = held.id();
  if (!state.wants_deleted.empty()) {
    item.kind = MutationKind::delete_for_me;
    item.ranges = take_ranges(state.wants_deleted);
  } else if (state.wants_remove) {
    state.wants_remove = false;
    item.kind = MutationKind::remove;
    item.seq = state.local_cleared;
  } else if (state.wants_clear) {
    state.wants_clear = false;
    item.kind = MutationKind::clear;
    item.seq = state.local_cleared;
  } else if (state.wants_mute) {
    item.kind = MutationKind::mute;
    item.until = *std::exchange(state.wants_mute, std::nullopt);
  } else {
    item.kind = MutationKind::pin;
    item.on = *std::exchange(state.wants_pin, std::nullopt);
  }
  ++held.wishes_open;
  mutations_.add(std::move(item));
}

/// A mute or a pin has no mark of its own that would tell whether it was changed since: its user decides.
void OwnState::on_new_install(const Error& expired) {
  for (auto& [id, held] : ws_.conversations) {
    if (!held.state.wants_mute && !held.state.wants_pin) continue;
    ConversationState& state = ws_.edit(held);
    const bool mute = std::exchange(state.wants_mute, std::nullopt).has_value();
    const bool pin = std::exchange(state.wants_pin, std::nullopt).has_value();
    held.local_mute.reset();
    held.local_pin.reset();
    show_own(state, held);
    if (mute) ws_.raise(ChangeRefusedEvent{id, MutationKind::mute, {}, {}, expired});
    if (pin) ws_.raise(ChangeRefusedEvent{id, MutationKind::pin, {}, {}, expired});
  }
}

// --------------------------------------------------------------------------------------------------- answers

void OwnState::close(Held& held) {
  if (held.wishes_open > 0) --held.wishes_open;  // not of one that was dropped and came anew
  if (!held.state.wants_mute) held.local_mute.reset();
  if (!held.state.wants_pin) held.local_pin.reset();
}

void OwnState::on_mutated(const MutationItem& item, const MutatedReply& reply) {
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  ConversationState& state = ws_.edit(*held);
  close(*held);
  if (item.kind == MutationKind::clear || item.kind == MutationKind::remove) {
    // Clamped: a place beyond the head, which a restore may have taken back.
    // And what it says holds though a summary of an earlier change may still come.
    state.local_cleared =
        reply.clamped ? std::min(state.local_cleared, reply.cleared) : std::max(state.local_cleared, reply.cleared);
    raise_cleared(state, held->notes, reply.cleared);
    conversations_.prune(*held);
  }
  // The answer may have been overtaken by a summary of a later change.
  if (reply.mark >= state.object.mark) {
    state.server_muted_until = reply.muted_until;
    state.server_pinned_at = reply.pinned_at;
    if (item.kind == MutationKind::remove && !state.wants_remove) {
      state.local_removed = {};
      state.object.removed = reply.removed;
    }
  }
  show_own(state, *held);
}

void OwnState::on_refused(const MutationItem& item, const Error& error) {
  Held* held = ws_.find(item.conversation);
  if (held == nullptr) return;
  close(*held);
  ConversationState& state = ws_.edit(*held);
  if (state.only_here()) return;  // there is nobody to tell any more
  // The number is spent, the change is not: merged by max, it may be made again under a new one. A mute or a pin only
  // when the number stood for something else, so that it has never been done.
  if (error.code == ErrorCode::MUTATION_CONFLICT ||
      (error.code == ErrorCode::MUTATION_EXPIRED && is_repeatable(item.kind)))
    return want_again(*held, item);
  if (item.kind == MutationKind::remove) state.local_removed = {};
  show_own(state, *held);
  // A message that is not there is as good as hidden.
  if (error.code != ErrorCode::MESSAGE_NOT_FOUND)
    ws_.raise(ChangeRefusedEvent{item.conversation, item.kind, item.seq, {}, error});
}

void OwnState::want_again(Held& held, const MutationItem& item) {
  ConversationState& state = ws_.edit(held);
  if (item.kind == MutationKind::clear) state.wants_clear = !state.wants_remove;
  if (item.kind == MutationKind::remove) state.wants_remove = true;
  for (const Interval& range : item.ranges) state.wants_deleted.add(range);
  // What the user has set since rules.
  if (item.kind == MutationKind::mute && !state.wants_mute) state.wants_mute = held.local_mute = item.until;
  if (item.kind == MutationKind::pin && !state.wants_pin) state.wants_pin = held.local_pin = item.on;
  wanting_.insert(item.conversation);
}

}  // namespace tidemark::replica
