// A device's link: hello, requests in order, pushes, acks, heartbeats, and the end. Network thread only.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>

#include "engine/delivery.h"
#include "gateway/link_socket.h"
#include "gateway/service.h"
#include "wire/dialect.h"
#include "wire/websocket.h"

namespace tidemark {

namespace v1 {
class AckRequest;
class Cursor;
}  // namespace v1

class Links;

class WsLink final {
 public:
  WsLink(LinkSocket& socket, Links& links, Dialect dialect, WebSocketLimits limits, std::string bearer);
  ~WsLink();

  // From the socket.
  void on_bytes(std::span<char> bytes);
  void on_unblocked();
  void on_closed();

  // From delivery.
  void push(std::span<const PushRef> items);
  void hint(Mark head);
  void heads(std::span<const KnownHead> heads, std::int64_t spread_ms);
  bool blocked() const;
  /// What its user's contacts did.
  void tell_presence(const std::vector<PresenceState>& states);
  void tell_ephemeral(const Ephemeral& ephemeral);
  /// Something that was not asked for.
  void tell(const pb::ServerFrame& frame) { send(frame); }
  /// Somebody looks at the device.
  bool foreground() const { return foreground_; }

  /// Tells the client why, then ends the link. A terminal kick is not followed by a reconnect.
  enum class Reconnect : std::uint8_t { no, yes };
  void kick(std::string_view code, std::string_view message, Reconnect reconnect);
  /// Its session is not, or not any more, the one that the store has.
  void kick_fenced() { kick("SESSION_FENCED", "This session is over; connect again.", Reconnect::yes); }
  /// Ends the connection without a word.
  void close() { socket_.close(); }

  /// What it holds of requests, for those who watch over its bounds.
  struct Held {
    std::size_t requests = 0;    // not answered
    std::size_t bytes = 0;       // of those not begun
    std::size_t last_bytes = 0;  // of the last of them
  };
  Held held() const;

  /// That the device was here and what it has acknowledged, as far as it is worth a note; or nothing.
  std::optional<DeviceSeenCommand> take_seen();
  /// The same at the link's end, as of the last frame.
  std::optional<DeviceSeenCommand> take_last_seen();
  /// What take_seen gave could not be stored.
  void note_again();

  SessionId id() const { return id_; }
  /// When the upgrade was accepted.
  std::int64_t since_ms() const { return since_ms_; }
  std::int64_t last_input_ms() const { return last_input_ms_; }
  bool welcomed() const { return state_ == State::welcomed; }
  const Caller& caller() const { return caller_; }
  const UserId& user() const { return caller_.user; }
  const DeviceId& device() const { return caller_.device; }
  /// Of its session, once welcomed.
  std::uint64_t generation() const { return caller_.generation.value_or(0); }
  std::int64_t token_expires_ms() const { return expires_ms_; }

 private:
  enum class State : std::uint8_t { fresh, logging_in, welcomed, ended };
  void on_message(std::string_view bytes);
  void on_frame(std::unique_ptr<pb::ClientFrame> frame);
  void hello(const pb::ClientFrame& frame);
  void welcome(std::uint64_t id, const Cursor& cursor, std::uint64_t large_digest, Result<Reply> reply);
  void run_waiting();
  std::size_t unanswered() const;
  bool full() const;
  bool half_empty() const;
  void start(std::unique_ptr<pb::ClientFrame> frame);
  void answer(const pb::ClientFrame& request, Result<std::unique_ptr<pb::ServerFrame>> result);
  void heartbeat(const pb::ClientFrame& frame);
  void answer_heartbeat(std::uint64_t id, bool heads_wanted);
  void set_foreground(const pb::ClientFrame& frame);
  void send(const pb::ServerFrame& frame);
  void send_error(std::uint64_t id, const Error& error);
  void send_payload(std::string_view payload);
  void end(std::uint16_t close_code, std::string_view reason);
  DeviceSeenCommand note_seen();
  void acknowledge(const pb::AckRequest& ack);
  void acknowledge_cursor(const pb::Cursor& cursor);

  LinkSocket& socket_;
  Links& links_;
  const SessionId id_;
  const Dialect dialect_;
  State state_ = State::fresh;
  bool foreground_ = true;
  bool seen_due_ = false;  // a frame came, or an ack moved, since the last note
  WebSocketCodec codec_;
  std::string bearer_;
  Caller caller_;
  Mark noted_;
  std::uint64_t noted_round_ = 0;
  std::int64_t noted_ms_ = 0;  // 0: not yet
  Epoch epoch_;
  std::int64_t expires_ms_ = 0;
  const std::int64_t since_ms_;
  std::int64_t last_input_ms_;

  // Requests are answered in their order: changes may overlap each other, a read stands alone.
  std::unique_ptr<std::deque<std::unique_ptr<pb::ClientFrame>>> waiting_;  // made on demand: an idle link is small
  std::size_t changes_running_ = 0;
  bool read_running_ = false;
  std::size_t waiting_bytes_ = 0;
  bool paused_ = false;
  /// Answers that come after the link's end find nobody.
  std::shared_ptr<WsLink*> alive_;
};

}  // namespace tidemark
