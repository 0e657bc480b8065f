// Large batches that are sorted already become sorted files, which the database takes over as a whole: no log, no
// memtable, no search for each key's place.
#pragma once

#include "base/error.h"
#include "store/rocks/rocks_database.h"
#include "store/warm.h"

namespace tidemark {

/// No ranges, and the keys of each table strictly ascending.
bool can_ingest(const Batch& batch);
/// Makes all of such a batch durable and visible at once. `directory` is for files on their way, on the database's file
/// system; what is in it goes. After a failure the batch is there or not.
Result<void> ingest(const RocksDatabase& database, const RocksOptions& options, const RocksShared& shared,
                    const std::string& directory, const Batch& batch);

}  // namespace tidemark
