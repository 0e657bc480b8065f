// An ordered map of byte strings whose copies are snapshots: copying takes one pointer, a change copies the path to
// the root and leaves every earlier copy as it was. A treap whose priorities come from the keys, so that the same
// contents always make the same tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/warm.h"

namespace tidemark {

/// Changing one object is for one thread at a time; copies are independent and may be read by any thread.
class PersistentMap {
 public:
  void put(std::string key, std::string value);
  void erase(std::string_view key);
  /// Erases keys in [from, to); nothing when the range is empty.
  void erase_range(std::string_view from, std::string_view to);

  /// The value, or null. Valid as long as this map or a copy of it holds the key.
  const std::string* find(std::string_view key) const;
  /// Visits keys in [from, to) upwards (visit_back: downwards) until the visitor returns false.
  void visit(std::string_view from, std::string_view to, const Snapshot::Visit& visit) const;
  void visit_back(std::string_view from, std::string_view to, const Snapshot::Visit& visit) const;

  std::size_t size() const;
  /// Bytes of all keys and values.
  std::uint64_t bytes() const;

 private:
  struct Item;
  struct Node;
  using Link = std::shared_ptr<const Node>;
  using ItemLink = std::shared_ptr<const Item>;
  struct Halves;

  static Link join(const Link& source, Link left, Link right);
  static Link make(ItemLink item, Link left, Link right);
  static Halves split(const Link& node, std::string_view key);
  static Link merge(const Link& low, const Link& high);
  static Link insert(const Link& node, ItemLink item);
  static Link without(const Link& node, std::string_view key);

  Link root_;
};

}  // namespace tidemark
