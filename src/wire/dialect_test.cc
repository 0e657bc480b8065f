#include "wire/dialect.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "wire/json_test_messages.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr Dialect kDialects[] = {Dialect::binary, Dialect::json};

std::string told(const DecodeError& error) {
  return std::string(error_info(error.error.code).name) + " " + error.error.field + " #" + std::to_string(error.id);
}

/// "MALFORMED body.text #7", or "taken".
std::string verdict(Dialect dialect, std::string_view bytes) {
  const auto frame = decode_client_frame(dialect, bytes);
  return frame ? "taken" : told(frame.error());
}

std::string encoded(Dialect dialect, const v1::ClientFrame& frame) {
  std::string out;
  encode_client_frame(dialect, frame, out);
  return out;
}

std::string encoded(Dialect dialect, const v1::ServerFrame& frame) {
  std::string out;
  encode_server_frame(dialect, frame, out);
  return out;
}

v1::ClientFrame send_frame() {
  v1::ClientFrame frame;
  frame.set_id(7);
  frame.mutable_send()->set_to("2002");
  frame.mutable_send()->mutable_body()->set_text("hi");
  return frame;
}

TEST(Dialect, HasASubprotocolEach) {
  for (Dialect dialect : kDialects) EXPECT_EQ(dialect_named(subprotocol_of(dialect)), dialect);
  EXPECT_EQ(dialect_named("tidemark.v2.json"), std::nullopt);
  EXPECT_EQ(dialect_named(""), std::nullopt);
}

TEST(Dialect, OneFaultGetsOneAnswerInBoth) {
  const std::string nul("a\0b", 3);
  struct Case {
    const char* what;
    std::string expected;
    v1::ClientFrame frame;
    std::string json;  // where the writer cannot write the fault: it writes only clean text
  };
  std::vector<Case> cases;
  const auto add = [&](const char* what, std::string expected, std::string json, auto change) {
    Case one{what, std::move(expected), send_frame(), std::move(json)};
    change(one.frame);
    cases.push_back(std::move(one));
  };
  add("a good frame", "taken", "", [](v1::ClientFrame&) {});
  add("NUL in a text", "MALFORMED body.text #7", "",
      [&](v1::ClientFrame& f) { f.mutable_send()->mutable_body()->set_text(nul); });
  add("NUL in an element", "MALFORMED mentions[1] #7", "", [&](v1::ClientFrame& f) {
    f.mutable_send()->add_mentions("x");
    f.mutable_send()->add_mentions(nul);
  });
  add("NUL is fine in bytes", "taken", "",
      [&](v1::ClientFrame& f) { f.mutable_send()->mutable_body()->set_encrypted(nul); });
  add("invalid UTF-8", "MALFORMED body.attachments[1].mime #7",
      "{\"id\":7,\"send\":{\"body\":{\"attachments\":[{},{\"mime\":\"\xff\"}]}}}", [](v1::ClientFrame& f) {
        f.mutable_send()->mutable_body()->add_attachments();
        f.mutable_send()->mutable_body()->add_attachments()->set_mime("\xff");
      });
  add("an enum outside the schema", "OUT_OF_RANGE priority #7", R"({"id":7,"send":{"priority":"urgent"}})",
      [](v1::ClientFrame& f) { f.mutable_send()->set_priority(static_cast<v1::Priority>(9)); });
  add("no operation", "MALFORMED operation #7", R"({"id":7})", [](v1::ClientFrame& f) { f.clear_operation(); });
  add("no id", "MALFORMED id #0", "", [](v1::ClientFrame& f) { f.set_id(0); });
  add("an ack needs no id", "taken", "", [](v1::ClientFrame& f) {
    f.set_id(0);
    f.mutable_ack()->set_mark(5);
  });
  testing::internal::CaptureStderr();
  for (const Case& one : cases) {
    EXPECT_EQ(verdict(Dialect::json, one.json.empty() ? encoded(Dialect::json, one.frame) : one.json), one.expected)
        << one.what;
    std::string bytes;
    one.frame.AppendPartialToString(&bytes);
    EXPECT_EQ(verdict(Dialect::binary, bytes), one.expected) << one.what;
  }
  testing::internal::GetCapturedStderr();  // protobuf grumbles about what this test wrote
}

TEST(Dialect, DecodingWritesNothingToTheLog) {
  v1::ClientFrame frame;
  ASSERT_FALSE(decode_client_frame(Dialect::binary, "x"));  // from here on
  frame.mutable_send()->set_to("\xff");
  std::string bytes;
  frame.AppendPartialToString(&bytes);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(decode_client_frame(Dialect::binary, bytes));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Dialect, AFrameFromANewerClientIsAnsweredUnderItsId) {
  EXPECT_EQ(verdict(Dialect::json, R"({"id":8,"teleport":{"to":"x"}})"), "MALFORMED operation #8");
  EXPECT_EQ(verdict(Dialect::json, R"({"teleport":{"to":"x"},"id":8})"), "MALFORMED operation #8");
  EXPECT_EQ(verdict(Dialect::binary, std::string("\x08\x08\xa2\x06\x01x", 6)), "MALFORMED operation #8");
  auto frame = send_frame();
  std::string bytes = encoded(Dialect::binary, frame) + std::string("\xa2\x06\x01x", 4);
  EXPECT_EQ(verdict(Dialect::binary, bytes), "taken");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":7,"color":"red","send":{"to":"2002","glitter":[1,{}]}})"), "taken");
}

TEST(Dialect, TheIdIsFoundWhereverTheFaultIs) {
  EXPECT_EQ(verdict(Dialect::json, R"({"id":9,"send":{"to":5}})"), "MALFORMED to #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"send":{"to":5},"id":9})"), "MALFORMED to #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"send":{"to":5},"i\u0064":"9"})"), "MALFORMED to #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":9,"send":5})"), "MALFORMED send #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":9,"send":{},"ack":{}})"), "MALFORMED ack #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":9,"send":{})"), "MALFORMED  #9");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":-9,"send":{}})"), "OUT_OF_RANGE id #0");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":{},"send":{}})"), "MALFORMED id #0");
  EXPECT_EQ(verdict(Dialect::json, R"({"id":"x","send":{}})"), "MALFORMED id #0");
  EXPECT_EQ(verdict(Dialect::json, ""), "MALFORMED  #0");
  EXPECT_EQ(verdict(Dialect::json, "[1]"), "MALFORMED  #0");
  const std::string good = encoded(Dialect::binary, send_frame());
  EXPECT_EQ(verdict(Dialect::binary, std::string_view(good).substr(0, good.size() - 1)), "MALFORMED send #7");
  EXPECT_EQ(verdict(Dialect::binary, "\xff\xff\xff"), "MALFORMED  #0");
  EXPECT_EQ(verdict(Dialect::binary, ""), "MALFORMED operation #0");
}

TEST(Dialect, AClientTakesWhatItKnowsOfANewerServer) {
  const auto unknown = decode_server_frame(Dialect::json, R"({"id":0,"party":{"x":[1]}})");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->operation_case(), v1::ServerFrame::OPERATION_NOT_SET);
  const auto message = decode_server_frame(Dialect::json, R"({"id":3,"message":{"seq":5,"kind":"poll","glow":true}})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->message().seq(), 5u);
  EXPECT_EQ(message->message().kind(), v1::KIND_UNSPECIFIED);
  v1::ServerFrame newer;
  newer.mutable_message()->set_kind(static_cast<v1::Kind>(99));
  EXPECT_TRUE(decode_server_frame(Dialect::binary, encoded(Dialect::binary, newer)));
}

TEST(Dialect, AnEntryThatDoesNotDecodeTakesNothingElseWithIt) {
  v1::ServerFrame frame;
  for (const std::uint64_t seq : {5, 6, 7}) {
    v1::PushItem& item = *frame.mutable_push()->add_items();
    item.set_to(seq);
    item.mutable_entry()->set_seq(seq);
    item.mutable_entry()->set_sender(seq == 6 ? "\xff" : "u");
  }
  std::string bytes;
  frame.AppendPartialToString(&bytes);
  const std::string text = R"({"push":{"items":[{"to":5,"entry":{"seq":5,"sender":"u"}},)"
                           R"({"entry":{"seq":6,"body":{"data":[{"x":"}"}]},"sender":"u"},"to":6},)"
                           R"({"to":7,"entry":{"seq":7,"sender":"u"}}]}})";
  for (const auto& [dialect, told] : {std::pair{Dialect::binary, bytes}, {Dialect::json, text}}) {
    const auto read = decode_server_frame(dialect, told);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->push().items_size(), 3);
    EXPECT_EQ(read->push().items(1).to(), 6u);
    EXPECT_EQ(read->push().items(1).entry().ByteSizeLong(), 0u) << "it is left empty";
    EXPECT_EQ(read->push().items(2).entry().sender(), "u");
  }
  // Elsewhere a fault is one of the frame.
  frame.mutable_push()->mutable_items(0)->set_conversation_id("\xff");
  bytes.clear();
  frame.AppendPartialToString(&bytes);
  EXPECT_FALSE(decode_server_frame(Dialect::binary, bytes));
  EXPECT_FALSE(decode_server_frame(Dialect::json, R"({"push":{"items":[{"to":"x","entry":{"seq":[]}}]}})"));
  EXPECT_FALSE(decode_server_frame(Dialect::json, R"({"push":{"items":[{"entry":{"seq":5})"));
}

RC_GTEST_PROP(Dialect, FramesSurviveBothDialects, (std::uint64_t seed)) {
  RandomMessages random(seed);
  for (int i = 0; i < 10; ++i) {
    auto asked = random.make<v1::ClientFrame>();
    asked.set_id(1 + random.below(1000));
    if (asked.operation_case() == v1::ClientFrame::OPERATION_NOT_SET) asked.mutable_heartbeat();
    const auto answered = random.make<v1::ServerFrame>();
    for (Dialect dialect : kDialects) {
      const auto request = decode_client_frame(dialect, encoded(dialect, asked));
      if (!request) RC_FAIL(told(request.error()) + request.error().error.detail);
      RC_ASSERT(same(*request, asked));
      const auto answer = decode_server_frame(dialect, encoded(dialect, answered));
      RC_ASSERT(answer.has_value());
      RC_ASSERT(same(*answer, answered));
    }
  }
}

RC_GTEST_PROP(Dialect, DamagedFramesAreRefusedOrTakenButNeverHarm, (std::uint64_t seed)) {
  RandomMessages random(seed);
  for (int i = 0; i < 100; ++i) {
    const Dialect dialect = kDialects[random.below(2)];
    std::string bytes = encoded(dialect, random.make<v1::ClientFrame>());
    if (random.below(2)) bytes.resize(random.below(bytes.size() + 1));
    for (std::uint64_t n = random.below(5); n > 0 && !bytes.empty(); --n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const auto frame = decode_client_frame(dialect, bytes);
    if (!frame) continue;
    const auto again = decode_client_frame(dialect, encoded(dialect, *frame));
    RC_ASSERT(again.has_value());
  }
}

RC_GTEST_PROP(Dialect, PushesPutTogetherFromPartsEqualThoseEncodedWhole, (std::uint64_t seed)) {
  RandomMessages random(seed);
  for (Dialect dialect : kDialects) {
    v1::ServerFrame whole;
    whole.mutable_push();
    std::vector<v1::PushItem> headers;
    std::vector<std::string> shared;
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      auto header = random.make<v1::PushItem>();
      header.clear_conversation_id();
      header.clear_after();
      header.clear_to();
      header.clear_entry();
      auto& item = *whole.mutable_push()->add_items();
      item = header;
      headers.push_back(std::move(header));
      shared.emplace_back();
      if (random.below(3) == 0) continue;  // nothing but the user's own state
      const auto entry = random.make<v1::Message>();
      const std::string conversation = random.text();
      item.set_conversation_id(conversation);
      item.set_after(random.below(200));
      item.set_to(item.after() + random.below(2));
      *item.mutable_entry() = entry;
      shared.back() = encode_shared_entry(dialect, conversation, item.after(), item.to(), &entry);
    }
    std::vector<PushHeader> encoded_headers;
    for (const v1::PushItem& header : headers) encoded_headers.push_back(encode_push_header(dialect, header));
    std::vector<PushPart> parts;
    for (std::size_t i = 0; i < headers.size(); ++i)
      parts.push_back({encoded_headers[i].front, shared[i], encoded_headers[i].back});
    std::string out = "before";
    append_push_frame(dialect, parts, out);
    RC_ASSERT(out == "before" + encoded(dialect, whole));
  }
}

}  // namespace
}  // namespace tidemark
