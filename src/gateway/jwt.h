// JSON Web Tokens (RFC 7519) in the compact form of RFC 7515: made for our own, checked for everybody's. A subset on
// purpose: signed only, three parts, one signature, nothing fetched from where a header points to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gateway/jwt_key.h"
#include "gateway/jwt_keys.h"

namespace tidemark {

/// The largest token that is looked at.
inline constexpr std::size_t kTokenBytes = 8 * 1024;

/// What a token says. Times are milliseconds since 1970; in the token they are seconds, with or without a fraction.
struct Claims {
  std::string sub;
  std::vector<std::string> aud;
  std::string iss = {};  // "" when there is none
  std::int64_t exp_ms = 0;
  std::int64_t iat_ms = 0;
  std::optional<std::int64_t> nbf_ms = {};
  std::string jti = {};  // "" when there is none
  std::string dev = {};  // Tidemark's own: the device, "" when there is none
  bool adm = false;      // Tidemark's own: an administrator
  std::string lvl = {};  // Tidemark's own: the level, "" when there is none

  bool operator==(const Claims&) const = default;
};

/// What a token must fulfil besides its signature.
struct JwtRules {
  std::string audience;        // one of its `aud` must be this
  std::string issuer = {};     // its `iss` must be this; "" takes any
  std::int64_t leeway_ms = 0;  // how far clocks may be apart, for exp, nbf and iat
};

/// BAD_TOKEN with field "token" and this detail.
std::unexpected<Error> bad_token(std::string why);

/// The claims of a good token. Good means: at most kTokenBytes; three strict base64url parts; a header whose alg is the
/// one of the key that `keys` selects, without crit; a right signature (checked before the payload is read); a payload
/// that is one JSON object with no claim twice and every known claim of its type; sub, aud, exp and iat there; audience
/// and issuer as ruled; not expired, not before its time, not issued in the future.
/// Everything else is BAD_TOKEN with field "token" and a detail that names the check, never the token's contents.
/// What sub, dev and lvl may hold is the Authenticator's to say. Thread-safe.
Result<Claims> verify_jwt(std::string_view token, const JwtKeySet& keys, const JwtRules& rules, std::int64_t now_ms);

/// The claims as a signed token with `kid` in its header if that is not empty. FORBIDDEN if the key cannot sign.
Result<std::string> sign_jwt(const Claims& claims, const JwtKey& key, std::string_view kid = {});

/// Any header and payload as a signed token: `BASE64URL(header).BASE64URL(payload).BASE64URL(signature)`.
Result<std::string> sign_jws(std::string_view header, std::string_view payload, const JwtKey& key);

}  // namespace tidemark
