// Who reacted to a message, and how.
#include <algorithm>

#include "core/conversation_id.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::size_t kLookedAtMax = 2'000;  // for one page, whether they react as asked or not

/// Whether the row's user may know that the other is, or was, in the conversation. Whoever has left is told of nobody
/// who came later.
bool knows_of(View& view, const UserConversation& mine, const UserId& other) {
  if (mine.in_period()) return true;
  const UserConversation* theirs = view.user_conversation(other, mine.conversation);
  if (theirs == nullptr) return false;
  const auto together = [&](const Period& own) {
    return std::ranges::any_of(theirs->periods, [&](const Period& period) {
      return period.join <= own.leave && (!period.leave || period.leave >= own.visible_from);
    });
  };
  return std::ranges::any_of(mine.periods, together);
}

Result<ReactionsPage> reactions_page(View& view, const CoreParams& params, const ReactionsQuery& query) {
  TM_ASSIGN(const std::uint32_t limit, limit_of(query.limit, params.page_default, params.page_max));
  TM_TRY(parse_conversation(query.conversation));
  const Result<Entry> message = read_message(view, query.user, query.conversation, query.seq);
  if (!message || !message->countable()) return fail(ErrorCode::MESSAGE_NOT_FOUND, "seq");
  if (message->dead()) return fail(ErrorCode::MESSAGE_DELETED, "seq");
  const UserConversation& row = *view.user_conversation(query.user, query.conversation);
  ReactionsPage page;
  UserId last;
  std::size_t looked_at = 0;
  view.reactions(query.conversation, query.seq, query.after,
                 [&](const UserId& user, const std::vector<std::string>& names) {
                   if (page.users.size() == limit) page.next = page.users.back().user;
                   if (looked_at++ == kLookedAtMax) page.next = last;
                   if (!page.next.empty()) return false;
                   last = user;
                   if (!query.reaction.empty() && std::ranges::find(names, query.reaction) == names.end()) return true;
                   if (knows_of(view, row, user)) page.users.push_back({user, names});
                   return true;
                 });
  return page;
}

}  // namespace

Result<ReactionsPage> read_reactions(View& view, const CoreParams& params, const ReactionsQuery& query) {
  return unless_failed(view, reactions_page(view, params, query));
}

}  // namespace tidemark
