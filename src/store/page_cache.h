// Pages of the logs of large groups, for all who read: when something comes, thousands ask for the same entries. A page
// is kept with where its log stood, so what is found is what the reader's snapshot holds. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/types.h"

namespace tidemark {

class PageCache {
 public:
  static constexpr std::uint64_t kNumbers = 64;  // that belong to one page, whether or not each has an entry

  /// The entries of the log with numbers in [kNumbers * number, kNumbers * (number + 1)), ascending.
  using Page = std::shared_ptr<const std::vector<Entry>>;
  struct Key {
    ConversationId conversation;
    std::uint64_t number = 0;
    bool operator==(const Key&) const = default;
  };
  /// What a page's content depends on: how far its log went, and the last change to an older row.
  struct State {
    Seq head;
    Seq touch;
    auto operator<=>(const State&) const = default;
  };
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::size_t bytes = 0;
  };

  explicit PageCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Nothing when there is none of this very state.
  Page find(const Key& key, const State& state);
  /// Replaces an older state of the page; an older one than the one kept is not kept.
  void keep(const Key& key, const State& state, Page page);
  void clear();
  Counts counts() const;

 private:
  struct Kept {
    Key key;
    State state;
    Page page;
    std::size_t bytes;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  void drop(std::list<Kept>::iterator kept);

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::list<Kept> recent_;  // the last used is the first
  std::unordered_map<Key, std::list<Kept>::iterator, KeyHash> by_key_;
  Counts counts_;
};

}  // namespace tidemark
