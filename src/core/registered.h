// Whether a user may be at all, where users have to be registered first.
#pragma once

#include "core/params.h"
#include "core/view.h"

namespace tidemark {

/// USER_NOT_FOUND with the field that names him when users have to be registered and this one is not.
inline Result<void> check_registered(View& view, const CoreParams& params, const UserId& user, std::string_view field) {
  if (!params.users_registered || view.user(user).exists()) return {};
  return fail(ErrorCode::USER_NOT_FOUND, std::string(field), user.value);
}

}  // namespace tidemark
