#include "engine/epochs.h"

#include <algorithm>

#include "base/check.h"
#include "base/codec.h"
#include "core/planted.h"
#include "store/keys.h"
#include "store/row_codec.h"
#include "store/store_view.h"

namespace tidemark {

Result<std::optional<Epoch>> epoch_in(const Snapshot& snapshot) {
  TM_ASSIGN(const auto bytes, snapshot.get(Table::meta, keys::kEpoch));
  if (!bytes) return std::optional<Epoch>();
  TM_ASSIGN(const Epoch epoch, decode_epoch(*bytes));
  return std::optional(epoch);
}

Result<Epoch> begin_first_epoch(Warm& warm, std::uint64_t id) {
  const Epoch first{1, id};
  Batch batch;
  batch.put(Table::meta, std::string(keys::kEpoch), encode(first));
  TM_TRY(warm.commit(batch));
  return first;
}

Result<std::vector<Epoch>> epochs_of(const Snapshot& snapshot) {
  std::vector<Epoch> epochs;
  TM_ASSIGN(const auto earlier, snapshot.get(Table::meta, keys::kLineage));
  if (earlier) {
    TM_ASSIGN(epochs, decode_lineage(*earlier));
  }
  TM_ASSIGN(const auto present, epoch_in(snapshot));
  if (present) epochs.push_back(*present);
  return epochs;
}

Epoch epoch_after(const std::vector<Epoch>& known, std::uint64_t id) {
  std::uint32_t highest = 0;
  for (const Epoch& epoch : known) highest = std::max(highest, epoch.number);
  return {highest + 1, id};
}

Result<void> begin_epoch(Warm& warm, const Epoch& next, const std::vector<Epoch>& others) {
  TM_ASSIGN(std::vector<Epoch> lineage, epochs_of(*warm.snapshot()));
  const Epoch present = lineage.empty() ? Epoch{} : lineage.back();
  if (planted(Fault::no_epoch_on_restore)) return {};
  lineage.insert(lineage.end(), others.begin(), others.end());
  std::ranges::sort(lineage, {}, [](const Epoch& epoch) { return std::pair(epoch.number, epoch.id); });
  lineage.erase(std::unique(lineage.begin(), lineage.end()), lineage.end());
  TM_CHECK(lineage.empty() || next.number > lineage.back().number, "an epoch follows all that are known");
  // Groups are numbered too; those that the restore took back may still be known to somebody.
  StoreView view(warm.snapshot());
  std::string groups;
  ByteWriter(groups).varint(view.last_group() + (std::uint64_t{next.number - present.number} << 32));
  if (view.failure()) return std::unexpected(*view.failure());
  Batch batch;
  batch.put(Table::meta, std::string(keys::kEpoch), encode(next));
  batch.put(Table::meta, std::string(keys::kLineage), encode(lineage));
  batch.put(Table::meta, std::string(keys::kGroup), std::move(groups));
  return warm.commit(batch);
}

}  // namespace tidemark
