// Small files that are read whole (settings, keys) and secrets that are made once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// What changes when a file is written or replaced.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

struct SmallFile {
  std::string text;
  FileStamp stamp;
  std::uint32_t mode = 0;  // permission bits
};

/// Reads a whole file. Errors carry `field` and a detail that names the file: NOT_FOUND if it cannot be opened or read,
/// TOO_LARGE beyond `bytes_max`, MALFORMED for a directory.
Result<SmallFile> read_small_file(const std::string& path, std::size_t bytes_max, std::string_view field);

/// The stamp of the file that `path` names now, or NOT_FOUND.
Result<FileStamp> file_stamp(const std::string& path, std::string_view field);

/// Whether this call made a file or found one.
enum class Made : std::uint8_t { now, before };

/// Makes a file of mode 0600 with this text, whole and durable or not at all, unless one is there: of several processes
/// that try at once one makes it and the others find it. RETRY_LATER with field "data" when the disk does not allow it.
Result<Made> make_secret_file(const std::string& path, std::string_view text);

}  // namespace tidemark
