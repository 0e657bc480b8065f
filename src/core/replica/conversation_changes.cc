// What becomes of rows that change after they were sent: pushed edits and recalls, pages that were read before those
// came, and changes that were missed (design, section 4).
#include <algorithm>

#include "core/planted.h"
#include "core/replica/conversations.h"
#include "core/replica/fold.h"
#include "core/replica/objects.h"
#include "core/slim.h"

namespace tidemark::replica {

namespace {

RowNote changed_note(RowNote note, const Entry& change) {
  if (change.kind == EntryKind::reaction) {
    note.reacted = change.seq;
    return note;
  }
  note.state = change.kind == EntryKind::edit ? MessageState::edited : MessageState::recalled;
  note.revision = change.seq;
  return note;
}

/// Whether the change can be taken by itself: a reaction only if none before it was missed (replica/fold.h).
bool follows(const Held& held, const Entry& change) {
  return change.kind != EntryKind::reaction || held.state.touched >= change.seq - 1;
}

}  // namespace

/// Whether nothing is left to be done for it: false for kinds of later versions, and when the row cannot be read.
bool Conversations::take_change(Held& held, const std::shared_ptr<const Entry>& change) {
  if (touches_nothing(change->kind)) return true;
  if (!changes_target(change->kind)) return false;
  // An edit without a body: its message is gone by now, which another entry tells, or not for this user to see. So is
  // that of a reaction which does not say how. In a large group they never say: the server is asked.
  const bool says = change->kind == EntryKind::edit       ? change->body != Body()
                    : change->kind == EntryKind::reaction ? change->reaction.has_value()
                                                          : true;
  if (!says) return !held.state.object.large;
  if (held.pull) keep(held, change);
  const auto found = held.notes.find(change->target);
  if (found == held.notes.end()) return true;  // a page that brings it later shows its present state
  if (!outranks(changed_note(found->second, *change), found->second)) return true;
  if (!follows(held, *change)) return false;
  const auto row = ws_.row(held, change->target);
  if (row == nullptr) return false;
  auto changed = std::make_shared<const Entry>(folded(*row, *change, ws_.device().user));
  RowNote note = note_of(*changed, ws_.device().user);
  note.provisional = found->second.provisional;
  ws_.store_row(held, changed, note);
  ws_.raise(MessageEvent{held.id(), std::move(changed), false, false});
  return true;
}

/// What the device has asked for once, or has written itself, is not lost to a page that cuts it again.
bool Conversations::keeps_body(const Entry& fresh, const Entry& held) {
  return !held.dead() && !held.body.cut && held.revision == fresh.revision && stands_for(fresh.body, held.body);
}

void Conversations::take_body(const WholeBody& whole) {
  Held* held = ws_.find(whole.conversation);
  if (held == nullptr || whole.body.cut) return;
  const auto found = held->notes.find(whole.seq);
  if (found == held->notes.end() || found->second.state >= MessageState::recalled) return;
  if (whole.revision < found->second.revision) return;  // of before an edit that is known here
  const auto row = ws_.row(*held, whole.seq);
  if (row == nullptr || (whole.revision == row->revision && !row->body.cut)) return;
  auto entry = std::make_shared<Entry>(*row);
  entry->body = whole.body;
  if (whole.revision > entry->revision) {
    entry->state = MessageState::edited;
    entry->revision = whole.revision;
    entry->touched_by = std::max(entry->touched_by, whole.revision);
  }
  RowNote note = note_of(*entry, ws_.device().user);
  note.provisional = found->second.provisional;
  ws_.store_row(*held, entry, note);
  ws_.raise(MessageEvent{held->id(), std::move(entry), false, false});
}

/// For the page that is on its way, and may have been read before.
void Conversations::keep(Held& held, const std::shared_ptr<const Entry>& change) {
  Since& since = held.since;
  if (since.changes.contains(change->seq)) return;
  const std::size_t bytes = body_bytes(change->body);
  if (since.changes.size() >= ws_.options.held_items_max || since.bytes + bytes > ws_.options.held_bytes_max) {
    since.from = std::max(since.from, change->seq);  // a page from before it is asked for again
    return;
  }
  since.bytes += bytes;
  since.changes.emplace(change->seq, change);
}

Entry Conversations::with_changes(const Held& held, Entry row) {
  if (planted(Fault::late_page_revives)) return row;
  for (const auto& [seq, change] : held.since.changes)
    if (change->target == row.seq && follows(held, *change)) row = folded(std::move(row), *change, ws_.device().user);
  return row;
}

/// A page as of before `touched` would take rows back, unless every entry since then came by itself and is known:
/// those in (complete_from, touched].
bool Conversations::too_old(const Held& held, Seq as_of, Seq complete_from) {
  if (planted(Fault::late_page_revives)) return false;
  return !held.state.coverage.empty() && as_of < held.state.touched && as_of < complete_from;
}

void Conversations::gain(Held& held, Seq as_of) {
  if (!held.pull) return;
  std::optional<Seq>& gained = held.since.gained_as_of;
  gained = std::min(gained.value_or(as_of), as_of);
}

/// What lies between did not come one by one.
void Conversations::jump_touched(Held& held, Seq to) {
  if (to <= held.state.touched) return;
  ws_.edit(held).touched = held.since.from = to;
}

/// Whatever has changed of a conversation: changes of its older rows that were missed are fetched in the background. A
/// stand-in lies outside the coverage, so nobody tells what changed it: it goes, and comes again as a row. One that a
/// restore took would not come again: it stays.
void Conversations::want_changes(Held& held) {
  const ConversationState& state = held.state;
  const Seq changed = state.object.touch_seq;
  if (state.stale) return;  // its numbers are of another epoch
  if (!state.coverage.empty() && changed > std::max(state.touched, held.synced_to)) {
    held.want_sync = true;
    want(held);
  }
  if (!state.coverage.empty() && changed > state.touched) return;
  std::vector<Seq> outdated;
  for (const Seq seq : held.stand_ins)
    if (seq < changed && !state.lost.contains(seq)) outdated.push_back(seq);
  for (const Seq seq : outdated) ws_.drop_rows(held, {seq - 1, seq});
}

void Conversations::on_welcome() {
  for (auto& [id, held] : ws_.conversations) want_changes(held);
}

}  // namespace tidemark::replica
