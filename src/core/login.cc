// Links: generations of a device's session, and what a returning device is told (design, sections 4, 5 and 10).
#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/device_policy.h"
#include "core/draft.h"
#include "core/large_group.h"
#include "core/planted.h"
#include "core/reads.h"
#include "core/registered.h"
#include "core/session.h"
#include "core/sessions.h"

namespace tidemark {
namespace {

/// Any generation that its holder may have: welcomes may be lost in a row. Whoever comes with an older one is a copy.
Result<void> check_generation(const Device& known, const LoginCommand& command, std::uint32_t epoch) {
  if (command.install.empty() || known.install != command.install) return {};
  // The store was restored since: which generation was the last is not known. Who comes first goes on.
  if (known.epoch != epoch) return {};
  if (known.generation_used <= command.generation && command.generation <= known.generation) return {};
  return fail(ErrorCode::NEW_INSTALL_REQUIRED, "session_generation");
}

Result<void> check_login(View& view, const LoginCommand& command, const std::optional<Device>& known) {
  constexpr std::uint64_t kGenerationMax = 1ULL << 53;
  TM_TRY(check_token(view.user(command.user), known,
                     {command.user, command.device, {}, command.token_issued_at, command.token_of_device}));
  if (command.generation > kGenerationMax)
    return fail(ErrorCode::OUT_OF_RANGE, "session_generation", "As the last welcome gave it.");
  if (known) TM_TRY(check_generation(*known, command, view.epoch().number));
  return {};
}

Result<std::vector<Device>> displaced(View& view, const LoginCommand& command, const CoreParams& params) {
  std::vector<Device> others = view.devices(command.user);
  std::erase_if(others, [&](const Device& device) { return device.id == command.device; });
  return displaced_by(command.platform, std::move(others), params.devices);
}

/// What the device is told, as of the last published round: of a round in the making only what was decided before
/// belongs to the user's mark.
LoginReply reply_of(View& view, const LoginCommand& command, const std::optional<Device>& known, const UserHead& user,
                    std::uint64_t round) {
  const Mark mark = user.mark;
  LoginReply reply;
  reply.mode = mode_of(view, command.cursor, user);
  // Once removed, what it holds is to be replaced.
  const bool removed = known && !known->live && known->ended == SessionEnd::removed;
  if (removed && reply.mode == Mode::delta && !command.cursor.empty()) reply.mode = Mode::reset;
  reply.head = {view.epoch(), mark, round};
  reply.behind = reply.mode == Mode::delta ? mark - command.cursor.mark : mark.value;
  if (user.large_groups > 0)
    view.large_groups(command.user, ConversationId(), [&](const ConversationId& id) {
      reply.large_groups.push_back(id);
      return true;
    });
  reply.large_digest = large_digest(view, command.user);
  if (!command.install.empty())
    reply.highest_mutation = mutations_of(view, command.user, command.device, command.install).highest;
  return reply;
}

/// The device's row once it has logged in.
Device logged_in(View& view, const LoginCommand& command, const std::optional<Device>& known, std::int64_t now_ms) {
  const std::uint32_t epoch = view.epoch().number;
  Device device = known.value_or(Device{});
  if (!known) device.epoch = epoch;
  if (!known || !known->live) device.logged_in_at = now_ms;
  device.id = command.device;
  device.install = command.install;
  device.platform = command.platform;
  device.app_version = command.app_version;
  // A device whose row was dropped may come with a generation of its own: numbers never go back.
  device.generation = next_number(std::max(device.generation, command.generation), device.epoch, epoch);
  device.epoch = epoch;
  // Nobody has the generations before the one that it has shown; of another install nothing is known yet.
  const bool same = known && known->install == command.install;
  device.generation_used = same ? std::max(known->generation_used, command.generation) : command.generation;
  device.live = true;
  device.token_issued_at = std::max(device.token_issued_at, command.token_issued_at);
  device.last_seen = now_ms;
  return device;
}

/// Up to which commit round all of the user's index has come to a device that has it up to `mark`; `told`: as it says.
std::uint64_t round_of(View& view, const UserId& user, Mark mark, std::uint64_t told) {
  // Whoever stands at the head has all that was ever written, but for what this round goes on to write.
  const bool at_head = mark && mark >= view.user(user).mark;
  return std::max(std::min(told, view.round()), at_head ? view.round() - 1 : 0);
}

}  // namespace

Result<Decision> decide_login(View& view, const LoginCommand& command, const Context& context) {
  const auto known = view.device(command.user, command.device);
  TM_TRY(check_login(view, command, known));
  TM_ASSIGN(const std::vector<Device> leaving, displaced(view, command, context.params));
  Draft draft(view, context);
  const UserHead user = draft.edit_user(command.user);
  SessionEnds ends(draft, command.user);
  for (const Device& device : leaving) ends.end(device, SessionEnd::other_device);
  if (known && known->live) ends.replace(*known);
  if (known && known->install != command.install)
    draft.writes().replaced_installs.push_back({command.user, command.device, command.install, {}});

  Device device = logged_in(view, command, known, context.now_ms);
  LoginReply reply = reply_of(view, command, known, user, view.round() - 1);
  reply.generation = device.generation;
  if (reply.mode == Mode::delta) {
    device.acknowledged = std::max(device.acknowledged, command.cursor.mark);
    device.acknowledged_round =
        std::max(device.acknowledged_round, round_of(view, command.user, command.cursor.mark, command.cursor.round));
  }
  if (!leaving.empty()) ends.forget_outlived(device.id);
  draft.writes().devices.emplace_back(command.user, std::move(device));
  std::vector<Notice> notices;
  if (!known || !known->live) tell_devices(draft, command.user, command.device, notices);
  Decision decision = std::move(draft).finish(std::move(reply), std::move(notices));
  decision.ended = ends.take();
  return decision;
}

Result<LoginReply> login_unwritten(View& view, const LoginCommand& command, const CoreParams& params) {
  TM_TRY(check_registered(view, params, command.user, "token"));
  const auto known = view.device(command.user, command.device);
  TM_TRY(check_login(view, command, known));
  // A session that would begin, or end others, has to be written.
  if (!known || !known->live) {
    TM_ASSIGN(const std::vector<Device> leaving, displaced(view, command, params));
    if (!leaving.empty()) return fail(ErrorCode::RETRY_LATER, "", "No device can be logged out at the moment.", 1'000);
  }
  LoginReply reply = reply_of(view, command, known, view.user(command.user), view.round());
  reply.generation = command.generation;
  return reply;
}

namespace {
/// For the planted fault alone.
Decision log_out_late(View& view, const UserId& user, const Device& device, const Context& context) {
  Draft draft(view, context);
  SessionEnds ends(draft, user);
  ends.end(device, SessionEnd::logged_out);
  Decision decision = std::move(draft).finish(NoReply{}, {});
  decision.ended = ends.take();
  return decision;
}
}  // namespace

Result<Decision> decide_device_seen(View& view, const DeviceSeenCommand& command, const Context& context) {
  const auto known = view.device(command.user, command.device);
  if (planted(Fault::late_logout) && known && known->live && command.generation < known->generation)
    return log_out_late(view, command.user, *known, context);
  // A later login has replaced this link, the device was logged out or removed, or its login was not written.
  if (!known || !known->live || known->generation != command.generation) return fail(ErrorCode::SESSION_FENCED);
  Draft draft(view, context);
  Device device = *known;
  device.generation_used = command.generation;
  device.acknowledged = std::max(device.acknowledged, std::min(command.acknowledged, view.user(command.user).mark));
  device.acknowledged_round = std::max(device.acknowledged_round,
                                       round_of(view, command.user, command.acknowledged, command.acknowledged_round));
  device.last_seen = std::max(device.last_seen, context.now_ms - command.ago_ms);
  draft.writes().devices.emplace_back(command.user, std::move(device));
  return std::move(draft).finish(NoReply{}, {});
}

Result<Decision> decide_set_user(View& view, const SetUserCommand& command, const Context& context) {
  TM_TRY(check_user_id(command.user, "user"));
  constexpr std::string_view kLevels[] = {"", "free", "paid", "vip"};
  if (command.level && std::ranges::find(kLevels, *command.level) == std::end(kLevels))
    return fail(ErrorCode::OUT_OF_RANGE, "level", "One of free, paid, vip, or empty for the token's.");
  if (view.user(command.user).retired()) return fail(ErrorCode::USER_ID_RETIRED, "user");
  Draft draft(view, context);
  UserHead& user = draft.edit_user(command.user);
  std::vector<Notice> notices;
  if (command.level && *command.level != user.level) {
    user.level = *command.level;
    const std::string value = user.level.empty() ? "" : '"' + user.level + '"';
    std::get<Setting>(draft.edit_object(command.user, {Setting{std::string(kLevelSetting)}, Mark()}).what).value =
        value;
    notices.push_back(draft.tell_objects(command.user));
  }
  UserReply reply{command.user, user};
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
