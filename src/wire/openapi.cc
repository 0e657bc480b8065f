#include "wire/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "wire/json_schema.h"
#include "wire/json_writer.h"
#include "wire/openapi_text.h"
#include "wire/routes.h"

namespace tidemark {
namespace {

constexpr ErrorCode kCodes[] = {
#define TIDEMARK_ERROR(name, number, http, retryable, english, chinese) ErrorCode::name,
#include "errors.def"
#undef TIDEMARK_ERROR
};

/// Writes JSON in order; sees to commas and quotes.
class ApiWriter {
 public:
  ApiWriter& open(char bracket) {
    separate();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  ApiWriter& close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  ApiWriter& key(std::string_view name) {
    separate();
    write_json_string(name, out_);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  ApiWriter& text(std::string_view value) {
    separate();
    write_json_string(value, out_);
    return *this;
  }
  /// A value that is JSON already.
  ApiWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }
  ApiWriter& pair(std::string_view name, std::string_view value) { return key(name).text(value); }
  ApiWriter& pair_if(std::string_view name, std::string_view value) {
    return value.empty() ? *this : pair(name, value);
  }
  ApiWriter& ref(std::string_view kind, std::string_view name) {
    return open('{').pair("$ref", fmt::format("#/components/{}/{}", kind, name)).close('}');
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }

  std::string out_;
  bool fresh_ = true;
};

/// What the server itself sends to the application (docs/hooks.md).
struct Webhook {
  std::string_view name;  // the setting that holds its address
  std::string_view summary;
  std::string_view request;
  std::string_view response;  // "": any answer of 2xx
};
constexpr Webhook kWebhooks[] = {
    {"hooks.url", "Tells of what was committed, at least once.", "HookEvent", ""},
    {"hooks.before_send_url", "Asks before a message is taken.", "BeforeSend", "BeforeSendVerdict"},
    {"hooks.notify_url", "Tells whom to notify on his devices.", "HookNotification", ""},
};

/// The messages that requests and answers are made of, with all inside them.
struct Reach {
  std::set<std::string_view> requests;
  std::set<std::string_view> answers;

  Reach() {
    for (const Route& route : routes()) {
      if (route.takes_body) add(plan_named(route.request), requests);
      if (!route.response.empty()) add(plan_named(route.response), answers);
    }
    add(plan_named("ErrorAnswer"), answers);
    // Of a webhook the server writes the request, and reads the answer.
    for (const Webhook& hook : kWebhooks) {
      add(plan_named(hook.request), answers);
      if (!hook.response.empty()) add(plan_named(hook.response), requests);
    }
  }

  static void add(const MessagePlan* plan, std::set<std::string_view>& to) {
    TM_CHECK(plan, "a route names a message that the schema lacks");
    if (!to.insert(plan->name).second) return;
    for (const FieldPlan& field : plan->fields)
      if (field.message) add(field.message, to);
  }
};

void write_plain_type(ApiWriter& out, const FieldPlan& field) {
  switch (field.kind) {
    case ValueKind::u32:
      out.pair("type", "integer").pair("format", "int64").key("minimum").raw("0").key("maximum").raw("4294967295");
      return;
    case ValueKind::u64:
      out.pair("type", "integer").pair("format", "int64").key("minimum").raw("0");
      return;
    case ValueKind::i32:
      out.pair("type", "integer").pair("format", "int32");
      return;
    case ValueKind::i64:
      out.pair("type", "integer").pair("format", "int64");
      return;
    case ValueKind::boolean:
      out.pair("type", "boolean");
      return;
    case ValueKind::bytes:
      out.pair("type", "string").pair("format", "byte");
      return;
    default:
      out.pair("type", "string");
  }
}

/// The component that describes the field's values, or "" for a plain type.
std::string_view component_of(const MessagePlan& owner, const FieldPlan& field) {
  if (field.message) return field.message->name;
  if (field.words) return field.words->name;
  return owner.name == "Error" && field.name == "code" ? "ErrorCode" : "";
}

void write_property(ApiWriter& out, const MessagePlan& owner, const FieldPlan& field) {
  const std::string_view component = component_of(owner, field);
  out.open('{').pair_if("description", sentence_for(fmt::format("{}.{}", owner.name, field.name)));
  if (field.repeated) {
    out.pair("type", "array").key("items");
    if (component.empty()) {
      out.open('{');
      write_plain_type(out, field);
      out.close('}');
    } else {
      out.ref("schemas", component);
    }
  } else if (component.empty()) {
    write_plain_type(out, field);
  } else if (field.message) {  // one that is absent is written as null
    out.key("anyOf").open('[').ref("schemas", component).open('{').pair("type", "null").close('}').close(']');
  } else {
    out.pair("$ref", fmt::format("#/components/schemas/{}", component));
  }
  out.close('}');
}

void write_schema(ApiWriter& out, const MessagePlan& plan, const Reach& reach) {
  const bool asked = reach.requests.contains(plan.name);
  const bool answered = reach.answers.contains(plan.name);
  out.key(plan.name).open('{').pair("type", "object").pair_if("description", sentence_for(plan.name));
  out.key("properties").open('{');
  for (const FieldPlan& field : plan.fields) {
    out.key(field.name);
    write_property(out, plan, field);
  }
  out.close('}');
  if (!asked) {  // answers hold every field
    out.key("required").open('[');
    for (const FieldPlan& field : plan.fields)
      if (field.oneof < 0) out.text(field.name);
    out.close(']');
  }
  if (!answered) out.key("additionalProperties").raw("false");
  out.close('}');
}

void write_enum(ApiWriter& out, const EnumPlan& plan) {
  out.open('{').pair("type", "string").key("enum").open('[');
  for (const auto& [number, word] : plan.words) out.text(word);
  out.close(']').close('}');
}

void write_error_codes(ApiWriter& out) {
  out.key("ErrorCode").open('{').pair("type", "string");
  out.pair("description", "Codes are stable; new ones may be added. x-codes tells status and sentence of each.");
  out.key("enum").open('[');
  for (ErrorCode code : kCodes) out.text(error_info(code).name);
  out.close(']').key("x-codes").open('[');
  for (ErrorCode code : kCodes) {
    const ErrorInfo& info = error_info(code);
    out.open('{').pair("code", info.name).key("number").raw(fmt::to_string(static_cast<int>(code)));
    out.key("status").raw(fmt::to_string(info.http_status));
    out.key("retryable").raw(info.retryable ? "true" : "false");
    out.pair("message", info.english).pair("message_zh", info.chinese).close('}');
  }
  out.close(']').close('}');
}

std::set<int> error_statuses() {
  std::set<int> statuses;
  for (ErrorCode code : kCodes) statuses.insert(error_info(code).http_status);
  return statuses;
}

void write_error_responses(ApiWriter& out) {
  out.key("responses").open('{');
  for (int status : error_statuses()) {
    std::string codes;
    bool retry = false;
    for (ErrorCode code : kCodes) {
      const ErrorInfo& info = error_info(code);
      if (info.http_status != status) continue;
      codes += codes.empty() ? "" : ", ";
      codes += info.name;
      retry |= info.retryable && status != 500;
    }
    out.key(fmt::format("Error{}", status)).open('{').pair("description", codes);
    if (retry)
      out.key("headers").raw(
          R"({"Retry-After":{"description":"When to try again, in seconds.","schema":{"type":"integer"}}})");
    out.key("content").open('{').key("application/json").open('{').key("schema").ref("schemas", "ErrorAnswer");
    out.close('}').close('}').close('}');
  }
  out.close('}');
}

void write_components(ApiWriter& out) {
  const Reach reach;
  std::set<const EnumPlan*> enums;
  out.key("components").open('{').key("schemas").open('{');
  for (const MessagePlan& plan : all_plans()) {
    if (!reach.requests.contains(plan.name) && !reach.answers.contains(plan.name)) continue;
    write_schema(out, plan, reach);
    for (const FieldPlan& field : plan.fields)
      if (field.words && enums.insert(field.words).second) write_enum(out.key(field.words->name), *field.words);
  }
  write_error_codes(out);
  out.close('}');
  write_error_responses(out);
  out.key("parameters").open('{');
  out.key("Device").raw(
      R"({"name":"Tidemark-Device","in":"header","description":"The device that calls, where the token names none.",)"
      R"("schema":{"type":"string","maxLength":64}})");
  out.key("IdempotencyKey")
      .raw(R"({"name":"Idempotency-Key","in":"header","description":"Makes a repetition of the request safe; kept for )"
           R"(25 hours.","schema":{"type":"string","maxLength":64}})");
  out.close('}').key("securitySchemes").open('{');
  out.key("user").raw(
      R"({"type":"http","scheme":"bearer","bearerFormat":"JWT","description":"A user's token: sub is the user."})");
  out.key("admin").raw(
      R"({"type":"http","scheme":"bearer","bearerFormat":"JWT","description":"An admin token: adm is true."})");
  out.close('}').close('}');
}

void write_parameter(ApiWriter& out, const Route& route, const RouteParam& param, bool in_path) {
  out.open('{').pair("name", param.name).pair("in", in_path ? "path" : "query");
  out.pair("description", param.description);
  if (in_path) out.key("required").raw("true");
  out.key("schema");
  if (param.field.empty()) {
    out.raw(R"({"type":"string"})").close('}');
    return;
  }
  const FieldPlan& field = *plan_named(route.request)->find(param.field);
  if (field.words) {
    write_enum(out, *field.words);
    out.close('}');
    return;
  }
  out.open('{');
  if (param.least > 0)
    out.pair("type", "integer")
        .key("minimum")
        .raw(fmt::to_string(param.least))
        .key("maximum")
        .raw(fmt::to_string(param.most));
  else
    write_plain_type(out, field);
  out.close('}').close('}');
}

void write_success(ApiWriter& out, const Route& route, int status, std::string_view description) {
  out.key(fmt::to_string(status)).open('{').pair("description", description);
  out.key("content").open('{').key(route.response_type).open('{').key("schema");
  if (route.response.empty())
    out.raw(route.response_type == "text/plain" ? R"({"type":"string"})" : R"({"type":"object"})");
  else
    out.ref("schemas", route.response);
  out.close('}').close('}').close('}');
}

std::string_view auth_name(RouteAuth auth) {
  return auth == RouteAuth::admin ? "admin" : "user";
}

void write_operation(ApiWriter& out, const Route& route) {
  std::string method(route.method);
  for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
  out.key(method).open('{').pair("operationId", route.operation_id).pair("summary", route.summary);
  out.key("security").open('[');
  if (route.auth != RouteAuth::none) out.open('{').key(auth_name(route.auth)).raw("[]").close('}');
  out.close(']').key("parameters").open('[');
  for (const RouteParam& param : route.path_params) write_parameter(out, route, param, true);
  for (const RouteParam& param : route.query_params) write_parameter(out, route, param, false);
  if (route.auth == RouteAuth::user) out.ref("parameters", "Device");
  if (route.takes_idempotency_key) out.ref("parameters", "IdempotencyKey");
  out.close(']');
  if (route.takes_body) {
    out.key("requestBody").open('{').key("content").open('{').key("application/json").open('{').key("schema");
    out.ref("schemas", route.request).close('}').close('}').close('}');
  }
  out.key("responses").open('{');
  write_success(out, route, route.success_status, route.success_status == 201 ? "Done." : "The answer.");
  if (route.repeated_status != 0)
    write_success(out, route, route.repeated_status, "The same request was done before; this is its answer.");
  if (route.auth != RouteAuth::none) {
    for (int status : error_statuses())
      out.key(fmt::to_string(status)).ref("responses", fmt::format("Error{}", status));
  } else if (route.failing_status != 0) {
    out.key(fmt::to_string(route.failing_status)).ref("responses", fmt::format("Error{}", route.failing_status));
  }
  out.close('}').close('}');
}

void write_paths(ApiWriter& out) {
  std::vector<std::string_view> paths;  // in the order of the table
  for (const Route& route : routes())
    if (std::ranges::find(paths, route.path) == paths.end()) paths.push_back(route.path);
  out.key("paths").open('{');
  for (std::string_view path : paths) {
    out.key(path).open('{');
    for (const Route& route : routes())
      if (route.path == path) write_operation(out, route);
    out.close('}');
  }
  out.close('}');
}

void write_content(ApiWriter& out, std::string_view schema) {
  out.key("content").open('{').key("application/json").open('{').key("schema").ref("schemas", schema);
  out.close('}').close('}');
}

void write_webhooks(ApiWriter& out) {
  out.key("webhooks").open('{');
  for (const Webhook& hook : kWebhooks) {
    out.key(hook.name).open('{').key("post").open('{').pair("summary", hook.summary).key("parameters").open('[');
    for (std::string_view header : {"Tidemark-Timestamp", "Tidemark-Signature"})
      out.open('{')
          .pair("name", header)
          .pair("in", "header")
          .key("required")
          .raw("true")
          .key("schema")
          .raw(R"({"type":"string"})")
          .close('}');
    out.close(']').key("requestBody").open('{');
    write_content(out, hook.request);
    out.close('}').key("responses").open('{').key("200").open('{').pair("description", "It was taken.");
    if (!hook.response.empty()) write_content(out, hook.response);
    out.close('}').close('}').close('}').close('}');
  }
  out.close('}');
}

}  // namespace

std::string openapi_json(const OpenapiInfo& info) {
  ApiWriter out;
  out.open('{').pair("openapi", "3.1.0").key("info").open('{').pair("title", "Tidemark").pair("version", info.version);
  out.pair("description",
           "The HTTP operations of Tidemark, the sync engine of a chat application. Times are milliseconds since "
           "1970-01-01 UTC, intervals are half open (after, to], cursors and page tokens are opaque. 64-bit integers "
           "are JSON numbers below 2^53. Answers hold every field; unknown fields and parameters are refused.");
  out.key("license").raw(R"({"name":"Apache-2.0"})").close('}');
  out.key("servers").open('[').open('{').pair("url", info.server_url).close('}').close(']');
  write_paths(out);
  write_webhooks(out);
  write_components(out);
  out.close('}');
  return out.take();
}

}  // namespace tidemark
