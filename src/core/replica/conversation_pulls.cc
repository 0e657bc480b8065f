// What a device asks of single conversations, and what it makes of the answers.
#include <algorithm>

#include "base/check.h"
#include "core/replica/conversations.h"

namespace tidemark::replica {
namespace {

/// Held, or known to show nothing: nothing to be asked for there.
Coverage known_ranges(const Held& held) {
  Coverage known = held.state.coverage;
  for (const Interval& range : held.hidden.ranges()) known.add(range);
  // The server hides messages alone: what else lies in a range that was deleted it may show, and it is not kept here.
  for (const Interval& range : held.state.deleted.ranges()) known.add(range);
  return known;
}

bool at_bottom(const Held& held, Seq after) {
  return !after || (held.state.bottom && after <= *held.state.bottom);
}

bool is_pull(Pending::Kind kind) {
  return kind == Pending::Kind::conversation_sync || kind == Pending::Kind::history;
}

bool ends_for_now(const std::vector<Hidden>& hidden) {
  return std::ranges::any_of(hidden, [](const Hidden& range) {
    return range.reason == HiddenReason::roaming || range.reason == HiddenReason::unavailable;
  });
}

}  // namespace

// --------------------------------------------------------------------------------------------------- wishes

void Conversations::want(Held& held) {
  wanting_.insert(held.id());
}

void Conversations::open(const ConversationId& id) {
  if (open_.size() >= ws_.options.open_max && !open_.contains(id)) open_.erase(open_.begin());
  open_.insert(id);
  Held* held = ws_.find(id);
  if (held == nullptr) {
    ws_.raise(HistoryEvent{id, true, std::nullopt});
    return;
  }
  held->synced_to = held->newest_for = {};
  held->exhausted = false;
  held->retry = {};
  look(*held);
  const auto newest = known_ranges(*held).range_of(held->state.tail);
  const bool short_screen = newest && newest->to - newest->after < ws_.options.page_limit;
  if (short_screen && !at_bottom(*held, newest->after)) {
    held->want_before = newest->after + 1;
    want(*held);
  }
}

void Conversations::close(const ConversationId& id) {
  open_.erase(id);
}

/// Somebody looks at it: its newest rows are wanted, and the changes of the older ones.
void Conversations::look(Held& held) {
  const ConversationState& state = held.state;
  const Seq head = state.object.head_seq;
  if (!head || state.stale) return;  // stale: its numbers are of another epoch
  const Seq changed = std::max(head, state.object.touch_seq);
  if (!state.coverage.empty() && changed > state.touched) {
    if (changed <= held.synced_to) return;
    held.want_sync = true;
    want(held);
  } else if (state.coverage.empty() || head > state.tail) {
    want_newest(held);  // nothing is held, or what is held came from further down
  }
}

/// Once for a head: a server that does not show that entry is not asked again.
bool Conversations::want_newest(Held& held) {
  const Seq head = held.state.object.head_seq;
  if (held.newest_for == head) return false;
  held.newest_for = head;
  held.want_newest = true;
  want(held);
  return true;
}

void Conversations::scroll_back(const ConversationId& id, Seq before) {
  Held* held = ws_.find(id);
  if (held == nullptr) return ws_.raise(HistoryEvent{id, true, std::nullopt});
  if (held->state.coverage.empty() && !before) {
    held->want_newest = true;
    return want(*held);
  }
  const Seq place = before ? before - 1 : held->state.tail;
  const auto range = known_ranges(*held).range_of(place);
  const Seq edge = range ? range->after : place;
  if (at_bottom(*held, edge)) return ws_.raise(HistoryEvent{id, true, std::nullopt});
  held->want_before = edge + 1;
  held->exhausted = false;
  want(*held);
}

void Conversations::scroll_forward(const ConversationId& id, Seq after) {
  Held* held = ws_.find(id);
  if (held == nullptr) return ws_.raise(HistoryEvent{id, true, std::nullopt});
  const auto range = known_ranges(*held).range_of(after + 1);
  held->want_after = range ? range->to : after;
  want(*held);
}

bool Conversations::covered_back_to(const ConversationId& id, std::int64_t server_time) {
  Held* held = ws_.find(id);
  if (held == nullptr || held->exhausted || !held->state.object.head_seq) return true;
  if (held->pull || held->wants()) return false;
  const Seq head = held->state.object.head_seq;
  const auto range = known_ranges(*held).range_of(head);
  if (!range) return !want_newest(*held);
  if (at_bottom(*held, range->after)) return true;
  const auto oldest = held->notes.upper_bound(range->after);
  if (oldest != held->notes.end() && oldest->second.server_time < server_time) return true;
  held->want_before = range->after + 1;
  want(*held);
  return false;
}

// -------------------------------------------------------------------------------------------------- asking

void Conversations::work() {
  for (const auto& [id, before] : ws_.edited())
    if (Held* held = ws_.find(id)) want_changes(*held);
  for (const ConversationId& id : open_)
    if (Held* held = ws_.find(id); held && !held->pull && held->state.object.head_seq > held->state.tail) look(*held);
  // Also those of conversations that a sweep has taken meanwhile.
  auto in_flight = static_cast<std::size_t>(
      std::ranges::count_if(ws_.pending(), [](const auto& asked) { return is_pull(asked.second.kind); }));
  // First those that somebody looks at.
  for (const ConversationId& id : open_)
    if (Held* held = ws_.find(id); held && in_flight < ws_.options.pulls_in_flight_max)
      in_flight += ask_if_ready(*held);
  for (auto it = wanting_.begin(); it != wanting_.end();) {
    Held* held = ws_.find(*it);
    if (held == nullptr || (!held->wants() && !held->pull)) {
      if (held) held->since = {};
      it = wanting_.erase(it);
      continue;
    }
    if (in_flight < ws_.options.pulls_in_flight_max) in_flight += ask_if_ready(*held);
    ++it;
  }
}

bool Conversations::ask_if_ready(Held& held) {
  if (held.pull || !held.wants() || !ws_.ready(held.retry)) return false;
  ask_next(held);
  return true;
}

void Conversations::ask_next(Held& held) {
  const ConversationState& state = held.state;
  // The rows gained or given up between two pages of touches are on neither.
  const Since before = std::exchange(held.since, {state.touched, {}, 0, {}, {}});
  if (held.touch_cursor) {
    held.since.gained_as_of = before.gained_as_of;
    held.since.given_up = before.given_up;
  }
  if (state.coverage.empty()) held.want_newest |= std::exchange(held.want_sync, false);
  if (held.want_sync && !held.want_newest) return ask_for_changes(held);
  History question{held.id(), {}, {}, ws_.options.page_limit};
  if (held.want_newest) {
    held.want_newest = false;
  } else if (held.want_before) {
    question.before = std::exchange(held.want_before, std::nullopt);
  } else if (held.want_after) {
    question.after = std::exchange(held.want_after, std::nullopt);
  } else {
    question.before = *held.refetch.rbegin() + 1;
    held.refetch.erase(std::prev(held.refetch.end()));
  }
  Pending pending;
  pending.conversation = held.id();
  pending.kind = Pending::Kind::history;
  pending.touched = state.touched;
  pending.before = question.before;
  pending.forward = question.after;
  held.pull = ws_.ask(std::move(question), std::move(pending));
}

void Conversations::ask_for_changes(Held& held) {
  const ConversationState& state = held.state;
  ConversationSync question{held.id(),         state.touched, held_ranges(held), ws_.options.page_limit,
                            held.touch_cursor, held.touch_to};
  Pending pending;
  pending.conversation = held.id();
  pending.kind = Pending::Kind::conversation_sync;
  pending.touched = state.touched;
  pending.changed = state.object.touch_seq;
  held.pull = ws_.ask(std::move(question), std::move(pending));
}

bool Conversations::settled() const {
  return std::ranges::none_of(wanting_, [&](const ConversationId& id) {
    const Held* held = ws_.find(id);
    return held && (held->pull || held->wants());
  });
}

std::optional<std::int64_t> Conversations::next_work_ms() const {
  std::optional<std::int64_t> next;
  for (const ConversationId& id : wanting_) {
    const Held* held = ws_.find(id);
    if (held == nullptr || held->pull || !held->wants()) continue;
    ws_.sooner(next, held->retry.not_before_ms);
  }
  return next;
}

void Conversations::on_link_down() {
  jumps_asked_ = false;
  jumps_retry_ = {};
  for (auto& [id, held] : ws_.conversations) {
    held.touch_cursor = held.touch_to = {};
    held.newest_for = {};
    held.since = {};
    held.retry = {};
    if (std::exchange(held.pull, std::nullopt)) look(held);  // what was asked is asked anew
  }
}

// -------------------------------------------------------------------------------------------------- answers

void Conversations::on_conversation_page(const Pending& asked, const ConversationPage& page) {
  Held* held = ws_.find(asked.conversation);
  if (held == nullptr) return;
  held->pull.reset();
  ConversationState& state = held->state;
  if (page.conversation != held->id() || page.after != state.touched) {
    // Pushes have moved on meanwhile: asked anew from there. Otherwise the answer is wrong: asked again, but not at
    // once.
    held->touch_cursor = held->touch_to = {};
    if (asked.touched == state.touched) ws_.fail(held->retry);
    return;
  }
  ws_.edit(*held);
  for (const Entry& row : page.touched)
    if (state.coverage.contains(row.seq)) take_row(*held, with_changes(*held, row), std::nullopt);
  if (page.touch_cursor) {
    cover(*held, {}, page.hidden);
    if (page.touch_cursor <= held->touch_cursor || page.touch_cursor > page.to) return ws_.fail(held->retry);
    held->touch_cursor = page.touch_cursor;
    held->touch_to = page.to;
    return;
  }
  held->touch_cursor = held->touch_to = {};
  const NotifyAbove notify_above = lowest_held(state);
  cover(*held, page.covers, page.hidden);
  // Of what it was told to be held it sends nothing again.
  for (const Interval& range : held->since.given_up.ranges()) {
    state.coverage.subtract(range);
    ws_.drop_rows(*held, range);
  }
  bound_ranges(*held);
  for (const Entry& row : page.messages) take_row(*held, with_changes(*held, row), notify_above);
  // It tells of changes to the rows that were held when it was asked. Those gained since are as of a place that may lie
  // below `to`: what has changed them above it is still to be asked for.
  const Seq to = std::min(page.to, held->since.gained_as_of.value_or(page.to));
  const bool moved = to > state.touched;
  if (page.more || to < page.to)
    state.catching_up_from = state.catching_up_from.value_or(state.touched);
  else
    state.catching_up_from.reset();
  jump_touched(*held, to);
  if (page.covers.after < page.covers.to) state.tail = std::max(state.tail, page.covers.to);
  if (page.floor) state.bottom = std::max(state.bottom.value_or(Seq(0)), page.floor);
  // A server that is behind its own word needs time.
  if ((page.more && !moved) || (!page.more && page.to < asked.changed)) return ws_.fail(held->retry);
  held->retry = {};
  if (!page.more) {
    held->want_sync = false;
    if (to == page.to) held->synced_to = std::max(page.as_of, page.to);
    ws_.raise(HistoryEvent{held->id(), false, std::nullopt});
  }
}

void Conversations::on_history_page(const Pending& asked, const HistoryPage& page) {
  Held* held = ws_.find(asked.conversation);
  if (held == nullptr) return;
  held->pull.reset();
  if (page.conversation != held->id()) return;
  ConversationState& state = ws_.edit(*held);
  if (too_old(*held, page.as_of, held->since.from)) {
    ask_again(*held, asked);
    // Older than what was held when it was asked for: the server is behind, and needs time.
    if (page.as_of < asked.touched) ws_.fail(held->retry);
    return;
  }
  const bool brought_nothing = page.covers.after >= page.covers.to;
  if (!brought_nothing) {
    if (state.coverage.empty()) state.touched = page.as_of;
    state.tail = std::max(state.tail, page.covers.to);
    cover(*held, page.covers, page.hidden);
  }
  for (const Entry& row : page.messages) take_row(*held, with_changes(*held, row), std::nullopt);
  const bool end = page.end && !asked.forward;
  if (end && !ends_for_now(page.hidden)) state.bottom = std::max(state.bottom.value_or(Seq(0)), page.covers.after);
  held->exhausted = (end && ends_for_now(page.hidden)) || (brought_nothing && !page.pending);
  held->retry = {};
  if (page.pending) {
    // The rest is still being read from where it is slow: asked again in a while.
    ask_again(*held, asked);
    ws_.fail(held->retry);
  }
  ws_.raise(HistoryEvent{held->id(), end, std::nullopt});
}

void Conversations::on_refused(const Pending& asked, const Error& error) {
  Held* held = ws_.find(asked.conversation);
  if (held == nullptr) return;
  held->pull.reset();
  held->touch_cursor = held->touch_to = {};
  if (error_info(error.code).retryable) {
    if (asked.kind == Pending::Kind::history) ask_again(*held, asked);
    return ws_.fail(held->retry, error.retry_after_ms);
  }
  stop_asking(*held);
  ws_.raise(HistoryEvent{held->id(), false, error});
}

void Conversations::ask_again(Held& held, const Pending& asked) {
  if (asked.before) {
    held.want_before = asked.before;
  } else if (asked.forward) {
    held.want_after = asked.forward;
  } else {
    held.want_newest = true;
  }
}

void Conversations::stop_asking(Held& held) {
  held.want_newest = held.want_sync = false;
  held.want_before.reset();
  held.want_after.reset();
  held.refetch.clear();
  held.exhausted = true;
  held.synced_to = std::max(held.state.object.head_seq, held.state.object.touch_seq);
}

}  // namespace tidemark::replica
