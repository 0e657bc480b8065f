#include "wire/openapi.h"

#include <gmock/gmock.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "wire/data_check.h"
#include "wire/json_schema.h"
#include "wire/openapi_text.h"
#include "wire/routes.h"

namespace tidemark {
namespace {

using simdjson::dom::element;

class Openapi : public testing::Test {
 protected:
  Openapi() { document_ = parser_.parse(text_); }

  element at(std::string_view pointer) const { return document_.at_pointer(pointer); }
  bool has(std::string_view pointer) const { return document_.at_pointer(pointer).error() == simdjson::SUCCESS; }

  std::string text_ = openapi_json({.version = "9.8.7", .server_url = "https://chat.example"});
  simdjson::dom::parser parser_;
  element document_;
};

void collect_refs(element node, std::set<std::string>& refs) {
  if (node.is_array()) {
    for (element item : node.get_array()) collect_refs(item, refs);
  } else if (node.is_object()) {
    for (auto [name, value] : node.get_object()) {
      if (name == "$ref")
        refs.insert(std::string(value.get_string().value()));
      else
        collect_refs(value, refs);
    }
  }
}

/// A path as part of a JSON pointer.
std::string escaped(std::string_view path) {
  std::string out;
  for (char c : path) out += c == '/' ? "~1" : std::string(1, c);
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c | 0x20);
  return out;
}

TEST_F(Openapi, IsJsonWithoutDoubledKeys) {
  EXPECT_TRUE(check_data(text_, 64, 100'000)) << check_data(text_, 64, 100'000).error().detail;
  EXPECT_EQ(at("/info/version").get_string().value(), "9.8.7");
  EXPECT_EQ(at("/servers/0/url").get_string().value(), "https://chat.example");
}

TEST_F(Openapi, EveryReferenceResolves) {
  std::set<std::string> refs;
  collect_refs(document_, refs);
  EXPECT_GT(refs.size(), 30u);
  for (const std::string& ref : refs) EXPECT_TRUE(has(ref.substr(1))) << ref;
}

TEST_F(Openapi, SaysThatAServerMayNotBeReady) {
  const std::string responses = "/paths/~1readyz/get/responses";
  EXPECT_EQ(at(responses + "/503/$ref").get_string().value(), "#/components/responses/Error503");
  EXPECT_EQ(at(responses).get_object().size(), 2u);
  EXPECT_EQ(at("/paths/~1healthz/get/responses").get_object().size(), 1u);
}

TEST_F(Openapi, HoldsEveryRouteWithItsAnswersAndParameters) {
  for (const Route& route : routes()) {
    const std::string place = "/paths/" + escaped(route.path) + "/" + lower(route.method);
    ASSERT_TRUE(has(place)) << place;
    EXPECT_EQ(at(place + "/operationId").get_string().value(), route.operation_id);
    EXPECT_TRUE(has(place + "/responses/" + std::to_string(route.success_status))) << place;
    if (route.repeated_status) EXPECT_TRUE(has(place + "/responses/" + std::to_string(route.repeated_status)));
    EXPECT_EQ(has(place + "/requestBody"), route.takes_body) << place;
    EXPECT_EQ(has(place + "/responses/401"), route.auth != RouteAuth::none) << place;
    std::set<std::string> names;
    for (element param : at(place + "/parameters").get_array())
      if (std::string_view name; param["name"].get(name) == simdjson::SUCCESS) names.insert(std::string(name));
    for (const auto params : {route.path_params, route.query_params})
      for (const RouteParam& param : params) EXPECT_TRUE(names.contains(std::string(param.name))) << place;
  }
}

/// What the specification (OpenAPI 3.1.0) asks of each operation, and no more than we give.
TEST_F(Openapi, EveryOperationIsComplete) {
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (auto [path, item] : at("/paths").get_object()) {
    EXPECT_TRUE(path.starts_with('/')) << path;
    for (auto [method, operation] : item.get_object()) {
      ++operations;
      const std::string where = std::string(method) + " " + std::string(path);
      EXPECT_TRUE(ids.insert(std::string(operation["operationId"].get_string().value())).second) << where;
      EXPECT_EQ(operation["security"].get_array().error(), simdjson::SUCCESS) << where;
      std::set<std::string> in_path;
      for (element param : operation["parameters"].get_array()) {
        if (param["$ref"].error() == simdjson::SUCCESS) continue;
        EXPECT_EQ(param["schema"].get_object().error(), simdjson::SUCCESS) << where;
        if (param["in"].get_string().value() != "path") continue;
        EXPECT_TRUE(param["required"].get_bool().value()) << where;
        in_path.insert("{" + std::string(param["name"].get_string().value()) + "}");
      }
      for (const std::string& name : in_path) EXPECT_NE(path.find(name), path.npos) << where << " " << name;
      EXPECT_EQ(in_path.size(), static_cast<std::size_t>(std::ranges::count(path, '{'))) << where;
      EXPECT_GT(operation["responses"].get_object().value().size(), 0u) << where;
      for (auto [status, response] : operation["responses"].get_object())
        EXPECT_TRUE(response["description"].error() == simdjson::SUCCESS ||
                    response["$ref"].error() == simdjson::SUCCESS)
            << where << " " << status;
    }
  }
  EXPECT_EQ(operations, routes().size()) << "and there are no others";
}

TEST_F(Openapi, TellsWhichOperationsTakeAnIdempotencyKey) {
  for (const Route& route : routes()) {
    bool takes = false;
    for (element param : at("/paths/" + escaped(route.path) + "/" + lower(route.method) + "/parameters").get_array())
      if (std::string_view ref; param["$ref"].get(ref) == simdjson::SUCCESS)
        takes = takes || ref == "#/components/parameters/IdempotencyKey";
    EXPECT_EQ(takes, route.takes_idempotency_key) << route.path;
  }
}

TEST_F(Openapi, HoldsWhatTheServerSendsToTheApplication) {
  for (const char* hook : {"hooks.url", "hooks.before_send_url", "hooks.notify_url"})
    EXPECT_TRUE(has("/webhooks/" + std::string(hook) + "/post/requestBody/content/application~1json/schema/$ref"));
  EXPECT_FALSE(has("/components/schemas/BeforeSendVerdict/required")) << "the application leaves out what it likes";
  EXPECT_TRUE(has("/components/schemas/HookEvent/required"));
}

TEST_F(Openapi, HoldsEveryErrorCodeWithItsStatus) {
  std::set<std::string> listed;
  for (element row : at("/components/schemas/ErrorCode/x-codes").get_array()) {
    const std::string_view code = row["code"].get_string().value();
    const auto known = error_code_named(code);
    ASSERT_TRUE(known) << code;
    EXPECT_EQ(row["status"].get_int64().value(), error_info(*known).http_status);
    listed.insert(std::string(code));
  }
#define TIDEMARK_ERROR(name, number, http, retryable, english, chinese) EXPECT_TRUE(listed.contains(#name));
#include "errors.def"
#undef TIDEMARK_ERROR
}

TEST_F(Openapi, RequestsRefuseUnknownFieldsAndAnswersHoldAllOfTheirs) {
  EXPECT_FALSE(at("/components/schemas/SendRequest/additionalProperties").get_bool().value());
  EXPECT_FALSE(has("/components/schemas/SendRequest/required"));
  EXPECT_EQ(at("/components/schemas/Sent/required").get_array().value().size(), 7u);
  EXPECT_FALSE(has("/components/schemas/Sent/additionalProperties"));
  EXPECT_FALSE(has("/components/schemas/Body/required")) << "a body stands in requests too";
  EXPECT_EQ(at("/components/schemas/Priority/enum/1").get_string().value(), "high");
  EXPECT_EQ(at("/components/schemas/Message/properties/body/anyOf/1/type").get_string().value(), "null");
  EXPECT_EQ(text_.find("nullable"), std::string::npos) << "a word of OpenAPI 3.0, which counts beside a type alone";
}

TEST_F(Openapi, EverySentenceSpeaksOfSomethingThatExists) {
  for (const auto& [name, sentence] : schema_sentences()) {
    const std::string_view message = name.substr(0, name.find('.'));
    ASSERT_TRUE(plan_named(message)) << name;
    if (message.size() < name.size()) EXPECT_TRUE(plan_named(message)->find(name.substr(message.size() + 1))) << name;
    EXPECT_NE(text_.find(std::string(message)), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tidemark
