// tidemark receipts and tidemark totals: who has read how far, and what is unread in all conversations.
#include <fmt/core.h>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "client/terminal/text_table.h"
#include "client/terminal/text_width.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"

namespace tidemark {
namespace {

struct ReceiptFlags {
  ClientFlags client;
  std::string conversation;
  bool json = false;
};

int run_receipts(const ReceiptFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::ReceiptList list;
  const std::string target = "/v1/conversations/" + percent_encode(flags.conversation) + "/receipts";
  if (!call_and_read(*calls, {.target = target}, flags.json, list)) return 1;
  if (flags.json) return 0;
  if (list.off()) {
    fmt::print("your setting \"receipts\" is false: you are told of nobody\n");
    return 0;
  }
  terminal::TextTable table({{"user"}, {"read", terminal::Align::right}, {"received", terminal::Align::right}});
  for (const v1::Receipt& receipt : list.receipts())
    table.add({{terminal::printable(receipt.user())},
               {std::to_string(receipt.read_seq())},
               {std::to_string(receipt.delivered_seq())}});
  if (table.empty())
    fmt::print("nobody tells\n");
  else
    fmt::print("{}",
               table.text(stdout_is_coloured() ? terminal::Paint::coloured : terminal::Paint::plain, stdout_columns()));
  return 0;
}

int run_totals(const ReceiptFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::Totals totals;
  if (!call_and_read(*calls, {.target = "/v1/totals"}, flags.json, totals)) return 1;
  if (flags.json) return 0;
  const std::string_view more = totals.exact() ? "" : "+";
  fmt::print("unread    {}{}\nmuted     {}{}\nmentions  {}\nbadge     {}{}\n", totals.unread(), more,
             totals.muted_unread(), more, totals.mentions(), totals.badge(), more);
  return 0;
}

}  // namespace

void add_receipts(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("receipts", "Show how far the others of a conversation have read");
  auto flags = std::make_shared<ReceiptFlags>();
  flags->client.add_to(*command);
  command->add_option("conversation", flags->conversation, "The conversation, such as alice_bob or group_1")
      ->required()
      ->type_name("ID");
  command->add_flag("--json", flags->json, "Print the server's answer as it is");
  command->callback([flags, &chosen] { chosen = [flags] { return run_receipts(*flags); }; });
}

void add_totals(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("totals", "Show what is unread in all conversations, and the badge");
  auto flags = std::make_shared<ReceiptFlags>();
  flags->client.add_to(*command);
  command->add_flag("--json", flags->json, "Print the server's answer as it is");
  command->callback([flags, &chosen] { chosen = [flags] { return run_totals(*flags); }; });
}

}  // namespace tidemark
