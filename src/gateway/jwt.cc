#include "gateway/jwt.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_text.h"
#include "base/utf8.h"
#include "gateway/jwt_base64.h"

namespace tidemark {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMembersMax = 128;  // of a header or payload; looking for doubles is quadratic
constexpr std::size_t kAudiencesMax = 32;
constexpr std::size_t kDepthMax = 16;
constexpr double kSecondsMax = 253'402'300'799.0;  // the end of the year 9999

struct Parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;  // header.payload
};

Result<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return bad_token("It does not have three parts.");
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

/// Parses one part as a JSON object without doubled members and hands each member to `visit(name, element)`, which
/// answers Result<void>. Parsers are kept by thread: their buffers are most of the cost.
template <typename Visit>
Result<void> read_object(std::string_view part, const char* not_text, const char* not_object, Visit visit) {
  std::optional<std::string> json = base64url_decode(part);
  if (!json) return bad_token(not_text);
  const std::size_t size = json->size();
  json->resize(size + simdjson::SIMDJSON_PADDING);
  thread_local dom::parser parser = [] {
    dom::parser made(kTokenBytes);
    if (made.allocate(kTokenBytes, kDepthMax) != simdjson::SUCCESS) made = dom::parser(0);
    return made;
  }();
  dom::object object;
  if (parser.parse(json->data(), size, false).get(object) != simdjson::SUCCESS) return bad_token(not_object);
  std::array<std::string_view, kMembersMax> seen;
  std::size_t count = 0;
  for (const auto [name, element] : object) {
    if (count == kMembersMax) return bad_token(not_object);
    if (std::find(seen.begin(), seen.begin() + count, name) != seen.begin() + count)
      return bad_token("It says one thing twice.");
    seen[count++] = name;
    TM_TRY(visit(name, element));
  }
  return {};
}

Result<void> read_text(std::string_view name, const dom::element& element, std::string& to) {
  std::string_view text;
  // simdjson passes lone low surrogates on as ill-formed UTF-8.
  if (element.get(text) != simdjson::SUCCESS || !valid_utf8(text))
    return bad_token("Its " + std::string(name) + " is not text.");
  to = text;
  return {};
}

Result<std::int64_t> read_time(std::string_view name, const dom::element& element) {
  double seconds = -1;
  if (element.get(seconds) != simdjson::SUCCESS || !(seconds >= 0 && seconds <= kSecondsMax))
    return bad_token("Its " + std::string(name) + " is not a time in seconds.");
  return std::llround(seconds * 1000);
}

Result<void> read_audience(const dom::element& element, std::vector<std::string>& to) {
  dom::array list;
  if (element.get(list) != simdjson::SUCCESS) return read_text("aud", element, to.emplace_back());
  for (const dom::element one : list) {
    if (to.size() == kAudiencesMax) return bad_token("Its aud has too many members.");
    TM_TRY(read_text("aud", one, to.emplace_back()));
  }
  return {};
}

struct Header {
  std::string alg;
  std::optional<std::string> kid;
};

Result<void> read_header_member(Header& header, std::string_view name, const dom::element& element) {
  if (name == "alg") return read_text(name, element, header.alg);
  if (name == "kid") return read_text(name, element, header.kid.emplace());
  if (name == "crit") return bad_token("Its crit asks for something that is not known here.");
  return {};
}

Result<Header> read_header(std::string_view part) {
  Header header;
  TM_TRY(read_object(
      part, "Its header is not base64url.", "Its header is not a JSON object.",
      [&](std::string_view name, const dom::element& element) { return read_header_member(header, name, element); }));
  if (header.alg.empty()) return bad_token("It names no algorithm.");
  return header;
}

/// The claims as they stand, and which of the required times were there.
struct Payload {
  Claims claims = {};
  bool exp = false;
  bool iat = false;
};

Result<void> read_claim(Payload& payload, std::string_view name, const dom::element& element) {
  Claims& claims = payload.claims;
  if (name == "sub") return read_text(name, element, claims.sub);
  if (name == "iss") return read_text(name, element, claims.iss);
  if (name == "jti") return read_text(name, element, claims.jti);
  if (name == "dev") return read_text(name, element, claims.dev);
  if (name == "lvl") return read_text(name, element, claims.lvl);
  if (name == "aud") return read_audience(element, claims.aud);
  if (name == "adm" && element.get(claims.adm) != simdjson::SUCCESS) return bad_token("Its adm is not true or false.");
  if (name == "exp" || name == "iat" || name == "nbf") {
    TM_ASSIGN(const std::int64_t time_ms, read_time(name, element));
    if (name == "nbf") {
      claims.nbf_ms = time_ms;
    } else {
      (name == "exp" ? claims.exp_ms : claims.iat_ms) = time_ms;
      (name == "exp" ? payload.exp : payload.iat) = true;
    }
  }
  return {};
}

Result<Payload> read_payload(std::string_view part) {
  Payload payload;
  TM_TRY(read_object(
      part, "Its payload is not base64url.", "Its payload is not a JSON object.",
      [&](std::string_view name, const dom::element& element) { return read_claim(payload, name, element); }));
  return payload;
}

Result<void> check_claims(const Payload& payload, const JwtRules& rules, std::int64_t now_ms) {
  const Claims& claims = payload.claims;
  if (claims.sub.empty()) return bad_token("It has no sub.");
  if (!payload.exp) return bad_token("It has no exp.");
  if (!payload.iat) return bad_token("It has no iat.");
  if (std::find(claims.aud.begin(), claims.aud.end(), rules.audience) == claims.aud.end())
    return bad_token("Its aud is not this server's.");
  if (!rules.issuer.empty() && claims.iss != rules.issuer) return bad_token("Its iss is not the one trusted here.");
  if (claims.exp_ms + rules.leeway_ms <= now_ms) return bad_token("It has expired.");
  if (claims.nbf_ms && *claims.nbf_ms - rules.leeway_ms > now_ms) return bad_token("Its nbf has not come yet.");
  // A token from the future would outlive every logout, which ends what was issued before it.
  if (claims.iat_ms - rules.leeway_ms > now_ms) return bad_token("Its iat is in the future.");
  return {};
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_json_string(out += out.size() > 1 ? "," : "", name);
  append_json_string(out += ':', text);
}

/// Milliseconds are kept as a fraction, so that a token made right after a logout is newer than it.
void append_time(std::string& out, std::string_view name, std::int64_t time_ms) {
  append_json_string(out += out.size() > 1 ? "," : "", name);
  out.append(":").append(std::to_string(time_ms / 1000));
  if (time_ms % 1000 != 0) out.append(".").append(std::to_string(1000 + time_ms % 1000).substr(1));
}

std::string payload_of(const Claims& claims) {
  std::string out = "{";
  append_member(out, "sub", claims.sub);
  if (claims.aud.size() == 1) append_member(out, "aud", claims.aud.front());
  if (claims.aud.size() > 1) {
    out += ",\"aud\":[";
    for (const std::string& audience : claims.aud) append_json_string(out += out.back() == '[' ? "" : ",", audience);
    out += ']';
  }
  if (!claims.iss.empty()) append_member(out, "iss", claims.iss);
  append_time(out, "iat", claims.iat_ms);
  append_time(out, "exp", claims.exp_ms);
  if (claims.nbf_ms) append_time(out, "nbf", *claims.nbf_ms);
  if (!claims.jti.empty()) append_member(out, "jti", claims.jti);
  if (!claims.dev.empty()) append_member(out, "dev", claims.dev);
  if (claims.adm) out += ",\"adm\":true";
  if (!claims.lvl.empty()) append_member(out, "lvl", claims.lvl);
  return out += '}';
}

}  // namespace

std::unexpected<Error> bad_token(std::string why) {
  return fail(ErrorCode::BAD_TOKEN, "token", std::move(why));
}

Result<Claims> verify_jwt(std::string_view token, const JwtKeySet& keys, const JwtRules& rules, std::int64_t now_ms) {
  if (token.empty()) return bad_token("There is none.");
  if (token.size() > kTokenBytes) return bad_token("It is larger than 8 KiB.");
  TM_ASSIGN(const Parts parts, split(token));
  TM_ASSIGN(const Header header, read_header(parts.header));
  TM_ASSIGN(const JwtKey* key, keys.select(header.alg, header.kid));
  const std::optional<std::string> signature = base64url_decode(parts.signature);
  if (!signature) return bad_token("Its signature is not base64url.");
  if (!key->verify(parts.signed_text, *signature)) return bad_token("Its signature is wrong.");
  TM_ASSIGN(Payload payload, read_payload(parts.payload));
  TM_TRY(check_claims(payload, rules, now_ms));
  return std::move(payload.claims);
}

Result<std::string> sign_jws(std::string_view header, std::string_view payload, const JwtKey& key) {
  std::string token = base64url_encode(header) + "." + base64url_encode(payload);
  TM_ASSIGN(const std::string signature, key.sign(token));
  return token + "." + base64url_encode(signature);
}

Result<std::string> sign_jwt(const Claims& claims, const JwtKey& key, std::string_view kid) {
  std::string header = "{";
  append_member(header, "alg", name_of(key.algorithm()));
  append_member(header, "typ", "JWT");
  if (!kid.empty()) append_member(header, "kid", kid);
  return sign_jws(header += '}', payload_of(claims), key);
}

}  // namespace tidemark
