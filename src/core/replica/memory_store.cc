#include "core/replica/memory_store.h"

namespace tidemark::replica {

MemoryStore::MemoryStore(UserId user, DeviceId device, InstallId install) {
  device_.user = std::move(user);
  device_.device = std::move(device);
  device_.install = std::move(install);
}

void MemoryStore::apply(const StoreBatch& batch) {
  for (const ConversationId& id : batch.dropped) conversations_.erase(id);
  for (const auto& [id, range] : batch.dropped_rows) {
    const auto found = conversations_.find(id);
    if (found == conversations_.end()) continue;
    auto& rows = found->second.rows;
    rows.erase(rows.upper_bound(range.after), rows.upper_bound(range.to));
  }
  for (const ConversationState& state : batch.conversations) conversations_[state.id()].state = state;
  for (const StoredRow& row : batch.rows) conversations_[row.conversation].rows[row.note.seq] = row;
  for (const OutboxItem& item : batch.outbox) outbox_[item.local_id] = item;
  for (const std::uint64_t local_id : batch.outbox_removed) outbox_.erase(local_id);
  for (const MutationItem& item : batch.mutations) mutations_[item.number] = item;
  for (const std::uint64_t number : batch.mutations_removed) mutations_.erase(number);
  for (const ObjectState& object : batch.objects) objects_[name_of(object.object)] = object;
  for (const std::string& name : batch.objects_removed) objects_.erase(name);
  if (batch.device) device_ = *batch.device;
}

StoreImage MemoryStore::image() const {
  StoreImage image;
  image.device = device_;
  for (const auto& [id, stored] : conversations_) {
    image.conversations.push_back(stored.state);
    std::vector<RowNote>& notes = image.rows[id];
    for (const auto& [seq, row] : stored.rows) notes.push_back(row.note);
  }
  for (const auto& [id, item] : outbox_) image.outbox.push_back(item);
  for (const auto& [number, item] : mutations_) image.mutations.push_back(item);
  for (const auto& [name, object] : objects_) image.objects.push_back(object);
  return image;
}

const MemoryStore::Stored* MemoryStore::conversation(const ConversationId& id) const {
  const auto found = conversations_.find(id);
  return found == conversations_.end() ? nullptr : &found->second;
}

std::shared_ptr<const Entry> MemoryStore::row(const ConversationId& id, Seq seq) const {
  const Stored* stored = conversation(id);
  if (stored == nullptr) return nullptr;
  const auto found = stored->rows.find(seq);
  return found == stored->rows.end() ? nullptr : found->second.entry;
}

}  // namespace tidemark::replica
