#include "store/page_cache.h"

#include <utility>

#include "core/read_parts.h"

namespace tidemark {
namespace {

std::size_t size_of(const std::vector<Entry>& entries) {
  std::size_t bytes = sizeof(Entry);
  for (const Entry& entry : entries) bytes += sizeof(Entry) + bytes_of_row(entry);
  return bytes;
}

}  // namespace

std::size_t PageCache::KeyHash::operator()(const Key& key) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return std::hash<ConversationId>()(key.conversation) ^ (key.number * kOdd);
}

void PageCache::drop(std::list<Kept>::iterator kept) {
  counts_.bytes -= kept->bytes;
  by_key_.erase(kept->key);
  recent_.erase(kept);
}

PageCache::Page PageCache::find(const Key& key, const State& state) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->state != state) {
    ++counts_.misses;
    return nullptr;
  }
  ++counts_.hits;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->page;
}

void PageCache::keep(const Key& key, const State& state, Page page) {
  const std::size_t bytes = size_of(*page);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    if (found->second->state > state) return;
    drop(found->second);
  }
  recent_.push_front({key, state, std::move(page), bytes});
  by_key_[key] = recent_.begin();
  counts_.bytes += bytes;
  while (counts_.bytes > bytes_max_) drop(std::prev(recent_.end()));
}

void PageCache::clear() {
  const std::lock_guard lock(mutex_);
  recent_.clear();
  by_key_.clear();
  counts_.bytes = 0;
}

PageCache::Counts PageCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tidemark
