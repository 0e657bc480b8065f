#include "gateway/http_api.h"

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/json_writer.h"
#include "wire/routes.h"

namespace tidemark {
namespace {

/// Where in the frame the request of an operation lies, or nullptr for one that is no frame.
google::protobuf::Message* request_in(pb::ClientFrame& frame, HttpOperation operation) {
  switch (operation) {
    case HttpOperation::send_message:
    case HttpOperation::send_as:
      return frame.mutable_send();
    case HttpOperation::get_message:
      return frame.mutable_message();
    case HttpOperation::get_body:
      return frame.mutable_body();
    case HttpOperation::edit_message:
      return frame.mutable_mutate()->mutable_edit();
    case HttpOperation::recall_message:
    case HttpOperation::recall_as_operator:
      return frame.mutable_mutate()->mutable_recall();
    case HttpOperation::react_to_message:
      return frame.mutable_mutate()->mutable_react();
    case HttpOperation::get_receipts:
      return frame.mutable_receipts();
    case HttpOperation::get_totals:
      return frame.mutable_totals();
    case HttpOperation::get_reactions:
      return frame.mutable_reactions();
    case HttpOperation::sync:
      return frame.mutable_sync();
    case HttpOperation::list_conversations:
      return frame.mutable_conversations();
    case HttpOperation::get_conversation:
      return frame.mutable_conversation();
    case HttpOperation::get_jumps:
      return frame.mutable_jumps();
    case HttpOperation::get_history:
      return frame.mutable_history();
    case HttpOperation::mark_read:
      return frame.mutable_mutate()->mutable_read();
    case HttpOperation::mark_unread:
      return frame.mutable_mutate()->mutable_mark_unread();
    case HttpOperation::clear_conversation:
      return frame.mutable_mutate()->mutable_clear();
    case HttpOperation::remove_conversation:
      return frame.mutable_mutate()->mutable_remove();
    case HttpOperation::delete_message:
    case HttpOperation::delete_messages:
      return frame.mutable_mutate()->mutable_delete_for_me();
    case HttpOperation::mute_conversation:
      return frame.mutable_mutate()->mutable_mute();
    case HttpOperation::pin_conversation:
      return frame.mutable_mutate()->mutable_pin();
    case HttpOperation::save_draft:
      return frame.mutable_mutate()->mutable_draft();
    case HttpOperation::list_drafts:
      return frame.mutable_drafts();
    case HttpOperation::put_setting:
    case HttpOperation::delete_setting:
      return frame.mutable_mutate()->mutable_setting();
    case HttpOperation::list_settings:
      return frame.mutable_settings();
    case HttpOperation::block_user:
    case HttpOperation::unblock_user:
      return frame.mutable_mutate()->mutable_block();
    case HttpOperation::list_blocked:
      return frame.mutable_blocked_users();
    case HttpOperation::create_group:
    case HttpOperation::create_group_as:
      return frame.mutable_create_group();
    case HttpOperation::list_members:
    case HttpOperation::list_members_as_operator:
      return frame.mutable_members();
    case HttpOperation::get_heads:
      return frame.mutable_heads();
    case HttpOperation::get_group:
    case HttpOperation::get_group_as_operator:
      return frame.mutable_group();
    case HttpOperation::change_group:
      return frame.mutable_change_group();
    case HttpOperation::dissolve_group:
    case HttpOperation::dissolve_as_operator:
      return frame.mutable_dissolve_group();
    case HttpOperation::join_group:
      return frame.mutable_join_group();
    case HttpOperation::set_role:
      return frame.mutable_set_role();
    case HttpOperation::mute_member:
      return frame.mutable_mute_member();
    case HttpOperation::remove_members:
      return frame.mutable_remove_members();
    case HttpOperation::add_members:
    case HttpOperation::add_members_as_operator:
      return frame.mutable_add_members();
    case HttpOperation::remove_member:
      return frame.mutable_remove_member();
    case HttpOperation::list_devices:
    case HttpOperation::list_devices_of:
      return frame.mutable_devices();
    case HttpOperation::change_device:
      return frame.mutable_change_device();
    case HttpOperation::remove_device:
    case HttpOperation::remove_device_of:
      return frame.mutable_remove_device();
    case HttpOperation::logout_device:
    case HttpOperation::logout:
    case HttpOperation::logout_device_of:
    case HttpOperation::logout_user:
      return frame.mutable_logout();
    case HttpOperation::logout_others:
      return frame.mutable_logout_others();
    case HttpOperation::get_presence:
      return frame.mutable_presence();
    case HttpOperation::send_ephemeral:
      return frame.mutable_ephemeral();
    case HttpOperation::put_user:
      return frame.mutable_put_user();
    case HttpOperation::get_user:
      return frame.mutable_get_user();
    case HttpOperation::delete_user:
      return frame.mutable_delete_user();
    case HttpOperation::delete_as_operator:
      return frame.mutable_delete_message();
    case HttpOperation::put_users:
      return frame.mutable_put_users();
    case HttpOperation::create_groups:
      return frame.mutable_create_groups();
    case HttpOperation::import_conversation:
      return frame.mutable_import();
    case HttpOperation::list_dead_events:
      return frame.mutable_dead_events();
    case HttpOperation::replay_events:
      return frame.mutable_replay_events();
    case HttpOperation::healthz:
    case HttpOperation::readyz:
    case HttpOperation::metrics:
    case HttpOperation::openapi:
      return nullptr;
  }
  return nullptr;
}

/// What the method says beside path and body.
Result<void> complete(pb::ClientFrame& frame, HttpOperation operation) {
  if (operation == HttpOperation::unblock_user) frame.mutable_mutate()->mutable_block()->set_blocked(false);
  if (operation == HttpOperation::put_setting && !frame.mutate().setting().has_value())
    return fail(ErrorCode::MALFORMED, "value", "Give the setting's value, a JSON text.");
  return {};
}

/// What the frame carries, without the frame.
std::string content_of(const pb::ServerFrame& frame) {
  const auto* oneof = pb::ServerFrame::descriptor()->FindOneofByName("operation");
  const auto* field = frame.GetReflection()->GetOneofFieldDescriptor(frame, oneof);
  TM_CHECK(field != nullptr, "every operation has an answer");
  std::string body;
  write_json(frame.GetReflection()->GetMessage(frame, field), body);
  return body;
}

/// The field at fault as the caller of HTTP knows it.
std::string field_of(const Route& route, std::string field) {
  // HTTP knows no mutation numbers: the fields of the change are the request's own.
  constexpr std::string_view kMutate = "mutate.";
  if (const auto change = field.find('.', kMutate.size()); field.starts_with(kMutate) && change != std::string::npos)
    field = field.substr(change + 1);
  for (const RouteParam& param : route.path_params)
    if (!param.seq_field.empty() && (field == param.seq_field || field == param.field)) return std::string(param.name);
  for (const RouteParam& param : route.query_params)
    if (param.field == field) return std::string(param.name);
  return field;
}

}  // namespace

std::string error_body(const Error& error) {
  pb::ErrorAnswer answer;
  to_pb(error, *answer.mutable_error());
  std::string body;
  write_json(answer, body);
  return body;
}

HttpAnswer HttpApi::refusal(const Error& error, std::string allow) {
  HttpAnswer answer;
  answer.status = error_info(error.code).http_status;
  answer.body = error_body(error);
  if (error.retry_after_ms > 0)
    answer.headers.emplace_back("Retry-After", std::to_string((error.retry_after_ms + 999) / 1'000));
  if (answer.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (!allow.empty()) answer.headers.emplace_back("Allow", std::move(allow));
  return answer;
}

HttpAnswer HttpApi::upgrade_required(const Error& error) {
  HttpAnswer answer = refusal(error);
  answer.status = 426;
  answer.headers.emplace_back("Sec-WebSocket-Version", "13");
  answer.headers.emplace_back("Upgrade", "websocket");
  return answer;
}

std::string_view HttpApi::bearer_of(const HttpRequest& request) {
  const std::string_view value = request.headers.get("Authorization").value_or(std::string_view());
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size() || !equal_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
  return value.substr(kScheme.size());
}

Result<Caller> HttpApi::caller_of(const HttpRequest& request, bool admin) const {
  const std::string_view token = bearer_of(request);
  if (token.empty()) return fail(ErrorCode::BAD_TOKEN, "Authorization", "Send the header Authorization: Bearer TOKEN.");
  TM_ASSIGN(const Principal principal, admin ? host_.admin(token) : host_.user(token));
  Caller caller{.user = principal.user,
                .device = principal.device,
                .admin = admin,
                .level = principal.level,
                .token_issued_at = principal.issued_at_ms,
                .token_of_device = !principal.device.empty()};
  if (caller.device.empty())
    if (const auto named = request.headers.get("Tidemark-Device")) {
      TM_TRY(check_name(*named, 64, "Tidemark-Device"));
      caller.device = DeviceId(*named);
    }
  return caller;
}

void HttpApi::handle(const HttpRequest& request, std::move_only_function<void(HttpAnswer)> answer) {
  // Whoever looks for the WebSocket with curl or through a proxy that drops the upgrade has found it all the same.
  if (request.path == kWebSocketPath)
    return answer(upgrade_required({ErrorCode::MALFORMED, "Upgrade", "This is the WebSocket; ask for an upgrade."}));
  const auto matched = match_route(request.method == "HEAD" ? "GET" : request.method, request.segments);
  if (!matched) return answer(refusal(matched.error().error, matched.error().allow));
  const Route& route = **matched;
  switch (route.operation) {
    case HttpOperation::healthz:
      return answer({.body = "{\"status\":\"ok\"}"});
    case HttpOperation::readyz: {
      const auto ready = host_.ready();
      if (!ready) return answer(refusal(ready.error()));
      std::string body = "{\"status\":\"ready\",\"warning\":";
      write_json_string(*ready, body);
      return answer({.body = body + "}"});
    }
    case HttpOperation::metrics:
      return answer({.content_type = "text/plain; version=0.0.4", .body = host_.metrics()});
    case HttpOperation::openapi:
      return answer({.body = host_.openapi});
    default:
      break;
  }
  const auto caller = caller_of(request, route.auth == RouteAuth::admin);
  if (!caller) return answer(refusal(caller.error()));
  auto frame = std::make_unique<pb::ClientFrame>();
  google::protobuf::Message* message = request_in(*frame, route.operation);
  const QueryParams query(request.query);
  if (auto filled = fill_request(route, request.segments, query, request.body, message); !filled)
    return answer(refusal(filled.error()));
  if (auto completed = complete(*frame, route.operation); !completed) return answer(refusal(completed.error()));
  if (route.operation == HttpOperation::sync)
    if (const auto cursor = query_param(query, "cursor"); cursor && !cursor->empty())
      if (auto opened = service_.open_sync_cursor(*caller, *cursor, *frame); !opened)
        return answer(refusal(opened.error()));
  if (route.takes_idempotency_key)
    if (const auto key = request.headers.get("Idempotency-Key")) frame->set_idempotency_key(std::string(*key));

  const pb::ClientFrame& asked = *frame;
  service_.call(*caller, asked,
                [this, &route, caller = *caller, frame = std::move(frame),
                 answer = std::move(answer)](Result<std::unique_ptr<pb::ServerFrame>> result) mutable {
                  if (!result) {
                    result.error().field = field_of(route, std::move(result.error().field));
                    return answer(refusal(result.error()));
                  }
                  if (route.operation == HttpOperation::sync) service_.seal_sync_cursor(caller, *frame, **result);
                  HttpAnswer made;
                  made.status = route.success_status;
                  if (route.repeated_status != 0 && ((*result)->sent().duplicate() || (*result)->group().duplicate()))
                    made.status = route.repeated_status;
                  made.body = content_of(**result);
                  answer(std::move(made));
                });
}

}  // namespace tidemark
