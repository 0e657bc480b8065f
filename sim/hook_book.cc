#include "sim/hook_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/body.h"
#include "engine/outbox.h"
#include "store/store_view.h"
#include "tidemark.pb.h"
#include "wire/json_reader.h"

namespace tidemark::sim {
namespace {

EventKind kind_of(const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::message:
      return EventKind::message_sent;
    case EntryKind::edit:
      return EventKind::message_edited;
    case EntryKind::recall:
      return EventKind::message_recalled;
    case EntryKind::deletion:
      return EventKind::message_deleted;
    case EntryKind::reaction:
      return EventKind::message_reacted;
    case EntryKind::member:
      return EventKind::members_changed;
    case EntryKind::config:
      break;
  }
  return entry.config && entry.config->dissolved ? EventKind::group_dissolved : EventKind::group_changed;
}

/// More than any run makes.
constexpr std::int64_t kNeverFull = 100'000;

bool holds(const Entry& message, std::int64_t expiry) {
  return std::ranges::any_of(message.body.attachments,
                             [&](const Attachment& file) { return file.expires_at == expiry; });
}

std::string named(const std::pair<ConversationId, Seq>& place) {
  return fmt::format("{}:{}", place.first.value, place.second.value);
}

}  // namespace

bool HookBook::wanted(const Entry& entry) const {
  const HooksConfig& hooks = run_.plan.config.hooks;
  if (hooks.url.empty()) return false;
  if (entry.kind == EntryKind::message) return hooks.messages;
  return entry.kind == EntryKind::member || entry.kind == EntryKind::config ? hooks.groups : hooks.changes;
}

void HookBook::take(const std::string& body) {
  run_.ask(Judge::hooks);
  pb::HookEvent event;
  if (!read_json(body, event)) throw Violation("hooks", "the application is told what it cannot read: " + body);
  const auto kind = static_cast<EventKind>(event.kind());
  const auto& device = event.device();
  const std::string what =
      fmt::format("{} {}:{} {}/{}/{} {}", static_cast<int>(event.kind()), event.conversation_id(), event.entry().seq(),
                  device.user(), device.device(), device.session_generation(), event.lost());
  const auto [known, fresh] = told_.emplace(event.id(), what);
  if (known->second != what)
    throw Violation("hooks", fmt::format("{} is \"{}\" and was \"{}\"", event.id(), what, known->second));
  if (run_.tracing) run_.show(fmt::format("the application is told {}: {}", event.id(), what));
  if (!fresh) return run_.hit(Counter::events_again);
  if (kind == EventKind::attachments_expired)
    return take_expired(event.id(), {event.at(), ConversationId(event.conversation_id()), Seq(event.entry().seq())});
  if (kind == EventKind::events_lost) {
    lost_ += event.lost();
    return run_.hit(Counter::events_lost);
  }
  if (event.conversation_id().empty()) return;
  if (event.entry().seq() == 0) throw Violation("hooks", event.id() + " tells of an entry that is not there");
  take_entry(event.id(), kind, {ConversationId(event.conversation_id()), Seq(event.entry().seq())});
}

/// One that comes for the first time.
void HookBook::take_entry(const std::string& id, EventKind kind, const Place& place) {
  if (!book_.entry(place.first, place.second)) read_on_();
  const Entry* lost = book_.lost(place.first, place.second);
  const Entry* entry = lost ? lost : book_.entry(place.first, place.second);
  if (entry == nullptr) throw Violation("hooks", named(place) + " is told to the application and in no log");
  if (kind_of(*entry) != kind || !wanted(*entry))
    throw Violation("hooks", named(place) + " is told to the application as another kind");
  if (const auto [other, first] = ids_.emplace(place, id); !first)
    throw Violation("hooks", fmt::format("{} has two events, {} and {}", named(place), other->second, id));
  if (lost || given_up_.contains(place)) return;
  Seq& last = last_[place.first];
  if (place.second < last) throw Violation("hooks", fmt::format("{} is told behind {}", named(place), last.value));
  last = place.second;
}

void HookBook::take_expired(const std::string& id, const FileExpiry& file) {
  const Place place{file.conversation, file.seq};
  if (!run_.plan.config.hooks.attachments) throw Violation("hooks", id + " is not wanted");
  if (file.at > server_ms_()) throw Violation("hooks", id + " tells of a file before its time");
  if (!book_.entry(place.first, place.second)) read_on_();
  const Entry* entry = book_.entry(place.first, place.second);
  if (entry == nullptr && book_.lost(place.first, place.second) == nullptr)
    throw Violation("hooks", named(place) + " has lost a file and is in no log");
  // It may have been changed while the event was on its way, and only then it does not hold what the event tells of.
  if (entry != nullptr && !entry->touched_by && !holds(*entry, file.at))
    throw Violation("hooks", named(place) + " is said to have lost a file that it never had");
  const EventName name = event_named(id).value_or(EventName());
  if (const auto [other, first] = expired_.emplace(std::pair(file, name.epoch), id); !first) {
    if (!went_between(file, event_named(other->second).value_or(EventName()), name))
      throw Violation("hooks",
                      fmt::format("a file of {} expires twice, by {} and {}", named(place), other->second, id));
    other->second = id;
  }
  run_.hit(Counter::files_expired);
}

void HookBook::edited(const ConversationId& conversation, const Entry& edit) {
  edits_[{conversation, edit.target}][edit.seq] = {edit.epoch, edit.round, expiries_in(edit.body)};
}

/// What a crash has kept from being published.
void HookBook::see_unpublished_edits() {
  for (const auto& [told, id] : expired_) {
    const Place place{told.first.conversation, told.first.seq};
    const Entry* row = book_.entry(place.first, place.second);
    if (row == nullptr || row->dead() || !row->revision) continue;
    if (const Entry* edit = book_.entry(place.first, row->revision))
      edits_[place].try_emplace(edit->seq, Edit{edit->epoch, edit->round, expiries_in(row->body)});
  }
}

bool HookBook::went_between(const FileExpiry& file, const EventName& a, const EventName& b) const {
  const auto found = edits_.find({file.conversation, file.seq});
  const auto [first, last] = std::minmax(a.first.round, b.first.round);
  return found != edits_.end() && std::ranges::any_of(found->second, [&](const auto& each) {
           const Edit& edit = each.second;
           return edit.epoch == a.epoch && first <= edit.round && edit.round <= last &&
                  std::ranges::find(edit.expiries, file.at) == edit.expiries.end();
         });
}

void HookBook::given_up(const Event& event) {
  if (!event.conversation.empty() && event.kind != EventKind::attachments_expired)
    given_up_.emplace(event.conversation, event.seq);
}

bool HookBook::told(const FileExpiry& file) const {
  const auto next = expired_.lower_bound({file, 0});
  return next != expired_.end() && next->first.first == file;
}

void HookBook::check_files(const std::shared_ptr<const Snapshot>& snapshot, const std::set<FileExpiry>& waiting) const {
  if (!run_.plan.config.hooks.attachments) return;
  std::set<FileExpiry> lasting;
  StoreView view(snapshot);
  view.file_expiries([&](const FileExpiry& file) { return lasting.insert(file).second; });
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      for (const std::int64_t at : expiries_in(entry.body)) {
        run_.ask(Judge::hooks);
        const FileExpiry file{at, id, seq};
        if (!told(file) && !waiting.contains(file) && !lasting.contains(file))
          throw Violation("hooks", fmt::format("nobody will be told when a file of {} expires", named({id, seq})));
      }
}

void HookBook::check(const std::shared_ptr<const Snapshot>& snapshot) {
  if (run_.plan.config.hooks.url.empty()) return;
  see_unpublished_edits();
  std::map<Place, int> kept;
  std::set<FileExpiry> files;
  const auto keep = [&](const WaitingEvent& waiting) {
    const Event& event = waiting.event;
    if (event.conversation.empty()) return true;
    const Place place{event.conversation, event.seq};
    if (event.kind == EventKind::attachments_expired) {
      if (!files.insert({event.at, place.first, place.second}).second)
        throw Violation("hooks", named(place) + " waits twice to tell of a file");
      return true;
    }
    const Entry* entry = book_.entry(place.first, place.second);
    if (entry == nullptr) throw Violation("hooks", named(place) + " waits to be told and is in no log");
    if (kind_of(*entry) != event.kind || !wanted(*entry))
      throw Violation("hooks", named(place) + " waits to be told as another kind");
    const auto told = ids_.find(place);
    if (told != ids_.end() && told->second != text_of(waiting.name))
      throw Violation("hooks", named(place) + " waits under another id than it was told under");
    ++kept[place];
    return true;
  };
  auto read = read_waiting_events(*snapshot, {}, keep);
  if (read) read = read_dead_events(*snapshot, {}, [&](const DeadEvent& dead) { return keep(dead.waiting); });
  if (!read) throw Violation("hooks", "the outbox cannot be read");
  check_files(snapshot, files);
  const bool all_kept = run_.plan.config.hooks.waiting_max >= kNeverFull;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log) {
      if (!wanted(entry)) continue;
      run_.ask(Judge::hooks);
      const Place place{id, seq};
      const auto found = kept.find(place);
      if (found != kept.end() && found->second > 1) throw Violation("hooks", named(place) + " waits twice");
      if (found == kept.end() && !ids_.contains(place) && all_kept)
        throw Violation("hooks", named(place) + " was not told and does not wait");
    }
}

void HookBook::check_arrived(const std::shared_ptr<const Snapshot>& snapshot, std::int64_t expired_to) const {
  if (run_.plan.config.hooks.url.empty()) return;
  std::uint64_t untold = 0;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (wanted(entry) && !ids_.contains({id, seq})) ++untold;
  run_.ask(Judge::hooks);
  if (untold != lost_)
    throw Violation("hooks", fmt::format("{} entries were never told, and the application knows of {}", untold, lost_));
  constexpr std::int64_t kGraceMs = 5'000;  // the server looks once in a while, and tells what it found
  std::set<FileExpiry> files;
  const auto waits = [&](const WaitingEvent& waiting) -> bool {
    const Event& event = waiting.event;
    if (event.kind != EventKind::attachments_expired || event.at <= expired_to - kGraceMs)
      throw Violation("hooks",
                      fmt::format("event {} of {} still waits to be told", text_of(waiting.name), lane_of(event)));
    return files.insert({event.at, event.conversation, event.seq}).second;
  };
  auto read = read_waiting_events(*snapshot, {}, waits);
  if (read) read = read_dead_events(*snapshot, {}, [&](const DeadEvent& dead) { return waits(dead.waiting); });
  check_files(snapshot, files);
  StoreView(snapshot).file_expiries([&](const FileExpiry& file) -> bool {
    if (file.at > expired_to - kGraceMs) return false;
    throw Violation("hooks", "a file of " + named({file.conversation, file.seq}) + " has expired and nobody was told");
  });
}

}  // namespace tidemark::sim
