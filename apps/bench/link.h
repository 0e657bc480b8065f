// One device's WebSocket link, as a client that keeps the protocol: hello, cumulative acks, pulling on a hint,
// heartbeats. Everything happens inside the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "apps/bench/loop.h"
#include "wire/dialect.h"
#include "wire/http_parser.h"
#include "wire/websocket.h"

namespace tidemark {
namespace v1 {
class Change;
class Push;
class SyncPage;
class Welcome;
}  // namespace v1
namespace bench {

/// Where a device stands in its user's index.
struct Position {
  std::uint32_t epoch = 0;
  std::string epoch_id = {};
  std::uint64_t mark = 0;
  std::uint64_t round = 0;
};

/// Whether a hint is followed by a pull of everything, as a real device would.
enum class OnHint : std::uint8_t { pull, ignore };

struct LinkPlan {
  std::string host;  // an IPv4 address
  int port = 0;
  Dialect dialect = Dialect::binary;
  std::string user;
  std::string device;
  std::string token;
  Position position = {};
  OnHint on_hint = OnHint::pull;
  std::string source = {};  // address to connect from; "" leaves it to the system
};

class Link final : public Loop::Watched {
 public:
  Link(Loop& loop, LinkPlan plan) : loop_(loop), plan_(std::move(plan)) {}
  ~Link() override;

  /// Connects; the upgrade and the hello follow by themselves. The socket alone with connect_only: hello() goes on.
  enum class Start : std::uint8_t { whole, upgrade_only };
  Result<void> start(Start start = Start::whole);
  /// For upgrade_only, once upgraded().
  void hello();
  bool upgraded() const { return state_ == State::upgraded || state_ == State::greeting || state_ == State::welcomed; }
  bool welcomed() const { return state_ == State::welcomed; }
  /// Closes without a word, as a device that loses its network.
  void drop();

  /// Queues a frame; it leaves when the loop turns.
  void send(const pb::ClientFrame& frame);
  /// Ids of the link's own requests lie above this; works use those below.
  static constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 50;

  const Position& position() const { return plan_.position; }
  const LinkPlan& plan() const { return plan_; }
  std::uint64_t hints() const { return hints_; }

  /// Answers to frames that a work sent, errors included. Without a handler an error stops the loop.
  std::function<void(const pb::ServerFrame&)> on_answer;
  /// What was pushed, item by item.
  std::function<void(const pb::PushItem&)> on_item;
  /// What a pull brought: a conversation with its messages.
  std::function<void(const v1::Change&)> on_pulled;

  void on_ready(std::uint32_t events) override;
  void flush() override;
  void tick(std::int64_t now_ns) override;

 private:
  enum class State : std::uint8_t { idle, upgrading, upgraded, greeting, welcomed, closed };

  void take(std::span<char> bytes);
  void take_upgrade(std::span<char> bytes);
  void take_message(std::string_view bytes);
  void take_frame(const pb::ServerFrame& frame);
  void take_welcome(const v1::Welcome& welcome);
  void take_push(const v1::Push& push);
  void take_pulled(const v1::SyncPage& page);
  void pull(const std::string& page_token);
  void acknowledge();
  void queue(std::string_view bytes);
  void give_up(const std::string& why);
  void close_socket();

  Loop& loop_;
  LinkPlan plan_;
  int fd_ = -1;
  State state_ = State::idle;
  Start start_ = Start::whole;
  bool flush_queued_ = false;
  bool blocked_ = false;
  bool pulling_ = false;
  std::string key_;  // of the upgrade
  std::string out_;
  HttpResponseParser upgrade_;
  WebSocketCodec codec_{WebSocketCodec::Role::client, {16u << 20, 16u << 20, 64}};
  std::uint64_t mask_state_ = 0;
  std::uint64_t own_id_ = kOwnIds;
  std::uint64_t hints_ = 0;
  std::uint32_t unacknowledged_ = 0;
  std::int64_t waiting_since_ns_ = 0;  // of the first unacknowledged entry
  std::int64_t written_ns_ = 0;
};

}  // namespace bench
}  // namespace tidemark
