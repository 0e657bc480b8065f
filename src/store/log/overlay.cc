#include "store/log/overlay.h"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::uint64_t);
constexpr std::size_t kGroupOverhead = 128;  // of a group's entry in its table, roughly

/// Does any key lie between those that begin with this prefix and a higher key?
bool past(const std::string& prefix, std::string_view key) {
  const std::size_t end = prefix.find_last_not_of('\xff');
  if (end == std::string::npos) return false;
  std::string successor = prefix.substr(0, end + 1);
  successor.back() = static_cast<char>(static_cast<unsigned char>(successor.back()) + 1);
  return key > successor;
}

}  // namespace

Overlay::Rest::Rest(std::string_view all) : bytes(all) {
  for (std::size_t i = 0; i < kHeadBytes; ++i)
    head = head << 8 | (i < all.size() ? static_cast<std::uint8_t>(all[i]) : std::uint8_t{0});
}

std::string Overlay::Slot::rest() const {
  std::string bytes;
  bytes.reserve(rest_bytes);
  for (std::size_t i = 0; i < std::min<std::size_t>(kHeadBytes, rest_bytes); ++i)
    bytes.push_back(static_cast<char>(head >> (8 * (kHeadBytes - 1 - i))));
  return bytes.append(tail());
}

std::string_view Overlay::Slot::tail() const {
  return rest_bytes > kHeadBytes ? std::string_view(memory.get(), rest_bytes - kHeadBytes) : std::string_view();
}

std::string_view Overlay::Slot::value() const {
  return {memory.get() + tail().size(), value_bytes};
}

std::size_t Overlay::Slot::bytes() const {
  return sizeof(Slot) + tail().size() + value_bytes;
}

int Overlay::compare(const Slot& slot, const Rest& rest) {
  if (slot.head != rest.head) return slot.head < rest.head ? -1 : 1;
  // Equal heads of which one is padded: the shorter key is the smaller one.
  if (slot.rest_bytes <= kHeadBytes || rest.bytes.size() <= kHeadBytes)
    return slot.rest_bytes == rest.bytes.size() ? 0 : slot.rest_bytes < rest.bytes.size() ? -1 : 1;
  return slot.tail().compare(rest.bytes.substr(kHeadBytes));
}

Overlay::Group::Place Overlay::Group::lower_bound(const Rest& rest, Version at) const {
  const auto below = [&](const Slot& slot) {
    const int order = compare(slot, rest);
    return order < 0 || (order == 0 && slot.version > at);
  };
  const auto block =
      std::ranges::partition_point(blocks_, below, [](const auto& each) -> const Slot& { return each.back(); });
  if (block == blocks_.end()) return {blocks_.size(), 0};
  const auto slot = std::ranges::partition_point(*block, below);
  return {static_cast<std::size_t>(block - blocks_.begin()), static_cast<std::size_t>(slot - block->begin())};
}

Overlay::Group::Place Overlay::Group::next(Place place) const {
  return place.slot + 1 < blocks_[place.block].size() ? Place{place.block, place.slot + 1} : Place{place.block + 1, 0};
}

std::optional<Overlay::Group::Place> Overlay::Group::before(Place place) const {
  if (place.slot > 0) return Place{place.block, place.slot - 1};
  if (place.block == 0) return std::nullopt;
  return Place{place.block - 1, blocks_[place.block - 1].size() - 1};
}

void Overlay::Group::insert(Place place, Slot slot) {
  if (place.block == blocks_.size()) {
    if (blocks_.empty() || blocks_.back().size() == kBlockSlots) blocks_.emplace_back();
    blocks_.back().push_back(std::move(slot));
    return;
  }
  std::vector<Slot>& block = blocks_[place.block];
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(place.slot), std::move(slot));
  if (block.size() <= kBlockSlots) return;
  const auto middle = block.begin() + kBlockSlots / 2;
  std::vector<Slot> upper(std::move_iterator(middle), std::move_iterator(block.end()));
  block.erase(middle, block.end());
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block) + 1, std::move(upper));
}

void Overlay::Group::erase(Place place) {
  std::vector<Slot>& block = blocks_[place.block];
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(place.slot));
  if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block));
}

std::int64_t Overlay::Group::add(const Rest& rest, Slot slot, std::span<const Version> readable) {
  auto grown = static_cast<std::int64_t>(slot.bytes());
  const Version made = slot.version;
  if (blocks_.empty() || compare(blocks_.back().back(), rest) < 0) {
    insert({blocks_.size(), 0}, std::move(slot));
    return grown;
  }
  insert(lower_bound(rest, ~Version{0}), std::move(slot));
  // Of the older states those stay that somebody may read: one is seen from its own version up to the next newer one's.
  Version newer = made;
  Place place = next(lower_bound(rest, made));
  for (const Slot* older = at(place); older && compare(*older, rest) == 0; older = at(place)) {
    const auto reader = std::ranges::lower_bound(readable, older->version);
    if (reader != readable.end() && *reader < newer) {
      newer = older->version;
      place = next(place);
      continue;
    }
    grown -= static_cast<std::int64_t>(older->bytes());
    erase(place);
    if (place.block < blocks_.size() && place.slot == blocks_[place.block].size()) place = {place.block + 1, 0};
  }
  return grown;
}

std::string_view Overlay::group_of(Table table, std::string_view key) const {
  return key.substr(0, group_bytes_(table, key));
}

void Overlay::apply(const Batch& batch, Version first, std::span<const Version> readable) {
  std::int64_t grown = 0;
  Version version = first;
  for (const Batch::Operation& operation : batch.operations()) {
    Rows& rows = tables_[static_cast<std::size_t>(operation.table)];
    const Version mine = version++;
    if (operation.kind == Batch::Kind::erase_range) {
      if (operation.key >= operation.value) continue;
      const std::lock_guard lock(rows.mutex);
      grown -= give_up_covered(rows.erasures, readable);
      rows.erasures.push_back({operation.key, operation.value, mine});
      grown += static_cast<std::int64_t>(sizeof(RangeErasure) + operation.key.size() + operation.value.size());
      continue;
    }
    const std::string_view group = group_of(operation.table, operation.key);
    const Rest rest(std::string_view(operation.key).substr(group.size()));
    Slot slot;
    slot.head = rest.head;
    slot.version = mine;
    slot.rest_bytes = static_cast<std::uint32_t>(rest.bytes.size());
    slot.erased = operation.kind == Batch::Kind::erase;
    const std::string_view tail = rest.bytes.size() > kHeadBytes ? rest.bytes.substr(kHeadBytes) : std::string_view();
    const std::string_view value = slot.erased ? std::string_view() : std::string_view(operation.value);
    slot.value_bytes = static_cast<std::uint32_t>(value.size());
    slot.memory = std::make_unique_for_overwrite<char[]>(tail.size() + value.size());
    std::ranges::copy(tail, slot.memory.get());
    std::ranges::copy(value, slot.memory.get() + tail.size());
    Shard& shard = rows.shards[std::hash<std::string_view>()(group) % kShards];
    const std::lock_guard lock(shard.mutex);
    auto found = shard.groups.find(group);
    if (found == shard.groups.end()) {
      found = shard.groups.try_emplace(std::string(group)).first;
      grown += static_cast<std::int64_t>(kGroupOverhead + group.size());
    }
    grown += found->second.add(rest, std::move(slot), readable);
  }
  bytes_.fetch_add(static_cast<std::size_t>(grown), std::memory_order_relaxed);
}

/// Erasures that the last one says as well, to whoever may still read; returns the memory that they took.
std::int64_t Overlay::give_up_covered(std::vector<RangeErasure>& erasures, std::span<const Version> readable) {
  if (erasures.empty()) return 0;
  const RangeErasure last = erasures.back();
  std::int64_t freed = 0;
  std::erase_if(erasures, [&](const RangeErasure& each) {
    if (each.version >= last.version || each.from < last.from || last.to < each.to) return false;
    const bool tells = std::ranges::any_of(
        readable, [&](Version version) { return each.version <= version && version < last.version; });
    if (!tells) freed += static_cast<std::int64_t>(sizeof(RangeErasure) + each.from.size() + each.to.size());
    return !tells;
  });
  return freed;
}

std::optional<Overlaid> Overlay::get(Table table, std::string_view key, Version at) const {
  const std::string_view group = group_of(table, key);
  const Rest rest(key.substr(group.size()));
  const Shard& shard = rows(table).shards[std::hash<std::string_view>()(group) % kShards];
  const std::shared_lock lock(shard.mutex);
  const auto found = shard.groups.find(group);
  if (found == shard.groups.end()) return std::nullopt;
  const Slot* slot = found->second.at(found->second.lower_bound(rest, at));
  if (!slot || compare(*slot, rest) != 0) return std::nullopt;
  return Overlaid{slot->version, slot->erased ? std::nullopt : std::optional(std::string(slot->value()))};
}

std::size_t Overlay::erasures() const {
  std::size_t count = 0;
  for (const Rows& each : tables_) {
    const std::shared_lock lock(each.mutex);
    count += each.erasures.size();
  }
  return count;
}

Version Overlay::erased(Table table, std::string_view key, Version at) const {
  const std::shared_lock lock(rows(table).mutex);
  Version last = 0;
  for (const RangeErasure& each : rows(table).erasures)
    if (each.version <= at && each.from <= key && key < each.to) last = std::max(last, each.version);
  return last;
}

void Overlay::collect(Table table, std::string_view from, std::string_view to, bool back, Version at, std::size_t most,
                      std::vector<Keyed>& found) const {
  if (from >= to) return;
  const std::size_t end = found.size() + most;
  const std::size_t bytes = group_bytes_(table, from);
  if (bytes <= from.size()) {
    const std::string group(from.substr(0, bytes));
    if (to.starts_with(group) || !past(group, to)) {
      (void)collect_in(rows(table), group, from, to, back, at, end, found);
      return;
    }
  }
  std::vector<std::string> groups = groups_in(rows(table), from, to);
  if (back) std::ranges::reverse(groups);
  for (const std::string& group : groups)
    if (!collect_in(rows(table), group, from, to, back, at, end, found)) return;
}

std::vector<std::string> Overlay::all_groups(const Rows& rows) {
  std::vector<std::string> groups;
  for (const Shard& shard : rows.shards) {
    const std::shared_lock lock(shard.mutex);
    for (const auto& [group, slots] : shard.groups) groups.push_back(group);
  }
  std::ranges::sort(groups);
  return groups;
}

/// All groups that may hold keys of the range, sorted.
std::vector<std::string> Overlay::groups_in(const Rows& rows, std::string_view from, std::string_view to) {
  std::vector<std::string> groups = all_groups(rows);
  std::erase_if(groups,
                [&](const std::string& each) { return each >= to || (each < from && !from.starts_with(each)); });
  return groups;
}

/// Returns whether there is room for more.
bool Overlay::collect_in(const Rows& rows, const std::string& group, std::string_view from, std::string_view to,
                         bool back, Version at, std::size_t most, std::vector<Keyed>& found) {
  const Shard& shard = rows.shards[std::hash<std::string_view>()(group) % kShards];
  const std::shared_lock lock(shard.mutex);
  const auto entry = shard.groups.find(group);
  if (entry == shard.groups.end()) return true;
  const Group& slots = entry->second;
  const auto place_of = [&](std::string_view key, Group::Place otherwise) {
    return key.starts_with(group) ? slots.lower_bound(Rest(key.substr(group.size())), ~Version{0}) : otherwise;
  };
  const Group::Place begin = place_of(from, {0, 0});
  const Group::Place end = place_of(to, slots.end());
  const auto take = [&](const Slot& slot) {
    found.emplace_back(group + slot.rest(),
                       Overlaid{slot.version, slot.erased ? std::nullopt : std::optional(std::string(slot.value()))});
    return found.size() < most;
  };
  const auto same_key = [](const Slot& a, const Slot& b) {
    return a.head == b.head && a.rest_bytes == b.rest_bytes && a.tail() == b.tail();
  };
  if (found.size() >= most) return false;
  const Slot* taken = nullptr;
  if (!back) {
    for (Group::Place place = begin; place != end; place = slots.next(place)) {
      const Slot* slot = slots.at(place);
      if (slot->version > at || (taken && same_key(*taken, *slot))) continue;
      taken = slot;
      if (!take(*slot)) return false;
    }
    return true;
  }
  // Backwards the oldest state of a key comes first; the last one that is not too new counts.
  for (Group::Place place = end; place != begin;) {
    place = *slots.before(place);
    const Slot* slot = slots.at(place);
    if (taken && !same_key(*taken, *slot)) {
      if (!take(*taken)) return false;
      taken = nullptr;
    }
    if (slot->version <= at) taken = slot;
  }
  return !taken || take(*taken);
}

Result<void> Overlay::materialise(std::size_t batch_bytes,
                                  const std::function<Result<void>(const Batch&)>& take) const {
  Batch batch;
  std::size_t bytes = 0;
  const auto added = [&](std::size_t more) -> Result<void> {
    bytes += more;
    if (bytes < batch_bytes) return {};
    TM_TRY(take(batch));
    batch.clear();
    bytes = 0;
    return {};
  };
  for (const Table table : kTables)
    for (const RangeErasure& each : rows(table).erasures) batch.erase_range(table, each.from, each.to);
  if (!batch.empty()) TM_TRY(take(std::exchange(batch, {})));
  for (const Table table : kTables) {
    for (const std::string& group : all_groups(rows(table))) {
      const Shard& shard = rows(table).shards[std::hash<std::string_view>()(group) % kShards];
      const Group& slots = shard.groups.find(group)->second;
      std::string last;
      bool any = false;
      for (Group::Place place{0, 0}; place != slots.end(); place = slots.next(place)) {
        const Slot& slot = *slots.at(place);
        std::string key = group + slot.rest();
        if (any && key == last) continue;  // an older state
        any = true;
        last = key;
        const Version erased_at = erased(table, key, ~Version{0});
        const std::size_t size = key.size() + slot.value_bytes;
        if (erased_at > slot.version) continue;
        if (slot.erased)
          batch.erase(table, std::move(key));
        else
          batch.put(table, std::move(key), std::string(slot.value()));
        TM_TRY(added(size));
      }
    }
  }
  return batch.empty() ? Result<void>() : take(batch);
}

}  // namespace tidemark
