// Whether a token, or the login made with one, is still good (design, section 10).
#pragma once

#include "core/commands.h"

namespace tidemark {

/// The code of the kick by a newer link of the same device: no error of a request, so not in the table of errors.
inline constexpr std::string_view kReplaced = "REPLACED";

/// The code that answers for a session that ended so, on socket and HTTP alike.
ErrorCode code_of(SessionEnd end);

/// Whether this code tells a client to stay away until its user has logged in again.
bool ends_login(ErrorCode code);

/// OTHER_DEVICE, LOGGED_OUT or DEVICE_REMOVED for a token that was issued before the end of its device's last session,
/// or before all of the user's sessions were ended. `device` is its row, if there is one.
Result<void> check_token(const UserHead& user, const std::optional<Device>& device, const Session& token);

/// The same for a session of HTTP; SESSION_FENCED for a link whose generation is not its device's any more.
Result<void> check_session(View& view, const Session& session);

/// The user's devices as he sees them: without those removed, by id.
std::vector<Device> listed(std::vector<Device> devices);

}  // namespace tidemark
