#include "wire/websocket_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tidemark {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 2> kProtocols = {"tidemark.v1.proto", "tidemark.v1.json"};
constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";

HttpRequest parsed(std::string_view bytes) {
  HttpParser parser;
  EXPECT_EQ(parser.feed(bytes), HttpProgress::ready);
  return parser.take();
}

/// The request with one line replaced ("" to drop it).
HttpRequest request_with(std::string_view from = "", std::string_view to = "") {
  std::string bytes =
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: other, tidemark.v1.json\r\n\r\n";
  if (!from.empty()) bytes.replace(bytes.find(from), from.size(), to);
  return parsed(bytes);
}

std::string refused_field(const HttpRequest& request) {
  const auto accept = accept_upgrade(request, kProtocols);
  return accept ? "accepted" : accept.error().field;
}

HttpResponse response_of(std::string_view bytes) {
  HttpResponseParser parser;
  EXPECT_EQ(parser.feed(bytes), HttpProgress::ready);
  return parser.take();
}

TEST(WebSocketHandshake, AcceptValueIsThatOfTheStandard) {
  EXPECT_EQ(websocket_accept_value(kKey), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, ServerAcceptsWithoutExtensions) {
  const auto accept = accept_upgrade(request_with(), kProtocols);
  ASSERT_TRUE(accept) << accept.error().message();
  EXPECT_EQ(accept->protocol, "tidemark.v1.json");
  const HttpResponse response = response_of(accept->response);
  EXPECT_EQ(response.status, 101);
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Protocol"), "tidemark.v1.json");
  EXPECT_EQ(response.headers.get("Connection"), "Upgrade");
  EXPECT_FALSE(response.headers.has("Sec-WebSocket-Extensions"));
  EXPECT_FALSE(response.headers.has("Content-Length"));
}

TEST(WebSocketHandshake, TheClientsFirstKnownSubprotocolWins) {
  const auto chosen = [](std::string_view offered) {
    const auto accept = accept_upgrade(request_with("other, tidemark.v1.json", offered), kProtocols);
    return accept ? std::string(accept->protocol) : accept.error().field;
  };
  EXPECT_EQ(chosen("tidemark.v1.json, tidemark.v1.proto"), "tidemark.v1.json");
  EXPECT_EQ(chosen("tidemark.v1.proto,tidemark.v1.json"), "tidemark.v1.proto");
  EXPECT_EQ(chosen("x\r\nSec-WebSocket-Protocol: tidemark.v1.proto"), "tidemark.v1.proto") << "two header lines";
  EXPECT_EQ(chosen("tidemark.v2.json, TIDEMARK.V1.JSON"), "Sec-WebSocket-Protocol");
  EXPECT_EQ(refused_field(request_with("Sec-WebSocket-Protocol: other, tidemark.v1.json\r\n")),
            "Sec-WebSocket-Protocol");
}

TEST(WebSocketHandshake, ServerNamesTheHeaderAtFault) {
  EXPECT_EQ(refused_field(request_with("GET", "POST")), "method");
  EXPECT_EQ(refused_field(request_with("websocket", "h2c")), "Upgrade");
  EXPECT_EQ(refused_field(request_with("keep-alive, Upgrade", "keep-alive")), "Connection");
  EXPECT_EQ(refused_field(request_with("Version: 13", "Version: 8")), kWebSocketVersionField);
  EXPECT_EQ(refused_field(request_with("dGhlIHNhbXBsZSBub25jZQ==", "short")), "Sec-WebSocket-Key");
  EXPECT_EQ(refused_field(request_with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQab")), "Sec-WebSocket-Key");
  EXPECT_EQ(refused_field(request_with("Upgrade: websocket", "Upgrade: WebSocket")), "accepted");
}

TEST(WebSocketHandshake, ClientAndServerAgree) {
  SystemRandom random;
  const std::string key = make_websocket_key(random);
  EXPECT_NE(key, make_websocket_key(random));
  const std::array<HttpHeaderView, 1> extra = {{{"X-Test", "1"}}};
  const HttpRequest request = parsed(upgrade_request("localhost:7700", "/v1/ws", key, kProtocols, extra));
  EXPECT_TRUE(request.is_upgrade);
  EXPECT_EQ(request.headers.get("X-Test"), "1");
  const auto accept = accept_upgrade(request, kProtocols);
  ASSERT_TRUE(accept) << accept.error().message();
  const auto chosen = check_upgrade(response_of(accept->response), key, kProtocols);
  ASSERT_TRUE(chosen) << chosen.error().message();
  EXPECT_EQ(*chosen, "tidemark.v1.proto");
}

TEST(WebSocketHandshake, ClientRefusesAnImproperAnswer) {
  const std::string good =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: tidemark.v1.json\r\n\r\n";
  const auto field = [&good](std::string_view from, std::string_view to) {
    std::string bytes = good;
    if (!from.empty()) bytes.replace(bytes.find(from), from.size(), to);
    const auto chosen = check_upgrade(response_of(bytes), kKey, kProtocols);
    return chosen ? *chosen : chosen.error().field;
  };
  EXPECT_EQ(field("", ""), "tidemark.v1.json");
  EXPECT_EQ(field("101 Switching Protocols", "403 Forbidden\r\nContent-Length: 0"), "status");
  EXPECT_EQ(field("Upgrade: websocket", "Upgrade: h2c"), "Upgrade");
  EXPECT_EQ(field("Connection: Upgrade", "Connection: close"), "Connection");
  EXPECT_EQ(field("s3p", "S3p"), "Sec-WebSocket-Accept");
  EXPECT_EQ(field("tidemark.v1.json", "chat"), "Sec-WebSocket-Protocol");
  EXPECT_EQ(field("tidemark.v1.json", "tidemark.v1.json\r\nSec-WebSocket-Extensions: x"), "Sec-WebSocket-Extensions");
}

TEST(WebSocketHandshake, ClientShowsWhatARefusingServerSaid) {
  const auto chosen =
      check_upgrade(response_of("HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\nBAD_TOKEN"), kKey, kProtocols);
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().detail, HasSubstr("401"));
  EXPECT_THAT(chosen.error().detail, HasSubstr("BAD_TOKEN"));
}

}  // namespace
}  // namespace tidemark
