// One TCP connection: bytes in, through TLS where it is on, into HTTP or, after an upgrade, WebSocket frames; bytes
// out, gathered so that one round of work leaves in one write. Network thread only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gateway/link_socket.h"
#include "wire/http_parser.h"
#include "wire/tls.h"
#include "wire/websocket.h"

namespace tidemark {

class Connection;
class WsLink;

/// What a connection belongs to: the server.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  /// A complete request that is no upgrade. The answer comes by Connection::respond.
  virtual void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) = 0;
  /// A request to upgrade: returns the link that takes the frames (and has queued the handshake's answer), or nothing
  /// when it was refused and answered.
  virtual std::unique_ptr<WsLink> on_upgrade(const std::shared_ptr<Connection>& connection, HttpRequest request) = 0;
  virtual void on_closed(Connection& connection) = 0;
  /// Have flush() called once the present piece of work is done.
  virtual void flush_later(const std::shared_ptr<Connection>& connection) = 0;
  /// Room to read into, used by one connection at a time.
  virtual std::span<char> read_buffer() = 0;
  virtual std::int64_t now_ms() const = 0;
  /// Answers are the last ones of their connections.
  virtual bool stopping() const = 0;
};

class Connection final : public LinkSocket, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  Connection(std::uint64_t id, Socket socket, std::string address, ConnectionOwner& owner, HttpLimits http,
             std::unique_ptr<TlsFilter> tls);
  ~Connection() override;

  void start();
  void send(std::string_view bytes) override;
  /// Queues the answer to the last request, and goes on with the next or closes.
  void respond(const HttpReply& reply);
  /// Writes what is queued as far as the socket takes it.
  void flush();
  /// Ends after what is queued has left, or at `write_timeout_ms` of the owner.
  void finish() override;
  /// Ends at once.
  void close() override;
  void pause(bool paused) override;
  bool blocked() const override { return blocked_; }

  std::uint64_t id() const override { return id_; }
  const std::string& address() const { return address_; }
  WsLink* link() { return link_.get(); }
  bool in_request() const { return in_request_; }
  /// Since when a request is arriving or TLS shakes hands; 0: neither.
  std::int64_t arriving_since_ms() const;
  std::int64_t last_input_ms() const { return last_input_ms_; }
  /// Since when the socket has taken nothing although bytes wait; 0: nothing waits.
  std::int64_t blocked_since_ms() const { return blocked_ ? last_output_ms_ : 0; }

 private:
  bool readable() const;
  void wait_readable();
  void on_readable();
  bool take_cipher(std::span<char> bytes);
  void take_plain(std::span<char> bytes);
  void take_http(std::string_view bytes);
  void take_frames(std::span<char> bytes);
  void refuse_http(const HttpRefusal& refusal);
  void wait_writable();

  const std::uint64_t id_;
  Socket socket_;
  ConnectionOwner& owner_;
  std::unique_ptr<TlsFilter> tls_;
  HttpParser http_;
  std::unique_ptr<WsLink> link_;
  std::string out_;
  std::string held_;  // input behind a request that is being answered
  std::string address_;
  std::int64_t opened_ms_ = 0;
  std::int64_t last_input_ms_ = 0;
  std::int64_t last_output_ms_ = 0;
  std::int64_t request_since_ms_ = 0;
  bool in_request_ = false;
  bool keep_alive_ = true;
  bool to_head_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool blocked_ = false;
  bool finishing_ = false;
  bool input_ended_ = false;
  bool closed_ = false;
  bool flush_queued_ = false;
};

}  // namespace tidemark
