// The Warm port: an ordered store of binary keys in a few tables, read on snapshots, written in atomic durable
// batches. It knows nothing of messages; the key layouts are in store/keys.h.
//
// Guarantees (the conformance suite store/warm_conformance.h has one test for each number):
//  W1 commit() is atomic: after any crash either all of a batch is there or none of it.
//  W2 commit() returns success only when the batch is durable (on disk, synced).
//  W3 Nothing of a batch is visible to any snapshot before it is durable.
//  W4 Batches take effect in the order of commit(); within a batch the later operation on a key wins; erase_range
//     applies to what the store held before the batch and to earlier operations of the same batch.
//  W5 A snapshot sees one moment between batches, however long it is kept.
//  W6 Keys are ordered as unsigned bytes; scans visit each key in the range once, in order or in reverse order.
//  W7 After commit() failed its outcome is unknown and every later commit() fails with RETRY_LATER until recover()
//     succeeded; snapshots taken before and after the failure still read the last published state.
//  W8 recover() makes the outcome known: afterwards the failed batch is there as a whole or not at all, and
//     everything readable is durable. It fails with RETRY_LATER while the cause lasts, and may be called again.
//  W9 Data that is damaged is refused (an error, never a wrong value); a format that is not known is refused at open.
// W10 A second process that opens the same data gets an error that names the directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tidemark {

enum class Table : std::uint8_t { meta, entries, conversations, users, objects, dedup, devices, touches, events };
inline constexpr Table kTables[] = {Table::meta,  Table::entries, Table::conversations, Table::users, Table::objects,
                                    Table::dedup, Table::devices, Table::touches,       Table::events};

/// The writes of one commit round, applied in order.
class Batch {
 public:
  enum class Kind : std::uint8_t { put, erase, erase_range };
  struct Operation {
    Kind kind;
    Table table;
    std::string key;
    std::string value;  // erase_range: the end, exclusive
  };

  void put(Table table, std::string key, std::string value) {
    operations_.push_back({Kind::put, table, std::move(key), std::move(value)});
  }
  void erase(Table table, std::string key) { operations_.push_back({Kind::erase, table, std::move(key), {}}); }
  void erase_range(Table table, std::string from, std::string to) {
    operations_.push_back({Kind::erase_range, table, std::move(from), std::move(to)});
  }
  const std::vector<Operation>& operations() const { return operations_; }
  bool empty() const { return operations_.empty(); }
  void clear() { operations_.clear(); }

 private:
  std::vector<Operation> operations_;
};

/// One moment of the store. Thread-safe for readers; keeps old data alive, so hold it briefly.
class Snapshot {
 public:
  /// Called for each key in turn; the views die with the call. Returns whether to go on.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;

  virtual ~Snapshot() = default;
  /// The value, or nothing. RETRY_LATER when the disk fails, INTERNAL when the data is damaged.
  virtual Result<std::optional<std::string>> get(Table table, std::string_view key) const = 0;
  /// One result for each key, in their order.
  virtual Result<std::vector<std::optional<std::string>>> get_many(Table table,
                                                                   const std::vector<std::string>& keys) const = 0;
  /// Visits keys in [from, to) upwards.
  virtual Result<void> scan(Table table, std::string_view from, std::string_view to, const Visit& visit) const = 0;
  /// Visits keys in [from, to) downwards.
  virtual Result<void> scan_back(Table table, std::string_view from, std::string_view to, const Visit& visit) const = 0;
};

struct WarmStatus {
  bool writable = true;          // false between a failed commit and a recovery
  std::string problem;           // a sentence, empty when all is well
  std::uint64_t disk_bytes = 0;  // used by the data
  std::uint64_t puts = 0;        // since the start: operations and bytes of committed batches, syncs
  std::uint64_t put_bytes = 0;
  std::uint64_t batches = 0;

  /// Counts what a committed batch has put.
  void count(const Batch& batch) {
    ++batches;
    for (const Batch::Operation& operation : batch.operations()) {
      if (operation.kind != Batch::Kind::put) continue;
      ++puts;
      put_bytes += operation.key.size() + operation.value.size();
    }
  }
};

class Warm {
 public:
  virtual ~Warm() = default;
  /// The present moment. Any thread.
  virtual std::shared_ptr<const Snapshot> snapshot() const = 0;
  /// See W1-W4, W7. One thread at a time. RETRY_LATER on failure.
  virtual Result<void> commit(const Batch& batch) = 0;
  /// See W8. The thread that commits.
  virtual Result<void> recover() = 0;
  /// Walks through the store's files. Any thread.
  virtual WarmStatus status() const = 0;
  /// RETRY_LATER, with a sentence, while commits are refused although nothing has failed: the disk is nearly full.
  /// Cheap. Any thread.
  virtual Result<void> room() const { return {}; }
};

}  // namespace tidemark
