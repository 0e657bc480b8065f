// Mounts a ForgetfulDisk, so that any program can keep its files there.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <thread>

#include "forgetful/disk.h"

struct fuse_session;

namespace tidemark::testing {

/// A mounted disk. A thread of its own answers the kernel, so threads of this process may use the files as well. It is
/// unmounted when this process ends, however that ends.
class Mount {
 public:
  /// Mounts the disk on a directory, which must be there and empty. Where that is not possible, a sentence that says
  /// why. The disk outlives the mount.
  static std::expected<std::unique_ptr<Mount>, std::string> make(ForgetfulDisk& disk, const std::string& directory);
  /// Unmounts, whoever still uses it, and waits until nothing is asked of the disk any more.
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

 private:
  Mount() = default;
  std::expected<void, std::string> attach(const std::string& directory);
  void watch();

  std::string directory_;
  fuse_session* session_ = nullptr;
  bool attached_ = false;
  int watched_ = -1;  // closed when this process ends
  pid_t watcher_ = -1;
  std::thread thread_;
};

}  // namespace tidemark::testing
