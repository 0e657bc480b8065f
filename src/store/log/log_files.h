// The port through which a commit log sees its disk: a directory of segment files. Errors are RETRY_LATER with a
// sentence that names the file, as a disk's errors are. The crash rules that both implementations keep; MemoryFiles
// plays them, so the tests of the log hold for any directory that does:
//  L1 What was written before a sync() that succeeded is there after any crash.
//  L2 Of what was written since, each sector of 512 bytes may be there or not, on its own; the rest of the file is as
//  it
//     was.
//  L3 create() and rename() are durable when they return; a removed file may come back after a crash.
//  L4 After create() the file has its full size and reads as zeros.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tidemark {

/// What names in the one folder begin with.
inline constexpr std::string_view kArchive = "archive/";

/// A segment file open for writing. One thread at a time.
class LogFile {
 public:
  virtual ~LogFile() = default;
  /// Overwrites bytes below the size that the file was made with. A failure may leave any part of them written.
  virtual Result<void> write(std::uint64_t offset, std::string_view bytes) = 0;
  /// Makes everything written durable. After a failure nothing is known of what was written since the last success.
  virtual Result<void> sync() = 0;
};

/// The directory. Different files may be worked on by different threads.
class LogFiles {
 public:
  virtual ~LogFiles() = default;
  /// For messages: where this is.
  virtual std::string place() const = 0;
  /// The names of all files, those in the folder with its name before them; sorted but for that.
  virtual Result<std::vector<std::string>> list() const = 0;
  /// Makes a file of this size, or makes one of that name anew. A failure may leave one of any size.
  virtual Result<std::unique_ptr<LogFile>> create(const std::string& name, std::uint64_t bytes) = 0;
  /// Opens a file that is there, with what it holds.
  virtual Result<std::unique_ptr<LogFile>> open(const std::string& name) = 0;
  /// The whole content.
  virtual Result<std::string> read(const std::string& name) const = 0;
  /// Gives a file another name; one that had it is replaced. An open LogFile stays open.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// Cuts a file off, to give back space that was reserved. Need not be durable.
  virtual Result<void> truncate(const std::string& name, std::uint64_t bytes) = 0;
  virtual Result<void> remove(const std::string& name) = 0;
  /// See Warm::room().
  virtual Result<void> room() const { return {}; }
};

}  // namespace tidemark
