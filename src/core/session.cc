#include "core/session.h"

#include <algorithm>

#include "core/planted.h"

namespace tidemark {

ErrorCode code_of(SessionEnd end) {
  switch (end) {
    case SessionEnd::other_device:
      return ErrorCode::OTHER_DEVICE;
    case SessionEnd::removed:
      return ErrorCode::DEVICE_REMOVED;
    case SessionEnd::none:
    case SessionEnd::replaced:
    case SessionEnd::logged_out:
      break;
  }
  return ErrorCode::LOGGED_OUT;
}

bool ends_login(ErrorCode code) {
  return code == ErrorCode::OTHER_DEVICE || code == ErrorCode::LOGGED_OUT || code == ErrorCode::DEVICE_REMOVED ||
         code == ErrorCode::TOO_MANY_DEVICES;
}

Result<void> check_token(const UserHead& user, const std::optional<Device>& device, const Session& token) {
  const auto not_after = [&](std::int64_t end_ms) { return end_ms != 0 && token.token_issued_at <= end_ms; };
  if (device && not_after(device->ended_at)) return fail(code_of(device->ended), "token");
  if (not_after(user.logged_out_at)) return fail(ErrorCode::LOGGED_OUT, "token");
  if (!device && token.token_of_device && not_after(user.forgotten_at)) return fail(ErrorCode::LOGGED_OUT, "token");
  return {};
}

Result<void> check_session(View& view, const Session& session) {
  if (session.user.empty()) return {};
  const auto device = session.device.empty() ? std::optional<Device>() : view.device(session.user, session.device);
  if (!session.generation) return check_token(view.user(session.user), device, session);
  if (device && device->live && device->generation == *session.generation) return {};
  if (planted(Fault::fenced_link_commits)) return {};
  return fail(ErrorCode::SESSION_FENCED);
}

std::vector<Device> listed(std::vector<Device> devices) {
  std::erase_if(devices, [](const Device& each) { return !each.live && each.ended == SessionEnd::removed; });
  std::ranges::sort(devices, {}, &Device::id);
  return devices;
}

}  // namespace tidemark
