// Conversation sync: what a device lacks of one conversation above the place up to which it has everything (design,
// section 4).
#include <algorithm>

#include "core/read_parts.h"
#include "core/reads.h"
#include "core/slim.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::size_t kTouchesMax = 2'000;  // looked at for one page, on known ranges or not

Result<Intervals> known_of(const ConversationSyncQuery& query, const CoreParams& params) {
  if (query.known.size() > params.known_ranges_max)
    return fail(ErrorCode::LIMIT_REACHED, "known", "At most " + std::to_string(params.known_ranges_max) + " ranges.");
  for (const Interval& range : query.known)
    if (range.to <= range.after) return fail(ErrorCode::OUT_OF_RANGE, "known", "after must lie below to.");
  return joined(query.known);
}

/// The device's own copy of a row above `after` is right as long as nothing changed the row since it was sent.
void drop_known(std::vector<Entry>& rows, const Intervals& known) {
  std::erase_if(rows, [&](const Entry& row) { return !row.touched_by && holds(known, row.seq); });
}

/// A row that the device claims to hold and may not see any more; whether a former member's page may say so: what
/// lies outside his periods was never his, and that something changes there is no business of his.
std::optional<Hidden> hidden_row(const Sight& sight, Seq seq) {
  if (visible(sight, seq)) return std::nullopt;
  Hidden hidden = hidden_in(sight, seq - 1, seq).front();
  if (hidden.reason == HiddenReason::period && !sight.row.in_period()) return std::nullopt;
  return hidden;
}

/// Collects what entries in (after, to] changed in rows on known ranges, in the order of these entries: the rows in
/// their present state, and which are hidden by now.
struct Touched {
  View& view;
  const ConversationSyncQuery& query;
  const UserConversation& row;
  const Intervals& known;
  std::size_t limit;
  std::uint64_t bytes_max;
  std::uint64_t inline_bytes;
  std::vector<Entry> rows = {};
  std::vector<Hidden> hidden = {};
  Seq reached = {};  // the last touch that was looked at
  bool full = false;
  std::size_t looked_at = 0;
  std::uint64_t bytes = 0;

  bool take(Seq seq, Seq target) {
    full = looked_at++ == kTouchesMax || !add(target);
    if (!full) reached = seq;
    return !full;
  }

 private:
  /// Whether there was room.
  bool add(Seq target) {
    if (!holds(known, target)) return true;
    // By its last edit and by its last reaction: it is shown once.
    if (std::ranges::find(rows, target, &Entry::seq) != rows.end()) return true;
    const Sight sight{view, query.user, row};
    if (!visible(sight, target)) {
      if (const auto named = hidden_row(sight, target)) hidden.push_back(*named);
      return true;
    }
    std::optional<Entry> entry = view.entry(query.conversation, target);
    if (!entry) return true;
    Entry seen = slim(seen_by(sight, std::move(*entry)), inline_bytes);
    bytes += bytes_of_row(seen);
    if (!rows.empty() && (rows.size() == limit || bytes > bytes_max)) return false;
    rows.push_back(std::move(seen));
    return true;
  }
};

/// Adds the touches of (after, to] on known ranges. While they do not fit, pages carry touches alone, and the rows
/// above `after` come with the last of them: they are to be no older than any touch.
void add_touched(ConversationPage& page, Touched touched) {
  const Seq from = std::max(page.after, touched.query.touch_cursor);
  touched.view.touches(page.conversation, from, page.to, Direction::up,
                       [&](Seq seq, Seq target) { return touched.take(seq, target); });
  if (touched.full) {
    page.touch_cursor = touched.reached;
    page.more = true;
    page.messages.clear();
    page.covers = {page.after, page.after};
    page.hole = {};
    page.hidden.clear();
  }
  for (const Hidden& hidden : touched.hidden)
    if (!(page.covers.after < hidden.to && hidden.to <= page.covers.to)) page.hidden.push_back(hidden);
  std::ranges::sort(page.hidden, {}, &Hidden::after);
  for (Entry& row : touched.rows)
    if (!std::ranges::binary_search(page.messages, row.seq, {}, &Entry::seq)) page.touched.push_back(std::move(row));
}

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
  TM_ASSIGN(const Intervals known, known_of(query, params));
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
    const Sight sight{view, query.user, *row};
    const Intervals gap = visible_in(sight, query.after, bound);
    const bool huge = length_of(gap) > params.hole_above;
    Rows rows =
        read_rows(sight, gap, huge ? Direction::down : Direction::up, page_of(params, limit, params.sync_bytes_max));
    if (huge) {
      give_newest(page, std::move(rows), bound, page.floor);
    } else {
      give_next(page, std::move(rows), bound);
      if (page.more) page.to = page.covers.to;
    }
  }
  if (page.to < last) page.more = true;  // a `to` fixed before may lie far below
  drop_known(page.messages, known);
  page.hidden = hidden_in({view, query.user, *row}, page.covers.after, page.covers.to);
  add_touched(page, {view, query, *row, known, limit, params.sync_bytes_max, params.inline_bytes});
  return page;
}

}  // namespace

Result<ConversationPage> read_conversation_sync(View& view, const CoreParams& params,
                                                const ConversationSyncQuery& query) {
  return unless_failed(view, conversation_page(view, params, query));
}

}  // namespace tidemark
