#include "core/replica/memory_store.h"

#include <algorithm>

#include "client/replica_store.h"

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
    const replica::ConversationState& state = stored->state;
    auto it = before ? stored->rows.lower_bound(before) : stored->rows.end();
    while (it != stored->rows.begin() && found.size() < limit) {
      --it;
      const Seq below = it->first - 1;
      const bool bottom = !below || (state.bottom && below <= *state.bottom);
      const bool held_below = state.coverage.contains(below) || stored->rows.contains(below);
      found.push_back({it->second.entry, !bottom && !held_below});
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
