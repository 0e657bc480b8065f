// tidemark: the server and the tools beside it, in one binary.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/version.h"

namespace tidemark {
namespace {

/// How a command ends that was not understood; the same as for a wrong setting.
constexpr int kWrongUsage = 2;

bool is_command(const CLI::App& app, std::string_view word) {
  return !app.get_subcommands([=](const CLI::App* command) { return command->get_name() == word; }).empty();
}

/// Says what is wrong, and every command there is.
int tell_commands(const CLI::App& app, const std::string& what) {
  fmt::print(stderr, "tidemark: {}\n\nThe commands are:\n", what);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    fmt::print(stderr, "  {:<8}  {}\n", command->get_name(), command->get_description());
  fmt::print(stderr, "\nMore on each: tidemark COMMAND --help\n");
  return kWrongUsage;
}

/// What was wrong with the words of a known command.
int tell_misuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = "tidemark " + app.get_subcommands().front()->get_name();
  fmt::print(stderr, "{}: {}\nRun {} --help for more.\n", name, error.what(), name);
  return kWrongUsage;
}

void add_commands(CLI::App& app, Run& chosen) {
  add_serve(app, chosen);
  add_token(app, chosen);
  add_send(app, chosen);
  add_edit(app, chosen);
  add_recall(app, chosen);
  add_react(app, chosen);
  add_reactions(app, chosen);
  add_delete(app, chosen);
  add_clear(app, chosen);
  add_remove(app, chosen);
  add_mute(app, chosen);
  add_pin(app, chosen);
  add_block(app, chosen);
  add_settings(app, chosen);
  add_history(app, chosen);
  add_body(app, chosen);
  add_receipts(app, chosen);
  add_totals(app, chosen);
  add_sync(app, chosen);
  add_devices(app, chosen);
  add_chat(app, chosen);
  add_demo(app, chosen);
  add_import(app, chosen);
  add_hooks(app, chosen);
  add_restore(app, chosen);
  add_config(app, chosen);
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
  using namespace tidemark;
  CLI::App app{"Tidemark keeps every message and every device of every user in step.", "tidemark"};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(
      "A first message:\n"
      "  tidemark serve --data ./data --listen 127.0.0.1:7700\n"
      "  tidemark token alice --data ./data\n"
      "  tidemark chat --user alice --data ./data\n"
      "Every setting is explained in tidemark.toml. More: README.md, docs/protocol.md.");
  Run chosen;
  add_commands(app, chosen);
  if (argc < 2) return tell_commands(app, "give a command");
  const std::string first = argv[1];
  if (!first.starts_with('-') && !is_command(app, first))
    return tell_commands(app, fmt::format("unknown command \"{}\"", first));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    if (!app.get_subcommands().empty()) return tell_misuse(app, error);
    return tell_commands(app, fmt::format("unknown flag \"{}\"", first));
  }
  return chosen();
}
