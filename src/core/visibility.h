// visible(user, conversation, seq): the one function that sync, history, single fetch, previews, unread, push and
// everything later ask what a user may see (design, section 8).
#pragma once

#include "core/intervals.h"
#include "core/results.h"
#include "core/view.h"

namespace tidemark {

/// A user and his row of a conversation.
struct Sight {
  View& view;
  const UserId& user;
  const UserConversation& row;
};

/// Inside one of the user's periods, above his clear floor, and not deleted by him. The row's own state (recalled ...)
/// is folded into the row and is not asked here. Within a period: visible_from <= seq < leave, or seq == leave for the
/// own leave.
bool visible(const Sight& sight, Seq seq);

/// The parts of (after, to] that `visible` denies, ascending, merged, with their reason; also the holes that restores
/// left in the numbers.
std::vector<Hidden> hidden_in(const Sight& sight, Seq after, Seq to);

/// The rest of (after, to].
Intervals visible_in(const Sight& sight, Seq after, Seq to);

/// What the user deleted for himself in (after, to].
Intervals deleted_in(const Sight& sight, Seq after, Seq to);

/// Whether the user could see it had he not deleted it for himself.
bool granted(const UserConversation& row, Seq seq);

/// Nothing at or below this seq can ever be visible to the row's user.
Seq lower_bound_of(const UserConversation& row);

/// The last seq that may be visible: the head for a member, the own leave for a former one.
Seq upper_bound_of(const UserConversation& row, Seq head);

}  // namespace tidemark
