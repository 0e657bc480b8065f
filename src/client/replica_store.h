// Where a client keeps what it holds. One transaction for every batch: rows and cursor are stored together or not at
// all. Used under the client's lock, by one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "core/replica/state.h"

namespace tidemark {

/// A row of a timeline.
struct TimelineRow {
  std::shared_ptr<const Entry> entry;
  bool gap_before = false;  // rows between the one before and this are not held: scroll_back fetches them
  bool on_server = true;    // false: a restore of the server lost it, it is on this device alone
};

class ReplicaStore {
 public:
  virtual ~ReplicaStore() = default;
  /// Durable when it returns. On an error nothing of the batch is stored.
  virtual Result<void> apply(const replica::StoreBatch& batch) = 0;
  /// All that is stored but bodies; asked once, at the start. A store that was never used has empty names.
  virtual Result<replica::StoreImage> load() = 0;
  /// Everything goes but the device, which becomes this one. A store that can see to it leaves nothing to be read of
  /// what it held; without that, what load() names is taken out in one batch.
  virtual Result<void> erase_all(const replica::DeviceState& device);
  /// At most `limit` rows below `before` (0: from the newest), ascending.
  virtual Result<std::vector<TimelineRow>> rows(const ConversationId& conversation, Seq before, std::size_t limit) = 0;
};

/// Forgets everything with the process.
std::unique_ptr<ReplicaStore> make_memory_store();

}  // namespace tidemark
