// Links: generations of a device's session, and what a returning device is told (design, sections 4, 5 and 10).
#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/draft.h"
#include "core/reads.h"
#include "core/registered.h"

namespace tidemark {
namespace {

Result<void> check_generation(const Device& known, const LoginCommand& command, std::uint32_t epoch) {
  if (command.install.empty() || known.install != command.install) return {};
  // The store was restored since: which generation was the last is not known. Who comes first goes on.
  if (known.epoch != epoch) return {};
  const bool current = command.generation == known.generation;
  const bool welcome_was_lost = command.generation + 1 == known.generation && !known.generation_used;
  if (current || welcome_was_lost) return {};
  return fail(ErrorCode::NEW_INSTALL_REQUIRED, "session_generation");
}

/// Makes room for one more device: the least recently seen leaves.
void make_room(Draft& draft, const UserId& user) {
  std::vector<Device> devices = draft.devices(user);
  if (devices.size() < draft.context().params.devices_max) return;
  std::ranges::sort(devices, {}, &Device::last_seen);
  const std::size_t leaving = devices.size() - draft.context().params.devices_max + 1;
  for (std::size_t i = 0; i < leaving; ++i) draft.writes().erased_devices.emplace_back(user, devices[i].id);
}

Result<void> check_login(View& view, const LoginCommand& command, const std::optional<Device>& known) {
  constexpr std::uint64_t kGenerationMax = 1ULL << 53;
  if (command.generation > kGenerationMax)
    return fail(ErrorCode::OUT_OF_RANGE, "session_generation", "As the last welcome gave it.");
  if (known) TM_TRY(check_generation(*known, command, view.epoch().number));
  return {};
}

/// What the device is told, as of the last published round: of a round in the making only what was decided before
/// belongs to the user's mark.
LoginReply reply_of(View& view, const LoginCommand& command, const UserHead& user, std::uint64_t round) {
  const Mark mark = user.mark;
  LoginReply reply;
  reply.mode = mode_of(view, command.cursor, user);
  reply.head = {view.epoch(), mark, round};
  reply.behind = reply.mode == Mode::delta ? mark - command.cursor.mark : mark.value;
  if (!command.install.empty())
    reply.highest_mutation = mutations_of(view, command.user, command.device, command.install).highest;
  return reply;
}

}  // namespace

Result<Decision> decide_login(View& view, const LoginCommand& command, const Context& context) {
  const auto known = view.device(command.user, command.device);
  TM_TRY(check_login(view, command, known));
  Draft draft(view, context);
  const UserHead user = draft.edit_user(command.user);
  if (!known) make_room(draft, command.user);
  Device device = known.value_or(Device{});
  if (!known) device.epoch = view.epoch().number;
  if (known && known->install != command.install)
    draft.writes().replaced_installs.push_back({command.user, command.device, command.install, {}});
  device.id = command.device;
  device.install = command.install;
  device.platform = command.platform;
  device.app_version = command.app_version;
  // A device whose row was dropped may come with a generation of its own: numbers never go back.
  const std::uint32_t epoch = view.epoch().number;
  device.generation = next_number(std::max(device.generation, command.generation), device.epoch, epoch);
  device.epoch = epoch;
  device.generation_used = false;
  device.last_seen = context.now_ms;

  LoginReply reply = reply_of(view, command, user, view.round() - 1);
  reply.generation = device.generation;
  if (reply.mode == Mode::delta) device.acknowledged = std::max(device.acknowledged, command.cursor.mark);
  draft.writes().devices.emplace_back(command.user, std::move(device));
  return std::move(draft).finish(std::move(reply), {});
}

Result<LoginReply> login_unwritten(View& view, const LoginCommand& command, const CoreParams& params) {
  TM_TRY(check_registered(view, params, command.user, "token"));
  TM_TRY(check_login(view, command, view.device(command.user, command.device)));
  LoginReply reply = reply_of(view, command, view.user(command.user), view.round());
  reply.generation = command.generation;
  return reply;
}

Result<Decision> decide_device_seen(View& view, const DeviceSeenCommand& command, const Context& context) {
  const auto known = view.device(command.user, command.device);
  // A later login has replaced this link, or the device was removed: nothing to note.
  if (!known || known->generation != command.generation) return Decision{NoReply{}, {}, {}};
  Draft draft(view, context);
  Device device = *known;
  device.generation_used = true;
  device.acknowledged = std::max(device.acknowledged, std::min(command.acknowledged, view.user(command.user).mark));
  device.last_seen = context.now_ms;
  draft.writes().devices.emplace_back(command.user, std::move(device));
  return std::move(draft).finish(NoReply{}, {});
}

Result<Decision> decide_set_user(View& view, const SetUserCommand& command, const Context& context) {
  TM_TRY(check_user_id(command.user, "user"));
  constexpr std::string_view kLevels[] = {"", "free", "paid", "vip"};
  if (command.level && std::ranges::find(kLevels, *command.level) == std::end(kLevels))
    return fail(ErrorCode::OUT_OF_RANGE, "level", "One of free, paid, vip, or empty for the token's.");
  Draft draft(view, context);
  UserHead& user = draft.edit_user(command.user);
  std::vector<Notice> notices;
  if (command.level && *command.level != user.level) {
    user.level = *command.level;
    const std::string value = user.level.empty() ? "" : '"' + user.level + '"';
    std::get<Setting>(draft.edit_object(command.user, {Setting{std::string(kLevelSetting)}, Mark()}).what).value =
        value;
    notices.push_back({ConversationId(), nullptr, draft.round(), {draft.touch_objects(command.user)}});
  }
  UserReply reply{command.user, user};
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
