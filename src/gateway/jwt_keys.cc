#include "gateway/jwt_keys.h"

#include <simdjson.h>

#include <utility>

#include "gateway/jwt_base64.h"

namespace tidemark {
namespace {

namespace dom = simdjson::dom;

std::unexpected<Error> bad_set(std::string why) {
  return fail(ErrorCode::MALFORMED, "jwks", std::move(why));
}

/// A text member of a JWK: absent, there, or there and not text.
Result<std::optional<std::string>> text_member(const dom::object& jwk, std::string_view name) {
  dom::element element;
  if (jwk.at_key(name).get(element) != simdjson::SUCCESS) return std::nullopt;
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return bad_set(std::string(name) + " is not text");
  return std::string(text);
}

Result<std::string> bytes_member(const dom::object& jwk, std::string_view name) {
  TM_ASSIGN(const std::optional<std::string> text, text_member(jwk, name));
  if (!text) return bad_set(std::string(name) + " is missing");
  std::optional<std::string> bytes = base64url_decode(*text);
  if (!bytes) return bad_set(std::string(name) + " is not base64url without padding");
  return *std::move(bytes);
}

/// Only keys for checking signatures: `use` is absent or "sig", `key_ops` absent or holds "verify".
Result<void> check_purpose(const dom::object& jwk) {
  TM_ASSIGN(const auto use, text_member(jwk, "use"));
  if (use && *use != "sig") return bad_set("its use is not sig");
  dom::element operations;
  if (jwk.at_key("key_ops").get(operations) != simdjson::SUCCESS) return {};
  dom::array list;
  if (operations.get(list) != simdjson::SUCCESS) return bad_set("key_ops is not a list");
  for (const dom::element operation : list)
    if (std::string_view name; operation.get(name) == simdjson::SUCCESS && name == "verify") return {};
  return bad_set("its key_ops have no verify");
}

Result<JwtKey> key_of(const dom::object& jwk) {
  TM_ASSIGN(const auto kty, text_member(jwk, "kty"));
  TM_ASSIGN(const auto curve, text_member(jwk, "crv"));
  if (kty == "OKP" && curve == "Ed25519") {
    TM_ASSIGN(const std::string x, bytes_member(jwk, "x"));
    return JwtKey::from_ed25519(x);
  }
  if (kty == "EC" && curve == "P-256") {
    TM_ASSIGN(const std::string x, bytes_member(jwk, "x"));
    TM_ASSIGN(const std::string y, bytes_member(jwk, "y"));
    return JwtKey::from_p256(x, y);
  }
  if (kty == "RSA") {
    TM_ASSIGN(const std::string n, bytes_member(jwk, "n"));
    TM_ASSIGN(const std::string e, bytes_member(jwk, "e"));
    return JwtKey::from_rsa(n, e);
  }
  if (kty == "oct") {
    TM_ASSIGN(const std::string k, bytes_member(jwk, "k"));
    return JwtKey::from_secret(k);
  }
  return bad_set("its kty and crv are none of OKP Ed25519, EC P-256, RSA, oct");
}

struct NamedKey {
  std::string kid;
  JwtKey key;
};

Result<NamedKey> read_jwk(const dom::object& jwk) {
  TM_TRY(check_purpose(jwk));
  TM_ASSIGN(const auto kid, text_member(jwk, "kid"));
  TM_ASSIGN(const auto alg, text_member(jwk, "alg"));
  TM_ASSIGN(JwtKey key, key_of(jwk));
  // A key says by its type what it is for; an alg that contradicts it (RS256's number as an HS256 secret, PS256) makes
  // the key useless here.
  if (alg && *alg != name_of(key.algorithm())) return bad_set("its alg is not one that is used here for such a key");
  return NamedKey{kid.value_or(""), std::move(key)};
}

std::string warning_about(std::size_t index, const dom::object& jwk, const Error& error) {
  std::string text = "key " + std::to_string(index + 1);
  if (const auto kid = text_member(jwk, "kid"); kid && *kid) text += " (kid " + **kid + ")";
  return text + " is passed over: " + error.detail;
}

}  // namespace

Result<void> JwtKeySet::add(std::string kid, JwtKey key) {
  for (const Entry& entry : keys_)
    if (entry.kid == kid && entry.key.algorithm() == key.algorithm())
      return fail(ErrorCode::MALFORMED, "kid", "two keys of one algorithm have the same kid, or both have none");
  keys_.push_back({std::move(kid), std::move(key)});
  return {};
}

bool JwtKeySet::has(JwtAlgorithm algorithm) const {
  for (const Entry& entry : keys_)
    if (entry.key.algorithm() == algorithm) return true;
  return false;
}

Result<const JwtKey*> JwtKeySet::select(std::string_view alg, const std::optional<std::string>& kid) const {
  const std::optional<JwtAlgorithm> algorithm = jwt_algorithm_named(alg);
  if (!algorithm || !has(*algorithm))
    return fail(ErrorCode::BAD_TOKEN, "token", "Its algorithm is not the one of the server's key.");
  const JwtKey* any_kid = nullptr;
  const JwtKey* found = nullptr;
  for (const Entry& entry : keys_) {
    if (entry.key.algorithm() != *algorithm) continue;
    if (kid && *kid == entry.kid) return &entry.key;
    if (kid && entry.kid.empty()) any_kid = &entry.key;
    if (!kid && found != nullptr)
      return fail(ErrorCode::BAD_TOKEN, "token", "It names no kid, and the server has several keys.");
    if (!kid) found = &entry.key;
  }
  if (found == nullptr) found = any_kid;
  if (found == nullptr) return fail(ErrorCode::BAD_TOKEN, "token", "The server has no key of its kid.");
  return found;
}

Result<Jwks> parse_jwks(std::string_view json) {
  if (json.size() > kJwksBytes) return bad_set("The file is larger than 256 KiB.");
  dom::parser parser;
  dom::element root;
  dom::array list;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return bad_set("It is not valid JSON.");
  if (root.at_key("keys").get(list) != simdjson::SUCCESS) return bad_set("It is no object with a list \"keys\".");
  Jwks result;
  std::size_t index = 0;
  for (const dom::element element : list) {
    dom::object jwk;
    if (element.get(jwk) != simdjson::SUCCESS) return bad_set("Its list \"keys\" holds something that is no object.");
    auto read = read_jwk(jwk);
    if (!read) {
      result.warnings.push_back(warning_about(index, jwk, read.error()));
    } else if (auto added = result.keys.add(std::move(read->kid), std::move(read->key)); !added) {
      return bad_set("Key " + std::to_string(index + 1) + " is one too many: " + added.error().detail + ".");
    }
    ++index;
  }
  if (result.keys.size() == 0)
    return bad_set("No key in it can be used: " +
                   (result.warnings.empty() ? "it has none." : result.warnings.front() + "."));
  return result;
}

}  // namespace tidemark
