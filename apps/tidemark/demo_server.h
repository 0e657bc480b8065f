// A server for a demonstration: a process of its own on a directory of its own, which can be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "apps/tidemark/http_calls.h"
#include "base/error.h"

namespace tidemark {

class DemoServer {
 public:
  /// Makes a temporary directory and picks a free port; nothing runs yet.
  static Result<std::unique_ptr<DemoServer>> make();
  /// Kills the server and removes the directory.
  ~DemoServer();
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;

  /// Starts this program as `tidemark serve` and waits until it takes sends. RETRY_LATER with the end of its log.
  Result<void> start();
  /// kill -9.
  void kill();

  /// A token for a user, signed by the server's keys.
  Result<std::string> token(const std::string& user) const;
  const ServerUrl& url() const { return url_; }
  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }

 private:
  DemoServer() = default;
  bool ready() const;
  std::string log_end() const;

  std::string directory_;
  ServerUrl url_;
  pid_t pid_ = -1;
};

}  // namespace tidemark
