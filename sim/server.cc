#include "sim/server.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/epochs.h"
#include "gateway/settings.h"

namespace tidemark::sim {
namespace {
constexpr std::int64_t kTickMs = 1'000;
constexpr std::int64_t kTokenMs = 365LL * 24 * kHourMs;
}  // namespace

SimServer::SimServer(RunContext& run, ServerWatch& watch)
    : run_(run), watch_(watch), clock_(run.timeline), disk_(std::make_shared<SimDisk>(run.store, run.seed)) {}

// --------------------------------------------------------------------------------------------------- the process

void SimServer::start() {
  TM_CHECK(!up(), "one process at a time");
  ++life_;
  auto opened = disk_->open();
  if (!opened) {
    TM_CHECK(opened.error().code == ErrorCode::RETRY_LATER, "no crash makes a disk that cannot be opened");
    return start_later();
  }
  warm_ = std::move(*opened);
  EngineOptions options = engine_options(run_.plan.config);
  options.state = run_.plan.state;
  engine_ = std::make_unique<Engine>(*warm_, clock_, run_.dice, std::move(options),
                                     Engine::Host{.wake = [this] { wake(); },
                                                  .publish = [this](Outcome o) { publish(std::move(o)); },
                                                  .events =
                                                      [this] {
                                                        if (teller_) teller_->wake();
                                                      }});
  service_ = std::make_unique<Service>(*engine_, clock_, PageTokens("a key of the simulator"),
                                       Threads{.on_network = [this](Task task) { post(std::move(task)); },
                                               .on_reader =
                                                   [this](Task task) {
                                                     auto shared = std::make_shared<Task>(std::move(task));
                                                     later(run_.dice.skewed(0, 20), [shared] { (*shared)(); });
                                                   }},
                                       service_limits(run_.plan.config), metrics_);
  // A token is the name of its user, and always a new one.
  links_ = std::make_unique<Links>(run_.plan.config, clock_, *service_, metrics_, [this](std::string_view token) {
    see_time();
    return Principal{.user = UserId(token), .issued_at_ms = ++issued_ms_, .expires_at_ms = clock_.wall_ms() + kTokenMs};
  });
  if (!engine_->open()) {  // the disk takes nothing
    crash(SimDisk::Fate::lost);
    return start_later();
  }
  if (!run_.plan.config.hooks.url.empty()) {
    teller_ = std::make_unique<Teller>(
        run_, *engine_, clock_, watch_,
        [this](std::int64_t delay_ms, std::function<void()> act) { later(delay_ms, std::move(act)); });
    teller_->wake();
  }
  run_.tell("server starts");
  was_writable_ = true;
  later(kTickMs, [this] { tick(); });
  watch_.on_started();
}

void SimServer::start_later() {
  run_.timeline.after(2'000, [this] {
    if (!up()) start();
  });
}

void SimServer::crash(SimDisk::Fate fate) {
  run_.tell("server dies");
  watch_.on_dying();
  ++life_;
  count_kicks();
  for (auto& [id, session] : sessions_) session.connection->server_dies();
  service_.reset();
  teller_.reset();
  engine_.reset();
  sessions_.clear();
  links_.reset();
  network_.clear();
  warm_.reset();
  round_queued_ = false;
  if (disk_->crash(fate)) run_.hit(Counter::torn);
}

void SimServer::stop() {
  links_->shut_down();
  later(1, [this] { crash(SimDisk::Fate::kept); });  // its last words leave first
}

void SimServer::restore() {
  TM_CHECK(!up() && backup_, "a stopped server is restored from a backup");
  run_.tell("server is restored from a backup");
  const auto known_to = [](const std::shared_ptr<SimDisk>& disk) {
    auto epochs = epochs_of(*(*disk->open())->snapshot());
    TM_CHECK(epochs.has_value(), "the disk can be read");
    return std::move(*epochs);
  };
  const std::vector<Epoch> replaced = known_to(disk_->copy());
  disk_ = backup_->copy();
  std::vector<Epoch> known = known_to(disk_);
  known.insert(known.end(), replaced.begin(), replaced.end());
  const auto warm = disk_->open();
  const Epoch next = epoch_after(known, run_.dice.next());
  TM_CHECK(begin_epoch(**warm, next, replaced).has_value(), "a fresh disk takes it");
  epoch_ = next.number;
}

void SimServer::later(std::int64_t delay_ms, std::function<void()> act) {
  run_.timeline.after(delay_ms, [this, life = life_, act = std::move(act)] {
    if (life == life_) act();
  });
}

void SimServer::post(Task task) {
  network_.push_back(std::move(task));
  later(0, [this] {
    Task next = std::move(network_.front());
    network_.pop_front();
    next();
  });
}

// ---------------------------------------------------------------------------------------------------- the rounds

void SimServer::wake() {
  if (std::exchange(round_queued_, true)) return;
  later(run_.dice.skewed(0, run_.plan.round_max_ms), [this] { run_round(); });
}

RoundFault SimServer::any_fault() {
  using Fate = SimDisk::Fate;
  const auto any_fate = [this] { return run_.dice.chance(500) ? Fate::lost : Fate::kept; };
  RoundFault fault;
  if (run_.strikes(run_.plan.crash_round)) {
    if (!run_.dice.chance(500)) {
      fault.dies = RoundFault::Death::before_telling;
      run_.hit(Counter::crashes_after_sync);
      return fault;
    }
    // In the midst of the commit: what was written may have reached the disk or not.
    fault.dies = RoundFault::Death::in_commit;
    fault.unsynced = any_fate();
    fault.fails_sync = static_cast<std::uint64_t>(run_.dice.between(1, 2));
    run_.hit(Counter::crashes_before_sync);
  } else if (run_.strikes(run_.plan.fail_round)) {
    if (run_.dice.chance(500)) {
      fault.fails_write = true;
      run_.hit(Counter::failed_writes);
    } else {
      fault.unsynced = any_fate();
      fault.fails_sync = 1;
      run_.hit(Counter::failed_syncs);
    }
    fault.fails_recoveries = run_.dice.below(3);
  }
  return fault;
}

void SimServer::arm(const RoundFault& fault) {
  if (fault.fails_write) disk_->fail_write(1);
  if (fault.fails_sync > 0) disk_->fail_sync(fault.fails_sync, fault.unsynced);
  const bool lives_on = fault.dies == RoundFault::Death::none && (fault.fails_write || fault.fails_sync > 0);
  if (lives_on) disk_->fail_recoveries(fault.fails_recoveries);
}

void SimServer::die(SimDisk::Fate unsynced) {
  crash(unsynced);
  // A round of one commit has left the second armed.
  disk_->fail_sync(0, unsynced);
  run_.timeline.after(run_.dice.skewed(1, 5'000), [this] {
    if (!up()) start();
  });
}

void SimServer::run_round() {
  using Death = RoundFault::Death;
  round_queued_ = false;
  const RoundFault fault = next_fault_ ? *std::exchange(next_fault_, std::nullopt) : any_fault();
  if (fault.dies == Death::before_round) return die(fault.unsynced);
  arm(fault);
  discard_outcome_ = fault.dies == Death::in_commit || fault.dies == Death::before_telling;
  const bool more = engine_->run_round();
  discard_outcome_ = false;
  if (fault.dies != Death::none) return die(fault.unsynced);
  const bool writable = engine_->status().writable;
  if (writable && !was_writable_) run_.hit(Counter::recoveries);
  was_writable_ = writable;
  if (more) wake();
}

void SimServer::publish(Outcome outcome) {
  see_time();
  if (discard_outcome_) return;
  watch_.on_published(outcome);
  post([this, outcome = std::move(outcome)]() mutable {
    watch_.on_telling(outcome);
    links_->publish(std::move(outcome));
    watch_.on_told();
  });
}

void SimServer::submit(Command command, Done done) {
  engine_->submit(std::move(command), std::move(done));
}

void SimServer::tick() {
  later(kTickMs, [this] { tick(); });
  links_->tick();
  count_kicks();
  // Like the writer's thread, which looks once in a while whether a round is due.
  if (!engine_->status().writable || engine_->files_expire()) wake();
}

void SimServer::count_kicks() {
  for (; metrics_.kicks > 0; --metrics_.kicks) run_.hit(Counter::kicks);
}

// --------------------------------------------------------------------------------------------------- connections

std::shared_ptr<Connection> SimServer::connect(Dialect dialect, Connection::End device) {
  if (!up()) return nullptr;
  auto connection = std::make_shared<Connection>(run_, next_id_++, dialect);
  const std::uint64_t id = connection->id();
  Session& session = sessions_[id];
  session.connection = connection;
  session.link = links_->make(*connection, dialect, "");
  connection->open(std::move(device), {.on_data =
                                           [this, id](std::string_view bytes) {
                                             std::string copy(bytes);
                                             const Session& session = sessions_.at(id);
                                             session.link->on_bytes(copy);
                                             watch_.on_heard(*session.link, *session.connection);
                                           },
                                       .on_closed =
                                           [this, id] {
                                             sessions_.at(id).link->on_closed();
                                             forget(id);
                                           },
                                       .on_unblocked = [this, id] { sessions_.at(id).link->on_unblocked(); }});
  return connection;
}

/// Once the present piece of work is done: the link may be in the midst of it.
void SimServer::forget(std::uint64_t id) {
  later(0, [this, id] { sessions_.erase(id); });
}

}  // namespace tidemark::sim
