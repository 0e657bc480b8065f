// Every setting of the server. The same names everywhere: `limits.page_max` is the member config.limits.page_max, the
// line `page_max` under [limits] in tidemark.toml, TIDEMARK_LIMITS_PAGE_MAX in the environment and --set
// limits.page_max=N. What each means, its range and its default are in config_settings.cc, from which tidemark.toml is
// made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "core/params.h"
#include "gateway/limits.h"

namespace tidemark {

/// Who is a user: whoever is named first, or only whom the admin API has made.
enum class UsersPolicy : std::uint8_t { open, registered };

struct ListenConfig {
  std::string host = "127.0.0.1";
  std::int64_t port = 7'700;
  bool insecure = false;
  bool operator==(const ListenConfig&) const = default;
};

struct TlsConfig {
  std::string certificate = {};
  std::string key = {};
  bool operator==(const TlsConfig&) const = default;
};

struct AuthConfig {
  std::string audience = "tidemark";
  std::string issuer = {};
  std::string public_key = {};
  std::string jwks = {};
  bool allow_local = false;
  std::int64_t leeway_s = 30;
  std::int64_t default_ttl_s = 2'592'000;
  std::int64_t admin_ttl_s = 86'400;
  bool operator==(const AuthConfig&) const = default;
};

struct DevicesConfig {
  DevicePolicy::Kind policy = DevicePolicy::Kind::multi;
  std::int64_t max = 50;
  DevicePolicy::WhenFull when_full = DevicePolicy::WhenFull::replace;
  bool operator==(const DevicesConfig&) const = default;
};

struct PresenceConfig {
  bool online = true;
  bool last_seen = true;
  bool operator==(const PresenceConfig&) const = default;
};

struct PriorityConfig {
  Granted high = Granted::everyone;
  Granted low = Granted::everyone;
  bool operator==(const PriorityConfig&) const = default;
};

struct StoreConfig {
  std::int64_t cache_bytes = 134'217'728;
  std::int64_t page_cache_bytes = 33'554'432;
  std::int64_t write_buffer_bytes = 134'217'728;
  std::int64_t segment_bytes = 16'777'216;
  std::int64_t archive_hours = 0;
  std::int64_t min_free_bytes = 268'435'456;
  std::int64_t round_commands_max = 1'024;
  bool operator==(const StoreConfig&) const = default;
};

struct ThreadsConfig {
  std::int64_t readers = 2;
  bool operator==(const ThreadsConfig&) const = default;
};

struct LogConfig {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  bool operator==(const LogConfig&) const = default;
};

/// What happens to a message when the application that has to allow it does not answer.
enum class WhenDown : std::uint8_t { allow = 0, refuse };

struct HooksConfig {
  std::string url = {};
  std::string secret = {};
  std::string ca = {};
  bool messages = true;
  bool changes = true;
  bool groups = true;
  bool devices = true;
  bool attachments = true;
  std::int64_t timeout_ms = 5'000;
  std::int64_t parallel = 4;
  std::int64_t tries = 20;
  std::int64_t retry_ms = 1'000;
  std::int64_t retry_max_ms = 300'000;
  std::int64_t waiting_max = 1'000'000;
  std::int64_t dead_max = 10'000;
  std::string before_send_url = {};
  std::int64_t before_send_timeout_ms = 1'000;
  std::int64_t before_send_parallel = 8;
  WhenDown when_down = WhenDown::refuse;
  std::string notify_url = {};
  std::int64_t notify_after_ms = 10'000;
  bool notify_text = true;
  bool operator==(const HooksConfig&) const = default;
};

struct Config {
  std::string data = "data";
  UsersPolicy users = UsersPolicy::open;
  bool read_on_send = false;
  ListenConfig listen = {};
  TlsConfig tls = {};
  AuthConfig auth = {};
  DevicesConfig devices = {};
  PresenceConfig presence = {};
  PriorityConfig priority = {};
  HooksConfig hooks = {};
  StoreConfig store = {};
  ThreadsConfig threads = {};
  LogConfig log = {};
  Limits limits = {};
  bool operator==(const Config&) const = default;
};

/// Names and values of environment variables.
using Environment = std::map<std::string, std::string>;

/// The environment of a process, from its `environ`.
Environment environment_of(const char* const* environ);

/// The settings: the defaults, then the TOML file `path` ("" for none), then `environment`, then `overrides`
/// ("name=value" each), later ones winning; then check_config. Of the environment only names that start with TIDEMARK_
/// are looked at. Errors carry the setting in `field` and in `detail` a whole sentence with the place
/// ("tidemark.toml:12: ..."): UNKNOWN_FIELD for a setting that does not exist (with the nearest name that does),
/// MALFORMED for a wrong type or a file that is no TOML, OUT_OF_RANGE with the range, NOT_FOUND for a file that cannot
/// be read.
Result<Config> load_config(const std::string& path, const Environment& environment,
                           const std::vector<std::string>& overrides);

/// What single ranges cannot say: settings that contradict each other, and listening beyond this machine in clear text.
Result<void> check_config(const Config& config);

/// Whether only this machine can reach an address: 127.0.0.0/8, ::1 and the name localhost.
bool is_loopback(std::string_view host);

/// The text of tidemark.toml: every setting with its sentence, range and default, at its default.
std::string explained_config();

}  // namespace tidemark
