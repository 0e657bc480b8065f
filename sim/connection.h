// One connection between a device and the server: WebSocket frames as bytes, each way a lane that is slow, silent,
// lossy or cut as the plan says. The server's end is the socket of a real link.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "gateway/link_socket.h"
#include "sim/run_context.h"
#include "wire/dialect.h"
#include "wire/websocket.h"

namespace tidemark::sim {

class Connection final : public LinkSocket, public std::enable_shared_from_this<Connection> {
 public:
  /// What an end does with what comes; empty once the end is closed.
  struct End {
    std::function<void(std::string_view)> on_data;  // device: a message; server: bytes
    std::function<void()> on_closed;
    std::function<void()> on_unblocked;  // server
  };

  Connection(RunContext& run, std::uint64_t id, Dialect dialect) : run_(run), id_(id), dialect_(dialect) {}

  Dialect dialect() const { return dialect_; }
  void open(End device, End server);
  /// The device's end.
  void device_send(std::string_view message);
  /// While it takes nothing, what comes waits.
  void device_takes(bool takes);
  /// It closes, or its process died: nothing is told to it any more.
  void device_close();
  /// The server's process died.
  void server_dies();

  // LinkSocket: the server's end.
  std::uint64_t id() const override { return id_; }
  void send(std::string_view bytes) override;
  void finish() override;
  void close() override;
  void pause(bool paused) override;
  /// Written by the server and not taken by the device.
  std::size_t waiting_bytes() const { return out_.size() + in_flight_bytes_; }
  bool blocked() const override { return in_flight_bytes_ > run_.plan.window_bytes; }

 private:
  struct Lane {
    std::deque<std::string> frames;  // in order
    std::int64_t last_at_ms = 0;
    std::int64_t silent_until_ms = 0;
    bool cut = false;
  };
  using Deliver = void (Connection::*)(std::string frame);
  void carry(Lane& lane, std::string frame, Deliver deliver);
  void schedule(std::int64_t at_ms, std::function<void()> act);
  void flush();
  void to_device(std::string frame);
  void to_server(std::string frame);
  void end_both();
  void tell_device();
  void tell_server();

  RunContext& run_;
  const std::uint64_t id_;
  const Dialect dialect_;
  End device_;
  End server_;
  bool device_open_ = true;
  bool device_takes_ = true;
  std::deque<std::string> untaken_;  // frames
  bool server_open_ = true;
  bool dead_ = false;  // cut
  Lane up_;
  Lane down_;
  std::string out_;
  bool flush_queued_ = false;
  bool finishing_ = false;
  bool paused_ = false;
  std::deque<std::string> held_;  // came while paused
  std::size_t in_flight_bytes_ = 0;
  static constexpr WebSocketLimits kLimits{16U << 20, 16U << 20, 256};  // those of the client library
  WebSocketCodec splitter_{WebSocketCodec::Role::client, kLimits};      // of what the server writes, into frames
  WebSocketCodec reader_{WebSocketCodec::Role::client, kLimits};        // of what reaches the device
};

}  // namespace tidemark::sim
