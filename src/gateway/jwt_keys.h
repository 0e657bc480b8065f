// The keys that may check a token, and which of them does: by `kid` and algorithm (RFC 7515, 7517).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gateway/jwt_key.h"

namespace tidemark {

/// An immutable-once-built list of keys; reading it is thread-safe.
class JwtKeySet {
 public:
  /// Adds a key. An empty `kid` matches every token, whatever kid that names. MALFORMED when the set already holds a
  /// key of this kid and algorithm: which of them is meant could not be told.
  Result<void> add(std::string kid, JwtKey key);

  std::size_t size() const { return keys_.size(); }
  bool has(JwtAlgorithm algorithm) const;

  /// The one key for a token whose header names `alg` and perhaps `kid`, or BAD_TOKEN: no key of this algorithm
  /// (`none` and unknown names too), no key of this kid, or no kid where several keys could be meant.
  /// The pointer lives as long as the set and is unmoved.
  Result<const JwtKey*> select(std::string_view alg, const std::optional<std::string>& kid) const;

 private:
  struct Entry {
    std::string kid;
    JwtKey key;
  };
  std::vector<Entry> keys_;
};

struct Jwks {
  JwtKeySet keys;
  std::vector<std::string> warnings;  // one sentence for each key that was passed over, and why
};

/// The largest JWKS file that is read.
inline constexpr std::size_t kJwksBytes = 256 * 1024;

/// Reads a JWK set (RFC 7517 section 5; kty OKP, RSA, EC and oct). A key that is not for checking signatures here (its
/// use, key_ops, kty, curve or alg) or whose numbers are wrong is passed over with a warning; no key at all, a key
/// twice or text that is not such JSON is MALFORMED with field "jwks".
Result<Jwks> parse_jwks(std::string_view json);

}  // namespace tidemark
