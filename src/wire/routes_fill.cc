// Requests filled from path, query and body.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "core/conversation_id.h"
#include "wire/json_field.h"
#include "wire/json_reader.h"
#include "wire/json_schema.h"
#include "wire/routes.h"

namespace tidemark {
namespace {

using google::protobuf::Message;

std::unexpected<Error> at(std::string_view name, Error error) {
  error.field = name;
  return std::unexpected(std::move(error));
}

/// Errors name a parameter as the caller wrote it, but no longer than is useful.
std::string shown(std::string_view name) {
  const Place place{.name = name.empty() ? "\"\"" : name};
  return path_of(&place);
}

/// One request being filled; remembers which fields have been set from outside the body, and to what.
class Filler {
 public:
  explicit Filler(Message& request) : request_(request), plan_(plan_of(request)) {}

  /// A path parameter. The body may name the field too, if it says the same.
  Result<void> fill_path(const RouteParam& param, std::string_view value) {
    if (param.seq_field.empty()) return fill_text(param, value);
    TM_ASSIGN(const MessageName name, parse_message_id(value, param.name));
    TM_TRY(fill_text(param, name.conversation.value));
    const FieldPlan& field = field_named(param.seq_field);
    TM_CHECK(field.kind == ValueKind::u64 && !field.repeated, "a message's seq fills a single number");
    const std::uint64_t given = request_.GetReflection()->GetUInt64(request_, field.descriptor);
    if (given != 0 && given != name.seq.value) return contradiction(param);
    request_.GetReflection()->SetUInt64(&request_, field.descriptor, name.seq.value);
    return {};
  }

  Result<void> fill_query(const RouteParam& param, std::string_view value) {
    if (param.field.empty()) return {};
    TM_TRY(claim(param.field, param, value));
    if (param.least > 0 || param.most != UINT64_MAX)
      if (auto number = parse_whole(value, param.least, param.most); !number) return at(param.name, number.error());
    if (auto stored = store_plain(request_, field_named(param.field), value); !stored)
      return at(param.name, stored.error());
    if (param.also_field.empty()) return {};
    TM_TRY(claim(param.also_field, param, param.also_word));
    return store_word(request_, field_named(param.also_field), param.also_word);
  }

 private:
  Result<void> fill_text(const RouteParam& param, std::string_view value) {
    const FieldPlan& field = field_named(param.field);
    TM_CHECK(field.kind == ValueKind::text && !field.repeated, "a path parameter fills a single text field");
    std::string scratch;
    const std::string& given = request_.GetReflection()->GetStringReference(request_, field.descriptor, &scratch);
    if (!given.empty() && given != value) return contradiction(param);
    store_text(request_, field, std::string(value));
    return {};
  }

  static std::unexpected<Error> contradiction(const RouteParam& param) {
    return fail(ErrorCode::MALFORMED, std::string(param.name), "The path and the body name two different ones.");
  }

  const FieldPlan& field_named(std::string_view name) const {
    const FieldPlan* field = plan_.find(name);
    TM_CHECK(field, "a route's parameter names a field that its request lacks");
    return *field;
  }

  struct Claim {
    std::string_view field;
    std::string_view value;
    std::string_view by;
  };

  /// Two parameters that fill one field must agree.
  Result<void> claim(std::string_view field, const RouteParam& param, std::string_view value) {
    for (const Claim& other : claims_)
      if (other.field == field && other.value != value)
        return fail(ErrorCode::MALFORMED, std::string(param.name),
                    fmt::format("It contradicts the parameter \"{}\".", other.by));
    claims_.push_back({field, value, param.name});
    return {};
  }

  Message& request_;
  const MessagePlan& plan_;
  std::vector<Claim> claims_;
};

const RouteParam* param_named(std::span<const RouteParam> params, std::string_view name) {
  const auto found = std::ranges::find(params, name, &RouteParam::name);
  return found == params.end() ? nullptr : &*found;
}

/// Every parameter is known and stands there once.
Result<void> check_query(const Route& route, QueryParams query) {
  for (std::size_t i = 0; i < query.size(); ++i) {
    const std::string& name = query[i].first;
    if (!param_named(route.query_params, name)) return fail(ErrorCode::UNKNOWN_FIELD, shown(name));
    for (std::size_t k = 0; k < i; ++k)
      if (query[k].first == name) return fail(ErrorCode::MALFORMED, name, "The parameter stands there twice.");
  }
  return {};
}

/// The values of a path template's parameters, in their order.
std::vector<std::pair<std::string_view, std::string_view>> path_values(std::string_view path, PathSegments segments) {
  std::vector<std::pair<std::string_view, std::string_view>> values;
  for (const std::string& segment : segments) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    if (path.starts_with('{')) values.emplace_back(path.substr(1, end - 2), segment);
    path.remove_prefix(end);
  }
  return values;
}

}  // namespace

Result<void> fill_request(const Route& route, PathSegments path, QueryParams query, std::string_view body,
                          Message* request) {
  TM_TRY(check_query(route, query));
  if (!route.takes_body && !body.empty())
    return fail(ErrorCode::MALFORMED, {}, "This operation takes no request body.");
  if (!request) {
    TM_CHECK(route.request.empty(), "the route has a request to fill");
    return {};
  }
  TM_CHECK(plan_of(*request).name == route.request, "the message is not the route's request");
  request->Clear();
  if (!body.empty()) TM_TRY(read_json(body, *request));
  Filler filler(*request);
  for (const auto& [name, value] : path_values(route.path, path)) {
    const RouteParam* param = param_named(route.path_params, name);
    TM_CHECK(param, "a route's path names a parameter that its table lacks");
    TM_TRY(filler.fill_path(*param, value));
  }
  for (const auto& [name, value] : query) TM_TRY(filler.fill_query(*param_named(route.query_params, name), value));
  return {};
}

}  // namespace tidemark
