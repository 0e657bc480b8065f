#include "apps/tidemark/epoch_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "engine/epochs.h"
#include "store/directory.h"

namespace tidemark {
namespace {

std::string note_path(const std::string& directory) {
  return directory + "/epochs";
}

std::optional<Epoch> epoch_in_line(std::string_view line) {
  Epoch epoch;
  const char* const begin = line.data();
  const char* const end = begin + line.size();
  const auto number = std::from_chars(begin, end, epoch.number);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ' ' || epoch.number == 0) return std::nullopt;
  const auto id = std::from_chars(number.ptr + 1, end, epoch.id, 16);
  if (id.ec != std::errc() || id.ptr != end) return std::nullopt;
  return epoch;
}

}  // namespace

Result<std::vector<Epoch>> read_epoch_notes(const std::string& directory) {
  TM_ASSIGN(const auto text, read_file(note_path(directory)));
  std::vector<Epoch> epochs;
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto epoch = epoch_in_line(rest.substr(0, end));
    if (!epoch)
      return fail(ErrorCode::MALFORMED, "epochs", note_path(directory) + " is damaged. Remove it if it is not needed.");
    epochs.push_back(*epoch);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return epochs;
}

Result<void> add_epoch_notes(const std::string& directory, const std::vector<Epoch>& epochs) {
  TM_ASSIGN(std::vector<Epoch> all, read_epoch_notes(directory));
  const std::size_t known = all.size();
  for (const Epoch& epoch : epochs)
    if (std::ranges::find(all, epoch) == all.end()) all.push_back(epoch);
  if (all.size() == known) return {};
  std::string text;
  for (const Epoch& epoch : all) text += fmt::format("{} {:016x}\n", epoch.number, epoch.id);
  return replace_file(note_path(directory), text);
}

Result<void> note_epochs_of(const Warm& warm, const std::string& directory) {
  TM_ASSIGN(const std::vector<Epoch> epochs, epochs_of(*warm.snapshot()));
  return add_epoch_notes(directory, epochs);
}

Result<void> check_no_restore_open(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(directory + "/store", ignored) || !fs::exists(directory + "/" + kRestoring, ignored)) return {};
  return fail(ErrorCode::RETRY_LATER, "data",
              "A restore into " + directory + " was interrupted; run `tidemark restore` again.");
}

}  // namespace tidemark
