// Limits on connections, rates and patience: whoever goes beyond is told so, and nobody else feels it.
#include "world.h"

namespace tidemark::testing {
namespace {

class ServerLimits : public OwnServer {};
TM_IN_BOTH_DIALECTS(ServerLimits);

TEST_P(ServerLimits, ConnectionsOfOneUser) {
  serve({.settings = {"limits.connections_per_user_max=2"}});
  WsClient first = device("a", "d1");
  WsClient other = device("b");
  {
    WsClient second = device("a", "d2");
    WsClient third = connect();
    const pb::ServerFrame refused = third.hello(token("a"), {.device = "d3"});
    EXPECT_EQ(code_of(refused), "TOO_MANY_CONNECTIONS");
    EXPECT_TRUE(refused.error().retryable());
    EXPECT_TRUE(third.wait_closed());
    EXPECT_TRUE(second.send(user("b"), "both still work").has_sent());
    EXPECT_TRUE(first.send(user("b"), "both still work").has_sent());
  }
  // Room again once one has gone.
  const std::int64_t deadline = steady_ms() + patience_ms();
  bool welcome = false;
  while (!welcome && steady_ms() < deadline) {
    WsClient again = connect();
    welcome = again.hello(token("a"), {.device = "d3"}).has_welcome();
    if (!welcome) sleep_ms(10);
  }
  EXPECT_TRUE(welcome);
  EXPECT_TRUE(other.send(user("a"), "hi").has_sent());
}

TEST_P(ServerLimits, OneUnansweredRequestAtATime) {
  serve({.settings = {"limits.unanswered_max=1"}});
  WsClient sender = device("a");
  // The link pauses for each of them and goes on when it is answered.
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(sender.send(user("b"), "m" + std::to_string(i)).has_sent()) << i;
}

TEST_P(ServerLimits, ConnectionsInAll) {
  serve({.settings = {"limits.connections_max=3"}});
  WsClient one = device("a");
  WsClient two = device("b");
  {
    HttpClient three = http();
    ASSERT_EQ(three.get("/healthz", "").status, 200);
    HttpClient four = http();
    const HttpResponse refused = four.read_response();
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "TOO_MANY_CONNECTIONS");
    EXPECT_TRUE(refused.headers.has("Retry-After"));
    EXPECT_TRUE(four.stream().wait_closed(patience_ms()));
    EXPECT_TRUE(one.send(user("b"), "still works").has_sent());
  }
  const std::int64_t deadline = steady_ms() + patience_ms();
  int status = 0;
  while (status != 200 && steady_ms() < deadline) {
    HttpClient again = http();
    status = again.get("/healthz", "").status;
    if (status != 200) sleep_ms(10);
  }
  EXPECT_EQ(status, 200);
}

TEST_P(ServerLimits, MessagesOfOneUser) {
  serve({.settings = {"limits.messages_per_second=1", "limits.messages_burst=5"}});
  WsClient a = device("a");
  WsClient b = device("b");
  int taken = 0;
  pb::ServerFrame refused;
  std::string refused_id;
  for (int i = 0; i < 20 && !refused.has_error(); ++i) {
    refused_id = new_id();
    refused = a.send(user("b"), "m", refused_id);
    taken += refused.has_sent() ? 1 : 0;
  }
  ASSERT_EQ(code_of(refused), "RATE_LIMITED");
  EXPECT_GE(taken, 5);
  EXPECT_TRUE(refused.error().retryable());
  EXPECT_GT(refused.error().retry_after_ms(), 0U);
  EXPECT_LE(refused.error().retry_after_ms(), 5'000U);

  HttpClient http = this->http();
  const HttpResponse by_http = http.post("/v1/messages", token("a"), send_json(user("b"), "m", new_id()));
  EXPECT_EQ(by_http.status, 429);
  EXPECT_EQ(error_code(by_http), "RATE_LIMITED");
  EXPECT_NE(by_http.headers.get("Retry-After").value_or(""), "");
  EXPECT_EQ(http.get("/v1/conversations", token("a")).status, 200) << "reading is another matter";
  EXPECT_TRUE(b.send(user("a"), "others are not held up").has_sent());

  sleep_ms(refused.error().retry_after_ms() + 100);
  const pb::ServerFrame again = a.send(user("b"), "m", refused_id);
  ASSERT_TRUE(again.has_sent()) << "what was told of the wait holds: " << again.ShortDebugString();
  EXPECT_FALSE(again.sent().duplicate());
}

TEST_P(ServerLimits, RequestsAndLoginsOfOneUser) {
  serve({.settings = {"limits.requests_per_second=1", "limits.requests_burst=5", "limits.logins_per_minute=1",
                      "limits.logins_burst=3"}});
  HttpClient http = this->http();
  int status = 200;
  HttpResponse last;
  for (int i = 0; i < 20 && status == 200; ++i) {
    last = http.get("/v1/conversations", token("a"));
    status = last.status;
  }
  EXPECT_EQ(status, 429);
  EXPECT_EQ(error_code(last), "RATE_LIMITED");
  EXPECT_TRUE(last.headers.has("Retry-After"));
  EXPECT_EQ(http.get("/v1/conversations", token("b")).status, 200);

  std::string code;
  for (int i = 0; i < 10 && code.empty(); ++i) {
    WsClient client = connect();
    code = code_of(client.hello(token("c")));
  }
  EXPECT_EQ(code, "RATE_LIMITED");
  WsClient other = connect();
  EXPECT_TRUE(other.hello(token("d")).has_welcome());
}

TEST_P(ServerLimits, WhoeverIsSlowIsLetGo) {
  serve({.settings = {"limits.handshake_timeout_ms=1000", "limits.http_idle_timeout_ms=1500"}});
  WsClient good = device("good");
  HttpClient idle = http();
  WsClient silent = connect();  // upgraded, and never says hello
  HttpClient slow = http();
  slow.write("POST /v1/messages HTTP/1.1\r\nHost: x\r\nX: ");
  HttpClient slow_body = http();
  slow_body.write("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  const std::int64_t begin = steady_ms();
  const auto drip = [](HttpClient& client) {
    std::string_view byte = "x";
    if (!client.stream().closed() && !client.stream().write_some(byte)) return;
    std::string dropped;
    client.stream().read(dropped, 1);
  };
  // A byte now and then keeps nobody in.
  while (steady_ms() - begin < 5'000 &&
         !(slow.stream().closed() && slow_body.stream().closed() && silent.closed() && idle.stream().closed())) {
    drip(slow);
    drip(slow_body);
    silent.listen_for(1);
    std::string dropped;
    idle.stream().read(dropped, 1);
    sleep_ms(100);
  }
  EXPECT_TRUE(idle.stream().closed()) << "a connection without a request";
  EXPECT_TRUE(silent.closed()) << "a link without hello";
  EXPECT_TRUE(slow.stream().closed()) << "header fields that never end";
  EXPECT_TRUE(slow_body.stream().closed()) << "a body that never ends";
  EXPECT_TRUE(good.send(user("b"), "unharmed").has_sent());
}

TEST_P(ServerLimits, SilentLinksAreClosed) {
  serve({.settings = {"limits.heartbeat_ms=1000", "limits.heartbeats_missed=1"}});
  WsClient silent = device("a", "silent");
  WsClient alive = device("a", "alive");
  pb::ClientFrame heartbeat;
  heartbeat.mutable_heartbeat();
  const std::int64_t begin = steady_ms();
  while (!silent.closed() && steady_ms() - begin < patience_ms()) {
    EXPECT_TRUE(alive.call(heartbeat).has_heartbeat());
    silent.listen_for(100);
  }
  EXPECT_TRUE(silent.closed());
  EXPECT_FALSE(alive.closed()) << "any frame counts";
}

// An entry that is pushed and not acknowledged comes again from the acknowledged mark, then the link is closed.
TEST_P(ServerLimits, UnacknowledgedPushesComeAgain) {
  // The link is older than a handshake may take: that must not keep the kick from being told.
  serve({.settings = {"limits.push_again_ms=1000", "limits.push_again_times=1", "limits.handshake_timeout_ms=1000"}});
  WsClient a = device("a");
  WsClient deaf = device("b", "deaf");
  WsClient good = device("b", "good");
  a.sent(user("b"), "hello");
  ASSERT_TRUE(good.wait_until([&] { return !good.pushed.empty(); }));
  good.ack(good.cursor().mark());
  ASSERT_TRUE(deaf.wait_until([&] { return deaf.pushed.size() >= 2; }));
  EXPECT_EQ(deaf.pushed[0].SerializeAsString(), deaf.pushed[1].SerializeAsString());
  EXPECT_TRUE(deaf.wait_closed());
  ASSERT_FALSE(deaf.kicks.empty());
  EXPECT_FALSE(deaf.kicks[0].terminal());
  good.listen_for(50);
  EXPECT_EQ(good.pushed.size(), 1U);
  EXPECT_FALSE(good.closed());
}

// A client that stops reading costs the server a bounded queue, and others nothing.
TEST_P(ServerLimits, WhoeverStopsReadingGetsAHint) {
  serve({.settings = {"limits.inline_bytes=65536"}});  // what is pushed is as long as what is said
  WsClient a = device("a");
  WsClient stuck(server().port(), GetParam(), {.receive_buffer_bytes = 4'096});
  stuck.login(token("b"), {.device = "stuck"});
  WsClient other = device("b", "other");
  const std::string block(40'000, 'x');
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(a.send(user("b"), block).has_sent());
    other.listen_for(0);
  }
  ASSERT_TRUE(other.wait_until([&] { return other.cursor().mark() == 401 || !other.hints.empty(); }));
  EXPECT_GE(server().metric("tidemark_hints_total"), 1);
  // Once it reads again it is complete by pulling.
  ASSERT_TRUE(stuck.wait_until([&] { return !stuck.hints.empty(); }));
  stuck.sync();
  EXPECT_EQ(stuck.cursor().mark(), 401U) << "and the login of the other";
  a.sent(user("b"), "after");
  EXPECT_TRUE(stuck.wait_until([&] { return stuck.cursor().mark() == 402; })) << "pushed to again";
}

}  // namespace
}  // namespace tidemark::testing
