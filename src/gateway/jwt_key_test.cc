#include "gateway/jwt_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>
#include <vector>

#include "gateway/jwt_base64.h"
#include "gateway/jwt_testing.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string bytes(std::string_view base64url) {
  return base64url_decode(base64url).value();
}

constexpr std::string_view kRfc7515Payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

TEST(Base64Url, WritesAndReadsTheRfc4648Vectors) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xef\xff", "--__"}};
  for (const auto& [plain, text] : cases) {
    EXPECT_EQ(base64url_encode(plain), text);
    EXPECT_EQ(base64url_decode(text), plain);
  }
}

TEST(Base64Url, RefusesPaddingJunkImpossibleLengthsAndLeftOverBits) {
  for (std::string_view text :
       {"Zg==", "Zg=", "Zm8=", "Z", "Zm9vY", "Zh", "Zm9", "Zm 9", "Zm9v\n", "+/+/", "Zm9v.", "Zmé"})
    EXPECT_FALSE(base64url_decode(text).has_value()) << text;
}

RC_GTEST_PROP(Base64Url, DecodesWhatItEncodes, (const std::string& plain)) {
  RC_ASSERT(base64url_decode(base64url_encode(plain)) == plain);
}

RC_GTEST_PROP(Base64Url, NoTwoTextsMeanTheSameBytes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ABCDwxyz0189-_=+/ ")));
  const auto decoded = base64url_decode(text);
  if (decoded) RC_ASSERT(base64url_encode(*decoded) == text);
}

TEST(JwtKey, Hs256AgreesWithRfc7515AppendixA1) {
  const auto key = JwtKey::from_secret(
      bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"));
  ASSERT_TRUE(key);
  const std::string text = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + std::string(kRfc7515Payload);
  EXPECT_EQ(base64url_encode(key->sign(text).value()), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
  EXPECT_TRUE(key->verify(text, bytes("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")));
}

TEST(JwtKey, Rs256AgreesWithRfc7515AppendixA2) {
  const auto key = JwtKey::from_rsa(bytes("ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-"
                                          "4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-"
                                          "pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-"
                                          "bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg"
                                          "665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_"
                                          "h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRW"
                                          "yuXpoQ"),
                                    bytes("AQAB"));
  ASSERT_TRUE(key) << key.error().detail;
  EXPECT_EQ(key->algorithm(), JwtAlgorithm::rs256);
  EXPECT_TRUE(key->verify(
      "eyJhbGciOiJSUzI1NiJ9." + std::string(kRfc7515Payload),
      bytes("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
            "O8W2Fp5jujGbds9uJdbF9CUAr7"
            "t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_"
            "dO--xi12j"
            "zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_"
            "IoypGlUPQG"
            "e77Rw")));
}

TEST(JwtKey, Es256AgreesWithRfc7515AppendixA3) {
  const auto key = JwtKey::from_p256(bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                     bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
  ASSERT_TRUE(key) << key.error().detail;
  const std::string signature =
      bytes("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  EXPECT_TRUE(key->verify("eyJhbGciOiJFUzI1NiJ9." + std::string(kRfc7515Payload), signature));
  EXPECT_FALSE(key->verify("eyJhbGciOiJFUzI1NiJ9." + std::string(kRfc7515Payload) + "x", signature));
}

TEST(JwtKey, EdDsaAgreesWithRfc8037AppendixA4) {
  const auto key = JwtKey::from_ed25519(bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"));
  ASSERT_TRUE(key) << key.error().detail;
  EXPECT_TRUE(
      key->verify("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
                  bytes("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")));
}

struct KeyCase {
  const char* name;
  JwtKey signer;
  JwtKey verifier;
};

std::vector<KeyCase> every_kind() {
  const auto pair = [](const testing_keys::Pair& pem) {
    return std::pair(JwtKey::from_private_pem(pem.private_pem).value(),
                     JwtKey::from_public_pem(pem.public_pem).value());
  };
  const auto secret = JwtKey::from_secret("0123456789abcdef0123456789abcdef").value();
  const auto rsa = pair(testing_keys::rsa());
  const auto ec = pair(testing_keys::p256());
  const auto ed = pair(testing_keys::ed25519());
  return {{"HS256", secret, secret},
          {"RS256", rsa.first, rsa.second},
          {"ES256", ec.first, ec.second},
          {"EdDSA", ed.first, ed.second}};
}

TEST(JwtKey, EveryKindVerifiesItsOwnSignatureAndNothingElse) {
  for (const KeyCase& one : every_kind()) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(name_of(one.signer.algorithm()), one.name);
    EXPECT_EQ(jwt_algorithm_named(one.name), one.verifier.algorithm());
    const std::string signature = one.signer.sign("message").value();
    EXPECT_TRUE(one.verifier.verify("message", signature));
    EXPECT_TRUE(one.signer.verify("message", signature));
    EXPECT_FALSE(one.verifier.verify("Message", signature));
    EXPECT_FALSE(one.verifier.verify("message", ""));
    EXPECT_FALSE(one.verifier.verify("message", signature.substr(1)));
    EXPECT_FALSE(one.verifier.verify("message", signature + '\0'));
    EXPECT_FALSE(one.verifier.verify("message", std::string(signature.size(), '\0')));
    EXPECT_FALSE(one.verifier.verify("message", std::string(signature.size(), '\xff')));
    for (std::size_t i = 0; i < signature.size(); i += 7) {
      std::string flipped = signature;
      flipped[i] = static_cast<char>(flipped[i] ^ 1);
      EXPECT_FALSE(one.verifier.verify("message", flipped)) << i;
    }
  }
}

TEST(JwtKey, PublicKeysCannotSign) {
  const auto key = JwtKey::from_public_pem(testing_keys::p256().public_pem).value();
  EXPECT_FALSE(key.can_sign());
  EXPECT_EQ(key.sign("x").error().code, ErrorCode::FORBIDDEN);
}

TEST(JwtKey, Es256SignaturesAreSixtyFourRawBytesNeverDer) {
  const auto key = JwtKey::from_private_pem(testing_keys::p256().private_pem).value();
  for (int i = 0; i < 300; ++i)  // one in 128 has a leading zero byte in r or s
    ASSERT_EQ(key.sign(std::to_string(i)).value().size(), 64u);
}

TEST(JwtKey, WeakForeignAndMisplacedKeysAreRefusedWithAReason) {
  const auto why = [](const Result<JwtKey>& key) {
    if (key) return std::string("accepted");
    EXPECT_EQ(key.error().code, ErrorCode::MALFORMED);
    EXPECT_EQ(key.error().field, "key");
    return key.error().detail;
  };
  EXPECT_THAT(why(JwtKey::from_secret(std::string(31, 'x'))), HasSubstr("32 bytes"));
  EXPECT_THAT(why(JwtKey::from_secret(testing_keys::rsa().public_pem)), HasSubstr("PEM"));
  EXPECT_THAT(why(JwtKey::from_public_pem(testing_keys::new_rsa(1024).public_pem)), HasSubstr("2048 bits"));
  EXPECT_THAT(why(JwtKey::from_public_pem(testing_keys::new_ec("P-384").public_pem)), HasSubstr("P-256"));
  EXPECT_THAT(why(JwtKey::from_public_pem(testing_keys::rsa().private_pem)), HasSubstr("private key"));
  EXPECT_THAT(why(JwtKey::from_private_pem(testing_keys::rsa().public_pem)), HasSubstr("private key"));
  for (std::string_view text : {"", "hello", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"})
    EXPECT_THAT(why(JwtKey::from_public_pem(text)), HasSubstr("No PEM public key"));
  EXPECT_THAT(why(JwtKey::from_ed25519(std::string(31, 'x'))), HasSubstr("32 bytes"));
  EXPECT_THAT(why(JwtKey::from_p256(std::string(32, 'x'), std::string(32, 'y'))), HasSubstr("no point"));
  EXPECT_THAT(why(JwtKey::from_p256("x", "y")), HasSubstr("32 bytes"));
  EXPECT_THAT(why(JwtKey::from_rsa(std::string(128, '\xff'), "\x01\x00\x01")), Not(HasSubstr("accepted")));
  EXPECT_THAT(why(JwtKey::from_rsa(std::string(5000, '\xff'), "\x03")), Not(HasSubstr("accepted")));
}

TEST(JwtKey, OneKeyServesManyThreads) {
  const auto kinds = every_kind();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        for (const KeyCase& one : kinds) {
          const std::string text = std::to_string(i);
          if (!one.verifier.verify(text, one.signer.sign(text).value())) ++wrong;
        }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tidemark
