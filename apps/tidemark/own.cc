// What a user makes of conversations for himself alone: tidemark delete, clear, remove, mute, pin, block, settings.
#include <fmt/core.h>

#include <chrono>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

struct OwnFlags {
  ClientFlags client;
  std::string subject;  // a message, a conversation, a user or a setting
  std::string value;
  std::uint64_t seq = 0;
  std::uint64_t hours = 0;
  bool off = false;
  bool json = false;
};

std::shared_ptr<OwnFlags> own_flags(CLI::App& command) {
  auto flags = std::make_shared<OwnFlags>();
  flags->client.add_to(command);
  command.add_flag("--json", flags->json, "Print the server's answer as it is");
  return flags;
}

void add_subject(CLI::App& command, OwnFlags& flags, const std::string& name, const std::string& help) {
  command.add_option(name, flags.subject, help)->required()->type_name(name == "user" ? "USER" : "ID");
}

std::string conversation_path(const OwnFlags& flags) {
  return "/v1/conversations/" + percent_encode(flags.subject);
}

int run_own(const OwnFlags& flags, const CallOptions& options, std::string_view done) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::Mutated mutated;
  if (!call_and_read(*calls, options, flags.json, mutated)) return 1;
  if (!flags.json) fmt::print("{}  {}\n", flags.subject, done);
  return 0;
}

/// The moment so many hours from now; whole milliseconds since 1970.
std::int64_t in_hours(std::uint64_t hours) {
  const auto at = std::chrono::system_clock::now() + std::chrono::hours(static_cast<std::int64_t>(hours));
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

int run_mute(const OwnFlags& flags) {
  std::string body = "{}";
  if (flags.off) body = "{\"until\":0}";
  if (flags.hours > 0) body = fmt::format("{{\"until\":{}}}", in_hours(flags.hours));
  return run_own(flags, {.method = "POST", .target = conversation_path(flags) + "/mute", .body = body},
                 flags.off ? "no longer muted" : "muted");
}

int run_settings(const OwnFlags& flags) {
  if (!flags.subject.empty()) {
    CallOptions options{.method = "DELETE", .target = "/v1/settings/" + percent_encode(flags.subject)};
    if (!flags.off) {
      options.method = "PUT";
      options.body = "{\"value\":";
      write_json_string(flags.value, options.body);
      options.body += '}';
    }
    return run_own(flags, options, flags.off ? "no longer set" : "set");
  }
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::UserObjects settings;
  if (!call_and_read(*calls, {.method = "GET", .target = "/v1/settings"}, flags.json, settings)) return 1;
  if (flags.json) return 0;
  for (const v1::UserObject& object : settings.objects())
    fmt::print("{}  {}\n", object.setting().name(), object.setting().value());
  if (settings.objects().empty()) fmt::print("nothing is set\n");
  return 0;
}

}  // namespace

void add_delete(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("delete", "Hide a message from yourself alone, on all your devices");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "message_id", "The message, such as alice_bob:57");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_own(*flags, {.method = "DELETE", .target = "/v1/messages/" + percent_encode(flags->subject)},
                     "deleted for you");
    };
  });
}

void add_clear(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("clear", "Hide all there is of a conversation from yourself alone");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "conversation", "The conversation, such as alice_bob or group_1");
  command->add_option("--up-to", flags->seq, "Only up to this message")->type_name("SEQ");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_own(*flags,
                     {.method = "POST",
                      .target = conversation_path(*flags) + "/clear",
                      .body = fmt::format("{{\"seq\":{}}}", flags->seq)},
                     "cleared");
    };
  });
}

void add_remove(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("remove", "Clear a conversation and take it out of your list");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "conversation", "The conversation, such as alice_bob or group_1");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_own(*flags, {.method = "DELETE", .target = conversation_path(*flags)},
                     "removed, until a message comes");
    };
  });
}

void add_mute(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("mute", "Mute a conversation, for ever or for a while");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "conversation", "The conversation, such as alice_bob or group_1");
  command->add_option("--hours", flags->hours, "For so many hours")->type_name("N")->check(CLI::Range(1, 87'600));
  command->add_flag("--off", flags->off, "No longer")->excludes("--hours");
  command->callback([flags, &chosen] { chosen = [flags] { return run_mute(*flags); }; });
}

void add_pin(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("pin", "Pin a conversation in your list");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "conversation", "The conversation, such as alice_bob or group_1");
  command->add_flag("--off", flags->off, "No longer");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_own(*flags,
                     {.method = "POST",
                      .target = conversation_path(*flags) + "/pin",
                      .body = fmt::format("{{\"pinned\":{}}}", !flags->off)},
                     flags->off ? "no longer pinned" : "pinned");
    };
  });
}

void add_block(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("block", "Take no messages from a user any more");
  auto flags = own_flags(*command);
  add_subject(*command, *flags, "blocked", "The user to block");
  command->add_flag("--off", flags->off, "Take them again");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_own(
          *flags, {.method = flags->off ? "DELETE" : "PUT", .target = "/v1/blocked/" + percent_encode(flags->subject)},
          flags->off ? "may write to you again" : "is blocked");
    };
  });
}

void add_settings(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("settings", "Show your settings, or set one on all your devices");
  auto flags = own_flags(*command);
  command->add_option("name", flags->subject, "The setting: a-z, 0-9, '.', '_', '-'")->type_name("NAME");
  auto* value = command->add_option("value", flags->value, "Its value, a JSON text")->type_name("JSON");
  command->add_flag("--off", flags->off, "Take it away")->excludes(value);
  command->callback([flags, value, &chosen] {
    if (!flags->subject.empty() && !flags->off && value->empty())
      throw CLI::ValidationError("value", "Give a JSON text, or --off to take the setting away.");
    chosen = [flags] { return run_settings(*flags); };
  });
}

}  // namespace tidemark
