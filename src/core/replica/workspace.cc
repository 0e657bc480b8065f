#include "core/replica/workspace.h"

#include <algorithm>

#include "base/check.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

// JSON carries numbers up to 2^53 exactly: 21 bits of connections, 32 bits of requests in each.
constexpr int kConnectionShift = 32;
constexpr std::uint64_t kConnectionsMax = (1U << 21) - 1;

bool shown_differs(const Change& a, const Change& b) {
  return a.sort_time != b.sort_time || a.top != b.top || a.head_seq != b.head_seq || a.member != b.member ||
         a.role != b.role || a.title != b.title || a.preview != b.preview || a.cleared != b.cleared ||
         a.mentions != b.mentions || a.all_mentioned_at != b.all_mentioned_at || a.removed != b.removed ||
         a.muted_until != b.muted_until || a.pinned_at != b.pinned_at;
}

bool unread_differs(const Change& a, const Change& b) {
  return a.unread != b.unread || a.unread_flag != b.unread_flag || a.read != b.read;
}

}  // namespace

// xorshift128+ (Vigna, 2014): ids need to be unique and waiting times spread, neither needs to be secret.
std::uint64_t Dice::next() {
  std::uint64_t a = state_[0];
  const std::uint64_t b = state_[1];
  if (a == 0 && b == 0) a = 0x9e3779b97f4a7c15ULL;  // the one state it would never leave
  state_[0] = b;
  a ^= a << 23;
  state_[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
  return state_[1] + b;
}

Uuid7Random Dice::uuid_random() {
  Uuid7Random random;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < random.size(); ++i) {
    if (i % 8 == 0) word = next();
    random[i] = static_cast<std::uint8_t>(word >> (8 * (i % 8)));
  }
  return random;
}

std::string Dice::install_id() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (int words = 0; words < 2; ++words) {
    const std::uint64_t word = next();
    for (int shift = 60; shift >= 0; shift -= 4) id.push_back(kDigits[word >> shift & 0xf]);
  }
  return id;
}

Workspace::Workspace(Options opts, const StoreImage& image, RowSource stored_row)
    : options(opts), dice(opts.seed), stored_row_(std::move(stored_row)), device_(image.device) {
  for (int i = 0; i < 8; ++i) dice.next();  // neighbouring seeds part quickly
  for (const ConversationState& state : image.conversations) {
    Held& held = conversations[state.id()];
    held.state = state;
    if (const auto rows = image.rows.find(state.id()); rows != image.rows.end())
      for (const RowNote& note : rows->second) {
        held.notes[note.seq] = note;
        if (note.provisional) held.stand_ins.insert(note.seq);
      }
  }
}

DeviceState& Workspace::edit_device() {
  device_dirty_ = true;
  return device_;
}

Held* Workspace::find(const ConversationId& id) {
  const auto found = conversations.find(id);
  return found == conversations.end() ? nullptr : &found->second;
}

ConversationState& Workspace::edit(Held& held) {
  if (!dirty_.contains(held.id())) dirty_.emplace(held.id(), held.state);
  return held.state;
}

Held& Workspace::create(const ConversationId& id) {
  const auto [place, fresh] = conversations.try_emplace(id);
  TM_CHECK(fresh, "a conversation is made once");
  place->second.state.object = blank_object(id, device_.user);
  place->second.state.stale = true;
  place->second.state.epoch = epoch().number;
  dirty_.try_emplace(id, std::nullopt);
  return place->second;
}

void Workspace::drop(const ConversationId& id) {
  if (conversations.erase(id) == 0) return;
  std::erase_if(out.batch.rows, [&](const StoredRow& row) { return row.conversation == id; });
  out.batch.dropped.push_back(id);
  dirty_.erase(id);
  raise(ConversationEvent{id, true});
}

void Workspace::store_row(Held& held, std::shared_ptr<const Entry> entry, const RowNote& note) {
  edit(held);
  held.notes[note.seq] = note;
  if (note.provisional)
    held.stand_ins.insert(note.seq);
  else
    held.stand_ins.erase(note.seq);
  out.batch.rows.push_back({held.id(), std::move(entry), note});
}

std::shared_ptr<const Entry> Workspace::row(const Held& held, Seq seq) const {
  const auto fresh = std::ranges::find_if(out.batch.rows.rbegin(), out.batch.rows.rend(), [&](const StoredRow& row) {
    return row.note.seq == seq && row.conversation == held.id();
  });
  return fresh != out.batch.rows.rend() ? fresh->entry : stored_row_(held.id(), seq);
}

void Workspace::drop_rows(Held& held, Interval range) {
  const auto first = held.notes.upper_bound(range.after);
  const auto last = held.notes.upper_bound(range.to);
  if (first == last) return;
  edit(held);
  held.notes.erase(first, last);
  held.stand_ins.erase(held.stand_ins.upper_bound(range.after), held.stand_ins.upper_bound(range.to));
  std::erase_if(out.batch.rows, [&](const StoredRow& row) {
    return row.conversation == held.id() && row.note.seq > range.after && row.note.seq <= range.to;
  });
  out.batch.dropped_rows.emplace_back(held.id(), range);
}

void Workspace::flush(const ConversationId& id, const std::optional<ConversationState>& before) {
  const Held* held = find(id);
  TM_CHECK(held != nullptr, "dropped conversations are not dirty");
  if (!before || held->state != *before) out.batch.conversations.push_back(held->state);
  const Change& object = held->state.object;
  if (!before || shown_differs(before->object, object)) raise(ConversationEvent{id, object.removed});
  if (before ? unread_differs(before->object, object) : object.unread != Unread{} || object.unread_flag)
    raise(UnreadEvent{id, object.unread, object.unread_flag, object.read});
}

Outputs Workspace::take() {
  for (const auto& [id, before] : dirty_) flush(id, before);
  dirty_.clear();
  if (device_dirty_) out.batch.device = device_;
  device_dirty_ = false;
  return std::exchange(out, {});
}

std::uint64_t Workspace::ask(Operation operation, Pending pending) {
  TM_CHECK(connected, "requests need a connection");
  const std::uint64_t id = (connections_ << kConnectionShift) + ++requests_;
  pending.asked_ms = now.steady_ms;
  pending_.emplace(id, std::move(pending));
  out.requests.push_back({id, std::move(operation)});
  return id;
}

void Workspace::tell(Operation operation) {
  TM_CHECK(connected, "requests need a connection");
  out.requests.push_back({(connections_ << kConnectionShift) + ++requests_, std::move(operation)});
}

std::optional<Pending> Workspace::answered(std::uint64_t id) {
  // An answer of an earlier connection finds nothing here: its ids begin with another number.
  const auto found = pending_.find(id);
  if (found == pending_.end()) return std::nullopt;
  Pending pending = std::move(found->second);
  pending_.erase(found);
  return pending;
}

void Workspace::link_up() {
  connected = true;
  welcomed = false;
  connections_ = connections_ % kConnectionsMax + 1;
  requests_ = 0;
  pending_.clear();
}

void Workspace::link_down() {
  connected = false;
  welcomed = false;
  pending_.clear();
  out.requests.clear();
}

void Workspace::fail(Retry& retry, std::uint32_t retry_after_ms) {
  const std::uint32_t doublings = std::min<std::uint32_t>(retry.failures++, 16);
  const std::int64_t longest = std::min(options.retry_max_ms, options.retry_min_ms << doublings);
  // Half fixed, half by chance, so that many devices do not come back at once.
  const std::int64_t wait =
      longest / 2 + static_cast<std::int64_t>(dice.next() % static_cast<std::uint64_t>(longest / 2 + 1));
  retry.not_before_ms = now.steady_ms + std::max<std::int64_t>(wait, retry_after_ms);
}

}  // namespace tidemark::replica
