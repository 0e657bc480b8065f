// A file system for tests that fails when told to, and that forgets what was not synced. It stands between RocksDB and
// the real one. For tests alone.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tidemark {

/// After an error in the background RocksDB sleeps for a second; in tests a moment does. When told to hurry, every look
/// at the clock finds it a minute later, so that whatever RocksDB does every few seconds it does at once.
class QuickEnv final : public rocksdb::EnvWrapper {
 public:
  explicit QuickEnv(std::shared_ptr<rocksdb::FileSystem> files) : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    file_system_ = std::move(files);
    clock_ = std::make_shared<Clock>(rocksdb::SystemClock::Default());
    system_clock_ = clock_;
  }
  void hurry() { clock_->hurried = true; }
  /// A text log of RocksDB's would be a file like others.
  rocksdb::Status NewLogger(const std::string& path, std::shared_ptr<rocksdb::Logger>* result) override {
    return rocksdb::NewEnvLogger(path, this, result);
  }

 private:
  class Clock final : public rocksdb::SystemClockWrapper {
   public:
    using SystemClockWrapper::SystemClockWrapper;
    const char* Name() const override { return "QuickClock"; }
    void SleepForMicroseconds(int micros) override { target_->SleepForMicroseconds(std::min(micros, 1000)); }
    std::uint64_t NowMicros() override { return target_->NowMicros() + (hurried ? ++looks * 60'000'000 : 0); }
    std::atomic<bool> hurried = false;
    std::atomic<std::uint64_t> looks = 0;
  };
  std::shared_ptr<Clock> clock_;
};

class FaultFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FaultFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultFileSystem"; }

  /// The nth write to a log from now (1 is the next) fails with nothing written.
  void fail_log_write(std::uint64_t nth) { set(log_write_, nth); }
  /// The nth sync of a log from now fails; the bytes that it should have synced are gone, or are there.
  void fail_log_sync(std::uint64_t nth, bool lost) {
    set(log_sync_, nth);
    const std::lock_guard lock(mutex_);
    lost_ = lost;
  }
  /// The nth operation of any kind that changes something fails, once or from then on (then nothing can be changed any
  /// more). With `part`, only operations on files whose path holds it count.
  void fail_operation(std::uint64_t nth, bool for_ever = false, std::string part = {}) {
    const std::lock_guard lock(mutex_);
    any_ = nth;
    for_ever_ = for_ever;
    part_ = std::move(part);
  }
  /// Whether the ordered operation was reached, and failed.
  bool struck() const {
    const std::lock_guard lock(mutex_);
    return any_ == 0;
  }
  /// While broken nothing can be changed.
  void set_broken(bool broken) {
    const std::lock_guard lock(mutex_);
    broken_ = broken;
  }
  void set_on_log_sync(std::function<void()> on_log_sync) {
    const std::lock_guard lock(mutex_);
    on_log_sync_ = std::move(on_log_sync);
  }
  std::uint64_t operations() const {
    const std::lock_guard lock(mutex_);
    return operations_;
  }
  /// The machine is dead: from now on nothing becomes durable, no name changes, and nobody is told.
  void die() {
    const std::lock_guard lock(mutex_);
    dead_ = true;
  }
  /// Cuts every file behind its last synced byte, and lives again. The databases on it have to be closed.
  void crash() {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, size] : synced_) (void)!::truncate(path.c_str(), static_cast<off_t>(size));
    synced_.clear();
    any_ = log_write_ = log_sync_ = 0;
    broken_ = dead_ = false;
  }

  using IOStatus = rocksdb::IOStatus;
  using IOOptions = rocksdb::IOOptions;
  using Context = rocksdb::IODebugContext;

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, Context* context) override {
    if (IOStatus status = change(path); !status.ok()) return status;
    IOStatus status = target()->NewWritableFile(path, options, result, context);
    if (!status.ok()) return status;
    {
      const std::lock_guard lock(mutex_);
      synced_[path] = 0;
    }
    *result = std::make_unique<File>(std::move(*result), path, *this);
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      Context* context) override {
    if (IOStatus status = change(from); !status.ok()) return status;
    if (dead()) return IOStatus::OK();
    IOStatus status = target()->RenameFile(from, to, options, context);
    const std::lock_guard lock(mutex_);
    if (auto node = synced_.extract(from); status.ok() && node) synced_[to] = node.mapped();
    return status;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options, Context* context) override {
    if (IOStatus status = change(path); !status.ok()) return status;
    if (dead()) return IOStatus::OK();
    return target()->DeleteFile(path, options, context);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result, Context* context) override {
    IOStatus status = target()->NewDirectory(path, options, result, context);
    if (status.ok()) *result = std::make_unique<Directory>(std::move(*result), path + "/", *this);
    return status;
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile>&& target, std::string path, FaultFileSystem& system)
        : FSWritableFileOwnerWrapper(std::move(target)),
          path_(std::move(path)),
          log_(path_.ends_with(".log")),
          system_(system) {}

    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, Context* context) override {
      if (IOStatus status = system_.append(log_, path_); !status.ok()) return status;
      size_ += data.size();
      return FSWritableFileOwnerWrapper::Append(data, options, context);
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& verification, Context* context) override {
      if (IOStatus status = system_.append(log_, path_); !status.ok()) return status;
      size_ += data.size();
      return FSWritableFileOwnerWrapper::Append(data, options, verification, context);
    }
    IOStatus Sync(const IOOptions& options, Context* context) override {
      if (IOStatus status = system_.sync(log_, path_, size_); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Sync(options, context);
    }
    IOStatus Fsync(const IOOptions& options, Context* context) override {
      if (IOStatus status = system_.sync(log_, path_, size_); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Fsync(options, context);
    }
    IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions& options, Context* context) override {
      if (IOStatus status = system_.change(path_); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::RangeSync(offset, bytes, options, context);
    }
    IOStatus Close(const IOOptions& options, Context* context) override {
      const IOStatus allowed = system_.change(path_);
      IOStatus status = FSWritableFileOwnerWrapper::Close(options, context);
      return allowed.ok() ? status : allowed;
    }

   private:
    const std::string path_;
    const bool log_;
    FaultFileSystem& system_;
    std::uint64_t size_ = 0;
  };

  class Directory final : public rocksdb::FSDirectoryWrapper {
   public:
    Directory(std::unique_ptr<rocksdb::FSDirectory>&& target, std::string path, FaultFileSystem& system)
        : FSDirectoryWrapper(std::move(target)), path_(std::move(path)), system_(system) {}
    IOStatus FsyncWithDirOptions(const IOOptions& options, Context* context,
                                 const rocksdb::DirFsyncOptions& what) override {
      if (IOStatus status = system_.change(path_); !status.ok()) return status;
      return FSDirectoryWrapper::FsyncWithDirOptions(options, context, what);
    }

   private:
    const std::string path_;
    FaultFileSystem& system_;
  };

  void set(std::uint64_t& counter, std::uint64_t nth) {
    const std::lock_guard lock(mutex_);
    counter = nth;
  }
  static IOStatus error() { return IOStatus::IOError("ordered fault"); }
  static bool due(std::uint64_t& counter) { return counter > 0 && --counter == 0; }

  /// With the mutex held: counts an operation and says whether it may go on.
  bool allowed(const std::string& path) {
    ++operations_;
    const bool strikes = path.find(part_) != std::string::npos && due(any_);
    if (strikes && for_ever_) broken_ = true;
    return !strikes && !broken_;
  }
  bool dead() const {
    const std::lock_guard lock(mutex_);
    return dead_;
  }
  IOStatus change(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return allowed(path) ? IOStatus::OK() : error();
  }
  IOStatus append(bool log, const std::string& path) {
    const std::lock_guard lock(mutex_);
    const bool strikes = log && due(log_write_);
    return allowed(path) && !strikes ? IOStatus::OK() : error();
  }
  IOStatus sync(bool log, const std::string& path, std::uint64_t size) {
    std::function<void()> on_log_sync;
    {
      const std::lock_guard lock(mutex_);
      if (log) on_log_sync = on_log_sync_;
    }
    if (on_log_sync) on_log_sync();
    const std::lock_guard lock(mutex_);
    if (log && due(log_sync_)) {
      if (lost_) (void)!::truncate(path.c_str(), static_cast<off_t>(synced_[path]));
      return error();
    }
    if (!allowed(path)) return error();
    if (!dead_) synced_[path] = size;
    return IOStatus::OK();
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> synced_;
  std::uint64_t log_write_ = 0;
  std::uint64_t log_sync_ = 0;
  std::uint64_t any_ = 0;
  std::uint64_t operations_ = 0;
  std::string part_;
  bool lost_ = false;
  bool for_ever_ = false;
  bool broken_ = false;
  bool dead_ = false;
  std::function<void()> on_log_sync_;
};

}  // namespace tidemark
