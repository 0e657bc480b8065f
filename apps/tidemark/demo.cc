// tidemark demo: starts a server of its own and plays the story of demo_story.h.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/demo_server.h"
#include "apps/tidemark/demo_story.h"
#include "apps/tidemark/settings_flags.h"
#include "apps/tidemark/terminal_mode.h"

namespace tidemark {
namespace {

/// On Ctrl-C and the like: no server and no directory stay behind.
[[noreturn]] void clean_up_and_go(const DemoServer& server) {
  if (server.pid() > 0) ::kill(server.pid(), SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(server.directory(), ignored);
  ::_exit(130);
}

int run_demo(Pace pace) {
  SignalQueue signals;
  auto server = DemoServer::make();
  if (!server) {
    tell_error(server.error());
    return 1;
  }
  const std::jthread watch([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd wait{signals.descriptor(), POLLIN, 0};
      ::poll(&wait, 1, 100);
      for (int signal = signals.take(); signal != 0; signal = signals.take())
        if (signal != SIGWINCH) clean_up_and_go(**server);
    }
  });
  if (const auto started = (*server)->start(); !started) {
    tell_error(started.error());
    return 1;
  }
  return Story(**server, pace).play() ? 0 : 1;
}

}  // namespace

void add_demo(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("demo", "Play a story of six devices with an outage in between");
  auto fast = std::make_shared<bool>(false);
  command->add_flag("--fast", *fast, "Without pauses between the steps");
  command->callback([fast, &chosen] { chosen = [fast] { return run_demo(*fast ? Pace::fast : Pace::for_people); }; });
}

}  // namespace tidemark
