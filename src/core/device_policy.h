// Who has to go so that a device may log in (design, section 10).
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/params.h"
#include "core/types.h"

namespace tidemark {

/// Of the sessions of a user's other devices, those that end when one of this platform logs in: of more than are needed
/// those that were active least recently, by id among equals. TOO_MANY_DEVICES when the policy would rather refuse.
Result<std::vector<Device>> displaced_by(std::string_view platform, std::vector<Device> others,
                                         const DevicePolicy& policy);

/// Of the devices without a session, those that are kept no more: the ones that ended first.
std::vector<Device> outlived(std::vector<Device> devices, const DevicePolicy& policy);

}  // namespace tidemark
