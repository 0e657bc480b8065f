#include "core/visibility.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/intervals.h"

namespace tidemark {
namespace {

constexpr Seq kNoLeave{std::numeric_limits<std::uint64_t>::max()};

/// What a period shows: from visible_from up to and including the own leave entry.
Interval shown_by(const Period& period) {
  const Seq first = period.visible_from ? period.visible_from : Seq(1);
  return {first - 1, period.leave ? period.leave : kNoLeave};
}

Intervals periods_of(const UserConversation& row) {
  Intervals shown;
  shown.reserve(row.periods.size());
  for (const Period& period : row.periods) shown.push_back(shown_by(period));
  return joined(std::move(shown));
}

Intervals granted_in(const UserConversation& row, Seq after, Seq to) {
  return clipped(periods_of(row), std::max(after, row.cleared), to);
}

Intervals jumped(View& view, const ConversationId& id) {
  Intervals holes;
  if (const Conversation* conversation = view.conversation(id))
    for (const Jump& jump : conversation->jumps) holes.push_back({jump.cut, jump.first - 1});
  return holes;
}

}  // namespace

bool granted(const UserConversation& row, Seq seq) {
  if (seq <= row.cleared) return false;
  return std::ranges::any_of(row.periods, [&](const Period& period) {
    const Interval shown = shown_by(period);
    return shown.after < seq && seq <= shown.to;
  });
}

bool visible(const Sight& sight, Seq seq) {
  if (!granted(sight.row, seq)) return false;
  if (!seq || seq > sight.row.deleted_to) return true;
  const auto block = sight.view.object(sight.user, name_of_deleted(sight.row.conversation, block_of(seq)));
  return !block || !std::get<DeletedBlock>(block->what).deleted.test(seq);
}

Intervals deleted_in(const Sight& sight, Seq after, Seq to) {
  Intervals deleted;
  to = std::min(to, sight.row.deleted_to);
  if (to <= after) return deleted;
  const ConversationId& id = sight.row.conversation;
  sight.view.objects(sight.user, name_of_deleted(id, block_of(after + 1)), name_of_deleted(id, block_of(to) + 1),
                     [&](const UserObject& object) {
                       const auto& block = std::get<DeletedBlock>(object.what);
                       std::ranges::copy(block.deleted.intervals(block.block), std::back_inserter(deleted));
                       return true;
                     });
  return clipped(joined(std::move(deleted)), after, to);
}

Intervals visible_in(const Sight& sight, Seq after, Seq to) {
  const Intervals shown = minus(granted_in(sight.row, after, to), jumped(sight.view, sight.row.conversation));
  return minus(shown, deleted_in(sight, after, to));
}

std::vector<Hidden> hidden_in(const Sight& sight, Seq after, Seq to) {
  std::vector<Hidden> hidden;
  if (to <= after) return hidden;
  const auto add = [&](const Intervals& parts, HiddenReason reason) {
    for (const Interval& part : parts) hidden.push_back({part.after, part.to, reason});
  };
  const Intervals holes = jumped(sight.view, sight.row.conversation);
  add(clipped(holes, after, to), HiddenReason::restored);
  // What was never the user's is hidden for that reason, whatever he cleared later.
  const Intervals periods = periods_of(sight.row);
  add(minus(minus({{after, to}}, periods), holes), HiddenReason::period);
  const Seq cleared = sight.row.cleared;
  add(minus(clipped(periods, after, std::min(to, cleared)), holes), HiddenReason::cleared);
  // Only what could be seen was ever deleted; a period may have been lost with a restore.
  const Intervals deleted = deleted_in(sight, std::max(after, cleared), to);
  add(minus(deleted, minus(deleted, minus(periods, holes))), HiddenReason::deleted);
  std::ranges::sort(hidden, {}, &Hidden::after);
  return hidden;
}

Seq lower_bound_of(const UserConversation& row) {
  const Intervals shown = granted_in(row, Seq(0), kNoLeave);
  return shown.empty() ? std::max(row.cleared, upper_bound_of(row, row.head_seq)) : shown.front().after;
}

Seq upper_bound_of(const UserConversation& row, Seq head) {
  Seq last;
  for (const Period& period : row.periods) last = std::max(last, period.leave ? std::min(period.leave, head) : head);
  return last;
}

}  // namespace tidemark
