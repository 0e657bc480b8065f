// tidemark history: pages of one conversation, as a table or as the server's JSON.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "base/ports.h"
#include "client/terminal/entry_text.h"
#include "client/terminal/text_table.h"
#include "client/terminal/when.h"
#include "core/conversation_id.h"
#include "tidemark.pb.h"
#include "wire/convert_client.h"
#include "wire/http_parser.h"

namespace tidemark {
namespace {

using namespace terminal;

constexpr std::uint64_t kPage = 50;
constexpr std::uint64_t kAllPage = 200;

struct HistoryFlags {
  ClientFlags client;
  std::string conversation;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t around = 0;
  std::int64_t at = 0;
  std::uint64_t limit = 0;
  bool all = false;
  bool json = false;
};

/// "bob" stands for the single chat with bob where it is known who asks.
std::string conversation_of(const HistoryFlags& flags) {
  if (flags.client.user.empty() || flags.conversation.find('_') != std::string::npos) return flags.conversation;
  return single_conversation(UserId(flags.client.user), UserId(flags.conversation)).value;
}

std::string target_of(const HistoryFlags& flags, const std::string& page_token) {
  const std::uint64_t limit = flags.limit != 0 ? flags.limit : flags.all ? kAllPage : kPage;
  std::string target =
      "/v1/conversations/" + percent_encode(conversation_of(flags)) + "/messages?limit=" + std::to_string(limit);
  if (!page_token.empty()) return target + "&page_token=" + percent_encode(page_token);
  if (flags.before != 0) target += "&before=" + std::to_string(flags.before);
  if (flags.after != 0) target += "&after=" + std::to_string(flags.after);
  if (flags.around != 0) target += "&around=" + std::to_string(flags.around);
  if (flags.at != 0) target += "&at=" + std::to_string(flags.at);
  return target;
}

Called<void> fetch(const HttpCalls& calls, const HistoryFlags& flags, const std::string& page_token,
                   v1::HistoryPage& page) {
  const auto answer = calls.call({.target = target_of(flags, page_token)});
  if (!answer) return std::unexpected(answer.error());
  if (flags.json) print_json(*answer);
  return read_answer(*answer, page);
}

std::string hidden_text(const v1::Hidden& hidden) {
  std::string reason = v1::HiddenReason_Name(hidden.reason());
  reason = reason.substr(std::min(reason.size(), std::string("HIDDEN_REASON_").size()));
  std::transform(reason.begin(), reason.end(), reason.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return fmt::format("not shown: {} to {} ({})", hidden.after() + 1, hidden.to(), reason);
}

/// What an entry without words of its own tells.
std::string change_text(const Entry& entry) {
  if (entry.kind == EntryKind::edit) return fmt::format("{} edited {}", entry.sender.value, entry.target.value);
  if (entry.kind == EntryKind::recall) return fmt::format("{} recalled {}", entry.sender.value, entry.target.value);
  return entry_text(entry);
}

void add_row(TextTable& table, const Entry& entry) {
  const bool change = !entry.countable();
  std::string remark;
  if (entry.reply_to) remark += fmt::format(" (answers {})", entry.reply_to.value);
  const Style grey{.colour = Colour::grey};
  table.add({{std::to_string(entry.seq.value), grey},
             {full_time(entry.server_time, utc_offset_s(entry.server_time)), grey},
             {change ? "" : entry.sender.value, {.bold = true}},
             {change_text(entry) + remark, change || entry.dead() ? grey : Style{}}});
}

/// What a page says of its own borders.
std::string borders(const v1::HistoryPage& page) {
  std::string out;
  for (const v1::Hidden& hidden : page.hidden()) out += hidden_text(hidden) + "\n";
  if (page.pending()) out += "older messages are still being fetched from the archive; ask again\n";
  return out;
}

int run_history(const HistoryFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  std::vector<v1::HistoryPage> pages;
  std::string page_token;
  do {
    v1::HistoryPage page;
    const auto fetched = fetch(*calls, flags, page_token, page);
    if (!fetched) {
      tell_call_error(fetched.error());
      return 1;
    }
    // A token that brings nothing on would turn for ever.
    const bool stuck = page.page_token() == page_token;
    page_token = page.end() || stuck ? "" : page.page_token();
    pages.push_back(std::move(page));
  } while (flags.all && !page_token.empty());
  if (flags.json) return 0;

  // Pages go from new to old, or on from `after`; the table always ascends.
  if (flags.after == 0) std::reverse(pages.begin(), pages.end());
  TextTable table({{"seq", Align::right}, {"time"}, {"sender", Align::left, 24}, {"message"}});
  std::string remarks;
  for (const v1::HistoryPage& page : pages) {
    for (const v1::Message& message : page.messages()) {
      add_row(table, entry_from(message));
      if (message.body().has_cut())
        remarks += fmt::format("all of it: tidemark body {}{}\n", as_shell_word(printable(message.message_id())),
                               flags.client.repeated());
    }
    remarks += borders(page);
  }
  const std::string conversation = printable(conversation_of(flags));
  if (table.empty())
    fmt::print("{}: no messages here\n", conversation);
  else
    fmt::print("{}", table.text(stdout_is_coloured() ? Paint::coloured : Paint::plain, stdout_columns()));
  fmt::print("{}", remarks);
  if (!page_token.empty() && !pages.back().messages().empty() && flags.after == 0) {
    const auto& oldest = pages.front().messages(0);
    fmt::print("more: tidemark history {} --before {}{}{}\n", as_shell_word(conversation), oldest.seq(),
               flags.limit == 0 ? "" : fmt::format(" --limit {}", flags.limit), flags.client.repeated());
  }
  return 0;
}

}  // namespace

void add_history(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("history", "Show the messages of a conversation");
  auto flags = std::make_shared<HistoryFlags>();
  flags->client.add_to(*command);
  command->add_option("conversation", flags->conversation, "alice_bob, group_1, or with --user the other user alone")
      ->required()
      ->type_name("CONVERSATION");
  command->add_option("--limit", flags->limit, "Messages a page [50]")->check(whole_number(1))->type_name("N");
  auto* places = command->add_option_group("place", "Where to read; the newest by default");
  places->add_option("--before", flags->before, "Messages before this seq")->check(whole_number(1))->type_name("SEQ");
  places->add_option("--after", flags->after, "Messages after this seq")->check(whole_number(1))->type_name("SEQ");
  places->add_option("--around", flags->around, "Messages on both sides of this seq")
      ->check(whole_number(1))
      ->type_name("SEQ");
  places->add_option("--at", flags->at, "Messages around this server time")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("MS");
  places->require_option(0, 1);
  command->add_flag("--all", flags->all, "Every page, not only the first");
  command->add_flag("--json", flags->json, "Print the server's answer as it is, a line for each page");
  command->callback([flags, &chosen] { chosen = [flags] { return run_history(*flags); }; });
}

}  // namespace tidemark
