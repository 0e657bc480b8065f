// The raw limit: RocksDB driven directly, with what the least conceivable message needs: one entry of 300 bytes and one
// key of 24 bytes, and one synced write a batch. The server is measured against the best batch size.
#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <filesystem>
#include <random>

#include "apps/bench/clock.h"
#include "apps/bench/loop.h"
#include "apps/bench/progress.h"
#include "apps/bench/server_process.h"
#include "apps/bench/works.h"

namespace tidemark::bench {
namespace {

constexpr std::size_t kEntryBytes = 300;
constexpr std::size_t kKeyBytes = 24;
constexpr std::uint64_t kConversations = 50;
constexpr int kBatches[] = {16, 128, 1'024};

Error error_of(const rocksdb::Status& status) {
  return {ErrorCode::INTERNAL, {}, "RocksDB failed (" + status.ToString() + "); is the disk of --dir full?"};
}

void append_be64(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

class RawStore {
 public:
  static Result<std::unique_ptr<RawStore>> open(const std::string& path) {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.allow_concurrent_memtable_write = false;  // one writer
    options.enable_write_thread_adaptive_yield = false;
    options.max_total_wal_size = 256u << 20;
    options.bytes_per_sync = 1u << 20;
    rocksdb::ColumnFamilyOptions family;
    family.write_buffer_size = 64u << 20;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families = {{rocksdb::kDefaultColumnFamilyName, family},
                                                                   {"keys", family}};
    std::unique_ptr<RawStore> store(new RawStore);
    rocksdb::DB* db = nullptr;
    if (const auto status = rocksdb::DB::Open(options, path, families, &store->families_, &db); !status.ok())
      return std::unexpected(error_of(status));
    store->db_.reset(db);
    return store;
  }

  ~RawStore() {
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  }

  /// One batch of `size` messages, durable when it returns.
  Result<void> write(int size) {
    batch_.Clear();
    for (int i = 0; i < size; ++i) add_message();
    rocksdb::WriteOptions durable;
    durable.sync = true;
    if (const auto status = db_->Write(durable, &batch_); !status.ok()) return std::unexpected(error_of(status));
    return {};
  }

 private:
  RawStore() {
    noise_.resize(1u << 20);
    for (char& each : noise_) each = static_cast<char>(random_());
  }

  void add_message() {
    const std::uint64_t number = messages_++;
    std::string key;
    append_be64(key, number % kConversations);
    append_be64(key, number / kConversations);
    const std::size_t at = random_() % (noise_.size() - kEntryBytes);
    (void)batch_.Put(families_[0], key, rocksdb::Slice(noise_.data() + at, kEntryBytes));
    const std::size_t from = random_() % (noise_.size() - kKeyBytes);
    (void)batch_.Put(families_[1], rocksdb::Slice(noise_.data() + from, kKeyBytes), rocksdb::Slice());
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  rocksdb::WriteBatch batch_;
  std::string noise_;
  std::minstd_rand random_;
  std::uint64_t messages_ = 0;
};

Result<RawLimit> limit_at(RawStore& store, int batch, int seconds) {
  Progress progress(fmt::format("raw: batches of {}", batch), seconds);
  const std::int64_t begin = now_ns();
  const std::int64_t end = begin + seconds * kSecond;
  const std::int64_t cpu_begin = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);  // the background threads' too
  std::int64_t written = 0;
  while (now_ns() < end) {
    TM_TRY(store.write(batch));
    written += batch;
    progress.at((now_ns() - begin) / kSecond);
    if (interrupted()) return trouble("Interrupted.");
  }
  const double rate = static_cast<double>(written) / as_seconds(now_ns() - begin);
  progress.done(fmt::format("{:.0f} messages/s", rate));
  const std::int64_t cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
  return RawLimit{rate, batch, static_cast<double>(cpu_ns) / 1e3 / static_cast<double>(written)};
}

}  // namespace

Result<RawLimit> measure_raw(const std::string& directory, int seconds, Report& report) {
  const std::string path = directory + "/raw";
  RawLimit best;
  {
    TM_ASSIGN(const auto store, RawStore::open(path));
    for (const int batch : kBatches) {
      TM_ASSIGN(const RawLimit found, limit_at(*store, batch, seconds));
      report.figure(fmt::format("raw_batch_{}", batch), fmt::format("raw limit, batches of {}", batch), found.rate,
                    "msg/s");
      if (found.rate > best.rate) best = found;
    }
  }
  report.figure("raw_best", fmt::format("raw limit (batches of {})", best.batch), best.rate, "msg/s");
  report.figure("raw_us", "raw limit: processor time per message", best.cpu_us, "us");
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  return best;
}

Result<void> work_raw(const Options& options, Report& report) {
  TM_ASSIGN(const auto directory, TemporaryDirectory::make(options.directory));
  TM_TRY(measure_raw(directory->path(), std::max(1, options.seconds / 3), report));
  return {};
}

}  // namespace tidemark::bench
