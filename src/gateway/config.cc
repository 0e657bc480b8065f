// The code gives errors as values; the parser is built in without exceptions for that.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include "gateway/config.h"

#include <arpa/inet.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>

#include "base/json_text.h"
#include "gateway/config_files.h"
#include "gateway/config_settings.h"
#include "hooks/hook_url.h"

namespace tidemark {
namespace {

constexpr std::string_view kPrefix = "TIDEMARK_";
constexpr std::size_t kFileBytesMax = 1024 * 1024;
constexpr std::size_t kHookSecretBytesMin = 16;

/// Variables of the command line tools, and those that Kubernetes sets for a service called tidemark.
bool is_no_setting(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOthers = {"TIDEMARK_CONFIG", "TIDEMARK_TOKEN", "TIDEMARK_URL",
                                                       "TIDEMARK_PORT", "TIDEMARK_SERVICE_HOST"};
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end() ||
         name.starts_with("TIDEMARK_SERVICE_PORT") || name.starts_with("TIDEMARK_PORT_");
}

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text.substr(0, 80));
  return out;
}

std::unexpected<Error> unknown_setting(std::string_view name, std::string_view place, std::string_view nearest) {
  std::string detail(place);
  detail.append(": There is no setting ").append(in_quotes(name)).append(".");
  if (!nearest.empty()) detail.append(" Did you mean ").append(nearest).append("?");
  return fail(ErrorCode::UNKNOWN_FIELD, std::string(name), detail);
}

std::string place_in(const std::string& path, const toml::source_region& source) {
  return path + ":" + std::to_string(source.begin.line);
}

/// Any other type becomes the one that the setting does not have, so that it is refused as a wrong type.
SettingValue value_of(const toml::node& node, const ConfigSetting& setting) {
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* yes = node.as_boolean()) return yes->get();
  if (const auto* text = node.as_string()) return text->get();
  return setting.kind == SettingKind::number ? SettingValue(false) : SettingValue(std::int64_t{0});
}

Result<void> apply_table(Config& config, const toml::table& table, const std::string& prefix, const std::string& path) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const std::string place = place_in(path, key.source());
    if (const ConfigSetting* setting = find_setting(name)) {
      TM_TRY(apply_setting(config, *setting, value_of(node, *setting), place));
    } else if (const toml::table* inner = node.as_table(); inner != nullptr && prefix.empty()) {
      TM_TRY(apply_table(config, *inner, name + ".", path));
    } else {
      return unknown_setting(name, place, nearest_setting(name));
    }
  }
  return {};
}

Result<void> apply_file(Config& config, const std::string& path) {
  TM_ASSIGN(const SmallFile file, read_small_file(path, kFileBytesMax, "config"));
  const toml::parse_result parsed = toml::parse(file.text);
  if (!parsed) {
    const std::string_view why = parsed.error().description();
    return fail(ErrorCode::MALFORMED, "config",
                place_in(path, parsed.error().source()) + ": This is not TOML: " + std::string(why) + ".");
  }
  return apply_table(config, parsed.table(), "", path);
}

Result<void> apply_text(Config& config, const ConfigSetting& setting, std::string_view text, std::string_view place) {
  TM_ASSIGN(const SettingValue value, setting_value_of(setting, text, place));
  return apply_setting(config, setting, value, place);
}

Result<void> apply_variable(Config& config, const std::string& name, const std::string& text) {
  for (const ConfigSetting& setting : settings())
    if (environment_name(setting.name) == name) return apply_text(config, setting, text, "The environment");
  // Only the words are known, not where the dots were.
  std::string dotted = name.substr(kPrefix.size());
  for (char& c : dotted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const std::size_t first = dotted.find('_'); first != dotted.npos) dotted[first] = '.';
  const std::string nearest = nearest_setting(dotted);
  return unknown_setting(name, "The environment", nearest.empty() ? "" : environment_name(nearest));
}

Result<void> apply_override(Config& config, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const ConfigSetting* setting = find_setting(name);
  if (setting == nullptr) return unknown_setting(name, "The command line", nearest_setting(name));
  if (equals == text.npos)
    return fail(ErrorCode::MALFORMED, name, "The command line: " + name + " needs a value: " + name + "=VALUE.");
  return apply_text(config, *setting, std::string_view(text).substr(equals + 1), "The command line");
}

std::unexpected<Error> contradiction(std::string field, std::string detail) {
  return fail(ErrorCode::OUT_OF_RANGE, std::move(field), std::move(detail));
}

Result<void> check_hooks(const HooksConfig& hooks) {
  const std::pair<const std::string&, std::string_view> urls[] = {{hooks.url, "hooks.url"},
                                                                  {hooks.before_send_url, "hooks.before_send_url"},
                                                                  {hooks.notify_url, "hooks.notify_url"}};
  for (const auto& [url, setting] : urls)
    if (!url.empty()) TM_TRY(parse_hook_url(url, setting));
  if (!hooks.secret.empty() && hooks.secret.size() < kHookSecretBytesMin)
    return contradiction("hooks.secret",
                         "hooks.secret must have 16 bytes or more, or be empty for a secret of the "
                         "server's own making.");
  if (hooks.retry_ms > hooks.retry_max_ms)
    return contradiction("hooks.retry_ms", "hooks.retry_ms must not be above hooks.retry_max_ms.");
  return {};
}

Result<void> check_limits(const Limits& limits) {
  if (limits.page_default > limits.page_max)
    return contradiction("limits.page_default", "limits.page_default must not be above limits.page_max.");
  if (limits.sync_default > limits.sync_max)
    return contradiction("limits.sync_default", "limits.sync_default must not be above limits.sync_max.");
  if (limits.sync_bytes_default > limits.sync_bytes_max)
    return contradiction("limits.sync_bytes_default",
                         "limits.sync_bytes_default must not be above limits.sync_bytes_max.");
  // Every byte of a body may come as an escape of up to six, and something stands around it.
  const std::int64_t whole_body = limits.body_bytes_max * 6 + 4'096;
  if (limits.frame_bytes_max < whole_body)
    return contradiction("limits.frame_bytes_max",
                         "limits.frame_bytes_max must be at least " + std::to_string(whole_body) +
                             " (6 x limits.body_bytes_max + 4096), or no frame could hold the "
                             "largest body.");
  if (limits.http_body_bytes_max < whole_body)
    return contradiction("limits.http_body_bytes_max", "limits.http_body_bytes_max must be at least " +
                                                           std::to_string(whole_body) +
                                                           " (6 x limits.body_bytes_max + 4096), or no request could "
                                                           "hold the largest body.");
  if (limits.unanswered_bytes_max < limits.frame_bytes_max)
    return contradiction("limits.unanswered_bytes_max",
                         "limits.unanswered_bytes_max must not be below limits.frame_bytes_max.");
  return {};
}

}  // namespace

Environment environment_of(const char* const* environ) {
  Environment result;
  for (; environ != nullptr && *environ != nullptr; ++environ) {
    const std::string_view line = *environ;
    const std::size_t equals = line.find('=');
    if (equals != line.npos) result.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return result;
}

bool is_loopback(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

Result<void> check_config(const Config& config) {
  const bool tls = !config.tls.certificate.empty();
  if (tls != !config.tls.key.empty())
    return contradiction(tls ? "tls.key" : "tls.certificate", "Give both tls.certificate and tls.key, or neither.");
  if (!is_loopback(config.listen.host) && !tls && !config.listen.insecure)
    return contradiction(
        "listen.host", "Listening on " + in_quotes(config.listen.host) +
                           ", beyond this machine, would send tokens and messages in clear text: give tls.certificate "
                           "and tls.key, or set listen.insecure = true if a proxy in front adds TLS.");
  if (!config.auth.public_key.empty() && !config.auth.jwks.empty())
    return contradiction("auth.jwks", "Give auth.public_key or auth.jwks, not both.");
  if (config.auth.audience == "tidemark-admin")
    return contradiction("auth.audience", "\"tidemark-admin\" is the audience of admin tokens; take another one.");
  TM_TRY(check_hooks(config.hooks));
  return check_limits(config.limits);
}

Result<Config> load_config(const std::string& path, const Environment& environment,
                           const std::vector<std::string>& overrides) {
  Config config;
  if (!path.empty()) TM_TRY(apply_file(config, path));
  for (const auto& [name, text] : environment)
    if (name.starts_with(kPrefix) && !is_no_setting(name)) TM_TRY(apply_variable(config, name, text));
  for (const std::string& text : overrides) TM_TRY(apply_override(config, text));
  TM_TRY(check_config(config));
  return config;
}

}  // namespace tidemark
