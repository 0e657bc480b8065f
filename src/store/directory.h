// What the adapters of the embedded store do with files themselves: the lock, the format file, the pointer to the
// current database, hard links and copies. Everything here is durable when it returns, unless it says otherwise.
//
//   <path>/LOCK          held with flock while the store is open; the holder's process id for people
//   <path>/FORMAT        "tidemark-warm 8\n"
//   <path>/CURRENT_DB    "db-000001\n": the directory that holds the data
//   <path>/db-000001/    a RocksDB database; a recovery makes the next number
//   <path>/incoming/     sorted files that a database has not taken over yet
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tidemark {

/// RETRY_LATER with errno's sentence: "cannot <what> <path>: No space left on device".
std::unexpected<Error> disk_error(std::string_view what, std::string_view path, int error_number);

/// An exclusive lock on a store's directory, held until destroyed or the process ends, also within one process.
class DirectoryLock {
 public:
  /// RETRY_LATER that names the directory (and the process, when it is known) when it is held already.
  static Result<DirectoryLock> take(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// RETRY_LATER when another process holds the directory's lock. Writes nothing: it may be on a read-only disk.
Result<void> check_not_in_use(const std::string& directory);

/// Makes the directory and its parents; synced into each parent.
Result<void> make_directories(const std::string& directory);
Result<void> sync_directory(const std::string& directory);
/// Replaces a small file whole or not at all: temporary file, sync, rename, sync of the directory.
Result<void> replace_file(const std::string& path, std::string_view content);
/// The content of a small file, or nothing when there is none.
Result<std::optional<std::string>> read_file(const std::string& path);
/// Copies the first `bytes` of a file (all of it when it is shorter) into a new one and syncs that.
Result<void> copy_file(const std::string& from, const std::string& to, std::uint64_t bytes);
/// A hard link, or a copy where the file system has no links. The name is durable after sync_directory().
Result<void> link_file(const std::string& from, const std::string& to);
/// Names in a directory, sorted.
Result<std::vector<std::string>> list_directory(const std::string& directory);
/// Removes a directory with all that is in it; not synced, no error when something remains.
void remove_tree(const std::string& directory);
/// Bytes of all files below, counted once per name.
std::uint64_t tree_bytes(const std::string& directory);
/// Bytes that an ordinary process may still write.
Result<std::uint64_t> free_bytes(const std::string& directory);

/// RETRY_LATER with a sentence while less than this is free; 0 asks for nothing.
Result<void> room_on(const std::string& directory, std::uint64_t min_free_bytes);

/// "db-000012" and back; nothing for other names.
std::string database_name(std::uint64_t number);
std::optional<std::uint64_t> database_number(std::string_view name);

/// Checks FORMAT, or writes it in a new directory. INTERNAL for a version that is not `known` or when it is missing
/// beside data.
Result<void> check_format(const std::string& directory, std::uint32_t known);

}  // namespace tidemark
