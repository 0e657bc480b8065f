#include "store/log/log_warm.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/codec.h"
#include "base/log.h"

namespace tidemark {
namespace {

/// In the sorted store's table meta; nobody who reads through a snapshot sees it.
constexpr std::string_view kMarker(
    "\xff"
    "log");
constexpr std::string_view kReach(
    "\xff"
    "reach");
constexpr std::size_t kCollected = 64;  // keys of an overlay taken at a time
constexpr int kNice = 5;
constexpr std::uint64_t kClearEvery = 60;  // looks of the worker, of a second each, or less
constexpr auto kRetryEvery = std::chrono::seconds(1);
constexpr auto kPatience = std::chrono::seconds(10);  // of a commit, with a sorted store that has fallen behind

void encode(const Batch& batch, std::string& bytes) {
  bytes.clear();
  ByteWriter out(bytes);
  for (const Batch::Operation& operation : batch.operations()) {
    out.u8(static_cast<std::uint8_t>(operation.kind));
    out.u8(static_cast<std::uint8_t>(operation.table));
    out.string(operation.key);
    if (operation.kind != Batch::Kind::erase) out.string(operation.value);
  }
}

/// Nothing when the bytes are no batch of this version.
std::optional<Batch> decode(std::string_view bytes) {
  Batch batch;
  ByteReader in(bytes);
  while (in.ok() && !in.done()) {
    const auto kind = static_cast<Batch::Kind>(in.u8());
    const auto table = static_cast<Table>(in.u8());
    std::string key(in.string());
    std::string value(kind == Batch::Kind::erase ? std::string_view() : in.string());
    if (kind > Batch::Kind::erase_range || static_cast<std::size_t>(table) >= std::size(kTables)) return std::nullopt;
    if (kind == Batch::Kind::put)
      batch.put(table, std::move(key), std::move(value));
    else if (kind == Batch::Kind::erase)
      batch.erase(table, std::move(key));
    else
      batch.erase_range(table, std::move(key), std::move(value));
  }
  return in.done() ? std::optional(std::move(batch)) : std::nullopt;
}

bool hidden(Table table, std::string_view key) {
  return table == Table::meta && (key == kMarker || key == kReach);
}

}  // namespace

/// One version of the store.
class LogSnapshot final : public Snapshot {
 public:
  LogSnapshot(Version version, std::vector<std::shared_ptr<const Overlay>> overlays,
              std::shared_ptr<const Snapshot> sorted, std::shared_ptr<LogWarm::Readers> readers)
      : version_(version), overlays_(std::move(overlays)), sorted_(std::move(sorted)), readers_(std::move(readers)) {
    const std::lock_guard lock(readers_->mutex);
    readers_->versions.insert(version_);
  }
  LogSnapshot(const LogSnapshot&) = delete;
  LogSnapshot& operator=(const LogSnapshot&) = delete;
  ~LogSnapshot() override {
    const std::lock_guard lock(readers_->mutex);
    readers_->versions.erase(readers_->versions.find(version_));
  }

  Result<std::optional<std::string>> get(Table table, std::string_view key) const override {
    if (hidden(table, key)) return std::nullopt;
    if (auto said = overlaid(table, key)) return std::move(said->value);
    return sorted_->get(table, key);
  }

  Result<std::vector<std::optional<std::string>>> get_many(Table table,
                                                           const std::vector<std::string>& keys) const override {
    std::vector<std::optional<std::string>> values(keys.size());
    std::vector<std::string> below;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (hidden(table, keys[i])) continue;
      if (auto said = overlaid(table, keys[i])) {
        values[i] = std::move(said->value);
      } else {
        below.push_back(keys[i]);
        places.push_back(i);
      }
    }
    if (below.empty()) return values;
    TM_ASSIGN(auto stored, sorted_->get_many(table, below));
    for (std::size_t i = 0; i < below.size(); ++i) values[places[i]] = std::move(stored[i]);
    return values;
  }

  Result<void> scan(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    return walk(table, from, to, false, visit);
  }
  Result<void> scan_back(Table table, std::string_view from, std::string_view to, const Visit& visit) const override {
    return walk(table, from, to, true, visit);
  }

 private:
  /// The keys of one overlay in a range, taken piece by piece.
  class Cursor {
   public:
    Cursor(const Overlay& overlay, Table table, std::string_view from, std::string_view to, bool back, Version at)
        : overlay_(overlay), table_(table), from_(from), to_(to), back_(back), at_(at) {
      refill();
    }
    const Overlay::Keyed* now() const { return place_ < found_.size() ? &found_[place_] : nullptr; }
    void next() {
      if (++place_ < found_.size() || found_.size() < kCollected) return;
      (back_ ? to_ : from_) = found_.back().first;
      if (!back_) from_.push_back('\0');  // the very next key
      refill();
    }

   private:
    void refill() {
      found_.clear();
      place_ = 0;
      overlay_.collect(table_, from_, to_, back_, at_, kCollected, found_);
    }
    const Overlay& overlay_;
    const Table table_;
    std::string from_;
    std::string to_;
    const bool back_;
    const Version at_;
    std::vector<Overlay::Keyed> found_;
    std::size_t place_ = 0;
  };

  /// What the overlays say of a key, the newest first; nothing when the sorted store is to be asked.
  std::optional<Overlaid> overlaid(Table table, std::string_view key) const {
    for (const auto& overlay : overlays_) {
      auto said = overlay->get(table, key, version_);
      const Version erased = overlay->erased(table, key, version_);
      if (erased > (said ? said->version : 0)) return Overlaid{erased, std::nullopt};
      if (said) return said;
    }
    return std::nullopt;
  }

  /// Is what lies below the first `newer` overlays erased by a range in one of them?
  bool erased_above(Table table, std::string_view key, std::size_t newer) const {
    return std::ranges::any_of(overlays_.begin(), overlays_.begin() + static_cast<std::ptrdiff_t>(newer),
                               [&](const auto& overlay) { return overlay->erased(table, key, version_) != 0; });
  }

  Result<void> walk(Table table, std::string_view from, std::string_view to, bool back, const Visit& visit) const {
    if (from >= to) return {};
    std::vector<Cursor> cursors;
    for (const auto& overlay : overlays_) cursors.emplace_back(*overlay, table, from, to, back, version_);
    bool going = true;
    const auto first_of = [&](std::string_view a, std::string_view b) { return back ? a > b : a < b; };
    // The newest overlay that stands at the first key; nothing when all are at their end.
    const auto leading = [&]() -> std::optional<std::size_t> {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < cursors.size(); ++i) {
        if (!cursors[i].now()) continue;
        if (!best || first_of(cursors[i].now()->first, cursors[*best].now()->first)) best = i;
      }
      return best;
    };
    const auto give_leading = [&](std::size_t i) {
      const Overlay::Keyed keyed = *cursors[i].now();
      for (Cursor& cursor : cursors)
        if (cursor.now() && cursor.now()->first == keyed.first) cursor.next();
      const bool erased = !keyed.second.value || erased_above(table, keyed.first, i) ||
                          overlays_[i]->erased(table, keyed.first, version_) > keyed.second.version;
      if (!erased && !hidden(table, keyed.first)) going = visit(keyed.first, *keyed.second.value);
    };
    const Visit merge = [&](std::string_view key, std::string_view value) {
      for (auto i = leading(); going && i && !first_of(key, cursors[*i].now()->first); i = leading()) {
        const bool same = cursors[*i].now()->first == key;
        give_leading(*i);
        if (same) return going;
      }
      if (going && !hidden(table, key) && !erased_above(table, key, overlays_.size())) going = visit(key, value);
      return going;
    };
    TM_TRY(back ? sorted_->scan_back(table, from, to, merge) : sorted_->scan(table, from, to, merge));
    for (auto i = leading(); going && i; i = leading()) give_leading(*i);
    return {};
  }

  const Version version_;
  const std::vector<std::shared_ptr<const Overlay>> overlays_;  // the newest first
  const std::shared_ptr<const Snapshot> sorted_;
  const std::shared_ptr<LogWarm::Readers> readers_;
};

LogWarm::LogWarm(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted, GroupBytes group_bytes,
                 LogWarmOptions options)
    : files_(std::move(files)),
      sorted_(std::move(sorted)),
      group_bytes_(std::move(group_bytes)),
      options_(std::move(options)),
      active_(std::make_shared<Overlay>(group_bytes_)),
      sorted_snapshot_(sorted_->snapshot()) {}

Result<std::unique_ptr<LogWarm>> LogWarm::open(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted,
                                               GroupBytes group_bytes, const LogWarmOptions& options,
                                               std::uint64_t fresh_id) {
  std::unique_ptr<LogWarm> warm(new LogWarm(std::move(files), std::move(sorted), std::move(group_bytes), options));
  TM_TRY(warm->replay(fresh_id, std::numeric_limits<std::int64_t>::max()));
  if (options.threaded) warm->worker_ = std::thread([store = warm.get()] { store->work(); });
  return warm;
}

LogWarm::~LogWarm() {
  if (!log_) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
  log_->close();
}

std::unexpected<Error> LogWarm::not_understood(std::uint64_t record) const {
  return fail(ErrorCode::INTERNAL, {},
              "record " + std::to_string(record) + " of the commit log " + files_->place() +
                  " is not understood; use the version of the program that wrote it");
}

std::unexpected<Error> LogWarm::too_new() {
  return fail(ErrorCode::OUT_OF_RANGE, "until", "The store that is restored is newer than that; take an older copy.");
}

Result<LogWarm::End> LogWarm::replay(std::uint64_t fresh_id, std::int64_t until_ms) {
  TM_ASSIGN(const auto marker, sorted_snapshot_->get(Table::meta, kMarker));
  End end;
  if (marker) {
    ByteReader in(*marker);
    log_id_ = in.be64();
    end.record = in.varint();
    end.time_ms = static_cast<std::int64_t>(in.varint());
    if (!in.done())
      return fail(ErrorCode::INTERNAL, {},
                  "the sorted store's marker of the commit log " + files_->place() +
                      " is damaged; put a backup back with `tidemark restore`");
  } else {
    log_id_ = fresh_id;
    TM_TRY(sorted_->commit(marker_at({}, Extent::all)));
  }
  if (end.time_ms > until_ms) return too_new();
  bool beyond = false;
  const auto take = [&](const LogRecord& record) -> Result<void> {
    beyond = beyond || record.time_ms > until_ms;
    if (beyond) return {};
    const std::optional<Batch> batch = decode(record.payload);
    if (!batch) return not_understood(record.number);
    end = {.record = record.number, .time_ms = record.time_ms};
    apply(*batch);
    if (active_->bytes() < options_.overlay_bytes) return {};
    TM_TRY(materialise({active_, end}));
    active_ = std::make_shared<Overlay>(group_bytes_);
    sorted_snapshot_ = sorted_->snapshot();
    return {};
  };
  TM_ASSIGN(log_, CommitLog::open(*files_, options_.log, log_id_, end.record, take));
  // Of an overlay that was on its way when the copy was made some rows are there already.
  TM_ASSIGN(const auto reach, sorted_snapshot_->get(Table::meta, kReach));
  if (reach && beyond) {
    ByteReader in(*reach);
    if (in.be64() == log_id_ && in.varint() > end.record) return too_new();
  }
  return end;
}

Result<LogWarm::End> LogWarm::settle(std::shared_ptr<LogFiles> files, std::unique_ptr<Warm> sorted,
                                     GroupBytes group_bytes, LogWarmOptions options, std::int64_t until_ms,
                                     std::uint64_t fresh_id) {
  options.threaded = false;
  LogWarm warm(std::move(files), std::move(sorted), std::move(group_bytes), std::move(options));
  TM_ASSIGN(const End end, warm.replay(fresh_id, until_ms));
  TM_TRY(warm.materialise({warm.active_, end}));
  warm.log_.reset();
  warm.log_id_ = fresh_id;
  TM_TRY(warm.sorted_->commit(warm.marker_at({.record = 0, .time_ms = end.time_ms}, Extent::all)));
  TM_ASSIGN(const std::vector<std::string> all, warm.files_->list());
  for (const std::string& name : all) TM_TRY(warm.files_->remove(name));
  return end;
}

std::shared_ptr<const Snapshot> LogWarm::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!published_) {
    std::vector<std::shared_ptr<const Overlay>> overlays = {active_};
    if (frozen_) overlays.push_back(frozen_->overlay);
    published_ = std::make_shared<LogSnapshot>(version_, std::move(overlays), sorted_snapshot_, readers_);
  }
  return published_;
}

std::vector<Version> LogWarm::readable() const {
  std::vector<Version> versions;
  {
    const std::lock_guard lock(readers_->mutex);
    versions.assign(readers_->versions.begin(), readers_->versions.end());
  }
  versions.push_back(version_);  // whoever asks for a snapshot now
  return versions;
}

void LogWarm::apply(const Batch& batch) {
  active_->apply(batch, version_ + 1, readable());
  std::shared_ptr<const Snapshot> outdated;  // released outside the lock
  const std::lock_guard lock(mutex_);
  version_ += batch.operations().size();
  outdated = std::exchange(published_, nullptr);
}

Result<void> LogWarm::commit(const Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    if (!problem_.empty()) return fail(ErrorCode::RETRY_LATER, {}, problem_);
  }
  if (batch.empty()) return {};
  encode(batch, record_);
  if (auto done = make_room(); !done) return stop(done.error());
  if (auto done = log_->append(record_, options_.wall_ms()); !done) return stop(done.error());
  apply(batch);
  count(batch);
  return {};
}

Result<void> LogWarm::stop(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    problem_ = error.detail;
  }
  log_error("the store takes no writes", {{"problem", error.detail}});
  return fail(ErrorCode::RETRY_LATER, {}, error.detail);
}

Result<void> LogWarm::recover() {
  {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) return {};
  }
  TM_TRY(room());
  {
    const std::lock_guard lock(mutex_);
    if (frozen_ && full() && !sorted_problem_.empty()) return behind();
  }
  TM_TRY(log_->go_on());
  {
    const std::lock_guard lock(mutex_);
    problem_.clear();
  }
  log_info("the store takes writes again", {{"log", files_->place()}});
  return {};
}

WarmStatus LogWarm::status() const {
  WarmStatus status = sorted_->status();
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) status.problem = problem_;
  if (status.problem.empty()) status.problem = sorted_problem_;
  status.writable = problem_.empty();
  status.puts = counted_.puts;
  status.put_bytes = counted_.put_bytes;
  status.batches = counted_.batches;
  return status;
}

void LogWarm::count(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  counted_.count(batch);
}

/// Sees to it that the active overlay may grow: a full one is frozen and materialised; only when the one before it is
/// not done yet, and this one has grown to twice its size, somebody waits.
Result<void> LogWarm::make_room() {
  TM_TRY(room());
  if (!options_.threaded && frozen_) TM_TRY(materialise(Frozen(*frozen_)));
  if (active_->bytes() < options_.overlay_bytes) return {};
  std::unique_lock lock(mutex_);
  if (frozen_) {
    if (!full()) return {};
    changed_.wait_for(lock, kPatience, [&] { return !frozen_ || !sorted_problem_.empty(); });
    if (frozen_) return behind();
  }
  frozen_ = Frozen{active_, {.record = log_->last(), .time_ms = log_->last_time_ms()}};
  active_ = std::make_shared<Overlay>(group_bytes_);
  published_.reset();
  changed_.notify_all();
  return {};
}

/// Of a sorted store that does not take what the full overlays hold.
std::unexpected<Error> LogWarm::behind() const {
  return fail(ErrorCode::RETRY_LATER, {},
              sorted_problem_.empty() ? "the sorted store has not taken what the commit log " + files_->place() +
                                            " holds for ten seconds; find what keeps its disk busy, or use a faster one"
                                      : sorted_problem_);
}

/// The sorted store's marker: it holds all records up to this one. Before the rows its reach is written: it may hold
/// some of what records up to that one say.
Batch LogWarm::marker_at(End end, Extent extent) const {
  std::string bytes;
  ByteWriter out(bytes);
  out.be64(log_id_);
  out.varint(end.record);
  out.varint(static_cast<std::uint64_t>(end.time_ms));
  Batch batch;
  batch.put(Table::meta, std::string(extent == Extent::all ? kMarker : kReach), std::move(bytes));
  return batch;
}

Result<void> LogWarm::materialise(const Frozen& frozen) {
  const auto take = [&](const Batch& batch) -> Result<void> {
    Result<void> done = sorted_->commit(batch);
    // Whatever became of it is written once more.
    if (!done && (done = sorted_->recover())) done = sorted_->commit(batch);
    return done;
  };
  TM_TRY(take(marker_at(frozen.end, Extent::some)));
  TM_TRY(frozen.overlay->materialise(options_.batch_bytes, take));
  TM_TRY(take(marker_at(frozen.end, Extent::all)));
  // What nobody reads any more is released outside the lock: that takes a while.
  std::shared_ptr<const Snapshot> fresh = sorted_->snapshot();
  std::optional<Frozen> done;
  std::shared_ptr<const Snapshot> outdated;
  {
    const std::lock_guard lock(mutex_);
    if (frozen_ && frozen_->overlay == frozen.overlay) {
      done = std::exchange(frozen_, std::nullopt);
      std::swap(sorted_snapshot_, fresh);
      outdated = std::exchange(published_, nullptr);
    }
  }
  changed_.notify_all();
  if (log_) return log_->drop_below(frozen.end.record, options_.wall_ms());
  return {};
}

void LogWarm::work() {
  // Who waits for an answer goes first; behind by much, who commits waits for this thread.
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  std::uint64_t rounds = 0;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    std::optional<Frozen> frozen = frozen_;
    lock.unlock();
    // What fails here is tried again; who commits is told when it lasts.
    if (const auto spare = log_->prepare(); !spare)
      log_warning("no segment of the commit log can be made beforehand", {{"problem", spare.error().detail}});
    Result<void> done;
    if (frozen) done = materialise(*frozen);
    if (!done)
      log_error("the sorted store does not take what the commit log holds", {{"problem", done.error().detail}});
    frozen.reset();
    if (rounds++ % kClearEvery == 0)
      if (const auto cleared = log_->clear_archive(options_.wall_ms()); !cleared)
        log_warning("the archive of the commit log is not cleared", {{"problem", cleared.error().detail}});
    lock.lock();
    sorted_problem_ = done ? std::string() : done.error().detail;
    if (!done) changed_.notify_all();
    // A new segment may be needed also when nothing is full.
    changed_.wait_for(lock, kRetryEvery, [&] { return ends_ || (done && frozen_); });
  }
}

}  // namespace tidemark
