// Unread numbers (design, section 6): derived from log, pointers and floors, never counted.
#pragma once

#include "core/params.h"
#include "core/results.h"
#include "core/view.h"

namespace tidemark {

/// unread = ord(head) - ord(floor) - own in (floor, head] - messages of others there that are dead or that the user
/// deleted for himself. The floor's ord and own are checkpoints in the row; the dead are looked up in the index of
/// touches, and only when the row was touched above its floor; the deleted, only when some lie above it: without
/// either this reads nothing.
Unread unread_of(View& view, const UserId& user, const UserConversation& row, const LineHead& head,
                 const CoreParams& params, bool self_chat);

/// Whether the number may be beyond what is told exactly, as far as can be said without reading anything.
bool unread_may_be_inexact(const UserConversation& row, const LineHead& head, const CoreParams& params);

/// max(read, cleared, start of the present period).
Seq floor_of(const UserConversation& row);

/// Moves the row's floor checkpoint to floor_of(row). Reads the shorter side of the log when the floor is not the
/// head; since floors only move up, each message is read at most once per user on this path.
void settle_floor(View& view, const UserId& user, const LineHead& head, UserConversation& row);

}  // namespace tidemark
