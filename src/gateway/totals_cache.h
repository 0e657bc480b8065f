// What is kept of users' totals between two questions. Lost without harm: the next question looks at all of the user's
// conversations again. Thread-safe.
#pragma once

#include <list>
#include <mutex>
#include <unordered_map>

#include "core/totals.h"

namespace tidemark {

class TotalsCache {
 public:
  /// `weight_max`: users and conversations that are kept in all.
  explicit TotalsCache(std::size_t weight_max) : weight_max_(weight_max) {}

  /// What is kept of the user, taken out; an empty one where nothing is.
  TotalsMemory take(const UserId& user);
  /// Gives it back; whatever somebody else has given back meanwhile goes.
  void keep(const UserId& user, TotalsMemory memory);

  std::size_t weight() const;

 private:
  struct Kept {
    UserId user;
    TotalsMemory memory;
  };
  static std::size_t weight_of(const TotalsMemory& memory) { return 1 + memory.parts.size(); }
  void drop(std::list<Kept>::iterator kept);

  const std::size_t weight_max_;
  mutable std::mutex mutex_;
  std::list<Kept> recent_;  // the last used is the first
  std::unordered_map<UserId, std::list<Kept>::iterator> by_user_;
  std::size_t weight_ = 0;
};

}  // namespace tidemark
