// Field fault 34: fields of the application's own, and numbers of any size wherever a number may stand.
#include "wire/json_writer.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::AnyOf;

class DataFaults : public BothDialects {
 protected:
  static pb::ClientFrame send_of(const std::string& conversation, const std::string& data) {
    pb::ClientFrame frame;
    frame.mutable_send()->set_conversation_id(conversation);
    frame.mutable_send()->set_client_msg_id(new_id());
    frame.mutable_send()->mutable_body()->set_data(data);
    return frame;
  }
  std::string json_of(const std::string& conversation, const std::string& data) const {
    std::string json;
    const pb::ClientFrame frame = send_of(conversation, data);
    write_json(frame.send(), json);
    return json;
  }
  std::string group_with(WsClient& owner, const std::string& member) const {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    frame.mutable_create_group()->add_members(member);
    return owner.call(frame).group().conversation_id();
  }
  /// What was sent, by message.
  using Kept = std::map<std::string, std::string>;
  /// Its rows bear all of it, byte for byte; a long one may come as its front.
  static void expect_kept(const Kept& kept, const std::vector<pb::Message>& rows, const std::string& way) {
    std::size_t compared = 0;
    for (const pb::Message& row : rows) {
      const auto sent = kept.find(row.message_id());
      if (sent == kept.end()) continue;
      if (!row.body().has_cut()) EXPECT_EQ(row.body().data(), sent->second) << way;
      ++compared;
    }
    EXPECT_EQ(compared, kept.size()) << way;
  }
};
TM_IN_BOTH_DIALECTS(DataFaults);

const std::vector<std::string> kNumbers{"9007199254740991",
                                        "9007199254740993",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "-9223372036854775808",
                                        "1e308",
                                        "1e400",
                                        "0.1"};

std::vector<std::string> strange_data() {
  std::vector<std::string> all;
  std::vector<std::string> numbers = kNumbers;
  numbers.emplace_back(5'000, '7');
  for (const std::string& number : numbers)
    for (const std::string& value : {number, "\"" + number + "\""}) all.push_back(R"({"n": )" + value + "}");
  return all;
}

std::vector<std::pair<std::string, std::string>> refused_data() {
  std::string keys = "{";
  for (int i = 0; i < 10'000; ++i) keys += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  return {{std::string(10'000, '[') + std::string(10'000, ']'), "TOO_DEEP"},
          {keys + "}", "TOO_DEEP"},
          {R"({"a": 1, "a": 1})", "MALFORMED"}};
}

TEST_P(DataFaults, F34_NumbersComeBackAsTheyWereOrAreRefused) {
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  HttpClient http = this->http();
  u1.sent(user("u2"), "hello");
  for (const std::string& id : {chat("u1", "u2"), group_with(u1, user("u2"))}) {
    Kept kept;
    for (const std::string& data : strange_data()) {
      const pb::ServerFrame over_socket = u1.call(send_of(id, data));
      ASSERT_EQ(code_of(over_socket), "") << data;
      const HttpResponse over_http = http.post("/v1/messages", token("u1"), json_of(id, data));
      ASSERT_EQ(over_http.status, 201) << over_http.body;
      kept[over_socket.sent().message_id()] = kept[parsed<pb::Sent>(over_http).message_id()] = data;
    }
    for (const auto& [data, code] : refused_data()) {
      EXPECT_EQ(code_of(u1.call(send_of(id, data))), code) << data.substr(0, 20);
      const HttpResponse answer = http.post("/v1/messages", token("u1"), json_of(id, data));
      EXPECT_EQ(answer.status, 400);
      EXPECT_EQ(error_code(answer), code) << data.substr(0, 20);
    }
    u1.sent_in(id, "goodbye");

    // The same on every way to them, and what is around them can be read.
    const std::vector<pb::Message> history = whole_history(u2, id);
    expect_kept(kept, history, "by history");
    EXPECT_EQ(history.back().body().text(), "goodbye");
    const auto live = [&] {
      std::vector<pb::Message> rows;
      for (const auto& [seq, row] : u2.entries(id)) rows.push_back(row);
      return rows;
    };
    ASSERT_TRUE(u2.wait_until([&] { return !live().empty() && live().back().body().text() == "goodbye"; }));
    expect_kept(kept, live(), "live");
    const pb::ConversationPage page = device("u2", "d2").conversation_sync(id, 0, 200);
    expect_kept(kept, {page.messages().begin(), page.messages().end()}, "by catching up");
    for (const auto& [message, data] : kept) {
      const std::string path = "/v1/messages/" + percent_encode(message);
      expect_kept({{message, data}}, {parsed<pb::Message>(http.get(path, token("u2")))}, "one by one");
      EXPECT_EQ(parsed<pb::MessageBody>(http.get(path + "/body", token("u2"))).body().data(), data);
    }
  }
}

TEST_P(DataFaults, F34_NumbersOfAnySizeAsArgumentsAreTakenOrRefused) {
  WsClient u1 = device("u1");
  u1.sent(user("u2"), "hello");
  HttpClient http = this->http();
  const std::string chat_path = "/v1/conversations/" + chat("u1", "u2");
  std::vector<std::string> numbers = kNumbers;
  numbers.emplace_back(5'000, '7');
  const auto expect_sense = [&](const HttpResponse& answer, const std::string& what) {
    EXPECT_THAT(answer.status, AnyOf(200, 400, 414, 431)) << what << ": " << answer.body;
    if (answer.status == 400) EXPECT_THAT(error_code(answer), AnyOf("MALFORMED", "OUT_OF_RANGE")) << what;
  };
  for (const std::string& number : numbers) {
    for (const char* argument : {"limit", "before", "after", "around", "at"}) {
      const std::string target = chat_path + "/messages?" + argument + "=" + percent_encode(number);
      expect_sense(http.get(target, token("u1")), target.substr(0, 100));
    }
    expect_sense(http.get("/v1/sync?limit=" + percent_encode(number), token("u1")), "sync " + number.substr(0, 20));
    for (const std::string& value : {number, "\"" + number + "\""}) {
      const std::string shown = value.substr(0, 30);
      expect_sense(http.post(chat_path + "/mute", token("u1"), "{\"until\":" + value + "}"), "mute until " + shown);
      expect_sense(http.post(chat_path + "/read", token("u1"), "{\"seq\":" + value + "}"), "read to " + shown);
    }
  }
  EXPECT_EQ(texts_of(whole_history(u1, chat("u1", "u2"))), std::vector<std::string>{"hello"});
  pb::ClientFrame frame;
  for (const std::uint64_t huge : {std::uint64_t{1} << 53, (std::uint64_t{1} << 53) + 1, UINT64_MAX}) {
    frame.mutable_history()->set_conversation_id(chat("u1", "u2"));
    frame.mutable_history()->set_before(huge);
    EXPECT_THAT(code_of(u1.call(frame)), AnyOf("", "OUT_OF_RANGE")) << huge;
  }
}

}  // namespace
}  // namespace tidemark::testing
