// Whether a user may be at all: an id once deleted never again, and where users have to be registered only those.
#pragma once

#include "core/params.h"
#include "core/view.h"

namespace tidemark {

/// With the field that names him USER_ID_RETIRED when he was deleted, USER_NOT_FOUND when users have to be registered
/// and this one is not.
inline Result<void> check_registered(View& view, const CoreParams& params, const UserId& user, std::string_view field) {
  const UserHead head = view.user(user);
  if (head.retired()) return fail(ErrorCode::USER_ID_RETIRED, std::string(field), user.value);
  if (!params.users_registered || head.exists()) return {};
  return fail(ErrorCode::USER_NOT_FOUND, std::string(field), user.value);
}

}  // namespace tidemark
