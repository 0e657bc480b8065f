#include "hooks/signature.h"

#include <gtest/gtest.h>

#include "hooks/hook_url.h"

namespace tidemark {
namespace {

// The vector of docs/hooks.md; made with: printf '1790000000.{"id":"1-57-0"}' | openssl dgst -sha256 -hmac 'an example
// secret of tidemark'
constexpr std::string_view kSecret = "an example secret of tidemark";
constexpr std::string_view kBody = R"({"id":"1-57-0"})";
constexpr std::string_view kSignature = "v1=31f42fa685e2e7000330436099d077fa8691c1af4938507519e7a012e872c802";

TEST(HookSignature, IsThatOfTheDocumentedVector) {
  EXPECT_EQ(hook_signature(kSecret, 1'790'000'000, kBody), kSignature);
}

TEST(HookSignature, NothingElseIsTaken) {
  EXPECT_TRUE(hook_signature_good(kSignature, kSecret, 1'790'000'000, kBody));
  EXPECT_TRUE(hook_signature_good("v2=other, " + std::string(kSignature), kSecret, 1'790'000'000, kBody));
  EXPECT_FALSE(hook_signature_good(kSignature, kSecret, 1'790'000'001, kBody));
  EXPECT_FALSE(hook_signature_good(kSignature, "another secret", 1'790'000'000, kBody));
  EXPECT_FALSE(hook_signature_good(kSignature, kSecret, 1'790'000'000, "{}"));
  EXPECT_FALSE(hook_signature_good("", kSecret, 1'790'000'000, kBody));
}

TEST(HookUrl, IsTakenApart) {
  const auto url = parse_hook_url("https://app.example.org:8443/hooks?x=1", "hooks.url");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->authority(), "app.example.org:8443");
  EXPECT_EQ(url->target, "/hooks?x=1");
  EXPECT_EQ(parse_hook_url("http://127.0.0.1", "hooks.url")->authority(), "127.0.0.1:80");
  EXPECT_EQ(parse_hook_url("http://[::1]:9/x", "hooks.url")->authority(), "[::1]:9");
  EXPECT_EQ(parse_hook_url("https://h?q", "hooks.url")->target, "/?q");
}

TEST(HookUrl, WhatIsNoneIsRefusedWithItsSetting) {
  for (const char* bad : {"", "app.example.org", "ftp://x", "http://", "http://a b/", "http://x:port/",
                          "http://x:", "http://u@x/", "http://[::1/", "http://x/#y", "http://[::1]x/"}) {
    const auto url = parse_hook_url(bad, "hooks.url");
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().field, "hooks.url");
  }
}

}  // namespace
}  // namespace tidemark
