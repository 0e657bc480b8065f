// A device at the other end of a connection that keeps what is written to it. What it says goes through the link's own
// decoding; what it is told it reads as a client does, and it acknowledges what it is pushed as often as a client does.
// Only what the server does is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gateway/link_socket.h"
#include "gateway/ws_link.h"
#include "tests/instructions/world.h"
#include "wire/dialect.h"
#include "wire/websocket.h"

namespace tidemark::instructions {

class Device final : public LinkSocket {
 public:
  /// Logs in, takes all there is, and stands at the head from then on.
  Device(World& world, std::string user, std::string name, Dialect dialect);
  ~Device() override;

  /// Its connection brings this frame. Counted.
  void say(pb::ClientFrame& frame);
  /// Sends a message to a user, or into a group.
  void send_to(const std::string& user);
  void send_into(const std::string& conversation);
  /// Says it and plays rounds until it is answered; the answer must not be an error.
  pb::ServerFrame call(pb::ClientFrame& frame);
  /// Reads what has come since, and acknowledges.
  void read();

  /// All that it was told so far: messages acknowledged, entries pushed.
  std::uint64_t sent() const { return sent_; }
  std::uint64_t pushed() const { return pushed_; }
  /// The cursor at which it stood after its login.
  const pb::Cursor& cursor() const;

  // LinkSocket
  std::uint64_t id() const override { return id_; }
  void send(std::string_view bytes) override { written_ += bytes; }
  void finish() override;
  void close() override;
  void pause(bool) override {}
  bool blocked() const override { return false; }

 private:
  void send_message(pb::ClientFrame& frame);
  void catch_up();
  void take(const pb::ServerFrame& frame);

  World& world_;
  const std::uint64_t id_;
  const Dialect dialect_;
  std::unique_ptr<WsLink> link_;
  std::string written_;
  WebSocketCodec codec_{WebSocketCodec::Role::client, {1U << 24, 1U << 24, 16}};
  std::uint64_t next_request_ = 1;
  std::unique_ptr<pb::ServerFrame> answer_;  // to the request that is waited for
  std::uint64_t waits_for_ = 0;
  std::unique_ptr<pb::Cursor> cursor_;
  std::uint64_t sent_ = 0;
  std::uint64_t pushed_ = 0;
  std::uint64_t unacknowledged_ = 0;
  std::uint64_t mark_ = 0;
};

}  // namespace tidemark::instructions
