// tidemark sync: what changed since a cursor, as a table or as the server's JSON.
#include <fmt/core.h>

#include <cstdio>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "base/ports.h"
#include "client/terminal/entry_text.h"
#include "client/terminal/text_table.h"
#include "client/terminal/when.h"
#include "tidemark.pb.h"
#include "wire/convert_client.h"
#include "wire/http_parser.h"

namespace tidemark {
namespace {

using namespace terminal;

struct SyncFlags {
  ClientFlags client;
  std::string cursor;
  std::string bodies;
  std::uint64_t tail = 0;
  std::uint64_t limit = 0;
  bool all = false;
  bool json = false;
};

std::string target_of(const SyncFlags& flags, const std::string& cursor, const std::string& page_token) {
  std::string target = "/v1/sync?limit=" + std::to_string(flags.limit);
  if (flags.tail != 0) target += "&tail=" + std::to_string(flags.tail);
  if (!flags.bodies.empty()) target += "&bodies=" + percent_encode(flags.bodies);
  if (!cursor.empty()) target += "&cursor=" + percent_encode(cursor);
  if (!page_token.empty()) target += "&page_token=" + percent_encode(page_token);
  return target;
}

void add_messages(TextTable& table, const Change& change) {
  for (const Entry& entry : change.messages) {
    const std::string text = entry.countable() ? entry.sender.value + ": " + entry_text(entry) : entry_text(entry);
    table.add({"", "", {std::to_string(entry.seq.value), {.colour = Colour::grey}}, "", text});
  }
}

std::string page_text(const v1::SyncPage& page) {
  const SystemClock clock;
  TextTable table(
      {{"conversation", Align::left, 40}, {"unread", Align::right}, {"seq", Align::right}, {"time"}, {"last message"}});
  for (const v1::Change& shown : page.changes()) {
    const Change change = change_from(shown);
    const std::string unread = unread_text(change.unread, change.unread_flag);
    const std::string name =
        change.title.empty() ? change.conversation.value : change.title + " (" + change.conversation.value + ")";
    table.add(
        {{name, {.bold = !unread.empty()}},
         {unread, {.colour = Colour::green, .bold = true}},
         std::to_string(change.head_seq.value),
         {short_time(change.sort_time, clock.wall_ms(), utc_offset_s(change.sort_time)), {.colour = Colour::grey}},
         change.messages.empty() ? Cell(preview_text(change)) : Cell()});
    add_messages(table, change);
  }
  if (table.empty()) return "nothing new\n";
  return table.text(stdout_is_coloured() ? Paint::coloured : Paint::plain, stdout_columns());
}

int run_sync(const SyncFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  std::string cursor = flags.cursor;
  std::string page_token;
  bool more = true;
  for (bool first = true; more && (first || flags.all); first = false) {
    v1::SyncPage page;
    if (!call_and_read(*calls, {.target = target_of(flags, cursor, page_token)}, flags.json, page)) return 1;
    if (!flags.json) fmt::print("{}{}", page.mode() == v1::MODE_DELTA ? "" : "from the beginning:\n", page_text(page));
    cursor = page.cursor();
    page_token = page.page_token();
    more = page.more();
  }
  if (!flags.json) fmt::print("{} --cursor {}\n", more ? "more:" : "next:", cursor);
  return 0;
}

}  // namespace

void add_sync(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("sync", "Show the conversations that changed since a cursor");
  auto flags = std::make_shared<SyncFlags>();
  flags->client.add_to(*command);
  command->add_option("--cursor", flags->cursor, "Where the sync before ended; nothing: from the beginning")
      ->type_name("CURSOR");
  command->add_option("--tail", flags->tail, "With the newest N messages of each conversation, 1 to 50")
      ->check(whole_number(1, 50))
      ->type_name("N");
  command->add_option("--bodies", flags->bodies, "With these messages")->check(one_of({"none", "recent", "all"}));
  command->add_option("--limit", flags->limit, "Conversations a page [the server's default]")
      ->check(whole_number(1))
      ->type_name("N");
  command->add_flag("--all", flags->all, "Every page, not only the first");
  command->add_flag("--json", flags->json, "Print the server's answer as it is, a line for each page");
  command->callback([flags, &chosen] { chosen = [flags] { return run_sync(*flags); }; });
}

}  // namespace tidemark
