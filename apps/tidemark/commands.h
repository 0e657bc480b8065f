// The subcommands of `tidemark`. Each adds itself to the command line and returns what to run; main only composes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace tidemark {

/// What a chosen subcommand does; returns the exit status.
using Run = std::function<int()>;

/// Adds a subcommand; when it is parsed, `chosen` becomes what to run.
void add_serve(CLI::App& app, Run& chosen);
void add_token(CLI::App& app, Run& chosen);
void add_send(CLI::App& app, Run& chosen);
void add_edit(CLI::App& app, Run& chosen);
void add_recall(CLI::App& app, Run& chosen);
void add_react(CLI::App& app, Run& chosen);
void add_reactions(CLI::App& app, Run& chosen);
void add_delete(CLI::App& app, Run& chosen);
void add_clear(CLI::App& app, Run& chosen);
void add_remove(CLI::App& app, Run& chosen);
void add_mute(CLI::App& app, Run& chosen);
void add_pin(CLI::App& app, Run& chosen);
void add_block(CLI::App& app, Run& chosen);
void add_settings(CLI::App& app, Run& chosen);
void add_receipts(CLI::App& app, Run& chosen);
void add_totals(CLI::App& app, Run& chosen);
void add_history(CLI::App& app, Run& chosen);
void add_body(CLI::App& app, Run& chosen);
void add_devices(CLI::App& app, Run& chosen);
void add_sync(CLI::App& app, Run& chosen);
void add_chat(CLI::App& app, Run& chosen);
void add_demo(CLI::App& app, Run& chosen);
void add_import(CLI::App& app, Run& chosen);
void add_hooks(CLI::App& app, Run& chosen);
void add_restore(CLI::App& app, Run& chosen);
void add_config(CLI::App& app, Run& chosen);

}  // namespace tidemark
