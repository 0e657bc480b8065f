#include "store/embedded/embedded_store.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/directory.h"
#include "store/embedded/embedded_parts.h"
#include "store/keys.h"
#include "store/log/disk_files.h"

namespace tidemark {
namespace {

// What goes through RocksDB's own log and memtables: markers, and batches of ranges or of a few rows.
constexpr std::size_t kMemtableBytes = 16u << 20;
constexpr std::size_t kOwnLogBytes = 8u << 20;
constexpr std::size_t kIngestOperations = 2'000;  // from here on a sorted file costs less
constexpr std::size_t kBatchBytes = 32u << 20;

/// A file of the log replaces one of the same name when it holds as much: the copy may have taken it half full.
Result<void> add_log(const std::string& from, const std::string& to) {
  TM_ASSIGN(std::vector<std::string> own, DiskFiles(to).list());
  std::erase_if(own, [](const std::string& name) { return segment_in(name) != name; });
  TM_ASSIGN(const std::vector<std::string> names, DiskFiles(from).list());
  bool goes_on = false;
  for (const std::string& name : names) {
    const auto segment = segment_in(name);
    if (!segment || (!own.empty() && *segment < own.front())) continue;
    goes_on = goes_on || own.empty() || *segment >= own.back();
    if (std::ranges::find(own, *segment) != own.end()) {
      TM_ASSIGN(const std::string present, DiskFiles(to).read(*segment));
      TM_ASSIGN(const std::string offered, DiskFiles(from).read(name));
      if (end_of_segment(offered) < end_of_segment(present)) continue;
    }
    const std::string target = to + "/" + *segment;
    std::error_code ignored;
    std::filesystem::remove(target, ignored);
    TM_TRY(copy_file(from + "/" + name, target, std::numeric_limits<std::uint64_t>::max()));
  }
  if (!goes_on)
    return fail(ErrorCode::NOT_FOUND, "log",
                from +
                    " holds no commit log that goes on from the copy; give the directory store/log of the data that "
                    "the copy was made of.");
  return sync_directory(to);
}

}  // namespace

std::string log_directory(const EmbeddedOptions& options) {
  return options.path + "/log";
}

RocksOptions sorted_options(const EmbeddedOptions& options) {
  RocksOptions rocks;
  rocks.path = options.path;
  rocks.block_cache_bytes = options.cache_bytes;
  rocks.memtable_bytes = kMemtableBytes;
  rocks.max_wal_bytes = kOwnLogBytes;
  rocks.ingest_operations = kIngestOperations;
  return rocks;
}

LogWarmOptions log_options(const EmbeddedOptions& options, const Clock& clock) {
  LogWarmOptions log;
  log.log.segment_bytes = options.segment_bytes;
  log.log.archive_ms = options.archive_ms;
  log.overlay_bytes = options.write_buffer_bytes / 2;  // one is filled while another goes into sorted files
  log.batch_bytes = std::min(kBatchBytes, log.overlay_bytes);
  log.wall_ms = [&clock] { return clock.wall_ms(); };
  return log;
}

Result<std::unique_ptr<Warm>> open_embedded_store(const EmbeddedOptions& options, const Clock& clock, Random& random) {
  TM_ASSIGN(std::unique_ptr<Warm> sorted, RocksWarm::open(sorted_options(options)));
  TM_TRY(make_directories(log_directory(options)));
  TM_ASSIGN(std::unique_ptr<Warm> store,
            LogWarm::open(std::make_shared<DiskFiles>(log_directory(options), options.min_free_bytes),
                          std::move(sorted), keys::owner_bytes, log_options(options, clock), random.next_u64()));
  return store;
}

Result<Settled> settle_embedded_store(const EmbeddedOptions& options, const std::string& log, std::int64_t until_ms,
                                      const Clock& clock, Random& random) {
  TM_ASSIGN(std::unique_ptr<Warm> sorted, RocksWarm::open(sorted_options(options)));
  TM_TRY(make_directories(log_directory(options)));
  if (!log.empty()) TM_TRY(add_log(log, log_directory(options)));
  TM_ASSIGN(const LogWarm::End end,
            LogWarm::settle(std::make_shared<DiskFiles>(log_directory(options)), std::move(sorted), keys::owner_bytes,
                            log_options(options, clock), until_ms, random.next_u64()));
  return Settled{end.time_ms};
}

}  // namespace tidemark
