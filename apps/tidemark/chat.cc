// tidemark chat: a chat in the terminal, on the client library that applications use.
#include <fmt/core.h>
#include <unistd.h>

#include "apps/tidemark/chat_faces.h"
#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/settings_flags.h"

namespace tidemark {
namespace {

struct ChatFlags {
  ClientFlags client;
  std::string device;
  std::string store;
  std::string to;
  bool lines = false;
  bool follow = false;
};

/// Always the same, so that a chat finds again what it held; one for people and one for scripts.
const char* usual_device() {
  return ::isatty(STDIN_FILENO) == 1 ? "terminal" : "pipe";
}

int run_chat(const ChatFlags& flags) {
  const auto access = flags.client.access();
  if (!access) {
    tell_error(access.error());
    return 1;
  }
  if (access->user.empty()) {
    tell_error({ErrorCode::BAD_TOKEN, "token",
                "That is no token: it names no user. A token has three parts with dots between them, as tidemark token "
                "USER prints one."});
    return 1;
  }
  auto store = open_chat_store(*access, flags.store, flags.device, usual_device());
  if (!store) {
    tell_error(store.error());
    return 1;
  }
  SignalQueue signals;  // before the client's thread
  const auto session = ChatSession::start(*access, std::move(*store));
  if (!session) {
    tell_error(session.error());
    return 1;
  }
  const bool people = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && !flags.lines;
  // The chat works without a server and waits for one; a person wants to know that there is none.
  const std::string trouble = (*session)->server_trouble();
  if (people) return run_chat_screen(**session, signals, {.to = flags.to, .notice = trouble});
  if (!trouble.empty()) fmt::print(stderr, "tidemark: {}\n", trouble);
  return run_chat_lines(**session, signals, {.to = flags.to, .follow = flags.follow, .no_server = !trouble.empty()});
}

}  // namespace

void add_chat(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("chat", "Chat in the terminal; without a terminal, line by line");
  auto flags = std::make_shared<ChatFlags>();
  flags->client.add_to(*command);
  command->add_option("--device", flags->device, "Name of this device [terminal, or pipe without a terminal]")
      ->type_name("NAME");
  command
      ->add_option("--store", flags->store,
                   "Where to keep messages; none: in memory [~/.local/share/tidemark/SERVER/USER@DEVICE.db]")
      ->type_name("FILE");
  command->add_option("--to", flags->to, "The user or group to chat with at first")->type_name("TO");
  command->add_flag("--lines", flags->lines, "Line by line, even in a terminal");
  command->add_flag("--follow", flags->follow, "Line by line: go on after the end of stdin");
  command->callback([flags, &chosen] { chosen = [flags] { return run_chat(*flags); }; });
}

}  // namespace tidemark
