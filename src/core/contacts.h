// Who may be addressed in passing, and what is known of when he was here (design, sections 2 and 8).
#pragma once

#include <vector>

#include "core/view.h"

namespace tidemark {

/// The members of a conversation that `user` is in. CONVERSATION_NOT_FOUND with `field` for all else, known or not;
/// BLOCKED when the other side of a single chat has blocked him.
Result<std::vector<UserId>> members_seen_by(View& view, const UserId& user, const ConversationId& id,
                                            std::string_view field);

/// Whether `user` may be watched by `by`: they have a single chat, and he has not blocked him.
bool may_be_watched(View& view, const UserId& user, const UserId& by);

/// When any of the user's devices was here last, as far as the store knows; 0: never.
std::int64_t last_seen_of(View& view, const UserId& user);

}  // namespace tidemark
