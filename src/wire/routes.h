// The HTTP operations as one table: the server dispatches by it, fills requests by it, and the served OpenAPI document
// is made of it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "wire/dialect_fwd.h"

namespace tidemark {

enum class HttpOperation : std::uint8_t {
  send_message,
  get_message,
  get_body,
  edit_message,
  recall_message,
  react_to_message,
  get_reactions,
  get_receipts,
  get_totals,
  sync,
  list_conversations,
  get_conversation,
  get_history,
  get_jumps,
  mark_read,
  mark_unread,
  clear_conversation,
  remove_conversation,
  delete_message,
  delete_messages,
  mute_conversation,
  pin_conversation,
  save_draft,
  list_drafts,
  put_setting,
  delete_setting,
  list_settings,
  block_user,
  unblock_user,
  list_blocked,
  create_group,
  get_group,
  list_members,
  get_heads,
  change_group,
  dissolve_group,
  join_group,
  add_members,
  remove_member,
  list_devices,
  change_device,
  remove_device,
  logout_device,
  logout,
  logout_others,
  get_presence,
  send_ephemeral,
  set_role,
  mute_member,
  put_user,
  get_user,
  delete_user,
  send_as,
  recall_as_operator,
  list_devices_of,
  remove_device_of,
  logout_device_of,
  logout_user,
  delete_as_operator,
  create_group_as,
  get_group_as_operator,
  list_members_as_operator,
  dissolve_as_operator,
  add_members_as_operator,
  remove_members,
  put_users,
  create_groups,
  import_conversation,
  list_dead_events,
  replay_events,
  healthz,
  readyz,
  metrics,
  openapi,
};

/// Whose token an operation takes.
enum class RouteAuth : std::uint8_t { none, user, admin };

/// A parameter of the path or the query.
struct RouteParam {
  std::string_view name;
  std::string_view field;  // of the request that it fills; "": the handler reads it itself
  std::string_view description;
  std::uint64_t least = 0;  // numbers alone
  std::uint64_t most = UINT64_MAX;
  std::string_view also_field = {};  // of enum kind: set to also_word whenever the parameter is given
  std::string_view also_word = {};
  std::string_view seq_field =
      {};  // of the path: a message's name, whose seq goes here and its conversation to `field`
};

struct Route {
  HttpOperation operation;
  std::string_view method;
  std::string_view path;          // "/v1/groups/{conversation_id}"
  std::string_view operation_id;  // "getGroup"
  std::string_view summary;       // one sentence
  RouteAuth auth;
  std::string_view request;   // message of the schema, "": takes nothing
  std::string_view response;  // message of the schema, "": see response_type
  std::string_view response_type = "application/json";
  int success_status = 200;
  int failing_status = 0;   // of an operation without authentication, the only one; 0: it cannot fail
  int repeated_status = 0;  // when the answer is that of an earlier, equal request; 0: as success_status
  bool takes_body = false;
  bool takes_idempotency_key = false;
  std::span<const RouteParam> path_params = {};
  std::span<const RouteParam> query_params = {};
};

/// Every operation, in the order of the documents.
std::span<const Route> routes();
/// The operation's row. Total.
const Route& route_of(HttpOperation operation);

/// Path segments and query parameters as decoded by the HTTP parser.
using PathSegments = std::span<const std::string>;
using QueryParams = std::span<const std::pair<std::string, std::string>>;

struct RouteMiss {
  Error error;        // NOT_FOUND or METHOD_NOT_ALLOWED
  std::string allow;  // for the header Allow: "GET, PATCH"; "" with NOT_FOUND
};

/// The operation at this place: "/v1/groups/g" is {"v1", "groups", "g"}. An empty segment fits no parameter.
std::expected<const Route*, RouteMiss> match_route(std::string_view method, PathSegments path);

/// Fills the request of a matched route from path, query and JSON body, strictly:
/// UNKNOWN_FIELD for a query parameter or body field that the operation lacks; MALFORMED for a parameter given twice or
/// against another one, a body where none is taken, a path value that differs from the same field in the body, and all
/// that read_json refuses; OUT_OF_RANGE for numbers and words. An empty body stands for {}. Parameters without a field
/// are only checked to be there once at most.
/// REQUIRES: match_route gave this route for the path; the message is of the route's request type, or nullptr when it
/// has none.
Result<void> fill_request(const Route& route, PathSegments path, QueryParams query, std::string_view body,
                          google::protobuf::Message* request);

/// The value of a query parameter.
std::optional<std::string_view> query_param(QueryParams query, std::string_view name);

}  // namespace tidemark
