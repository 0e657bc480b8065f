// A disk in memory with the files and directories on it, which forgets in a power failure what was not synced. It
// promises what POSIX does and no more, so it is stricter than ext4, XFS or Btrfs:
//
//  D1 fsync and fdatasync of a file make its bytes and its size durable, and nothing else: not its name.
//  D2 fsync of a directory makes durable what was done to names in it. Of what was not synced there, a power failure
//     takes the last operations, in order: if one is lost, all that came later in this directory are.
//  D3 Directories do not wait for each other, but a rename from one into another is one operation: it happens in both
//     or in neither, and syncing either makes it durable, with all that came before it in both.
//  D4 Of the writes to a file since its last sync any may survive or not, each sector on its own and as any of these
//     writes left it. The size is that of any moment since. A cut counts as a write of zeros; what lies below the size
//     and was never written reads as zeros.
//
// Modes and times are durable at once. Nothing is freed before the next power failure: what was removed may come back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::testing {

/// What a power failure leaves of what was not synced: nothing, or a part of it that the seed picks.
struct PowerFailure {
  std::optional<std::uint64_t> part_survives = {};
};

/// What power failures have met so far.
struct Losses {
  std::uint64_t names_lost = 0;
  std::uint64_t names_kept = 0;
  std::uint64_t sectors_lost = 0;
  std::uint64_t sectors_kept = 0;
  std::uint64_t sizes_lost = 0;
  std::uint64_t files_torn = 0;  // some of what was not synced is there, and some is not
};

/// A file or a directory as stat shows it.
struct NodeInfo {
  std::uint64_t number = 0;
  mode_t mode = 0;
  std::uint64_t size = 0;
  std::uint64_t links = 0;
  timespec changed = {};
};

/// Any thread may call. Failures are errno numbers. Nodes are known by number and never used again under another.
class ForgetfulDisk {
 public:
  static constexpr std::uint64_t kRoot = 1;
  static constexpr std::uint64_t kSectorBytes = 512;
  static constexpr std::uint64_t kPageBytes = 4'096;
  template <typename T>
  using Or = std::expected<T, int>;
  struct Entry {
    std::string name;
    NodeInfo info;
  };

  ForgetfulDisk();

  // ------------------------------------------------------------------------------------------- as a file system

  Or<NodeInfo> find(std::uint64_t directory, std::string_view name) const;
  Or<NodeInfo> info(std::uint64_t node) const;
  Or<std::vector<Entry>> list(std::uint64_t directory) const;
  Or<std::string> read(std::uint64_t file, std::uint64_t offset, std::size_t bytes) const;

  Or<NodeInfo> make_file(std::uint64_t directory, std::string_view name, mode_t mode);
  Or<NodeInfo> make_directory(std::uint64_t directory, std::string_view name, mode_t mode);
  Or<NodeInfo> link(std::uint64_t file, std::uint64_t directory, std::string_view name);
  Or<void> unlink(std::uint64_t directory, std::string_view name);
  Or<void> remove_directory(std::uint64_t directory, std::string_view name);
  Or<void> rename(std::uint64_t from, std::string_view name, std::uint64_t to, std::string_view new_name);
  Or<void> set_mode(std::uint64_t node, mode_t mode);

  Or<void> write(std::uint64_t file, std::uint64_t offset, std::string_view bytes);
  Or<void> resize(std::uint64_t file, std::uint64_t size);
  /// Zeros over what the file has in this range; its size stays.
  Or<void> clear(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes);
  Or<void> sync_file(std::uint64_t file);
  Or<void> sync_directory(std::uint64_t directory);

  // ------------------------------------------------------------------------------------------- as a disk

  /// The power fails before the operation of this number from now on, 0 being the next; only those count that change or
  /// sync something. From then on they fail with EIO and change nothing: a machine without power promises nothing.
  void cut_power_after(std::uint64_t operations);
  bool powered() const;
  /// The name of what that operation was to change or sync; "" when power has not been cut so.
  std::string struck() const;
  /// A lying disk says that it has synced, and has not.
  enum class Honesty : std::uint8_t { honest, lies };
  void set_honesty(Honesty honesty);
  /// Forgets, and has power again. Nobody may be using the files.
  void fail_power(const PowerFailure& failure);
  const Losses& losses() const { return losses_; }
  /// The bytes of all files that have a name.
  std::uint64_t bytes() const;

 private:
  struct Write {
    std::uint64_t offset = 0;
    std::string bytes;
    std::uint64_t size = 0;  // of the file, afterwards
  };
  using Names = std::map<std::string, std::uint64_t, std::less<>>;
  struct Node {
    mode_t mode = 0;
    std::string called = {};  // its last name
    std::uint64_t links = 0;
    timespec changed = {};
    // A file: what a reader sees, and how to get from there to what is durable and to what lies between.
    std::string content = {};
    std::map<std::uint64_t, std::string> before = {};  // durable pages that were written over
    std::uint64_t durable_size = 0;
    std::vector<Write> writes = {};
    // A directory.
    Names names = {};
    Names durable_names = {};
  };
  /// A name that gets another node, or none (0).
  struct Naming {
    std::uint64_t directory = 0;
    std::string name;
    std::uint64_t node = 0;
  };
  /// All of it or nothing.
  using Operation = std::vector<Naming>;
  class Dice;

  Or<void> step(std::string_view name);
  Or<Node*> directory_at(std::uint64_t number);
  Or<Node*> file_at(std::uint64_t number);
  NodeInfo info_of(std::uint64_t number, const Node& node) const;
  Or<NodeInfo> make(std::uint64_t directory, std::string_view name, mode_t mode);
  void apply(Operation operation);
  void overwrite(Node& file, std::uint64_t offset, std::string bytes, std::uint64_t size);
  void settle(const Operation& operation);
  void fail_names(Dice* dice);
  void fail_file(Node& file, Dice* dice);
  void forget_unreachable();

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t last_number_ = kRoot;
  std::vector<Operation> unsynced_;  // on names, in order
  std::optional<std::uint64_t> steps_left_;
  bool powered_ = true;
  std::string struck_;
  Honesty honesty_ = Honesty::honest;
  Losses losses_;
};

}  // namespace tidemark::testing
