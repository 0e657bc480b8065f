// The server: listens, owns the threads, and joins connections, service, engine and delivery.
//
// Threads: one for the network (sockets, links, delivery, answers), one for the commit round, a few for reading. They
// meet in three queues only: the engine's, the readers', and the network thread's. The store is opened by whoever
// composes the server and outlives it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/ports.h"
#include "gateway/auth.h"
#include "gateway/config.h"
#include "store/warm.h"

namespace tidemark {

class Server {
 public:
  struct World {
    Warm& warm;
    const Clock& clock;
    Random& random;
    Authenticator& authenticator;
    std::string cursor_key;        // secret under which cursors and page tokens are bound
    std::string hook_secret = {};  // what requests to the application are signed with
  };

  /// Binds and begins to serve. Errors: the port is taken or not allowed (field "listen"), TLS files and addresses of
  /// hooks (their setting).
  static Result<std::unique_ptr<Server>> start(const Config& config, World world);
  /// Ends everything still open.
  ~Server();

  /// The port bound, for a configured port of 0.
  int port() const;
  /// Blocks until SIGINT, SIGTERM or stop(), and until what was answered has left.
  void wait();
  /// Asks wait() to return. Any thread.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark
