// tidemark token: prints a token alone, so that $(tidemark token alice) is one.
#include <cstdio>

#include "apps/tidemark/commands.h"
#include "apps/tidemark/flag_checks.h"
#include "apps/tidemark/settings_flags.h"
#include "base/ports.h"
#include "gateway/auth.h"

namespace tidemark {
namespace {

constexpr std::int64_t kTtlMaxS = 315'360'000;  // ten years, as in the settings

struct TokenFlags {
  SettingsFlags settings;
  std::string user;
  std::string level;
  std::string device;
  std::int64_t ttl_s = 0;
  bool admin = false;
};

Result<std::string> mint(const TokenFlags& flags, const Config& config) {
  const SystemClock clock;
  SystemRandom random;
  // Only the server makes keys: a mistyped directory must not become one whose tokens no server takes.
  TM_ASSIGN(const auto authenticator, Authenticator::open(config.auth, config.data, random, Secrets::need));
  MintOptions options;
  options.kind = flags.admin ? TokenKind::admin : TokenKind::user;
  options.level = flags.level;
  options.device = DeviceId(flags.device);
  options.ttl_seconds = flags.ttl_s;
  return authenticator->mint(UserId(flags.user), options, clock.wall_ms());
}

}  // namespace

void add_token(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("token", "Print a token for a user, signed by the keys in the data directory");
  auto flags = std::make_shared<TokenFlags>();
  flags->settings.add_to(*command);
  command->add_option("user", flags->user, "User id")->required()->type_name("USER");
  CLI::Option* admin = command->add_flag("--admin", flags->admin, "A token for /v1/admin instead");
  CLI::Option* level =
      command->add_option("--level", flags->level, "free, paid or vip")->check(one_of({"free", "paid", "vip"}));
  level->excludes(admin);
  command->add_option("--device", flags->device, "Only for this device")
      ->check(not_empty())
      ->excludes(admin)
      ->type_name("DEVICE");
  command->add_option("--ttl", flags->ttl_s, "Seconds until it expires [the settings' default]")
      ->check(whole_number(1, kTtlMaxS))
      ->type_name("SECONDS");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const auto config = flags->settings.load();
      if (!config) return 2;
      const auto token = mint(*flags, *config);
      if (!token) {
        tell_error(token.error());
        return 1;
      }
      std::printf("%s\n", token->c_str());
      return 0;
    };
  });
}

}  // namespace tidemark
