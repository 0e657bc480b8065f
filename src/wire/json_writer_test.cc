#include "wire/json_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cctype>
#include <set>

#include "wire/json_test_messages.h"

namespace tidemark {
namespace {

using google::protobuf::Value;

std::string json_of(const google::protobuf::Message& message) {
  std::string out;
  write_json(message, out);
  return out;
}

TEST(JsonWriter, WritesEveryFieldEvenWhenEmpty) {
  EXPECT_EQ(json_of(v1::SendRequest{}),
            R"({"to":"","conversation_id":"","client_msg_id":"","client_time":0,"body":null,"reply_to":0,)"
            R"("mentions":[],"priority":"normal","sender":"","mention_all":false})");
  EXPECT_EQ(json_of(v1::Kick{}), R"({"code":"","terminal":false,"message":""})");
}

TEST(JsonWriter, WritesWordsNumbersTextsBytesAndMessages) {
  v1::SendRequest send;
  send.set_to("2002");
  send.set_client_time(-5);
  send.set_priority(v1::PRIORITY_HIGH);
  send.add_mentions("a");
  send.add_mentions("b");
  send.mutable_body()->set_text("hi");
  send.mutable_body()->set_encrypted(std::string("\0\xff\x10", 3));
  send.mutable_body()->add_attachments()->set_size(7);
  EXPECT_EQ(json_of(send),
            R"({"to":"2002","conversation_id":"","client_msg_id":"","client_time":-5,"body":{"type":"","text":"hi",)"
            R"("summary":"","data":"","attachments":[{"url":"","size":7,"mime":"","hash":"","expires_at":0}],)"
            R"("encrypted":"AP8Q","cut":null},)"
            R"("reply_to":0,"mentions":["a","b"],"priority":"high","sender":"","mention_all":false})");
}

TEST(JsonWriter, WritesTheMemberOfAOneofOnlyWhenItIsSet) {
  v1::ServerFrame frame;
  EXPECT_EQ(json_of(frame), R"({"id":0})");
  frame.mutable_hint();
  EXPECT_EQ(json_of(frame), R"({"id":0,"hint":{"head":0}})");
}

TEST(JsonWriter, WritesWhatJavascriptCannotHoldAsText) {
  v1::Attachment file;
  file.set_size((std::uint64_t{1} << 53) - 1);
  EXPECT_THAT(json_of(file), testing::HasSubstr(R"("size":9007199254740991,)"));
  file.set_size(std::uint64_t{1} << 53);
  EXPECT_THAT(json_of(file), testing::HasSubstr(R"("size":"9007199254740992",)"));
  file.set_size(UINT64_MAX);
  EXPECT_THAT(json_of(file), testing::HasSubstr(R"("size":"18446744073709551615",)"));
  v1::User user;
  user.set_created_at(INT64_MIN);
  EXPECT_THAT(json_of(user), testing::HasSubstr(R"("created_at":"-9223372036854775808")"));
  user.set_created_at(-9007199254740991);
  EXPECT_THAT(json_of(user), testing::HasSubstr(R"("created_at":-9007199254740991)"));
}

TEST(JsonWriter, EscapesOnlyQuotesBackslashesAndControls) {
  std::string out;
  write_json_string(std::string("\"\\/\b\f\n\r\t\x01\x1f\x7f\0é中😀\u2028", 24), out);
  EXPECT_EQ(out, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000é中😀\u2028\"");
}

TEST(JsonWriter, AppendsSoThatTextsCanBeJoined) {
  std::string out = "[";
  write_json(v1::Hint{}, out);
  out += ',';
  write_json(v1::Hint{}, out);
  out += ']';
  EXPECT_EQ(out, R"([{"head":0},{"head":0}])");
}

TEST(JsonWriter, WritesAnEnumNumberThatTheSchemaDoesNotNameAsThatNumber) {
  v1::Preview preview;
  preview.set_state(static_cast<v1::State>(77));
  EXPECT_THAT(json_of(preview), testing::HasSubstr(R"("state":77,)"));
}

TEST(JsonWriter, EnumWordsLoseTheirPrefixAndStayDistinct) {
  v1::Message message;
  message.set_kind(v1::KIND_MESSAGE);
  message.mutable_member()->set_action(v1::MEMBER_ACTION_JOINED);
  EXPECT_THAT(json_of(message),
              testing::AllOf(testing::HasSubstr(R"("kind":"message")"), testing::HasSubstr(R"("action":"joined")")));
  EXPECT_THAT(json_of(v1::SyncPage{}), testing::HasSubstr(R"("mode":"unspecified")"));
  for (const MessagePlan& plan : all_plans())
    for (const FieldPlan& field : plan.fields) {
      if (!field.words) continue;
      std::set<std::string> words;
      for (const auto& [number, word] : field.words->words) EXPECT_TRUE(words.insert(word).second) << word;
    }
}

// The oracle: protobuf's own JSON, parsed to a tree; only what our rules say may differ.

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Enum names end in our word; 64-bit integers are texts there and numbers here.
bool same_leaf(const Value& oracle, const Value& ours) {
  if (oracle.SerializeAsString() == ours.SerializeAsString()) return true;
  if (oracle.kind_case() != Value::kStringValue) return false;
  const std::string& text = oracle.string_value();
  if (ours.kind_case() == Value::kNumberValue)
    return text == std::to_string(static_cast<std::int64_t>(ours.number_value()));
  return ours.kind_case() == Value::kStringValue && text.ends_with("_" + upper(ours.string_value()));
}

bool same_tree(const Value& oracle, const Value& ours) {
  if (oracle.kind_case() == Value::kListValue && ours.kind_case() == Value::kListValue) {
    const auto& a = oracle.list_value().values();
    const auto& b = ours.list_value().values();
    if (a.size() != b.size()) return false;
    for (int i = 0; i < a.size(); ++i)
      if (!same_tree(a[i], b[i])) return false;
    return true;
  }
  if (oracle.kind_case() != Value::kStructValue || ours.kind_case() != Value::kStructValue)
    return same_leaf(oracle, ours);
  const auto& a = oracle.struct_value().fields();
  const auto& b = ours.struct_value().fields();
  for (const auto& [name, value] : a)
    if (!b.contains(name) || !same_tree(value, b.at(name))) return false;
  for (const auto& [name, value] : b)  // an absent message is null here and missing there
    if (!a.contains(name) && value.kind_case() != Value::kNullValue) return false;
  return true;
}

Value tree_of(const std::string& json) {
  Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &value);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << json;
  return value;
}

RC_GTEST_PROP(JsonWriter, AgreesWithProtobufsOwnJsonButForOurRules, (std::uint64_t seed)) {
  RandomMessages random(seed);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  for (int i = 0; i < 10; ++i) {
    const auto message = random.any();
    std::string oracle;
    RC_ASSERT(google::protobuf::util::MessageToJsonString(*message, &oracle, options).ok());
    const std::string ours = json_of(*message);
    if (!same_tree(tree_of(oracle), tree_of(ours))) RC_FAIL("they differ:\n" + oracle + "\n" + ours);
  }
}

}  // namespace
}  // namespace tidemark
