#include "apps/tidemark/settings_flags.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace tidemark {

void SettingsFlags::add_to(CLI::App& command) {
  command.add_option("--config", config, "Settings file; also TIDEMARK_CONFIG. tidemark.toml explains every setting")
      ->type_name("FILE");
  command.add_option("--data", data, "Directory of the store and the keys [data]")->type_name("DIR");
  command.add_option("--set", set, "Override one setting, such as limits.page_max=100; may be repeated")
      ->type_name("NAME=VALUE");
}

void SettingsFlags::add_listen_to(CLI::App& command) {
  command.add_option("--listen", listen, "Where to listen [127.0.0.1:7700]")->type_name("HOST:PORT");
}

std::optional<Config> SettingsFlags::load() const {
  std::vector<std::string> overrides;
  if (!data.empty()) overrides.push_back("data=" + data);
  if (!listen.empty()) {
    const auto colon = listen.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == listen.size()) {
      tell_error({ErrorCode::MALFORMED, "listen", "--listen takes HOST:PORT, such as 127.0.0.1:7700 or [::1]:7700."});
      return std::nullopt;
    }
    std::string host = listen.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    overrides.push_back("listen.host=" + host);
    overrides.push_back("listen.port=" + listen.substr(colon + 1));
  }
  overrides.insert(overrides.end(), set.begin(), set.end());
  auto config_read = load_config(config_path(config), environment_of(environ), overrides);
  if (config_read) return std::move(*config_read);
  tell_error(config_read.error());
  return std::nullopt;
}

std::string config_path(const std::string& given) {
  const char* named = std::getenv("TIDEMARK_CONFIG");
  return given.empty() && named != nullptr ? named : given;
}

void tell_error(const Error& error) {
  std::string text = error.detail.empty() ? error.message() : error.detail;
  if (!error.field.empty()) text = error.field + ": " + text;
  std::fprintf(stderr, "tidemark: %s\n", text.c_str());
}

}  // namespace tidemark
