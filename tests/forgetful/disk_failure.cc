// What a power failure leaves on the disk.
#include <sys/stat.h>

#include <algorithm>
#include <random>
#include <utility>

#include "forgetful/disk.h"

namespace tidemark::testing {

/// Picks what survives.
class ForgetfulDisk::Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(engine_); }
  bool one_in(std::size_t many) { return up_to(many - 1) == 0; }

 private:
  std::mt19937_64 engine_;
};

void ForgetfulDisk::cut_power_after(std::uint64_t operations) {
  const std::lock_guard lock(mutex_);
  steps_left_ = operations;
}

bool ForgetfulDisk::powered() const {
  const std::lock_guard lock(mutex_);
  return powered_;
}

std::string ForgetfulDisk::struck() const {
  const std::lock_guard lock(mutex_);
  return struck_;
}

void ForgetfulDisk::fail_power(const PowerFailure& failure) {
  const std::lock_guard lock(mutex_);
  std::optional<Dice> dice;
  if (failure.part_survives) dice.emplace(*failure.part_survives);
  Dice* const given = dice ? &*dice : nullptr;
  fail_names(given);
  for (auto& [number, node] : nodes_)
    if (!S_ISDIR(node.mode)) fail_file(node, given);
  forget_unreachable();
  steps_left_.reset();
  powered_ = true;
  struck_.clear();
}

void ForgetfulDisk::fail_names(Dice* dice) {
  const std::size_t rarity = dice == nullptr || dice->one_in(2) ? 3 : 30;
  std::set<std::uint64_t> cut;
  for (const Operation& operation : std::exchange(unsynced_, {})) {
    const bool lost = dice == nullptr || dice->one_in(rarity) ||
                      std::ranges::any_of(operation, [&](const Naming& each) { return cut.contains(each.directory); });
    ++(lost ? losses_.names_lost : losses_.names_kept);
    if (!lost) settle(operation);
    for (const Naming& each : operation)
      if (lost) cut.insert(each.directory);
  }
  for (auto& [number, node] : nodes_) node.names = node.durable_names;
}

void ForgetfulDisk::fail_file(Node& file, Dice* dice) {
  if (file.writes.empty()) return;
  const std::vector<Write> writes = std::exchange(file.writes, {});
  const std::string written = std::exchange(file.content, {});
  // As it was synced.
  file.content = written;
  file.content.resize(file.durable_size);
  for (const auto& [page, bytes] : std::exchange(file.before, {})) {
    const std::uint64_t from = page * kPageBytes;
    file.content.replace(from, kPageBytes, bytes, 0, std::min(kPageBytes, file.content.size() - from));
  }
  std::uint64_t kept = 0;
  std::uint64_t lost = 0;
  const bool nothing = dice == nullptr || dice->one_in(4);
  const bool everything = !nothing && dice->one_in(3);
  const std::size_t size_of = nothing ? 0 : everything ? writes.size() : dice->up_to(writes.size());
  const std::uint64_t size = size_of == 0 ? file.durable_size : writes[size_of - 1].size;
  const std::uint64_t piece = nothing || dice->one_in(2) ? kSectorBytes : kPageBytes;
  // How many of the writes have reached each piece of the disk.
  std::map<std::uint64_t, std::size_t> reached;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const std::uint64_t end = writes[i].offset + writes[i].bytes.size();
    if (file.content.size() < end) file.content.resize(end);
    for (std::uint64_t from = writes[i].offset; from < end;) {
      const std::uint64_t to = std::min(end, (from / piece + 1) * piece);
      const auto [found, fresh] = reached.try_emplace(from / piece);
      if (fresh && !nothing) found->second = everything || dice->one_in(2) ? writes.size() : dice->up_to(writes.size());
      const bool there = i < found->second;
      if (there) file.content.replace(from, to - from, writes[i].bytes, from - writes[i].offset, to - from);
      ++(there ? kept : lost);
      from = to;
    }
  }
  file.content.resize(size);
  file.durable_size = size;
  losses_.sectors_kept += kept;
  losses_.sectors_lost += lost;
  losses_.sizes_lost += size != written.size() ? 1 : 0;
  losses_.files_torn += kept > 0 && lost > 0 ? 1 : 0;
}

/// What no name leads to is gone for good.
void ForgetfulDisk::forget_unreachable() {
  std::set<std::uint64_t> reachable;
  std::vector<std::uint64_t> ahead = {kRoot};
  for (auto& [number, node] : nodes_) node.links = 0;
  while (!ahead.empty()) {
    const std::uint64_t number = ahead.back();
    ahead.pop_back();
    ++nodes_.at(number).links;
    if (!reachable.insert(number).second) continue;
    for (const auto& [name, child] : nodes_.at(number).names) ahead.push_back(child);
  }
  std::erase_if(nodes_, [&](const auto& each) { return !reachable.contains(each.first); });
}

}  // namespace tidemark::testing
