#include "gateway/jwt_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <array>
#include <utility>

#include "base/check.h"

namespace tidemark {
namespace {

constexpr std::size_t kSecretBytesMin = 32;
constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kHmacBytes = 32;
constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;  // larger ones would make every login slow
constexpr std::size_t kPemBytesMax = 64 * 1024;

constexpr std::array<std::pair<JwtAlgorithm, std::string_view>, 4> kNames = {{
    {JwtAlgorithm::hs256, "HS256"},
    {JwtAlgorithm::eddsa, "EdDSA"},
    {JwtAlgorithm::rs256, "RS256"},
    {JwtAlgorithm::es256, "ES256"},
}};

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

using Pkey = Owned<EVP_PKEY, EVP_PKEY_free>;
using PkeyContext = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContext = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using MacContext = Owned<EVP_MAC_CTX, EVP_MAC_CTX_free>;
using Bio = Owned<BIO, BIO_free>;
using BigNumber = Owned<BIGNUM, BN_free>;
using EcdsaSignature = Owned<ECDSA_SIG, ECDSA_SIG_free>;
using ParamsBuilder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = Owned<OSSL_PARAM, OSSL_PARAM_free>;

/// Failures leave entries in the thread's error queue, which TLS on the same thread would take for its own.
struct CleanErrors {
  ~CleanErrors() { ERR_clear_error(); }
};

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

std::unexpected<Error> bad_key(std::string why) {
  return fail(ErrorCode::MALFORMED, "key", std::move(why));
}

/// Keys must not wait for a password at a terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

Bio bio_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Pkey pkey_from(const char* type, OSSL_PARAM* params) {
  EVP_PKEY* pkey = nullptr;
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
    return nullptr;
  return Pkey(pkey);
}

/// The algorithm a key is for, by its type and size alone.
Result<JwtAlgorithm> algorithm_of(EVP_PKEY* pkey) {
  if (EVP_PKEY_is_a(pkey, "ED25519")) return JwtAlgorithm::eddsa;
  if (EVP_PKEY_is_a(pkey, "RSA")) {
    const int bits = EVP_PKEY_get_bits(pkey);
    if (bits < kRsaBitsMin) return bad_key("An RSA key needs at least 2048 bits; make a larger one.");
    if (bits > kRsaBitsMax) return bad_key("An RSA key may have at most 8192 bits.");
    return JwtAlgorithm::rs256;
  }
  std::array<char, 64> group{};
  if (EVP_PKEY_is_a(pkey, "EC") && EVP_PKEY_get_group_name(pkey, group.data(), group.size(), nullptr) == 1 &&
      std::string_view(group.data()) == "prime256v1")
    return JwtAlgorithm::es256;
  return bad_key("The key must be Ed25519, RSA or EC on P-256.");
}

/// r || s (RFC 7518 section 3.4) to the DER that OpenSSL takes; empty when it has another length.
std::string der_of(std::string_view raw) {
  if (raw.size() != 2 * kCoordinateBytes) return {};
  const EcdsaSignature signature(ECDSA_SIG_new());
  BigNumber r(BN_bin2bn(bytes(raw), kCoordinateBytes, nullptr));
  BigNumber s(BN_bin2bn(bytes(raw.substr(kCoordinateBytes)), kCoordinateBytes, nullptr));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  std::string der(2 * kCoordinateBytes + 16, '\0');
  unsigned char* end = bytes(der);
  const int size = i2d_ECDSA_SIG(signature.get(), &end);
  if (size <= 0) return {};
  der.resize(static_cast<std::size_t>(size));
  return der;
}

std::string raw_of(std::string_view der) {
  const unsigned char* at = bytes(der);
  const EcdsaSignature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::string raw(2 * kCoordinateBytes, '\0');
  if (!signature || BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), bytes(raw), kCoordinateBytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), bytes(raw) + kCoordinateBytes, kCoordinateBytes) < 0)
    return {};
  return raw;
}

}  // namespace

std::string_view name_of(JwtAlgorithm algorithm) {
  for (const auto& [known, name] : kNames)
    if (known == algorithm) return name;
  check_failed("algorithm in kNames", __FILE__, __LINE__, "an algorithm outside the table");
}

std::optional<JwtAlgorithm> jwt_algorithm_named(std::string_view name) {
  for (const auto& [algorithm, known] : kNames)
    if (known == name) return algorithm;
  return std::nullopt;
}

/// Contexts are set up with the key once and duplicated for each use: looking up algorithms and taking in a key costs
/// more than a MAC.
struct JwtKey::Impl {
  JwtAlgorithm algorithm;
  bool can_sign;
  MacContext mac = {};  // hs256
  Pkey pkey = {};       // the others
  DigestContext verifier = {};

  const EVP_MD* digest() const { return algorithm == JwtAlgorithm::eddsa ? nullptr : EVP_sha256(); }

  std::string mac_of(std::string_view message) const {
    const MacContext context(EVP_MAC_CTX_dup(mac.get()));
    std::string result(kHmacBytes, '\0');
    std::size_t size = 0;
    TM_CHECK(context && EVP_MAC_update(context.get(), bytes(message), message.size()) == 1 &&
                 EVP_MAC_final(context.get(), bytes(result), &size, result.size()) == 1 && size == kHmacBytes,
             "HMAC-SHA-256 over memory cannot fail");
    return result;
  }

  bool verify(std::string_view message, std::string_view signature) const {
    const DigestContext context(EVP_MD_CTX_new());
    return context && EVP_MD_CTX_copy_ex(context.get(), verifier.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message), message.size()) == 1;
  }
};

Result<JwtKey> JwtKey::from_secret(std::string_view secret) {
  const CleanErrors clean;
  if (secret.size() < kSecretBytesMin) return bad_key("The secret needs at least 32 bytes.");
  if (secret.find("-----BEGIN") != std::string_view::npos)
    return bad_key("The secret is a PEM file; a key pair's file is not a secret, give it as auth.public_key.");
  auto impl = std::make_shared<Impl>(Impl{JwtAlgorithm::hs256, true});
  const Owned<EVP_MAC, EVP_MAC_free> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
  impl->mac.reset(mac ? EVP_MAC_CTX_new(mac.get()) : nullptr);
  if (!impl->mac || EVP_MAC_init(impl->mac.get(), bytes(secret), secret.size(), params) != 1)
    return fail(ErrorCode::INTERNAL, "key", "OpenSSL offers no HMAC with SHA-256.");
  return JwtKey(std::move(impl));
}

Result<JwtKey> JwtKey::adopt(void* pkey, bool can_sign) {
  Pkey owned(static_cast<EVP_PKEY*>(pkey));
  TM_ASSIGN(const JwtAlgorithm algorithm, algorithm_of(owned.get()));
  const PkeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, owned.get(), nullptr));
  if (!check || EVP_PKEY_public_check(check.get()) != 1) return bad_key("The key's numbers do not make a valid key.");
  auto impl = std::make_shared<Impl>(Impl{algorithm, can_sign});
  impl->pkey = std::move(owned);
  impl->verifier.reset(EVP_MD_CTX_new());
  if (!impl->verifier ||
      EVP_DigestVerifyInit(impl->verifier.get(), nullptr, impl->digest(), nullptr, impl->pkey.get()) != 1)
    return fail(ErrorCode::INTERNAL, "key", "OpenSSL does not offer this key's algorithm.");
  return JwtKey(std::move(impl));
}

Result<JwtKey> JwtKey::from_public_pem(std::string_view pem) {
  const CleanErrors clean;
  if (pem.size() > kPemBytesMax) return bad_key("The file is too large for a key.");
  if (pem.find("PRIVATE KEY-----") != std::string_view::npos)
    return bad_key("This is a private key; give the public one (openssl pkey -in KEY.pem -pubout).");
  const Bio bio = bio_of(pem);
  EVP_PKEY* pkey = bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr) : nullptr;
  if (pkey == nullptr) return bad_key("No PEM public key (-----BEGIN PUBLIC KEY-----) is in it.");
  return adopt(pkey, false);
}

Result<JwtKey> JwtKey::from_private_pem(std::string_view pem) {
  const CleanErrors clean;
  if (pem.size() > kPemBytesMax) return bad_key("The file is too large for a key.");
  const Bio bio = bio_of(pem);
  EVP_PKEY* pkey = bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr;
  if (pkey == nullptr) return bad_key("No unencrypted PEM private key is in it.");
  return adopt(pkey, true);
}

Result<JwtKey> JwtKey::from_ed25519(std::string_view x) {
  const CleanErrors clean;
  EVP_PKEY* pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(x), x.size());
  if (x.size() != kCoordinateBytes || pkey == nullptr) {
    EVP_PKEY_free(pkey);
    return bad_key("An Ed25519 key has 32 bytes.");
  }
  return adopt(pkey, false);
}

Result<JwtKey> JwtKey::from_rsa(std::string_view modulus, std::string_view exponent) {
  const CleanErrors clean;
  if (modulus.empty() || modulus.size() > kRsaBitsMax / 8 + 1 || exponent.empty() || exponent.size() > 8)
    return bad_key("An RSA key has a modulus of 2048 to 8192 bits and a small exponent.");
  const BigNumber n(BN_bin2bn(bytes(modulus), static_cast<int>(modulus.size()), nullptr));
  const BigNumber e(BN_bin2bn(bytes(exponent), static_cast<int>(exponent.size()), nullptr));
  const ParamsBuilder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return bad_key("The RSA numbers cannot be read.");
  const Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  Pkey pkey = pkey_from("RSA", params.get());
  if (!pkey) return bad_key("The RSA numbers do not make a key.");
  return adopt(pkey.release(), false);
}

Result<JwtKey> JwtKey::from_p256(std::string_view x, std::string_view y) {
  const CleanErrors clean;
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes)
    return bad_key("A P-256 key has two coordinates of 32 bytes.");
  std::string point = "\x04";  // uncompressed, SEC 1 section 2.3.3
  point.append(x).append(y);
  char group[] = "prime256v1";
  OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
                         OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()),
                         OSSL_PARAM_construct_end()};
  Pkey pkey = pkey_from("EC", params);
  if (!pkey) return bad_key("The coordinates are no point of P-256.");
  return adopt(pkey.release(), false);
}

JwtAlgorithm JwtKey::algorithm() const {
  return impl_->algorithm;
}
bool JwtKey::can_sign() const {
  return impl_->can_sign;
}

bool JwtKey::verify(std::string_view message, std::string_view signature) const {
  const CleanErrors clean;
  if (algorithm() == JwtAlgorithm::hs256)
    return signature.size() == kHmacBytes &&
           CRYPTO_memcmp(impl_->mac_of(message).data(), signature.data(), kHmacBytes) == 0;
  if (algorithm() != JwtAlgorithm::es256) return impl_->verify(message, signature);
  const std::string der = der_of(signature);
  return !der.empty() && impl_->verify(message, der);
}

Result<std::string> JwtKey::sign(std::string_view message) const {
  const CleanErrors clean;
  if (!can_sign()) return fail(ErrorCode::FORBIDDEN, "key", "A public key cannot sign.");
  if (algorithm() == JwtAlgorithm::hs256) return impl_->mac_of(message);
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, impl_->digest(), nullptr, impl_->pkey.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes(message), message.size()) != 1)
    return fail(ErrorCode::INTERNAL, "key", "Signing failed.");
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), bytes(signature), &size, bytes(message), message.size()) != 1)
    return fail(ErrorCode::INTERNAL, "key", "Signing failed.");
  signature.resize(size);
  return algorithm() == JwtAlgorithm::es256 ? raw_of(signature) : signature;
}

}  // namespace tidemark
