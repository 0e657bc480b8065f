// LogFiles in a directory of the machine. How each call becomes durable is said in disk_files.cc.
#pragma once

#include <cstdint>
#include <string>

#include "store/directory.h"
#include "store/log/log_files.h"

namespace tidemark {

/// Any thread.
class DiskFiles final : public LogFiles {
 public:
  /// The directory is there already. There is room while so much is free on its disk.
  explicit DiskFiles(std::string directory, std::uint64_t min_free_bytes = 0)
      : directory_(std::move(directory)), min_free_bytes_(min_free_bytes) {}

  std::string place() const override { return directory_; }
  Result<std::vector<std::string>> list() const override;
  Result<std::unique_ptr<LogFile>> create(const std::string& name, std::uint64_t bytes) override;
  Result<std::unique_ptr<LogFile>> open(const std::string& name) override;
  Result<std::string> read(const std::string& name) const override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> truncate(const std::string& name, std::uint64_t bytes) override;
  Result<void> remove(const std::string& name) override;
  Result<void> room() const override { return room_on(directory_, min_free_bytes_); }

 private:
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  const std::string directory_;
  const std::uint64_t min_free_bytes_;
};

}  // namespace tidemark
