// What a device does when the store's epoch has changed: a restore took back what it holds (design, section 2,
// "Epoch").
#include <algorithm>
#include <limits>

#include "core/replica/conversations.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

constexpr std::size_t kLinesAPage = 200;
constexpr Seq kEndless{std::numeric_limits<std::uint64_t>::max()};

/// The server tells everything again.
void expect_anew(Held& held) {
  ConversationState& state = held.state;
  state.stale = true;
  held.hidden = {};
  held.refetch.clear();
  held.touch_cursor = held.touch_to = held.synced_to = held.newest_for = {};
  held.exhausted = false;
  // Read pointers are told again: the server merges by max, and clamps to what it has.
  state.local_read = std::max(state.local_read, state.object.read);
  if (state.local_read) state.wants_read = true;
  // So are clear floors and what was deleted.
  state.local_cleared = std::max(state.local_cleared, state.object.cleared);
  if (state.local_cleared) state.wants_clear = true;
  for (const Interval& deleted : state.deleted.ranges()) state.wants_deleted.add(deleted);
}

}  // namespace

Conversations::Conversations(Workspace& workspace, OwnRow own_row) : ws_(workspace), own_row_(std::move(own_row)) {
  for (auto& [id, held] : ws_.conversations) {
    if (held.state.epoch != ws_.epoch().number) jumps_wanted_.insert(id);
    if (held.state.guessed) guessed_.insert(id);
    bound_ranges(held);  // what parted ranges and showed nothing is not stored
  }
}

void Conversations::begin_anew() {
  for (auto& [id, held] : ws_.conversations) {
    ConversationState& state = ws_.edit(held);
    if (!held.notes.empty()) ws_.drop_rows(held, {Seq(0), held.notes.rbegin()->first});
    state.coverage = state.lost = {};
    state.tail = state.touched = {};
    state.catching_up_from.reset();
    state.bottom.reset();
    state.local_read = state.local_cleared = state.local_removed = {};
    state.object.read = state.object.cleared = {};
    state.deleted = state.wants_deleted = {};
    state.wants_clear = state.wants_remove = false;
    expect_anew(held);
  }
  jumps_wanted_.clear();
}

void Conversations::begin_rollback() {
  for (auto& [id, held] : ws_.conversations) {
    ws_.edit(held);
    expect_anew(held);
    bound_ranges(held);  // what parted ranges and showed nothing is not known any more
    jumps_wanted_.insert(id);
  }
}

// ------------------------------------------------------------------------------------------------- the jumps

void Conversations::ask_jumps() {
  if (jumps_asked_ || !ws_.ready(jumps_retry_)) return;
  Jumps question;
  for (const ConversationId& id : jumps_wanted_) {
    if (question.lines.size() == kLinesAPage) break;
    question.lines.push_back({id, ws_.find(id)->state.epoch});
  }
  Pending pending;
  pending.kind = Pending::Kind::jumps;
  ws_.ask(std::move(question), std::move(pending));
  jumps_asked_ = true;
}

std::optional<std::int64_t> Conversations::next_jumps_ms() const {
  std::optional<std::int64_t> next;
  if (jumps_wanted() && !jumps_asked_) ws_.sooner(next, jumps_retry_.not_before_ms);
  return next;
}

void Conversations::on_jumps_refused(const Error& error) {
  jumps_asked_ = false;
  ws_.fail(jumps_retry_, error.retry_after_ms);
}

void Conversations::on_jumps(const JumpsAnswer& answer) {
  jumps_asked_ = false;
  const std::size_t wanted = jumps_wanted_.size();
  for (const LineJumps& line : answer.lines) {
    if (answer.epoch != ws_.epoch().number || jumps_wanted_.erase(line.conversation) == 0) continue;
    Held& held = *ws_.find(line.conversation);
    const bool from_the_start = std::exchange(ws_.edit(held).epoch, answer.epoch) == 0;
    Coverage found = from_the_start ? std::exchange(held.state.lost, {}) : Coverage();
    const ConversationState before = held.state;
    for (const Jump& jump : line.jumps) apply_jump(held, jump);
    if (!line.known) apply_jump(held, {answer.epoch, Seq(0), kEndless});
    held.state.forgotten = !line.known;
    // By now these are of the present epoch, unless the store was restored again before this was answered.
    if (from_the_start && !held.state.stale) {
      held.state.local_read = before.local_read;
      held.state.local_cleared = before.local_cleared;
      held.state.object.cleared = before.object.cleared;
    }
    // What was held to be lost and is not comes again as it is looked at.
    for (const Interval& lost : held.state.lost.ranges()) found.subtract(lost);
    for (const Interval& range : found.ranges()) {
      ws_.drop_rows(held, range);
      held.state.coverage.subtract(range);
    }
    bound_ranges(held);
  }
  // An answer to something else: asked again, but not at once.
  if (jumps_wanted_.size() == wanted) return ws_.fail(jumps_retry_);
  jumps_retry_ = {};
  if (jumps_wanted_.empty()) on_welcome();  // what was told meanwhile is gone into now
}

void Conversations::apply_jump(Held& held, const Jump& jump) {
  ConversationState& state = ws_.edit(held);
  const auto lost = [&](Seq seq) { return jump.cut < seq && seq < jump.first; };
  std::vector<Seq> changed;
  Seq last;
  for (const auto& [seq, note] : held.notes) {
    // An ack told of it that it was taken back, and not by which entry.
    const bool taken_back_somewhere = note.provisional && note.state >= MessageState::recalled && !note.touched_by;
    if (lost(seq)) {
      last = seq;
    } else if (taken_back_somewhere || lost(note.touched_by) || lost(note.revision) || lost(note.reacted)) {
      changed.push_back(seq);
    }
  }
  state.coverage.subtract({jump.cut, jump.first - 1});
  if (last) {
    state.lost.add({jump.cut, last});
    ws_.raise(LostEvent{held.id(), {jump.cut, last}});
  }
  // A change that was lost must not live on: these rows are taken from the server again.
  for (const Seq seq : changed) {
    ws_.drop_rows(held, {seq - 1, seq});
    state.coverage.subtract({seq - 1, seq});
    held.refetch.insert(seq);
  }
  if (!changed.empty()) want(held);
  if (lost(state.touched)) state.touched = jump.cut;
  if (const auto from = std::exchange(state.catching_up_from, std::nullopt))
    state.touched = std::min(state.touched, *from);
  if (lost(state.tail)) state.tail = jump.cut;
  if (lost(state.local_read)) state.local_read = jump.cut;
  // A floor that the server has told since may lie right below the first number after the jump.
  const bool own_floor = state.stale || state.object.cleared == state.local_cleared;
  if (lost(state.local_cleared)) state.local_cleared = jump.cut;
  if (own_floor && lost(state.object.cleared)) state.object.cleared = jump.cut;
  state.deleted.subtract({jump.cut, jump.first - 1});
  state.wants_deleted.subtract({jump.cut, jump.first - 1});
  if (state.bottom && lost(*state.bottom)) state.bottom.reset();
}

// ------------------------------------------------------------------------------------------- what is only here

void Conversations::sweep() {
  std::vector<ConversationId> unnamed;
  for (const auto& [id, held] : ws_.conversations)
    if (held.state.named != ws_.device().pass.id) unnamed.push_back(id);
  for (const ConversationId& id : unnamed) {
    Held& held = *ws_.find(id);
    wanting_.erase(id);
    if (held.state.lost.empty()) {
      ws_.drop(id);
      continue;
    }
    // Only the lost part knew it: it stays, as what it is, until its user takes it away.
    ConversationState& state = ws_.edit(held);
    Change only_here = blank_object(id, ws_.device().user);
    only_here.member = false;
    only_here.title = state.object.title;
    only_here.sort_time = state.object.sort_time;
    only_here.preview = state.object.preview;
    state.object = std::move(only_here);
    state.stale = true;
    state.coverage = {};
    state.tail = state.touched = state.local_read = {};
    state.catching_up_from.reset();
    state.bottom.reset();
    state.server_flag = state.wants_read = state.wants_unread = state.wants_clear = state.wants_remove = false;
    state.deleted = state.wants_deleted = {};
    state.local_cleared = state.local_removed = {};
    state.wants_mute.reset();
    state.wants_pin.reset();
    stop_asking(held);
  }
}

/// The own message came back under another number: the lost row of the same press of the button was this one.
void Conversations::relink(Held& held, const RowNote& own) {
  if (!own.echo || held.state.lost.empty()) return;
  for (const auto& [seq, note] : held.notes) {
    if (note.echo != own.echo || seq == own.seq || !held.state.lost.contains(seq)) continue;
    ws_.raise(LostEvent{held.id(), {seq - 1, seq}, own.seq});
    ws_.edit(held).lost.subtract({seq - 1, seq});
    return ws_.drop_rows(held, {seq - 1, seq});
  }
}

Result<void> Conversations::forget_lost(const ConversationId& id) {
  Held* held = ws_.find(id);
  if (held == nullptr || held->state.lost.empty()) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  ConversationState& state = ws_.edit(*held);
  for (const Interval& lost : state.lost.ranges()) ws_.drop_rows(*held, lost);
  state.lost = {};
  if (state.only_here()) ws_.drop(id);
  return {};
}

}  // namespace tidemark::replica
