// The flags that every subcommand with settings takes: --config, --data, --set, and the place to listen.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "gateway/config.h"

namespace tidemark {

struct SettingsFlags {
  std::string config;
  std::string data;
  std::string listen;
  std::vector<std::string> set;

  /// Adds --config, --data and --set to a subcommand.
  void add_to(CLI::App& command);
  /// Adds --listen HOST:PORT.
  void add_listen_to(CLI::App& command);
  /// The settings, or nothing after the error was told on stderr.
  std::optional<Config> load() const;
};

/// The settings file to read: that of --config, else that of TIDEMARK_CONFIG, else "" for none.
std::string config_path(const std::string& given);

/// Tells an error on stderr: what is wrong, where, and what to do.
void tell_error(const Error& error);

}  // namespace tidemark
