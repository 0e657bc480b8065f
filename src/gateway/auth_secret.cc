#include "gateway/auth_secret.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "gateway/config_files.h"
#include "gateway/jwt_base64.h"
#include "store/directory.h"

namespace tidemark {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretFileBytesMax = 4'096;

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string no_secret(const std::filesystem::path& path) {
  const std::string directory = path.parent_path().string();
  return directory + " holds no data of Tidemark (no " + path.filename().string() +
         "). Start the server once with --data " + directory + ", or check the path.";
}

}  // namespace

Result<void> make_data_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::path directory(path);
  if (!directory.has_filename()) directory = directory.parent_path();  // "data/"
  if (std::filesystem::is_directory(directory, error)) return {};
  const std::string parent = directory.has_parent_path() ? directory.parent_path().string() : ".";
  (void)make_directories(parent);  // what it lacks shows in the next line
  const int problem = ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
  if (problem != 0 && !std::filesystem::is_directory(directory, error))
    return fail(ErrorCode::RETRY_LATER, "data",
                path + " cannot be made: " + std::generic_category().message(problem) + ".");
  // Else a power failure takes the secret and all that was confirmed, with the name of the directory. Whoever may not
  // read the parent cannot sync it.
  return ::access(parent.c_str(), R_OK) == 0 ? sync_directory(parent) : Result<void>();
}

Result<void> make_secret(const std::string& path, Random& random) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) return {};
  std::array<std::uint8_t, kSecretBytes> bytes;
  random.fill(bytes);
  const std::string text = base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + "\n";
  TM_TRY(make_secret_file(path, text));
  return {};
}

Result<void> check_secret_mode(const std::string& path, std::uint32_t mode, std::string_view field) {
  if ((mode & 077u) == 0) return {};
  return fail(
      ErrorCode::FORBIDDEN, std::string(field),
      path + " holds a secret that others may read; whoever reads it can act as any user. Run: chmod 600 " + path);
}

Result<JwtKey> read_secret(const std::string& path) {
  auto file = read_small_file(path, kSecretFileBytesMax, "data");
  if (!file) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) return fail(ErrorCode::NOT_FOUND, "data", no_secret(path));
    return std::unexpected(std::move(file).error());
  }
  TM_TRY(check_secret_mode(path, file->mode, "data"));
  auto key = JwtKey::from_secret(without_line_end(file->text));
  if (!key) return fail(ErrorCode::MALFORMED, "data", path + ": " + key.error().detail);
  return key;
}

}  // namespace tidemark
