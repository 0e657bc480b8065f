// Tokens and key files from outside: whatever comes, it is answered, nothing unsigned is accepted, and a payload behind
// a right signature is read without harm.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "gateway/jwt.h"

namespace {

using namespace tidemark;

struct World {
  JwtKey secret = JwtKey::from_secret("0123456789abcdef0123456789abcdef").value();
  JwtKeySet keys;
  JwtRules rules = {.audience = "tidemark", .leeway_ms = 1000};

  World() {
    TM_CHECK(keys.add("a", secret).has_value(), "a first key");
    // The public half of RFC 8037's example key: nobody here can sign for it.
    auto jwks =
        parse_jwks(R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
    TM_CHECK(jwks.has_value(), "a key of a standard");
    foreign = std::move(jwks->keys);
  }
  JwtKeySet foreign;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  constexpr std::int64_t kNowMs = 1'700'000'000'000;

  TM_CHECK(!verify_jwt(input, world.foreign, world.rules, kNowMs), "a token nobody could sign");
  static_cast<void>(verify_jwt(input, world.keys, world.rules, kNowMs));
  static_cast<void>(parse_jwks(input));

  const std::size_t cut = input.find('\n');
  const std::string_view header = cut == input.npos ? R"({"alg":"HS256"})" : input.substr(0, cut);
  const std::string_view payload = cut == input.npos ? input : input.substr(cut + 1);
  const auto claims = verify_jwt(sign_jws(header, payload, world.secret).value(), world.keys, world.rules, kNowMs);
  if (!claims) return 0;
  // What was read can be written and read again, and means the same.
  const auto again = verify_jwt(sign_jwt(*claims, world.secret, "a").value(), world.keys, world.rules, kNowMs);
  if (again || again.error().detail != "It is larger than 8 KiB.")
    TM_CHECK(again && *again == *claims, "claims survive a round trip");
  return 0;
}
