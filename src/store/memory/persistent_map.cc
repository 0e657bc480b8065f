#include "store/memory/persistent_map.h"

#include <utility>

namespace tidemark {
namespace {

/// FNV-1a, then the finaliser of splitmix64: the same on every machine, so that simulated runs repeat.
std::uint64_t priority_of(std::string_view key) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : key) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

}  // namespace

struct PersistentMap::Item {
  std::string key;
  std::string value;
  std::uint64_t priority;

  // Equal priorities are settled by the key, so that a map's shape depends on its contents alone.
  bool above(const Item& other) const {
    return priority != other.priority ? priority > other.priority : key < other.key;
  }
};

struct PersistentMap::Node {
  ItemLink item;
  Link left;
  Link right;
  std::size_t size;
  std::uint64_t bytes;
};

struct PersistentMap::Halves {
  Link low;   // keys below the cut
  Link high;  // the cut and above
};

PersistentMap::Link PersistentMap::make(ItemLink item, Link left, Link right) {
  std::size_t size = 1;
  std::uint64_t bytes = item->key.size() + item->value.size();
  for (const Link* child : {&left, &right}) {
    if (!*child) continue;
    size += (*child)->size;
    bytes += (*child)->bytes;
  }
  return std::make_shared<const Node>(Node{std::move(item), std::move(left), std::move(right), size, bytes});
}

PersistentMap::Link PersistentMap::join(const Link& source, Link left, Link right) {
  return make(source->item, std::move(left), std::move(right));
}

PersistentMap::Halves PersistentMap::split(const Link& node, std::string_view key) {
  if (!node) return {};
  if (node->item->key < key) {
    Halves halves = split(node->right, key);
    return {join(node, node->left, std::move(halves.low)), std::move(halves.high)};
  }
  Halves halves = split(node->left, key);
  return {std::move(halves.low), join(node, std::move(halves.high), node->right)};
}

PersistentMap::Link PersistentMap::merge(const Link& low, const Link& high) {
  if (!low) return high;
  if (!high) return low;
  if (low->item->above(*high->item)) return join(low, low->left, merge(low->right, high));
  return join(high, merge(low, high->left), high->right);
}

PersistentMap::Link PersistentMap::insert(const Link& node, ItemLink item) {
  if (!node) return make(std::move(item), {}, {});
  const int order = item->key.compare(node->item->key);
  if (order == 0) return make(std::move(item), node->left, node->right);
  if (item->above(*node->item)) {
    Halves halves = split(node, item->key);
    return make(std::move(item), std::move(halves.low), std::move(halves.high));
  }
  if (order < 0) return join(node, insert(node->left, std::move(item)), node->right);
  return join(node, node->left, insert(node->right, std::move(item)));
}

PersistentMap::Link PersistentMap::without(const Link& node, std::string_view key) {
  const int order = key.compare(node->item->key);
  if (order == 0) return merge(node->left, node->right);
  if (order < 0) return join(node, without(node->left, key), node->right);
  return join(node, node->left, without(node->right, key));
}

void PersistentMap::put(std::string key, std::string value) {
  const std::uint64_t priority = priority_of(key);
  root_ = insert(root_, std::make_shared<const Item>(Item{std::move(key), std::move(value), priority}));
}

void PersistentMap::erase(std::string_view key) {
  if (find(key)) root_ = without(root_, key);
}

void PersistentMap::erase_range(std::string_view from, std::string_view to) {
  if (from >= to) return;
  Halves lower = split(root_, from);
  Halves upper = split(lower.high, to);
  root_ = merge(lower.low, upper.high);
}

const std::string* PersistentMap::find(std::string_view key) const {
  const Node* node = root_.get();
  while (node) {
    const int order = key.compare(node->item->key);
    if (order == 0) return &node->item->value;
    node = order < 0 ? node->left.get() : node->right.get();
  }
  return nullptr;
}

void PersistentMap::visit(std::string_view from, std::string_view to, const Snapshot::Visit& visit) const {
  const auto walk = [&](const auto& self, const Node* node) -> bool {
    if (!node) return true;
    const std::string& key = node->item->key;
    if (key >= from && !self(self, node->left.get())) return false;
    if (key >= from && key < to && !visit(key, node->item->value)) return false;
    return key >= to || self(self, node->right.get());
  };
  if (from < to) walk(walk, root_.get());
}

void PersistentMap::visit_back(std::string_view from, std::string_view to, const Snapshot::Visit& visit) const {
  const auto walk = [&](const auto& self, const Node* node) -> bool {
    if (!node) return true;
    const std::string& key = node->item->key;
    if (key < to && !self(self, node->right.get())) return false;
    if (key >= from && key < to && !visit(key, node->item->value)) return false;
    return key < from || self(self, node->left.get());
  };
  if (from < to) walk(walk, root_.get());
}

std::size_t PersistentMap::size() const {
  return root_ ? root_->size : 0;
}

std::uint64_t PersistentMap::bytes() const {
  return root_ ? root_->bytes : 0;
}

}  // namespace tidemark
