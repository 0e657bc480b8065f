// A blocking WebSocket client for tests, in either dialect. It reads only when it is asked to: a test that does not ask
// is a client that has stopped reading. Acks and cursors are its test's to choose.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tcp_stream.h"
#include "tidemark.pb.h"
#include "wire/dialect.h"
#include "wire/websocket.h"

namespace tidemark::testing {

struct Hello {
  std::string device = "d1";
  std::string install = {};
  pb::Cursor cursor = {};
  std::uint64_t generation = 0;
  std::string platform = "test";
};

class WsClient {
 public:
  /// Connects and upgrades; no hello yet. A refused upgrade is a std::runtime_error that carries the answer.
  WsClient(int port, Dialect dialect, const TcpOptions& options = {});

  // ------------------------------------------------------------------------------------------- frames

  /// Sends a request under the next id, which it returns.
  std::uint64_t post(pb::ClientFrame frame);
  /// The answer to a request; what else arrives meanwhile is kept. std::runtime_error when it does not come.
  pb::ServerFrame answer(std::uint64_t id);
  /// The answer if it has arrived already.
  std::optional<pb::ServerFrame> arrived(std::uint64_t id);
  /// post and answer.
  pb::ServerFrame call(const pb::ClientFrame& frame);
  /// Reads what arrives until the condition holds; whether it came to hold in time.
  bool wait_until(const std::function<bool()>& condition, std::int64_t timeout_ms = patience_ms());
  /// Reads whatever arrives within this time.
  void listen_for(std::int64_t time_ms);
  /// A whole message of the dialect's kind, whatever its bytes.
  void send_message(std::string_view payload);
  /// Bytes of the connection, below all framing.
  void send_bytes(std::string_view bytes) { stream_.write(bytes); }
  /// The masked frame of a payload.
  static std::string frame_of(WebSocketOpcode opcode, std::string_view payload,
                              WebSocketFrameEnd end = WebSocketFrameEnd::last);
  void ack(std::uint64_t mark);
  TcpStream& stream() { return stream_; }

  // ------------------------------------------------------------------------------------------- logging in

  /// Says hello and gives the answer. A welcome of mode delta sets the cursor to the one given.
  pb::ServerFrame hello(std::string_view token, const Hello& hello = {});
  /// hello, then syncs until everything is known; pushes follow from then on. Returns the welcome.
  pb::Welcome login(std::string_view token, const Hello& hello = {});
  /// Pulls down to the cursor, and moves it. The newest state of each conversation that changed.
  std::map<std::string, pb::Change> sync(std::uint32_t limit = 0);
  /// One page; neither the cursor nor anything else is moved.
  pb::SyncPage sync_page(const pb::SyncRequest& request);

  // ------------------------------------------------------------------------------------------- operations

  /// A text to a user under a fresh UUIDv7, or under the id given.
  pb::ServerFrame send(std::string_view to, std::string_view text, std::string_view client_msg_id = {});
  /// The same, and it must be taken.
  pb::Sent sent(std::string_view to, std::string_view text, std::string_view client_msg_id = {});
  pb::Sent sent_in(std::string_view conversation, std::string_view text, std::string_view client_msg_id = {});
  pb::Mutated read(std::string_view conversation, std::uint64_t seq);
  pb::Mutated mark_unread(std::string_view conversation);
  pb::ServerFrame recall(std::string_view conversation, std::uint64_t seq);
  pb::ServerFrame edit(std::string_view conversation, std::uint64_t seq, std::string_view text,
                       std::optional<std::uint64_t> base_revision = std::nullopt);
  pb::Change conversation(std::string_view id);
  /// The newest rows, at most the largest page.
  pb::HistoryPage history(std::string_view conversation, std::uint32_t limit = 200);
  pb::HistoryPage history(const pb::HistoryRequest& request);
  pb::ConversationPage conversation_sync(std::string_view conversation, std::uint64_t after, std::uint32_t limit = 0);

  // ------------------------------------------------------------------------------------------- what has come

  /// Where the client stands: moved by pushes that chain and by sync().
  const pb::Cursor& cursor() const { return cursor_; }
  /// Every item pushed, in order of arrival, repeats included; but not those that say that a device came or went.
  std::vector<pb::PushItem> pushed;
  std::vector<pb::PushItem> device_changes;
  /// Sizes of the push frames in items.
  std::vector<std::size_t> push_frames;
  std::vector<std::uint64_t> hints;
  std::vector<pb::Kick> kicks;
  std::vector<pb::HeadNotice> head_notices;
  std::vector<pb::PresenceState> presence;
  std::vector<pb::Ephemeral> ephemerals;
  std::vector<pb::ReceiptList> receipts;
  /// Errors that answer no request of ours (id 0).
  std::vector<pb::Error> stray_errors;
  /// Pushed entries of a conversation, each once, by seq.
  std::map<std::uint64_t, pb::Message> entries(std::string_view conversation) const;
  /// Pushed entries of a conversation, each once, in order of first arrival.
  std::vector<std::string> texts(std::string_view conversation) const;

  bool closed() const { return closed_code_.has_value() || stream_.closed(); }
  /// What the server closed with: kCloseNoStatus without a code, or nothing when it just went.
  std::optional<std::uint16_t> close_code() const { return closed_code_; }
  bool wait_closed(std::int64_t timeout_ms = patience_ms());
  /// Payload size of the last frame received.
  std::size_t last_frame_bytes() const { return last_frame_bytes_; }
  /// Pushes move the cursor; off: they are only kept.
  bool follow_pushes = true;

 private:
  /// Reads once; false when nothing came.
  bool pump(std::int64_t timeout_ms);
  void take(std::string_view payload);
  void take_push(const pb::Push& push);

  Dialect dialect_;
  TcpStream stream_;
  WebSocketCodec codec_;
  std::map<std::uint64_t, pb::ServerFrame> answers_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_mutation_ = 1;
  pb::Cursor cursor_;
  std::optional<std::uint16_t> closed_code_;
  std::size_t last_frame_bytes_ = 0;
};

/// A fresh UUIDv7 of this moment, or of another.
std::string new_id();
std::string id_of_time(std::int64_t time_ms);

/// A request to send a text to a user.
pb::ClientFrame send_frame(std::string_view to, std::string_view text, std::string_view client_msg_id);
/// The JSON body of the same for HTTP.
std::string send_json(std::string_view to, std::string_view text, std::string_view client_msg_id);

/// "" for an answer that is no error.
std::string code_of(const pb::ServerFrame& frame);

}  // namespace tidemark::testing
