// tidemark edit and tidemark recall: an own message gets another text, or is taken back for everybody. tidemark react
// and tidemark reactions: how somebody reacts to a message, and who does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "client/terminal/text_width.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

struct ChangeFlags {
  ClientFlags client;
  std::string message_id;
  std::vector<std::string> words;
  std::optional<std::uint64_t> base_revision;
  bool json = false;
};

std::string path_of(const ChangeFlags& flags) {
  return "/v1/messages/" + percent_encode(flags.message_id);
}

std::string edit_of(const ChangeFlags& flags) {
  std::string out = R"({"body":{"text":)";
  write_json_string(text_of(flags.words), out);
  out += '}';
  if (flags.base_revision) out += fmt::format(",\"base_revision\":{}", *flags.base_revision);
  return out + '}';
}

/// What the message is after the call, or the error.
int run_change(const ChangeFlags& flags, const CallOptions& options, std::string_view done) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::Mutated mutated;
  if (!call_and_read(*calls, options, flags.json, mutated)) return 1;
  if (!flags.json) fmt::print("{}  {}\n", flags.message_id, mutated.seq() == 0 ? "is so already" : done);
  return 0;
}

std::shared_ptr<ChangeFlags> change_flags(CLI::App& command) {
  auto flags = std::make_shared<ChangeFlags>();
  flags->client.add_to(command);
  command.add_option("message_id", flags->message_id, "The message, such as alice_bob:57")
      ->required()
      ->type_name("MESSAGE_ID");
  command.add_flag("--json", flags->json, "Print the server's answer as it is");
  return flags;
}

}  // namespace

void add_edit(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("edit", "Give an own message another text");
  auto flags = change_flags(*command);
  command->add_option("text", flags->words, "The new text; - reads it from stdin")->required()->type_name("TEXT");
  command->add_option("--base-revision", flags->base_revision, "Only if the message has this revision (0: not edited)")
      ->type_name("SEQ");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_change(*flags, {.method = "PATCH", .target = path_of(*flags), .body = edit_of(*flags)}, "edited");
    };
  });
}

namespace {

std::string reaction_of(const std::string& name, bool off) {
  std::string out = R"({"reaction":)";
  write_json_string(name, out);
  return out + (off ? R"(,"on":false})" : R"(,"on":true})");
}

/// All pages of who reacts.
int run_reactions(const ChangeFlags& flags, const std::string& reaction) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  std::string page_token;
  do {
    std::string target = path_of(flags) + "/reactions?limit=200";
    if (!reaction.empty()) target += "&reaction=" + percent_encode(reaction);
    if (!page_token.empty()) target += "&page_token=" + percent_encode(page_token);
    v1::ReactionList list;
    if (!call_and_read(*calls, {.target = std::move(target)}, flags.json, list)) return 1;
    for (const v1::UserReactions& each : list.users())
      if (!flags.json)
        fmt::print("{}  {}\n", terminal::printable(each.user()),
                   terminal::printable(fmt::format("{}", fmt::join(each.reactions(), " "))));
    page_token = list.page_token();
  } while (!page_token.empty());
  return 0;
}

}  // namespace

void add_react(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("react", "React to a message, or take that off again");
  auto flags = change_flags(*command);
  auto name = std::make_shared<std::string>();
  auto off = std::make_shared<bool>(false);
  command->add_option("reaction", *name, "An emoji, or whatever the application calls it")
      ->required()
      ->type_name("REACTION");
  command->add_flag("--off", *off, "Take it off again");
  command->callback([flags, name, off, &chosen] {
    chosen = [flags, name, off] {
      return run_change(*flags,
                        {.method = "POST", .target = path_of(*flags) + "/reactions", .body = reaction_of(*name, *off)},
                        *off ? "no longer reacted to" : "reacted to");
    };
  });
}

void add_reactions(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("reactions", "Show who reacts to a message, and how");
  auto flags = change_flags(*command);
  auto name = std::make_shared<std::string>();
  command->add_option("reaction", *name, "Only who reacts so")->type_name("REACTION");
  command->callback([flags, name, &chosen] { chosen = [flags, name] { return run_reactions(*flags, *name); }; });
}

void add_recall(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("recall", "Take an own message back for everybody");
  auto flags = change_flags(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_change(*flags, {.method = "POST", .target = path_of(*flags) + "/recall", .body = "{}"}, "recalled");
    };
  });
}

}  // namespace tidemark
