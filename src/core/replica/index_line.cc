#include "core/replica/index_line.h"

#include <algorithm>
#include <utility>

#include "core/planted.h"
#include "core/replica/fold.h"

namespace tidemark::replica {
namespace {

/// More index changes than this are not pushed at a welcome (design, "Coming back").
constexpr std::uint64_t kPushedAtOnceMax = 50;
/// Entries that came ahead in one ack.
constexpr std::size_t kAckAheadMax = 16;

std::size_t bytes_of(const PushItem& item) {
  std::size_t bytes = sizeof item + item.conversation.value.size();
  if (item.entry) {
    const Body& body = item.entry->body;
    bytes += sizeof(Entry) + body.text.size() + body.summary.size() + body.data.size() + body.encrypted.size();
    for (const Attachment& file : body.attachments) bytes += sizeof file + file.url.size() + file.hash.size();
  }
  if (item.summary) bytes += sizeof(Change) + item.summary->preview.text.size() + item.summary->title.size();
  if (item.objects) bytes += item.objects->size() * sizeof(UserObject);
  return bytes;
}

}  // namespace

// --------------------------------------------------------------------------------------------- the connection

void IndexLine::on_link_up() {
  told_ = ws_.device().cursor.mark;
  acked_ = told_;
  heartbeat_ms_ = ws_.options.heartbeat_ms;
  last_beat_ms_ = ws_.now.steady_ms;
}

void IndexLine::on_link_down() {
#ifdef TIDEMARK_PLANTED_FAULTS
  link_down_ms_ = ws_.now.steady_ms;
#endif
  pulling_ = pull_now_ = false;
  behind_since_ms_.reset();
  retry_ = {};
  held_.clear();
  held_bytes_ = 0;
  ahead_.clear();
  ahead_bytes_ = 0;
  to_ack_ = 0;
  ahead_to_ack_ = false;
  ack_since_ms_.reset();
}

void IndexLine::on_welcome(const Welcome& welcome) {
  const DeviceState& device = ws_.device();
  const bool same_snapshot = device.pass.snapshot && device.pass.epoch == welcome.head.epoch;
  if (welcome.mode != Mode::delta || (device.cursor.empty() && !same_snapshot))
    begin_snapshot(welcome.head.epoch, welcome.mode);
  told_ = std::max(device.cursor.mark, welcome.head.mark);
#ifdef TIDEMARK_PLANTED_FAULTS
  constexpr std::int64_t kWindowMs = 5'000;
  if (planted(Fault::reconnect_window) && ws_.now.steady_ms - link_down_ms_ < kWindowMs)
    ws_.edit_device().cursor.mark = told_;
#endif
  if (welcome.heartbeat_ms > 0) heartbeat_ms_ = welcome.heartbeat_ms;
  // A few changes are pushed at once; for more the server waits to be asked.
  pull_now_ = welcome.behind > kPushedAtOnceMax || short_of_head();
}

/// Reset and rollback alike: everything of the index is taken anew, and what the server does not name goes.
void IndexLine::begin_snapshot(Epoch epoch, Mode mode) {
  if (mode == Mode::rollback) {
    conversations_.begin_rollback();
  } else if (ws_.epoch().number != 0 && ws_.epoch() != epoch) {
    conversations_.begin_anew();
  }
  if (ws_.epoch() != epoch) objects_.expect_anew();
  DeviceState& device = ws_.edit_device();
  const std::uint64_t id = device.pass.id + 1;
  device.cursor = {};
  device.pass = {};
  device.pass.snapshot = true;
  device.pass.id = id;
  device.pass.epoch = epoch;
  pull_now_ = true;
}

// ------------------------------------------------------------------------------------------------------ pulls

bool IndexLine::chains() const {
  return !pulling_ && !short_of_head() && !ws_.device().pass.open && !ws_.device().pass.snapshot;
}

/// The last run ended at p0 with the index further on by then. What had moved above p0 meanwhile was on none of its
/// pages, so pushes, which tell what changes and not what is, must wait for a run that reaches the head.
bool IndexLine::short_of_head() const {
  const Pass& pass = ws_.device().pass;
  return !pass.open && pass.p0 > ws_.device().cursor.mark;
}

bool IndexLine::in_step() const {
  return ws_.welcomed && chains() && !behind() && runs_wanted_ <= runs_done_;
}

IndexLine::Run IndexLine::begin_run() {
  runs_wanted_ = runs_begun_ + 1;
  return runs_wanted_;
}

void IndexLine::pull() {
  const DeviceState& device = ws_.device();
  Sync question;
  question.cursor = device.cursor;
  question.limit = ws_.options.sync_limit;
  // A snapshot brings the list first, with little of each conversation.
  question.bodies = device.pass.snapshot ? std::min(ws_.options.bodies, Bodies::recent) : ws_.options.bodies;
  if (question.bodies == Bodies::recent) question.recent = ws_.options.recent;
  if (device.pass.open) {
    question.p0 = device.pass.p0;
    question.p0_round = device.pass.p0_round;
    question.below = device.pass.low;
    question.page_token = device.pass.page_token;
  } else {
    ++runs_begun_;
  }
  asked_from_ = device.cursor;
  pulling_ = true;
  pull_now_ = false;
  // A sync acknowledges the cursor it carries.
  acked_ = device.cursor.mark;
  to_ack_ = 0;
  ahead_to_ack_ = false;
  ack_since_ms_.reset();
  Pending pending;
  pending.kind = Pending::Kind::sync;
  ws_.ask(std::move(question), std::move(pending));
}

/// The page goes down to where the cursor stands: with it the run is complete.
bool IndexLine::completes(const SyncPage& page) const {
  return page.after <= ws_.device().cursor.mark;
}

/// A page moves the cursor only over an interval that starts where it stands, and a descent only goes down.
bool IndexLine::fits(const SyncPage& page) const {
  const DeviceState& device = ws_.device();
  if (asked_from_ != device.cursor) return false;
  if (completes(page)) return page.next.mark >= device.cursor.mark;
  if (!device.pass.open) return true;
  return page.p0 == device.pass.p0 && (page.after < device.pass.low || !device.pass.page_token.empty());
}

void IndexLine::on_sync(const SyncAnswer& answer) {
  pulling_ = false;
  const SyncPage& page = answer.page;
  const bool other_epoch = ws_.device().pass.snapshot && page.next.epoch != ws_.device().pass.epoch;
  if (page.mode == Mode::rollback || other_epoch) {
    // Restored while this link stood: the next hello tells what is to be done.
    ws_.out.close_link = true;
    return;
  }
  if (page.mode != Mode::delta && !ws_.device().cursor.empty()) return begin_snapshot(page.next.epoch, page.mode);
  told_ = std::max(told_, page.head);
  if (!fits(page)) {
    // Not ours to apply: ask again, from the start of the descent.
    ws_.edit_device().pass.open = false;
    pull_now_ = true;
    return ws_.fail(retry_);
  }
  retry_ = {};
  for (const Change& extra : page.extras) conversations_.take_summary(extra);
  for (const Change& change : page.changes) conversations_.take_summary(change);
  take_objects(page.objects);
  if (completes(page)) {
    finish(page);
  } else {
    go_on(answer);
  }
  advance_all();
}

void IndexLine::go_on(const SyncAnswer& answer) {
  Pass& pass = ws_.edit_device().pass;
  pass.open = true;
  pass.p0 = answer.page.p0;
  pass.p0_round = answer.page.p0_round;
  pass.low = answer.page.after;
  pass.page_token = answer.page_token;
}

void IndexLine::finish(const SyncPage& page) {
  DeviceState& device = ws_.edit_device();
  const bool moved = page.next.mark > device.cursor.mark;
  const std::uint64_t round_before = device.cursor.round;
  device.cursor = page.next;
  // What changed during the descent moved above it and was on none of its pages, also as it was before: of that round
  // not everything is here. Runs with all bodies end at their round by themselves.
  if (page.head > page.next.mark && ws_.options.bodies != Bodies::all) device.cursor.round = round_before;
  device.pass.open = false;
  device.pass.p0 = page.head > device.cursor.mark ? page.head : Mark();
  device.pass.low = {};
  device.pass.p0_round = 0;
  device.pass.page_token.clear();
  runs_done_ = runs_begun_;
  // Their index parts were told before, or are told by it.
  ahead_.clear();
  ahead_bytes_ = 0;
  if (moved) {
    to_ack_ += static_cast<std::uint32_t>(page.changes.size());
    if (!ack_since_ms_) ack_since_ms_ = ws_.now.steady_ms;
  }
  if (device.pass.snapshot && device.cursor.mark >= page.head) {
    // The closing sync has reached the head.
    device.pass.snapshot = false;
    conversations_.sweep();
    objects_.sweep();
  }
  pull_now_ = behind();
}

void IndexLine::on_sync_refused(const Error& error) {
  pulling_ = false;
  pull_now_ = true;
  // A descent that the server does not take any more begins anew.
  if (!error_info(error.code).retryable && ws_.device().pass.open) ws_.edit_device().pass.open = false;
  ws_.fail(retry_, error.retry_after_ms);
}

// ----------------------------------------------------------------------------------------------------- pushes

void IndexLine::on_push(Push push) {
  for (PushItem& item : push.items) {
    if (!item.entry && !item.summary && !item.index_to) continue;
    if (item.part == ItemPart::entry) keep_ahead(item);
    take_push(std::move(item));
  }
}

void IndexLine::take_push(PushItem item) {
  if (item.entry && !item.client_msg_id.empty() && item.entry->client_msg_id.empty()) {
    // The entry's bytes are shared by all receivers, the echo's id is for the sender alone.
    auto own = std::make_shared<Entry>(*item.entry);
    own->client_msg_id = item.client_msg_id;
    item.entry = std::move(own);
  }
  told_ = std::max(told_, item.index_to);
  if (item.index_to && item.index_to <= ws_.device().cursor.mark && !ack_since_ms_) {
    // Pushed again: our ack has not arrived, or too late.
    acked_ = item.index_to - 1;
    ack_since_ms_ = ws_.now.steady_ms;
  }
  HeldPush held;
  held.item = std::move(item);
  held.index_done = !held.item.index_to;
  held.entry_done = !held.item.entry;
  held.since_ms = ws_.now.steady_ms;
  advance(held);
  if (!held.finished()) return hold(std::move(held));
  advance_all();
}

std::deque<IndexLine::Ahead>::iterator IndexLine::find_ahead(const ConversationId& conversation, Seq seq) {
  return std::ranges::find_if(ahead_, [&](const Ahead& ahead) {
    return ahead.item.conversation == conversation && ahead.item.entry->seq == seq;
  });
}

void IndexLine::keep_ahead(const PushItem& item) {
  if (find_ahead(item.conversation, item.entry->seq) != ahead_.end()) return;
  const std::size_t bytes = bytes_of(item);
  // Without it its index part cannot be taken, and is pulled.
  if (ahead_.size() >= ws_.options.held_items_max || ahead_bytes_ + bytes > ws_.options.held_bytes_max) return;
  ahead_.push_back({item, bytes, false});
  ahead_bytes_ += bytes;
}

/// The index part of an entry that came ahead is a whole push with it, and nothing without.
bool IndexLine::put_together(HeldPush& held) {
  PushItem& item = held.item;
  if (item.part != ItemPart::index) return true;
  const auto ahead = find_ahead(item.conversation, item.told);
  if (ahead == ahead_.end()) return false;
  item.entry = ahead->item.entry;
  item.part = ItemPart::whole;
  held.entry_done = false;
  ahead_bytes_ -= ahead->bytes;
  ahead_.erase(ahead);
  return true;
}

void IndexLine::note_taken_ahead(const PushItem& item) {
  const auto ahead = find_ahead(item.conversation, item.entry->seq);
  if (ahead == ahead_.end() || std::exchange(ahead->taken, true)) return;
  ahead_to_ack_ = true;
  ++to_ack_;
  if (!ack_since_ms_) ack_since_ms_ = ws_.now.steady_ms;
}

void IndexLine::advance(HeldPush& held) {
  const bool together = put_together(held);
  const PushItem& item = held.item;
  const Held* conversation = ws_.find(item.conversation);
  const std::optional<Seq> told_head = conversation ? std::optional(conversation->state.object.head_seq) : std::nullopt;
  const Mark stands = ws_.device().cursor.mark;
  if (!held.index_done && item.index_to <= stands) held.index_done = true;
  const bool stops = planted(Fault::stops_at_unheard_of) && item.entry && !is_known(item.entry->kind);
  const bool next = planted(Fault::gap_by_count) ? item.index_to > stands : item.index_after == stands && !stops;
  if (!held.index_done && together && chains() && next) {
    take_index(item);
    held.index_done = true;
  }
  if (held.entry_done) return;
  const bool beside_index = !item.index_to && item.part == ItemPart::whole;
  if (beside_index && !std::exchange(held.object_done, true) && conversation != nullptr)
    conversations_.take_derived(item);
  const bool settled = held.index_done && item.index_to;
  const auto part = conversations_.take_entry(
      item, told_head, settled ? Conversations::IndexPart::settled : Conversations::IndexPart::open);
  held.entry_done = part == Conversations::Part::taken;
  if (held.entry_done && item.part == ItemPart::entry) note_taken_ahead(item);
}

void IndexLine::take_index(const PushItem& item) {
  DeviceState& device = ws_.edit_device();
  device.cursor.mark = item.index_to;
  device.cursor.round = item.round;
  ++to_ack_;
  if (!ack_since_ms_) ack_since_ms_ = ws_.now.steady_ms;
  if (item.objects) take_objects(*item.objects);
  if (item.summary) {
    conversations_.take_summary(*item.summary);
  } else if (item.entry) {
    conversations_.take_derived(item);
  }
}

void IndexLine::take_objects(const std::vector<UserObject>& objects) {
  for (const UserObject& object : objects) {
    if (const auto* deleted = std::get_if<DeletedBlock>(&object.what))
      conversations_.take_deleted(*deleted);
    else
      objects_.take(object);
  }
}

void IndexLine::hold(HeldPush held) {
  held.bytes = bytes_of(held.item);
  if (held_.size() >= ws_.options.held_items_max || held_bytes_ + held.bytes > ws_.options.held_bytes_max) {
    // A push is only a hint: what it told of is pulled.
    pull_now_ = true;
    return;
  }
  held_bytes_ += held.bytes;
  held_.push_back(std::move(held));
}

void IndexLine::advance_all() {
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = held_.begin(); it != held_.end();) {
      const bool index_was_done = it->index_done;
      advance(*it);
      progress |= it->index_done != index_was_done || it->finished();
      if (!it->finished()) {
        ++it;
        continue;
      }
      held_bytes_ -= it->bytes;
      it = held_.erase(it);
    }
  }
}

/// Entries without an index part wait for their own conversation only, and not for ever.
void IndexLine::give_up_overdue() {
  std::erase_if(held_, [&](HeldPush& held) {
    if (held.item.index_to || ws_.now.steady_ms - held.since_ms < ws_.options.gap_wait_ms) return false;
    held_bytes_ -= held.bytes;
    conversations_.take_entry(held.item, std::nullopt, Conversations::IndexPart::settled);
    return true;
  });
}

void IndexLine::on_hint(Mark head) {
  told_ = std::max(told_, head);
  if (behind()) pull_now_ = true;
}

void IndexLine::on_heartbeat(const HeartbeatAnswer& answer) {
  told_ = std::max(told_, answer.head);
  if (behind()) pull_now_ = true;
}

// ----------------------------------------------------------------------------------------------------- work

void IndexLine::work() {
  const Pass& pass = ws_.device().pass;
  give_up_overdue();
  if (!behind()) {
    behind_since_ms_.reset();
  } else if (!behind_since_ms_) {
    behind_since_ms_ = ws_.now.steady_ms;
  }
  const bool waited = behind_since_ms_ && ws_.now.steady_ms - *behind_since_ms_ >= ws_.options.gap_wait_ms;
  const bool wanted = pull_now_ || waited || pass.open || pass.snapshot || runs_wanted_ > runs_done_;
  if (!pulling_ && wanted && ws_.ready(retry_)) {
    behind_since_ms_.reset();
    pull();
  }
  acknowledge();
  beat();
}

void IndexLine::acknowledge() {
  const Mark mark = ws_.device().cursor.mark;
  if (mark <= acked_ && !ahead_to_ack_) ack_since_ms_.reset();
  if (!ack_since_ms_) return;
  if (to_ack_ < ws_.options.ack_entries && ws_.now.steady_ms - *ack_since_ms_ < ws_.options.ack_ms) return;
  Ack ack{mark};
  for (const Ahead& ahead : ahead_)
    if (ahead.taken && ack.ahead.size() < kAckAheadMax)
      ack.ahead.push_back({ahead.item.conversation, ahead.item.entry->seq});
  ws_.tell(std::move(ack));
  acked_ = mark;
  ahead_to_ack_ = false;
  to_ack_ = 0;
  ack_since_ms_.reset();
}

void IndexLine::beat() {
  if (ws_.now.steady_ms - last_beat_ms_ < heartbeat_ms_) return;
  last_beat_ms_ = ws_.now.steady_ms;
  Pending pending;
  pending.kind = Pending::Kind::heartbeat;
  ws_.ask(Heartbeat{ws_.device().cursor, large_.digest()}, std::move(pending));
}

std::optional<std::int64_t> IndexLine::next_work_ms() const {
  std::optional<std::int64_t> next = last_beat_ms_ + heartbeat_ms_;
  if (ack_since_ms_) ws_.sooner(next, *ack_since_ms_ + ws_.options.ack_ms);
  if (!pulling_) {
    if (behind_since_ms_) ws_.sooner(next, *behind_since_ms_ + ws_.options.gap_wait_ms);
    ws_.sooner(next, retry_.not_before_ms);
  }
  for (const HeldPush& held : held_)
    if (!held.item.index_to) ws_.sooner(next, held.since_ms + ws_.options.gap_wait_ms);
  return next;
}

}  // namespace tidemark::replica
