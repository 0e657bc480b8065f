// The server under test: a child process of the bench, or one that runs already.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace tidemark::bench {

/// A fresh directory that is removed with everything in it, unless kept.
class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> make(const std::string& parent);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool kept_ = false;
};

/// `tidemark serve` on a free port of 127.0.0.1, stopped by its pid when this goes, and by the kernel when the bench
/// dies.
class ServerProcess {
 public:
  /// `settings` are name=value each. Waits until it listens; otherwise the error has the end of its log.
  static Result<std::unique_ptr<ServerProcess>> start(const std::string& binary, const std::string& directory,
                                                      const std::vector<std::string>& settings);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  int port() const { return port_; }
  /// kill -9; returns when it is gone.
  void kill_hard();

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}
  Result<void> wait_until_listening(const std::string& log);
  bool ended(int wait_ms);

  pid_t pid_;
  bool reaped_ = false;
  int port_ = 0;
};

/// Memory of a process from /proc/PID/smaps_rollup, in bytes; zeros when it cannot be read.
struct Memory {
  std::uint64_t resident = 0;
  std::uint64_t anonymous = 0;
  std::uint64_t private_pages = 0;
};
Memory memory_of(pid_t pid);

/// The server's counters and gauges by name (those without labels), from GET /metrics.
Result<std::map<std::string, double>> read_metrics(const std::string& host, int port);

}  // namespace tidemark::bench
