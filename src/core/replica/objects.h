// Rules for a conversation's index object on the device: what replaces it, what a pushed entry makes of it, and the
// unread number that is shown (design, sections 3, 4 and 6). Functions on plain values.
#pragma once

#include <optional>

#include "core/params.h"
#include "core/replica/workspace.h"

namespace tidemark::replica {

/// By what an own message is known again without its id.
std::uint64_t echo_of(std::string_view client_msg_id);

/// What of a body counts towards its limit.
std::size_t body_bytes(const Body& body);

/// What the rules need of a row.
RowNote note_of(const Entry& entry, const UserId& me);

/// What a device can say of a conversation before its server has said anything.
Change blank_object(const ConversationId& id, const UserId& me);

/// The last seq that says anything of the conversation: of an entry or of a change to one.
Seq head_of(const Change& object);

/// Nothing at or below is unread: the read pointer, the clear floor, the start of the present membership.
Seq unread_floor(const Change& object);

/// Is it unread where it lies above that floor? Others' living messages are, not what a restore took from the server.
bool may_be_unread(const ConversationState& state, const RowNote& note);

/// Takes the server's summary into `state` if it is not behind what is held. Returns whether it did. What the user did
/// here and the server has not answered stays visible.
bool apply_summary(ConversationState& state, const Held& held, const Change& summary);

/// Head, place, preview, unread number and last change after one entry that follows what is held, pushed without a
/// summary. Of a large group, whose entries have no place in the index, only the very next one follows: false when it
/// does not, or when the server has to be asked what it makes of the object.
bool derive(ConversationState& state, const PushItem& item, const UserId& me);

/// Moves the read pointer up to `read`; the unread number falls at once. Exact when the rows decide it.
void lower_unread(ConversationState& state, const std::map<Seq, RowNote>& notes, Seq read);

/// Moves the clear floor up to `cleared`; unread number and preview follow.
void raise_cleared(ConversationState& state, const std::map<Seq, RowNote>& notes, Seq cleared);

/// What the user has done here and the server has not answered stays visible.
void show_own(ConversationState& state, const Held& held);

/// The ranges of seqs that are denied to the user: cleared, deleted by him, or outside his periods.
std::vector<Interval> denied_by(const ConversationState& state);

}  // namespace tidemark::replica
