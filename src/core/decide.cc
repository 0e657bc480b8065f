#include "core/decide.h"

#include "base/check.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/registered.h"
#include "core/session.h"

namespace tidemark {
namespace {

struct Pick {
  View& view;
  const Context& context;
  Result<Decision> operator()(const SendCommand& c) { return decide_send(view, c, context); }
  Result<Decision> operator()(const MutateCommand& c) { return decide_mutate(view, c, context); }
  Result<Decision> operator()(const CreateGroupCommand& c) { return decide_create_group(view, c, context); }
  Result<Decision> operator()(const AddMembersCommand& c) { return decide_add_members(view, c, context); }
  Result<Decision> operator()(const RemoveMemberCommand& c) { return decide_remove_member(view, c, context); }
  Result<Decision> operator()(const RemoveMembersCommand& c) { return decide_remove_members(view, c, context); }
  Result<Decision> operator()(const JoinGroupCommand& c) { return decide_join_group(view, c, context); }
  Result<Decision> operator()(const ChangeGroupCommand& c) { return decide_change_group(view, c, context); }
  Result<Decision> operator()(const SetRoleCommand& c) { return decide_set_role(view, c, context); }
  Result<Decision> operator()(const MuteMemberCommand& c) { return decide_mute_member(view, c, context); }
  Result<Decision> operator()(const DissolveGroupCommand& c) { return decide_dissolve_group(view, c, context); }
  Result<Decision> operator()(const LoginCommand& c) { return decide_login(view, c, context); }
  Result<Decision> operator()(const ChangeDeviceCommand& c) { return decide_change_device(view, c, context); }
  Result<Decision> operator()(const EndSessionsCommand& c) { return decide_end_sessions(view, c, context); }
  Result<Decision> operator()(const DeviceSeenCommand& c) { return decide_device_seen(view, c, context); }
  Result<Decision> operator()(const DropTombstonesCommand& c) { return decide_drop_tombstones(view, c, context); }
  Result<Decision> operator()(const ExpireFilesCommand&) { return decide_expire_files(view, context); }
  Result<Decision> operator()(const ImportCommand& c) { return decide_import(view, c, context); }
  Result<Decision> operator()(const SetUserCommand& c) { return decide_set_user(view, c, context); }
  Result<Decision> operator()(const DeleteUserCommand& c) { return decide_delete_user(view, c, context); }
  Result<Decision> operator()(const DeleteMessageCommand& c) { return decide_delete_message(view, c, context); }
};

/// Who acts.
struct Actor {
  static const UserId& nobody() {
    static const UserId none;
    return none;
  }
  const UserId& operator()(const DropTombstonesCommand&) const { return nobody(); }
  const UserId& operator()(const ExpireFilesCommand&) const { return nobody(); }
  const UserId& operator()(const SendCommand& c) const { return c.sender; }
  const UserId& operator()(const CreateGroupCommand& c) const { return c.creator; }
  const UserId& operator()(const auto& c) const { return c.user; }
};

/// An operator, or the server itself, needs to be no user.
struct ByOperator {
  bool operator()(const MutateCommand& c) {
    const auto* recall = std::get_if<RecallCommand>(&c.change);
    return recall != nullptr && recall->admin;
  }
  bool operator()(const AddMembersCommand& c) { return c.admin; }
  bool operator()(const DissolveGroupCommand& c) { return c.admin; }
  bool operator()(const RemoveMembersCommand&) { return true; }
  bool operator()(const SetUserCommand&) { return true; }
  bool operator()(const DeleteUserCommand&) { return true; }
  bool operator()(const DeleteMessageCommand&) { return true; }
  bool operator()(const ImportCommand&) { return true; }
  bool operator()(const SendCommand& c) { return c.system; }
  // The server's own.
  bool operator()(const DropTombstonesCommand&) { return true; }
  bool operator()(const ExpireFilesCommand&) { return true; }
  bool operator()(const auto&) { return false; }
};

/// The field that names who acts.
struct FieldOfActor {
  std::string_view operator()(const SendCommand& c) { return c.admin ? "sender" : "token"; }
  std::string_view operator()(const EndSessionsCommand& c) { return c.admin ? "user" : "token"; }
  std::string_view operator()(const CreateGroupCommand& c) { return c.by.empty() ? "token" : "owner"; }
  std::string_view operator()(const auto&) { return "token"; }
};

/// Whoever acts has to be registered where that is asked for. His token names him, or, for an administrator, the field
/// of him whom he speaks for.
Result<void> check_actor(View& view, const Command& command, const CoreParams& params) {
  if (std::visit(ByOperator{}, command)) return {};
  const std::string_view field = std::visit(FieldOfActor{}, command);
  const UserId& actor = std::visit(Actor{}, command);
  TM_TRY(check_user_id(actor, field));
  return check_registered(view, params, actor, field);
}

/// Under the same key once.
Result<Decision> decide_once(View& view, const Command& command, const Context& context, const Session& by) {
  if (by.idempotency_key.empty()) return std::visit(Pick{view, context}, command);
  TM_ASSIGN(auto before, decided_before(view, command, context, by));
  if (before) return std::move(*before);
  TM_ASSIGN(Decision decision, std::visit(Pick{view, context}, command));
  remember_decided(decision, context, by);
  return decision;
}

}  // namespace

std::uint64_t next_number(std::uint64_t head, std::uint32_t line_epoch, std::uint32_t store_epoch) {
  TM_CHECK(store_epoch >= line_epoch, "a line was written in an epoch after the store's");
  return head + 1 + (std::uint64_t{store_epoch - line_epoch} << 32);
}

Result<Decision> decide(View& view, const Command& command, const Context& context, const Session& by) {
  Result<void> known = check_actor(view, command, context.params);
  if (known) known = check_session(view, by);
  Result<Decision> decision = known ? decide_once(view, command, context, by) : std::unexpected(known.error());
  // What was decided on a read that failed is void.
  if (view.failure()) return std::unexpected(*view.failure());
  return decision;
}

}  // namespace tidemark
