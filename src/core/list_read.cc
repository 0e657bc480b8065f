// Conversations as their user sees them: the summary of one, and the list by time.
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "core/conversation_id.h"
#include "core/group_rights.h"
#include "core/mentions.h"
#include "core/preview.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/unread.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

/// The last countable row below `before` that its user has not deleted for himself.
std::optional<Entry> last_kept_message(const Sight& sight, Seq before) {
  const Intervals shown = visible_in(sight, Seq(0), before - 1);
  std::optional<Entry> last;
  for (auto range = shown.rbegin(); range != shown.rend() && !last; ++range)
    sight.view.entries(sight.row.conversation, range->after, range->to, Direction::down, [&](const Entry& entry) {
      if (entry.countable()) last = entry;
      return !last;
    });
  return last;
}

/// The last visible countable row: each entry knows the last countable one up to itself, so one look at the end of
/// each period, newest first, finds it, unless the user deleted it for himself.
std::optional<Entry> last_message(const Sight& sight, const LineHead& head) {
  const auto& [view, user, row] = sight;
  for (auto period = row.periods.rbegin(); period != row.periods.rend(); ++period) {
    Seq top = head.top;
    if (period->leave) {
      const std::optional<Entry> end = view.entry(row.conversation, period->leave);
      top = end ? end->top : Seq(0);
    }
    if (!top || !granted(row, top)) continue;
    if (visible(sight, top)) return view.entry(row.conversation, top);
    return last_kept_message(sight, top);
  }
  return std::nullopt;
}

/// The unread number, exact even where the row's checkpoint lags behind its floor.
Unread exact_unread(View& view, const CoreParams& params, const UserId& user, const UserConversation& row,
                    const LineHead& head, bool self_chat) {
  if (row.floor >= std::min(floor_of(row), head.seq)) return unread_of(view, user, row, head, params, self_chat);
  UserConversation settled = row;
  settle_floor(view, user, head, settled);
  return unread_of(view, user, settled, head, params, self_chat);
}

/// Order of the list: newest first.
bool listed_below(const UserConversation& row, std::int64_t sort_time, const ConversationId& conversation) {
  return std::tie(row.sort_time, row.conversation) < std::tie(sort_time, conversation);
}

constexpr Mark kTop{std::numeric_limits<std::uint64_t>::max()};

/// The greatest head mark of a row below the given place of the list. A binary search: in small conversations rows
/// have the same order by head mark and by sort time.
Mark first_mark_below(View& view, const UserId& user, std::int64_t sort_time, const ConversationId& conversation) {
  Mark below;                             // rows at or below it lie below the place
  Mark above = view.user(user).mark + 1;  // rows at or above it do not
  while (below + 1 < above) {
    const Mark middle = below + (above - below) / 2;
    Mark next;
    bool next_is_below = true;
    view.by_head_mark(user, Mark(0), middle, Direction::down, [&](const UserConversation& row) {
      if (row.large) return true;
      next = row.head_mark;
      next_is_below = listed_below(row, sort_time, conversation);
      return false;
    });
    if (next_is_below) {
      below = middle;
    } else {
      above = next;
    }
  }
  return below;
}

/// Large groups stand in the list by their logs, not by marks: all of them are looked at.
template <typename Take>
void add_large_groups(View& view, const UserId& user, Take take) {
  if (view.user(user).large_groups == 0) return;
  view.large_groups(user, ConversationId(), [&](const ConversationId& id) {
    if (const UserConversation* row = view.user_conversation(user, id); row != nullptr && row->large) take(*row);
    return true;
  });
}

Result<ConversationList> list_page(View& view, const CoreParams& params, const UserId& user, std::uint32_t asked,
                                   std::int64_t below_sort_time, const ConversationId& below_conversation) {
  TM_ASSIGN(const std::uint32_t limit, limit_of(asked, params.page_default, params.page_max));
  const bool from_top = below_sort_time == 0;
  const Mark from = from_top ? kTop : first_mark_below(view, user, below_sort_time, below_conversation);
  std::vector<UserConversation> rows;
  const auto take = [&](const UserConversation& row) {
    if (!row.removed && (from_top || listed_below(row, below_sort_time, below_conversation))) rows.push_back(row);
  };
  view.by_head_mark(user, Mark(0), from, Direction::down, [&](const UserConversation& row) {
    if (!row.large) take(row);
    return rows.size() <= limit;
  });
  add_large_groups(view, user, take);
  std::ranges::sort(rows, std::greater(),
                    [](const UserConversation& row) { return std::tie(row.sort_time, row.conversation); });
  ConversationList list;
  if (rows.size() > limit) {
    rows.resize(limit);
    list.next_sort_time = rows.back().sort_time;
    list.next_conversation = rows.back().conversation;
  }
  for (const UserConversation& row : rows) list.conversations.push_back(change_of(view, params, user, row));
  return list;
}

Result<Change> one_change(View& view, const CoreParams& params, const UserId& user,
                          const ConversationId& conversation) {
  TM_ASSIGN(const UserConversation* row, index_row(view, user, conversation));
  return change_of(view, params, user, *row);
}

Result<Conversation> group_row(View& view, const UserId& user, const ConversationId& id) {
  TM_ASSIGN(const UserConversation* row, index_row(view, user, id));
  const Conversation* group = view.conversation(id);
  if (!group || group->kind != ConversationKind::group)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (!row->in_period() && !saw_the_end(*group, *row)) return fail(ErrorCode::NOT_MEMBER, "conversation_id");
  return *group;
}

Result<Conversation> operators_group(View& view, const ConversationId& id) {
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id));
  const Conversation* group = view.conversation(id);
  if (!group || parsed.kind != ConversationKind::group)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  return *group;
}

std::vector<UserObject> all_objects(View& view, const UserId& user, ObjectKind kind) {
  const char letter = kind == ObjectKind::setting ? 's' : 'b';
  std::vector<UserObject> found;
  view.objects(user, std::string(1, letter), std::string(1, static_cast<char>(letter + 1)),
               [&](const UserObject& object) {
                 if (!object.empty()) found.push_back(object);
                 return true;
               });
  return found;
}

Result<DraftsPage> page_of_drafts(View& view, const CoreParams& params, const UserId& user, std::uint32_t asked,
                                  const ConversationId& after) {
  TM_ASSIGN(const std::uint32_t limit, limit_of(asked, params.page_default, params.page_max));
  const std::string from = after.empty() ? name_of_draft(after) : name_of_draft(after) + '\0';
  DraftsPage page;
  std::uint64_t bytes = 0;
  view.objects(user, from, std::string(1, 't' + 1), [&](const UserObject& object) {
    if (object.empty()) return true;
    bytes += bytes_of_object(object);
    if (!page.drafts.empty() && (page.drafts.size() == limit || bytes > params.sync_bytes_max)) {
      page.next_after = std::get<SavedDraft>(page.drafts.back().what).conversation;
      return false;
    }
    page.drafts.push_back(object);
    return true;
  });
  return page;
}

}  // namespace

Change change_of(View& view, const CoreParams& params, const UserId& user, const UserConversation& row) {
  const LineHead head = view.line(row.conversation);
  const bool member = row.in_period();
  Change change;
  change.conversation = row.conversation;
  change.mark = row.mark();
  change.head_seq = member ? head.seq : row.head_seq;
  change.top = member ? head.top : row.top;
  change.sort_time = row.sort_time;
  change.member = member;
  change.role = row.role;
  change.periods = row.periods;
  change.read = row.read;
  change.unread_flag = row.unread_flag;
  change.cleared = row.cleared;
  change.touch_seq = row.touch_seq;
  change.removed = row.removed;
  change.muted_until = row.muted_until;
  change.pinned_at = row.pinned_at;
  change.large = row.large;
  const Mentioned mentions = mentioned({view, user, row});
  change.mentions = mentions.count;
  change.mentioned_at = mentions.first;
  change.all_mentioned_at = mentions.by_all;
  bool self_chat = false;
  if (const Result<ParsedConversation> parsed = parse_conversation(row.conversation)) {
    change.kind = parsed->kind;
    self_chat = parsed->self();
    if (parsed->has(user)) change.peer = parsed->peer_of(user);
  }
  // A former member is not told what the group is called by now: he may not see the entry that says so.
  if (change.kind == ConversationKind::group)
    if (const Conversation* group = view.conversation(row.conversation))
      if (member || saw_the_end(*group, row)) change.title = group->title;
  change.unread = exact_unread(view, params, user, row, head, self_chat);
  if (const std::optional<Entry> last = last_message({view, user, row}, head))
    change.preview = preview_of(*last, params.preview_bytes);
  return change;
}

Result<ConversationList> read_conversations(View& view, const CoreParams& params, const UserId& user,
                                            std::uint32_t limit, std::int64_t below_sort_time,
                                            const ConversationId& below_conversation) {
  return unless_failed(view, list_page(view, params, user, limit, below_sort_time, below_conversation));
}

Result<Change> read_change(View& view, const CoreParams& params, const UserId& user,
                           const ConversationId& conversation) {
  return unless_failed(view, one_change(view, params, user, conversation));
}

Result<std::vector<UserObject>> read_objects(View& view, const UserId& user, ObjectKind kind) {
  return unless_failed(view, Result<std::vector<UserObject>>(all_objects(view, user, kind)));
}

Result<DraftsPage> read_drafts(View& view, const CoreParams& params, const UserId& user, std::uint32_t limit,
                               const ConversationId& after) {
  return unless_failed(view, page_of_drafts(view, params, user, limit, after));
}

Result<Conversation> read_group(View& view, const UserId& user, const ConversationId& conversation) {
  return unless_failed(view, group_row(view, user, conversation));
}

Result<Conversation> read_any_group(View& view, const ConversationId& conversation) {
  return unless_failed(view, operators_group(view, conversation));
}

}  // namespace tidemark
