// Who is asking: tokens to principals, and the making of our own tokens.
//
// Users and administrators are apart. A user token is checked by the user keys (the data directory's secret.key, or the
// public key or JWKS file of the settings) and names the audience of the settings; an admin token is checked by
// admin.key alone, names "tidemark-admin" and says adm. Neither passes for the other.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/ports.h"
#include "gateway/config.h"
#include "gateway/config_files.h"
#include "gateway/jwt.h"

namespace tidemark {

/// What a good token says.
struct Principal {
  UserId user;
  DeviceId device = {};    // from `dev`; empty when the token is for any device
  std::string level = {};  // "free", "paid", "vip", or "" when the token says nothing
  std::int64_t issued_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  std::string jti = {};  // "" when the token has none
  bool admin = false;
  bool operator==(const Principal&) const = default;
};

/// Whether a token to be made is for the chat or for the admin API.
enum class TokenKind : std::uint8_t { user, admin };

struct MintOptions {
  TokenKind kind = TokenKind::user;
  std::string level = {};        // "free", "paid", "vip" or "" for none; users only
  DeviceId device = {};          // "" for any device; users only
  std::int64_t ttl_seconds = 0;  // 0 takes the setting's: auth.default_ttl_s or auth.admin_ttl_s
};

/// Whether missing secrets are made: the server makes them, a tool that only uses them says that they are missing.
enum class Secrets : std::uint8_t { make, need };

/// Thread-safe, but for reload_if_changed, which one thread at a time may call beside the others. `random` must outlive
/// it.
class Authenticator {
 public:
  /// Reads the secrets of the data directory (with Secrets::make, makes the directory, secret.key and admin.key where
  /// missing: 32 random bytes as base64url, mode 0600, durable before this returns) and the key file of the settings.
  /// Refused, each with a sentence that says what to do: a secret that others than its owner may read, shorter than 32
  /// bytes, or missing (NOT_FOUND under Secrets::need); a key file that cannot be used.
  static Result<std::unique_ptr<Authenticator>> open(const AuthConfig& config, const std::string& data_directory,
                                                     Random& random, Secrets secrets = Secrets::make);

  /// The user of a token, without any "Bearer ". BAD_TOKEN with field "token" and the check that failed otherwise:
  /// those of verify_jwt, and sub must be a user id, dev (if any) 1 to 64 bytes of UTF-8 without control characters,
  /// lvl (if any) free, paid or vip. adm is no matter here. `now_ms` is wall time.
  Result<Principal> user(std::string_view token, std::int64_t now_ms) const;

  /// The administrator of an admin token; a user token is BAD_TOKEN here, whatever it says.
  Result<Principal> admin(std::string_view token, std::int64_t now_ms) const;

  /// Makes a token by the data directory's secrets. MALFORMED or OUT_OF_RANGE for a user, level, device or time that
  /// user() would refuse; FORBIDDEN when user tokens come from elsewhere (public_key or jwks without allow_local).
  Result<std::string> mint(const UserId& user, const MintOptions& options, std::int64_t now_ms) const;

  /// Reads the key file anew if it was written or replaced; true when new keys are in force. Call it about once a
  /// second with a clock that does not go back; more often costs nothing. While the file cannot be used the old keys
  /// stay, the file is tried again, and its error is answered once.
  Result<bool> reload_if_changed(std::int64_t steady_ms);

  /// Sentences about keys of the JWKS file that are passed over, as of its last reading.
  std::vector<std::string> warnings() const;

 private:
  /// Keys from outside and where they are from.
  struct UserKeys {
    JwtKeySet keys;
    std::vector<std::string> warnings;
    FileStamp stamp;
  };

  Authenticator(const AuthConfig& config, Random& random) : config_(config), random_(random) {}
  static Result<std::shared_ptr<const UserKeys>> load_user_keys(const AuthConfig& config);
  bool keys_from_outside() const { return !config_.public_key.empty() || !config_.jwks.empty(); }
  std::shared_ptr<const UserKeys> user_keys() const;
  Result<Claims> user_claims(std::string_view token, std::int64_t now_ms) const;
  Result<Claims> admin_claims(std::string_view token, std::int64_t now_ms) const;

  const AuthConfig config_;
  Random& random_;
  JwtKeySet local_keys_;  // secret.key; empty when only keys from outside count
  JwtKeySet admin_keys_;  // admin.key
  mutable std::mutex mutex_;
  std::shared_ptr<const UserKeys> user_keys_;  // under mutex_; null without keys from outside
  std::int64_t checked_ms_ = INT64_MIN;        // of reload_if_changed
  std::string reported_;                       // the error it answered last
};

}  // namespace tidemark
