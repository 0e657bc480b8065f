// LogFiles in memory, for tests and the simulator: a directory that outlives its users as a disk outlives a process,
// and that can be told to fail, to fill up, and to crash with any fate of each sector that was not synced.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/log/log_files.h"

namespace tidemark {

/// Thread-safe.
class MemoryFiles final : public LogFiles {
 public:
  static constexpr std::uint64_t kSectorBytes = 512;

  std::string place() const override { return "memory"; }
  Result<std::vector<std::string>> list() const override;
  Result<std::unique_ptr<LogFile>> create(const std::string& name, std::uint64_t bytes) override;
  Result<std::unique_ptr<LogFile>> open(const std::string& name) override;
  Result<std::string> read(const std::string& name) const override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> truncate(const std::string& name, std::uint64_t bytes) override;
  Result<void> remove(const std::string& name) override;

  /// Asked before each step that changes something ("create", "open", "write", "sync", "rename", "truncate", "remove");
  /// true makes it fail. A failed creation leaves an empty file, a failed write has been made up to its middle, a
  /// failed sync leaves everything unsynced.
  void set_fault(std::function<bool(std::string_view step)> fault);
  /// The machine dies: `kept` decides for each sector written and not synced, and for each file removed and not yet
  /// durably gone, whether the change is on the disk. Files open now are dead: their writes go nowhere.
  void crash(const std::function<bool()>& kept);
  /// Inverts the bits of one byte, for good.
  void damage(const std::string& name, std::uint64_t place);
  /// A directory with what is synced here now: a backup.
  std::shared_ptr<MemoryFiles> copy() const;

 private:
  friend class MemoryFile;
  struct Content {
    std::string bytes;
    std::map<std::uint64_t, std::string> unsynced;  // sectors as they are on the disk, by number
  };
  Result<void> step(std::string_view name) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Content>> files_;
  std::map<std::string, std::shared_ptr<Content>> removed_;  // since the last rename or creation
  std::uint64_t life_ = 0;                                   // crashes so far
  std::function<bool(std::string_view step)> fault_;
};

}  // namespace tidemark
