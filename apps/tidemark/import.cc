// tidemark import: conversations from elsewhere, from a file of lines that are each an ImportRequest of the schema
// without the import's name. Lines of one conversation that follow each other go together; the same file again adds
// nothing.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "base/ports.h"
#include "tidemark.pb.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr int kBatchMessages = 500;
constexpr std::size_t kBatchBytes = 400'000;  // with one of the longest on top of it, no request is too large
constexpr std::int64_t kProgressEveryMs = 200;

struct ImportFlags {
  ClientFlags client;
  std::string file;
  std::string name;
  bool dry_run = false;
};

/// What a line is about: a conversation, or a group by its name elsewhere.
std::string place_of(const v1::ImportRequest& line) {
  return line.has_group() ? "group " + line.group().source_id() : line.conversation_id();
}

/// Where in the file the work is, on a terminal alone.
class Progress {
 public:
  explicit Progress(std::uint64_t bytes) : bytes_(bytes), shown_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  void at(std::uint64_t done, std::uint64_t messages) {
    const std::int64_t now_ms = SystemClock().steady_ms();
    if (!shown_ || now_ms - last_ms_ < kProgressEveryMs) return;
    last_ms_ = now_ms;
    constexpr std::uint64_t kWidth = 30;
    const std::uint64_t filled = bytes_ == 0 ? kWidth : std::min(kWidth, done * kWidth / bytes_);
    const std::string bar(filled, '#');
    fmt::print(stderr, "\r[{:<30}] {:>3} %  {} messages", bar, bytes_ == 0 ? 100 : done * 100 / bytes_, messages);
    std::fflush(stderr);
  }

 private:
  const std::uint64_t bytes_;
  const bool shown_;
  std::int64_t last_ms_ = 0;
};

class Importer {
 public:
  Importer(const ImportFlags& flags, const HttpCalls& calls) : flags_(flags), calls_(calls) {}

  int run() {
    struct stat status{};
    const bool there = ::stat(flags_.file.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
    if (!there || !std::ifstream(flags_.file)) {
      fmt::print(stderr, "tidemark import: {} cannot be read\n", flags_.file);
      return 2;
    }
    // Pointers first: a batch may be sent before the line that says up to where somebody has read.
    const bool good = each_line([this](const v1::ImportRequest& line) { return note_reads(line); }) &&
                      all_batches(static_cast<std::uint64_t>(status.st_size));
    if (!good) return 1;
    fmt::print("{}{} added, {} known before\n", flags_.dry_run ? "would be: " : "", added_, known_);
    return 0;
  }

 private:
  bool all_batches(std::uint64_t bytes) {
    Progress progress(bytes);
    return each_line([&](const v1::ImportRequest& line) {
             progress.at(read_bytes_, added_ + known_);
             return take(line);
           }) &&
           send();
  }

  bool each_line(const std::function<bool(const v1::ImportRequest&)>& take) {
    std::ifstream in(flags_.file);
    read_bytes_ = 0;
    line_ = 0;
    for (std::string text; std::getline(in, text);) {
      ++line_;
      read_bytes_ += text.size() + 1;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      v1::ImportRequest line;
      if (const auto read = read_json(text, line); !read) {
        // All lines are read before the first is sent.
        const std::string& field = read.error().field;
        fmt::print(stderr, "tidemark import: {}:{}: {}{} Nothing was imported.\n", flags_.file, line_,
                   field.empty() ? "" : field + ": ", read.error().message());
        return false;
      }
      if (!take(line)) return false;
    }
    return true;
  }

  bool note_reads(const v1::ImportRequest& line) {
    for (const v1::ImportedRead& read : line.reads()) {
      reads_[place_of(line)][read.user()] = read.source_id();
      wanted_.insert(read.source_id());
    }
    return true;
  }

  bool take(const v1::ImportRequest& line) {
    if (!batch_place_.empty() && batch_place_ != place_of(line) && !send()) return false;
    begin(line);
    for (const v1::ImportedMessage& message : line.messages()) {
      if ((batch_.messages_size() == kBatchMessages || batch_bytes_ > kBatchBytes) && !send()) return false;
      begin(line);
      std::string json;
      write_json(message, json);
      batch_bytes_ += json.size();
      *batch_.add_messages() = message;
    }
    return true;
  }

  void begin(const v1::ImportRequest& line) {
    if (!batch_place_.empty()) return;
    batch_place_ = place_of(line);
    batch_from_ = line_;
    batch_.set_conversation_id(line.conversation_id());
    if (line.has_group()) *batch_.mutable_group() = line.group();
  }

  /// A pointer counts from the batch on that brings its message; before it everything is read anyway.
  void add_reads() {
    for (const v1::ImportedMessage& message : batch_.messages())
      if (flags_.dry_run || wanted_.contains(message.source_id())) seen_.insert(message.source_id());
    for (const auto& [user, source_id] : reads_[batch_place_]) {
      if (!source_id.empty() && !seen_.contains(source_id)) continue;
      v1::ImportedRead& read = *batch_.add_reads();
      read.set_user(user);
      read.set_source_id(source_id);
    }
  }

  /// A dry run leaves nothing behind that a later batch could refer to.
  void forget_earlier() {
    std::set<std::string> here;
    for (const v1::ImportedMessage& message : batch_.messages()) here.insert(message.source_id());
    for (v1::ImportedMessage& message : *batch_.mutable_messages())
      if (!here.contains(message.reply_to()) && seen_.contains(message.reply_to())) message.clear_reply_to();
    batch_.clear_reads();
  }

  bool send() {
    if (batch_place_.empty()) return true;
    add_reads();
    if (flags_.dry_run) forget_earlier();
    batch_.set_name(flags_.name);
    batch_.set_dry_run(flags_.dry_run);
    std::string body;
    write_json(batch_, body);
    v1::Imported answer;
    const auto answered = calls_.call({.method = "POST", .target = "/v1/admin/import", .body = body});
    const auto read = answered ? read_answer(*answered, answer) : Called<void>(std::unexpected(answered.error()));
    if (!read) {
      fmt::print(stderr, "\ntidemark import: {}, lines {} to {}:\n", flags_.file, batch_from_, line_);
      tell_call_error(read.error());
      return false;
    }
    added_ += answer.added();
    known_ += answer.known();
    batch_.Clear();
    batch_bytes_ = 0;
    batch_place_.clear();
    return true;
  }

  const ImportFlags& flags_;
  const HttpCalls& calls_;
  std::map<std::string, std::map<std::string, std::string>> reads_;  // by place and user
  std::set<std::string> wanted_;                                     // source_ids that pointers name
  std::set<std::string> seen_;                                       // source_ids sent
  v1::ImportRequest batch_;
  std::size_t batch_bytes_ = 0;
  std::string batch_place_;
  std::uint64_t batch_from_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t known_ = 0;
};

}  // namespace

void add_import(CLI::App& app, Run& chosen) {
  CLI::App* command =
      app.add_subcommand("import", "Take over conversations from elsewhere, with the times they have there");
  auto flags = std::make_shared<ImportFlags>();
  flags->client.add_admin_to(*command);
  command->add_option("file", flags->file, "Lines of JSON, each an ImportRequest (docs/protocol.md)")
      ->required()
      ->type_name("FILE.jsonl");
  command->add_option("--name", flags->name, "The import's name: with it a source_id names one message, for ever")
      ->required()
      ->type_name("NAME");
  command->add_flag("--dry-run", flags->dry_run, "Only tell what would become of it");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const auto calls = flags->client.open_calls();
      return calls ? Importer(*flags, *calls).run() : 1;
    };
  });
}

}  // namespace tidemark
