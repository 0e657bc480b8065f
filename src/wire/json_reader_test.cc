#include "wire/json_reader.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "wire/json_test_messages.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

std::string json_of(const google::protobuf::Message& message) {
  std::string out;
  write_json(message, out);
  return out;
}

/// "OUT_OF_RANGE body.text", or "taken".
std::string verdict(std::string_view json, const JsonReadOptions& options = {}) {
  v1::SendRequest message;
  const auto result = read_json(json, message, options);
  if (result) return "taken";
  return std::string(error_info(result.error().code).name) + " " + result.error().field;
}

v1::SendRequest taken(std::string_view json) {
  v1::SendRequest message;
  const auto result = read_json(json, message);
  EXPECT_TRUE(result) << json << ": " << result.error().field << " " << result.error().detail;
  return message;
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto send = taken(R"( { "to" : "2002", "client_time" : -5 , "mentions":["a", "b"], "priority":"low",
    "reply_to":"18446744073709551615", "body":{"text":"A\u00e9\u4e2d\ud83d\ude00\"\\\/\b\f\n\r\t","encrypted":"AP8Q",
    "attachments":[{},{"size":0}]}})"
                          "\n");
  EXPECT_EQ(send.to(), "2002");
  EXPECT_EQ(send.client_time(), -5);
  EXPECT_EQ(send.mentions(1), "b");
  EXPECT_EQ(send.priority(), v1::PRIORITY_LOW);
  EXPECT_EQ(send.reply_to(), UINT64_MAX);
  EXPECT_EQ(send.body().text(), "Aé中😀\"\\/\b\f\n\r\t");
  EXPECT_EQ(send.body().encrypted(), std::string("\0\xff\x10", 3));
  EXPECT_EQ(send.body().attachments_size(), 2);
}

TEST(JsonReader, NullMeansAbsent) {
  const auto send = taken(R"({"to":null,"client_time":null,"body":null,"mentions":null,"priority":null})");
  EXPECT_FALSE(send.has_body());
  EXPECT_TRUE(same(send, v1::SendRequest{}));
}

TEST(JsonReader, AnEmptyObjectIsAPresentMessage) {
  EXPECT_TRUE(taken(R"({"body":{}})").has_body());
}

TEST(JsonReader, ReplacesWhatTheMessageHeld) {
  v1::SendRequest send;
  send.set_to("before");
  ASSERT_TRUE(read_json("{}", send));
  EXPECT_EQ(send.to(), "");
}

TEST(JsonReader, WholeNumbersHaveTheRangeOfTheirField) {
  const auto size = [](std::string_view number) {
    return verdict("{\"body\":{\"attachments\":[{},{\"size\":" + std::string(number) + "}]}}");
  };
  const std::string range = "OUT_OF_RANGE body.attachments[1].size";
  const std::string malformed = "MALFORMED body.attachments[1].size";
  EXPECT_EQ(size("9007199254740993"), "taken");
  EXPECT_EQ(size("18446744073709551615"), "taken");
  EXPECT_EQ(size("-0"), "taken");
  EXPECT_EQ(size("\"5\""), "taken");
  EXPECT_EQ(size("18446744073709551616"), range);
  EXPECT_EQ(size("\"18446744073709551616\""), range);
  EXPECT_EQ(size("-1"), range);
  EXPECT_EQ(size(std::string(5000, '9')), range);
  for (const char* bad :
       {"1.0",      "0.1",   "1e3",  "1e400", "1E0", "\"1e3\"", "\"\"", "\" 1\"", "\"1 \"", "\"+1\"", "\"007\"",
        "\"0x10\"", "\"-\"", "true", "[]",    "{}",  "007",     "+1",   ".5",     "1.",     "-",      "NaN"})
    EXPECT_EQ(size(bad), malformed) << bad;
  const auto time = [](std::string_view number) { return verdict("{\"client_time\":" + std::string(number) + "}"); };
  EXPECT_EQ(time("-9223372036854775808"), "taken");
  EXPECT_EQ(time("9223372036854775807"), "taken");
  EXPECT_EQ(time("9223372036854775808"), "OUT_OF_RANGE client_time");
  EXPECT_EQ(time("-9223372036854775809"), "OUT_OF_RANGE client_time");
  v1::HistoryRequest history;
  EXPECT_TRUE(read_json(R"({"limit":4294967295})", history));
  EXPECT_EQ(read_json(R"({"limit":4294967296})", history).error().code, ErrorCode::OUT_OF_RANGE);
}

TEST(JsonReader, RefusesWithThePathOfTheField) {
  const struct {
    std::string_view json, verdict;
  } cases[] = {
      {"", "MALFORMED "},
      {"null", "MALFORMED "},
      {"[]", "MALFORMED "},
      {"{}}", "MALFORMED "},
      {"{} x", "MALFORMED "},
      {"\xef\xbb\xbf{}", "MALFORMED "},
      {"{", "MALFORMED "},
      {"{\"to\"", "MALFORMED "},
      {"{\"to\":", "MALFORMED to"},
      {"{\"to\":\"x\"", "MALFORMED "},
      {"{\"to\":\"x\",}", "MALFORMED "},
      {"{to:\"x\"}", "MALFORMED "},
      {"{'to':\"x\"}", "MALFORMED "},
      {R"({"to":5})", "MALFORMED to"},
      {R"({"to":true})", "MALFORMED to"},
      {R"({"to":nul})", "MALFORMED to"},
      {R"({"to":["x"]})", "MALFORMED to"},
      {R"({"to":"x","to":"y"})", "MALFORMED to"},
      {R"({"to":"x","t\u006f":"y"})", "MALFORMED to"},
      {R"({"to":null,"to":"y"})", "MALFORMED to"},
      {R"({"mentions":"x"})", "MALFORMED mentions"},
      {R"({"mentions":["x",null]})", "MALFORMED mentions[1]"},
      {R"({"mentions":["x",7]})", "MALFORMED mentions[1]"},
      {R"({"mentions":["x",]})", "MALFORMED mentions[1]"},
      {R"({"mentions":["x")", "MALFORMED mentions"},
      {R"({"priority":"urgent"})", "OUT_OF_RANGE priority"},
      {R"({"priority":"HIGH"})", "OUT_OF_RANGE priority"},
      {R"({"priority":1})", "MALFORMED priority"},
      {R"({"body":"x"})", "MALFORMED body"},
      {R"({"body":{"text":7}})", "MALFORMED body.text"},
      {R"({"body":{"encrypted":"AP8"}})", "MALFORMED body.encrypted"},
      {R"({"body":{"encrypted":"AP8R="}})", "MALFORMED body.encrypted"},
      {R"({"body":{"encrypted":"AP-_"}})", "MALFORMED body.encrypted"},
      {R"({"body":{"encrypted":"AR=="}})", "MALFORMED body.encrypted"},
      {R"({"body":{"attachments":[{"url":1}]}})", "MALFORMED body.attachments[0].url"},
      {R"({"sneder":"x"})", "UNKNOWN_FIELD sneder"},
      {R"({"body":{"txet":"x"}})", "UNKNOWN_FIELD body.txet"},
      {R"({"":"x"})", "UNKNOWN_FIELD \"\""},
      {R"({"To":"x"})", "UNKNOWN_FIELD To"},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(verdict(json), expected) << json;
}

TEST(JsonReader, RefusesTextThatIsNotCleanUtf8) {
  for (std::string_view bad : {R"(\ud800)", R"(\ud800x)", R"(\ud800\n)", R"(\ud800\ud800)", R"(\ud800\u0041)",
                               R"(\udc00)", R"(\u0000)", R"(\u12)", R"(\u12g4)", R"(\x)", "\\", "\xff", "\xc0\x80",
                               "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8", "\n", "\x01"}) {
    std::string json = "{\"body\":{\"text\":\"";
    json.append(bad).append("\"}}");
    EXPECT_EQ(verdict(json), "MALFORMED body.text") << bad;
  }
  EXPECT_EQ(verdict(std::string("{\"to\":\"a\0b\"}", 12)), "MALFORMED to");
  EXPECT_EQ(verdict("{\"t\xff\":1}"), "MALFORMED ");
}

TEST(JsonReader, AnUnknownNameIsToldInPartWhenItIsLong) {
  v1::SendRequest send;
  std::string name = "x";
  for (int i = 0; i < 1000; ++i) name += "中";
  const auto result = read_json("{\"" + name + "\":1}", send);
  EXPECT_EQ(result.error().code, ErrorCode::UNKNOWN_FIELD);
  EXPECT_EQ(result.error().field, name.substr(0, 64));
}

TEST(JsonReader, WordsThatAreAllowedAreNamed) {
  v1::SendRequest send;
  EXPECT_THAT(read_json(R"({"priority":"urgent"})", send).error().detail, testing::HasSubstr("normal, high, low"));
}

TEST(JsonReader, IgnoresTheUnknownWhenTold) {
  const JsonReadOptions tolerant{.fields = Unknown::ignore, .words = Unknown::ignore};
  v1::SendRequest send;
  ASSERT_TRUE(read_json(R"({"new":{"a":[1,{"b":null}],"c":1e400},"to":"x","priority":"urgent"})", send, tolerant));
  EXPECT_EQ(send.to(), "x");
  EXPECT_EQ(send.priority(), v1::PRIORITY_NORMAL);
  EXPECT_EQ(verdict(R"({"new":{"a":[1,2}})", tolerant), "MALFORMED new");
  EXPECT_EQ(verdict(R"({"new":"\ud800"})", tolerant), "MALFORMED new");
  EXPECT_EQ(verdict(R"({"new":tru})", tolerant), "MALFORMED new");
}

TEST(JsonReader, LimitsDepthButNotHowManyThingsAreNamed) {
  const JsonReadOptions tolerant{.fields = Unknown::ignore};
  const auto nested = [](int depth) { return "{\"new\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  EXPECT_EQ(verdict(nested(15), tolerant), "taken");
  EXPECT_EQ(verdict(nested(16), tolerant), "TOO_DEEP new");
  EXPECT_EQ(verdict(nested(1'000'000), tolerant), "TOO_DEEP new");
  EXPECT_EQ(verdict("{\"to\":" + std::string(1'000'000, '['), tolerant), "TOO_DEEP to");
  const JsonReadOptions flat{.max_depth = 2};
  EXPECT_EQ(verdict(R"({"body":{"text":"x"}})", flat), "taken");
  EXPECT_EQ(verdict(R"({"body":{"attachments":[]}})", flat), "TOO_DEEP body.attachments");
  const auto many = [](int keys) {
    std::string json = "{\"to\":\"x\"";
    for (int i = 1; i < keys; ++i) json += ",\"k" + std::to_string(i) + "\":0";
    return json + "}";
  };
  EXPECT_EQ(verdict(many(100'000), tolerant), "taken");
}

TEST(JsonReader, TakesOneMemberOfAOneof) {
  v1::MutateRequest mutate;
  ASSERT_TRUE(read_json(R"({"number":1,"read":null,"mark_unread":{}})", mutate));
  EXPECT_TRUE(mutate.has_mark_unread());
  const auto both = read_json(R"({"read":{},"mark_unread":{}})", mutate);
  EXPECT_EQ(both.error().code, ErrorCode::MALFORMED);
  EXPECT_EQ(both.error().field, "mark_unread");
}

RC_GTEST_PROP(JsonReader, ReadsBackWhatTheWriterWrites, (std::uint64_t seed)) {
  RandomMessages random(seed);
  for (int i = 0; i < 20; ++i) {
    const auto message = random.any();
    const std::string json = json_of(*message);
    std::unique_ptr<google::protobuf::Message> read(message->New());
    const auto result = read_json(json, *read);
    if (!result) RC_FAIL(result.error().field + " " + result.error().detail + "\n" + json);
    RC_ASSERT(same(*message, *read));
  }
}

RC_GTEST_PROP(JsonReader, ReadsWhatProtobufsOwnJsonWrites, (std::uint64_t seed)) {
  // protobuf writes 64-bit integers as texts; enums, whose words are ours, are put back to their first value.
  auto message = RandomMessages(seed).make<v1::SendRequest>();
  message.clear_priority();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = seed % 2 == 0;
  std::string json;
  RC_ASSERT(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  v1::SendRequest read;
  RC_ASSERT(read_json(json, read).has_value());
  RC_ASSERT(same(message, read));
}

/// The text with one to four bytes changed, taken out or put in.
std::string damaged(std::string json, RandomMessages& random) {
  static const std::string kBits = "{}[]\",:\\u0-9e.tnf \x80\xff";
  for (std::uint64_t n = 1 + random.below(4); n > 0 && !json.empty(); --n) {
    const std::size_t at = random.below(json.size());
    switch (random.below(3)) {
      case 0:
        json.erase(at, 1 + random.below(4));
        break;
      case 1:
        json.insert(at, 1, kBits[random.below(kBits.size())]);
        break;
      default:
        json[at] = kBits[random.below(kBits.size())];
    }
  }
  return json;
}

RC_GTEST_PROP(JsonReader, SurvivesDamageAndWhatItTakesIsWrittenAndReadTheSame, (std::uint64_t seed)) {
  RandomMessages random(seed);
  for (int i = 0; i < 50; ++i) {
    const std::string json = damaged(json_of(random.make<v1::SendRequest>()), random);
    v1::SendRequest first;
    const auto result = read_json(json, first, {.fields = Unknown::ignore});
    if (!result) {
      const ErrorCode code = result.error().code;
      RC_ASSERT(code == ErrorCode::MALFORMED || code == ErrorCode::OUT_OF_RANGE || code == ErrorCode::TOO_DEEP);
      continue;
    }
    v1::SendRequest second;
    RC_ASSERT(read_json(json_of(first), second).has_value());
    RC_ASSERT(same(first, second));
  }
}

}  // namespace
}  // namespace tidemark
