// What a device's link writes to: a connection of the server, or one of the simulator's. Network thread only.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidemark {

class LinkSocket {
 public:
  virtual ~LinkSocket() = default;
  virtual std::uint64_t id() const = 0;
  /// Queues plain bytes.
  virtual void send(std::string_view bytes) = 0;
  /// Ends after what is queued has left.
  virtual void finish() = 0;
  /// Ends at once.
  virtual void close() = 0;
  /// Input is not read while paused: the peer feels it as a full window.
  virtual void pause(bool paused) = 0;
  /// The socket has not taken everything yet.
  virtual bool blocked() const = 0;
};

}  // namespace tidemark
