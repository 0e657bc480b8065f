#include "core/replica/conversations.h"

#include <algorithm>

#include "base/check.h"
#include "core/planted.h"
#include "core/replica/fold.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

/// Of a large group, whose head moves without its mark: newer by one of them, older by the other.
bool differs_both_ways(const Change& held, const Change& told) {
  if (!held.large && !told.large) return false;
  return (told.mark < held.mark && head_of(told) > head_of(held)) ||
         (told.mark > held.mark && head_of(told) < head_of(held));
}

/// Rows that may be shown no more.
void take_away(Workspace& workspace, Held& held, Interval range) {
  const auto first = held.notes.upper_bound(range.after);
  if (first == held.notes.end() || first->first > range.to) return;
  workspace.drop_rows(held, range);
  workspace.raise(RowsGoneEvent{held.id(), range});
}

bool same_sight(const Change& a, const Change& b) {
  return a.periods == b.periods && a.cleared == b.cleared;
}

}  // namespace

// ------------------------------------------------------------------------------------------- from the index

void Conversations::take_summary(const Change& change) {
  Held* found = ws_.find(change.conversation);
  Held& held = found ? *found : ws_.create(change.conversation);
  ConversationState& state = ws_.edit(held);
  const Change before = state.object;
  if (!state.stale && differs_both_ways(before, change)) unsure_.insert(held.id());
  guessed_.erase(held.id());
  const bool sees_other = apply_summary(state, held, change) && !same_sight(before, state.object);
  if (state.guessed) guessed_.insert(held.id());
  if (sees_other) {
    // A later period may show what none did before.
    if (before.periods != state.object.periods) {
      state.bottom.reset();
      held.hidden = {};
      held.exhausted = false;
    }
    prune(held);
  }
  state.named = ws_.device().pass.id;
  // The server knew nothing of it, or did not tell a former member how it went on: now that it does, it is asked once
  // more which of these rows are lost.
  const std::vector<Period>& periods = state.object.periods;
  const bool let_in = periods != before.periods && (state.object.member || periods.size() > before.periods.size());
  const bool tells_more = !state.stale && (std::exchange(state.forgotten, false) || let_in);
  if (tells_more && !state.lost.empty() && jumps_wanted_.insert(held.id()).second) state.epoch = 0;
  const bool clears_flag = change.unread_flag && held.local_flag == false;
  if (change.read >= state.local_read && !clears_flag) state.wants_read = false;  // it knows already
  if (change.covers.after < change.covers.to) take_messages(held, change);
}

void Conversations::take_messages(Held& held, const Change& change) {
  ConversationState& state = ws_.edit(held);
  const Seq as_of = std::max(change.head_seq, change.touch_seq);
  if (too_old(held, as_of, as_of + 1)) return;  // a bonus: what is missing is asked for when somebody looks
  gain(held, as_of);
  if (state.coverage.empty()) {
    state.touched = held.since.from = as_of;
  } else if (change.covers.after <= state.touched && change.touch_seq <= state.touched) {
    // No older row changed since, and every entry after it is here.
    state.touched = std::max(state.touched, change.covers.to);
  }
  const NotifyAbove notify_above = ws_.device().pass.snapshot ? std::nullopt : lowest_held(state);
  cover(held, change.covers, change.hidden);
  state.tail = std::max(state.tail, change.covers.to);
  for (const Entry& entry : change.messages) take_row(held, with_changes(held, entry), notify_above);
}

void Conversations::take_deleted(const DeletedBlock& block) {
  Held* found = ws_.find(block.conversation);
  Held& held = found ? *found : ws_.create(block.conversation);
  if (found == nullptr) held.state.object.removed = true;  // its summary comes along, unless the user removed it
  hide(held, block.deleted.intervals(block.block));
}

void Conversations::hide(Held& held, const std::vector<Interval>& ranges) {
  ConversationState& state = ws_.edit(held);
  for (const Interval& range : ranges) {
    state.deleted.add(range);
    state.lost.subtract(range);  // of rows that a restore took too
  }
  prune(held);
}

void Conversations::take_derived(const PushItem& item) {
  Held* found = ws_.find(item.conversation);
  Held& held = found ? *found : ws_.create(item.conversation);
  // It begins once more, on a server that had forgotten it.
  if (held.state.only_here()) ws_.edit(held).object = blank_object(item.conversation, ws_.device().user);
  if (!derive(ws_.edit(held), item, ws_.device().user)) unsure_.insert(held.id());
  if (held.state.guessed) guessed_.insert(held.id());
}

void Conversations::end_guess(const ConversationId& id) {
  guessed_.erase(id);
  if (Held* held = ws_.find(id); held != nullptr && held->state.guessed) ws_.edit(*held).guessed = false;
}

// -------------------------------------------------------------------------------------------------- entries

Conversations::Part Conversations::take_entry(const PushItem& item, std::optional<Seq> told_head, IndexPart index) {
  Held* held = ws_.find(item.conversation);
  const bool settled = index == IndexPart::settled;
  const Entry& entry = *item.entry;
  if (jumps_wanted_.contains(item.conversation)) return settled ? Part::taken : Part::waits;
  if (held == nullptr) return settled ? pass_over(nullptr, entry, item.conversation) : Part::waits;
  ConversationState& state = held->state;
  const bool applied = take_change(*held, item.entry);
  if (state.coverage.contains(entry.seq)) return Part::taken;
  const Seq after = entry.seq - 1;
  // What changed this row is on no page any more if it is not above `touched`: the row as it was sent is too old.
  const bool news = state.coverage.empty() || entry.seq > state.touched;
  const bool chains = news && !state.coverage.empty() && after == state.tail;
  const bool follows_told_head = news && told_head && after == *told_head && after >= state.tail;
  const bool first_held = state.coverage.empty() && settled;
  if (!chains && !follows_told_head && !first_held)
    return settled ? pass_over(held, entry, item.conversation) : Part::waits;
  ws_.edit(*held);
  if (state.coverage.empty()) state.touched = held->since.from = after;
  if (state.touched == after && applied) state.touched = entry.seq;
  gain(*held, entry.seq);
  state.tail = entry.seq;
  cover(*held, {after, entry.seq}, {});
  take_row(*held, entry, Seq(0));
  if (!applied) {
    held->want_sync = true;
    want(*held);
  }
  return Part::taken;
}

/// The index has gone past an entry before which others are missing. Below the tail it lies in a hole that is filled
/// when somebody looks there; above it the conversation is asked for. An own echo counts in any case.
Conversations::Part Conversations::pass_over(Held* held, const Entry& entry, const ConversationId& id) {
  const RowNote note = note_of(entry, ws_.device().user);
  if (held && entry.seq > held->state.tail) {
    const bool above_touched = entry.seq > held->state.touched;
    (above_touched ? held->want_sync : held->want_newest) = true;  // newest: what is held came from further down
    want(*held);
  }
  if (!note.mine || entry.client_msg_id.empty()) return Part::taken;
  Entry own = entry;
  if (auto body = own_row_(id, entry)) own.body = std::move(*body);
  if (held && !held->notes.contains(entry.seq)) take_uncovered(*held, own);
  return Part::taken;
}

void Conversations::take_uncovered(Held& held, const Entry& entry) {
  const ConversationState& state = held.state;
  if (entry.seq <= state.object.cleared || state.deleted.contains(entry.seq)) return;  // hidden before it was known
  RowNote note = note_of(entry, ws_.device().user);
  note.provisional = true;
  auto shared = std::make_shared<const Entry>(entry);
  ws_.store_row(held, shared, note);
  ws_.raise(MessageEvent{held.id(), std::move(shared), true, false});
  relink(held, note);
}

Conversations::NotifyAbove Conversations::lowest_held(const ConversationState& state) {
  return state.coverage.empty() ? Seq() : state.coverage.ranges().front().after;
}

void Conversations::take_row(Held& held, Entry entry, NotifyAbove notify_above) {
  if (!touches_nothing(entry.kind)) return;  // it shows in the row it changed, or nobody here knows how
  RowNote note = note_of(entry, ws_.device().user);
  if (note.mine && !entry.client_msg_id.empty())
    if (auto body = own_row_(held.id(), entry)) entry.body = std::move(*body);
  // Its range was given up again for the bound on ranges: a row without coverage would not be kept right.
  if (!held.state.coverage.contains(note.seq)) return;
  const auto found = held.notes.find(note.seq);
  const bool shown = found != held.notes.end();
  // What the server gives is not lost: it was once more than it let this user see.
  if (held.state.lost.contains(note.seq)) ws_.edit(held).lost.subtract({note.seq - 1, note.seq});
  if (shown && !found->second.provisional && !outranks(note, found->second)) return;
  if (shown && outranks(found->second, note)) {
    // A stand-in that has heard of its change first.
    if (const auto further = ws_.row(held, note.seq)) entry = brought_to(std::move(entry), *further);
    note = note_of(entry, ws_.device().user);
  }
  if (shown && entry.body.cut)
    if (const auto held_row = ws_.row(held, note.seq); held_row && keeps_body(entry, *held_row))
      entry.body = held_row->body;
  const bool dead = note.state >= MessageState::recalled;
  MessageEvent event;
  event.conversation = held.id();
  event.entry = std::make_shared<const Entry>(std::move(entry));
  event.appeared = !shown;
  const bool again = held.refetch.contains(note.seq);  // it went for a change that a restore took
  const bool news = !shown && !again && note.countable && !note.mine && !dead;
  event.notify = news && notify_above && note.seq > std::max(*notify_above, unread_floor(held.state.object));
  if (planted(Fault::never_notifies)) event.notify = false;
  ws_.store_row(held, event.entry, note);
  ws_.raise(std::move(event));
  relink(held, note);
}

void Conversations::take_own_send(const OutboxItem& item, const SentReply& reply) {
  Held* found = ws_.find(reply.conversation);
  const bool first_word = found == nullptr;
  if (first_word) found = &ws_.create(reply.conversation);
  if (first_word) {
    found->state.object.sort_time = reply.server_time;
    found->state.named = ws_.device().pass.id;
  }
  if (found->notes.contains(reply.seq)) return;
  Entry entry;
  entry.seq = reply.seq;
  entry.server_time = reply.server_time;
  entry.sender = ws_.device().user;
  entry.sender_device = ws_.device().device;
  entry.client_msg_id = item.client_msg_id;
  entry.client_time = item.id_time_ms;
  entry.priority = item.priority;
  entry.state = reply.state;
  if (!entry.dead()) {
    entry.reply_to = item.reply_to;
    entry.mentions = item.mentions;
    entry.mention_all = item.mention_all;
    entry.body = item.body;
  }
  take_uncovered(*found, entry);
}

// ------------------------------------------------------------------------------------------------- coverage

void Conversations::cover(Held& held, Interval covers, const std::vector<Hidden>& hidden) {
  ConversationState& state = ws_.edit(held);
  state.coverage.add(covers);
  held.exhausted = false;
  for (const Hidden& range : hidden) {
    // What is hidden is not held; only retention and the jumps of a restore never come back.
    held.hidden.add({range.after, range.to});
    if (range.reason == HiddenReason::retention || range.reason == HiddenReason::restored) continue;
    state.coverage.subtract({range.after, range.to});
    take_away(ws_, held, {range.after, range.to});  // a page may tell of it before the index does
  }
  // What was cleared or deleted since the page was read is on it and not to be held.
  if (state.object.cleared) state.coverage.subtract({Seq(0), state.object.cleared});
  for (const Interval& deleted : state.deleted.ranges()) state.coverage.subtract(deleted);
  // What a restore took is held, and in no log.
  for (const Interval& lost : state.lost.ranges()) state.coverage.subtract(lost);
  bound_ranges(held);
}

/// The ranges held. Those between which nothing can be seen are one: a user may delete here and there as he likes.
std::vector<Interval> Conversations::held_ranges(const Held& held) {
  Coverage nothing = held.hidden;
  for (const Interval& deleted : held.state.deleted.ranges()) nothing.add(deleted);
  for (const Interval& lost : held.state.lost.ranges()) nothing.add(lost);
  std::vector<Interval> ranges;
  for (const Interval& range : held.state.coverage.ranges()) {
    if (!ranges.empty() && nothing.covers({ranges.back().to, range.after}))
      ranges.back().to = range.to;
    else
      ranges.push_back(range);
  }
  return ranges;
}

/// The oldest ranges are given up first; they come again when somebody scrolls there.
void Conversations::bound_ranges(Held& held) {
  while (held.state.coverage.ranges().size() > ws_.options.ranges_max) {
    const std::vector<Interval> ranges = held_ranges(held);
    if (ranges.size() <= ws_.options.ranges_max) return;
    const Interval oldest = ranges.front();
    ws_.edit(held).coverage.subtract(oldest);
    ws_.drop_rows(held, oldest);
    if (!held.pull) continue;
    // Kept as one range: what lies between two that are given up was given up before, or is not held.
    const std::vector<Interval>& before = held.since.given_up.ranges();
    held.since.given_up.add({before.empty() ? oldest.after : std::min(before.front().after, oldest.after), oldest.to});
  }
}

void Conversations::prune(Held& held) {
  // What a restore lost stays, though the period in which it was seen may be lost too.
  Coverage gone(denied_by(held.state));
  for (const Interval& lost : held.state.lost.ranges()) gone.subtract(lost);
  for (const Interval& denied : gone.ranges()) {
    ws_.edit(held).coverage.subtract(denied);
    take_away(ws_, held, denied);
  }
  for (const Interval& deleted : held.state.deleted.ranges()) held.hidden.add(deleted);
  if (held.state.object.cleared) held.hidden.add({Seq(0), held.state.object.cleared});
  bound_ranges(held);
}

}  // namespace tidemark::replica
