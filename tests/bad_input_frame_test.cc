// Frames that are wrong: each gets a clear error or the end of its own link, and harms nobody else.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kRaw = 900'001;  // the id of frames written by hand

class BadFrames : public BothDialects {
 protected:
  void SetUp() override { bystander_.emplace(device("bystander")); }
  void TearDown() override {
    // Somebody who did nothing wrong is still served, over the link he had.
    EXPECT_TRUE(bystander_->send(user("friend"), "still here").has_sent());
    EXPECT_FALSE(bystander_->closed());
  }

  /// A link goes on after what it was just answered.
  void goes_on(WsClient& client) { EXPECT_TRUE(client.send(user("friend"), "ping").has_sent()); }

 private:
  std::optional<WsClient> bystander_;
};
TM_IN_BOTH_DIALECTS(BadFrames);

struct Case {
  std::string payload;
  std::string code;
  std::string field;
  std::uint64_t id = kRaw;  // 0: the frame's id could not be read
};

std::string nested(int depth) {
  std::string out = R"({"id":900001,"send":{"to":"friend","body":)";
  for (int i = 0; i < depth; ++i) out += R"({"body":)";
  return out + "1" + std::string(static_cast<std::size_t>(depth) + 2, '}');
}

std::string send_text(const std::string& literal) {
  return R"({"id":900001,"send":{"to":"friend","client_msg_id":")" + new_id() + R"(","body":{"text":)" + literal +
         "}}}";
}

std::vector<Case> json_cases() {
  return {
      {"", "MALFORMED", "", 0},
      {"nonsense", "MALFORMED", "", 0},
      {"[]", "MALFORMED", "", 0},
      {"{", "MALFORMED", "", 0},
      {R"({"id":900001})", "MALFORMED", "operation"},
      {R"({"id":900001,"fly":{}})", "MALFORMED", "operation"},
      {R"({"id":0,"heartbeat":{}})", "MALFORMED", "id", 0},
      {R"({"heartbeat":{}})", "MALFORMED", "id", 0},
      {R"({"id":"x","heartbeat":{}})", "MALFORMED", "id", 0},
      {R"({"id":-1,"heartbeat":{}})", "OUT_OF_RANGE", "id", 0},
      {R"({"id":900001,"send":5})", "MALFORMED", "send"},
      {R"({"id":900001,"heartbeat":{},"send":{}})", "MALFORMED", "send"},
      {R"({"id":900001,"heartbeat":{}}x)", "MALFORMED", ""},
      {R"({"id":900001,"sync":{"limit":4294967296}})", "OUT_OF_RANGE", "sync.limit"},
      {R"({"id":900001,"sync":{"limit":-1}})", "OUT_OF_RANGE", "sync.limit"},
      {R"({"id":900001,"sync":{"limit":1.5}})", "MALFORMED", "sync.limit"},
      {R"({"id":900001,"sync":{"bodies":"some"}})", "OUT_OF_RANGE", "sync.bodies"},
      {R"({"id":900001,"sync":{"limit":1,"limit":2}})", "MALFORMED", "sync.limit"},
      {send_text(R"("\ud800")"), "MALFORMED", "send.body.text"},
      {send_text(R"("\udc00\ud800")"), "MALFORMED", "send.body.text"},
      {send_text(R"("a\u0000b")"), "MALFORMED", "send.body.text"},
      {send_text("\"a\nb\""), "MALFORMED", ""},
      {send_text("7"), "MALFORMED", "send.body.text"},
      {nested(40), "TOO_DEEP", ""},
      {nested(10'000), "TOO_DEEP", ""},
  };
}

std::string binary_send(const std::string& text) {
  pb::ClientFrame frame = send_frame("friend", "TEXT", new_id());
  frame.set_id(kRaw);
  std::string bytes;
  encode_client_frame(Dialect::binary, frame, bytes);
  return bytes.replace(bytes.find("TEXT"), 4, text);
}

std::vector<Case> binary_cases() {
  const std::string id("\x08\xa1\xf7\x36", 4);
  return {
      {"", "MALFORMED", "", 0},
      {id, "MALFORMED", "operation"},
      {std::string("\x82\x01\x00", 3), "MALFORMED", "id", 0},           // a heartbeat without id
      {id + std::string("\xfa\x3e\x00", 3), "MALFORMED", "operation"},  // an operation of the future
      {id + std::string("\x2a\x7f", 2), "MALFORMED", ""},               // a length beyond the end
      {std::string(64, '\xff'), "MALFORMED", "", 0},
      {binary_send("a\xc3(b"), "MALFORMED", "send.body.text"},
      {binary_send("\xed\xa0\x80."), "MALFORMED", "send.body.text"},  // a surrogate
      {binary_send(std::string("a\0bc", 4)), "MALFORMED", "send.body.text"},
      {id + std::string("\x32\x02\x40\x09", 4), "OUT_OF_RANGE", "send.priority"},
  };
}

TEST_P(BadFrames, EachIsAnsweredByItsErrorAndTheLinkGoesOn) {
  for (const Case& bad : GetParam() == Dialect::json ? json_cases() : binary_cases()) {
    SCOPED_TRACE(bad.payload.substr(0, 120));
    WsClient client = device("rude");
    client.send_message(bad.payload);
    pb::Error error;
    if (bad.id == 0) {
      ASSERT_TRUE(client.wait_until([&] { return !client.stray_errors.empty(); }));
      error = client.stray_errors[0];
    } else {
      // What is broken in the middle may hide its id.
      ASSERT_TRUE(client.wait_until([&] { return client.arrived(bad.id) || !client.stray_errors.empty(); }));
      error = client.stray_errors.empty() ? client.arrived(bad.id)->error() : client.stray_errors[0];
    }
    EXPECT_EQ(error.code(), bad.code) << error.ShortDebugString();
    if (!bad.field.empty()) EXPECT_THAT(bad.field, ::testing::EndsWith(error.field())) << error.ShortDebugString();
    if (!bad.field.empty()) EXPECT_NE(error.field(), "");
    EXPECT_NE(error.message(), "");
    EXPECT_FALSE(error.retryable());
    goes_on(client);
  }
}

TEST_P(BadFrames, UnknownFieldsAreIgnored) {
  WsClient client = device("rude");
  if (GetParam() == Dialect::json)
    client.send_message(R"({"id":900001,"color":"red","heartbeat":{"mood":[1,{"a":null}]},"zeta":1e999})");
  else
    client.send_message(std::string("\x08\xa1\xf7\x36\xba\x3e\x03red\x82\x01\x05\xba\x3e\x02hi", 18));
  const pb::ServerFrame answered = client.answer(kRaw);
  EXPECT_TRUE(answered.has_heartbeat()) << answered.ShortDebugString();
  goes_on(client);
}

TEST_P(BadFrames, HelloComesFirstAndOnce) {
  WsClient early = connect();
  EXPECT_EQ(code_of(early.send(user("friend"), "too early")), "HELLO_REQUIRED");
  EXPECT_TRUE(early.wait_closed());

  WsClient garbled = connect();
  garbled.send_message(GetParam() == Dialect::json ? R"({"id":1,"hello":null})" : "\x08\x01");
  EXPECT_TRUE(garbled.wait_closed());

  WsClient twice = device("rude");
  EXPECT_EQ(code_of(twice.hello(token("rude"))), "MALFORMED");
  goes_on(twice);

  for (const std::string& bad : {std::string(), std::string("a.b.c"), std::string(10'000, 'x')}) {
    WsClient client = connect();
    EXPECT_EQ(code_of(client.hello(bad)), "BAD_TOKEN");
    EXPECT_TRUE(client.wait_closed());
  }
  WsClient nameless = connect();
  const pb::ServerFrame refused = nameless.hello(token("rude"), {.device = ""});
  EXPECT_EQ(code_of(refused), "MALFORMED");
  EXPECT_EQ(refused.error().field(), "device");
  EXPECT_TRUE(nameless.wait_closed());
  WsClient admin = connect();
  EXPECT_EQ(code_of(admin.hello(server().admin_token())), "BAD_TOKEN") << "administrators have no chats";
}

TEST_P(BadFrames, CursorsThatAreMadeUp) {
  WsClient client = device("rude");
  pb::ClientFrame frame;
  frame.mutable_sync()->mutable_cursor()->set_epoch(77);
  frame.mutable_sync()->mutable_cursor()->set_epoch_id("0123456789abcdef");
  frame.mutable_sync()->mutable_cursor()->set_mark(UINT64_MAX >> 12);
  EXPECT_EQ(client.call(frame).sync().mode(), pb::MODE_RESET) << "an epoch that this store was never in";
  frame.mutable_sync()->mutable_cursor()->set_epoch_id("no hex");
  const pb::ServerFrame refused = client.call(frame);
  EXPECT_EQ(code_of(refused), "MALFORMED");
  EXPECT_THAT(refused.error().field(), HasSubstr("epoch_id"));
  // A mark beyond the head of the own epoch.
  pb::Cursor beyond = client.cursor();
  beyond.set_mark(1'000'000);
  *frame.mutable_sync()->mutable_cursor() = beyond;
  const pb::ServerFrame answered = client.call(frame);
  EXPECT_TRUE(answered.has_sync() || answered.has_error());
  client.ack(1'000'000);
  goes_on(client);
}

TEST_P(BadFrames, BrokenFramingEndsItsOwnLink) {
  const auto mask = [](std::string header, std::string payload) { return header + std::string(4, '\0') + payload; };
  const std::vector<std::pair<std::string, std::uint16_t>> rude = {
      {std::string("\x81\x02hi", 4), kCloseProtocolError},                                     // not masked
      {mask("\xc1\x82", "hi"), kCloseProtocolError},                                           // a reserved bit
      {mask("\x83\x82", "hi"), kCloseProtocolError},                                           // a reserved opcode
      {mask("\x80\x82", "hi"), kCloseProtocolError},                                           // continues nothing
      {mask("\x09\x82", "hi"), kCloseProtocolError},                                           // a ping in fragments
      {mask(std::string("\x89\xfe\x00\x80", 4), std::string(128, 'x')), kCloseProtocolError},  // a ping too long
      {mask("\x01\x82", "hi") + mask("\x81\x82", "hi"), kCloseProtocolError},      // a message inside another
      {mask("\x81\x82", "\xc3("), kCloseBadText},                                  // a text that is no UTF-8
      {mask(std::string("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10), ""), 0},  // 2^64 bytes
      {mask(std::string("\x82\xff\x00\x00\x00\x00\x40\x00\x00\x00", 10), ""), kCloseTooLarge},  // 1 GiB
      {mask("\x88\x81", "x"), kCloseProtocolError},  // a close with half a code
  };
  for (const auto& [bytes, code] : rude) {
    WsClient client = device("rude");
    client.send_bytes(bytes);
    EXPECT_TRUE(client.wait_closed());
    if (code != 0) EXPECT_EQ(client.close_code(), code) << ::testing::PrintToString(bytes);
  }
}

TEST_P(BadFrames, S149_CompressionIsNeverAgreedOn) {
  WsClient bystander = device("friend");
  // Offered, it is declined: the answer names no extension.
  HttpClient offers = http();
  offers.write(
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Protocol: tidemark.v1.json, tidemark.v1.proto\r\n"
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n");
  const HttpResponse upgraded = offers.read_response();
  EXPECT_EQ(upgraded.status, 101);
  EXPECT_FALSE(upgraded.headers.has("Sec-WebSocket-Extensions"));
  // Used all the same (RSV1), it ends this link and no other.
  WsClient client = device("rude");
  std::string frame =
      WsClient::frame_of(GetParam() == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, "compressed");
  frame[0] = static_cast<char>(frame[0] | 0x40);
  client.send_bytes(frame);
  ASSERT_TRUE(client.wait_closed());
  EXPECT_EQ(client.close_code(), 1002);
  goes_on(bystander);
}

TEST_P(BadFrames, PingsAndFragmentsAreServed) {
  WsClient client = device("good");
  client.send_bytes(WsClient::frame_of(WebSocketOpcode::ping, "are you there"));
  std::string payload;
  pb::ClientFrame frame = send_frame(user("friend"), "in pieces", new_id());
  frame.set_id(kRaw);
  encode_client_frame(GetParam(), frame, payload);
  const WebSocketOpcode opcode = GetParam() == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary;
  // One byte in each write, with a ping between the fragments.
  std::string bytes = WsClient::frame_of(opcode, payload.substr(0, 5), WebSocketFrameEnd::more) +
                      WsClient::frame_of(WebSocketOpcode::ping, "still") +
                      WsClient::frame_of(WebSocketOpcode::continuation, payload.substr(5));
  for (const char byte : bytes) client.send_bytes({&byte, 1});
  EXPECT_TRUE(client.answer(kRaw).has_sent());
  client.send_bytes(WsClient::frame_of(WebSocketOpcode::close, std::string("\x03\xe8", 2)));
  EXPECT_TRUE(client.wait_closed());
}

// Numbers at the edges of every field that takes one: an error or an answer, never a crash or a hang.
TEST_P(BadFrames, NumbersAtTheEdges) {
  WsClient client = device("rude");
  client.sent(user("friend"), "m");
  const std::string id = chat("friend", "rude");
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 53) - 1,
                                     (std::uint64_t{1} << 53) + 1, std::uint64_t{INT64_MAX}, UINT64_MAX}) {
    pb::ClientFrame frame;
    pb::HistoryRequest& history = *frame.mutable_history();
    history.set_conversation_id(id);
    history.set_before(number);
    client.call(frame);
    history.clear_before();
    history.set_after(number);
    client.call(frame);
    history.clear_after();
    history.set_around(number);
    client.call(frame);
    history.clear_around();
    history.set_at(static_cast<std::int64_t>(number));
    client.call(frame);
    pb::ConversationSyncRequest& sync = *frame.mutable_conversation_sync();
    sync.set_conversation_id(id);
    sync.set_after(number);
    sync.set_to(number);
    sync.set_touch_cursor(number);
    sync.add_known()->set_to(number);
    client.call(frame);
    pb::SyncRequest& index = *frame.mutable_sync();
    index.set_p0(number);
    index.set_p0_round(number);
    index.set_below(number);
    client.call(frame);
    frame.mutable_message()->set_message_id(id + ":" + std::to_string(number));
    client.call(frame);
    pb::ClientFrame send = send_frame(user("friend"), "x", "id " + std::to_string(number));
    send.mutable_send()->set_client_time(static_cast<std::int64_t>(number));
    send.mutable_send()->set_reply_to(number);
    client.call(send);
    frame.mutable_mutate()->set_number(number);
    frame.mutable_mutate()->mutable_read()->set_conversation_id(id);
    frame.mutable_mutate()->mutable_read()->set_seq(number);
    client.call(frame);
  }
  goes_on(client);
  EXPECT_LE(client.conversation(id).read_seq(), client.conversation(id).head_seq());
}

}  // namespace
}  // namespace tidemark::testing
