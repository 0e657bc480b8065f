// The server as a process of its own, on a data directory of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/auth.h"

namespace tidemark::testing {

/// A directory that goes away with everything in it.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The program under test: TIDEMARK_BIN, or tidemark beside the test program.
std::string tidemark_program();

struct StandardStreams {
  int in = -1;  // -1: nothing to read
  int out = -1;
  int err = -1;
};
/// Starts a program without settings of ours in its environment; it dies with us. The streams stay the caller's.
pid_t spawn_program(std::vector<std::string> command, const StandardStreams& standard);

/// What a finished program left behind.
struct Finished {
  int exit_code = -1;  // 128 + the signal that ended it
  std::string out;
  std::string err;
};
/// Runs a program to its end; kills it when it takes longer than the patience.
Finished run_program(const std::vector<std::string>& command);

/// Of the server's memory: as it is, or the most since forget_peak_memory.
enum class MemoryOf : std::uint8_t { now, peak };

struct ServerOptions {
  std::vector<std::string> settings = {};  // "name=value", after those of the tests
  std::string data = {};                   // "" for a temporary directory
};

/// Starts the server and waits until it is ready; a server that does not start is a std::runtime_error that carries its
/// stderr; one that ends by itself later fails the test when it is to be stopped or killed. Rates are unlimited unless
/// set, caches small. Used by one thread.
class ServerProcess {
 public:
  explicit ServerProcess(ServerOptions options = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  const std::string& data() const { return data_; }

  /// kill -9, and waits until it is gone.
  void kill_hard();
  /// SIGTERM; the exit code, 128 + the signal that ended it, or -1 when it did not stop in time (then it is killed).
  int stop();
  /// Again on the same data, on a new port.
  void start();
  void restart_hard() {
    kill_hard();
    start();
  }

  /// What it wrote to stderr so far, over all starts.
  std::string log() const;
  /// One value of /metrics, or -1 when there is none of this name.
  double metric(const std::string& name) const;

  /// In KiB. A sanitizer keeps what was freed: then it is always 0.
  std::uint64_t memory_kib(MemoryOf which) const;
  void forget_peak_memory() const;

  std::string token(const std::string& user, const MintOptions& options = {}) const;
  std::string admin_token() const;
  /// A token that is later than all that the server has noted before.
  std::string newer_token(const std::string& user, const MintOptions& options = {}) const;
  /// A token whose time was over a minute before now.
  std::string expired_token(const std::string& user) const;

 private:
  const Authenticator& keys() const;
  void wait_listening(int out);
  void check_alive();
  int wait_exit(std::int64_t timeout_ms);

  std::unique_ptr<TempDirectory> temporary_;
  std::string data_;
  std::string log_path_;
  std::vector<std::string> settings_;
  pid_t pid_ = -1;
  int port_ = 0;
  mutable std::unique_ptr<Authenticator> keys_;
};

}  // namespace tidemark::testing
