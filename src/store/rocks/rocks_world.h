// The place where tests keep a RocksDB store: a temporary directory below /tmp on a file system that can be hurt.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "store/rocks/fault_file_system.h"
#include "store/rocks/rocks_warm.h"
#include "store/warm_conformance.h"

namespace tidemark {

/// A directory that goes with its owner: in memory where that is possible, or on the disk of /tmp.
class TemporaryDirectory {
 public:
  enum class Where : std::uint8_t { memory, disk };
  explicit TemporaryDirectory(Where where = Where::disk) {
    for (const char* parent : {where == Where::memory ? "/dev/shm" : "/tmp", "/tmp"}) {
      path_ = std::string(parent) + "/tidemark-store-XXXXXX";
      if (::mkdtemp(path_.data())) return;
    }
    throw std::runtime_error("cannot make a directory in /tmp");
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline void flip_byte(const std::filesystem::path& path, std::size_t at) {
  std::string bytes = bytes_of_file(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x20);
  write_file(path, bytes);
}

/// Files with this ending in the store's databases, the newest name last.
inline std::vector<std::filesystem::path> files_of(const std::string& store, std::string_view ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store)) {
    if (entry.path().string().ends_with(ending)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// Small memory.
inline RocksOptions small_options(std::string path) {
  RocksOptions options;
  options.path = std::move(path);
  options.block_cache_bytes = 8u << 20;
  options.memtable_bytes = 8u << 20;
  options.max_wal_bytes = 8u << 20;
  options.max_open_files = 100;
  return options;
}

/// The number of the last batch, when the batches up to it are whole and nothing is there of later ones.
inline unsigned whole_prefix(const Warm& warm, unsigned batches) {
  unsigned last = 0;
  const auto snapshot = warm.snapshot();
  for (unsigned number = 1; number <= batches; ++number) {
    const std::size_t parts = parts_there(*snapshot, number);
    EXPECT_TRUE(parts == 0 || parts == std::size(kTables)) << "half of batch " << number;
    if (parts == 0) continue;
    EXPECT_EQ(last, number - 1) << "batches are missing before " << number;
    last = number;
  }
  return last;
}

/// How far apart the samples of a long search are: `step`, more when sanitized, 1 with TIDEMARK_LONG in the
/// environment.
inline std::uint64_t sparsely(std::uint64_t step) {
  if (std::getenv("TIDEMARK_LONG") != nullptr) return 1;
  return kSanitized ? 3 * step : step;
}

class RocksWorld {
 public:
  enum class Clock : std::uint8_t { real, hurried };
  explicit RocksWorld(Clock clock = Clock::real) {
    set_log(LogLevel::off, LogFormat::text);  // the faults are ordered, nobody needs to hear of them
    if (clock == Clock::hurried) env_->hurry();
  }
  std::string directory() const { return temporary_.path() + "/store"; }
  RocksOptions options() const {
    RocksOptions options = small_options(directory());
    options.env = env_.get();
    return options;
  }
  Result<std::unique_ptr<Warm>> open() { return RocksWarm::open(options()); }
  FaultFileSystem& files() { return *files_; }

  void fail_commit(CommitFault fault) {
    if (fault == CommitFault::before) files_->fail_log_write(1);
    if (fault == CommitFault::lost) files_->fail_log_sync(1, true);
    if (fault == CommitFault::kept) files_->fail_log_sync(1, false);
  }
  void set_broken(bool broken) { files_->set_broken(broken); }
  void crash(std::unique_ptr<Warm>& warm) {
    files_->die();
    warm.reset();
    files_->crash();
  }
  void on_sync(std::function<void()> on_sync) { files_->set_on_log_sync(std::move(on_sync)); }
  void damage() {
    open().value().reset();  // from the log into a sorted file
    const auto files = files_of(directory(), ".sst");
    const auto largest = std::ranges::max_element(files, {}, [](const auto& file) { return file_size(file); });
    flip_byte(*largest, 100);  // in its first block
  }
  void set_unknown_format() { write_file(directory() + "/FORMAT", "tidemark-warm 999\n"); }

 private:
  TemporaryDirectory temporary_{TemporaryDirectory::Where::memory};
  std::shared_ptr<FaultFileSystem> files_ = std::make_shared<FaultFileSystem>();
  std::shared_ptr<QuickEnv> env_ = std::make_shared<QuickEnv>(files_);
};

}  // namespace tidemark
