// History: pages of rows from any place of a log, in either direction (design, section 4).
#include <algorithm>
#include <iterator>
#include <string>

#include "core/planted.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

/// What one history question works on.
struct Reading {
  View& view;
  const HistoryQuery& query;
  const UserConversation& row;
  Seq lower;  // nothing at or below is visible
  Seq upper;  // nothing above is
  std::uint32_t limit;
  std::uint64_t bytes;
  const CoreParams& params;
};

Sight sight_of(const Reading& reading) {
  return {reading.view, reading.query.user, reading.row};
}

struct Side {
  Rows rows;
  Seq edge;          // how far this direction was examined
  bool end = false;  // and nothing visible lies beyond
};

Side older_than(const Reading& reading, Seq before, std::uint64_t limit) {
  const Seq to = std::min(before ? before - 1 : Seq(0), reading.upper);
  Side side;
  side.rows = read_rows(sight_of(reading), visible_in(sight_of(reading), Seq(0), to), Direction::down,
                        page_of(reading.params, limit, reading.bytes));
  side.end = !side.rows.more;
  side.edge = side.end ? Seq(0) : side.rows.rows.empty() ? to : side.rows.rows.front().seq - 1;
  if (planted(Fault::end_on_short_page) && side.rows.rows.size() < limit) side.end = true;
  return side;
}

Side newer_than(const Reading& reading, Seq after, std::uint64_t limit) {
  const Seq from = std::min(after, reading.upper);
  Side side;
  side.rows = read_rows(sight_of(reading), visible_in(sight_of(reading), from, reading.upper), Direction::up,
                        page_of(reading.params, limit, reading.bytes));
  side.end = !side.rows.more;
  side.edge = side.end ? reading.upper : side.rows.rows.empty() ? from : side.rows.rows.back().seq;
  return side;
}

void give_older(HistoryPage& page, Side side, Seq to) {
  page.messages = std::move(side.rows.rows);
  page.covers = {side.edge, to};
  page.end = side.end;
  if (!side.end) page.next_before = side.edge + 1;
}

void give_newer(HistoryPage& page, Side side, Seq after) {
  page.messages = std::move(side.rows.rows);
  page.covers = {after, side.edge};
  page.end = side.end;
  if (!side.end) page.next_after = side.edge;
}

/// Half of the page before the place, half from it on. `end` is that of the older side.
void give_around(HistoryPage& page, const Reading& reading, Seq place) {
  const Seq middle = std::min(place ? place - 1 : Seq(0), reading.upper);
  const std::uint64_t half = reading.limit / 2;
  Side older = older_than(reading, middle + 1, half);
  Side newer = newer_than(reading, middle, reading.limit - half);
  give_older(page, std::move(older), newer.edge);
  std::ranges::move(newer.rows.rows, std::back_inserter(page.messages));
  if (!newer.end) page.next_after = newer.edge;
}

/// A binary search by time, which never runs backwards: all visible entries below the place are older than `at`, all
/// from it on are not. The numbers may have holes.
Seq place_of_time(const Reading& reading, std::int64_t at) {
  Seq older = reading.lower;
  Seq place = reading.upper + 1;
  while (older + 1 < place) {
    const Seq middle = older + (place - older) / 2;
    Seq next;
    bool next_is_older = false;
    reading.view.entries(reading.query.conversation, middle - 1, place - 1, Direction::up, [&](const Entry& entry) {
      next = entry.seq;
      next_is_older = entry.server_time < at;
      return false;
    });
    if (next_is_older) {
      older = next;
    } else {
      place = middle;
    }
  }
  return place;
}

Result<void> check_start(const HistoryQuery& query) {
  const int given =
      int(query.before.has_value()) + query.after.has_value() + query.around.has_value() + query.at.has_value();
  if (given <= 1) return {};
  const std::string_view field = query.at ? "at" : query.around ? "around" : "after";
  return fail(ErrorCode::MALFORMED, std::string(field), "give at most one of before, after, around and at");
}

Result<HistoryPage> history_page(View& view, const CoreParams& params, const HistoryQuery& query) {
  TM_TRY(check_start(query));
  TM_ASSIGN(const std::uint32_t limit, limit_of(query.limit, params.page_default, params.page_max));
  TM_ASSIGN(const UserConversation* row, index_row(view, query.user, query.conversation));
  const Seq head = view.line(query.conversation).seq;
  const Reading reading{
      view, query, *row, lower_bound_of(*row), upper_bound_of(*row, head), limit, params.sync_bytes_max, params};

  HistoryPage page;
  page.conversation = query.conversation;
  page.as_of = as_of(*row, head);
  if (query.after) {
    give_newer(page, newer_than(reading, *query.after, limit), std::min(*query.after, reading.upper));
  } else if (query.around) {
    give_around(page, reading, *query.around);
  } else if (query.at) {
    give_around(page, reading, place_of_time(reading, *query.at));
  } else {
    const Seq before = query.before.value_or(reading.upper + 1);
    give_older(page, older_than(reading, before, limit), std::min(before ? before - 1 : Seq(0), reading.upper));
  }
  page.hidden = hidden_in(sight_of(reading), page.covers.after, page.covers.to);
  return page;
}

Result<Entry> message_row(View& view, const UserId& user, const ConversationId& conversation, Seq seq) {
  const auto unknown = [] { return fail(ErrorCode::MESSAGE_NOT_FOUND, "message_id"); };
  const UserConversation* row = view.user_conversation(user, conversation);
  if (!row || !visible({view, user, *row}, seq)) return unknown();
  std::optional<Entry> entry = view.entry(conversation, seq);
  if (!entry) return unknown();
  return seen_by({view, user, *row}, std::move(*entry));
}

}  // namespace

Result<HistoryPage> read_history(View& view, const CoreParams& params, const HistoryQuery& query) {
  return unless_failed(view, history_page(view, params, query));
}

Result<Entry> read_body(View& view, const UserId& user, const ConversationId& conversation, Seq seq) {
  auto message = read_message(view, user, conversation, seq);
  if (message && !message->countable()) return fail(ErrorCode::MESSAGE_NOT_FOUND, "message_id");
  if (message && message->dead()) return fail(ErrorCode::MESSAGE_DELETED, "message_id");
  return message;
}

Result<Entry> read_message(View& view, const UserId& user, const ConversationId& conversation, Seq seq) {
  return unless_failed(view, message_row(view, user, conversation, seq));
}

}  // namespace tidemark
