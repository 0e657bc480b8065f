// How far the others of a conversation have read, and what has reached a device of theirs (design, sections 2 and 6).
// It is looked up when somebody asks and stands in nobody's index: reading costs its peers nothing.
#include <algorithm>
#include <ranges>

#include "core/conversation_id.h"
#include "core/planted.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

/// The user tells others how far he has read, and is told it of them.
bool shares_receipts(View& view, const UserId& user) {
  const auto object = view.object(user, name_of_setting(kReceiptsSetting));
  return !object || std::get<Setting>(object->what).value != "false";
}

/// The highest place of the log that a round up to this one has written. Rounds ascend along the log.
Seq last_of_rounds(View& view, const ConversationId& id, Seq head, std::uint64_t round) {
  // The highest entry in (after, to].
  const auto entry_at = [&](Seq after, Seq to) {
    std::optional<Entry> found;
    view.entries(id, after, to, Direction::down, [&](const Entry& entry) {
      found = entry;
      return false;
    });
    return found;
  };
  // What lies at or below `low` was written by then, what lies above `high` later: most ask about the end of the log.
  Seq low;
  Seq high = head;
  for (std::uint64_t step = 1; high > low; step *= 2) {
    const auto entry = entry_at(low, high);
    if (!entry) return low;
    if (entry->round <= round) {
      low = entry->seq;
      break;
    }
    high = entry->seq - 1;
    const Seq below = high - std::min(high.value, step);
    const auto far = below > low ? entry_at(low, below) : std::nullopt;
    if (far && far->round <= round) {
      low = far->seq;
      break;
    }
    if (far) high = far->seq - 1;
  }
  while (low < high) {
    const Seq middle = low + ((high - low) + 1) / 2;
    const auto entry = entry_at(low, middle);
    if (!entry) {
      low = middle;  // a hole: nothing between
    } else if (entry->round <= round) {
      low = std::max(middle, entry->seq);
    } else {
      high = entry->seq - 1;
    }
  }
  return low;
}

/// What was before his first time in the conversation or between two has not come to him; what had come stays so.
Seq seen_in(const std::vector<Period>& periods, Seq reached) {
  for (const Period& period : periods | std::views::reverse)
    if (reached >= period.join) return period.leave ? std::min(period.leave, reached) : reached;
  return {};
}

std::optional<Receipt> receipt_of(View& view, const UserId& user, const ConversationId& id, Seq head) {
  const UserConversation* row = view.user_conversation(user, id);
  if (row == nullptr || !row->in_period() || !shares_receipts(view, user)) return std::nullopt;
  Receipt receipt{user, row->read, row->read};
  // By rounds alone: a mark says what a row is, and no longer what it was once the row has changed again.
  std::uint64_t round = view.user(user).forgotten_round;
  for (const Device& device : view.devices(user)) round = std::max(round, device.acknowledged_round);
  receipt.delivered = std::max(receipt.delivered, last_of_rounds(view, id, head, round));
  if (planted(Fault::delivered_when_sent)) receipt.delivered = head;
  receipt.delivered = std::max(row->read, seen_in(row->periods, receipt.delivered));
  return receipt;
}

/// The others, in order of joining.
Result<std::vector<UserId>> others(View& view, const CoreParams& params, const ReceiptsQuery& query) {
  TM_ASSIGN(const UserConversation* row, index_row(view, query.user, query.conversation));
  if (!row->in_period()) return fail(ErrorCode::NOT_MEMBER, "conversation_id");
  const Conversation* conversation = view.conversation(query.conversation);
  std::vector<UserId> users;
  if (conversation == nullptr) return users;
  if (conversation->large || conversation->members.size() > params.small_max)
    return fail(ErrorCode::LIMIT_REACHED, "conversation_id",
                "Only of conversations of at most " + std::to_string(params.small_max) + " members.");
  for (const Member& member : conversation->members) {
    const bool asked = query.users.empty() || std::ranges::find(query.users, member.user) != query.users.end();
    if (asked && member.user != query.user) users.push_back(member.user);
  }
  return users;
}

Result<Receipts> receipts(View& view, const CoreParams& params, const ReceiptsQuery& query) {
  TM_ASSIGN(const std::vector<UserId> users, others(view, params, query));
  Receipts told;
  told.conversation = query.conversation;
  told.off = !shares_receipts(view, query.user);
  if (told.off) return told;
  const Seq head = view.line(query.conversation).seq;
  for (const UserId& user : users)
    if (const auto receipt = receipt_of(view, user, query.conversation, head)) told.receipts.push_back(*receipt);
  return told;
}

}  // namespace

Result<Receipts> read_receipts(View& view, const CoreParams& params, const ReceiptsQuery& query) {
  return unless_failed(view, receipts(view, params, query));
}

}  // namespace tidemark
