// The field that a refusal names is one that the request has: every operation is asked with each of its fields spoilt.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <map>
#include <set>

#include "wire/json_writer.h"
#include "wire/routes.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Whether a path such as "messages[3].body.text" leads anywhere in a message of this kind.
bool leads(const Descriptor& in, std::string_view path) {
  const std::size_t end = std::min(path.find_first_of(".["), path.size());
  const FieldDescriptor* field = in.FindFieldByName(std::string(path.substr(0, end)));
  if (field == nullptr) return false;
  path.remove_prefix(end);
  if (path.starts_with('[')) {
    if (!field->is_repeated() || path.find(']') == std::string_view::npos) return false;
    path.remove_prefix(path.find(']') + 1);
  }
  if (path.empty()) return true;
  return path.starts_with('.') && field->message_type() != nullptr && leads(*field->message_type(), path.substr(1));
}

/// What makes sense in most requests, by the field's name.
std::string plausible(const FieldDescriptor& field) {
  static const std::map<std::string, std::string> values = {{"conversation_id", "group_1"},
                                                            {"user", "bob"},
                                                            {"owner", "alice"},
                                                            {"title", "T"},
                                                            {"name", "theme"},
                                                            {"value", "1"},
                                                            {"message_id", "group_1:2"},
                                                            {"reaction", "x"},
                                                            {"device", "d1"},
                                                            {"type", "t"},
                                                            {"text", "hello"},
                                                            {"users", "bob"},
                                                            {"members", "bob"},
                                                            {"source_id", "s"},
                                                            {"level", "vip"},
                                                            {"idempotency_key", "key"},
                                                            {"conversation_ids", "group_1"}};
  const auto found = values.find(field.name());
  if (field.name() == "client_msg_id") return new_id();
  return found == values.end() ? std::string() : found->second;
}

void make_plausible(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const Descriptor& kind = *message.GetDescriptor();
  for (int i = 0; i < kind.field_count(); ++i) {
    const FieldDescriptor& field = *kind.field(i);
    if (field.is_repeated() || field.real_containing_oneof() != nullptr) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !plausible(field).empty())
      reflection.SetString(&message, &field, plausible(field));
    if (field.name() == "seq") reflection.SetUInt64(&message, &field, 2);
    if (field.name() == "body" && field.message_type() != nullptr)
      make_plausible(*reflection.MutableMessage(&message, &field));
  }
}

/// Spoils one field after the other, asks, and puts it right again.
class Spoiler {
 public:
  Spoiler(Message& request, std::function<void()> ask) : ask_(std::move(ask)) {
    make_plausible(request);
    ask_();
    spoil_fields(request, 0);
  }

 private:
  void spoil_fields(Message& message, int depth) {
    const std::unique_ptr<Message> right(message.New());
    right->CopyFrom(message);
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (field.is_repeated())
        spoil_list(message, field, depth);
      else
        spoil(message, field, depth);
      message.CopyFrom(*right);
    }
  }

  void spoil(Message& message, const FieldDescriptor& field, int depth) {
    const Reflection& reflection = *message.GetReflection();
    const auto each = [&](auto values, auto set) {
      for (const auto& value : values) {
        set(value);
        ask_();
      }
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return each(bad_texts(), [&](const std::string& text) { reflection.SetString(&message, &field, text); });
      case FieldDescriptor::CPPTYPE_UINT64:
        return each(std::vector<std::uint64_t>{0, 1, 5, 1ULL << 52},
                    [&](std::uint64_t number) { reflection.SetUInt64(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_INT64:
        return each(std::vector<std::int64_t>{0, 1, -1, 1LL << 52},
                    [&](std::int64_t number) { reflection.SetInt64(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_UINT32:
        return each(std::vector<std::uint32_t>{0, 1, UINT32_MAX},
                    [&](std::uint32_t number) { reflection.SetUInt32(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_INT32:
        return each(std::vector<std::int32_t>{0, 1, -1},
                    [&](std::int32_t number) { reflection.SetInt32(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_BOOL:
        return each(std::vector<int>{0, 1}, [&](int on) { reflection.SetBool(&message, &field, on != 0); });
      case FieldDescriptor::CPPTYPE_ENUM:
        return each(std::vector<int>{0, field.enum_type()->value_count() - 1},
                    [&](int index) { reflection.SetEnum(&message, &field, field.enum_type()->value(index)); });
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (depth == 3) return;
        Message& inner = *reflection.MutableMessage(&message, &field);
        ask_();
        make_plausible(inner);
        ask_();
        return spoil_fields(inner, depth + 1);
      }
      default:
        FAIL() << "numbers of another kind: " << field.full_name();
    }
  }

  void spoil_list(Message& message, const FieldDescriptor& field, int depth) {
    const Reflection& reflection = *message.GetReflection();
    reflection.ClearField(&message, &field);
    ask_();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      for (const std::string& text : bad_texts()) {
        reflection.ClearField(&message, &field);
        reflection.AddString(&message, &field, text);
        ask_();
      }
      for (int i = 0; i < 1'001; ++i) reflection.AddString(&message, &field, plausible(field));
      return ask_();
    }
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || depth == 3) return;
    Message& inner = *reflection.AddMessage(&message, &field);
    ask_();
    make_plausible(inner);
    ask_();
    spoil_fields(inner, depth + 1);
    for (int i = 0; i < 1'001; ++i) reflection.AddMessage(&message, &field);
    ask_();
  }

  static std::vector<std::string> bad_texts() {
    return {"", "\x01", std::string(2'000, 'x'), "bob_alice", "alice_bob", "group_99", "group", "nobody"};
  }

  std::function<void()> ask_;
};

/// What was named and leads nowhere, once for each operation.
struct Misnamed {
  std::set<std::string> found;
  int named = 0;
  void take(std::string_view operation, const Descriptor& kind, const std::string& code, const std::string& field,
            const std::set<std::string>& also) {
    if (field.empty()) return;
    ++named;
    if (!also.contains(field) && !leads(kind, field)) found.insert(fmt::format("{}: {} of {}", operation, field, code));
  }
};

/// Alice's group 1 with Bob and a message.
void make_world(ServerProcess& server) {
  HttpClient http(server.port());
  const std::string token = server.token("alice");
  ASSERT_EQ(http.post("/v1/groups", token, R"({"title":"G","members":["bob"]})").status, 201);
  pb::SendRequest hello;
  hello.set_conversation_id("group_1");
  hello.set_client_msg_id(new_id());
  hello.mutable_body()->set_text("hello");
  std::string json;
  write_json(hello, json);
  ASSERT_EQ(http.post("/v1/messages", token, json).status, 201);
}

TEST(ErrorFields, OnALinkTheyAreOfTheRequest) {
  ServerProcess server;
  make_world(server);
  Misnamed misnamed;
  std::unique_ptr<WsClient> client;
  int devices = 0;
  const auto call = [&](const pb::ClientFrame& frame) {
    if (client == nullptr || client->closed()) {
      client = std::make_unique<WsClient>(server.port(), Dialect::json);
      client->hello(server.newer_token("alice"), {.device = "phone" + std::to_string(++devices)});
    }
    return client->call(frame);
  };
  const auto* operations = pb::ClientFrame::descriptor()->FindOneofByName("operation");
  // These have no answer of their own, or end the session; what begins it has tests of its own.
  const std::set<std::string> apart = {"hello", "ack", "logout", "logout_others", "remove_device", "dissolve_group"};
  for (int i = 0; i < operations->field_count(); ++i) {
    const FieldDescriptor& operation = *operations->field(i);
    if (apart.contains(operation.name())) continue;
    pb::ClientFrame frame;
    Message& request = *frame.GetReflection()->MutableMessage(&frame, &operation);
    Spoiler spoiler(request, [&] {
      const pb::ServerFrame answer = call(frame);
      if (!answer.has_error()) return;
      const std::string& field = answer.error().field();
      // A change is named by the mutation's own fields.
      const Descriptor* kind = request.GetDescriptor();
      if (const auto change = frame.mutate().change_case(); frame.has_mutate() && change != 0)
        if (const auto* made = kind->FindFieldByNumber(change)->message_type(); leads(*made, field)) kind = made;
      const bool whole = leads(*pb::ClientFrame::descriptor(), field);
      misnamed.take(operation.name(), *kind, answer.error().code(), whole ? std::string() : field, {"operation"});
    });
  }
  EXPECT_THAT(misnamed.found, ::testing::IsEmpty());
  EXPECT_GT(misnamed.named, 100);
}

/// The request as a caller of HTTP writes it.
struct Written {
  std::string target;
  std::string body;
};
Written written(const Route& route, const Message& request) {
  const std::unique_ptr<Message> left(request.New());
  left->CopyFrom(request);
  const auto text_of = [&](std::string_view name) {
    const FieldDescriptor& field = *request.GetDescriptor()->FindFieldByName(std::string(name));
    const Reflection& reflection = *request.GetReflection();
    left->GetReflection()->ClearField(left.get(), &field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return reflection.GetString(request, &field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64)
      return std::to_string(reflection.GetUInt64(request, &field));
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) return std::to_string(reflection.GetInt64(request, &field));
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32)
      return std::to_string(reflection.GetUInt32(request, &field));
    return std::string("recent");  // a word
  };
  Written made{std::string(route.path), {}};
  for (const RouteParam& param : route.path_params) {
    std::string value = text_of(param.field);
    if (!param.seq_field.empty()) value += ":" + text_of(param.seq_field);
    const std::string place = "{" + std::string(param.name) + "}";
    made.target.replace(made.target.find(place), place.size(), percent_encode(value));
  }
  for (const RouteParam& param : route.query_params) {
    if (param.field.empty()) continue;
    const std::string value = text_of(param.field);
    if (value.empty() || value == "0") continue;
    made.target += (made.target.find('?') == std::string::npos ? "?" : "&") + std::string(param.name) + "=" +
                   percent_encode(value);
  }
  if (route.takes_body) write_json(*left, made.body);
  return made;
}

TEST(ErrorFields, OverHttpTheyAreOfTheRequestOrItsParameters) {
  ServerProcess server;
  make_world(server);
  HttpClient http(server.port());
  Misnamed misnamed;
  const auto* pool = pb::ClientFrame::descriptor()->file()->pool();
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  for (const Route& route : routes()) {
    // Whose world it is stays.
    const std::string name(route.operation_id);
    if (route.request.empty() || name.starts_with("dissolve") || name.starts_with("deleteUser")) continue;
    const Descriptor* kind = pool->FindMessageTypeByName("tidemark.v1." + std::string(route.request));
    ASSERT_NE(kind, nullptr) << route.request;
    std::set<std::string> also = {"Tidemark-Device", "Idempotency-Key", "cursor"};
    for (const RouteParam& param : route.path_params) also.emplace(param.name);
    for (const RouteParam& param : route.query_params) also.emplace(param.name);
    const std::unique_ptr<Message> request(factory->GetPrototype(kind)->New());
    Spoiler spoiler(*request, [&] {
      const Written made = written(route, *request);
      const std::string token = route.auth == RouteAuth::admin ? server.admin_token() : server.newer_token("alice");
      const HttpResponse answer = http.call(route.method, made.target, token, made.body);
      if (answer.status / 100 == 2) return;
      misnamed.take(name, *kind, error_code(answer), error_field(answer), also);
    });
  }
  EXPECT_THAT(misnamed.found, ::testing::IsEmpty());
  EXPECT_GT(misnamed.named, 200);
}

}  // namespace
}  // namespace tidemark::testing
