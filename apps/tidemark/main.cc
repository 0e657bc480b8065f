// tidemark: the server and the tools beside it, in one binary.
#include <CLI/CLI.hpp>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/version.h"

int main(int argc, char** argv) {
  CLI::App app{"Tidemark keeps every message and every device of every user in step.", "tidemark"};
  app.set_version_flag("--version", tidemark::kVersion);
  app.require_subcommand(1);
  app.footer(
      "A first message:\n"
      "  tidemark serve --data ./data --listen 127.0.0.1:7700\n"
      "  tidemark token alice --data ./data\n"
      "  tidemark chat --user alice --data ./data\n"
      "Every setting is explained in tidemark.toml. More: README.md, docs/protocol.md.");
  tidemark::Run chosen;
  tidemark::add_serve(app, chosen);
  tidemark::add_token(app, chosen);
  tidemark::add_send(app, chosen);
  tidemark::add_history(app, chosen);
  tidemark::add_sync(app, chosen);
  tidemark::add_chat(app, chosen);
  tidemark::add_demo(app, chosen);
  tidemark::add_config(app, chosen);
  CLI11_PARSE(app, argc, argv);
  return chosen();
}
