#include "sim/screen_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/device.h"

namespace tidemark::sim {
namespace {

using replica::OutboxOutcome;
using replica::OutboxState;

[[noreturn]] void misled(const SimDevice& device, const std::string& what) {
  throw Violation("told", device.name().shown + " " + what);
}

/// How a screen shows it: whether it is sent or looked for makes no difference there.
OutboxOutcome shown_as(OutboxState state) {
  if (state == OutboxState::undecided) return OutboxOutcome::undecided;
  return state == OutboxState::failed ? OutboxOutcome::failed : OutboxOutcome::queued;
}

/// What lies up to there is not unread.
Seq read_floor(const Change& object) {
  Seq floor = std::max(object.read, object.cleared);
  if (!object.periods.empty() && !object.periods.back().leave) floor = std::max(floor, object.periods.back().join);
  return floor;
}

bool of_a_message(replica::MutationKind kind) {
  using replica::MutationKind;
  return kind == MutationKind::recall || kind == MutationKind::edit || kind == MutationKind::react;
}

template <typename Change>
void told_of(std::multiset<Change>& changes, const Change& change) {
  if (const auto found = changes.find(change); found != changes.end()) changes.erase(found);
}

bool within(const std::vector<Interval>& ranges, Seq seq) {
  return std::ranges::any_of(ranges, [&](const Interval& range) { return range.after < seq && seq <= range.to; });
}

}  // namespace

ScreenJudge::Line ScreenJudge::line_of(const Change& object) {
  return {.removed = object.removed,
          .member = object.member,
          .sort_time = object.sort_time,
          .muted_until = object.muted_until,
          .pinned_at = object.pinned_at,
          .mentions = object.mentions,
          .title = object.title,
          .preview = object.preview};
}

/// A process that has just begun reads what is stored.
ScreenJudge::Screen& ScreenJudge::screen_of(const SimDevice& device) {
  const auto [place, fresh] = screens_.try_emplace(&device);
  Screen& screen = place->second;
  if (!fresh && screen.life == device.life()) return screen;
  screen = {};
  screen.life = device.life();
  for (const auto& [id, stored] : device.store().conversations()) {
    const Change& object = stored.state.object;
    Shown& shown = screen.conversations[id];
    shown.line = line_of(object);
    shown.unread = object.unread;
    shown.unread_flag = object.unread_flag;
    shown.read = object.read;
    for (const auto& [seq, row] : stored.rows) shown.rows[seq] = row.entry;
    if (!stored.rows.empty()) shown.top = stored.rows.rbegin()->first;
  }
  for (const auto& [local_id, item] : device.store().outbox()) {
    screen.outbox[local_id] = {item.conversation, item.client_msg_id, shown_as(item.state)};
    screen.texts[local_id] = item.body.text;
  }
  return screen;
}

std::string ScreenJudge::text_of(const SimDevice& device, std::uint64_t local_id) {
  const Screen& screen = screen_of(device);
  const auto found = screen.texts.find(local_id);
  return found == screen.texts.end() ? std::string() : found->second;
}

// ------------------------------------------------------------------------------------------------ of each input

void ScreenJudge::answered(const SimDevice& device, const replica::ServerFrame& frame) {
  if (!device.up()) return;
  Screen& screen = screen_of(device);
  screen.frame = std::holds_alternative<replica::Push>(frame.answer)         ? Frame::push
                 : std::holds_alternative<replica::SyncAnswer>(frame.answer) ? Frame::sync
                 : std::holds_alternative<ConversationPage>(frame.answer)    ? Frame::page
                 : std::holds_alternative<HistoryPage>(frame.answer)         ? Frame::history
                                                                             : Frame::other;
  screen.parked = device.engine().held_pushes() > 0;
}

void ScreenJudge::storing(const SimDevice& device, const replica::StoreBatch& batch) {
  Screen& screen = screen_of(device);
  const replica::MemoryStore& before = device.store();
  screen.snapshot = before.device().pass.snapshot;
  screen.first = before.device().cursor.empty();
  const auto let_go = [&](const ConversationId& id, Interval range) {
    screen.touched.insert(id);
    screen.let_go[id].push_back(range);
    const auto found = screen.conversations.find(id);
    if (found == screen.conversations.end()) return;
    const auto* stored = before.conversation(id);
    if (stored && stored->state.coverage.ranges().size() >= device.options().ranges_max) screen.full.insert(id);
    auto& rows = found->second.rows;
    const auto last = rows.upper_bound(range.to);
    for (auto it = rows.upper_bound(range.after); it != last; it = rows.erase(it))
      screen.unsaid.insert({id, it->first});
  };
  for (const ConversationId& id : batch.dropped) let_go(id, {Seq(0), Seq(~std::uint64_t{0})});
  for (const auto& [id, range] : batch.dropped_rows) let_go(id, range);
  for (const replica::ConversationState& state : batch.conversations) screen.touched.insert(state.id());
  for (const replica::StoredRow& row : batch.rows) {
    screen.touched.insert(row.conversation);
    const auto* stored = before.conversation(row.conversation);
    if (stored && !stored->state.coverage.empty())
      screen.lowest[row.conversation] = stored->state.coverage.ranges().front().after;
  }
  for (const replica::OutboxItem& item : batch.outbox) screen.texts[item.local_id] = item.body.text;
  if (!batch.outbox.empty() || !batch.outbox_removed.empty()) screen.outbox_touched = true;
  for (const std::uint64_t number : batch.mutations_removed)
    if (const auto found = before.mutations().find(number);
        found != before.mutations().end() && of_a_message(found->second.kind))
      screen.closed.insert({found->second.kind, found->second.conversation, found->second.seq});
  for (const replica::MutationItem& item : batch.mutations)
    if (!before.mutations().contains(item.number))
      told_of(screen.closed, {item.kind, item.conversation, item.seq});  // goes on under another number
}

void ScreenJudge::told(const SimDevice& device, const replica::Event& event) {
  Screen& screen = screen_of(device);
  if (const auto* row = std::get_if<replica::MessageEvent>(&event)) message(device, screen, *row);
  if (const auto* line = std::get_if<replica::ConversationEvent>(&event)) conversation(device, screen, *line);
  if (const auto* item = std::get_if<replica::OutboxEvent>(&event)) outbox(device, screen, *item);
  if (const auto* unread = std::get_if<replica::UnreadEvent>(&event)) {
    screen.touched.insert(unread->conversation);
    Shown& shown = screen.conversations[unread->conversation];
    shown.unread = unread->unread;
    shown.unread_flag = unread->unread_flag;
    shown.read = unread->read;
  }
  if (const auto* change = std::get_if<replica::ChangeEvent>(&event);
      change && change->outcome == replica::ChangeOutcome::done)
    told_of(screen.closed, {change->kind, change->conversation, change->seq});
  if (const auto* change = std::get_if<replica::ChangeRefusedEvent>(&event))
    told_of(screen.closed, {change->kind, change->conversation, change->seq});
  const auto gone = [&](const ConversationId& id, Interval range) {
    screen.touched.insert(id);
    std::erase_if(screen.unsaid, [&](const auto& row) { return row.first == id && within({range}, row.second); });
    auto& rows = screen.conversations[id].rows;
    rows.erase(rows.upper_bound(range.after), rows.upper_bound(range.to));
  };
  if (const auto* rows = std::get_if<replica::RowsGoneEvent>(&event)) gone(rows->conversation, rows->rows);
  if (const auto* lost = std::get_if<replica::LostEvent>(&event); lost && lost->now)
    gone(lost->conversation, lost->rows);
}

void ScreenJudge::message(const SimDevice& device, Screen& screen, const replica::MessageEvent& event) {
  screen.touched.insert(event.conversation);
  const Seq seq = event.entry->seq;
  run_.ask(Judge::told);
  check_notify(device, screen, event);
  auto& rows = screen.conversations[event.conversation].rows;
  // What went and came in one input may be told of in any order.
  const bool went = screen.let_go.contains(event.conversation) && within(screen.let_go[event.conversation], seq);
  if (!went && event.appeared == rows.contains(seq))
    misled(device, fmt::format("tells that {}:{} {}", event.conversation.value, seq.value,
                               event.appeared ? "appears, which it shows" : "changes, which it does not show"));
  rows[seq] = event.entry;
  screen.unsaid.erase({event.conversation, seq});
}

/// Of others, countable and alive; and new: neither below what was held before, nor read, nor on a page of what is old.
/// All that is so, above every row that was shown before, and comes over a link that tells of what is new, notifies.
void ScreenJudge::check_notify(const SimDevice& device, const Screen& screen,
                               const replica::MessageEvent& event) const {
  run_.ask(Judge::told);
  const Entry& entry = *event.entry;
  const auto* stored = device.store().conversation(event.conversation);
  const auto shown = screen.conversations.find(event.conversation);
  const bool known = shown != screen.conversations.end();
  const auto held = screen.lowest.find(event.conversation);
  const Seq lowest = held == screen.lowest.end() ? Seq(0) : held->second;
  const bool counts = entry.countable() && !entry.dead() && entry.sender != device.user();
  if (!event.notify) {
    const bool tells_news = screen.frame == Frame::push || screen.frame == Frame::page ||
                            (screen.frame == Frame::sync && !screen.snapshot && !screen.first);
    const Seq top = std::max(known ? shown->second.top : Seq(0), lowest);
    if (tells_news && event.appeared && counts && stored && entry.seq > top &&
        entry.seq > read_floor(stored->state.object))
      misled(device, fmt::format("does not notify of {}:{}", event.conversation.value, entry.seq.value));
    return;
  }
  const auto fault = [&](const char* what) {
    misled(device, fmt::format("notifies of {}:{}, {}", event.conversation.value, entry.seq.value, what));
  };
  if (entry.sender == device.user()) fault("which its own user wrote");
  if (!counts) fault("which does not count");
  if (!event.appeared) fault("which it has shown before");
  if (screen.frame == Frame::history) fault("which somebody has looked up");
  if (known && entry.seq <= shown->second.read) fault("which is read");
  // With pushes what comes first may be read by what comes next.
  if (screen.frame == Frame::push || screen.parked) return;
  if (stored && entry.seq <= read_floor(stored->state.object)) fault("which is read");
  if (entry.seq <= lowest) fault("which is older than what it held");
  if (screen.frame == Frame::sync && screen.snapshot) fault("which a new device is told of");
}

/// What an event of a line does not say is read from the store.
void ScreenJudge::conversation(const SimDevice& device, Screen& screen, const replica::ConversationEvent& event) {
  screen.touched.insert(event.conversation);
  const auto* stored = device.store().conversation(event.conversation);
  if (stored == nullptr) {
    if (!event.removed) misled(device, "lists " + event.conversation.value + ", of which it knows nothing");
    screen.conversations.erase(event.conversation);
    return;
  }
  Shown& shown = screen.conversations[event.conversation];
  if (shown.line == Line()) shown.read = stored->state.object.read;  // new here
  shown.line = line_of(stored->state.object);
  shown.line.removed = event.removed;
}

void ScreenJudge::outbox(const SimDevice& device, Screen& screen, const replica::OutboxEvent& event) {
  screen.outbox_touched = true;
  const bool is_new = event.outcome == OutboxOutcome::queued;
  const auto found = screen.outbox.find(event.local_id);
  if (is_new != (found == screen.outbox.end()))
    misled(device, fmt::format("tells of message {} as if it were {}", event.local_id, is_new ? "new" : "known"));
  switch (event.outcome) {
    case OutboxOutcome::queued:
    case OutboxOutcome::renewed:
      screen.outbox[event.local_id] = {event.conversation, event.client_msg_id, OutboxOutcome::queued};
      return;
    case OutboxOutcome::undecided:
    case OutboxOutcome::failed:
      found->second.outcome = event.outcome;
      return;
    case OutboxOutcome::sent:
    case OutboxOutcome::discarded:
      screen.outbox.erase(found);
  }
}

void ScreenJudge::acted(const SimDevice& device) {
  if (!device.up()) return;
  Screen& screen = screen_of(device);
  for (const auto& [id, ranges] : screen.let_go) {
    const auto found = screen.conversations.find(id);
    const auto* stored = device.store().conversation(id);
    if (found == screen.conversations.end()) continue;
    // What came and went in one input.
    std::erase_if(found->second.rows, [&](const auto& row) {
      return within(ranges, row.first) && (stored == nullptr || !stored->rows.contains(row.first));
    });
  }
  for (const auto& [id, seq] : screen.unsaid)
    if (went_as_hidden(device, screen, id, seq))
      misled(device, fmt::format("does not tell that {}:{} is gone", id.value, seq.value));
  for (const ConversationId& id : screen.touched) check_conversation(device, screen, id);
  if (screen.outbox_touched) check_outbox(device, screen);
  for (const auto& [kind, id, seq] : screen.closed)
    misled(device, fmt::format("does not tell what became of a change of {}:{}", id.value, seq.value));
  for (const ConversationId& id : screen.touched)
    if (const auto found = screen.conversations.find(id); found != screen.conversations.end())
      if (Shown& shown = found->second; !shown.rows.empty())
        shown.top = std::max(shown.top, shown.rows.rbegin()->first);
  screen.frame = Frame::none;
  screen.parked = screen.snapshot = screen.first = screen.outbox_touched = false;
  screen.lowest.clear();
  screen.touched.clear();
  screen.let_go.clear();
  screen.unsaid.clear();
  screen.full.clear();
}

/// What was given up for the bound on ranges is read anew by whoever looks there, and a whole range goes then; what may
/// be seen no more has to be said.
bool ScreenJudge::went_as_hidden(const SimDevice& device, const Screen& screen, const ConversationId& id, Seq seq) {
  const auto* stored = device.store().conversation(id);
  if (stored == nullptr || screen.full.contains(id)) return false;
  const replica::ConversationState& state = stored->state;
  const auto hidden = [&](Seq row) { return row <= state.object.cleared || state.deleted.contains(row); };
  for (const Interval& range : screen.let_go.at(id))
    if (range.after < seq && seq <= range.to)
      for (Seq row = range.after + 1; row <= std::min(range.to, state.object.head_seq); row = row + 1)
        if (!hidden(row)) return false;
  return hidden(seq);
}

void ScreenJudge::check(const SimDevice& device) {
  Screen& screen = screen_of(device);
  std::set<ConversationId> all;
  for (const auto& [id, shown] : screen.conversations) all.insert(id);
  for (const auto& [id, stored] : device.store().conversations()) all.insert(id);
  for (const ConversationId& id : all) check_conversation(device, screen, id);
  check_outbox(device, screen);
}

void ScreenJudge::check_conversation(const SimDevice& device, Screen& screen, const ConversationId& id) const {
  run_.ask(Judge::told);
  const auto* stored = device.store().conversation(id);
  const auto found = screen.conversations.find(id);
  if (stored == nullptr) {
    if (found != screen.conversations.end()) misled(device, "still lists " + id.value);
    return;
  }
  if (found == screen.conversations.end()) misled(device, "does not list " + id.value);
  const Shown& shown = found->second;
  const Change& object = stored->state.object;
  if (shown.line != line_of(object)) misled(device, "does not tell how " + id.value + " is listed");
  if (shown.unread != object.unread || shown.unread_flag != object.unread_flag || shown.read != object.read)
    misled(device, fmt::format("tells of {} unread in {}, read to {}, and has stored {}, {}", shown.unread.count,
                               id.value, shown.read.value, object.unread.count, object.read.value));
  for (const auto& [seq, row] : stored->rows) {
    const auto line = shown.rows.find(seq);
    if (line == shown.rows.end()) misled(device, fmt::format("does not tell of {}:{}", id.value, seq.value));
    if (line->second != row.entry && *line->second != *row.entry)
      misled(device, fmt::format("does not tell how {}:{} has changed", id.value, seq.value));
  }
  for (const auto& [seq, row] : shown.rows)
    if (!stored->rows.contains(seq)) misled(device, fmt::format("still shows {}:{}", id.value, seq.value));
}

void ScreenJudge::check_outbox(const SimDevice& device, const Screen& screen) const {
  const auto& stored = device.store().outbox();
  for (const auto& [local_id, waiting] : screen.outbox) {
    run_.ask(Judge::told);
    const auto found = stored.find(local_id);
    if (found == stored.end())
      misled(device, fmt::format("has lost message {}, and does not tell what became of it", local_id));
    const replica::OutboxItem& item = found->second;
    if (waiting.conversation != item.conversation || waiting.client_msg_id != item.client_msg_id ||
        waiting.outcome != shown_as(item.state))
      misled(device, fmt::format("tells of message {} otherwise than it is stored", local_id));
  }
  if (stored.size() != screen.outbox.size()) misled(device, "has messages to send that it does not tell of");
}

}  // namespace tidemark::sim
