#include "apps/tidemark/commands.h"
namespace tidemark {
void add_send(CLI::App&, Run&) {}
void add_history(CLI::App&, Run&) {}
void add_sync(CLI::App&, Run&) {}
void add_chat(CLI::App&, Run&) {}
void add_demo(CLI::App&, Run&) {}
}  // namespace tidemark
