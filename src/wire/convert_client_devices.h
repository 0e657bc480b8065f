// What a client asks about its user's devices and a group's members, and what is answered, in the wire's form.
#pragma once

#include "core/replica/frames.h"
#include "wire/dialect_fwd.h"

namespace tidemark {
namespace v1 {
class ClientFrame;
class Device;
class DeviceList;
class MemberList;
}  // namespace v1

void device_call_to_pb(const replica::DeviceCall& call, pb::ClientFrame& out);
void ask_members_to_pb(const replica::AskMembers& ask, pb::ClientFrame& out);
replica::UserDevice device_from(const pb::Device& device);
std::vector<replica::UserDevice> devices_from(const pb::DeviceList& list);
replica::ListedMembers members_from(const pb::MemberList& list);

}  // namespace tidemark
