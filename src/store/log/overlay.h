// What the commit log holds and the sorted store does not yet: the newest writes, in memory, with their versions, read
// by many threads while one writes.
//
// Keys that belong together (the entries of a conversation, what is a user's) share a group: the first bytes of the
// key, as many as a function of those bytes says. A group is a row of small sorted blocks; what is appended to it, as
// entries are, goes to the end of the last one without a search. Groups are found by their hash; their order is made
// when somebody asks for it, which the materialising of all of them does and hardly anybody else.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/warm.h"

namespace tidemark {

/// How many of a key's first bytes are its group, decided by those bytes alone; more than it has when it is cut off,
/// and then it is a group of its own. So no group begins as another one does.
using GroupBytes = std::function<std::size_t(Table table, std::string_view key)>;

/// The number of an operation, counted over all batches; what a snapshot sees are all up to one of them.
using Version = std::uint64_t;

/// What an overlay says of a key.
struct Overlaid {
  Version version = 0;               // of the operation that says it
  std::optional<std::string> value;  // nothing: erased
};

class Overlay {
 public:
  explicit Overlay(GroupBytes group_bytes) : group_bytes_(std::move(group_bytes)) {}

  /// Adds operations whose versions are first, first + 1, ...; above all that are here. `readable`, ascending: the
  /// versions at which anybody reads or may begin to. States that are between two of these are given up. One thread.
  void apply(const Batch& batch, Version first, std::span<const Version> readable);

  /// What was said of a key last, up to a version. Any thread.
  std::optional<Overlaid> get(Table table, std::string_view key, Version at) const;
  /// The last erasure of a range around this key, up to a version; 0 when there is none. Any thread.
  Version erased(Table table, std::string_view key, Version at) const;
  /// Appends the first keys in [from, to) of which anything was said up to a version, erasures of ranges aside, `most`
  /// of them at most; the last ones, the highest first, when `back`. Any thread.
  using Keyed = std::pair<std::string, Overlaid>;
  void collect(Table table, std::string_view from, std::string_view to, bool back, Version at, std::size_t most,
               std::vector<Keyed>& found) const;
  /// All that is here as batches, for a store that has everything before it; applied in order, also more than once,
  /// they make the same state. First the erasures of ranges, then puts and erasures in the order of tables and keys,
  /// about so many bytes in each batch. Nobody writes meanwhile.
  Result<void> materialise(std::size_t batch_bytes, const std::function<Result<void>(const Batch&)>& take) const;

  /// Range erasures that it holds, of all tables. Any thread.
  std::size_t erasures() const;
  /// Memory that it takes, roughly. Any thread.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kBlockSlots = 64;

  /// The rest of a key behind its group, made for quick comparing: the first eight bytes as a number.
  struct Rest {
    explicit Rest(std::string_view bytes);
    std::uint64_t head = 0;
    std::string_view bytes;
  };
  /// One state of a key. The key's bytes behind the first eight and the value lie in one piece of memory.
  struct Slot {
    std::uint64_t head = 0;
    Version version = 0;
    std::uint32_t rest_bytes = 0;
    std::uint32_t value_bytes = 0;
    bool erased = false;
    std::unique_ptr<char[]> memory;

    std::string rest() const;
    std::string_view tail() const;
    std::string_view value() const;
    std::size_t bytes() const;
  };
  static int compare(const Slot& slot, const Rest& rest);

  /// Sorted by key, the newest state of each first.
  class Group {
   public:
    struct Place {
      std::size_t block = 0;
      std::size_t slot = 0;
      bool operator==(const Place&) const = default;
    };
    /// Behind the last slot.
    Place end() const { return {blocks_.size(), 0}; }
    /// Adds the newest state of a key, gives up what nobody reads; returns by how much memory grew.
    std::int64_t add(const Rest& rest, Slot slot, std::span<const Version> readable);
    /// The first slot that is not below (rest, versions from the highest down to `at`).
    Place lower_bound(const Rest& rest, Version at) const;
    const Slot* at(Place place) const {
      return place.block < blocks_.size() ? &blocks_[place.block][place.slot] : nullptr;
    }
    Place next(Place place) const;
    /// The place before; a place of no slot when it was the first.
    std::optional<Place> before(Place place) const;

   private:
    void insert(Place place, Slot slot);
    void erase(Place place);
    std::vector<std::vector<Slot>> blocks_;  // none is empty
  };
  struct RangeErasure {
    std::string from;
    std::string to;
    Version version;
  };
  /// So that a group is found by a view of its name.
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view group) const { return std::hash<std::string_view>()(group); }
  };
  struct Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<std::string, Group, Hash, std::equal_to<>> groups;
  };
  struct Rows {
    std::array<Shard, kShards> shards;
    mutable std::shared_mutex mutex;  // guards what follows
    std::vector<RangeErasure> erasures;
  };

  static std::int64_t give_up_covered(std::vector<RangeErasure>& erasures, std::span<const Version> readable);
  const Rows& rows(Table table) const { return tables_[static_cast<std::size_t>(table)]; }
  std::string_view group_of(Table table, std::string_view key) const;
  static std::vector<std::string> groups_in(const Rows& rows, std::string_view from, std::string_view to);
  static std::vector<std::string> all_groups(const Rows& rows);
  static bool collect_in(const Rows& rows, const std::string& group, std::string_view from, std::string_view to,
                         bool back, Version at, std::size_t most, std::vector<Keyed>& found);

  const GroupBytes group_bytes_;
  std::array<Rows, std::size(kTables)> tables_;
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace tidemark
