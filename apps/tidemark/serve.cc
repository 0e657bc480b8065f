// tidemark serve: composes the embedded store, the keys and the server.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/epoch_notes.h"
#include "apps/tidemark/settings_flags.h"
#include "apps/tidemark/version.h"
#include "base/log.h"
#include "gateway/auth.h"
#include "gateway/config_files.h"
#include "gateway/jwt_base64.h"
#include "gateway/server.h"
#include "store/embedded/embedded_store.h"

namespace tidemark {
namespace {

/// A secret of the server's own, made at the first start; `without` says what happens when it is taken away.
Result<std::string> own_secret(const std::string& path, std::string_view without, Random& random) {
  std::uint8_t bytes[32];
  random.fill(bytes);
  TM_TRY(make_secret_file(path, base64url_encode({reinterpret_cast<const char*>(bytes), sizeof bytes})));
  TM_ASSIGN(const SmallFile file, read_small_file(path, 1'024, "data"));
  if (file.text.size() < 16 || file.text.size() > 64)
    return fail(ErrorCode::MALFORMED, "data", path + " is damaged; remove it, and " + std::string(without));
  return file.text;
}

/// What requests to the application are signed with.
Result<std::string> hook_secret(const Config& config, Random& random) {
  const HooksConfig& hooks = config.hooks;
  const bool used = !hooks.url.empty() || !hooks.before_send_url.empty() || !hooks.notify_url.empty();
  if (!used || !hooks.secret.empty()) return hooks.secret;
  return own_secret(config.data + "/hooks.key", "give the application the new one.", random);
}

EmbeddedOptions store_options(const Config& config) {
  EmbeddedOptions options;
  options.path = config.data + "/store";
  options.cache_bytes = static_cast<std::size_t>(config.store.cache_bytes);
  options.write_buffer_bytes = static_cast<std::size_t>(config.store.write_buffer_bytes);
  options.segment_bytes = static_cast<std::uint64_t>(config.store.segment_bytes);
  options.archive_ms = config.store.archive_hours * 3'600'000;
  options.min_free_bytes = static_cast<std::uint64_t>(config.store.min_free_bytes);
  return options;
}

/// What somebody who has just started it wants to do next.
void greet(const Config& config, int port) {
  const std::string shown_host =
      config.listen.host.find(':') == std::string::npos ? config.listen.host : "[" + config.listen.host + "]";
  const std::string url =
      (config.tls.certificate.empty() ? "http://" : "https://") + shown_host + ":" + std::to_string(port);
  const std::string self =
      std::filesystem::read_symlink("/proc/self/exe").lexically_proximate(std::filesystem::current_path()).string();
  std::printf(
      "\n%s listens on %s, data in %s\n\n"
      "A token:          TOKEN=$(%s token alice --data %s)\n"
      "A first message:  curl -s %s/v1/messages -H \"Authorization: Bearer $TOKEN\" \\\n"
      "                    -d '{\"to\": \"bob\", \"client_msg_id\": \"m1\", \"client_time\": '$(date +%%s000)',\n"
      "                         \"body\": {\"text\": \"Hello\"}}'\n"
      "A chat:           %s chat --user bob --url %s --data %s\n"
      "Stop:             Ctrl-C\n\n",
      kVersion, url.c_str(), config.data.c_str(), self.c_str(), config.data.c_str(), url.c_str(), self.c_str(),
      url.c_str(), config.data.c_str());
  std::fflush(stdout);
}

Result<void> serve(const Config& config) {
  const SystemClock clock;
  SystemRandom random;
  TM_ASSIGN(const auto authenticator, Authenticator::open(config.auth, config.data, random));
  for (const std::string& warning : authenticator->warnings()) log_warning("keys", {{"warning", warning}});
  // Cursors and page tokens are bound under it.
  TM_ASSIGN(std::string key, own_secret(config.data + "/cursor.key", "devices will sync anew.", random));
  TM_ASSIGN(std::string secret, hook_secret(config, random));
  TM_TRY(check_no_restore_open(config.data));
  TM_ASSIGN(const auto warm, open_embedded_store(store_options(config), clock, random));
  TM_TRY(note_epochs_of(*warm, config.data));
  TM_ASSIGN(const auto server,
            Server::start(config, {*warm, clock, random, *authenticator, std::move(key), std::move(secret)}));
  greet(config, server->port());
  log_info("listening", {{"host", config.listen.host}, {"port", server->port()}, {"directory", config.data}});
  server->wait();
  log_info("stopped");
  return {};
}

}  // namespace

void add_serve(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("serve", "Run the server on the embedded store");
  auto flags = std::make_shared<SettingsFlags>();
  flags->add_to(*command);
  flags->add_listen_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const auto config = flags->load();
      if (!config) return 2;
      set_log(config->log.level, config->log.format);
      const auto served = serve(*config);
      if (served) return 0;
      tell_error(served.error());
      return 1;
    };
  });
}

void add_config(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("config", "Print a settings file with every setting explained");
  command->callback([&chosen] {
    chosen = [] {
      std::fputs(explained_config().c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace tidemark
