// The server of a run: the real engine, delivery, service and links, over a simulated disk, in virtual time. What the
// real one does in threads are events here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "engine/delivery.h"
#include "engine/engine.h"
#include "gateway/metrics.h"
#include "gateway/service.h"
#include "gateway/ws_link.h"
#include "sim/connection.h"
#include "sim/run_context.h"
#include "store/memory/memory_warm.h"

namespace tidemark::sim {

/// Told of what the server lets out.
class ServerWatch {
 public:
  virtual ~ServerWatch() = default;
  /// A round was published; the snapshot is what a crash right now would leave.
  virtual void on_published(const Outcome& outcome) = 0;
  /// Its answers are about to be given, then its notices.
  virtual void on_telling(const Outcome& outcome) = 0;
  virtual void on_started() = 0;
  /// The process is about to die; what it has let out can still be looked up.
  virtual void on_dying() = 0;
};

class SimServer final : public LinkOwner, public DeliveryPort {
 public:
  SimServer(RunContext& run, ServerWatch& watch);
  ~SimServer() override;

  void start();
  /// The process dies; unsynced bytes have the given fate.
  void crash(MemoryDisk::Fate fate);
  bool up() const { return engine_ != nullptr; }
  /// A device connects. Nothing when the server is down.
  std::shared_ptr<Connection> connect(Dialect dialect, Connection::End device);

  /// A command as a backend gives it over HTTP; `done` is not called when the server dies before.
  void submit(Command command, Done done);
  /// A read as over HTTP.
  std::shared_ptr<const Snapshot> snapshot() const { return warm_->snapshot(); }
  const CoreParams& params() const { return engine_->params(); }
  bool writable() const { return engine_ && engine_->status().writable; }
  MemoryDisk& disk() { return *disk_; }
  SimClock& clock() { return clock_; }

  // LinkOwner
  Service& service() override { return *service_; }
  Delivery& delivery() override { return *delivery_; }
  void count_frame(std::size_t) override {}
  Result<Principal> authenticate(std::string_view token) override;
  Result<void> admit_login(const UserId&) override { return {}; }
  void entered(WsLink& link) override { links_[link.id()] = &link; }
  void left(WsLink& link) override { links_.erase(link.id()); }
  const pb::ServerFrame& welcome_limits() const override;
  std::int64_t now_ms() const override { return clock_.steady_ms(); }
  std::int64_t wall_ms() const override { return clock_.wall_ms(); }
  std::size_t unanswered_max() const override;
  std::size_t unanswered_bytes_max() const override;

  // DeliveryPort
  void push(SessionId session, std::span<const PushRef> items) override;
  void hint(SessionId session, Mark head) override;
  void end(SessionId session, LinkEnd reason) override;
  bool blocked(SessionId session) const override;

 private:
  struct Session {
    std::shared_ptr<Connection> connection;
    std::unique_ptr<WsLink> link;
  };
  /// Runs `act` in `delay_ms` unless the process has died by then.
  void later(std::int64_t delay_ms, std::function<void()> act);
  void wake();
  void run_round();
  void publish(Outcome outcome);
  void post(Task task);
  void tick();
  void forget(std::uint64_t id);

  RunContext& run_;
  ServerWatch& watch_;
  SimClock clock_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<pb::ServerFrame> welcome_;
  std::uint64_t life_ = 0;  // counts the starts
  std::uint64_t next_id_ = 1;

  // Of the present process.
  std::unique_ptr<Warm> warm_;
  Metrics metrics_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Service> service_;
  std::deque<Task> network_;
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::map<SessionId, WsLink*> links_;
  bool round_queued_ = false;
  bool discard_outcome_ = false;  // the process dies between its commit and what it would have said
  bool was_writable_ = true;
  std::int64_t seen_noted_ms_ = 0;
};

}  // namespace tidemark::sim
