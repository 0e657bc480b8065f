// LogFiles in a directory of the machine. How each call becomes durable is said in disk_files.cc.
#pragma once

#include <string>

#include "store/log/log_files.h"

namespace tidemark {

/// Any thread.
class DiskFiles final : public LogFiles {
 public:
  /// The directory is there already.
  explicit DiskFiles(std::string directory) : directory_(std::move(directory)) {}

  std::string place() const override { return directory_; }
  Result<std::vector<std::string>> list() const override;
  Result<std::unique_ptr<LogFile>> create(const std::string& name, std::uint64_t bytes) override;
  Result<std::unique_ptr<LogFile>> open(const std::string& name) override;
  Result<std::string> read(const std::string& name) const override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> truncate(const std::string& name, std::uint64_t bytes) override;
  Result<void> remove(const std::string& name) override;

 private:
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  const std::string directory_;
};

}  // namespace tidemark
