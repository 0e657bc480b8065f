// tidemark hooks: the events that the application did not take, and telling it again.
#include <fmt/core.h>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "base/ports.h"
#include "client/terminal/text_table.h"
#include "client/terminal/when.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

using namespace terminal;

struct HookFlags {
  ClientFlags client;
  std::vector<std::string> ids;
  bool all = false;
  bool json = false;
};

std::string place_of(const v1::DeadEvent& event) {
  if (event.conversation_id().empty()) return event.user() + " " + event.device();
  return event.conversation_id() + ":" + std::to_string(event.seq());
}

std::string word_of(v1::HookKind kind) {
  std::string word = v1::HookKind_Name(kind).substr(std::string_view("HOOK_KIND_").size());
  for (char& c : word) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

void add_row(TextTable& table, const v1::DeadEvent& event) {
  const std::int64_t now_ms = SystemClock().wall_ms();
  table.add({{event.id(), {.bold = true}},
             {word_of(event.kind()), {}},
             {place_of(event), {}},
             {std::to_string(event.tries()), {}},
             {event.last_error(), {.colour = Colour::grey}},
             {short_time(event.died_at(), now_ms, utc_offset_s(event.died_at())), {.colour = Colour::grey}}});
}

int list(const HookFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  TextTable table({{"event"}, {"kind"}, {"where", Align::left, 40}, {"tries"}, {"why", Align::left, 40}, {"given up"}});
  v1::DeadEvents page;
  do {
    std::string target = "/v1/admin/hooks/dead?limit=200";
    if (!page.page_token().empty()) target += "&page_token=" + percent_encode(page.page_token());
    page.Clear();
    if (!call_and_read(*calls, {.target = target}, flags.json, page)) return 1;
    for (const v1::DeadEvent& event : page.events()) add_row(table, event);
  } while (!page.page_token().empty());
  if (flags.json) return 0;
  if (!table.empty())
    fmt::print("{}", table.text(stdout_is_coloured() ? Paint::coloured : Paint::plain, stdout_columns()));
  fmt::print("{} waiting to be told\n", page.waiting());
  return 0;
}

int replay(const HookFlags& flags) {
  if (flags.all != flags.ids.empty()) {
    fmt::print(stderr, "tidemark hooks replay: name events, as the list shows them, or give --all\n");
    return 2;
  }
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::ReplayEventsRequest request;
  for (const std::string& id : flags.ids) request.add_ids(id);
  std::string body;
  write_json(request, body);
  v1::Replayed answer;
  if (!call_and_read(*calls, {.method = "POST", .target = "/v1/admin/hooks/replay", .body = body}, flags.json, answer))
    return 1;
  if (!flags.json) fmt::print("{} told again\n", answer.replayed());
  return 0;
}

std::shared_ptr<HookFlags> hook_flags(CLI::App& command) {
  auto flags = std::make_shared<HookFlags>();
  flags->client.add_admin_to(command);
  command.add_flag("--json", flags->json, "Print the server's answer as it is");
  return flags;
}

}  // namespace

void add_hooks(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("hooks", "List events that the application did not take, tell them again");
  command->require_subcommand(1);
  CLI::App* listing = command->add_subcommand("list", "The events that were given up, oldest first");
  listing->callback([flags = hook_flags(*listing), &chosen] { chosen = [flags] { return list(*flags); }; });

  CLI::App* again = command->add_subcommand("replay", "Tell dead events again");
  auto flags = hook_flags(*again);
  again->add_option("events", flags->ids, "Their ids, as the list shows them")->type_name("EVENT");
  again->add_flag("--all", flags->all, "All of them");
  again->callback([flags, &chosen] { chosen = [flags] { return replay(*flags); }; });
}

}  // namespace tidemark
