#include "store/log/disk_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kZeroBytes = 1u << 20;

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  bool ok() const { return number_ >= 0; }
  int get() const { return number_; }

 private:
  int number_;
};

Result<void> write_at(const Descriptor& file, std::uint64_t offset, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return disk_error("write", path, written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

class DiskFile final : public LogFile {
 public:
  DiskFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Result<void> write(std::uint64_t offset, std::string_view bytes) override {
    return write_at(file_, offset, bytes, path_);
  }
  Result<void> sync() override {
    if (::fdatasync(file_.get()) != 0) return disk_error("sync", path_, errno);
    return {};
  }

 private:
  const Descriptor file_;
  const std::string path_;
};

}  // namespace

Result<std::vector<std::string>> DiskFiles::list() const {
  TM_ASSIGN(std::vector<std::string> names, list_directory(directory_));
  if (std::erase(names, "archive") == 0) return names;
  TM_ASSIGN(const std::vector<std::string> archived, list_directory(path("archive")));
  for (const std::string& name : archived) names.push_back(std::string(kArchive) + name);
  return names;
}

Result<std::unique_ptr<LogFile>> DiskFiles::create(const std::string& name, std::uint64_t bytes) {
  Descriptor file(path(name), O_RDWR | O_CREAT | O_TRUNC);
  if (!file.ok()) return disk_error("create", path(name), errno);
  // Zeros that are written, not only reserved: a sync of blocks that were never written has to note each of them in the
  // file system's own log, which takes twice the time. In small synced steps, for whoever syncs another file meanwhile
  // waits behind all that is on its way to the disk.
  const std::string zeros(kZeroBytes, '\0');
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    const auto step = std::string_view(zeros).substr(0, std::min<std::uint64_t>(zeros.size(), bytes - at));
    TM_TRY(write_at(file, at, step, path(name)));
    if (::fdatasync(file.get()) != 0) return disk_error("sync", path(name), errno);
  }
  TM_TRY(sync_directory(directory_));
  return std::make_unique<DiskFile>(std::move(file), path(name));
}

Result<std::unique_ptr<LogFile>> DiskFiles::open(const std::string& name) {
  Descriptor file(path(name), O_RDWR);
  if (!file.ok()) return disk_error("open", path(name), errno);
  return std::make_unique<DiskFile>(std::move(file), path(name));
}

Result<std::string> DiskFiles::read(const std::string& name) const {
  const Descriptor file(path(name), O_RDONLY);
  struct stat found = {};
  if (!file.ok() || ::fstat(file.get(), &found) != 0) return disk_error("open", path(name), errno);
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_error("read", path(name), errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<void> DiskFiles::rename(const std::string& from, const std::string& to) {
  const bool archives = to.starts_with(kArchive);
  if (archives) TM_TRY(make_directories(path("archive")));
  if (::rename(path(from).c_str(), path(to).c_str()) != 0) return disk_error("rename", path(from), errno);
  // The new name first: between the two the file has both.
  if (archives) TM_TRY(sync_directory(path("archive")));
  return sync_directory(directory_);
}

Result<void> DiskFiles::truncate(const std::string& name, std::uint64_t bytes) {
  if (::truncate(path(name).c_str(), static_cast<off_t>(bytes)) != 0) return disk_error("cut", path(name), errno);
  return {};
}

Result<void> DiskFiles::remove(const std::string& name) {
  if (::unlink(path(name).c_str()) != 0) return disk_error("remove", path(name), errno);
  return {};
}

}  // namespace tidemark
