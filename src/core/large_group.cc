#include "core/large_group.h"

#include <algorithm>

#include "base/hash.h"
#include "core/visibility.h"

namespace tidemark {

namespace {

/// Of a group that has ended: whoever was in it learns of all that changed up to then, and of what operators took back
/// later if he may see it.
void follow_changes_to_the_end(View& view, UserConversation& row, Seq last) {
  const Period& period = row.periods.back();
  view.touches(row.conversation, std::max(row.touch_seq, period.join), last, Direction::down, [&](Seq seq, Seq target) {
    if (seq > period.leave && !granted(row, target)) return true;
    row.touch_seq = seq;
    return false;
  });
}

}  // namespace

void complete(View& view, UserConversation& row) {
  if (!row.large || row.periods.empty()) return;
  const LineHead line = view.line(row.conversation);
  if (!row.in_period()) return follow_changes_to_the_end(view, row, line.touch);
  row.top = std::max(row.top, line.top);
  if (granted(row, line.top)) row.sort_time = std::max(row.sort_time, line.top_time);
  if (line.top > row.cleared) row.removed = false;
  const Conversation* group = view.conversation(row.conversation);
  if (group != nullptr && group->dissolved) {
    row.periods.back().leave = row.head_seq = group->dissolved;
    row.role = Role::member;
    row.unread_flag = false;
    return follow_changes_to_the_end(view, row, line.touch);
  }
  row.head_seq = std::max(row.head_seq, line.seq);
  // What changed before he came is part of what he then gets.
  if (line.touch > row.periods.back().join) row.touch_seq = std::max(row.touch_seq, line.touch);
}

std::uint64_t digest_of_head(const ConversationId& id, Seq seq) {
  return sha256_prefix(id.value + ":" + std::to_string(seq.value));
}

std::uint64_t large_digest(View& view, const UserId& user) {
  std::uint64_t digest = 0;
  if (view.user(user).large_groups == 0) return digest;
  view.large_groups(user, ConversationId(), [&](const ConversationId& id) {
    const UserConversation* row = view.user_conversation(user, id);
    if (row != nullptr && row->large && !row->removed) digest += digest_of_head(id, head_of(*row));
    return true;
  });
  return digest;
}

bool counts_as_large(bool before, std::uint64_t size, std::size_t small_max) {
  return size > (before ? small_max * 4 / 5 : small_max);
}

}  // namespace tidemark
