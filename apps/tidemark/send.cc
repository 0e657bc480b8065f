// tidemark send: one message from the command line; sent again under its --id, it is still one.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "base/ports.h"
#include "core/uuid7.h"
#include "tidemark.pb.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

struct SendFlags {
  ClientFlags client;
  std::string to;
  std::vector<std::string> words;
  std::string id;
  std::string type;
  std::uint64_t reply_to = 0;
  std::vector<std::string> mentions;
  bool mention_all = false;
  std::string priority = {};
  std::vector<std::string> files;  // URLs
  std::uint64_t file_days = 0;     // 0: they stay
  bool conversation = false;
  bool json = false;
};

std::string attachments_of(const SendFlags& flags, std::int64_t now_ms) {
  constexpr std::uint64_t kDayMs = 86'400'000;
  std::string out = "[";
  for (const std::string& url : flags.files) {
    if (out.size() > 1) out += ',';
    out += "{\"url\":";
    write_json_string(url, out);
    if (flags.file_days != 0)
      out += fmt::format(",\"expires_at\":{}", static_cast<std::uint64_t>(now_ms) + flags.file_days * kDayMs);
    out += '}';
  }
  return out + ']';
}

std::string request_of(const SendFlags& flags) {
  const SystemClock clock;
  SystemRandom random;
  Uuid7Random dice;
  random.fill(dice);
  std::string out = "{";
  const auto field = [&out](std::string_view name, std::string_view value) {
    if (out.size() > 1) out += ',';
    write_json_string(name, out);
    out += ':';
    write_json_string(value, out);
  };
  const bool conversation = flags.conversation || flags.to.starts_with("group_");
  field(conversation ? "conversation_id" : "to", flags.to);
  field("client_msg_id", flags.id.empty() ? make_uuid_v7(clock.wall_ms(), dice) : flags.id);
  out += fmt::format(",\"client_time\":{}", clock.wall_ms());
  if (flags.reply_to != 0) out += fmt::format(",\"reply_to\":{}", flags.reply_to);
  if (!flags.priority.empty()) field("priority", flags.priority);
  if (flags.mention_all) out += ",\"mention_all\":true";
  if (!flags.mentions.empty()) {
    out += ",\"mentions\":[";
    for (const std::string& user : flags.mentions) {
      if (out.back() != '[') out += ',';
      write_json_string(user, out);
    }
    out += ']';
  }
  std::string body;
  std::swap(out, body);
  out = "{";
  if (!flags.type.empty()) field("type", flags.type);
  if (!flags.words.empty()) field("text", text_of(flags.words));
  if (!flags.files.empty())
    out += (out.size() > 1 ? ",\"attachments\":" : "\"attachments\":") + attachments_of(flags, clock.wall_ms());
  return body + ",\"body\":" + out + "}}";
}

int run_send(const SendFlags& flags) {
  if (flags.words.empty() && flags.files.empty()) {
    fmt::print(stderr, "tidemark: say something, or give a file by --attach\n");
    return 2;
  }
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::Sent sent;
  if (!call_and_read(*calls, {.method = "POST", .target = "/v1/messages", .body = request_of(flags)}, flags.json, sent))
    return 1;
  if (!flags.json) fmt::print("{}  {}\n", sent.message_id(), sent.duplicate() ? "was sent before" : "sent");
  return 0;
}

}  // namespace

void add_send(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("send", "Send one message to a user or a conversation");
  auto flags = std::make_shared<SendFlags>();
  flags->client.add_to(*command);
  command->add_option("to", flags->to, "A user, or a group's id such as group_1")->required()->type_name("TO");
  command->add_option("text", flags->words, "The message; - reads it from stdin")->type_name("TEXT");
  command->add_flag("--conversation", flags->conversation, "TO is the id of a conversation, whatever it looks like");
  command->add_option("--id", flags->id, "client_msg_id: the same id again never makes a second message")
      ->check(not_empty())
      ->type_name("CLIENT_MSG_ID");
  command->add_option("--reply-to", flags->reply_to, "Number of the message that this answers")
      ->check(whole_number(1))
      ->type_name("SEQ");
  command->add_option("--mention", flags->mentions, "A member of the group who is meant; may be given again")
      ->type_name("USER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--mention-all", flags->mention_all, "Everybody in the conversation is meant");
  command->add_option("--priority", flags->priority, "high overtakes other conversations, low may wait [normal]")
      ->check(CLI::IsMember({"high", "normal", "low"}))
      ->type_name("PRIORITY");
  CLI::Option* files =
      command->add_option("--attach", flags->files, "Where a file lies that belongs to it; may be given again");
  files->check(not_empty())->type_name("URL")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--attach-days", flags->file_days, "Days after which these files are gone [they stay]")
      ->check(whole_number(1, 36'500))
      ->needs(files)
      ->type_name("DAYS");
  command->add_option("--type", flags->type, "Type of the body [text]")->type_name("TYPE");
  command->add_flag("--json", flags->json, "Print the server's answer as it is");
  command->callback([flags, &chosen] { chosen = [flags] { return run_send(*flags); }; });
}

}  // namespace tidemark
