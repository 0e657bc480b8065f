#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/body.h"
#include "core/decide.h"
#include "core/planted.h"
#include "engine/epochs.h"
#include "store/keys.h"
#include "store/row_codec.h"
#include "store/store_view.h"

namespace tidemark {

Engine::Engine(Warm& warm, const Clock& clock, Random& random, EngineOptions options, Host host)
    : warm_(warm),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      host_(std::move(host)),
      pages_(options_.page_cache_bytes),
      state_(options_.state),
      outbox_(options_.outbox) {
  TM_CHECK(options_.params.dedup_remember_ms > options_.params.dedup_accept_ms,
           "ids are remembered longer than accepted");
}

Result<void> Engine::open() {
  StoreView view(warm_.snapshot());
  TM_ASSIGN(const auto epoch, epoch_in(*warm_.snapshot()));
  if (!epoch) TM_TRY(begin_first_epoch(warm_, random_.next_u64()));
  TM_ASSIGN(const auto age, warm_.snapshot()->get(Table::meta, keys::kAge));
  if (age) {
    TM_ASSIGN(age_, StoreAge::decode(*age));
  }
  age_.begin(clock_.steady_ms());
  TM_TRY(outbox_.count(*warm_.snapshot()));
  round_ = view.round();
  if (view.failure()) return std::unexpected(*view.failure());
  last_wall_ms_ = clock_.wall_ms();
  last_steady_ms_ = clock_.steady_ms();
  return {};
}

namespace {
/// What is wrong with the disk is for the operator (status, log), not for clients.
std::unexpected<Error> not_writable() {
  return fail(ErrorCode::RETRY_LATER, "", "Nothing can be stored at the moment.", 1'000);
}

/// For planted faults alone.
Batch split_off(std::initializer_list<Table> tables, Batch& batch) {
  Batch apart;
  Batch rest;
  for (const Batch::Operation& each : batch.operations()) {
    const bool named = std::ranges::find(tables, each.table) != tables.end();
    Batch& to = named && each.kind != Batch::Kind::erase_range ? apart : rest;
    if (each.kind == Batch::Kind::put) to.put(each.table, each.key, each.value);
    if (each.kind == Batch::Kind::erase) to.erase(each.table, each.key);
    if (each.kind == Batch::Kind::erase_range) to.erase_range(each.table, each.key, each.value);
  }
  batch = std::move(rest);
  return apart;
}

/// About what a command holds in memory while it waits.
std::size_t size_of(const Command& command) {
  constexpr std::size_t kFixed = 512;
  if (const auto* send = std::get_if<SendCommand>(&command)) return kFixed + body_size(send->body);
  if (const auto* import = std::get_if<ImportCommand>(&command)) {
    std::size_t bytes = kFixed;
    for (const ImportCommand::Message& each : import->messages) bytes += kFixed + body_size(each.body);
    return bytes;
  }
  const auto* mutate = std::get_if<MutateCommand>(&command);
  if (mutate == nullptr) return kFixed;
  if (const auto* edit = std::get_if<EditCommand>(&mutate->change)) return kFixed + body_size(edit->body);
  if (const auto* draft = std::get_if<DraftCommand>(&mutate->change)) return kFixed + body_size(draft->body);
  if (const auto* gone = std::get_if<DeleteForMeCommand>(&mutate->change))
    return kFixed + gone->ranges.size() * sizeof(Interval);
  if (const auto* setting = std::get_if<SettingCommand>(&mutate->change)) return kFixed + setting->value.size();
  return kFixed;
}
}  // namespace

void Engine::submit(Command command, Done done, Session by) {
  bool first = false;
  const std::size_t bytes = size_of(command);
  {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.size() < options_.queue_max && queue_bytes_ + bytes <= options_.queue_bytes_max) {
      first = queue_.empty();
      queue_bytes_ += bytes;
      queue_.push_back({std::move(command), std::move(done), std::move(by), bytes});
      done = nullptr;
    }
  }
  if (done) {
    Outcome refused;
    refused.answers.push_back({std::move(done), fail(ErrorCode::RETRY_LATER, "", "Too much is waiting.", 1'000)});
    host_.publish(std::move(refused));
  }
  if (first) host_.wake();
}

std::size_t Engine::queued() const {
  const std::lock_guard lock(queue_mutex_);
  return queue_.size();
}

void Engine::settle(Settlement settlement, Outbox::Settled settled) {
  outbox_.settle(std::move(settlement), std::move(settled));
  host_.wake();
}

std::vector<Engine::Queued> Engine::take_queued() {
  std::vector<Queued> taken;
  const std::lock_guard lock(queue_mutex_);
  const std::size_t count = std::min(queue_.size(), options_.round_commands_max);
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    queue_bytes_ -= queue_.front().bytes;
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return taken;
}

bool Engine::run_round() {
  if (recovering_ && !try_recover()) {
    refuse_queued();
    return false;
  }
  watch_clock(clock_.wall_ms());
  std::vector<Queued> queued = take_queued();
  if (files_expire()) {
    next_file_expires_ms_ = clock_.wall_ms() + kSecondMs;  // should it fail
    queued.insert(queued.begin(), {ExpireFilesCommand(), [](const Result<Reply>&) {}, {}});
  }
  if (queued.empty() && !outbox_.to_settle()) return false;
  Outcome outcome;
  auto made = decide_all(queued, outcome);
  if (made && planted(Fault::push_before_commit)) host_.publish({{}, std::exchange(outcome.notices, {})});
  if (made && planted(Fault::ack_before_sync)) host_.publish({std::exchange(outcome.answers, {}), {}});
  if (!made || !(made = commit(outcome))) {
    fail_round(std::move(outcome), std::move(queued), made.error());
    return false;
  }
  const std::size_t commands = outcome.answers.size();
  host_.publish(std::move(outcome));
  {
    const std::lock_guard lock(status_mutex_);
    ++status_.rounds;
    status_.commands += commands;
  }
  const bool more = files_expire();
  const std::lock_guard lock(queue_mutex_);
  return more || !queue_.empty();
}

/// A clock that cannot be trusted says of no file that it is gone: the application might take its word.
bool Engine::files_expire() const {
  return clock_.wall_ms() >= next_file_expires_ms_ && outbox_.has_room() && status().purging;
}

void Engine::note_files(const Decision& decision) {
  if (const auto* files = std::get_if<FilesExpiredReply>(&decision.reply)) next_file_expires_ms_ = files->next_at;
  for (const FileExpiry& each : decision.writes.file_expiries)
    next_file_expires_ms_ = std::min(next_file_expires_ms_, each.at);
}

Result<void> Engine::decide_all(std::vector<Queued>& queued, Outcome& outcome) {
  const std::int64_t now_ms = clock_.wall_ms();
  const Context context{now_ms, options_.params};
  state_.begin(warm_.snapshot(), round_ + 1);
  if (state_.failure()) return std::unexpected(*state_.failure());
  outcome.answers.reserve(queued.size());
  for (Queued& each : queued) {
    Result<Decision> decision = decide(state_, each.command, context, each.by);
    if (state_.failure()) decision = std::unexpected(told_of(*state_.failure()));
    state_.clear_failure();  // it voids this command alone
    if (!decision) {
      outcome.answers.push_back({std::move(each.done), std::unexpected(std::move(decision).error())});
      continue;
    }
    outbox_.add(state_, each.command, *decision, now_ms);
    note_files(*decision);
    outcome.answers.push_back({std::move(each.done), std::move(decision->reply), std::move(decision->ended)});
    std::ranges::move(decision->notices, std::back_inserter(outcome.notices));
    state_.apply(decision->writes);
    // What was half taken cannot be taken back: the whole round goes.
    if (state_.failure()) return std::unexpected(*state_.failure());
  }
  return {};
}

Result<Batch> Engine::take_batch() {
  Batch batch = state_.take_batch();
  if (state_.failure()) return std::unexpected(*state_.failure());
  const bool changes = !batch.empty();
  TM_TRY(outbox_.write(*warm_.snapshot(), state_.epoch().number, round_ + 1, clock_.wall_ms(), batch));
  if (!changes && !batch.empty()) put_round(batch, round_ + 1);
  return batch;
}

Result<void> Engine::commit(const Outcome& outcome) {
  TM_ASSIGN(Batch batch, take_batch());
  if (!batch.empty()) {
    keep_house(batch);
    Batch apart;
    if (planted(Fault::dedup_written_apart)) apart = split_off({Table::dedup}, batch);
    if (planted(Fault::index_written_apart)) (void)warm_.commit(split_off({Table::users, Table::objects}, batch));
    if (const auto committed = warm_.commit(batch); !committed) {
      recovering_ = !warm_.status().writable;
      next_recover_ms_ = 0;
      if (recovering_) keep_unsettled(outcome);
      return committed;
    }
    if (!apart.empty()) (void)warm_.commit(apart);
    ++round_;
  }
  state_.committed();
  if (outbox_.committed() && host_.events) host_.events();
  return {};
}

void Engine::keep_unsettled(const Outcome& outcome) {
  unsettled_ = {{}, outcome.notices};
  for (const Answered& each : outcome.answers)
    if (!each.ended.empty()) unsettled_.answers.push_back({[](const Result<Reply>&) {}, Reply(NoReply{}), each.ended});
}

void Engine::fail_round(Outcome outcome, std::vector<Queued> queued, const Error& error) {
  state_.drop();
  outbox_.dropped();
  next_file_expires_ms_ = 0;
  // What it cannot write the store has logged itself.
  if (!recovering_) (void)told_of(error);
  {
    const std::lock_guard lock(status_mutex_);
    status_.writable = !recovering_;
    ++status_.refused_rounds;
  }
  // Whatever was decided, refusals too, may rest on writes that are not there: everything is to be asked again. So is
  // what waited behind it, or it would overtake what its sender had sent before.
  for (std::size_t i = 0; i < outcome.answers.size(); ++i) queued[i].done = std::move(outcome.answers[i].done);
  std::erase_if(queued, [](const Queued& each) { return !each.done; });
  refuse(std::move(queued));
  refuse_queued();
}

Result<Reply> Engine::unwritten(const Command& command) const {
  const auto* login = std::get_if<LoginCommand>(&command);
  if (login == nullptr) return not_writable();
  StoreView view(warm_.snapshot());
  auto reply = login_unwritten(view, *login, options_.params);
  if (view.failure()) return std::unexpected(told_of(*view.failure()));
  if (!reply) return std::unexpected(std::move(reply).error());
  return Reply(std::move(*reply));
}

bool Engine::try_recover() {
  if (clock_.steady_ms() < next_recover_ms_) return false;
  auto recovered = warm_.recover();
  pages_.clear();
  StoreView view(warm_.snapshot());
  const std::uint64_t found = recovered ? view.round() : 0;
  if (recovered && view.failure()) recovered = std::unexpected(*view.failure());
  if (recovered) recovered = outbox_.count(*warm_.snapshot());
  if (!recovered) {
    next_recover_ms_ = clock_.steady_ms() + options_.recover_every_ms;
    return false;
  }
  recovering_ = false;
  // The failed round may turn out to be there after all. Then nobody was told of it yet: who sends again is answered
  // as a duplicate, which raises no notice.
  Outcome told;
  if (found > round_) told = std::move(unsettled_);
  unsettled_ = {};
  round_ = std::max(round_, found);
  if (!told.answers.empty() || !told.notices.empty()) host_.publish(std::move(told));
  if (host_.events) host_.events();
  const std::lock_guard lock(status_mutex_);
  status_.writable = true;
  return true;
}

void Engine::refuse(std::vector<Queued> queued) {
  if (queued.empty()) return;
  Outcome refused;
  for (Queued& each : queued) refused.answers.push_back({std::move(each.done), unwritten(each.command)});
  host_.publish(std::move(refused));
}

void Engine::refuse_queued() {
  for (std::vector<Queued> queued = take_queued(); !queued.empty(); queued = take_queued()) refuse(std::move(queued));
}

void Engine::watch_clock(std::int64_t now_ms) {
  const std::int64_t steady_ms = clock_.steady_ms();
  const std::int64_t jump_ms = (now_ms - last_wall_ms_) - (steady_ms - last_steady_ms_);
  last_wall_ms_ = now_ms;
  last_steady_ms_ = steady_ms;
  if (std::abs(jump_ms) <= options_.clock_jump_ms) return;
  const std::lock_guard lock(status_mutex_);
  status_.purging = false;
}

void Engine::keep_house(Batch& batch) {
  const std::int64_t now_ms = clock_.wall_ms();
  if (age_.pass(clock_.steady_ms(), now_ms)) batch.put(Table::meta, std::string(keys::kAge), age_.encode());
  const std::int64_t oldest_live = age_.hours_over(now_ms, options_.params.dedup_remember_ms);
  if (!status().purging) return;
  if (oldest_live > purged_hour_) {
    purged_hour_ = oldest_live;
    batch.erase_range(Table::dedup, keys::dedup_hour(0), keys::dedup_hour(static_cast<std::uint32_t>(oldest_live)));
  }
  const std::int64_t oldest_tombstone = age_.hours_over(now_ms, options_.params.tombstone_ms);
  if (oldest_tombstone > forgotten_hour_) {
    forgotten_hour_ = oldest_tombstone;
    drop_tombstones(static_cast<std::uint32_t>(oldest_tombstone));
  }
}

void Engine::drop_tombstones(std::uint32_t below_hour) {
  submit(DropTombstonesCommand{below_hour}, [this, below_hour](Result<Reply> reply) {
    // What fails is taken up again with the next hour.
    if (reply && std::get<TombstonesReply>(*reply).more) drop_tombstones(below_hour);
  });
}

EngineStatus Engine::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

}  // namespace tidemark
