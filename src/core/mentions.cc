#include "core/mentions.h"

#include <algorithm>

#include "core/group_parts.h"
#include "core/group_rights.h"
#include "core/unread.h"

namespace tidemark {
namespace {
constexpr std::size_t kKept = 50;       // for one user and conversation
constexpr std::size_t kKeptOfAll = 16;  // for one conversation
}  // namespace

Mentioned mentioned(const Sight& sight) {
  Mentioned found;
  const auto& [view, user, row] = sight;
  if (!row.in_period()) return found;
  const Seq floor = floor_of(row);
  for (const Seq seq : row.mentions) {
    if (seq <= floor || !visible(sight, seq)) continue;
    const std::optional<Entry> entry = view.entry(row.conversation, seq);
    if (!entry || entry->dead()) continue;
    if (++found.count == 1) found.first = seq;
  }
  const Conversation* conversation = view.conversation(row.conversation);
  if (conversation == nullptr) return found;
  const std::vector<Seq>& of_all = conversation->mentions_of_all;
  for (auto seq = of_all.rbegin(); seq != of_all.rend() && *seq > floor && !found.by_all; ++seq) {
    const std::optional<Entry> entry = visible(sight, *seq) ? view.entry(row.conversation, *seq) : std::nullopt;
    if (entry && !entry->dead() && entry->sender != user) found.by_all = *seq;
  }
  return found;
}

Result<void> check_mentions(View& view, const SendCommand& command, const Conversation& conversation,
                            const CoreParams& params) {
  if (command.mentions.size() > params.mentions_max)
    return fail(ErrorCode::LIMIT_REACHED, "mentions", "At most " + std::to_string(params.mentions_max) + ".");
  for (const UserId& user : command.mentions)
    if (!member_of(view, conversation, user))
      return fail(ErrorCode::MALFORMED, "mentions", "Only members of the conversation can be mentioned.");
  if (command.mention_all && conversation.large && !command.admin)
    if (!check_right(conversation, command.sender, Right::mention_all))
      return fail(ErrorCode::FORBIDDEN, "mention_all", "In a large group its owner and admins may mention everybody.");
  return {};
}

void note_mention(UserConversation& row, Seq seq) {
  const Seq floor = floor_of(row);
  std::erase_if(row.mentions, [&](Seq each) { return each <= floor; });
  if (row.mentions.size() == kKept) row.mentions.erase(row.mentions.begin());
  row.mentions.push_back(seq);
}

void note_mention_of_all(Draft& draft, const ConversationId& id, const Entry& message) {
  if (!message.mention_all && !message.dead()) return;
  const Conversation* stored = draft.conversation(id);
  if (stored == nullptr) return;
  const auto known = std::ranges::find(stored->mentions_of_all, message.seq);
  if (message.dead() && known == stored->mentions_of_all.end()) return;
  std::vector<Seq>& all = draft.edit_conversation(id).mentions_of_all;
  if (message.dead()) {
    std::erase(all, message.seq);
    return;
  }
  if (all.size() == kKeptOfAll) all.erase(all.begin());
  all.push_back(message.seq);
}

}  // namespace tidemark
