#include "core/totals.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/conversation_id.h"
#include "core/mentions.h"
#include "core/read_parts.h"
#include "core/unread.h"

namespace tidemark {
namespace {

TotalsPart part_of(View& view, const CoreParams& params, const UserId& user, const UserConversation& row) {
  TotalsPart part;
  if (row.removed) return part;
  const auto parsed = parse_conversation(row.conversation);
  const bool self_chat = parsed && parsed->self();
  if (row.in_period()) part.unread = unread_of(view, user, row, view.line(row.conversation), params, self_chat);
  part.mentions = mentions_of({view, user, row});
  part.flagged = row.unread_flag && part.unread.count == 0;
  part.muted_until = row.muted_until;
  return part;
}

void put(TotalsMemory& memory, const ConversationId& id, const TotalsPart& part) {
  if (part.unread.count == 0 && part.mentions == 0 && !part.flagged)
    memory.parts.erase(id);
  else
    memory.parts[id] = part;
}

}  // namespace

std::uint32_t mentions_of(const Sight& sight) {
  const Mentioned found = mentioned(sight);
  // A message that names the user and means everybody counts once.
  const bool named = std::ranges::find(sight.row.mentions, found.by_all) != sight.row.mentions.end();
  return found.count + (found.by_all && !named ? 1 : 0);
}

Totals sum_of(const std::map<ConversationId, TotalsPart>& parts, std::int64_t now_ms) {
  Totals totals;
  for (const auto& [id, part] : parts) {
    const bool muted = part.muted_until > now_ms;
    (muted ? totals.muted_unread : totals.unread) += part.unread.count;
    totals.mentions += part.mentions;
    totals.flagged += part.flagged ? 1 : 0;
    totals.exact = totals.exact && part.unread.exact;
    totals.badge += muted ? part.mentions : part.unread.count;
  }
  return totals;
}

Result<Totals> read_totals(View& view, const CoreParams& params, const UserId& user, std::int64_t now_ms,
                           TotalsMemory& memory) {
  const Mark head = view.user(user).mark;
  if (memory.epoch != view.epoch() || memory.mark > head) memory = {view.epoch(), {}, {}};
  if (!memory.mark) {
    constexpr Mark kNoEnd{std::numeric_limits<std::uint64_t>::max()};
    view.by_head_mark(user, Mark(), kNoEnd, Direction::down, [&](const UserConversation& row) {
      put(memory, row.conversation, part_of(view, params, user, row));
      return true;
    });
  } else {
    std::set<ConversationId> changed;
    view.changed_since(user, memory.mark, [&](const ConversationId& id) { changed.insert(id); });
    // What is said in these moves no mark.
    view.large_groups(user, ConversationId(), [&](const ConversationId& id) {
      changed.insert(id);
      return true;
    });
    for (const ConversationId& id : changed)
      if (const UserConversation* row = view.user_conversation(user, id))
        put(memory, id, part_of(view, params, user, *row));
  }
  memory.mark = head;
  return unless_failed(view, Result<Totals>(sum_of(memory.parts, now_ms)));
}

}  // namespace tidemark
