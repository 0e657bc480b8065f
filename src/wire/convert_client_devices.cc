#include "wire/convert_client_devices.h"

#include "tidemark.pb.h"

namespace tidemark {
namespace {

struct DeviceWriter {
  pb::ClientFrame& frame;

  void operator()(const replica::DevicesQuery&) const { frame.mutable_devices(); }
  void operator()(const ChangeDeviceCommand& command) const {
    pb::ChangeDeviceRequest& out = *frame.mutable_change_device();
    out.set_device(command.device.value);
    if (command.name) out.set_name(*command.name);
    if (command.push_token) out.set_push_token(*command.push_token);
  }
  void operator()(const replica::Logout&) const { frame.mutable_logout(); }
  void operator()(const replica::LogoutOthers&) const { frame.mutable_logout_others(); }
  void operator()(const replica::RemoveDevice& removed) const {
    frame.mutable_remove_device()->set_device(removed.device.value);
  }
};

static_assert(static_cast<int>(replica::LoginState::logged_in) == pb::DEVICE_STATE_LOGGED_IN);
static_assert(static_cast<int>(replica::LoginState::other_device) == pb::DEVICE_STATE_OTHER_DEVICE);
static_assert(static_cast<int>(replica::LoginState::logged_out) == pb::DEVICE_STATE_LOGGED_OUT);

/// A state of a later version is none in which the device is logged in.
replica::LoginState login_state_from(pb::DeviceState state) {
  const bool known = state == pb::DEVICE_STATE_LOGGED_IN || state == pb::DEVICE_STATE_OTHER_DEVICE;
  return known ? static_cast<replica::LoginState>(state) : replica::LoginState::logged_out;
}

}  // namespace

void device_call_to_pb(const replica::DeviceCall& call, pb::ClientFrame& out) {
  if (!call.idempotency_key.empty()) out.set_idempotency_key(call.idempotency_key);
  std::visit(DeviceWriter{out}, call.request);
}

void ask_members_to_pb(const replica::AskMembers& ask, pb::ClientFrame& out) {
  out.mutable_members()->set_conversation_id(ask.conversation.value);
  out.mutable_members()->set_limit(ask.limit);
  out.mutable_members()->set_page_token(ask.page_token);
}

replica::UserDevice device_from(const pb::Device& device) {
  return {DeviceId(device.device()),
          device.name(),
          device.platform(),
          device.app_version(),
          login_state_from(device.state()),
          device.logged_in_at(),
          device.logged_out_at(),
          device.last_seen(),
          device.push(),
          device.current()};
}

std::vector<replica::UserDevice> devices_from(const pb::DeviceList& list) {
  std::vector<replica::UserDevice> devices;
  for (const pb::Device& device : list.devices()) devices.push_back(device_from(device));
  return devices;
}

replica::ListedMembers members_from(const pb::MemberList& list) {
  replica::ListedMembers made;
  for (const pb::GroupMember& member : list.members()) {
    const int role = member.role();
    const bool known = role >= 0 && role <= static_cast<int>(Role::owner);
    made.members.push_back(
        {{UserId(member.user()), known ? static_cast<Role>(role) : Role::member, Seq(member.joined_seq())},
         member.muted_until()});
  }
  made.page_token = list.page_token();
  return made;
}

}  // namespace tidemark
