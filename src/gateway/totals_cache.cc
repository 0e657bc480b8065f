#include "gateway/totals_cache.h"

#include <utility>

namespace tidemark {

void TotalsCache::drop(std::list<Kept>::iterator kept) {
  weight_ -= weight_of(kept->memory);
  by_user_.erase(kept->user);
  recent_.erase(kept);
}

TotalsMemory TotalsCache::take(const UserId& user) {
  const std::lock_guard lock(mutex_);
  const auto found = by_user_.find(user);
  if (found == by_user_.end()) return {};
  TotalsMemory memory = std::move(found->second->memory);
  weight_ -= weight_of(memory);
  recent_.erase(found->second);
  by_user_.erase(found);
  return memory;
}

void TotalsCache::keep(const UserId& user, TotalsMemory memory) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_user_.find(user); found != by_user_.end()) drop(found->second);
  weight_ += weight_of(memory);
  recent_.push_front({user, std::move(memory)});
  by_user_[user] = recent_.begin();
  while (weight_ > weight_max_ && recent_.size() > 1) drop(std::prev(recent_.end()));
}

std::size_t TotalsCache::weight() const {
  const std::lock_guard lock(mutex_);
  return weight_;
}

}  // namespace tidemark
