#include "apps/tidemark/commands.h"
namespace tidemark {
void add_chat(CLI::App&, Run&) {}
void add_demo(CLI::App&, Run&) {}
}  // namespace tidemark
