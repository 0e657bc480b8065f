// A device's store in one SQLite file.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "client/replica_store.h"

namespace tidemark {

/// Opens the store of one device, or makes it (readable by its owner alone; its folder must be there). The file and
/// the one beside it that ends in -wal belong together: copy both, or the file alone after the store was closed.
///
/// Only one process has a store at a time. What apply() has taken survives the end of the process and of the machine;
/// on a full disk it fails, takes nothing, and works again when there is room. A file that is damaged anywhere where
/// something is stored is refused, here, by load() or by rows(), and never misread.
///
/// Errors have the field "store" and name the file and what to do: TOO_MANY_CONNECTIONS when another process has it;
/// RETRY_LATER when the disk is full or fails; MALFORMED when it is no store, one of a newer version, or damaged.
Result<std::unique_ptr<ReplicaStore>> open_sqlite_store(const std::string& path);

}  // namespace tidemark
