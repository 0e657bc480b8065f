#include "core/replica/objects.h"

#include <algorithm>
#include <limits>

#include "core/conversation_id.h"
#include "core/preview.h"
#include "core/replica/fold.h"

namespace tidemark::replica {
namespace {

constexpr std::uint32_t kUnreadExactMax = CoreParams{}.unread_exact_max;
constexpr Seq kEndOfLog{std::numeric_limits<std::uint64_t>::max()};

std::uint32_t count_unread(const ConversationState& state, const std::map<Seq, RowNote>& notes, Interval range) {
  std::uint32_t count = 0;
  for (auto it = notes.upper_bound(range.after); it != notes.end() && it->first <= range.to; ++it)
    if (may_be_unread(state, it->second)) ++count;
  return count;
}

}  // namespace

bool may_be_unread(const ConversationState& state, const RowNote& note) {
  return note.countable && !note.mine && note.state < MessageState::recalled && !state.lost.contains(note.seq);
}

std::uint64_t echo_of(std::string_view client_msg_id) {
  const Digest digest = digest_of({client_msg_id});
  std::uint64_t echo = 0;
  for (std::size_t i = 0; i < sizeof echo; ++i) echo = echo << 8 | digest[i];
  return echo;
}

std::size_t body_bytes(const Body& body) {
  std::size_t bytes =
      body.type.size() + body.text.size() + body.summary.size() + body.data.size() + body.encrypted.size();
  for (const Attachment& file : body.attachments) bytes += file.url.size() + file.mime.size() + file.hash.size() + 8;
  return bytes;
}

RowNote note_of(const Entry& entry, const UserId& me) {
  RowNote note;
  note.seq = entry.seq;
  note.server_time = entry.server_time;
  note.revision = entry.revision;
  note.state = entry.state;
  note.countable = entry.countable();
  note.mine = entry.sender == me;
  note.touched_by = entry.touched_by;
  note.reacted = entry.reacted;
  if (note.mine && !entry.client_msg_id.empty()) note.echo = echo_of(entry.client_msg_id);
  return note;
}

Change blank_object(const ConversationId& id, const UserId& me) {
  Change object;
  object.conversation = id;
  object.member = true;
  const auto parsed = parse_conversation(id);
  if (!parsed) return object;
  object.kind = parsed->kind;
  if (parsed->has(me)) object.peer = parsed->peer_of(me);
  return object;
}

Seq head_of(const Change& object) {
  return std::max(object.head_seq, object.touch_seq);
}

Seq unread_floor(const Change& object) {
  Seq floor = std::max(object.read, object.cleared);
  if (!object.periods.empty() && !object.periods.back().leave) floor = std::max(floor, object.periods.back().join);
  return floor;
}

bool apply_summary(ConversationState& state, const Held& held, const Change& summary) {
  Change& object = state.object;
  if (!state.stale) {
    if (summary.mark < object.mark) return false;
    if (summary.head_seq < object.head_seq && summary.mark == object.mark) return false;
  }
  const bool head_behind = !state.stale && summary.head_seq < object.head_seq;
  Change next = summary;
  next.messages.clear();
  next.hidden.clear();
  next.covers = {};
  next.more_messages = false;
  if (head_behind) {
    // Newer by mark, older by head: its state counts, its numbers of the log do not.
    next.head_seq = object.head_seq;
    next.top = object.top;
    next.sort_time = object.sort_time;
    next.preview = object.preview;
    next.unread = object.unread;
  }
  object = std::move(next);
  state.stale = false;
  state.guessed = state.guessed && head_behind;
  lower_unread(state, held.notes, state.local_read);
  raise_cleared(state, held.notes, state.local_cleared);
  state.server_flag = summary.unread_flag;
  state.server_muted_until = summary.muted_until;
  state.server_pinned_at = summary.pinned_at;
  // What was removed here is there again when something came that was not seen.
  if (summary.removed || summary.top > state.local_removed) state.local_removed = {};
  show_own(state, held);
  return true;
}

void show_own(ConversationState& state, const Held& held) {
  Change& object = state.object;
  object.unread_flag = held.local_flag.value_or(state.server_flag);
  object.muted_until = held.local_mute.value_or(state.server_muted_until);
  const bool pinned = held.local_pin.value_or(state.server_pinned_at != 0);
  object.pinned_at = !pinned ? 0 : state.server_pinned_at != 0 ? state.server_pinned_at : object.pinned_at;
  object.removed = object.removed || state.local_removed;
}

bool derive(ConversationState& state, const PushItem& item, const UserId& me) {
  Change& object = state.object;
  const Entry& entry = *item.entry;
  if (item.index_to) {
    if (!state.stale && object.mark >= item.index_to) return true;
    object.mark = item.index_to;
    state.stale = false;
  } else if (state.stale || !object.large) {
    return false;
  }
  if (entry.seq <= object.head_seq) return true;
  // What the entry does to preview, unread number or membership no summary tells here: the object stays behind, and the
  // digest shows it, until the server has been asked.
  const bool ends = entry.config && entry.config->dissolved;
  const bool follows = entry.seq == object.head_seq + 1 && touches_nothing(entry.kind) && !ends;
  if (!item.index_to && !follows) return false;
  object.head_seq = entry.seq;
  object.member = true;  // whoever is not gets a summary
  if (entry.config && !entry.config->title.empty()) object.title = entry.config->title;
  // Where it shows in the list, in unread number or preview, a summary came along.
  if (!touches_nothing(entry.kind)) object.touch_seq = entry.seq;
  // Of a later version, or it cannot be read: nobody here can tell what it does to the object.
  state.guessed = state.guessed || !is_known(entry.kind);
  if (!entry.countable()) return true;
  object.top = entry.seq;
  object.removed = false;
  state.local_removed = {};
  // In a large group nobody gives it a place. It keeps the one that it had when it was small, while that is later.
  object.sort_time = item.sort_time ? item.sort_time : std::max(object.sort_time, entry.server_time);
  object.preview = preview_of(entry, CoreParams{}.preview_bytes);
  if (entry.sender == me || entry.dead() || entry.seq <= unread_floor(object)) return true;
  const bool named = item.mentioned && std::ranges::find(entry.mentions, me) != entry.mentions.end();
  if (named && object.mentions++ == 0) object.mentioned_at = entry.seq;
  if (entry.mention_all) object.all_mentioned_at = entry.seq;
  if (object.unread.count < kUnreadExactMax) {
    ++object.unread.count;
  } else {
    object.unread.exact = false;
  }
  return true;
}

namespace {

/// The unread number once its floor has moved up. Exact when the rows decide it.
void recount(ConversationState& state, const std::map<Seq, RowNote>& notes, Seq old_floor) {
  Change& object = state.object;
  const Seq floor = unread_floor(object);
  if (floor <= old_floor) return;
  if (object.all_mentioned_at <= floor) object.all_mentioned_at = {};
  if (floor >= object.top) {
    object.unread = {};
    object.mentions = 0;
    object.mentioned_at = {};
  } else if (const Interval above{floor, object.head_seq}; state.coverage.covers(above)) {
    const std::uint32_t count = count_unread(state, notes, above);
    object.unread = {std::min(count, kUnreadExactMax), count <= kUnreadExactMax};
  } else {
    const Interval passed{old_floor, floor};
    const std::uint32_t count = count_unread(state, notes, passed);
    object.unread.count -= std::min(count, object.unread.count);
    object.unread.exact = object.unread.exact && state.coverage.covers(passed);
  }
}

}  // namespace

void lower_unread(ConversationState& state, const std::map<Seq, RowNote>& notes, Seq read) {
  Change& object = state.object;
  if (read <= object.read) return;
  const Seq old_floor = unread_floor(object);
  object.read = read;
  recount(state, notes, old_floor);
}

void raise_cleared(ConversationState& state, const std::map<Seq, RowNote>& notes, Seq cleared) {
  Change& object = state.object;
  if (cleared <= object.cleared) return;
  const Seq old_floor = unread_floor(object);
  object.cleared = cleared;
  recount(state, notes, old_floor);
  if (object.preview.seq <= cleared) object.preview = {};
}

std::vector<Interval> denied_by(const ConversationState& state) {
  const Change& object = state.object;
  Coverage denied = state.deleted;
  if (!object.periods.empty()) {
    Coverage outside({{Seq(0), kEndOfLog}});
    for (const Period& period : object.periods) {
      const Seq after = period.visible_from ? period.visible_from - 1 : Seq(0);
      outside.subtract({after, period.leave ? period.leave : kEndOfLog});
    }
    for (const Interval& range : outside.ranges()) denied.add(range);
  }
  denied.add({Seq(0), object.cleared});
  return denied.ranges();
}

}  // namespace tidemark::replica
