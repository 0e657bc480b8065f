// tidemark body: all of a message whose body was too long to come with its page.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "client/terminal/text_width.h"
#include "client/terminal/when.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"

namespace tidemark {
namespace {

struct BodyFlags {
  ClientFlags client;
  std::string message_id;
  bool json = false;
};

/// Every line as it is, but for what would command the terminal.
void print_lines(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("{}\n", terminal::printable(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

void print_body(const v1::Body& body) {
  print_lines(body.text().empty() ? body.summary() : body.text());
  print_lines(body.data());
  for (const v1::Attachment& file : body.attachments()) {
    const std::string until =
        file.expires_at() == 0 ? ""
                               : "  until " + terminal::full_time(file.expires_at(), utc_offset_s(file.expires_at()));
    fmt::print("{}  {}  {} bytes{}\n", terminal::printable(file.url()), terminal::printable(file.mime()), file.size(),
               until);
  }
  if (!body.encrypted().empty()) fmt::print("{} encrypted bytes\n", body.encrypted().size());
}

int run_body(const BodyFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::MessageBody answer;
  const std::string target = "/v1/messages/" + percent_encode(flags.message_id) + "/body";
  if (!call_and_read(*calls, {.target = target}, flags.json, answer)) return 1;
  if (!flags.json) print_body(answer.body());
  return 0;
}

}  // namespace

void add_body(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("body", "Show all of a long message");
  auto flags = std::make_shared<BodyFlags>();
  flags->client.add_to(*command);
  command->add_option("message_id", flags->message_id, "The message, such as alice_bob:57")
      ->required()
      ->type_name("MESSAGE_ID");
  command->add_flag("--json", flags->json, "Print the server's answer as it is");
  command->callback([flags, &chosen] { chosen = [flags] { return run_body(*flags); }; });
}

}  // namespace tidemark
