#include "store/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormatWord = "tidemark-warm ";
constexpr std::size_t kCopyBytes = 256u << 10;

/// A file descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

Result<void> write_all(const File& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return disk_error("write", path, written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Reads up to `bytes`; fewer only at the end of the file.
Result<std::string> read_some(const File& file, std::uint64_t bytes, const std::string& path) {
  std::string content(bytes, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_error("read", path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  return content;
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

std::unexpected<Error> disk_error(std::string_view what, std::string_view path, int error_number) {
  std::string detail = "cannot ";
  detail.append(what).append(" ").append(path).append(": ");
  detail += std::generic_category().message(error_number);
  if (error_number == ENOSPC || error_number == EDQUOT) detail += "; free some space";
  return fail(ErrorCode::RETRY_LATER, {}, std::move(detail));
}

namespace {

/// `file` is the directory's LOCK.
Result<void> lock_file(const File& file, const std::string& directory, const std::string& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return disk_error("lock", path, errno);
  TM_ASSIGN(std::string holder, read_some(file, 32, path));
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return fail(ErrorCode::RETRY_LATER, {},
              "the data directory " + directory + " is in use by another process" +
                  (holder.empty() ? "" : " (process id " + holder + ")") + "; stop it, or give another directory");
}

}  // namespace

Result<void> check_not_in_use(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  const File file(path, O_RDONLY);
  if (!file.ok() && errno == ENOENT) return {};
  if (!file.ok()) return disk_error("open", path, errno);
  return lock_file(file, directory, path);
}

Result<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  File file(path, O_RDWR | O_CREAT);
  if (!file.ok()) return disk_error("open", path, errno);
  TM_TRY(lock_file(file, directory, path));
  // The process id only helps people: a full disk must not keep the store from opening.
  if (::ftruncate(file.get(), 0) == 0) (void)write_all(file, std::to_string(::getpid()) + "\n", path);
  return DirectoryLock(file.release());
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> make_directories(const std::string& directory) {
  if (directory.empty() || directory == "." || directory == "/") return {};
  struct stat info;
  if (::stat(directory.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return {};
    return disk_error("use as a directory", directory, ENOTDIR);
  }
  const std::string parent = parent_of(directory);
  TM_TRY(make_directories(parent));
  if (::mkdir(directory.c_str(), 0750) != 0 && errno != EEXIST) return disk_error("make", directory, errno);
  return sync_directory(parent);
}

Result<void> sync_directory(const std::string& directory) {
  const File file(directory, O_RDONLY | O_DIRECTORY);
  if (!file.ok()) return disk_error("open", directory, errno);
  if (::fsync(file.get()) != 0) return disk_error("sync", directory, errno);
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".new";
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.ok()) return disk_error("make", temporary, errno);
    TM_TRY(write_all(file, content, temporary));
    if (::fsync(file.get()) != 0) return disk_error("sync", temporary, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return disk_error("replace", path, errno);
  return sync_directory(parent_of(path));
}

Result<std::optional<std::string>> read_file(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.ok()) {
    if (errno == ENOENT) return std::nullopt;
    return disk_error("open", path, errno);
  }
  TM_ASSIGN(std::string content, read_some(file, 4096, path));
  return content;
}

Result<void> copy_file(const std::string& from, const std::string& to, std::uint64_t bytes) {
  const File source(from, O_RDONLY);
  if (!source.ok()) return disk_error("open", from, errno);
  const File target(to, O_WRONLY | O_CREAT | O_EXCL);
  if (!target.ok()) return disk_error("make", to, errno);
  while (bytes > 0) {
    TM_ASSIGN(const std::string piece, read_some(source, std::min<std::uint64_t>(bytes, kCopyBytes), from));
    if (piece.empty()) break;
    TM_TRY(write_all(target, piece, to));
    bytes -= piece.size();
  }
  if (::fsync(target.get()) != 0) return disk_error("sync", to, errno);
  return {};
}

Result<void> link_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK || errno == EXDEV;
  if (!no_links) return disk_error("link", from, errno);
  return copy_file(from, to, UINT64_MAX);
}

Result<std::vector<std::string>> list_directory(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return disk_error("list", directory, error.value());
  std::ranges::sort(names);
  return names;
}

void remove_tree(const std::string& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

std::uint64_t tree_bytes(const std::string& directory) {
  // Files come and go while this walks; what cannot be read counts as nothing.
  std::error_code error;
  std::uint64_t bytes = 0;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const std::uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

Result<std::uint64_t> free_bytes(const std::string& directory) {
  struct statvfs info;
  if (::statvfs(directory.c_str(), &info) != 0) return disk_error("ask for the free space of", directory, errno);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Result<void> room_on(const std::string& directory, std::uint64_t min_free_bytes) {
  if (min_free_bytes == 0) return {};
  TM_ASSIGN(const std::uint64_t free, free_bytes(directory));
  if (free >= min_free_bytes) return {};
  return fail(ErrorCode::RETRY_LATER, {},
              "the disk of " + directory + " is nearly full: " + std::to_string(free >> 20) +
                  " MiB are free, writes need " + std::to_string(min_free_bytes >> 20) + " MiB; free some space");
}

std::string database_name(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return "db-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

std::optional<std::uint64_t> database_number(std::string_view name) {
  if (!name.starts_with("db-")) return std::nullopt;
  name.remove_prefix(3);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || name.size() < 6) return std::nullopt;
  return number;
}

Result<void> check_format(const std::string& directory, std::uint32_t known) {
  const std::string path = directory + "/FORMAT";
  const std::string expected = std::string(kFormatWord) + std::to_string(known) + "\n";
  TM_ASSIGN(const std::optional<std::string> found, read_file(path));
  if (found == expected) return {};
  if (!found) {
    TM_ASSIGN(const std::vector<std::string> names, list_directory(directory));
    const bool data = std::ranges::any_of(
        names, [](const std::string& name) { return name == "CURRENT_DB" || database_number(name).has_value(); });
    if (!data) return replace_file(path, expected);
    return fail(ErrorCode::INTERNAL, {},
                "the data directory " + directory +
                    " holds data but no file FORMAT; put a backup back with `tidemark restore`");
  }
  std::string version = *found;
  while (!version.empty() && version.back() == '\n') version.pop_back();
  return fail(ErrorCode::INTERNAL, {},
              "the data directory " + directory + " has the format \"" + version.substr(0, 60) +
                  "\" (its file FORMAT), this program knows \"" + expected.substr(0, expected.size() - 1) +
                  "\"; use the version of the program that wrote it, or give another directory");
}

}  // namespace tidemark
