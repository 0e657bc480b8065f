// The devices' links of a server and what befalls all of them: delivery's decisions, a round's outcome in its order,
// the end of silent, idle and expired ones, notes of what devices have acknowledged. The server and the simulator both
// run this, so that what the simulator shows is the product. Network thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ports.h"
#include "engine/delivery.h"
#include "engine/engine.h"
#include "gateway/auth.h"
#include "gateway/config.h"
#include "gateway/kick_brake.h"
#include "gateway/link_socket.h"
#include "gateway/metrics.h"
#include "gateway/rate_limit.h"
#include "gateway/service.h"
#include "wire/dialect.h"

namespace tidemark {

class WsLink;

class Links final : private DeliveryPort {
 public:
  using Authenticate = std::function<Result<Principal>(std::string_view token)>;
  /// All that is given by reference must outlive this.
  Links(const Config& config, const Clock& clock, Service& service, Metrics& metrics, Authenticate authenticate);
  ~Links() override;

  /// The link of a connection that speaks WebSocket from now on. It must be told of its connection's end, unless this
  /// ends with it.
  std::unique_ptr<WsLink> make(LinkSocket& socket, Dialect dialect, std::string bearer);
  /// Gives out what a round has decided.
  void publish(Outcome outcome);
  /// Call about once a second.
  void tick();
  /// Tells every device that the server stops.
  void shut_down();

  /// Devices that are welcomed.
  std::size_t devices() const { return delivery_.sessions(); }
  /// Users with a device that is welcomed or about to be.
  std::size_t users() const { return links_of_.size(); }
  /// Whether a device of the user is welcomed, and what the foremost of them has acknowledged.
  bool online(const UserId& user) const;
  Mark acknowledged(const UserId& user) const;

  // What a link needs.
  Service& service() { return service_; }
  Delivery& delivery() { return delivery_; }
  void count_frame(std::size_t bytes);
  Result<Principal> authenticate(std::string_view token) const { return authenticate_(token); }
  /// Whether the user may log in once more now (rate, number of links). Counted until left().
  Result<void> admit_login(const UserId& user, const DeviceId& device);
  /// The login was refused for good: it is not counted against the user's other devices.
  void login_refused(const UserId& user) { login_rate_.give_back(user.value); }
  void note_last_seen(WsLink& link);
  /// What was said in passing while the link's user did not look, and still lives.
  void tell_ephemerals(WsLink& link);
  /// The link's user is known: it is one of his from now on.
  void joined(WsLink& link);
  void left(const WsLink& link);
  const pb::ServerFrame& welcome_limits() const { return *welcome_; }
  std::int64_t now_ms() const { return clock_.steady_ms(); }
  std::int64_t wall_ms() const { return clock_.wall_ms(); }
  const Limits& limits() const { return config_.limits; }

 private:
  // DeliveryPort
  void push(SessionId session, std::span<const PushRef> items) override;
  void hint(SessionId session, Mark head) override;
  void heads(SessionId session, std::span<const KnownHead> heads, std::int64_t spread_ms) override;
  void end(SessionId session, LinkEnd reason) override;
  bool blocked(SessionId session) const override;

  WsLink* find(SessionId session) const;
  void end_session(const EndedSession& ended);
  void take_ephemeral(const std::vector<UserId>& users, const Ephemerals::Shared& ephemeral, SessionId sender);
  /// Whether the link can be told what may as well be dropped: no message waits for its socket.
  bool idle(const WsLink& link) const;
  void tell_presence(std::int64_t now);
  /// Who read, as far as somebody watches it.
  void note_reads(const std::vector<Notice>& notices);
  void note_blocks(const std::vector<Notice>& notices);
  void tell_receipts(std::int64_t now);
  /// Does something with each link; links may end meanwhile.
  template <typename Act>
  void for_each(Act act);
  void end_all_of(const UserId& user);
  void end_if_due(WsLink& link, std::int64_t now);
  void note_seen(std::int64_t now);
  void note(SessionId from, DeviceSeenCommand seen);

  const Config& config_;
  const Clock& clock_;
  Service& service_;
  Metrics& metrics_;
  const Authenticate authenticate_;
  const std::unique_ptr<pb::ServerFrame> welcome_;
  Delivery delivery_;
  Ephemerals ephemerals_;
  RateLimiter login_rate_;
  RateLimiter device_login_rate_;  // refused ones count too
  KickBrake kick_brake_;
  std::map<SessionId, WsLink*> links_;  // from the upgrade to the end; in an order, for the simulator
  std::unordered_map<UserId, std::vector<WsLink*>> links_of_;  // with a hello, in its order
  std::int64_t seen_noted_ms_;
};

}  // namespace tidemark
