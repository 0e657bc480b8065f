#include "gateway/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "gateway/jwt_base64.h"
#include "gateway/jwt_testing.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using testing_keys::read_file;
using testing_keys::TempDir;

constexpr std::int64_t kNowMs = 1'700'000'000'123;

SystemRandom& random_source() {
  static SystemRandom random;
  return random;
}

std::unique_ptr<Authenticator> opened(const TempDir& dir, const AuthConfig& config = {}) {
  auto result = Authenticator::open(config, dir.path("data"), random_source());
  EXPECT_TRUE(result) << result.error().detail;
  return *std::move(result);
}
Result<std::unique_ptr<Authenticator>> reopened(const TempDir& dir, Secrets secrets = Secrets::make) {
  return Authenticator::open({}, dir.path("data"), random_source(), secrets);
}
unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}
std::string refusal(const Result<Principal>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::BAD_TOKEN);
  EXPECT_EQ(result.error().field, "token");
  return result.error().detail;
}
JwtKey local_key(const TempDir& dir, const std::string& name = "secret.key") {
  std::string text = read_file(dir.path("data/" + name));
  text.pop_back();
  return JwtKey::from_secret(text).value();
}
Claims claims_of(const std::string& sub) {
  return {.sub = sub, .aud = {"tidemark"}, .iss = "app", .exp_ms = kNowMs + 1000, .iat_ms = kNowMs};
}

TEST(Secrets, AreMadeOnceForTheirOwnerAlone) {
  const TempDir dir;
  opened(dir);
  EXPECT_EQ(mode_of(dir.path("data")), 0700u);
  for (const std::string name : {"data/secret.key", "data/admin.key"}) {
    EXPECT_EQ(mode_of(dir.path(name)), 0600u);
    EXPECT_THAT(read_file(dir.path(name)), MatchesRegex("[A-Za-z0-9_-]{43}\n"));
  }
  const std::string before = read_file(dir.path("data/secret.key"));
  EXPECT_NE(before, read_file(dir.path("data/admin.key")));
  opened(dir);
  EXPECT_EQ(read_file(dir.path("data/secret.key")), before);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path("data"))) files += entry.is_regular_file();
  EXPECT_EQ(files, 2u) << "no drafts are left behind";
}

TEST(Secrets, OfManyStartsAtOnceOneMakesThem) {
  const TempDir dir;
  std::vector<std::thread> threads;
  std::array<std::unique_ptr<Authenticator>, 8> all;
  for (auto& one : all) threads.emplace_back([&] { one = opened(dir); });
  for (auto& thread : threads) thread.join();
  const std::string token = all[0]->mint(UserId("alice"), {}, kNowMs).value();
  for (const auto& one : all) EXPECT_EQ(refusal(one->user(token, kNowMs)), "accepted");
}

TEST(Secrets, ReadableByOthersAreRefusedWithTheCommandThatHelps) {
  const TempDir dir;
  opened(dir);
  for (const std::string name : {"data/secret.key", "data/admin.key"}) {
    for (const unsigned mode : {0640u, 0604u, 0660u, 0644u, 0610u}) {
      chmod(dir.path(name).c_str(), mode);
      const auto result = reopened(dir);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::FORBIDDEN);
      EXPECT_THAT(result.error().detail, HasSubstr("chmod 600 " + dir.path(name)));
    }
    chmod(dir.path(name).c_str(), 0400);
    EXPECT_TRUE(reopened(dir));
  }
}

TEST(Secrets, ShortEmptyAndMisplacedOnesAreRefused) {
  const TempDir dir;
  opened(dir);
  for (const std::string& text : {std::string(), std::string("short\n"), std::string(31, 'x') + "\r\n",
                                  std::string(5000, 'x'), testing_keys::p256().private_pem}) {
    dir.write("data/secret.key", text);
    EXPECT_FALSE(reopened(dir));
  }
  dir.write("data/secret.key", std::string(32, 'x') + "\r\n");
  EXPECT_TRUE(reopened(dir)) << "an operator's own secret of 32 bytes";
  std::filesystem::remove(dir.path("data/secret.key"));
  std::filesystem::create_directory(dir.path("data/secret.key"));
  EXPECT_THAT(reopened(dir).error().detail, HasSubstr("is a directory"));
}

TEST(Secrets, AToolThatNeedsThemMakesNone) {
  const TempDir dir;
  const auto result = reopened(dir, Secrets::need);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::NOT_FOUND);
  EXPECT_THAT(result.error().detail,
              HasSubstr("Start the server once with --data " + dir.path("data") + ", or check the path."));
  EXPECT_FALSE(std::filesystem::exists(dir.path("data")));
  opened(dir);
  EXPECT_TRUE(reopened(dir, Secrets::need));
}

TEST(Secrets, AnImpossibleDirectoryIsSaid) {
  const TempDir dir;
  dir.write("data", "a file");
  EXPECT_EQ(reopened(dir).error().code, ErrorCode::RETRY_LATER);
  EXPECT_THAT(reopened(dir).error().detail, HasSubstr("cannot be made"));
}

TEST(Auth, AMintedTokenIsItsUser) {
  const TempDir dir;
  const auto auth = opened(dir);
  const auto token = auth->mint(UserId("älice"), {.level = "vip", .device = DeviceId("phone")}, kNowMs);
  ASSERT_TRUE(token);
  const auto principal = auth->user(*token, kNowMs);
  ASSERT_TRUE(principal) << principal.error().detail;
  EXPECT_EQ(principal->user, UserId("älice"));
  EXPECT_EQ(principal->device, DeviceId("phone"));
  EXPECT_EQ(principal->level, "vip");
  EXPECT_EQ(principal->issued_at_ms, kNowMs);
  EXPECT_EQ(principal->expires_at_ms, kNowMs + 2'592'000'000);
  EXPECT_THAT(principal->jti, SizeIs(16));
  EXPECT_FALSE(principal->admin);
  EXPECT_NE(principal->jti, auth->user(auth->mint(UserId("älice"), {}, kNowMs).value(), kNowMs)->jti);
  EXPECT_EQ(refusal(auth->user(*token, principal->expires_at_ms + 29'999)), "accepted");
  EXPECT_THAT(refusal(auth->user(*token, principal->expires_at_ms + 30'000)), HasSubstr("expired"));
}

TEST(Auth, TheTimeToLiveIsTheOneAskedForOrTheSettings) {
  const TempDir dir;
  const auto auth = opened(dir, {.leeway_s = 0, .default_ttl_s = 60, .admin_ttl_s = 5});
  const auto lives = [&](const MintOptions& options) {
    const std::string token = auth->mint(UserId("a"), options, kNowMs).value();
    return (options.kind == TokenKind::admin ? auth->admin(token, kNowMs) : auth->user(token, kNowMs))->expires_at_ms -
           kNowMs;
  };
  EXPECT_EQ(lives({}), 60'000);
  EXPECT_EQ(lives({.ttl_seconds = 7}), 7'000);
  EXPECT_EQ(lives({.kind = TokenKind::admin}), 5'000);
}

TEST(Auth, UserAndAdminTokensDoNotPassForEachOther) {
  const TempDir dir;
  const auto auth = opened(dir);
  const std::string user = auth->mint(UserId("root"), {}, kNowMs).value();
  const std::string admin = auth->mint(UserId("root"), {.kind = TokenKind::admin}, kNowMs).value();
  EXPECT_EQ(refusal(auth->user(user, kNowMs)), "accepted");
  EXPECT_TRUE(auth->admin(admin, kNowMs).value().admin);
  EXPECT_THAT(refusal(auth->user(admin, kNowMs)), HasSubstr("It is an admin token"));
  EXPECT_THAT(refusal(auth->admin(user, kNowMs)), HasSubstr("It is a user's token"));

  Claims claims = claims_of("root");
  claims.adm = true;
  claims.aud = {"tidemark", "tidemark-admin"};
  const std::string proud = sign_jwt(claims, local_key(dir)).value();
  EXPECT_FALSE(auth->user(proud, kNowMs).value().admin) << "adm in a user token says nothing";
  EXPECT_THAT(refusal(auth->admin(proud, kNowMs)), HasSubstr("It is a user's token"));

  const JwtKey admin_key = local_key(dir, "admin.key");
  EXPECT_TRUE(auth->admin(sign_jwt(claims, admin_key).value(), kNowMs));
  EXPECT_THAT(refusal(auth->user(sign_jwt(claims, admin_key).value(), kNowMs)), HasSubstr("It is an admin token"));
  claims.adm = false;
  EXPECT_THAT(refusal(auth->admin(sign_jwt(claims, admin_key).value(), kNowMs)), HasSubstr("adm"));
  claims.adm = true;
  claims.aud = {"tidemark"};
  EXPECT_THAT(refusal(auth->admin(sign_jwt(claims, admin_key).value(), kNowMs)), HasSubstr("aud"));
}

TEST(Auth, OnlyProperUsersDevicesAndLevelsAreTaken) {
  const TempDir dir;
  const auto auth = opened(dir);
  const auto answer = [&](const Claims& claims) {
    return refusal(auth->user(sign_jwt(claims, local_key(dir)).value(), kNowMs));
  };
  for (const std::string& sub : {std::string("1001"), std::string("a_b%c d"), std::string("用户😀"),
                                 std::string(64, 'x'), std::string("Group"), std::string("groups")})
    EXPECT_EQ(answer(claims_of(sub)), "accepted") << sub;
  for (const std::string& sub : {std::string("group"), std::string(65, 'x'), std::string("a\nb"),
                                 std::string("a\0b", 3), std::string("\x7f"), std::string("\xc2\x85")})
    EXPECT_THAT(answer(claims_of(sub)), HasSubstr("sub")) << sub;
  Claims claims = claims_of("alice");
  for (const std::string& dev : {std::string("d"), std::string(64, 'd'), std::string("手机")}) {
    claims.dev = dev;
    EXPECT_EQ(answer(claims), "accepted") << dev;
  }
  for (const std::string& dev : {std::string(65, 'd'), std::string("a\tb"), std::string("a\0", 2)}) {
    claims.dev = dev;
    EXPECT_THAT(answer(claims), HasSubstr("dev")) << dev;
  }
  claims.dev.clear();
  for (const std::string lvl : {"free", "paid", "vip"}) {
    claims.lvl = lvl;
    EXPECT_EQ(answer(claims), "accepted") << lvl;
  }
  for (const std::string lvl : {"VIP", "gold", " ", "admin"}) {
    claims.lvl = lvl;
    EXPECT_THAT(answer(claims), HasSubstr("lvl")) << lvl;
  }
}

TEST(Auth, NothingIsMintedThatWouldBeRefused) {
  const TempDir dir;
  const auto auth = opened(dir);
  const auto field = [&](const char* user, const MintOptions& options) {
    const auto token = auth->mint(UserId(user), options, kNowMs);
    return token ? std::string("minted") : token.error().field;
  };
  EXPECT_EQ(field("alice", {}), "minted");
  EXPECT_EQ(field("", {}), "user");
  EXPECT_EQ(field("group", {}), "user");
  EXPECT_EQ(field("\xff", {}), "user");
  EXPECT_EQ(field("alice", {.level = "gold"}), "level");
  EXPECT_EQ(field("alice", {.device = DeviceId("a\nb")}), "device");
  EXPECT_EQ(field("alice", {.ttl_seconds = -1}), "ttl_seconds");
  EXPECT_EQ(field("alice", {.ttl_seconds = INT64_MAX}), "ttl_seconds");
}

TEST(Auth, APublicKeyInTheSettingsReplacesTheLocalSecret) {
  const TempDir dir;
  const std::string path = dir.write("key.pem", testing_keys::p256().public_pem);
  const auto signer = JwtKey::from_private_pem(testing_keys::p256().private_pem).value();
  const std::string foreign = sign_jwt(claims_of("alice"), signer, "any").value();
  const std::string local = opened(dir)->mint(UserId("alice"), {}, kNowMs).value();

  const auto strict = opened(dir, {.issuer = "app", .public_key = path});
  EXPECT_EQ(refusal(strict->user(foreign, kNowMs)), "accepted");
  EXPECT_THAT(refusal(strict->user(local, kNowMs)), HasSubstr("algorithm"));
  EXPECT_EQ(strict->mint(UserId("alice"), {}, kNowMs).error().code, ErrorCode::FORBIDDEN);
  EXPECT_TRUE(strict->admin(strict->mint(UserId("a"), {.kind = TokenKind::admin}, kNowMs).value(), kNowMs));

  const auto both = opened(dir, {.issuer = "app", .public_key = path, .allow_local = true});
  EXPECT_EQ(refusal(both->user(foreign, kNowMs)), "accepted");
  EXPECT_EQ(refusal(both->user(local, kNowMs)), "accepted");
  EXPECT_EQ(refusal(both->user(both->mint(UserId("alice"), {}, kNowMs).value(), kNowMs)), "accepted");

  const auto other_issuer = opened(dir, {.issuer = "someone", .public_key = path});
  EXPECT_THAT(refusal(other_issuer->user(foreign, kNowMs)), HasSubstr("iss"));
  const auto other_audience = opened(dir, {.audience = "chat", .public_key = path});
  EXPECT_THAT(refusal(other_audience->user(foreign, kNowMs)), HasSubstr("aud"));
}

TEST(Auth, UnusableKeyFilesStopTheStart) {
  const TempDir dir;
  const auto error = [&](const AuthConfig& config) {
    return Authenticator::open(config, dir.path("data"), random_source()).error();
  };
  EXPECT_EQ(error({.public_key = dir.path("no.pem")}).code, ErrorCode::NOT_FOUND);
  EXPECT_EQ(error({.public_key = dir.path("no.pem")}).field, "auth.public_key");
  EXPECT_THAT(error({.public_key = dir.write("k.pem", testing_keys::p256().private_pem)}).detail,
              HasSubstr("private key"));
  EXPECT_EQ(error({.jwks = dir.write("k.json", "{}")}).field, "auth.jwks");
  const std::string shared =
      dir.write("s.json", R"({"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]})");
  chmod(shared.c_str(), 0644);
  EXPECT_THAT(error({.jwks = shared}).detail, HasSubstr("chmod 600"));
  chmod(shared.c_str(), 0600);
  EXPECT_TRUE(Authenticator::open({.jwks = shared}, dir.path("data"), random_source()));
}

/// A JWK set with one shared key of 32 equal characters, and one key that is passed over if `odd`.
std::string one_key(char c, bool odd = false) {
  return R"({"keys":[{"kty":"oct","k":")" + base64url_encode(std::string(32, c)) + R"("})" +
         (odd ? R"(,{"kty":"EC","crv":"P-521","kid":"q"})" : "") + "]}";
}
void put(const TempDir& dir, const std::string& text) {
  chmod(dir.write("new.json", text).c_str(), 0600);
  std::filesystem::rename(dir.path("new.json"), dir.path("keys.json"));
}
std::string token_by(char c) {
  return sign_jwt(claims_of("alice"), JwtKey::from_secret(std::string(32, c)).value()).value();
}

TEST(AuthReload, ANewJwksFileIsInForceAtTheNextLook) {
  const TempDir dir;
  put(dir, one_key('a'));
  const auto auth = opened(dir, {.jwks = dir.path("keys.json")});
  EXPECT_THAT(auth->warnings(), IsEmpty());
  EXPECT_EQ(refusal(auth->user(token_by('a'), kNowMs)), "accepted");
  EXPECT_FALSE(auth->reload_if_changed(10'000).value());
  put(dir, one_key('b', true));
  EXPECT_FALSE(auth->reload_if_changed(10'999).value()) << "less than a second after the last look";
  EXPECT_NE(refusal(auth->user(token_by('b'), kNowMs)), "accepted");
  EXPECT_TRUE(auth->reload_if_changed(11'000).value());
  EXPECT_EQ(refusal(auth->user(token_by('b'), kNowMs)), "accepted");
  EXPECT_NE(refusal(auth->user(token_by('a'), kNowMs)), "accepted");
  EXPECT_THAT(auth->warnings(), testing::ElementsAre(AllOf(HasSubstr("keys.json"), HasSubstr("key 2 (kid q)"))));
  EXPECT_FALSE(auth->reload_if_changed(12'000).value());
}

TEST(AuthReload, ABrokenOrMissingFileLeavesTheOldKeysAndIsSaidOnce) {
  const TempDir dir;
  put(dir, one_key('a'));
  const auto auth = opened(dir, {.jwks = dir.path("keys.json")});
  put(dir, "{\"keys\":[");
  EXPECT_THAT(auth->reload_if_changed(1'000).error().detail, HasSubstr("not valid JSON"));
  EXPECT_FALSE(auth->reload_if_changed(2'000).value());
  EXPECT_EQ(refusal(auth->user(token_by('a'), kNowMs)), "accepted");
  std::filesystem::remove(dir.path("keys.json"));
  EXPECT_EQ(auth->reload_if_changed(3'000).error().code, ErrorCode::NOT_FOUND);
  EXPECT_FALSE(auth->reload_if_changed(4'000).value());
  EXPECT_EQ(refusal(auth->user(token_by('a'), kNowMs)), "accepted");
  put(dir, one_key('b'));
  EXPECT_TRUE(auth->reload_if_changed(5'000).value());
  EXPECT_EQ(refusal(auth->user(token_by('b'), kNowMs)), "accepted");
}

TEST(AuthReload, WithoutAKeyFileThereIsNothingToRead) {
  const TempDir dir;
  EXPECT_FALSE(opened(dir)->reload_if_changed(1'000).value());
}

TEST(AuthReload, TokensAreCheckedWhileKeysChange) {
  const TempDir dir;
  put(dir, one_key('a'));
  const auto auth = opened(dir, {.jwks = dir.path("keys.json")});
  const std::string a = token_by('a');
  const std::string b = token_by('b');
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      static_cast<void>(auth->user(a, kNowMs));
      static_cast<void>(auth->user(b, kNowMs));
      static_cast<void>(auth->warnings());
    }
  });
  for (int i = 1; i <= 100; ++i) {
    put(dir, one_key(i % 2 == 0 ? 'a' : 'b'));
    EXPECT_TRUE(auth->reload_if_changed(i * 1'000).value_or(false));
    EXPECT_TRUE(auth->user(i % 2 == 0 ? a : b, kNowMs)) << i;
  }
  stop = true;
  reader.join();
  EXPECT_TRUE(auth->user(a, kNowMs));
}

RC_GTEST_PROP(Auth, AnyTextIsRefused, (const std::string& text)) {
  static const TempDir dir;
  static const auto auth = opened(dir);
  RC_ASSERT(!auth->user(text, kNowMs));
  RC_ASSERT(!auth->admin(text, kNowMs));
}

RC_GTEST_PROP(Auth, WhateverIsMintedIsTakenBack, (const std::string& user)) {
  static const TempDir dir;
  static const auto auth = opened(dir);
  const auto token = auth->mint(UserId(user), {}, kNowMs);
  if (token) RC_ASSERT(auth->user(*token, kNowMs).value().user.value == user);
}

}  // namespace
}  // namespace tidemark
