#include "engine/commit_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "core/conversation_id.h"
#include "core/large_group.h"
#include "store/keys.h"

namespace tidemark {
namespace {

std::string varint_bytes(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).varint(number);
  return bytes;
}

}  // namespace

void put_round(Batch& batch, std::uint64_t round) {
  batch.put(Table::meta, std::string(keys::kRound), varint_bytes(round));
}

void CommitState::begin(std::shared_ptr<const Snapshot> snapshot, std::uint64_t round) {
  stored_ = std::make_unique<StoreView>(std::move(snapshot), 1);
  round_ = round;
  if (knows_store_) return;
  epoch_ = stored_->epoch();
  last_group_ = stored_->last_group();
  knows_store_ = !stored_->failure();
}

const std::optional<Error>& CommitState::failure() const {
  return stored_->failure();
}

void CommitState::clear_failure() {
  stored_->clear_failure();
}

CommitState::UserSlot& CommitState::load_user(const UserId& user) {
  if (const auto found = users_.slots.find(user); found != users_.slots.end()) {
    users_.recent.splice(users_.recent.begin(), users_.recent, found->second.place);
    return found->second;
  }
  UserRecord record = stored_->user_record(user);
  if (stored_->failure()) return unread_user_ = {};  // what could not be read is not kept
  users_.recent.push_front(user);
  return users_.slots.emplace(user, UserSlot{std::move(record), users_.recent.begin()}).first->second;
}

CommitState::LineSlot& CommitState::load_line(const ConversationId& id) {
  if (const auto found = lines_.slots.find(id); found != lines_.slots.end()) {
    lines_.recent.splice(lines_.recent.begin(), lines_.recent, found->second.place);
    return found->second;
  }
  Line line;
  line.key = keys::conversation(id);
  if (const Conversation* conversation = stored_->conversation(id)) {
    line.conversation = *conversation;
    line.head = stored_->line(id);
  }
  if (stored_->failure()) return unread_line_ = {};
  lines_.recent.push_front(id);
  return lines_.slots.emplace(id, LineSlot{std::move(line), lines_.recent.begin()}).first->second;
}

const Conversation* CommitState::conversation(const ConversationId& id) {
  const Line& line = load_line(id).value;
  return line.conversation ? &*line.conversation : nullptr;
}

LineHead CommitState::line(const ConversationId& id) {
  return load_line(id).value.head;
}

std::optional<Entry> CommitState::entry(const ConversationId& id, Seq seq) {
  if (const auto found = entries_by_line_.find(id); found != entries_by_line_.end())
    for (const auto& entry : found->second)
      if (entry->seq == seq) return *entry;
  if (const auto changed = changed_row(id, seq)) return *changed;
  return stored_->entry(id, seq);
}

void CommitState::entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                          const std::function<bool(const Entry&)>& visit) {
  static const std::vector<std::shared_ptr<const Entry>> none;
  const auto found = entries_by_line_.find(id);
  const auto& fresh = found == entries_by_line_.end() ? none : found->second;
  bool going = true;
  const auto visit_fresh = [&](const std::shared_ptr<const Entry>& entry) {
    if (going && entry->seq > after && entry->seq <= to) going = visit(*entry);
  };
  // This round's entries lie above all stored ones.
  if (direction == Direction::down) std::for_each(fresh.rbegin(), fresh.rend(), visit_fresh);
  if (going)
    stored_->entries(id, after, to, direction, [&](const Entry& entry) {
      const auto changed = changed_row(id, entry.seq);
      return going = visit(changed ? *changed : entry);
    });
  if (going && direction == Direction::up) std::for_each(fresh.begin(), fresh.end(), visit_fresh);
}

std::shared_ptr<const Entry> CommitState::changed_row(const ConversationId& id, Seq seq) const {
  const auto changes = changes_.find(id);
  if (changes == changes_.end()) return nullptr;
  const auto row = changes->second.rows.find(seq);
  return row == changes->second.rows.end() ? nullptr : row->second;
}

void CommitState::touches(const ConversationId& id, Seq after, Seq to, Direction direction,
                          const std::function<bool(Seq, Seq)>& visit) {
  static const std::map<Seq, std::optional<Seq>> none;
  const auto found = changes_.find(id);
  const auto& changed = found == changes_.end() ? none : found->second.touches;
  bool going = true;
  const auto visit_fresh = [&](const auto& touch) {
    if (going && touch.second && touch.first > after && touch.first <= to) going = visit(touch.first, *touch.second);
  };
  // This round's touches lie above all stored ones; below them only erasures.
  if (direction == Direction::down) std::for_each(changed.rbegin(), changed.rend(), visit_fresh);
  if (going)
    stored_->touches(id, after, to, direction,
                     [&](Seq seq, Seq target) { return changed.contains(seq) || (going = visit(seq, target)); });
  if (going && direction == Direction::up) std::for_each(changed.begin(), changed.end(), visit_fresh);
}

std::vector<std::string> CommitState::reactions_of(const ConversationId& id, Seq seq, const UserId& user) {
  if (const auto found = round_reactions_.find(keys::reaction(id, seq, user)); found != round_reactions_.end())
    return found->second;
  return stored_->reactions_of(id, seq, user);
}

void CommitState::reactions(const ConversationId&, Seq, const UserId&,
                            const std::function<bool(const UserId&, const std::vector<std::string>&)>&) {
  check_failed("reactions", __FILE__, __LINE__, "decisions ask for one user's reactions");
}

namespace {
/// Who left by this entry, if anybody did.
const UserId* leaver(const Entry& entry) {
  if (!entry.member) return nullptr;
  const MemberAction action = entry.member->action;
  if (action != MemberAction::left && action != MemberAction::removed) return nullptr;
  TM_CHECK(entry.member->users.size() == 1, "each leaving has an entry of its own");
  return &entry.member->users.front();
}
}  // namespace

void CommitState::left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) {
  stored_->left(id, from, visit);
  const auto found = entries_by_line_.find(id);
  if (found == entries_by_line_.end()) return;
  for (const auto& entry : found->second)
    if (const UserId* user = leaver(*entry); user != nullptr && entry->seq >= from) visit(*user);
}

UserHead CommitState::user(const UserId& user) {
  return load_user(user).value.head;
}

const UserConversation* CommitState::user_conversation(const UserId& user, const ConversationId& id) {
  for (BlockRow& block : load_user(user).value.block)
    if (block.row.conversation == id) {
      complete(*this, block.row);
      return &block.row;
    }
  if (stored_->failure()) return nullptr;
  const UserConversation* row = row_beside(user, id);
  if (row == nullptr || !row->large) return row;
  // Its log may have gone on in this round.
  UserConversation& completed = completed_[keys::row(user, id)] = *row;
  complete(*this, completed);
  return &completed;
}

const UserConversation* CommitState::row_beside(const UserId& user, const ConversationId& id) {
  const std::string key = keys::row(user, id);
  if (const auto read = round_rows_.find(key); read != round_rows_.end()) return &read->second;
  if (const std::string* bytes = find_in(rows_, key)) {
    if (bytes->empty()) return nullptr;
    auto row = decode_row(*bytes);
    TM_CHECK(row.has_value(), "what was written can be read");
    return &round_rows_.emplace(key, std::move(*row)).first->second;
  }
  auto row = stored_->stored_row(user, id);
  if (stored_->failure()) return nullptr;  // what could not be read is not kept
  keep(rows_, key, row ? encode(*row) : std::string());
  return row ? &round_rows_.emplace(key, std::move(*row)).first->second : nullptr;
}

void CommitState::members(const ConversationId& id, const Member& after,
                          const std::function<bool(const Member&)>& visit) {
  const auto place = [](const Member& member) { return std::tie(member.join, member.user); };
  auto next = round_large_members_.upper_bound({id, after.join, after.user});
  bool going = true;
  const auto of_this = [&] { return next != round_large_members_.end() && std::get<0>(next->first) == id; };
  const auto visit_next = [&] {
    const auto& [conversation, join, user] = next->first;
    if (next->second) going = visit({user, *next->second, join});
    ++next;
  };
  stored_->members(id, after, [&](const Member& stored) {
    while (going && of_this() && std::tie(std::get<1>(next->first), std::get<2>(next->first)) < place(stored))
      visit_next();
    if (!going) return false;
    if (of_this() && std::tie(std::get<1>(next->first), std::get<2>(next->first)) == place(stored))
      visit_next();
    else
      going = visit(stored);
    return going;
  });
  while (going && of_this()) visit_next();
}

void CommitState::large_groups(const UserId& user, const ConversationId& after,
                               const std::function<bool(const ConversationId&)>& visit) {
  const std::string prefix = keys::large_groups(user);
  std::string last = after.empty() ? prefix : keys::large_group(user, after);
  auto next = round_large_groups_.upper_bound(last);
  bool going = true;
  const auto of_this = [&] { return next != round_large_groups_.end() && next->first.starts_with(prefix); };
  const auto visit_next = [&] {
    if (next->second) going = visit(keys::large_group_in(user, next->first));
    ++next;
  };
  stored_->large_groups(user, after, [&](const ConversationId& id) {
    const std::string key = keys::large_group(user, id);
    while (going && of_this() && next->first < key) visit_next();
    if (!going) return false;
    if (of_this() && next->first == key)
      visit_next();
    else
      going = visit(id);
    return going;
  });
  while (going && of_this()) visit_next();
}

void CommitState::by_head_mark(const UserId&, Mark, Mark, Direction,
                               const std::function<bool(const UserConversation&)>&) {
  check_failed("by_head_mark", __FILE__, __LINE__, "decisions do not walk the index");
}

void CommitState::by_state_mark(const UserId&, Mark, Mark, Direction,
                                const std::function<bool(const UserConversation&)>&) {
  check_failed("by_state_mark", __FILE__, __LINE__, "decisions do not walk the index");
}

std::optional<UserObject> CommitState::object(const UserId& user, const std::string& name) {
  if (const auto changed = round_objects_.find(user); changed != round_objects_.end())
    if (const auto found = changed->second.find(name); found != changed->second.end()) return found->second.now;
  return stored_->object(user, name);
}

void CommitState::objects(const UserId& user, const std::string& from, const std::string& to,
                          const std::function<bool(const UserObject&)>& visit) {
  static const std::map<std::string, RoundObject> none;
  const auto found = round_objects_.find(user);
  const auto& changed = found == round_objects_.end() ? none : found->second;
  auto next = changed.lower_bound(from);
  bool going = true;
  const auto visit_changed_before = [&](const std::string& name) {
    for (; going && next != changed.end() && next->first < name; ++next)
      if (next->second.now) going = visit(*next->second.now);
  };
  stored_->objects(user, from, to, [&](const UserObject& stored) {
    const std::string name = name_of(stored);
    visit_changed_before(name);
    if (going && !changed.contains(name)) going = visit(stored);
    return going;
  });
  visit_changed_before(to);
}

void CommitState::objects_by_mark(const UserId&, Mark, Mark, const std::function<bool(const UserObject&)>&) {
  check_failed("objects_by_mark", __FILE__, __LINE__, "decisions do not walk the index");
}

void CommitState::tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) {
  stored_->tombstones(hour, [&](const Tombstone& tombstone) {
    return round_dropped_tombstones_.contains(keys::tombstone(tombstone)) || visit(tombstone);
  });
}

void CommitState::file_expiries(const std::function<bool(const FileExpiry&)>& visit) {
  // Those of the round itself are looked at in another one.
  stored_->file_expiries([&](const FileExpiry& each) {
    const auto changed = round_file_expiries_.find(each);
    return (changed != round_file_expiries_.end() && !changed->second) || visit(each);
  });
}

void CommitState::put_object(const UserId& user, const std::string& name, std::optional<UserObject> object) {
  const auto [place, fresh] = round_objects_[user].try_emplace(name);
  if (fresh)
    if (const auto stored = stored_->object(user, name)) place->second.stored_mark = stored->mark;
  place->second.now = std::move(object);
}

void CommitState::changed_since(const UserId& user, Mark after,
                                const std::function<void(const ConversationId&)>& visit) {
  // What this round changed is in the block; all else is as it was stored.
  for (const BlockRow& block : load_user(user).value.block)
    if (block.row.mark() > after) visit(block.row.conversation);
  stored_->changed_since(user, after, visit);
}

std::optional<DedupRecord> CommitState::remembered(std::span<const DedupKey> keys) {
  for (const DedupKey& key : keys)
    if (const auto found = round_dedup_.find(keys::dedup(key)); found != round_dedup_.end()) return found->second;
  return stored_->remembered(keys);
}

std::optional<Device> CommitState::device(const UserId& user, const DeviceId& device) {
  const std::string key = keys::device(user, device);
  if (const auto found = round_devices_.find(key); found != round_devices_.end()) return found->second;
  if (const Device* kept = find_in(devices_, key)) return *kept;
  std::optional<Device> stored = stored_->device(user, device);
  if (stored) keep(devices_, key, *stored);
  return stored;
}

void CommitState::keep_devices_of_round() {
  // Only those that were asked for: most devices log in and then only listen.
  for (auto& [key, device] : round_devices_) {
    const auto found = devices_.slots.find(key);
    if (found == devices_.slots.end()) continue;
    if (device)
      found->second.value = std::move(*device);
    else
      erase_from(devices_, key);
  }
}

std::vector<Device> CommitState::devices(const UserId& user) {
  std::map<DeviceId, Device> merged;
  for (Device& device : stored_->devices(user)) merged[device.id] = std::move(device);
  const std::string prefix = keys::devices(user);
  for (auto made = round_devices_.lower_bound(prefix); made != round_devices_.end(); ++made) {
    if (!made->first.starts_with(prefix)) break;
    const DeviceId id{std::string_view(made->first).substr(prefix.size() + 1)};
    if (made->second)
      merged[id] = *made->second;
    else
      merged.erase(id);
  }
  std::vector<Device> devices;
  for (auto& [id, device] : merged) devices.push_back(std::move(device));
  return devices;
}

std::optional<PushTokenOwner> CommitState::push_token_owner(const std::string& token) {
  if (const auto found = round_push_tokens_.find(keys::push_token(token)); found != round_push_tokens_.end())
    return found->second;
  return stored_->push_token_owner(token);
}

Mutations CommitState::mutations(const UserId& user, const DeviceId& device, const InstallId& install) {
  if (const auto found = round_mutations_.find(keys::mutations(user, device, install)); found != round_mutations_.end())
    return found->second.value_or(Mutations{});
  return stored_->mutations(user, device, install);
}

void CommitState::put_row(UserRecord& record, const UserId& user, const UserConversation& row) {
  const auto found = std::ranges::find(record.block, row.conversation,
                                       [](const BlockRow& b) -> const ConversationId& { return b.row.conversation; });
  if (found != record.block.end()) {
    found->row = row;
    std::rotate(found, found + 1, record.block.end());  // the last changed is the last
    return;
  }
  BlockRow made{row, Mark(), Mark()};
  if (const UserConversation* stored = row_beside(user, row.conversation)) {
    made.stored_head_mark = stored->head_mark;
    made.stored_state_mark = stored->state_mark;
  }
  record.block.push_back(std::move(made));
  const std::string key = keys::row(user, row.conversation);
  erase_from(rows_, key);
  round_rows_.erase(key);
}

void CommitState::change_row(const Writes::ChangedRow& changed) {
  const Seq seq = changed.row->seq;
  Changes& changes = changes_[changed.conversation];
  if (changed.touched_before) changes.touches[changed.touched_before] = std::nullopt;
  changes.touches[changed.row->touched_by] = seq;
  // A row appended in this round is written once, as it is at the round's end.
  bool fresh = false;
  for (auto& entry : entries_by_line_[changed.conversation])
    if (entry->seq == seq) fresh = true, entry = changed.row;
  if (!fresh) {
    changes.rows[seq] = changed.row;
    return;
  }
  for (auto& [id, key, entry] : round_entries_)
    if (id == changed.conversation && entry->seq == seq) entry = changed.row;
}

void CommitState::apply(const Writes& writes) {
  for (const auto& [id, entry] : writes.entries) {
    Line& line = load_line(id).value;
    TM_CHECK(keys::names_conversation(line.key), "only canonical ids reach the store");
    LineHead& head = line.head;
    TM_CHECK(entry->seq > head.seq && entry->ord >= head.ord && entry->server_time >= head.server_time,
             "a log only grows");
    head = head_after(*entry);
    round_entries_.push_back({id, line.key, entry});
    entries_by_line_[id].push_back(entry);
  }
  for (const Writes::ChangedRow& changed : writes.changed) change_row(changed);
  for (const auto& made : writes.reactions)
    round_reactions_[keys::reaction(made.conversation, made.seq, made.user)] = made.names;
  for (const auto& [id, seq] : writes.erased_reactions) {
    // Nobody reacts to a dead message any more.
    const std::string prefix = keys::reactions(id, seq);
    std::erase_if(round_reactions_, [&](const auto& made) { return made.first.starts_with(prefix); });
    erased_reactions_.push_back(prefix);
  }
  for (const Conversation& conversation : writes.conversations) {
    LineSlot& slot = load_line(conversation.id);
    slot.value.conversation = conversation;
    if (std::exchange(slot.dirty_in, round_) != round_) dirty_conversations_.push_back(conversation.id);
  }
  for (const auto& [id, head] : writes.users) {
    UserSlot& slot = load_user(id);
    TM_CHECK(check_user_id(id, "user").has_value(), "whatever is written is somebody's");
    TM_CHECK(head.mark >= slot.value.head.mark, "an index only grows");
    slot.value.head = head;
    if (std::exchange(slot.dirty_in, round_) != round_) dirty_users_.push_back(id);
  }
  for (const auto& [id, row] : writes.rows) put_row(load_user(id).value, id, row);
  for (const Writes::LargeMember& each : writes.large_members)
    round_large_members_[{each.conversation, each.member.join, each.member.user}] =
        each.in ? std::optional(each.member.role) : std::nullopt;
  for (const Writes::LargeGroup& each : writes.large_groups)
    round_large_groups_[keys::large_group(each.user, each.conversation)] = each.large;
  for (const auto& [user, object] : writes.objects) put_object(user, name_of(object), object);
  for (const auto& [user, name] : writes.dropped_objects) put_object(user, name, std::nullopt);
  for (const Tombstone& tombstone : writes.tombstones) round_tombstones_[keys::tombstone(tombstone)] = tombstone.mark;
  for (const Tombstone& tombstone : writes.dropped_tombstones)
    round_dropped_tombstones_.insert(keys::tombstone(tombstone));
  for (const FileExpiry& each : writes.file_expiries) round_file_expiries_[each] = true;
  for (const FileExpiry& each : writes.dropped_file_expiries) round_file_expiries_[each] = false;
  for (const auto& [key, record] : writes.dedup) round_dedup_[keys::dedup(key)] = record;
  for (const auto& [user, device] : writes.erased_devices) {
    round_devices_[keys::device(user, device)] = std::nullopt;
    for (const std::string& key : stored_->install_keys(user, device)) round_mutations_[key] = std::nullopt;
  }
  for (const auto& replaced : writes.replaced_installs) {
    const std::string kept = keys::mutations(replaced.user, replaced.device, replaced.install);
    for (const std::string& key : stored_->install_keys(replaced.user, replaced.device))
      if (key != kept) round_mutations_[key] = std::nullopt;
  }
  for (const auto& [user, device] : writes.devices) round_devices_[keys::device(user, device.id)] = device;
  for (const auto& [token, owner] : writes.push_tokens) round_push_tokens_[keys::push_token(token)] = owner;
  for (const auto& made : writes.mutations)
    round_mutations_[keys::mutations(made.user, made.device, made.install)] = made.mutations;
  if (writes.last_group) {
    last_group_ = *writes.last_group;
    group_changed_ = true;
  }
}

void CommitState::evict_rows(Batch& batch, const UserId& user, UserRecord& record) {
  while (record.block.size() > options_.block_rows) {
    const BlockRow oldest = std::move(record.block.front());
    record.block.erase(record.block.begin());
    const ConversationId& id = oldest.row.conversation;
    const std::string key = keys::row(user, id);
    std::string bytes = encode(oldest.row);
    batch.put(Table::objects, key, bytes);
    keep(rows_, key, std::move(bytes));
    const auto move_order = [&](keys::Order order, Mark from, Mark to) {
      if (from == to) return;
      if (from) batch.erase(Table::objects, keys::by_mark(user, order, from));
      if (to) batch.put(Table::objects, keys::by_mark(user, order, to), id.value);
    };
    move_order(keys::Order::head, oldest.stored_head_mark, oldest.row.head_mark);
    move_order(keys::Order::state, oldest.stored_state_mark, oldest.row.state_mark);
  }
}

Batch CommitState::take_batch() {
  Batch batch;
  for (const auto& [id, key, entry] : round_entries_) {
    batch.put(Table::entries, keys::entry(key, entry->seq), encode(*entry));
    if (const UserId* user = leaver(*entry)) batch.put(Table::conversations, keys::leave(id, entry->seq), user->value);
  }
  for (const auto& [id, changes] : changes_) {
    for (const auto& [seq, row] : changes.rows) batch.put(Table::entries, keys::entry(id, seq), encode(*row));
    for (const auto& [seq, target] : changes.touches) {
      if (target)
        batch.put(Table::touches, keys::touch(id, seq), varint_bytes(target->value));
      else
        batch.erase(Table::touches, keys::touch(id, seq));
    }
  }
  for (const std::string& prefix : erased_reactions_)
    batch.erase_range(Table::touches, prefix, keys::after_prefix(prefix));
  for (const auto& [key, names] : round_reactions_) {
    if (names.empty())
      batch.erase(Table::touches, key);
    else
      batch.put(Table::touches, key, encode(names));
  }
  for (const ConversationId& id : dirty_conversations_)
    batch.put(Table::conversations, keys::conversation(id), encode(*load_line(id).value.conversation));
  for (const UserId& user : dirty_users_) {
    UserRecord& record = load_user(user).value;
    evict_rows(batch, user, record);
    batch.put(Table::users, keys::user(user), encode(record));
  }
  for (const auto& [user, objects] : round_objects_) {
    for (const auto& [name, object] : objects) {
      if (object.stored_mark) batch.erase(Table::objects, keys::object_by_mark(user, object.stored_mark, name));
      if (!object.now) {
        batch.erase(Table::objects, keys::object(user, name));
        continue;
      }
      batch.put(Table::objects, keys::object(user, name), encode(*object.now));
      batch.put(Table::objects, keys::object_by_mark(user, object.now->mark, name), "");
    }
  }
  for (const auto& [place, role] : round_large_members_) {
    const auto& [id, join, user] = place;
    const std::string key = keys::member(id, {user, Role::member, join});
    if (role)
      batch.put(Table::conversations, key, std::string(1, static_cast<char>(*role)));
    else
      batch.erase(Table::conversations, key);
  }
  for (const auto& [key, large] : round_large_groups_) {
    if (large)
      batch.put(Table::objects, key, "");
    else
      batch.erase(Table::objects, key);
  }
  for (const auto& [key, mark] : round_tombstones_) batch.put(Table::objects, key, varint_bytes(mark.value));
  for (const std::string& key : round_dropped_tombstones_) batch.erase(Table::objects, key);
  for (const auto& [expiry, lasts] : round_file_expiries_) {
    if (lasts)
      batch.put(Table::events, keys::file_expiry(expiry), expiry.conversation.value);
    else
      batch.erase(Table::events, keys::file_expiry(expiry));
  }
  for (const auto& [key, record] : round_dedup_) batch.put(Table::dedup, key, encode(record));
  const auto put_or_erase = [&batch](const std::string& key, const auto& value) {
    if (value)
      batch.put(Table::devices, key, encode(*value));
    else
      batch.erase(Table::devices, key);
  };
  for (const auto& [key, device] : round_devices_) put_or_erase(key, device);
  for (const auto& [key, mutations] : round_mutations_) put_or_erase(key, mutations);
  for (const auto& [key, owner] : round_push_tokens_) put_or_erase(key, owner);
  if (group_changed_) batch.put(Table::meta, std::string(keys::kGroup), varint_bytes(last_group_));
  if (!batch.empty()) put_round(batch, round_);
  return batch;
}

template <typename Key, typename Value>
void CommitState::keep(Cache<Key, Value>& cache, const Key& key, Value value) {
  cache.recent.push_front(key);
  const bool fresh =
      cache.slots.emplace(key, typename Cache<Key, Value>::Slot{std::move(value), cache.recent.begin()}).second;
  TM_CHECK(fresh, "what is kept was not there");
}

template <typename Key, typename Value>
Value* CommitState::find_in(Cache<Key, Value>& cache, const Key& key) {
  const auto found = cache.slots.find(key);
  if (found == cache.slots.end()) return nullptr;
  cache.recent.splice(cache.recent.begin(), cache.recent, found->second.place);
  return &found->second.value;
}

template <typename Key, typename Value>
void CommitState::erase_from(Cache<Key, Value>& cache, const Key& key) {
  const auto found = cache.slots.find(key);
  if (found == cache.slots.end()) return;
  cache.recent.erase(found->second.place);
  cache.slots.erase(found);
}

template <typename Key, typename Value>
void CommitState::trim(Cache<Key, Value>& cache, std::size_t max) {
  while (cache.slots.size() > max) {
    cache.slots.erase(cache.recent.back());
    cache.recent.pop_back();
  }
}

void CommitState::committed() {
  keep_devices_of_round();
  forget_round();
}

void CommitState::forget_round() {
  dirty_users_.clear();
  dirty_conversations_.clear();
  round_entries_.clear();
  entries_by_line_.clear();
  changes_.clear();
  round_reactions_.clear();
  erased_reactions_.clear();
  round_objects_.clear();
  round_rows_.clear();
  completed_.clear();
  round_large_members_.clear();
  round_large_groups_.clear();
  round_tombstones_.clear();
  round_dropped_tombstones_.clear();
  round_file_expiries_.clear();
  round_dedup_.clear();
  round_devices_.clear();
  round_mutations_.clear();
  round_push_tokens_.clear();
  group_changed_ = false;
  trim(users_, options_.users_max);
  trim(lines_, options_.conversations_max);
  trim(devices_, options_.devices_max);
  trim(rows_, options_.rows_max);
  stored_.reset();
}

void CommitState::drop() {
  users_ = {};
  lines_ = {};
  devices_ = {};
  rows_ = {};
  knows_store_ = false;
  forget_round();
}

}  // namespace tidemark
