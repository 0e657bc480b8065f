// A user's devices: naming them, waking them, ending their sessions (design, section 10).
#include <algorithm>
#include <map>

#include "core/decide_parts.h"
#include "core/device_policy.h"
#include "core/session.h"
#include "core/sessions.h"

namespace tidemark {
namespace {

Result<Device> known_device(View& view, const UserId& user, const DeviceId& id) {
  auto device = view.device(user, id);
  if (!device || (!device->live && device->ended == SessionEnd::removed))
    return fail(ErrorCode::DEVICE_NOT_FOUND, "device");
  return std::move(*device);
}

/// A token wakes one device of one user: whoever had it before has it no more.
void take_push_token(Draft& draft, const UserId& user, const Device& device) {
  const auto owner = draft.push_token_owner(device.push_token);
  const PushTokenOwner self{user, device.id};
  if (owner == self) return;
  if (owner)
    if (auto before = draft.device(owner->user, owner->device); before && before->push_token == device.push_token) {
      before->push_token.clear();
      draft.writes().devices.emplace_back(owner->user, std::move(*before));
    }
  draft.writes().push_tokens.emplace_back(device.push_token, self);
}

}  // namespace

void SessionEnds::end(const Device& device, SessionEnd why) {
  const std::int64_t now_ms = draft_.context().now_ms;
  if (device.live) ended_.push_back({user_, device.id, device.generation, why});
  Device ended = device;
  ended.live = false;
  ended.ended = why;
  // A token made by a clock that is ahead of ours ends too.
  ended.ended_at = std::max({ended.ended_at, now_ms, ended.token_issued_at});
  if (!ended.push_token.empty()) draft_.writes().push_tokens.emplace_back(ended.push_token, std::nullopt);
  ended.push_token.clear();
  if (why == SessionEnd::removed) ended.name.clear();
  draft_.writes().devices.emplace_back(user_, std::move(ended));
}

void SessionEnds::replace(const Device& device) {
  ended_.push_back({user_, device.id, device.generation, SessionEnd::replaced});
}

void SessionEnds::forget_outlived(const DeviceId& kept) {
  std::vector<Device> devices = devices_after(draft_, user_);
  std::erase_if(devices, [&](const Device& device) { return device.id == kept; });
  UserHead& head = draft_.edit_user(user_);
  for (const Device& device : outlived(std::move(devices), draft_.context().params.devices)) {
    head.forgotten_round = std::max(head.forgotten_round, device.acknowledged_round);
    // Who had to make room may come again; who was sent away on purpose needs a newer token even so.
    if (device.ended != SessionEnd::other_device) head.forgotten_at = std::max(head.forgotten_at, device.ended_at);
    std::erase_if(draft_.writes().devices,
                  [&](const auto& each) { return each.first == user_ && each.second.id == device.id; });
    draft_.writes().erased_devices.emplace_back(user_, device.id);
  }
}

std::vector<Device> devices_after(Draft& draft, const UserId& user) {
  std::map<DeviceId, Device> devices;
  for (Device& device : draft.devices(user)) devices[device.id] = std::move(device);
  for (const auto& [owner, device] : draft.writes().devices)
    if (owner == user) devices[device.id] = device;
  for (const auto& [owner, id] : draft.writes().erased_devices)
    if (owner == user) devices.erase(id);
  std::vector<Device> all;
  for (auto& [id, device] : devices) all.push_back(std::move(device));
  return all;
}

void tell_devices(Draft& draft, const UserId& user, const DeviceId& knows, std::vector<Notice>& notices) {
  const std::vector<Device> devices = devices_after(draft, user);
  if (std::ranges::none_of(devices, [&](const Device& device) { return device.live && device.id != knows; })) return;
  draft.edit_object(user, {DevicesChanged{}, Mark()}).what = DevicesChanged{draft.context().now_ms};
  notices.push_back(draft.tell_objects(user));
}

Result<Decision> decide_change_device(View& view, const ChangeDeviceCommand& command, const Context& context) {
  TM_ASSIGN(Device device, known_device(view, command.user, command.device));
  Draft draft(view, context);
  const bool renamed = command.name && *command.name != device.name;
  if (renamed) device.name = *command.name;
  if (command.push_token && *command.push_token != device.push_token) {
    if (!device.live && !command.push_token->empty())
      return fail(ErrorCode::DEVICE_NOT_FOUND, "device", "It is logged out: nothing is sent to it.");
    if (!device.push_token.empty()) draft.writes().push_tokens.emplace_back(device.push_token, std::nullopt);
    device.push_token = *command.push_token;
    if (!device.push_token.empty()) take_push_token(draft, command.user, device);
  }
  draft.writes().devices.emplace_back(command.user, device);
  std::vector<Notice> notices;
  if (renamed) tell_devices(draft, command.user, {}, notices);
  return std::move(draft).finish(std::move(device), std::move(notices));
}

Result<Decision> decide_end_sessions(View& view, const EndSessionsCommand& command, const Context& context) {
  if (command.admin && !view.user(command.user).exists()) return fail(ErrorCode::USER_NOT_FOUND, "user");
  std::vector<Device> ending;
  if (command.device.empty()) {
    ending = view.devices(command.user);
    std::erase_if(ending, [&](const Device& device) { return device.id == command.except; });
  } else {
    TM_ASSIGN(Device device, known_device(view, command.user, command.device));
    ending.push_back(std::move(device));
  }
  Draft draft(view, context);
  SessionEnds ends(draft, command.user);
  UserHead& head = draft.edit_user(command.user);
  const bool all = command.device.empty() && command.except.empty();
  if (all) head.logged_out_at = std::max(head.logged_out_at, context.now_ms);
  for (const Device& device : ending) {
    if (all) head.logged_out_at = std::max(head.logged_out_at, device.token_issued_at);
    // Once removed it stays so until it has logged in again.
    const bool removed = !device.live && device.ended == SessionEnd::removed;
    ends.end(device, removed ? SessionEnd::removed : command.end);
  }
  ends.forget_outlived({});
  DevicesReply reply{listed(devices_after(draft, command.user))};
  std::vector<Notice> notices;
  if (!ending.empty()) tell_devices(draft, command.user, {}, notices);
  Decision decision = std::move(draft).finish(std::move(reply), std::move(notices));
  decision.ended = ends.take();
  return decision;
}

}  // namespace tidemark
