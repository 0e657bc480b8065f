#include "core/replica/memory_store.h"

#include <algorithm>

#include "client/replica_store.h"
#include "client/timeline_gap.h"

namespace tidemark {
namespace {

class MemoryReplicaStore final : public ReplicaStore {
 public:
  Result<void> apply(const replica::StoreBatch& batch) override {
    store_.apply(batch);
    return {};
  }

  Result<replica::StoreImage> load() override { return store_.image(); }

  Result<std::vector<TimelineRow>> rows(const ConversationId& conversation, Seq before, std::size_t limit) override {
    std::vector<TimelineRow> found;
    const auto* stored = store_.conversation(conversation);
    if (stored == nullptr) return found;
    auto it = before ? stored->rows.lower_bound(before) : stored->rows.end();
    while (it != stored->rows.begin() && found.size() < limit) {
      --it;
      const auto lower = it == stored->rows.begin() ? std::nullopt : std::optional(std::prev(it)->first);
      found.push_back({it->second.entry, gap_below(stored->state, it->first, lower)});
    }
    std::ranges::reverse(found);
    return found;
  }

 private:
  replica::MemoryStore store_;
};

}  // namespace

std::unique_ptr<ReplicaStore> make_memory_store() {
  return std::make_unique<MemoryReplicaStore>();
}

}  // namespace tidemark
