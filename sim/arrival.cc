// Once faults have stopped: everybody is in step (I19), shows what the logs say (I5, I7, I8), counts unread as it is
// defined (I12), and a new device shows the same as an old one.
#include "sim/arrival.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/reads.h"
#include "core/slim.h"
#include "sim/judged_world.h"
#include "sim/own_book.h"
#include "sim/reactions.h"
#include "sim/run_context.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {
void check_lost(const HeldDevice& device, const Truth& truth, const replica::MemoryStore::Stored& stored);
void check_rows(const HeldDevice& device, const Truth& truth, const replica::MemoryStore::Stored& stored,
                const Sight& sight, const OwnState& own);
void check_object(const HeldDevice& device, const Truth& truth, const Change& object, const Sight& sight,
                  const OwnState& own);
void check_removed(const HeldDevice& device, const ConversationId& id, const OwnState& own);
void check_objects(const HeldDevice& device, const std::map<std::string, UserObject>& objects);
}  // namespace

void JudgedWorld::check_arrived() {
  // Two processes of one device end each other's links for ever: only one of them can be in step.
  std::map<std::pair<UserId, DeviceId>, bool> settled;
  for (const SimDevice& device : devices_)
    if (!thrown_away_.contains(&device)) settled[{device.user(), device.name().device}] |= device.settled();
  for (const auto& [name, arrived] : settled)
    if (!arrived) {
      std::string all = name.first.value + "/" + name.second.value + " is not in step";
      for (const SimDevice& device : devices_)
        if (device.user() == name.first && device.name().device == name.second)
          all += "; " + device.name().shown + ": " + device.waits_for();
      throw Violation("I19", all);
    }
  check_devices();
  hooks_.check_arrived(server_.snapshot(), server_.files_expired_to());
  check_fresh_devices();
  for (const UserId& user : users_) {
    run_bot(user);
    check_bot(user);
  }
}

void JudgedWorld::check_devices() {
  look_at_log();
  for (const SimDevice& device : devices_)
    if (device.settled()) check_device(device);
}

/// Old state and what came since are the same as everything at once.
void JudgedWorld::check_fresh_devices() {
  std::vector<SimDevice*> fresh;
  for (const UserId& user : users_) {
    fresh.push_back(&add_device(user, "new"));
    fresh.back()->start();
  }
  await_fresh_devices();
  for (SimDevice* device : fresh) {
    if (!device->settled()) throw Violation("I19", device->name().shown + " is not in step: " + device->waits_for());
    check_device(*device);
    run_.hit(Counter::fresh_devices);
  }
}

void JudgedWorld::await_fresh_devices() {
  const std::int64_t end = run_.timeline.now_ms() + kArriveMs;
  while (run_.timeline.step(end)) {
  }
}

void JudgedWorld::check_bot(const UserId& user) {
  for (const auto& [id, log] : book_.logs()) {
    const Sight sight = book_.sight(id, user);
    const OwnState& own = own_.of(user, id);
    for (const auto& [seq, entry] : log) {
      const bool got = bot_messages_[user].contains({id, seq});
      run_.ask(Judge::I15);
      // What was hidden since may have been read before; what comes to a removed conversation is told to nobody.
      if (got ? !sight.sees(seq) : sight.sees(seq) && !own.hides(seq) && !own.removed)
        throw Violation("I15", fmt::format("{}'s bot {} {}:{}", user.value, got ? "should not have" : "never got",
                                           id.value, seq.value));
    }
  }
}

void JudgedWorld::check_device(const SimDevice& device) {
  order_.check_list(device);
  screens_.check(device);
  receipts_.check_arrived(device, users_);
  for (const auto& [id, stored] : device.store().conversations())
    if (stored.state.only_here()) run_.hit(Counter::only_here);
  const OldVersion* old_version = device.old_version() ? &*device.old_version() : nullptr;
  check_in_step({device.name().shown, device.user(), device.store(), old_version},
                {book_, gone_, server_.snapshot(), server_.params(), run_.asked});
}

void check_in_step(const HeldDevice& device, const Truth& truth) {
  truth.asked.ask(Judge::I19);
  StoreView view(truth.snapshot);
  const auto mark = view.user(device.user).mark;
  if (device.store.device().cursor.mark != mark)
    throw Violation(
        "I19", fmt::format("{} stands at {} of {}", device.shown, device.store.device().cursor.mark.value, mark.value));
  const OwnBook owns(truth.snapshot);
  std::size_t expected = 0;
  for (const auto& [id, log] : truth.book.logs()) {
    const Sight sight = truth.book.sight(id, device.user);
    const OwnState& own = owns.of(device.user, id);
    if (sight.spans.empty()) continue;
    if (own.removed) {
      check_removed(device, id, own);
      continue;
    }
    ++expected;
    const auto* stored = device.store.conversation(id);
    if (stored == nullptr) throw Violation("I5", device.shown + " does not know of " + id.value);
    check_object(device, truth, stored->state.object, sight, own);
    check_rows(device, truth, *stored, sight, own);
  }
  std::size_t listed = 0;
  for (const auto& [id, stored] : device.store.conversations()) {
    check_lost(device, truth, stored);
    if (!stored.state.only_here() && !stored.state.object.removed) ++listed;
  }
  if (listed != expected)
    throw Violation("I10", fmt::format("{} lists {} conversations instead of {}", device.shown, listed, expected));
  check_objects(device, owns.objects(device.user));
}

namespace {

/// A device knows which of its rows no server has any more, and takes no other for such a one.
void check_lost(const HeldDevice& device, const Truth& truth, const replica::MemoryStore::Stored& stored) {
  const ConversationId& id = stored.state.id();
  const Sight sight = truth.book.sight(id, device.user);
  for (const auto& [seq, row] : stored.rows) {
    const std::string named = fmt::format("{}:{} on {}", id.value, seq.value, device.shown);
    truth.asked.ask(Judge::I17);
    const bool known = truth.book.entry(id, seq) != nullptr;
    const bool said_lost = stored.state.lost.contains(seq);
    if (!known && !said_lost) throw Violation("I17", named + " was lost, and the device was not told");
    if (known && said_lost && sight.sees(seq))
      throw Violation("I17", named + " is there, and the device was told that it is not");
    if (!known && truth.book.lost(id, seq) == nullptr) throw Violation("I17", named + " was never in any log");
  }
}

void check_rows(const HeldDevice& device, const Truth& truth, const replica::MemoryStore::Stored& stored,
                const Sight& sight, const OwnState& own) {
  const ConversationId& id = stored.state.id();
  const Reacted reacted = reactions_in(truth.book.log(id));
  for (const auto& [seq, entry] : truth.book.log(id)) {
    const bool held = stored.rows.contains(seq);
    const bool strange = device.old_version && device.old_version->strange(id, seq);
    const bool shows = !entry.target && !strange;  // what changes a row is none itself
    const std::string named = fmt::format("{}:{} on {}", id.value, seq.value, device.shown);
    const bool visible = sight.sees(seq) && !own.hides(seq);
    for (const Judge judge : {Judge::I5, Judge::I10}) truth.asked.ask(judge);
    if (held && !visible && !stored.state.lost.contains(seq)) throw Violation("I10", named + " may not be seen");
    if (!held && shows && visible && stored.state.coverage.contains(seq))
      throw Violation("I5", named + " is missing from a range that the device says it holds");
    if (!held && shows && visible && stored.state.bottom && seq <= *stored.state.bottom)
      throw Violation("I5", named + " lies below what the device was told to be the end");
    if (strange) truth.asked.ask(Judge::I20);
    if (strange && held) throw Violation("I20", named + " is shown, and the device does not know what it is");
    // What a restore took from this user's sight too is as it was.
    if (!held || !visible) continue;
    const replica::StoredRow& row = stored.rows.at(seq);
    for (const Judge judge : {Judge::I7, Judge::I11}) truth.asked.ask(judge);
    if (row.note.provisional && stored.state.coverage.contains(seq))
      throw Violation("I7", named + " is a stand-in in a range that the device says it holds");
    if (truth.gone.find_in(row.entry->body.text)) throw Violation("I11", named + " keeps a text that was taken back");
    if (!stands_for(row.entry->body, entry.body) || row.entry->state != entry.state ||
        (!entry.dead() && row.entry->revision != entry.revision))
      throw Violation("I7", named + " is not as the log has it");
    if (sight.member()) check_reactions(named, *row.entry, reacted, device.user);
  }
}

void check_removed(const HeldDevice& device, const ConversationId& id, const OwnState& own) {
  const auto* stored = device.store.conversation(id);
  if (stored == nullptr || stored->state.only_here()) return;
  const std::string named = id.value + " on " + device.shown;
  if (!stored->state.object.removed) throw Violation("I8", named + " is still in the list");
  for (const auto& [seq, row] : stored->rows)
    if (own.hides(seq) && !stored->state.lost.contains(seq))
      throw Violation("I10", named + " keeps rows of what was removed");
}

void check_objects(const HeldDevice& device, const std::map<std::string, UserObject>& objects) {
  std::map<std::string, const UserObject*> shown;
  for (const auto& [name, state] : device.store.objects()) {
    if (std::holds_alternative<DeletedBlock>(state.object.what))
      throw Violation("I7", device.shown + " keeps an object that nobody told it of");
    if (!state.shown().empty()) shown[name] = &state.shown();
  }
  if (shown.size() != objects.size())
    throw Violation("I7", fmt::format("{} shows {} drafts, settings and blocks instead of {}", device.shown,
                                      shown.size(), objects.size()));
  for (const auto& [name, object] : objects) {
    if (!shown.contains(name)) throw Violation("I7", device.shown + " does not show " + name);
    const auto* draft = std::get_if<SavedDraft>(&object.what);
    const auto* other = std::get_if<SavedDraft>(&shown[name]->what);
    // The device that saved a draft was not told when.
    const bool same =
        draft != nullptr && other != nullptr ? draft->body == other->body : object.what == shown[name]->what;
    if (!same) throw Violation("I7", device.shown + " shows another " + name);
  }
}

/// REQUIRES: the device is in step.
void check_object(const HeldDevice& device, const Truth& truth, const Change& object, const Sight& sight,
                  const OwnState& own) {
  const ConversationId& id = object.conversation;
  for (const Judge judge : {Judge::I7, Judge::I8, Judge::I12}) truth.asked.ask(judge);
  const auto fault = [&](const char* invariant, const std::string& what) {
    throw Violation(invariant, fmt::format("{} on {}: {}", id.value, device.shown, what));
  };
  const LogBook::Log& log = truth.book.log(id);
  const Seq head = sight.member() ? log.rbegin()->first : sight.spans.back().leave;
  if (object.member != sight.member()) fault("I8", "membership differs");
  if (object.head_seq != head) fault("I8", fmt::format("head {} instead of {}", object.head_seq.value, head.value));

  const Seq floor = std::max(object.read, sight.spans.back().join);
  std::uint64_t unread = 0;
  const Entry* last = nullptr;
  for (const auto& [seq, entry] : log) {
    if (seq > head || !entry.countable() || !sight.sees(seq) || own.hides(seq)) continue;
    last = &entry;
    const bool above = seq > floor || (!id.value.starts_with("group_") && seq > object.read);
    if (sight.member() && above && !entry.dead() && entry.sender != device.user) ++unread;
  }
  StoreView view(truth.snapshot);
  const auto told = read_change(view, truth.params, device.user, id);
  if (!told) fault("I8", "the server does not list it");
  const std::uint32_t most = truth.params.unread_exact_max;
  if (object.unread.count != std::min<std::uint64_t>(unread, most) || object.unread.exact != (unread <= most))
    fault("I12", fmt::format("{} unread instead of {}, read to {}; a new device would show {}", object.unread.count,
                             unread, object.read.value, told->unread.count));
  if (object.cleared != own.cleared)
    fault("I7", fmt::format("cleared to {} and not {}", object.cleared.value, own.cleared.value));
  if (object.removed) fault("I7", "it is out of the list there alone");
  if (last == nullptr && object.preview.seq) fault("I10", "previews what is hidden");
  if (last != nullptr && object.preview.seq != last->seq)
    fault("I8", fmt::format("previews {} instead of {}", object.preview.seq.value, last->seq.value));
  if (last != nullptr && object.preview.state != last->state) fault("I7", "previews an earlier state");
  if (truth.gone.find_in(object.preview.text)) fault("I11", "previews a text that was taken back");
  // As the server would tell a new device.
  if (told->preview != object.preview) fault("I7", "its preview differs from a new device's");
  if (told->touch_seq != object.touch_seq) fault("I7", "its last change differs from a new device's");
  if (told->sort_time != object.sort_time)
    fault("I8", fmt::format("its place in the list is {} and a new device's {}", object.sort_time, told->sort_time));
  if (told->read != object.read) fault("I7", fmt::format("read to {} and not {}", object.read.value, told->read.value));
  if (told->large != object.large) fault("I7", "it is kept in step in another way");
  std::uint32_t mentions = 0;
  Seq mentioned_at;
  Seq all_mentioned_at;
  for (const auto& [seq, entry] : log) {
    const Seq start = sight.member() ? std::max({floor, own.cleared}) : head;
    if (seq <= start || seq > head || entry.dead() || !sight.sees(seq) || own.hides(seq)) continue;
    const bool meant =
        entry.sender != device.user && std::ranges::find(entry.mentions, device.user) != entry.mentions.end();
    if (meant && mentions++ == 0) mentioned_at = seq;
    if (entry.mention_all && entry.sender != device.user) all_mentioned_at = seq;
  }
  if (object.mentions != mentions || object.mentioned_at != mentioned_at)
    fault("I7", fmt::format("{} mentions from {} on instead of {} from {} on", object.mentions,
                            object.mentioned_at.value, mentions, mentioned_at.value));
  // The newest is among the last ones that are kept, or it is not told.
  if (object.all_mentioned_at && object.all_mentioned_at != all_mentioned_at)
    fault("I7", fmt::format("everybody is mentioned at {} instead of {}", object.all_mentioned_at.value,
                            all_mentioned_at.value));
  if (told->all_mentioned_at != object.all_mentioned_at) fault("I7", "its mention of everybody differs");
  if (told->title != object.title) fault("I7", "its title is old");
  if (told->muted_until != object.muted_until) fault("I7", "its mute differs");
  if (told->pinned_at != object.pinned_at) fault("I7", "its pin differs");
  if (told->unread_flag != object.unread_flag) fault("I7", fmt::format("its unread flag is {}", object.unread_flag));
  if (told->unread != object.unread) fault("I12", "its unread number differs from a new device's");
}

}  // namespace
}  // namespace tidemark::sim
