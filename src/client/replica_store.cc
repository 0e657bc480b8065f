#include "client/replica_store.h"

#include "core/user_object.h"

namespace tidemark {

Result<void> ReplicaStore::erase_all(const replica::DeviceState& device) {
  TM_ASSIGN(const replica::StoreImage image, load());
  replica::StoreBatch batch;
  for (const auto& conversation : image.conversations) batch.dropped.push_back(conversation.id());
  for (const auto& item : image.outbox) batch.outbox_removed.push_back(item.local_id);
  for (const auto& item : image.mutations) batch.mutations_removed.push_back(item.number);
  for (const auto& state : image.objects) batch.objects_removed.push_back(name_of(state.object));
  batch.device = device;
  return apply(batch);
}

}  // namespace tidemark
