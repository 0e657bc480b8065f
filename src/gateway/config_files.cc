#include "gateway/config_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "store/directory.h"

namespace tidemark {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// A file that is gone with the object, whatever happened to it under other names.
struct Unlinked {
  std::string path;
  ~Unlinked() { ::unlink(path.c_str()); }
};

std::string why_not(const std::string& path, std::string_view what) {
  return path + " " + std::string(what) + ": " + std::strerror(errno) + ".";
}

FileStamp stamp_of(const struct stat& status) {
  const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {status.st_dev, status.st_ino, status.st_size, ns(status.st_mtim), ns(status.st_ctim)};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

Result<SmallFile> read_small_file(const std::string& path, std::size_t bytes_max, std::string_view field) {
  const std::string name(field);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file.ok() || ::fstat(file.get(), &status) != 0)
    return fail(ErrorCode::NOT_FOUND, name, why_not(path, "cannot be opened"));
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::MALFORMED, name, path + " is a directory, not a file.");
  SmallFile result{{}, stamp_of(status), status.st_mode & 07777u};
  std::array<char, 16 * 1024> part;
  for (;;) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(ErrorCode::NOT_FOUND, name, why_not(path, "cannot be read"));
    if (size == 0) return result;
    result.text.append(part.data(), static_cast<std::size_t>(size));
    if (result.text.size() > bytes_max)
      return fail(ErrorCode::TOO_LARGE, name, path + " is larger than " + std::to_string(bytes_max) + " bytes.");
  }
}

Result<FileStamp> file_stamp(const std::string& path, std::string_view field) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail(ErrorCode::NOT_FOUND, std::string(field), why_not(path, "cannot be found"));
  return stamp_of(status);
}

Result<Made> make_secret_file(const std::string& path, std::string_view text) {
  const auto failed = [&] { return fail(ErrorCode::RETRY_LATER, "data", why_not(path, "cannot be made")); };
  if (::access(path.c_str(), F_OK) == 0) return Made::before;  // a full disk has no room for a draft
  std::string draft = path + ".XXXXXX";
  const Descriptor file(::mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!file.ok()) return failed();
  const Unlinked unlinked{draft};
  if (!write_all(file.get(), text) || ::fsync(file.get()) != 0) return failed();
  // A link, unlike a rename, never replaces a secret that tokens are already signed by.
  if (::link(draft.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) return Made::before;
    return failed();
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!sync_directory(parent.empty() ? "." : parent)) return failed();
  return Made::now;
}

}  // namespace tidemark
