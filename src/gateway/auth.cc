#include "gateway/auth.h"

#include <array>
#include <filesystem>

#include "base/json_text.h"
#include "core/conversation_id.h"
#include "gateway/auth_secret.h"
#include "gateway/jwt_base64.h"
#include "gateway/limits.h"

namespace tidemark {
namespace {

constexpr std::string_view kAdminAudience = "tidemark-admin";
constexpr std::string_view kLocalIssuer = "tidemark";
constexpr std::array<std::string_view, 3> kLevels = {"free", "paid", "vip"};
constexpr std::int64_t kReloadEveryMs = 1'000;
constexpr std::int64_t kTtlSecondsMax = 315'360'000;  // ten years, as in the settings
constexpr std::size_t kJtiBytes = 12;

bool is_level(std::string_view level) {
  for (const std::string_view known : kLevels)
    if (level == known) return true;
  return false;
}

Result<void> check_device(const DeviceId& device, ErrorCode code, std::string field) {
  const std::string& text = device.value;
  bool good = !text.empty() && text.size() <= static_cast<std::size_t>(Limits::device_id_bytes_max);
  for (std::size_t at = 0; good && at < text.size();) {
    const char32_t c = decode_utf8(text, at);
    good = c != kNoCodePoint && !is_control(c);
  }
  if (good) return {};
  return fail(code, std::move(field), "A device id has 1 to 64 bytes of UTF-8 without control characters.");
}

/// What the claims of our own must hold.
Result<Principal> principal_of(Claims claims, TokenKind kind) {
  Principal principal{.user = UserId(std::move(claims.sub)),
                      .device = DeviceId(std::move(claims.dev)),
                      .level = std::move(claims.lvl),
                      .issued_at_ms = claims.iat_ms,
                      .expires_at_ms = claims.exp_ms,
                      .jti = std::move(claims.jti),
                      .admin = kind == TokenKind::admin};
  if (!check_user_id(principal.user, "token")) return bad_token("Its sub is no user id.");
  if (!principal.device.empty() && !check_device(principal.device, ErrorCode::BAD_TOKEN, "token"))
    return bad_token("Its dev is no device id.");
  if (!principal.level.empty() && !is_level(principal.level)) return bad_token("Its lvl is none of free, paid, vip.");
  return principal;
}

}  // namespace

Result<std::shared_ptr<const Authenticator::UserKeys>> Authenticator::load_user_keys(const AuthConfig& config) {
  const bool jwks = !config.jwks.empty();
  const std::string field = jwks ? "auth.jwks" : "auth.public_key";
  const std::string& path = jwks ? config.jwks : config.public_key;
  TM_ASSIGN(const SmallFile file, read_small_file(path, kJwksBytes, field));
  UserKeys result;
  result.stamp = file.stamp;
  if (!jwks) {
    auto key = JwtKey::from_public_pem(file.text);
    if (!key) return fail(ErrorCode::MALFORMED, field, path + ": " + key.error().detail);
    TM_TRY(result.keys.add("", *std::move(key)));
    return std::make_shared<const UserKeys>(std::move(result));
  }
  auto set = parse_jwks(file.text);
  if (!set) return fail(ErrorCode::MALFORMED, field, path + ": " + set.error().detail);
  // A shared secret in a file that others may read lets them be any user.
  if (set->keys.has(JwtAlgorithm::hs256)) TM_TRY(check_secret_mode(path, file.mode, field));
  result.keys = std::move(set->keys);
  for (const std::string& warning : set->warnings)
    result.warnings.emplace_back(path).append(": ").append(warning).append(".");
  return std::make_shared<const UserKeys>(std::move(result));
}

Result<std::unique_ptr<Authenticator>> Authenticator::open(const AuthConfig& config, const std::string& data_directory,
                                                           Random& random, Secrets secrets) {
  std::unique_ptr<Authenticator> result(new Authenticator(config, random));
  if (secrets == Secrets::make) TM_TRY(make_data_directory(data_directory));
  const auto load = [&](const char* name, JwtKeySet& keys) -> Result<void> {
    const std::string path = (std::filesystem::path(data_directory) / name).string();
    if (secrets == Secrets::make) TM_TRY(make_secret(path, random));
    TM_ASSIGN(JwtKey key, read_secret(path));
    return keys.add("", std::move(key));
  };
  TM_TRY(load("admin.key", result->admin_keys_));
  if (!result->keys_from_outside() || config.allow_local) TM_TRY(load("secret.key", result->local_keys_));
  if (result->keys_from_outside()) {
    TM_ASSIGN(result->user_keys_, load_user_keys(config));
  }
  return result;
}

std::shared_ptr<const Authenticator::UserKeys> Authenticator::user_keys() const {
  const std::lock_guard lock(mutex_);
  return user_keys_;
}

Result<Claims> Authenticator::user_claims(std::string_view token, std::int64_t now_ms) const {
  const std::int64_t leeway_ms = config_.leeway_s * 1000;
  // Whoever has the secret could name any issuer, so only tokens from outside have theirs checked.
  if (local_keys_.size() > 0) {
    auto claims = verify_jwt(token, local_keys_, {.audience = config_.audience, .leeway_ms = leeway_ms}, now_ms);
    if (claims || !keys_from_outside()) return claims;
  }
  return verify_jwt(token, user_keys()->keys, {config_.audience, config_.issuer, leeway_ms}, now_ms);
}

Result<Principal> Authenticator::user(std::string_view token, std::int64_t now_ms) const {
  auto claims = user_claims(token, now_ms);
  // A token of the other kind is called so: "its signature is wrong" would be true and no help.
  if (!claims && admin_claims(token, now_ms))
    return bad_token("It is an admin token, which is taken over HTTP under /v1/admin/ alone; take a user's token.");
  if (!claims) return std::unexpected(std::move(claims).error());
  return principal_of(*std::move(claims), TokenKind::user);
}

Result<Claims> Authenticator::admin_claims(std::string_view token, std::int64_t now_ms) const {
  const JwtRules rules{.audience = std::string(kAdminAudience), .leeway_ms = config_.leeway_s * 1000};
  return verify_jwt(token, admin_keys_, rules, now_ms);
}

Result<Principal> Authenticator::admin(std::string_view token, std::int64_t now_ms) const {
  auto claims = admin_claims(token, now_ms);
  if (!claims && user_claims(token, now_ms))
    return bad_token("It is a user's token; take an admin token, as tidemark token NAME --admin prints one.");
  if (!claims) return std::unexpected(std::move(claims).error());
  if (!claims->adm) return bad_token("It does not say adm.");
  return principal_of(*std::move(claims), TokenKind::admin);
}

Result<std::string> Authenticator::mint(const UserId& user, const MintOptions& options, std::int64_t now_ms) const {
  const bool admin = options.kind == TokenKind::admin;
  TM_TRY(check_user_id(user, "user"));
  if (!options.level.empty() && !is_level(options.level))
    return fail(ErrorCode::MALFORMED, "level", "A level is free, paid or vip.");
  if (!options.device.empty()) TM_TRY(check_device(options.device, ErrorCode::MALFORMED, "device"));
  if (options.ttl_seconds < 0 || options.ttl_seconds > kTtlSecondsMax)
    return fail(ErrorCode::OUT_OF_RANGE, "ttl_seconds", "From 1 to 315360000 seconds.");
  if (!admin && local_keys_.size() == 0)
    return fail(
        ErrorCode::FORBIDDEN, "user",
        "User tokens come from elsewhere here (auth.public_key or auth.jwks); set auth.allow_local = true to make "
        "some here too.");
  std::string jti(kJtiBytes, '\0');
  random_.fill({reinterpret_cast<std::uint8_t*>(jti.data()), jti.size()});
  const std::int64_t ttl_s = options.ttl_seconds > 0 ? options.ttl_seconds
                             : admin                 ? config_.admin_ttl_s
                                                     : config_.default_ttl_s;
  Claims claims{.sub = user.value,
                .aud = {admin ? std::string(kAdminAudience) : config_.audience},
                .iss = std::string(kLocalIssuer),
                .exp_ms = now_ms + ttl_s * 1000,
                .iat_ms = now_ms,
                .jti = base64url_encode(jti)};
  claims.adm = admin;
  if (!admin) claims.dev = options.device.value;
  if (!admin) claims.lvl = options.level;
  TM_ASSIGN(const JwtKey* key, (admin ? admin_keys_ : local_keys_).select("HS256", std::nullopt));
  return sign_jwt(claims, *key);
}

Result<bool> Authenticator::reload_if_changed(std::int64_t steady_ms) {
  if (!keys_from_outside()) return false;
  if (checked_ms_ != INT64_MIN && steady_ms - checked_ms_ < kReloadEveryMs) return false;
  checked_ms_ = steady_ms;
  const bool jwks = !config_.jwks.empty();
  const auto stamp = file_stamp(jwks ? config_.jwks : config_.public_key, jwks ? "auth.jwks" : "auth.public_key");
  if (stamp && *stamp == user_keys()->stamp) {
    reported_.clear();
    return false;
  }
  auto fresh = stamp ? load_user_keys(config_) : std::unexpected(stamp.error());
  if (!fresh) {
    if (fresh.error().detail == reported_) return false;
    reported_ = fresh.error().detail;
    return std::unexpected(std::move(fresh).error());
  }
  reported_.clear();
  const std::lock_guard lock(mutex_);
  user_keys_ = *std::move(fresh);
  return true;
}

std::vector<std::string> Authenticator::warnings() const {
  const auto keys = user_keys();
  return keys ? keys->warnings : std::vector<std::string>();
}

}  // namespace tidemark
