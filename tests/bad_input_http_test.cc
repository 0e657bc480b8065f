// HTTP requests that are wrong, and those that are merely unusual.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BadRequests : public BothDialects {
 protected:
  void TearDown() override {
    HttpClient other = http();
    EXPECT_EQ(other.post("/v1/messages", token("bystander"), send_json(user("friend"), "still here", new_id())).status,
              201);
  }
  std::string host() const { return "Host: 127.0.0.1:" + std::to_string(server().port()) + "\r\n"; }
  std::string bearer() const { return "Authorization: Bearer " + token("rude") + "\r\n"; }
  /// The answer to raw bytes on a connection of their own.
  HttpResponse raw(const std::string& bytes) const {
    HttpClient client = http();
    client.write(bytes);
    return client.read_response();
  }
};
// HTTP has one dialect; the suite is parameterised for its users alone.
INSTANTIATE_TEST_SUITE_P(Http, BadRequests, ::testing::Values(Dialect::json), dialect_name);

struct Case {
  std::string body;
  int status;
  std::string code;
  std::string field;
};

TEST_P(BadRequests, BodiesOfASend) {
  const std::string id = new_id();
  const auto with = [&](const std::string& more) {
    return R"({"to":")" + user("friend") + R"(","client_msg_id":")" + id + "\"" + more + "}";
  };
  const std::vector<Case> cases = {
      {"", 400, "MALFORMED", ""},
      {"nonsense", 400, "MALFORMED", ""},
      {"[]", 400, "MALFORMED", ""},
      {with(R"(,"body":{"text":"x"},"colour":"red")"), 400, "UNKNOWN_FIELD", "colour"},
      {with(R"(,"body":{"text":"x","font":1})"), 400, "UNKNOWN_FIELD", "body.font"},
      {with(R"(,"body":{"text":"\ud800"})"), 400, "MALFORMED", "body.text"},
      {with(R"(,"body":{"text":"a\u0000"})"), 400, "MALFORMED", "body.text"},
      {with(",\"body\":{\"text\":\"\xc3(\"}"), 400, "MALFORMED", ""},
      {with(",\"body\":{\"text\":\"\xed\xa0\x80\"}"), 400, "MALFORMED", ""},
      {with(R"(,"body":{"text":5})"), 400, "MALFORMED", "body.text"},
      {with(R"(,"body":{})"), 400, "MALFORMED", "body"},
      {with(""), 400, "MALFORMED", "body"},
      {with(R"(,"body":{"text":"x"},"priority":"urgent")"), 400, "OUT_OF_RANGE", "priority"},
      {with(R"(,"body":{"text":"x"},"reply_to":-1)"), 400, "OUT_OF_RANGE", "reply_to"},
      {with(R"(,"body":{"text":"x"},"reply_to":18446744073709551616)"), 400, "OUT_OF_RANGE", "reply_to"},
      {with(R"(,"body":{"text":"x"},"reply_to":77)"), 404, "MESSAGE_NOT_FOUND", "reply_to"},
      {with(R"(,"body":{"text":"x"},"sender":"boss")"), 403, "FORBIDDEN", "sender"},
      {with(R"(,"body":{"text":"x"},"conversation_id":"group_1")"), 400, "MALFORMED", "to"},
      {with(R"(,"body":{"text":"x","type":")" + std::string(33, 't') + "\"}"), 400, "OUT_OF_RANGE", "body.type"},
      {with(R"(,"body":{"data":"{\"a\":1,\"a\":2}"})"), 400, "MALFORMED", "body.data"},
      {with(R"(,"body":{"data":"not json"})"), 400, "MALFORMED", "body.data"},
      {with(R"(,"body":{"encrypted":"???"})"), 400, "MALFORMED", "body.encrypted"},
      {R"({"to":"group","client_msg_id":")" + id + R"(","body":{"text":"x"}})", 400, "MALFORMED", "to"},
      {R"({"to":"","client_msg_id":")" + id + R"(","body":{"text":"x"}})", 400, "MALFORMED", "to"},
      {R"({"to":"a\u0007b","client_msg_id":")" + id + R"(","body":{"text":"x"}})", 400, "MALFORMED", "to"},
      {R"({"to":")" + std::string(65, 'u') + R"(","client_msg_id":")" + id + R"(","body":{"text":"x"}})", 400,
       "MALFORMED", "to"},
      {R"({"to":"x","body":{"text":"x"}})", 400, "MALFORMED", "client_msg_id"},
      {R"({"to":"x","client_msg_id":")" + std::string(65, 'i') + R"(","client_time":1,"body":{"text":"x"}})", 400,
       "MALFORMED", "client_msg_id"},
      {R"({"to":"x","client_msg_id":"plain","body":{"text":"x"}})", 400, "CLIENT_TIME_REQUIRED", "client_time"},
  };
  HttpClient client = http();
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.body.substr(0, 200));
    const HttpResponse answer = client.post("/v1/messages", token("rude"), bad.body);
    EXPECT_EQ(answer.status, bad.status) << answer.body;
    EXPECT_EQ(error_code(answer), bad.code);
    if (!bad.field.empty()) EXPECT_EQ(error_field(answer), bad.field) << answer.body;
    EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
  }
  EXPECT_EQ(client.get("/v1/conversations/" + chat("friend", "rude"), token("rude")).status, 404)
      << "nothing was stored";
}

TEST_P(BadRequests, TokensThatAreWrong) {
  HttpClient client = http();
  for (const std::string& bad : {std::string(), std::string("x"), std::string("a.b.c"),
                                 server().expired_token(user("rude")), server().admin_token()}) {
    const HttpResponse answer = client.get("/v1/conversations", bad);
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(error_code(answer), "BAD_TOKEN");
    EXPECT_EQ(answer.headers.get("WWW-Authenticate"), "Bearer");
  }
  EXPECT_EQ(client.call("PUT", "/v1/admin/users/x", token("rude"), "{}").status, 401) << "users are no administrators";
  EXPECT_EQ(client.call("GET", "/v1/conversations", "", "", {{"Authorization", "Basic dTpw"}}).status, 401);
  // What comes before the token is told to nobody: a wrong body without a token is still 401.
  EXPECT_EQ(client.post("/v1/messages", "", "nonsense").status, 401);
}

TEST_P(BadRequests, AParameterIsNamedAsItsCallerKnowsIt) {
  const HttpResponse answer = http().get("/v1/sync?bodies=recent", token("rude"));
  EXPECT_EQ(error_code(answer), "OUT_OF_RANGE");
  EXPECT_EQ(error_field(answer), "tail") << answer.body;
}

TEST_P(BadRequests, AGroupIsNoUserToWriteTo) {
  HttpClient client = http();
  for (const char* group : {"group_1", "group_01"}) {
    const HttpResponse answer = client.post("/v1/messages", token("rude"), send_json(group, "hello", new_id()));
    EXPECT_EQ(error_code(answer), "MALFORMED");
    EXPECT_EQ(error_field(answer), "to");
    EXPECT_THAT(answer.body, HasSubstr("give it as conversation_id"));
  }
  // Who is really called so can be written to, and writes.
  const std::string id = "group%5F1_" + user("rude");
  const HttpResponse sent = client.post(
      "/v1/messages", token("rude"),
      R"({"conversation_id":")" + id + R"(","client_msg_id":")" + new_id() + R"(","body":{"text":"hello"}})");
  EXPECT_EQ(sent.status, 201) << sent.body;
  EXPECT_EQ(client.post("/v1/messages", server().token("group_1"), send_json(user("rude"), "hi", new_id())).status,
            201);
  // A number has one form; the sentence ends with it.
  const HttpResponse zero = client.get("/v1/conversations/group_01", token("rude"));
  EXPECT_EQ(error_code(zero), "NON_CANONICAL_ID");
  EXPECT_THAT(zero.body, HasSubstr("group_1\""));
}

TEST_P(BadRequests, PathsAndMethods) {
  HttpClient client = http();
  const HttpResponse wrong_method = client.call("DELETE", "/v1/messages", token("rude"));
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(error_code(wrong_method), "METHOD_NOT_ALLOWED");
  EXPECT_THAT(std::string(wrong_method.headers.get("Allow").value_or("")), HasSubstr("POST"));
  for (const char* path : {"/", "/v1", "/v1/nothing", "/v1/messages/", "/healthz/x", "/v1/ws/x", "/../etc/passwd"}) {
    const HttpResponse answer = client.get(path, token("rude"));
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(error_code(answer), ::testing::AnyOf("NOT_FOUND", "MESSAGE_NOT_FOUND", "")) << path;
  }
  EXPECT_EQ(client.call("BREW", "/v1/messages", token("rude")).status, 405);
  const HttpResponse no_upgrade = client.get("/v1/ws", token("rude"));
  EXPECT_EQ(no_upgrade.status, 426);
  EXPECT_EQ(no_upgrade.headers.get("Upgrade"), "websocket");
  EXPECT_THAT(no_upgrade.body, HasSubstr("\"field\":\"Upgrade\""));
  EXPECT_EQ(client.get("/v1/messages/%ff", token("rude")).status, 400) << "no UTF-8 in the path";
  EXPECT_EQ(client.get("/v1/messages/a%00b", token("rude")).status, 400);
}

TEST_P(BadRequests, BytesThatAreNoRequest) {
  const std::string send = "POST /v1/messages HTTP/1.1\r\n" + host() + bearer();
  const std::vector<std::pair<std::string, int>> cases = {
      {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400},  // TLS on a port without it
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n" + host() + "\r\n", 505},
      {"GET /healthz HTTP/1.1\r\n\r\n", 400},  // no Host
      {"GET /healthz HTTP/1.1\r\n" + host() + "bad header\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\n" + host() + "Name : x\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\n" + host() + "X: " + std::string(20'000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\n" + host() + "\r\n", 414},
      {send + "Content-Length: -1\r\n\r\n", 400},
      {send + "Content-Length: 1x\r\n\r\n", 400},
      {send + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {send + "Content-Length: 99999999999999999999999\r\n\r\n", 413},
      {send + "Content-Length: 2000000\r\n\r\n", 413},
      {send + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {send + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {send + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {send + "Transfer-Encoding: chunked\r\n\r\n200000\r\n" + std::string(64, 'x'), 413},
      {send + "Expect: tea\r\nContent-Length: 2\r\n\r\n{}", 417},
  };
  for (const auto& [bytes, status] : cases) {
    SCOPED_TRACE(bytes.substr(0, 100));
    HttpClient client = http();
    client.write(bytes);
    const HttpResponse answer = client.read_response();
    if (status == 413 || status == 400)
      EXPECT_THAT(answer.status, ::testing::AnyOf(400, 413));
    else
      EXPECT_EQ(answer.status, status);
    EXPECT_NE(error_code(answer), "");
    EXPECT_TRUE(client.stream().wait_closed(patience_ms())) << "where the next request begins is not known";
  }
}

TEST_P(BadRequests, UnusualButRight) {
  const std::string body = send_json(user("friend"), "in chunks", new_id());
  std::string chunked = "POST /v1/messages HTTP/1.1\r\n" + host() + bearer() + "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 10) {
    const std::string piece = body.substr(at, 10);
    chunked += (piece.size() == 10 ? "a" : std::string(1, "0123456789"[piece.size()])) + ";ext=1\r\n" + piece + "\r\n";
  }
  chunked += "0\r\nTrailer: x\r\n\r\n";
  EXPECT_EQ(raw(chunked).status, 201);

  // Three requests in one write are answered in their order.
  HttpClient pipelined = http();
  std::string three;
  for (int i = 1; i <= 3; ++i) {
    const std::string text = send_json(user("friend"), "piped " + std::to_string(i), new_id());
    three += "POST /v1/messages HTTP/1.1\r\n" + host() + bearer() + "Content-Length: " + std::to_string(text.size()) +
             "\r\n\r\n" + text;
  }
  pipelined.write(three);
  for (std::uint64_t seq = 2; seq <= 4; ++seq) EXPECT_EQ(parsed<pb::Sent>(pipelined.read_response()).seq(), seq);

  HttpClient head = http();
  for (const char* path : {"/healthz", "/v1/openapi.json"}) {
    const HttpResponse answer = head.call("HEAD", path, "");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "");
    EXPECT_NE(answer.headers.get("Content-Length").value_or("0"), "0");
  }
  EXPECT_EQ(head.get("/healthz", "").status, 200) << "the connection goes on behind an answer to HEAD";

  HttpClient expecting = http();
  const std::string text = send_json(user("friend"), "with leave", new_id());
  expecting.write("POST /v1/messages HTTP/1.1\r\n" + host() + bearer() +
                  "Expect: 100-continue\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n");
  std::string interim;
  while (interim.find("\r\n\r\n") == interim.npos && expecting.stream().read(interim, patience_ms())) {
  }
  EXPECT_THAT(interim, ::testing::StartsWith("HTTP/1.1 100"));
  expecting.write(text);
  EXPECT_EQ(expecting.read_response().status, 201);

  // One byte at a time.
  const std::string slow = "GET /healthz HTTP/1.1\r\n" + host() + "\r\n";
  HttpClient dripping = http();
  for (const char byte : slow) dripping.write({&byte, 1});
  EXPECT_EQ(dripping.read_response().status, 200);

  HttpClient closing = http();
  closing.write("GET /healthz HTTP/1.1\r\n" + host() + "Connection: close\r\n\r\n");
  EXPECT_EQ(closing.read_response().status, 200);
  EXPECT_TRUE(closing.stream().wait_closed(patience_ms()));
}

TEST_P(BadRequests, UpgradesThatAreWrong) {
  const std::string start = "GET /v1/ws HTTP/1.1\r\n" + host() + "Upgrade: websocket\r\nConnection: Upgrade\r\n";
  const std::string key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
  const std::string version = "Sec-WebSocket-Version: 13\r\n";
  const std::string protocol = "Sec-WebSocket-Protocol: tidemark.v1.json\r\n";
  EXPECT_EQ(raw(start + key + version + protocol + "\r\n").status, 101);
  EXPECT_EQ(raw(start + version + protocol + "\r\n").status, 400);
  EXPECT_EQ(raw(start + key + version + "\r\n").status, 400) << "no dialect";
  EXPECT_EQ(raw(start + key + version + "Sec-WebSocket-Protocol: chat\r\n\r\n").status, 400);
  const HttpResponse old = raw(start + key + "Sec-WebSocket-Version: 8\r\n" + protocol + "\r\n");
  EXPECT_EQ(old.status, 426);
  EXPECT_EQ(old.headers.get("Sec-WebSocket-Version"), "13");
  const HttpResponse chosen = raw(start + key + version +
                                  "Sec-WebSocket-Protocol: other, tidemark.v1.proto, tidemark.v1.json\r\n"
                                  "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
  EXPECT_EQ(chosen.status, 101);
  EXPECT_EQ(chosen.headers.get("Sec-WebSocket-Protocol"), "tidemark.v1.proto");
  EXPECT_FALSE(chosen.headers.has("Sec-WebSocket-Extensions")) << "never negotiated";
}

}  // namespace
}  // namespace tidemark::testing
