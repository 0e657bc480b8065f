// Priorities over the wire, over HTTP and from the command line.
#include <gmock/gmock.h>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;

pb::ClientFrame with_priority(std::string_view to, std::string_view text, pb::Priority priority) {
  pb::ClientFrame frame = send_frame(to, text, new_id());
  frame.mutable_send()->set_priority(priority);
  return frame;
}

class PrioritiesOf : public BothDialects {};
TM_IN_BOTH_DIALECTS(PrioritiesOf);

TEST_P(PrioritiesOf, AReturningDeviceIsBroughtFirstWhatIsHigh) {
  WsClient urgent = device("urgent");
  ASSERT_TRUE(urgent.call(with_priority(user("b"), "call me", pb::PRIORITY_HIGH)).has_sent());
  for (int i = 0; i < 30; ++i) device("c" + std::to_string(i)).sent(user("b"), "x");
  WsClient b = connect();
  b.hello(token("b"), {.device = "d1"});
  pb::SyncRequest request;
  request.set_limit(10);
  request.set_bodies(pb::BODIES_RECENT);
  request.set_recent(1);
  const pb::SyncPage first = b.sync_page(request);
  ASSERT_EQ(first.extras_size(), 1) << first.ShortDebugString();
  EXPECT_EQ(first.extras(0).conversation_id(), chat("b", "urgent"));
  ASSERT_EQ(first.extras(0).messages_size(), 1);
  EXPECT_EQ(first.extras(0).messages(0).body().text(), "call me");
  EXPECT_EQ(first.changes_size(), 10);
  EXPECT_TRUE(first.more());
  // Read, it comes at its place.
  b.read(chat("b", "urgent"), 1);
  pb::SyncRequest later;
  later.set_limit(10);
  for (int i = 0; i < 12; ++i) device("c" + std::to_string(i)).sent(user("b"), "x");
  EXPECT_EQ(b.sync_page(later).extras_size(), 0);
}

TEST_P(PrioritiesOf, LowComesAlongOrByItself) {
  WsClient a = device("a");
  WsClient b = device("b");
  ASSERT_TRUE(a.call(with_priority(user("b"), "low", pb::PRIORITY_LOW)).has_sent());
  ASSERT_TRUE(b.wait_until([&] { return b.texts(chat("a", "b")).size() == 1; })) << "nothing else comes";
  ASSERT_TRUE(a.call(with_priority(user("b"), "low again", pb::PRIORITY_LOW)).has_sent());
  a.sent(user("b"), "normal");
  ASSERT_TRUE(b.wait_until([&] { return b.texts(chat("a", "b")).size() == 3; }));
  EXPECT_EQ(b.texts(chat("a", "b")), (std::vector<std::string>{"low", "low again", "normal"}));
  EXPECT_EQ(b.entries(chat("a", "b")).at(2).priority(), pb::PRIORITY_LOW);
}

TEST_P(PrioritiesOf, AnAckMayNameWhatCameAheadOfItsPlace) {
  WsClient a = device("a");
  WsClient b = device("b");
  a.sent(user("b"), "hello");
  ASSERT_TRUE(b.wait_until([&] { return b.texts(chat("a", "b")).size() == 1; }));
  pb::ClientFrame frame;
  frame.mutable_ack()->set_mark(b.cursor().mark());
  for (std::uint64_t seq = 1; seq <= 40; ++seq) {
    pb::Head& head = *frame.mutable_ack()->add_ahead();
    head.set_conversation_id(seq % 2 == 0 ? chat("a", "b") : "nothing such");
    head.set_seq(seq);
  }
  b.post(frame);
  a.sent(user("b"), "still here");
  ASSERT_TRUE(b.wait_until([&] { return b.texts(chat("a", "b")).size() == 2; }));
  EXPECT_TRUE(b.stray_errors.empty());
}

class GrantedPriorities : public OwnServer {};
TM_IN_BOTH_DIALECTS(GrantedPriorities);

TEST_P(GrantedPriorities, TheyAreRefusedOnEveryPathToWhomTheyAreNotGranted) {
  serve({.settings = {"priority.high=vip", "priority.low=admin"}});
  WsClient free = device("a");
  for (const pb::Priority priority : {pb::PRIORITY_HIGH, pb::PRIORITY_LOW}) {
    const pb::ServerFrame refused = free.call(with_priority(user("b"), "x", priority));
    EXPECT_EQ(code_of(refused), "FORBIDDEN");
    EXPECT_EQ(refused.error().field(), "priority");
    EXPECT_FALSE(refused.error().retryable());
  }
  const auto json = [&](std::string_view priority) {
    std::string body = send_json(user("b"), "x", new_id());
    body.insert(body.rfind('}'), R"(,"priority":")" + std::string(priority) + "\"");
    return body;
  };
  HttpClient http = this->http();
  EXPECT_EQ(http.post("/v1/messages", token("a"), json("high")).status, 403);
  EXPECT_EQ(http.post("/v1/messages", token("a"), json("normal")).status, 201);
  const std::string vip = server().token(user("v"), {.level = "vip"});
  EXPECT_EQ(http.post("/v1/messages", vip, json("high")).status, 201);
  EXPECT_EQ(http.post("/v1/messages", vip, json("low")).status, 403);
  WsClient vip_device = connect();
  vip_device.login(vip, {.device = "d1"});
  EXPECT_TRUE(vip_device.call(with_priority(user("b"), "x", pb::PRIORITY_HIGH)).has_sent());

  const auto send = [&](const std::string& bearer, const std::string& priority) {
    return run_program({tidemark_program(), "send", user("b"), "hello", "--priority", priority, "--token", bearer,
                        "--url", "http://127.0.0.1:" + std::to_string(server().port())});
  };
  const Finished refused = send(token("a"), "high");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("priority"));
  const Finished taken = send(vip, "high");
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  const Finished unknown = send(vip, "urgent");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("high"));
}

}  // namespace
}  // namespace tidemark::testing
