#include "core/unread.h"

#include <algorithm>

#include "core/planted.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

std::uint64_t less(std::uint64_t from, std::uint64_t taken) {
  return from > taken ? from - taken : 0;
}

/// Countable messages of `user` in (after, to], dead or not.
std::uint64_t own_in(View& view, const ConversationId& id, const UserId& user, Seq after, Seq to) {
  std::uint64_t own = 0;
  view.entries(id, after, to, Direction::up, [&](const Entry& entry) {
    if (entry.countable() && entry.sender == user) ++own;
    return true;
  });
  return own;
}

/// ord at a place in the log, which may lie in a hole of the numbers.
std::uint64_t ord_at(View& view, const ConversationId& id, Seq seq) {
  std::uint64_t ord = 0;
  view.entries(id, Seq(0), seq, Direction::down, [&](const Entry& entry) {
    ord = entry.ord;
    return false;
  });
  return ord;
}

std::uint64_t distance(Seq a, Seq b) {
  return a < b ? b - a : a - b;
}

/// Own messages up to `seq`, counted from the nearest of the three places where their number is known: the start of
/// the log, the checkpoint and the head.
std::uint64_t own_up_to(View& view, const UserId& user, const LineHead& head, const UserConversation& row, Seq seq) {
  const std::uint64_t to_checkpoint = distance(row.floor, seq);
  if (head.seq - seq < std::min(to_checkpoint, seq - Seq(0)))
    return less(row.own, own_in(view, row.conversation, user, seq, head.seq));
  if (seq - Seq(0) < to_checkpoint) return own_in(view, row.conversation, user, Seq(0), seq);
  if (row.floor <= seq) return row.floor_own + own_in(view, row.conversation, user, row.floor, seq);
  return less(row.floor_own, own_in(view, row.conversation, user, seq, row.floor));
}

/// Others' messages above the floor, dead or not.
std::uint64_t received(const UserConversation& row, const LineHead& head) {
  return less(less(head.ord, row.floor_ord), less(row.own, row.floor_own));
}

/// Those of them that the user deleted for himself.
std::uint64_t deleted_above_floor(View& view, const UserId& user, const UserConversation& row) {
  std::uint64_t deleted = 0;
  if (row.deleted_to <= row.floor) return deleted;
  const ConversationId& id = row.conversation;
  view.objects(user, name_of_deleted(id, block_of(row.floor + 1)), name_of_deleted(id, block_of(row.deleted_to) + 1),
               [&](const UserObject& object) {
                 const auto& block = std::get<DeletedBlock>(object.what);
                 deleted += block.others.count_above(block.block, row.floor);
                 return true;
               });
  return deleted;
}

/// Those that are dead and not deleted by the user. The change that killed one lies above it, and nothing changes a
/// dead row again.
std::uint64_t dead_above_floor(View& view, const UserId& user, const UserConversation& row, const LineHead& head) {
  std::uint64_t dead = 0;
  view.touches(row.conversation, row.floor, head.seq, Direction::up, [&](Seq seq, Seq target) {
    if (target <= row.floor) return true;
    const std::optional<Entry> entry = view.entry(row.conversation, target);
    if (!entry || !entry->countable() || !entry->dead() || entry->sender == user) return true;
    if (entry->touched_by != seq) return true;  // an earlier reaction to it
    if (deleted_in({view, user, row}, target - 1, target).empty()) ++dead;
    return true;
  });
  return dead;
}

}  // namespace

Unread unread_of(View& view, const UserId& user, const UserConversation& row, const LineHead& head,
                 const CoreParams& params, bool self_chat) {
  if (self_chat || !row.in_period()) return {};
  std::uint64_t unread = received(row, head);
  if (planted(Fault::unread_counted)) return {static_cast<std::uint32_t>(unread), true};
  if (unread > 0) unread = less(unread, deleted_above_floor(view, user, row));
  const Unread too_many{params.unread_exact_max, false};
  // Each dead one costs an entry that is no message: where even all of those cannot make a difference, none is read.
  const std::uint64_t changes = less(less(head.seq.value, row.floor.value), less(head.ord, row.floor_ord));
  if (less(unread, changes) > params.unread_exact_max) return too_many;
  if (unread > 0 && row.touch_seq > row.floor) unread = less(unread, dead_above_floor(view, user, row, head));
  if (unread > params.unread_exact_max) return too_many;
  return {static_cast<std::uint32_t>(unread), true};
}

bool unread_may_be_inexact(const UserConversation& row, const LineHead& head, const CoreParams& params) {
  return received(row, head) > params.unread_exact_max;
}

Seq floor_of(const UserConversation& row) {
  const Seq start = row.in_period() ? row.periods.back().join : Seq(0);
  return std::max({row.read, row.cleared, start});
}

void settle_floor(View& view, const UserId& user, const LineHead& head, UserConversation& row) {
  const Seq floor = std::min(floor_of(row), head.seq);
  if (floor == row.floor) return;
  if (floor == head.seq) {
    row.floor_ord = head.ord;
    row.floor_own = row.own;
  } else {
    const std::uint64_t own = own_up_to(view, user, head, row, floor);
    row.floor_ord = ord_at(view, row.conversation, floor);
    row.floor_own = own;
  }
  row.floor = floor;
}

}  // namespace tidemark
