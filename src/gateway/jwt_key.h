// One key that checks, or makes, the signatures of tokens. A key knows its one algorithm (RFC 8725 section 3.1): what a
// token's header says is only ever compared with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// The algorithms there are (RFC 7518, RFC 8037). `none` is not one of them.
enum class JwtAlgorithm : std::uint8_t {
  hs256,  // HMAC-SHA-256, a shared secret of 32 bytes or more
  eddsa,  // Ed25519
  rs256,  // RSASSA-PKCS1-v1_5 with SHA-256, 2048 bits or more
  es256,  // ECDSA on P-256 with SHA-256, signature as 64 bytes r || s
};

/// "HS256", as in a token's header.
std::string_view name_of(JwtAlgorithm algorithm);
/// The algorithm of that exact name, or nothing.
std::optional<JwtAlgorithm> jwt_algorithm_named(std::string_view name);

/// An immutable key. Copies share it; all members may be called by several threads at once.
/// Factories answer MALFORMED with field "key" and a sentence that says what is wrong, never with key material.
class JwtKey {
 public:
  /// HS256. Signs and verifies. At least 32 bytes (RFC 7518 section 3.2); text that looks like a PEM file is refused,
  /// because a public key used as a secret lets everyone sign.
  static Result<JwtKey> from_secret(std::string_view secret);
  /// Verifies by a PEM file's `PUBLIC KEY` of Ed25519, RSA or P-256. A private key is refused: it does not belong here.
  static Result<JwtKey> from_public_pem(std::string_view pem);
  /// Signs and verifies, by an unencrypted PEM private key.
  static Result<JwtKey> from_private_pem(std::string_view pem);
  /// Verifies by the raw numbers of a JWK: 32 bytes; modulus and exponent, big-endian; two coordinates of 32 bytes.
  static Result<JwtKey> from_ed25519(std::string_view x);
  static Result<JwtKey> from_rsa(std::string_view modulus, std::string_view exponent);
  static Result<JwtKey> from_p256(std::string_view x, std::string_view y);

  JwtAlgorithm algorithm() const;
  bool can_sign() const;

  /// Whether `signature` (raw bytes) is this key's for `message`. MACs are compared in constant time.
  bool verify(std::string_view message, std::string_view signature) const;
  /// The raw signature. FORBIDDEN for a key that can only verify.
  Result<std::string> sign(std::string_view message) const;

 private:
  struct Impl;
  explicit JwtKey(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  static Result<JwtKey> adopt(void* pkey, bool can_sign);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace tidemark
