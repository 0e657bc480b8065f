// Clients that are none of ours: what they understand is the protocol and not our own reading of it.
#include <thread>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;

class OtherClients : public BothDialects {};
INSTANTIATE_TEST_SUITE_P(Dialects, OtherClients, ::testing::Values(Dialect::json), dialect_name);

/// Says hello, sends, and waits for its own echo and for a message of somebody else; prints "done" at last.
constexpr const char* kScript = R"(
const [url, token, to] = process.argv.slice(1);
const link = new WebSocket(url, ['tidemark.v1.json']);
const send = (id, operation) => link.send(JSON.stringify({id, ...operation}));
setTimeout(() => { console.error('nothing came'); process.exit(1); }, 20000);
link.onopen = () => send(1, {hello: {token, device: 'node', platform: 'web'}});
link.onerror = event => { console.error('error', event.message ?? ''); process.exit(1); };
link.onmessage = ({data}) => {
  const frame = JSON.parse(data);
  if (frame.id === 1) {
    console.log('protocol', link.protocol, 'mode', frame.welcome.mode);
    send(2, {send: {to, client_msg_id: 'from-node', client_time: Date.now(), body: {text: 'Grüße 😀'}}});
  } else if (frame.id === 2) {
    console.log('seq', frame.sent.seq, 'duplicate', frame.sent.duplicate);
  } else if (frame.push) {
    for (const item of frame.push.items) console.log('pushed', item.entry.sender === to, item.entry.body.text);
    send(3, {ack: {mark: frame.push.items.at(-1).index_to}});
    if (frame.push.items.some(item => item.entry.sender === to)) {
      console.log('done');
      link.close(1000);
      process.exit(0);
    }
  }
};
)";

TEST_P(OtherClients, NodeOnTheSocket) {
  const std::vector<std::string> node = {"node", "--experimental-websocket", "-e"};
  std::vector<std::string> probe = node;
  probe.emplace_back("process.exit(typeof WebSocket === 'undefined' ? 1 : 0)");
  if (run_program(probe).exit_code != 0) GTEST_SKIP() << "needs node 20 or newer, with its own WebSocket";

  WsClient friend_ = device("friend");
  std::vector<std::string> command = node;
  command.insert(command.end(), {kScript, "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws", token("node"),
                                 user("friend")});
  std::jthread answering([&] {
    if (friend_.wait_until([&] { return !friend_.pushed.empty(); })) friend_.sent(user("node"), "and back");
  });
  const Finished finished = run_program(command);
  answering.join();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("protocol tidemark.v1.json mode delta"));
  EXPECT_THAT(finished.out, HasSubstr("seq 1 duplicate false"));
  EXPECT_THAT(finished.out, HasSubstr("pushed true and back"));
  EXPECT_THAT(finished.out, HasSubstr("done"));
  EXPECT_THAT(friend_.texts(chat("friend", "node")), ::testing::Contains("Grüße 😀"));
}

TEST_P(OtherClients, CurlByHttp) {
  if (run_program({"curl", "--version"}).exit_code != 0) GTEST_SKIP() << "needs curl";
  const std::string base = "http://127.0.0.1:" + std::to_string(server().port());
  const std::string authorization = "Authorization: Bearer " + token("a");
  const std::string now = std::to_string(wall_ms());
  const std::string body =
      R"({"to":")" + user("b") + R"(","client_msg_id":"m1","client_time":)" + now + R"(,"body":{"text":"Hello"}})";
  // As in the README: curl says that the body is a form, and it is taken all the same.
  const std::vector<std::string> send = {"curl",        "-s", "-w", "\n%{http_code}", base + "/v1/messages", "-H",
                                         authorization, "-d", body};
  const Finished first = run_program(send);
  EXPECT_THAT(first.out, ::testing::EndsWith("\n201")) << first.out;
  EXPECT_THAT(first.out, HasSubstr("\"seq\":1"));
  EXPECT_THAT(run_program(send).out, ::testing::EndsWith("\n200")) << "a duplicate";
  const Finished large = run_program({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H",
                                      "Expect: 100-continue", "-H", authorization, base + "/v1/messages", "-d",
                                      R"({"to":")" + user("b") + R"(","client_msg_id":"m2","client_time":)" + now +
                                          R"(,"body":{"text":")" + std::string(60'000, 'x') + R"("}})"});
  EXPECT_EQ(large.out, "201");
  const Finished refused = run_program(
      {"curl", "-s", "-w", "\n%{http_code}", base + "/v1/conversations/alice_carol/messages", "-H", authorization});
  EXPECT_EQ(refused.out,
            R"({"error":{"code":"CONVERSATION_NOT_FOUND","message":"There is no such conversation for you.",)"
            R"("field":"conversation_id","retryable":false,"retry_after_ms":0,"app_code":""}})"
            "\n404");
  const Finished list = run_program({"curl", "-s", "-I", base + "/healthz"});
  EXPECT_THAT(list.out, ::testing::StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace tidemark::testing
