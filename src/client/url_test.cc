#include "client/url.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

TEST(Url, TakesTheUsualForms) {
  const auto plain = parse_websocket_url("ws://127.0.0.1:7700/v1/ws");
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(plain->secure);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, "7700");
  EXPECT_EQ(plain->target, "/v1/ws");
  EXPECT_EQ(plain->authority(), "127.0.0.1:7700");

  const auto secure = parse_websocket_url("wss://chat.example.org");
  ASSERT_TRUE(secure.has_value());
  EXPECT_TRUE(secure->secure);
  EXPECT_EQ(secure->port, "443");
  EXPECT_EQ(secure->target, "/");
  EXPECT_EQ(secure->authority(), "chat.example.org");

  const auto six = parse_websocket_url("ws://[::1]:7700/v1/ws?x=1");
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->authority(), "[::1]:7700");
  EXPECT_EQ(six->target, "/v1/ws?x=1");
}

TEST(Url, RefusesWhatIsNone) {
  for (const char* url : {"", "http://a/", "ws://", "ws:///x", "ws://a:0/", "ws://a:65536/", "ws://a:b/", "ws://a:/",
                          "ws://[::1", "ws://[::1]x", "ws://u@a/", "ws://a/#b", "ws://a/ b", "ws://a/\r\nX: y"}) {
    const auto parsed = parse_websocket_url(url);
    ASSERT_FALSE(parsed.has_value()) << url;
    EXPECT_EQ(parsed.error().field, "url");
  }
}

}  // namespace
}  // namespace tidemark
