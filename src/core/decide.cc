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
  Result<Decision> operator()(const ChangeGroupCommand& c) { return decide_change_group(view, c, context); }
  Result<Decision> operator()(const LoginCommand& c) { return decide_login(view, c, context); }
  Result<Decision> operator()(const ChangeDeviceCommand& c) { return decide_change_device(view, c, context); }
  Result<Decision> operator()(const EndSessionsCommand& c) { return decide_end_sessions(view, c, context); }
  Result<Decision> operator()(const DeviceSeenCommand& c) { return decide_device_seen(view, c, context); }
  Result<Decision> operator()(const DropTombstonesCommand& c) { return decide_drop_tombstones(view, c, context); }
  Result<Decision> operator()(const SetUserCommand& c) { return decide_set_user(view, c, context); }
};

/// Who acts.
struct Actor {
  static const UserId& nobody() {
    static const UserId none;
    return none;
  }
  const UserId& operator()(const DropTombstonesCommand&) const { return nobody(); }
  const UserId& operator()(const SendCommand& c) const { return c.sender; }
  const UserId& operator()(const CreateGroupCommand& c) const { return c.creator; }
  const UserId& operator()(const auto& c) const { return c.user; }
};

/// An operator needs to be no user.
bool by_operator(const Command& command) {
  const auto* mutate = std::get_if<MutateCommand>(&command);
  const auto* recall = mutate != nullptr ? std::get_if<RecallCommand>(&mutate->change) : nullptr;
  return recall != nullptr && recall->admin;
}

/// Whoever acts has to be registered where that is asked for. His token names him, or, for an administrator, the field
/// of him whom he speaks for.
Result<void> check_actor(View& view, const Command& command, const CoreParams& params) {
  const bool by_server = std::holds_alternative<DropTombstonesCommand>(command);
  if (by_server || std::holds_alternative<SetUserCommand>(command) || by_operator(command)) return {};
  const auto* send = std::get_if<SendCommand>(&command);
  const auto* ends = std::get_if<EndSessionsCommand>(&command);
  const std::string_view field = send != nullptr && send->admin   ? "sender"
                                 : ends != nullptr && ends->admin ? "user"
                                                                  : "token";
  const UserId& actor = std::visit(Actor{}, command);
  TM_TRY(check_user_id(actor, field));
  return check_registered(view, params, actor, field);
}

}  // namespace

std::uint64_t next_number(std::uint64_t head, std::uint32_t line_epoch, std::uint32_t store_epoch) {
  TM_CHECK(store_epoch >= line_epoch, "a line was written in an epoch after the store's");
  return head + 1 + (std::uint64_t{store_epoch - line_epoch} << 32);
}

Result<Decision> decide(View& view, const Command& command, const Context& context, const Session& by) {
  Result<void> known = check_actor(view, command, context.params);
  if (known) known = check_session(view, by);
  Result<Decision> decision = known ? std::visit(Pick{view, context}, command) : std::unexpected(known.error());
  // What was decided on a read that failed is void.
  if (view.failure()) return std::unexpected(*view.failure());
  return decision;
}

}  // namespace tidemark
