// Large groups (design, section 3): their messages touch nobody's index. What a member's row says of the log is derived
// from the log when the row is read, and devices are kept in step by a digest of where their groups' logs stand.
#pragma once

#include <cstdint>

#include "core/view.h"

namespace tidemark {

/// Completes a row of a large group by how the group's log stands: head_seq, top, sort_time, touch_seq, whether it is
/// still removed, and the end of its period once the group is dissolved. Never takes anything back, so it may be done
/// again. Other rows stay as they are.
void complete(View& view, UserConversation& row);

/// A conversation's part of the digest: the first eight bytes, the highest first, of SHA-256 of `id`, a colon and `seq`
/// in decimal digits.
std::uint64_t digest_of_head(const ConversationId& id, Seq seq);

/// What stands for a conversation in digest and vector.
inline Seq head_of(const UserConversation& row) {
  return row.head_seq > row.touch_seq ? row.head_seq : row.touch_seq;
}

/// The sum, modulo 2^64, over the user's large groups that he has not taken out of his list.
std::uint64_t large_digest(View& view, const UserId& user);

/// When a group of this size counts as large, given how it counted before: small up to small_max, small again from 80 %
/// of it down.
bool counts_as_large(bool before, std::uint64_t size, std::size_t small_max);

}  // namespace tidemark
