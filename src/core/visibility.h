// visible(user, conversation, seq): the one function that sync, history, single fetch, previews, unread, push and
// everything later ask what a user may see (design, section 8).
#pragma once

#include "core/results.h"
#include "core/types.h"

namespace tidemark {

/// Inside one of the user's periods and above his clear floor. The row's own state (recalled ...) is folded into
/// the row and is not asked here. Within a period: visible_from <= seq < leave, or seq == leave for the own leave.
bool visible(const UserConversation& row, Seq seq);

/// The parts of (after, to] that `visible` denies, ascending, merged, with their reason.
std::vector<Hidden> hidden_in(const UserConversation& row, Seq after, Seq to);

/// The parts of (after, to] that `visible` grants: all but hidden_in.
std::vector<Interval> visible_in(const UserConversation& row, Seq after, Seq to);

/// Nothing at or below this seq can ever be visible to the row's user.
Seq lower_bound_of(const UserConversation& row);

/// The last seq that may be visible: the head for a member, the own leave for a former one.
Seq upper_bound_of(const UserConversation& row, Seq head);

}  // namespace tidemark
