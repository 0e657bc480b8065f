// The server of a run: the real engine, delivery, service and links, over a simulated disk, in virtual time. What the
// real one does in threads are events here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "gateway/links.h"
#include "gateway/metrics.h"
#include "gateway/service.h"
#include "gateway/ws_link.h"
#include "sim/connection.h"
#include "sim/disk.h"
#include "sim/run_context.h"
#include "sim/teller.h"

namespace tidemark::sim {

/// Told of what the server lets out.
class ServerWatch : public HookWatch {
 public:
  /// A round was published; the snapshot is what a crash right now would leave.
  virtual void on_published(const Outcome& outcome) = 0;
  /// Its answers are about to be given, then its notices.
  virtual void on_telling(const Outcome& outcome) = 0;
  /// They were.
  virtual void on_told() {}
  /// A link has taken what came.
  virtual void on_heard(const WsLink&, const Connection&) {}
  virtual void on_started() = 0;
  /// The process is about to die; what it has let out can still be looked up.
  virtual void on_dying() = 0;
};

/// What strikes in a commit round.
struct RoundFault {
  enum class Death : std::uint8_t {
    none,
    before_round,     // what was received waits still
    in_commit,        // as the other members say
    before_telling,   // it is durable, and nobody was told
    before_delivery,  // it is published inside the process, and nothing of it has left
  };
  Death dies = Death::none;
  bool fails_write = false;
  std::uint64_t fails_sync = 0;  // this commit of the round, from 1
  SimDisk::Fate unsynced = SimDisk::Fate::lost;
  std::uint64_t fails_recoveries = 0;
};

class SimServer final {
 public:
  SimServer(RunContext& run, ServerWatch& watch);

  void start();
  /// The process dies; unsynced bytes have the given fate.
  void crash(SimDisk::Fate fate);
  bool up() const { return engine_ != nullptr; }
  /// Tells its devices that it stops, and stops.
  void stop();
  /// It starts again by itself if it dies of it.
  void strike_next_round(RoundFault fault) { next_fault_ = fault; }
  /// Keeps a copy of the disk as it is.
  void back_up() { backup_ = disk_->copy(); }
  /// Puts the last copy back, under a new epoch. REQUIRES: it is down, and there is one.
  void restore();
  /// Number of the epoch of the present disk.
  std::uint32_t epoch() const { return epoch_; }
  /// A device connects. Nothing when the server is down.
  std::shared_ptr<Connection> connect(Dialect dialect, Connection::End device);

  /// A command as a backend gives it over HTTP; `done` is not called when the server dies before.
  void submit(Command command, Done done);
  /// Events that were given up are told again.
  void replay_events() { engine_->settle({.replay_all = true}); }
  /// A read as over HTTP.
  std::shared_ptr<const Snapshot> snapshot() const { return warm_->snapshot(); }
  // For those who watch over what is kept. REQUIRES: it is up.
  const Delivery& delivery() const { return links_->delivery(); }
  std::size_t queued_commands() const { return engine_->queued(); }
  template <typename See>
  void each_link(See see) const {
    for (const auto& [id, session] : sessions_) see(*session.link, *session.connection);
  }
  const CoreParams& params() const { return engine_->params(); }
  bool writable() const { return engine_ && engine_->status().writable; }
  SimDisk& disk() { return *disk_; }
  SimClock& clock() { return clock_; }
  /// No earlier than any time that its clock has shown.
  std::int64_t latest_ms() const { return std::max(issued_ms_, clock_.wall_ms()); }
  /// Until when files have expired for it: never, while it does not trust its clock.
  std::int64_t files_expired_to() const { return engine_->status().purging ? clock_.wall_ms() : 0; }

 private:
  /// Whoever makes tokens has a clock that was never behind the server's, however that one jumps.
  void see_time() { issued_ms_ = std::max(issued_ms_, clock_.wall_ms()); }
  struct Session {
    std::shared_ptr<Connection> connection;
    std::unique_ptr<WsLink> link;
  };
  /// Runs `act` in `delay_ms` unless the process has died by then.
  void later(std::int64_t delay_ms, std::function<void()> act);
  void start_later();
  void wake();
  RoundFault any_fault();
  void arm(const RoundFault& fault);
  void die(SimDisk::Fate unsynced);
  void run_round();
  void publish(Outcome outcome);
  void post(Task task);
  void tick();
  void forget(std::uint64_t id);
  void count_kicks();

  RunContext& run_;
  ServerWatch& watch_;
  SimClock clock_;
  std::shared_ptr<SimDisk> disk_;
  std::shared_ptr<SimDisk> backup_;
  std::int64_t issued_ms_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint64_t life_ = 0;  // counts the starts
  std::uint64_t next_id_ = 1;
  std::optional<RoundFault> next_fault_;
  Metrics metrics_;

  // Of the present process.
  std::unique_ptr<Warm> warm_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<Teller> teller_;  // null: no hook is configured
  std::deque<Task> network_;
  std::map<std::uint64_t, Session> sessions_;
  bool round_queued_ = false;
  bool discard_outcome_ = false;  // the process dies between its commit and what it would have said
  bool was_writable_ = true;
};

}  // namespace tidemark::sim
