// A device's store in memory. Its apply() is what any store must do with a batch, in one transaction.
#pragma once

#include <map>

#include "core/replica/state.h"

namespace tidemark::replica {

/// Not thread-safe.
class MemoryStore {
 public:
  MemoryStore() = default;
  /// A store of an installation that was never used.
  MemoryStore(UserId user, DeviceId device, InstallId install);

  void apply(const StoreBatch& batch);
  StoreImage image() const;

  struct Stored {
    ConversationState state;
    std::map<Seq, StoredRow> rows;
  };
  const std::map<ConversationId, Stored>& conversations() const { return conversations_; }
  const Stored* conversation(const ConversationId& id) const;
  /// Null when there is none.
  std::shared_ptr<const Entry> row(const ConversationId& id, Seq seq) const;
  const std::map<std::uint64_t, OutboxItem>& outbox() const { return outbox_; }
  const std::map<std::uint64_t, MutationItem>& mutations() const { return mutations_; }
  const std::map<std::string, ObjectState>& objects() const { return objects_; }
  const DeviceState& device() const { return device_; }

 private:
  DeviceState device_;
  std::map<ConversationId, Stored> conversations_;
  std::map<std::uint64_t, OutboxItem> outbox_;
  std::map<std::uint64_t, MutationItem> mutations_;
  std::map<std::string, ObjectState> objects_;
};

}  // namespace tidemark::replica
