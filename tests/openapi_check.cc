#include "openapi_check.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <vector>

#include "wire/openapi.h"

namespace tidemark::testing {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

/// The document of this build, which is the one that the server hands out.
class Document {
 public:
  Document() { root_ = parser_.parse(text_); }

  element root() const { return root_; }
  /// What a schema, a response or a parameter stands for.
  element resolved(element node) const {
    std::string_view ref;
    while (node.is_object() && node["$ref"].get(ref) == simdjson::SUCCESS) node = root_.at_pointer(ref.substr(1));
    return node;
  }

 private:
  simdjson::padded_string text_{openapi_json({.version = "test", .server_url = "http://127.0.0.1"})};
  simdjson::dom::parser parser_;
  element root_;
};

const Document& document() {
  static const Document made;
  return made;
}

bool has_type(element value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  throw std::logic_error("the check of answers does not know the type " + std::string(type));
}

std::string check(element schema, element value, const std::string& where);

std::string check_object(element schema, element value, const std::string& where) {
  if (simdjson::dom::array required; schema["required"].get(required) == simdjson::SUCCESS)
    for (element name : required)
      if (value[name.get_string().value()].error() != simdjson::SUCCESS)
        return fmt::format("{} lacks {}", where, name.get_string().value());
  bool more = true;
  if (schema["additionalProperties"].get(more) != simdjson::SUCCESS) more = true;
  simdjson::dom::object properties;
  const bool named = schema["properties"].get(properties) == simdjson::SUCCESS;
  for (auto [name, field] : value.get_object()) {
    element property;
    const bool known = named && properties[name].get(property) == simdjson::SUCCESS;
    if (!known && !more) return fmt::format("{} has {}", where, name);
    if (!known) continue;
    if (std::string fault = check(property, field, fmt::format("{}.{}", where, name)); !fault.empty()) return fault;
  }
  return {};
}

std::string check_number(element schema, element value, const std::string& where) {
  double least = 0, most = 0;
  const double number = value.get_double().value();
  if (schema["minimum"].get(least) == simdjson::SUCCESS && number < least) return where + " is below its minimum";
  if (schema["maximum"].get(most) == simdjson::SUCCESS && number > most) return where + " is above its maximum";
  return {};
}

std::string check_choice(simdjson::dom::array choices, element value, const std::string& where) {
  std::string last;
  for (element choice : choices) {
    last = check(choice, value, where);
    if (last.empty()) return {};
  }
  return where + " is none of what it may be; " + last;
}

/// The part of JSON Schema that the document uses. All that stands in a schema counts, also beside a $ref.
std::string check(element schema, element value, const std::string& where) {
  if (std::string_view ref; schema["$ref"].get(ref) == simdjson::SUCCESS)
    if (std::string fault = check(document().resolved(schema), value, where); !fault.empty()) return fault;
  if (simdjson::dom::array choices; schema["anyOf"].get(choices) == simdjson::SUCCESS)
    if (std::string fault = check_choice(choices, value, where); !fault.empty()) return fault;
  if (std::string_view type; schema["type"].get(type) == simdjson::SUCCESS && !has_type(value, type))
    return fmt::format("{} is no {}", where, type);
  if (simdjson::dom::array words; schema["enum"].get(words) == simdjson::SUCCESS) {
    bool among = false;
    for (element word : words)
      among = among || (value.is_string() && word.get_string().value() == value.get_string().value());
    if (!among) return where + " is not in its enum";
  }
  if (value.is_object()) return check_object(schema, value, where);
  if (value.is_int64() || value.is_uint64()) return check_number(schema, value, where);
  element items;
  if (value.is_array() && schema["items"].get(items) == simdjson::SUCCESS) {
    std::size_t place = 0;
    for (element item : value.get_array())
      if (std::string fault = check(items, item, fmt::format("{}[{}]", where, place++)); !fault.empty()) return fault;
  }
  return {};
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// How many parts of a path are named as they are; nothing when the path is another.
std::optional<int> likeness(std::string_view pattern, std::string_view path) {
  const auto wanted = parts_of(pattern), given = parts_of(path);
  if (wanted.size() != given.size()) return std::nullopt;
  int same = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == given[i])
      ++same;
    else if (!wanted[i].starts_with('{'))
      return std::nullopt;
  }
  return same;
}

std::optional<element> operation_of(std::string_view method, std::string_view target) {
  std::string verb(method);
  for (char& c : verb) c = static_cast<char>(c | 0x20);
  const std::string_view path = target.substr(0, target.find('?'));
  std::optional<element> found;
  int best = -1;
  for (auto [pattern, item] : document().root()["paths"].get_object()) {
    const auto like = likeness(pattern, path);
    element operation;
    if (!like || *like <= best || item[verb].get(operation) != simdjson::SUCCESS) continue;
    best = *like;
    found = operation;
  }
  return found;
}

std::string check_text(element schema, std::string_view json) {
  simdjson::dom::parser parser;
  element value;
  if (parser.parse(simdjson::padded_string(json)).get(value) != simdjson::SUCCESS) return "it is no JSON";
  return check(schema, value, "it");
}

}  // namespace

std::string schema_fault(std::string_view schema, std::string_view json) {
  return check_text(document().root().at_pointer(fmt::format("/components/schemas/{}", schema)), json);
}

std::string openapi_fault(std::string_view method, std::string_view target, const HttpResponse& response) {
  const auto operation = operation_of(method, target);
  element told;
  const bool known =
      operation && (*operation)["responses"][fmt::to_string(response.status)].get(told) == simdjson::SUCCESS;
  if (!known) {
    if (response.status < 400) return "it does not know this answer";
    return response.body.empty() ? "" : schema_fault("ErrorAnswer", response.body);
  }
  element schema;
  if (document().resolved(told)["content"]["application/json"]["schema"].get(schema) != simdjson::SUCCESS) return {};
  return check_text(schema, response.body);
}

}  // namespace tidemark::testing
