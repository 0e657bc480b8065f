// The operations, once for every way in: a socket frame in either dialect and an HTTP request both become a
// ClientFrame here and get a ServerFrame back. Changes go to the engine's queue, reads to the reader threads.
// Lives on the network thread; answers are given there too.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/ports.h"
#include "core/reads.h"
#include "engine/engine.h"
#include "engine/ephemerals.h"
#include "engine/presence.h"
#include "engine/receipt_watch.h"
#include "gateway/metrics.h"
#include "gateway/page_token.h"
#include "gateway/rate_limit.h"
#include "gateway/send_gate.h"
#include "gateway/totals_cache.h"
#include "store/store_view.h"
#include "wire/dialect_fwd.h"

namespace tidemark {

namespace v1 {
class PresenceList;
}

/// Who calls. A device is empty where none was named (plain HTTP).
struct Caller {
  UserId user;
  DeviceId device;
  InstallId install = {};
  bool admin = false;
  std::string level = {};                        // as the token says
  std::optional<std::uint64_t> generation = {};  // of the link's session; nothing: HTTP
  SessionId link = 0;                            // 0: HTTP
  std::int64_t token_issued_at = 0;
  bool token_of_device = false;
  // Of one request: the name under which it is done once, and what it asks for; empty: none.
  std::string idempotency_key = {};
  Digest request{};
};

/// The session that a call belongs to; an administrator's belong to none.
Session session_of(const Caller& caller);

/// An answer, or the refusal. The frame's id is not set.
using Answer = std::move_only_function<void(Result<std::unique_ptr<pb::ServerFrame>>)>;
using Task = std::move_only_function<void()>;

/// Where work is done; each queue keeps its order.
struct Threads {
  std::function<void(Task)> on_network;
  std::function<void(Task)> on_reader;
};

struct ServiceLimits {
  Rate messages;
  Rate requests;
  Rate ephemerals;
  std::size_t users_max = 100'000;  // whose rates are kept in mind
  std::size_t watched_max = 200;
  std::int64_t presence_every_ms = 1'000;
  bool shows_online = true;
  bool shows_last_seen = true;
};

class Service {
 public:
  Service(Engine& engine, const Clock& clock, PageTokens tokens, Threads threads, ServiceLimits limits,
          Metrics& metrics);

  /// Whether an operation changes something (is answered in order of the engine's queue) or only reads.
  static bool changes(const pb::ClientFrame& request);

  /// Does what the frame asks for. Hello, ack and heartbeat belong to the link and are refused here.
  void call(const Caller& caller, const pb::ClientFrame& request, Answer answer);

  /// The sync of HTTP: the cursor is one opaque string, and so is the next one.
  Result<void> open_sync_cursor(const Caller& caller, std::string_view cursor, pb::ClientFrame& request) const;
  void seal_sync_cursor(const Caller& caller, const pb::ClientFrame& request, pb::ServerFrame& answer) const;

  /// The digest of the caller's large groups; 0 when it cannot be read.
  void large_digest(const Caller& caller, std::move_only_function<void(std::uint64_t)> done);

  Engine& engine() { return engine_; }
  Presence& presence() { return presence_; }
  /// A state as it may be told.
  void tell_state(const PresenceState& state, pb::PresenceList& out) const;
  ReceiptWatch& receipt_watch() { return receipt_watch_; }
  /// What changed of receipts that a link watches, as its user may be told it now.
  void changed_receipts(const Caller& caller, const ReceiptWatch::Due& due, Answer answer);
  /// Where ephemerals go: to the links of these users, but not to the one that sent it (0: none).
  using ToLinks = std::function<void(const std::vector<UserId>& users, const Ephemerals::Shared&, SessionId sender)>;
  void send_ephemerals_to(ToLinks links) { to_links_ = std::move(links); }
  /// From now on the application is asked before a message is taken. It must outlive this.
  void ask_before_send(BeforeSendAsker& asker, WhenDown when_down);
  /// A message of this conversation was taken back, and its author is about to be told: what was read of it before that
  /// is read again before it is answered.
  void recalled(const ConversationId& conversation);

 private:
  static constexpr int kReadAttempts = 5;
  using Read = std::move_only_function<Result<std::unique_ptr<pb::ServerFrame>>(StoreView&)>;
  void read(const Caller& caller, Read read, Answer answer, int attempts_left = kReadAttempts);
  /// Whether a message was taken back, since `recalls` of them, in a conversation that the frame shows.
  bool recalled_since(std::uint64_t recalls, const pb::ServerFrame& frame) const;
  void submit(const Caller& caller, Command command, Answer answer);
  /// A command that could not be made of its request is refused.
  template <typename Made>
  void submit_made(const Caller& caller, Result<Made> command, Answer answer);
  void give(const DeviceId& asking, Result<Reply> reply, Answer& answer);
  void group_call(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void create_group(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void read_group_of(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void delete_user(const Caller& caller, const UserId& user, Answer answer);
  void operate(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  Result<void> admit(const Caller& caller, const pb::ClientFrame& request);
  void objects(const Caller& caller, ObjectKind kind, Answer answer);
  void drafts(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void send(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void send_asked(const Caller& caller, SendCommand command, Answer answer);
  void mutate(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void sync(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void history(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void reactions(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void conversations(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void heads(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void members(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void presence(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void ephemeral(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void receipts(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void read_receipts_of(ReceiptsQuery query, const Caller& caller, Answer answer);
  void totals(const Caller& caller, Answer answer);
  void devices(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void end_sessions(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void put_users(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void create_groups(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void import(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void dead_events(const Caller& caller, const pb::ClientFrame& request, Answer answer);
  void replay_events(const pb::ClientFrame& request, Answer answer);
  void admin_call(const Caller& caller, const pb::ClientFrame& request, Answer answer);

  Engine& engine_;
  const Clock& clock_;
  const PageTokens tokens_;
  const Threads threads_;
  std::uint64_t recalls_ = 0;            // made known so far
  std::deque<ConversationId> recalled_;  // where the last of them were
  Metrics& metrics_;
  const ServiceLimits limits_;
  RateLimiter message_rate_;
  RateLimiter request_rate_;
  RateLimiter ephemeral_rate_;
  Presence presence_;
  ReceiptWatch receipt_watch_;
  TotalsCache totals_;
  ToLinks to_links_;
  std::unique_ptr<SendGate> gate_;
};

}  // namespace tidemark
