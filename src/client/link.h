// The line to a server: one thread that connects, greets in WebSocket, carries messages both ways and connects again
// when the line is lost, each time after a longer wait with jitter. It knows nothing of what the messages say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/dialect.h"

namespace tidemark {

struct LinkOptions {
  std::string url;  // ws://host:port/path or wss://...; without a port 80 or 443
  Dialect dialect = Dialect::binary;
  std::string ca_file;                 // PEM; "" for the system's certificates
  bool verify = true;                  // whether a wss server must prove its name
  std::int64_t connect_ms = 10'000;    // for name, TCP, TLS and upgrade together
  std::int64_t retry_min_ms = 1'000;   // the first wait is at most this
  std::int64_t retry_max_ms = 30'000;  // no wait is longer
};

/// What a link tells. All calls come from the link's own thread, none after stop() has returned.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;
  virtual void on_open() = 0;
  virtual void on_message(std::string_view bytes) = 0;
  /// After on_open, or instead of it when connecting failed; `why` says so in words.
  virtual void on_closed(const std::string& why) = 0;
  virtual void on_timer() = 0;
};

class Link {
 public:
  /// MALFORMED with the field "url" or "tls.ca_file".
  static Result<std::unique_ptr<Link>> make(const LinkOptions& options, LinkHandler& handler);
  /// Stops.
  ~Link();

  // From any thread.

  void start();
  /// Ends the connection and the thread. Not from a handler's call.
  void stop();
  /// One message; lost when there is no connection.
  void send(std::string bytes);
  /// Gives the present connection up, and makes a new one unless retired.
  void drop();
  /// No new connections until revived.
  void retire();
  void revive();
  /// The server has welcomed us: the next wait is a short one again.
  void settled();
  /// Calls on_timer at this time (base/ports.h, SystemClock::steady_ms) instead of any told before.
  void wake_at(std::int64_t steady_ms);

 private:
  struct Impl;
  explicit Link(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark
