#include "gateway/jwt_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gateway/jwt_base64.h"
#include "gateway/jwt_testing.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kEd = R"("kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")";
constexpr std::string_view kEc =
    R"("kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")";
constexpr std::string_view kOct = R"("kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY")";

std::string jwks(std::initializer_list<std::string> keys) {
  std::string text = "{\"keys\":[";
  for (const std::string& key : keys) text.append(text.back() == '[' ? "" : ",").append("{" + key + "}");
  return text + "]}";
}
std::string with(std::string_view key, std::string_view more) {
  return std::string(key) + "," + std::string(more);
}

std::string refusal(const Result<Jwks>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::MALFORMED);
  EXPECT_EQ(result.error().field, "jwks");
  return result.error().detail;
}

TEST(Jwks, ReadsEveryKindAndSelectsByKid) {
  const auto set = parse_jwks(jwks({with(kEd, R"("kid":"a","alg":"EdDSA","use":"sig")"),
                                    with(kEc, R"("kid":"b","key_ops":["verify"])"), with(kOct, R"("kid":"c")")}));
  ASSERT_TRUE(set) << set.error().detail;
  EXPECT_THAT(set->warnings, IsEmpty());
  EXPECT_EQ(set->keys.size(), 3u);
  EXPECT_EQ(set->keys.select("EdDSA", "a").value()->algorithm(), JwtAlgorithm::eddsa);
  EXPECT_EQ(set->keys.select("ES256", "b").value()->algorithm(), JwtAlgorithm::es256);
  EXPECT_EQ(set->keys.select("HS256", std::nullopt).value()->algorithm(), JwtAlgorithm::hs256);
  EXPECT_THAT(set->keys.select("ES256", "a").error().detail, HasSubstr("kid"));
  EXPECT_THAT(set->keys.select("RS256", std::nullopt).error().detail, HasSubstr("algorithm"));
  for (std::string_view alg : {"none", "None", "", "hs256", "HS512", "PS256"})
    EXPECT_EQ(set->keys.select(alg, std::nullopt).error().code, ErrorCode::BAD_TOKEN) << alg;
}

TEST(Jwks, ATokenWithoutKidNeedsTheOnlyKeyOfItsAlgorithm) {
  JwtKeySet set;
  const auto key = JwtKey::from_secret(std::string(32, 'x')).value();
  ASSERT_TRUE(set.add("a", key));
  EXPECT_TRUE(set.select("HS256", std::nullopt));
  EXPECT_FALSE(set.select("HS256", "b"));
  ASSERT_TRUE(set.add("b", key));
  EXPECT_THAT(set.select("HS256", std::nullopt).error().detail, HasSubstr("several"));
  EXPECT_TRUE(set.select("HS256", "b"));
  EXPECT_FALSE(set.add("b", key)) << "the same kid twice";
}

TEST(Jwks, AKeyWithoutKidTakesTokensOfAnyKid) {
  JwtKeySet set;
  ASSERT_TRUE(set.add("", JwtKey::from_secret(std::string(32, 'x')).value()));
  EXPECT_TRUE(set.select("HS256", std::nullopt));
  EXPECT_TRUE(set.select("HS256", "2024-01"));
}

TEST(Jwks, UnusableKeysArePassedOverWithAWarning) {
  const std::pair<std::string, std::string> cases[] = {
      {with(kEd, R"("use":"enc")"), "use"},
      {with(kEd, R"("use":1)"), "use"},
      {with(kEd, R"("key_ops":["sign"])"), "key_ops"},
      {with(kEd, R"("key_ops":"verify")"), "key_ops"},
      {with(kEd, R"("alg":"ES256")"), "alg"},
      {with(kEc, R"("alg":"HS256")"), "alg"},
      {with(kOct, R"("alg":"HS512")"), "alg"},
      {R"("kty":"EC","crv":"P-384","x":"AA","y":"AA")", "kty and crv"},
      {R"("kty":"OKP","crv":"X25519","x":"AA")", "kty and crv"},
      {R"("kid":"q")", "kty and crv"},
      {R"("kty":"oct","k":"c2hvcnQ")", "32 bytes"},
      {R"("kty":"RSA","n":"AQAB","e":"AQAB")", "2048"},
      {R"("kty":"RSA","n":"AQAB")", "e is missing"},
      {R"("kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"AAAA")", "32 bytes"},
      {R"("kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")", "base64url"},
  };
  for (const auto& [key, why] : cases) {
    const auto set = parse_jwks(jwks({with(kEc, R"("kid":"good")"), key}));
    ASSERT_TRUE(set) << key << set.error().detail;
    EXPECT_EQ(set->keys.size(), 1u) << key;
    EXPECT_THAT(set->warnings, ElementsAre(HasSubstr(why))) << key;
    EXPECT_THAT(refusal(parse_jwks(jwks({key}))), HasSubstr("No key in it can be used")) << key;
  }
}

TEST(Jwks, DoubledKidsAndBrokenFilesAreRefused) {
  EXPECT_THAT(refusal(parse_jwks(jwks({with(kEd, R"("kid":"a")"), with(kEd, R"("kid":"a")")}))), HasSubstr("same kid"));
  EXPECT_THAT(refusal(parse_jwks(jwks({std::string(kEd), std::string(kEd)}))), HasSubstr("same kid"));
  EXPECT_TRUE(parse_jwks(jwks({with(kEd, R"("kid":"a")"), with(kEc, R"("kid":"a")")})))
      << "RFC 7517 4.5: other types may share a kid";
  for (std::string_view text :
       {"", "{", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[1]}", "{\"keys\":[]}", "null", "\xff"})
    EXPECT_NE(refusal(parse_jwks(text)), "accepted") << text;
  EXPECT_THAT(refusal(parse_jwks(std::string(kJwksBytes + 1, ' '))), HasSubstr("larger"));
}

RC_GTEST_PROP(Jwks, AnyTextIsAnswered, (const std::string& text)) {
  static_cast<void>(parse_jwks(text));
  static_cast<void>(
      parse_jwks("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"" + base64url_encode(text) + "\",\"e\":\"AQAB\"}]}"));
}

}  // namespace
}  // namespace tidemark
