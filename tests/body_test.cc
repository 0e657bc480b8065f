// Long bodies over the wire and over HTTP: cut in pushes and pages, whole when they are asked for.
#include "world.h"

namespace tidemark::testing {
namespace {

class LongBodies : public BothDialects {};
TM_IN_BOTH_DIALECTS(LongBodies);

TEST_P(LongBodies, TravelAsTheirFrontAndAreFetched) {
  const std::string id = chat("a", "b");
  const std::string text(10'000, 'x');
  WsClient a = device("a");
  WsClient b = device("b");
  a.sent(user("b"), text);
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(1); }));
  HttpClient http = this->http();
  const auto page = parsed<pb::HistoryPage>(http.get("/v1/conversations/" + id + "/messages", token("b")));
  for (const pb::Body& body : {b.entries(id).at(1).body(), b.history(id).messages(0).body(), page.messages(0).body(),
                               b.conversation_sync(id, 0).messages(0).body()}) {
    EXPECT_EQ(body.text(), std::string(1'024, 'x'));
    EXPECT_EQ(body.cut().size(), text.size());
    EXPECT_EQ(body.cut().hash().size(), 16U);
  }
  const std::string target = "/v1/messages/" + id + ":1";
  EXPECT_EQ(parsed<pb::Message>(http.get(target, token("b"))).body().text(), text) << "a single row is whole";
  const auto whole = parsed<pb::MessageBody>(http.get(target + "/body", token("b")));
  EXPECT_EQ(whole.body().text(), text);
  EXPECT_FALSE(whole.body().has_cut());
  pb::ClientFrame frame;
  frame.mutable_body()->set_message_id(id + ":1");
  EXPECT_EQ(b.call(frame).body().body().text(), text);
  EXPECT_EQ(error_code(http.get(target + "/body", token("c"))), "MESSAGE_NOT_FOUND");
  a.recall(id, 1);
  EXPECT_EQ(code_of(b.call(frame)), "MESSAGE_DELETED");
  EXPECT_EQ(error_code(http.get(target + "/body", token("b"))), "MESSAGE_DELETED");
}

TEST_P(LongBodies, AttachmentsComeAsTheyWereSentOnEveryPath) {
  const std::string id = chat("a", "b");
  WsClient a = device("a");
  WsClient b = device("b");
  pb::ClientFrame frame;
  pb::SendRequest& send = *frame.mutable_send();
  send.set_to(user("b"));
  send.set_client_msg_id(new_id());
  pb::Attachment& file = *send.mutable_body()->add_attachments();
  file.set_url("https://files.example/1");
  file.set_size(9'007'199'254'740'991);
  file.set_mime("image/png");
  file.set_hash("sha256:0");
  file.set_expires_at(4'102'444'800'000);
  const pb::Body sent = send.body();
  ASSERT_TRUE(a.call(frame).has_sent());
  ASSERT_TRUE(b.wait_until([&] { return b.entries(id).contains(1); }));
  HttpClient http = this->http();
  const auto page = parsed<pb::HistoryPage>(http.get("/v1/conversations/" + id + "/messages", token("b")));
  for (const pb::Body& body : {b.entries(id).at(1).body(), b.history(id).messages(0).body(), page.messages(0).body()})
    EXPECT_EQ(body.attachments(0).SerializeAsString(), sent.attachments(0).SerializeAsString());
}

TEST_P(LongBodies, ACutOneIsNoRequest) {
  HttpClient http = this->http();
  const std::string send = R"({"to":")" + user("b") + R"(","client_msg_id":"m1","client_time":)" +
                           std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count()) +
                           R"(,"body":{"text":"front","cut":{"size":9000}}})";
  const HttpResponse refused = http.post("/v1/messages", token("a"), send);
  EXPECT_EQ(error_code(refused), "MALFORMED");
  EXPECT_EQ(error_field(refused), "body.cut");
}

}  // namespace
}  // namespace tidemark::testing
