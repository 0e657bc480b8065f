#include "forgetful/disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

namespace tidemark::testing {
namespace {

timespec moment() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

}  // namespace

ForgetfulDisk::ForgetfulDisk() {
  nodes_[kRoot] = {.mode = S_IFDIR | 0755, .links = 1, .changed = moment()};
}

// ------------------------------------------------------------------------------------------- reading

NodeInfo ForgetfulDisk::info_of(std::uint64_t number, const Node& node) const {
  return {.number = number,
          .mode = node.mode,
          .size = node.content.size(),
          .links = S_ISDIR(node.mode) ? 2 : node.links,
          .changed = node.changed};
}

ForgetfulDisk::Or<ForgetfulDisk::Node*> ForgetfulDisk::directory_at(std::uint64_t number) {
  const auto found = nodes_.find(number);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  if (!S_ISDIR(found->second.mode)) return std::unexpected(ENOTDIR);
  return &found->second;
}

ForgetfulDisk::Or<ForgetfulDisk::Node*> ForgetfulDisk::file_at(std::uint64_t number) {
  const auto found = nodes_.find(number);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  if (S_ISDIR(found->second.mode)) return std::unexpected(EISDIR);
  return &found->second;
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::find(std::uint64_t directory, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto place = nodes_.find(directory);
  if (place == nodes_.end()) return std::unexpected(ESTALE);
  const auto found = place->second.names.find(name);
  if (found == place->second.names.end()) return std::unexpected(ENOENT);
  return info_of(found->second, nodes_.at(found->second));
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::info(std::uint64_t node) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  return info_of(node, found->second);
}

ForgetfulDisk::Or<std::vector<ForgetfulDisk::Entry>> ForgetfulDisk::list(std::uint64_t directory) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(directory);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  std::vector<Entry> entries;
  for (const auto& [name, number] : found->second.names) entries.emplace_back(name, info_of(number, nodes_.at(number)));
  return entries;
}

ForgetfulDisk::Or<std::string> ForgetfulDisk::read(std::uint64_t file, std::uint64_t offset, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(file);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  const std::string& content = found->second.content;
  return offset < content.size() ? content.substr(offset, bytes) : std::string();
}

std::uint64_t ForgetfulDisk::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [number, node] : nodes_) sum += node.links > 0 ? node.content.size() : 0;
  return sum;
}

// ------------------------------------------------------------------------------------------- names

/// Every change begins with this.
ForgetfulDisk::Or<void> ForgetfulDisk::step(std::string_view name) {
  if (powered_ && steps_left_ && (*steps_left_)-- == 0) {
    powered_ = false;
    struck_ = name;
  }
  if (!powered_) return std::unexpected(EIO);
  return {};
}

void ForgetfulDisk::apply(Operation operation) {
  for (const Naming& naming : operation) {
    Node& place = nodes_.at(naming.directory);
    place.changed = moment();
    if (const auto old = place.names.find(naming.name); old != place.names.end()) {
      --nodes_.at(old->second).links;
      place.names.erase(old);
    }
    if (naming.node == 0) continue;
    place.names.emplace(naming.name, naming.node);
    ++nodes_.at(naming.node).links;
    nodes_.at(naming.node).called = naming.name;
  }
  unsynced_.push_back(std::move(operation));
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::make(std::uint64_t directory, std::string_view name, mode_t mode) {
  const std::lock_guard lock(mutex_);
  const auto place = directory_at(directory);
  if (!place) return std::unexpected(place.error());
  if ((*place)->names.contains(name)) return std::unexpected(EEXIST);
  if (const auto done = step(name); !done) return std::unexpected(done.error());
  const std::uint64_t number = ++last_number_;
  nodes_[number] = {.mode = mode, .changed = moment()};
  apply({{directory, std::string(name), number}});
  return info_of(number, nodes_.at(number));
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::make_file(std::uint64_t directory, std::string_view name, mode_t mode) {
  return make(directory, name, S_IFREG | (mode & 07777));
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::make_directory(std::uint64_t directory, std::string_view name, mode_t mode) {
  return make(directory, name, S_IFDIR | (mode & 07777));
}

ForgetfulDisk::Or<NodeInfo> ForgetfulDisk::link(std::uint64_t file, std::uint64_t directory, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto target = file_at(file);
  const auto place = directory_at(directory);
  if (!target || !place) return std::unexpected(target ? place.error() : target.error());
  if ((*place)->names.contains(name)) return std::unexpected(EEXIST);
  if (const auto done = step(name); !done) return std::unexpected(done.error());
  apply({{directory, std::string(name), file}});
  return info_of(file, **target);
}

ForgetfulDisk::Or<void> ForgetfulDisk::unlink(std::uint64_t directory, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto place = directory_at(directory);
  if (!place) return std::unexpected(place.error());
  const auto found = (*place)->names.find(name);
  if (found == (*place)->names.end()) return std::unexpected(ENOENT);
  if (S_ISDIR(nodes_.at(found->second).mode)) return std::unexpected(EISDIR);
  if (const auto done = step(name); !done) return done;
  apply({{directory, std::string(name), 0}});
  return {};
}

ForgetfulDisk::Or<void> ForgetfulDisk::remove_directory(std::uint64_t directory, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto place = directory_at(directory);
  if (!place) return std::unexpected(place.error());
  const auto found = (*place)->names.find(name);
  if (found == (*place)->names.end()) return std::unexpected(ENOENT);
  const auto removed = directory_at(found->second);
  if (!removed) return std::unexpected(removed.error());
  if (!(*removed)->names.empty()) return std::unexpected(ENOTEMPTY);
  if (const auto done = step(name); !done) return done;
  apply({{directory, std::string(name), 0}});
  return {};
}

ForgetfulDisk::Or<void> ForgetfulDisk::rename(std::uint64_t from, std::string_view name, std::uint64_t to,
                                              std::string_view new_name) {
  const std::lock_guard lock(mutex_);
  const auto source = directory_at(from);
  const auto target = directory_at(to);
  if (!source || !target) return std::unexpected(source ? target.error() : source.error());
  const auto found = (*source)->names.find(name);
  if (found == (*source)->names.end()) return std::unexpected(ENOENT);
  const std::uint64_t moved = found->second;
  const auto replaced = (*target)->names.find(new_name);
  if (replaced != (*target)->names.end()) {
    if (replaced->second == moved) return {};
    const Node& old = nodes_.at(replaced->second);
    if (S_ISDIR(old.mode) != S_ISDIR(nodes_.at(moved).mode))
      return std::unexpected(S_ISDIR(old.mode) ? EISDIR : ENOTDIR);
    if (!old.names.empty()) return std::unexpected(ENOTEMPTY);
  }
  if (const auto done = step(name); !done) return done;
  apply({{from, std::string(name), 0}, {to, std::string(new_name), moved}});
  return {};
}

ForgetfulDisk::Or<void> ForgetfulDisk::set_mode(std::uint64_t node, mode_t mode) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return std::unexpected(ESTALE);
  if (const auto done = step(found->second.called); !done) return done;
  found->second.mode = (found->second.mode & S_IFMT) | (mode & 07777);
  return {};
}

// ------------------------------------------------------------------------------------------- bytes

/// Keeps what is durable of the pages that change, changes them, and notes what the change was.
void ForgetfulDisk::overwrite(Node& file, std::uint64_t offset, std::string bytes, std::uint64_t size) {
  const std::uint64_t end = std::min<std::uint64_t>(offset + bytes.size(), file.durable_size);
  for (std::uint64_t page = offset / kPageBytes; page * kPageBytes < end; ++page) {
    if (file.before.contains(page)) continue;
    std::string& kept = file.before[page];
    // Cut and grown again since, the file has zeros here, and those pages have been kept then.
    kept = file.content.substr(page * kPageBytes, kPageBytes);
    kept.resize(kPageBytes);
  }
  if (file.content.size() < offset + bytes.size()) file.content.resize(offset + bytes.size());
  file.content.replace(offset, bytes.size(), bytes);
  file.content.resize(size);
  file.changed = moment();
  file.writes.push_back({offset, std::move(bytes), size});
}

ForgetfulDisk::Or<void> ForgetfulDisk::write(std::uint64_t file, std::uint64_t offset, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = file_at(file);
  if (!found) return std::unexpected(found.error());
  if (const auto done = step((*found)->called); !done) return done;
  const std::uint64_t size = std::max<std::uint64_t>((*found)->content.size(), offset + bytes.size());
  overwrite(**found, offset, std::string(bytes), size);
  return {};
}

ForgetfulDisk::Or<void> ForgetfulDisk::resize(std::uint64_t file, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = file_at(file);
  if (!found) return std::unexpected(found.error());
  const std::uint64_t now = (*found)->content.size();
  if (now == size) return {};
  if (const auto done = step((*found)->called); !done) return done;
  overwrite(**found, size, std::string(now > size ? now - size : 0, '\0'), size);
  return {};
}

ForgetfulDisk::Or<void> ForgetfulDisk::clear(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = file_at(file);
  if (!found) return std::unexpected(found.error());
  const std::uint64_t size = (*found)->content.size();
  if (offset >= size) return {};
  if (const auto done = step((*found)->called); !done) return done;
  overwrite(**found, offset, std::string(std::min(bytes, size - offset), '\0'), size);
  return {};
}

// ------------------------------------------------------------------------------------------- syncs

ForgetfulDisk::Or<void> ForgetfulDisk::sync_file(std::uint64_t file) {
  const std::lock_guard lock(mutex_);
  const auto found = file_at(file);
  if (!found) return std::unexpected(found.error());
  if (const auto done = step((*found)->called); !done) return done;
  if (honesty_ == Honesty::lies) return {};
  Node& synced = **found;
  synced.before.clear();
  synced.writes.clear();
  synced.durable_size = synced.content.size();
  return {};
}

void ForgetfulDisk::settle(const Operation& operation) {
  for (const Naming& naming : operation) {
    Names& names = nodes_.at(naming.directory).durable_names;
    if (naming.node == 0)
      names.erase(naming.name);
    else
      names[naming.name] = naming.node;
  }
}

ForgetfulDisk::Or<void> ForgetfulDisk::sync_directory(std::uint64_t directory) {
  const std::lock_guard lock(mutex_);
  const auto found = directory_at(directory);
  if (!found) return std::unexpected(found.error());
  if (const auto done = step((*found)->called); !done) return done;
  if (honesty_ == Honesty::lies) return {};
  // From the newest back: an operation that is needed brings along what came before it in its other directory (D3).
  std::set<std::uint64_t> needed = {directory};
  std::vector<bool> wanted(unsynced_.size());
  for (std::size_t i = unsynced_.size(); i-- > 0;) {
    wanted[i] = std::ranges::any_of(unsynced_[i], [&](const Naming& each) { return needed.contains(each.directory); });
    if (!wanted[i]) continue;
    for (const Naming& each : unsynced_[i]) needed.insert(each.directory);
  }
  std::vector<Operation> others;
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (wanted[i])
      settle(unsynced_[i]);
    else
      others.push_back(std::move(unsynced_[i]));
  }
  unsynced_ = std::move(others);
  return {};
}

void ForgetfulDisk::set_honesty(Honesty honesty) {
  const std::lock_guard lock(mutex_);
  honesty_ = honesty;
}

// The rest, what a power failure leaves, is in disk_failure.cc.

}  // namespace tidemark::testing
