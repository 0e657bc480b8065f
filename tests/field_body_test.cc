// Field faults 32 and 33: what a text may be, and how large.
#include "core/uuid7.h"
#include "wire/json_writer.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAreArray;

class BodyFaults : public BothDialects {
 protected:
  /// Writes what is too large as far as the server takes it, and sees it refused.
  static void push_until_closed(WsClient& client, std::string_view bytes) {
    const std::int64_t deadline = steady_ms() + patience_ms();
    while (!bytes.empty() && client.stream().write_some(bytes) && !client.closed() && steady_ms() < deadline)
      client.listen_for(1);
    EXPECT_TRUE(client.wait_closed());
    ASSERT_THAT(client.stray_errors, ::testing::SizeIs(1));
    EXPECT_EQ(client.stray_errors[0].code(), "TOO_LARGE");
    EXPECT_EQ(client.close_code(), 1009);
  }
};
TM_IN_BOTH_DIALECTS(BodyFaults);

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() + text.size() <= bytes) out += text;
  // Filled up to the byte with what takes one.
  out.resize(bytes, '.');
  return out;
}

std::vector<std::string> strange_texts() {
  std::string marks = "e";
  for (int i = 0; i < 1'000; ++i) marks += "\u0301";
  return {"😀",
          "👨‍👩‍👧‍👦",
          "🧑‍🚀",
          "🏳️‍🌈",
          "e\u0301",
          "\u00e9",
          "𠮷",
          "\u9f98",
          "שלום עולם",
          "\u200b",
          "  spaces  ",
          "\nlines\r\n",
          "\ttabs\t",
          "\ufeff",
          "\u202eright to left\u202c",
          marks,
          std::string(300, ' '),
          repeated("👨‍👩‍👧‍👦", 1'000)};
}

TEST_P(BodyFaults, F32_TextsComeBackAsTheyWere) {
  const std::string id = chat("u1", "u2");
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  HttpClient http = this->http();
  std::vector<std::string> texts;
  for (const std::string& text : strange_texts()) {
    u1.sent(user("u2"), text);
    EXPECT_EQ(http.post("/v1/messages", token("u1"), send_json(user("u2"), text, new_id())).status, 201) << text;
    texts.push_back(text);
    texts.push_back(text);
    // Previews are cut only between whole characters, and say so.
    const pb::Change change = u2.conversation(id);
    EXPECT_TRUE(text.starts_with(change.preview().text())) << text;
    EXPECT_EQ(change.preview().cut(), change.preview().text() != text);
    EXPECT_LE(change.preview().text().size(), 240U);
  }
  ASSERT_TRUE(u2.wait_until([&] { return u2.entries(id).size() == texts.size(); }));
  EXPECT_EQ(u2.texts(id), texts) << "live";
  EXPECT_EQ(texts_of(whole_history(u2, id)), texts) << "by history";
  WsClient fresh = device("u2", "d2");
  const pb::ConversationPage page = fresh.conversation_sync(id, 0, 200);
  EXPECT_EQ(texts_of({page.messages().begin(), page.messages().end()}), texts) << "by catching up";
  const auto one = parsed<pb::Message>(http.get("/v1/messages/" + percent_encode(id + ":1"), token("u2")));
  EXPECT_EQ(one.body().text(), texts[0]);
}

// The limit is 65,536 bytes of UTF-8.
TEST_P(BodyFaults, F33_AtTheLimitAndAbove) {
  const std::string id = chat("u1", "u2");
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  constexpr std::size_t kLimit = 65'536;
  std::vector<std::string> kept;
  const auto ping = [&] {
    kept.push_back("ping " + std::to_string(kept.size()));
    u1.sent(user("u2"), kept.back());
  };
  for (const char* unit : {"a", "中", "😀"}) {
    for (const std::size_t size : {kLimit - 1, kLimit}) {
      kept.push_back(repeated(unit, size));
      EXPECT_EQ(code_of(u1.send(user("u2"), kept.back())), "") << unit << size;
      ping();
    }
    for (const std::size_t size : {kLimit + 1, 2 * kLimit}) {
      EXPECT_EQ(code_of(u1.send(user("u2"), repeated(unit, size))), "TOO_LARGE") << unit << size;
      ping();
    }
  }
  HttpClient http = this->http();
  kept.push_back(repeated("中", kLimit));
  EXPECT_EQ(http.post("/v1/messages", token("u1"), send_json(user("u2"), kept.back(), new_id())).status, 201);
  EXPECT_EQ(http.post("/v1/messages", token("u1"), send_json(user("u2"), kept.back() + "a", new_id())).status, 413);
  EXPECT_EQ(texts_of(whole_history(u2, id)), kept) << "nothing stored of what was refused, nothing cut";
  WsClient d2 = device("u2", "d2");
  EXPECT_EQ(texts_of(whole_history(d2, id)), kept);

  // A frame beyond all bounds closes the link, after an error that says why; a new one goes on. The server does not
  // keep what it refuses.
  const std::uint64_t memory_before = server().memory_kib(MemoryOf::now);
  server().forget_peak_memory();
  for (const std::size_t size : {std::size_t{1} << 20, std::size_t{64} << 20}) {
    WsClient rude = device("u1", "rude");
    push_until_closed(rude, WsClient::frame_of(WebSocketOpcode::binary, std::string(size, 'x')));
    WsClient again = device("u1", "rude");
    kept.push_back("ping after " + std::to_string(size));
    again.sent(user("u2"), kept.back());
  }
  // 1 MiB in 1,000 fragments.
  WsClient slicer = device("u1", "slicer");
  std::string fragments = WsClient::frame_of(WebSocketOpcode::binary, std::string(1'048, 'x'), WebSocketFrameEnd::more);
  for (int i = 2; i < 1'000; ++i)
    fragments += WsClient::frame_of(WebSocketOpcode::continuation, std::string(1'048, 'x'), WebSocketFrameEnd::more);
  fragments += WsClient::frame_of(WebSocketOpcode::continuation, "x");
  push_until_closed(slicer, fragments);
  EXPECT_LT(server().memory_kib(MemoryOf::peak), memory_before + 40 * 1024) << "nowhere near the 64 MiB sent";
  WsClient again = device("u1", "slicer");
  kept.push_back("ping at last");
  again.sent(user("u2"), kept.back());
  EXPECT_EQ(texts_of(whole_history(u2, id)), kept);
}

}  // namespace
}  // namespace tidemark::testing
