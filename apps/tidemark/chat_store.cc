#include "apps/tidemark/chat_store.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

/// A name that is one part of a path, and tells any two apart: bytes that mean something there as %2F.
std::string as_file_name(std::string_view name) {
  constexpr std::string_view kMeaning = "/%@\\:*?\"<>|";
  std::string safe;
  for (const char c : name) {
    if (kMeaning.contains(c) || (c == '.' && safe.empty()))
      safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      safe += c;
  }
  return safe;
}

/// Makes what is missing of a folder, for its owner alone.
Result<void> make_folder(const fs::path& folder) {
  if (folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    TM_TRY(make_folder(folder.parent_path()));
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return fail(ErrorCode::MALFORMED, "store",
              fmt::format("The folder {} cannot be made ({}): name a file with --store FILE, or take --store none.",
                          folder.string(), std::generic_category().message(errno)));
}

}  // namespace

Result<std::string> usual_store_path(const Access& access, const std::string& device) {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (data != nullptr && data[0] == '/')
    folder = data;
  else if (home != nullptr && home[0] == '/')
    folder = fs::path(home) / ".local" / "share";
  else
    return fail(ErrorCode::MALFORMED, "store",
                "There is no home to keep messages in: name a file with --store FILE, or take --store none.");
  folder /= "tidemark";
  folder /= as_file_name(access.url.host) + "_" + access.url.port;
  return (folder / (as_file_name(access.user.value) + "@" + as_file_name(device) + ".db")).string();
}

Result<ChatStore> open_chat_store(const Access& access, const std::string& named, const std::string& device,
                                  const std::string& usual_device) {
  ChatStore opened;
  opened.device = device.empty() ? usual_device : device;
  if (named == "none") return opened;
  opened.path = named;
  if (named.empty()) {
    TM_ASSIGN(opened.path, usual_store_path(access, opened.device));
    TM_TRY(make_folder(fs::path(opened.path).parent_path()));
  }
  auto store = open_sqlite_store(opened.path);
  if (!store) {
    Error error = store.error();
    if (error.code == ErrorCode::TOO_MANY_CONNECTIONS)
      error = {error.code, "",
               fmt::format("A chat of {} on the device {} is running already; take --device NAME for another device.",
                           access.user.value, opened.device)};
    return std::unexpected(std::move(error));
  }
  opened.store = std::move(*store);
  TM_ASSIGN(const replica::StoreImage image, opened.store->load());
  if (device.empty() && !image.device.device.empty()) opened.device = image.device.device.value;
  for (const auto& [id, rows] : image.rows)
    if (!rows.empty()) opened.held[id] = rows.back().seq;
  return opened;
}

}  // namespace tidemark
