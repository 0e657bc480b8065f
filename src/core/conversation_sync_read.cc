// Conversation sync: what a device lacks of one conversation above the place up to which it has everything (design,
// section 4).
#include <algorithm>

#include "core/read_parts.h"
#include "core/reads.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::size_t kKnownMax = 64;

Result<Intervals> known_of(const ConversationSyncQuery& query) {
  if (query.known.size() > kKnownMax)
    return fail(ErrorCode::LIMIT_REACHED, "known", "At most " + std::to_string(kKnownMax) + " ranges.");
  for (const Interval& range : query.known)
    if (range.to <= range.after) return fail(ErrorCode::OUT_OF_RANGE, "known", "after must lie below to.");
  return joined(query.known);
}

/// The device's own copy of a row above `after` is right as long as nothing changed the row since it was sent.
void drop_known(std::vector<Entry>& rows, const Intervals& known) {
  std::erase_if(rows, [&](const Entry& row) { return !row.touched_by && holds(known, row.seq); });
}

/// The present state of rows at or below `after` on known ranges which an entry in (after, to] changed. Nothing
/// changes rows yet; the conversation's index of touches will be read here.
void add_touched(View&, ConversationPage&) {}

/// The next rows above `after`.
void give_next(ConversationPage& page, Rows rows, Seq bound) {
  page.more = rows.more;
  const Seq reached = !rows.more ? bound : rows.rows.empty() ? page.after : rows.rows.back().seq;
  page.covers = {page.after, reached};
  page.messages = std::move(rows.rows);
}

/// The newest rows, and the hole between them and `after`.
void give_newest(ConversationPage& page, Rows rows, Seq bound, Seq floor) {
  const Seq reached = !rows.more ? page.after : rows.rows.empty() ? bound : rows.rows.front().seq - 1;
  page.covers = {reached, bound};
  if (rows.more) page.hole = {std::min(std::max(page.after, floor), reached), reached};
  page.messages = std::move(rows.rows);
}

Result<ConversationPage> conversation_page(View& view, const CoreParams& params, const ConversationSyncQuery& query) {
  TM_ASSIGN(const std::uint32_t limit, limit_of(query.limit, params.page_default, params.page_max));
  TM_ASSIGN(const Intervals known, known_of(query));
  TM_ASSIGN(const UserConversation* row, index_row(view, query.user, query.conversation));
  const Seq head = view.line(query.conversation).seq;
  const Seq last = as_of(*row, head);
  const Seq to = query.to ? std::min(query.to, last) : last;
  const Seq bound = std::min(to, upper_bound_of(*row, head));

  ConversationPage page;
  page.conversation = query.conversation;
  page.after = query.after;
  page.to = to;
  page.as_of = last;
  page.head = last;
  page.floor = lower_bound_of(*row);
  if (query.after >= bound) {
    page.covers = {bound, bound};
  } else {
    const Intervals gap = shown_in(view, *row, query.after, bound);
    const bool huge = length_of(gap) > params.hole_above;
    Rows rows = read_rows(view, query.user, query.conversation, gap, huge ? Direction::down : Direction::up,
                          page_of(limit, params.sync_bytes_max));
    if (huge) {
      give_newest(page, std::move(rows), bound, page.floor);
    } else {
      give_next(page, std::move(rows), bound);
      if (page.more) page.to = page.covers.to;
    }
  }
  drop_known(page.messages, known);
  page.hidden = hidden_in(view, *row, page.covers.after, page.covers.to);
  add_touched(view, page);
  return page;
}

}  // namespace

Result<ConversationPage> read_conversation_sync(View& view, const CoreParams& params,
                                                const ConversationSyncQuery& query) {
  return unless_failed(view, conversation_page(view, params, query));
}

}  // namespace tidemark
