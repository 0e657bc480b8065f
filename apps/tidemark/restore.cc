// tidemark restore: puts a copy of a data directory back, under a new epoch, so that every device learns what was lost
// and no number is used for two things (design, section 2, "Epoch").
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/epoch_notes.h"
#include "apps/tidemark/settings_flags.h"
#include "base/ports.h"
#include "engine/epochs.h"
#include "store/directory.h"
#include "store/embedded/embedded_store.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

struct RestoreFlags {
  std::string from;
  std::string data;
  bool ignore_replaced = false;
  std::string log;
  std::string until;
};

/// "2026-11-30T21:15:00Z", or milliseconds since 1970.
Result<std::int64_t> parsed_time(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  std::tm time = {};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (rest != nullptr && *rest == '\0') return std::int64_t{::timegm(&time)} * 1'000;
  return fail(ErrorCode::MALFORMED, "until",
              "Give a time in UTC, like 2026-11-30T21:15:00Z, or milliseconds since 1970.");
}

std::string shown_time(std::int64_t ms) {
  const std::time_t seconds = ms / 1'000;
  std::tm time = {};
  ::gmtime_r(&seconds, &time);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &time);
  return fmt::format("{}.{:03}Z", text, ms % 1'000);
}

/// Bytes copied, on one line of a terminal.
class CopyProgress {
 public:
  explicit CopyProgress(std::uint64_t total) : total_(std::max<std::uint64_t>(total, 1)) {}
  ~CopyProgress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (!isatty(STDERR_FILENO)) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(std::min(done_, total_) * kWidth / total_);
    fmt::print(stderr, "\rCopying [{:<{}}] {} of {} MiB", std::string(static_cast<std::size_t>(filled), '#'), kWidth,
               done_ >> 20, total_ >> 20);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool shown_ = false;
};

/// All regular files of the store but its lock; synced.
Result<void> copy_store(const fs::path& from, const fs::path& to) {
  CopyProgress progress(tree_bytes(from.string()));
  TM_TRY(make_directories(to.string()));
  std::error_code failed;
  fs::recursive_directory_iterator file(from, failed);
  for (; !failed && file != fs::recursive_directory_iterator(); file.increment(failed)) {
    const fs::path target = to / fs::relative(file->path(), from);
    if (file->is_directory()) {
      TM_TRY(make_directories(target.string()));
    } else if (file->is_regular_file() && file->path().filename() != "LOCK") {
      const std::uint64_t bytes = file->file_size();
      TM_TRY(copy_file(file->path().string(), target.string(), bytes));
      progress.add(bytes);
    }
  }
  if (failed) return fail(ErrorCode::RETRY_LATER, "from", "Cannot read " + from.string() + ": " + failed.message());
  return sync_directory(to.string());
}

/// Tokens and cursors stay good: keys that the directory has not come from the copy.
Result<void> copy_keys(const fs::path& from, const fs::path& data) {
  for (const char* name : {"secret.key", "admin.key", "cursor.key"}) {
    if (fs::exists(data / name) || !fs::exists(from / name)) continue;
    TM_TRY(copy_file((from / name).string(), (data / name).string(), fs::file_size(from / name)));
    fs::permissions(data / name, fs::perms::owner_read | fs::perms::owner_write);
  }
  return sync_directory(data.string());
}

const SystemClock kClock;

EmbeddedOptions store_at(const fs::path& path) {
  EmbeddedOptions options;
  options.path = path.string();
  options.archive_ms = std::numeric_limits<std::int64_t>::max() / 2;  // nothing is cleared here
  return options;
}

Result<std::unique_ptr<Warm>> open_store(const fs::path& path) {
  SystemRandom random;
  return open_embedded_store(store_at(path), kClock, random);
}

/// What is known of the epochs of the data that is to be replaced.
Result<std::vector<Epoch>> replaced_epochs(const RestoreFlags& flags) {
  TM_ASSIGN(std::vector<Epoch> epochs, read_epoch_notes(flags.data));
  const fs::path store = fs::path(flags.data) / "store";
  if (!fs::exists(store)) return epochs;
  auto warm = open_store(store);
  if (!warm) {
    // Damaged, perhaps: that may be why it is to be replaced. Then the note beside it tells.
    const bool held = warm.error().code == ErrorCode::RETRY_LATER;
    if (held || (epochs.empty() && !flags.ignore_replaced)) return std::unexpected(warm.error());
    return epochs;
  }
  TM_ASSIGN(const std::vector<Epoch> own, epochs_of(*(*warm)->snapshot()));
  epochs.insert(epochs.end(), own.begin(), own.end());
  return epochs;
}

/// Moves what was there aside and the restored store into its place.
Result<std::string> swap_in(const fs::path& data) {
  std::string aside;
  if (fs::exists(data / "store")) {
    for (int n = 1; aside.empty() || fs::exists(data / aside); ++n) aside = fmt::format("store.replaced-{}", n);
    fs::rename(data / "store", data / aside);
  }
  fs::rename(data / kRestoring, data / "store");
  TM_TRY(sync_directory(data.string()));
  return aside;
}

Result<void> restore(const RestoreFlags& flags) {
  const fs::path from = flags.from;
  const fs::path data = flags.data;
  std::error_code ignored;
  if (!fs::exists(from / "store" / "FORMAT", ignored))
    return fail(ErrorCode::NOT_FOUND, "from", flags.from + " is no copy of a data directory: it has no store.");
  if (fs::equivalent(from, data, ignored))
    return fail(ErrorCode::MALFORMED, "from", "It is the data directory itself; give the copy to restore from.");
  // What changes while it is copied is no copy of anything.
  TM_TRY(check_not_in_use((from / "store").string()));
  if (!flags.log.empty()) TM_TRY(check_not_in_use((fs::path(flags.log) / "..").string()));
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
  if (!flags.until.empty()) {
    TM_ASSIGN(until_ms, parsed_time(flags.until));
  }
  TM_TRY(make_directories(flags.data));
  TM_ASSIGN(std::vector<Epoch> others, replaced_epochs(flags));
  TM_ASSIGN(const std::vector<Epoch> noted, read_epoch_notes(flags.from));
  others.insert(others.end(), noted.begin(), noted.end());

  const fs::path building = data / kRestoring;
  remove_tree(building.string());
  TM_TRY(copy_store(from / "store", building));
  SystemRandom random;
  TM_ASSIGN(const Settled settled, settle_embedded_store(store_at(building), flags.log, until_ms, kClock, random));
  Epoch next;
  {
    TM_ASSIGN(const auto warm, open_store(building));
    TM_ASSIGN(std::vector<Epoch> known, epochs_of(*warm->snapshot()));
    known.insert(known.end(), others.begin(), others.end());
    next = epoch_after(known, random.next_u64());
    // First, so that another restore from the same copy takes a number of its own, whatever becomes of this one.
    if (const auto written = add_epoch_notes(flags.from, {next}); !written)
      fmt::print(stderr, "tidemark restore: cannot note the epoch in {} ({}); restore this copy nowhere else.\n",
                 flags.from, written.error().detail);
    TM_TRY(add_epoch_notes(flags.data, {next}));
    TM_TRY(begin_epoch(*warm, next, others));
  }
  TM_TRY(copy_keys(from, data));
  TM_ASSIGN(const std::string aside, swap_in(data));
  fmt::print("Restored {} into {} as epoch {}.\n", flags.from, flags.data, next.number);
  if (settled.last_ms > 0) fmt::print("The last change in it is of {}.\n", shown_time(settled.last_ms));
  if (!aside.empty())
    fmt::print("What was there is in {}/{}; remove it when nothing of it is missed.\n", flags.data, aside);
  fmt::print("Devices learn at their next connection what was lost.\n");
  return {};
}

}  // namespace

void add_restore(CLI::App& app, Run& chosen) {
  CLI::App* command =
      app.add_subcommand("restore", "Put a copy of a data directory back; devices are told what was lost");
  auto flags = std::make_shared<RestoreFlags>();
  command->add_option("--from", flags->from, "The copy: of a stopped server, or a snapshot of the file system")
      ->required()
      ->type_name("DIR");
  command->add_option("--data", flags->data, "The data directory to restore into; what it holds is moved aside")
      ->required()
      ->type_name("DIR");
  // A variable of a shell that is not set must not make it another restore.
  const auto not_empty = [](const std::string& value) { return value.empty() ? "give a value" : std::string(); };
  command
      ->add_option("--log", flags->log,
                   "Go on from the copy with what this commit log holds, as of DIR/store/log of the server that wrote "
                   "it, its archive included")
      ->check(not_empty)
      ->type_name("DIR");
  command->add_option("--until", flags->until, "Leave out what was written later: a time in UTC, 2026-11-30T21:15:00Z")
      ->check(not_empty)
      ->type_name("TIME");
  command->add_flag("--ignore-replaced", flags->ignore_replaced,
                    "Go on though nothing can be read of the data that is replaced");
  command->footer(
      "The server must be stopped. A copy that was put back by hand keeps its old epoch, and devices that know more\n"
      "than it does would take new messages for old ones: always restore with this command.");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      try {
        const auto restored = restore(*flags);
        if (restored) return 0;
        tell_error(restored.error());
      } catch (const fs::filesystem_error& error) {
        fmt::print(stderr, "tidemark restore: {}\n", error.what());
      }
      return 1;
    };
  });
}

}  // namespace tidemark
