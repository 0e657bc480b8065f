// Sync of a user's index: pages that go down from the head to the cursor (design, section 4, "Coming back").
#include <algorithm>
#include <iterator>
#include <limits>

#include "core/planted.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/sync_run.h"
#include "core/unread.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

Result<void> check_place(const SyncRun& run) {
  const SyncQuery& query = run.query;
  if (!query.p0) {
    if (query.below) return fail(ErrorCode::OUT_OF_RANGE, "below", "It goes with the p0 of the page before.");
    return {};
  }
  if (query.p0 > run.head || query.p0 < run.low)
    return fail(ErrorCode::OUT_OF_RANGE, "p0", "From the cursor's mark to the head.");
  if (query.p0_round == 0 || query.p0_round < run.low_round || query.p0_round > run.view.round())
    return fail(ErrorCode::OUT_OF_RANGE, "p0_round", "As the page before said.");
  if (query.below && (query.below > query.p0 || query.below < run.low))
    return fail(ErrorCode::OUT_OF_RANGE, "below", "From the cursor's mark to p0.");
  return {};
}

Result<SyncRun> run_of(View& view, const CoreParams& params, const SyncQuery& query) {
  SyncRun run{view, params, query, view.epoch()};
  const UserHead head = view.user(query.user);
  run.head = head.mark;
  run.object_mark = head.object_mark;
  const std::uint64_t round = view.round();
  run.mode = mode_of(view, query.cursor, head);
  if (run.mode == Mode::delta && !query.cursor.empty() && query.cursor.round > round) run.mode = Mode::reset;
  if (run.mode == Mode::delta && !query.cursor.empty()) {
    run.low = query.cursor.mark;
    run.low_round = query.cursor.round;
  }
  TM_TRY(check_place(run));
  run.p0 = query.p0 ? query.p0 : run.head;
  run.p0_round = query.p0 ? query.p0_round : round;
  TM_ASSIGN(run.limit, limit_of(query.limit, params.sync_default, params.sync_max));
  if (query.byte_budget > params.sync_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "byte_budget", "At most " + std::to_string(params.sync_bytes_max) + ".");
  run.bytes = query.byte_budget ? query.byte_budget : params.sync_bytes_default;
  if (query.bodies == Bodies::recent && (query.recent == 0 || query.recent > params.recent_max))
    return fail(ErrorCode::OUT_OF_RANGE, "recent", "1 to " + std::to_string(params.recent_max) + ".");
  return run;
}

/// Rows that changed last in (after, to], newest first, at most `most`. Each row lies in both orders; it counts where
/// its later mark is. Removed ones are told to everybody: a device may know of one by its own message alone.
std::vector<UserConversation> changed_in(const SyncRun& run, Mark after, Mark to, std::size_t most) {
  std::vector<UserConversation> rows;
  View& view = run.view;
  const UserId& user = run.query.user;
  const auto take_if = [&](auto last_change) {
    return [&, most, last_change, first = rows.size()](const UserConversation& row) {
      if (last_change(row)) rows.push_back(row);
      return rows.size() - first < most;
    };
  };
  view.by_head_mark(user, after, to, Direction::down,
                    take_if([](const UserConversation& row) { return row.head_mark >= row.state_mark; }));
  view.by_state_mark(user, after, to, Direction::down,
                     take_if([](const UserConversation& row) { return row.state_mark > row.head_mark; }));
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.mark() > b.mark(); });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

/// The same over a long stretch, in windows that grow, so that rows which changed again further up are passed over
/// once in a run and not once a page.
std::vector<UserConversation> newest_changes(const SyncRun& run, Mark after, Mark to, std::size_t most) {
  std::vector<UserConversation> rows;
  std::uint64_t width = 2 * most;
  while (rows.size() < most && after < to) {
    const Mark from = to - after > width ? to - width : after;
    std::vector<UserConversation> more = changed_in(run, from, to, most - rows.size());
    std::ranges::move(more, std::back_inserter(rows));
    to = from;
    width = width > std::numeric_limits<std::uint64_t>::max() / 4 ? width : 4 * width;
  }
  return rows;
}

/// Adds the newest rows of a conversation; returns what they weigh.
std::uint64_t add_recent(const SyncRun& run, const UserConversation& row, Change& change) {
  const Seq upper = upper_bound_of(row, run.view.line(row.conversation).seq);
  Rows rows = read_rows({run.view, run.query.user, row}, visible_in({run.view, run.query.user, row}, Seq(0), upper),
                        Direction::down, page_of(run.params, run.query.recent, run.bytes));
  change.covers = {rows.more ? rows.rows.front().seq - 1 : Seq(0), upper};
  change.hidden = hidden_in({run.view, run.query.user, row}, change.covers.after, change.covers.to);
  change.messages = std::move(rows.rows);
  return rows.bytes;
}

/// Conversations from further down that have unread messages of high priority, once for a run, and at most as heavy as
/// half a page.
std::vector<Change> extras_of(const SyncRun& run, const SyncPage& page) {
  std::vector<Change> extras;
  std::uint64_t bytes = 0;
  const UserHead head = run.view.user(run.query.user);
  for (auto mark = head.high_marks.rbegin(); mark != head.high_marks.rend(); ++mark) {
    const UserConversation* row = run.view.user_conversation(run.query.user, mark->conversation);
    if (row == nullptr || row->removed || row->mark() <= run.low || row->mark() > page.after) continue;
    if (mark->seq <= floor_of(*row) || !visible({run.view, run.query.user, *row}, mark->seq)) continue;
    const std::optional<Entry> entry = run.view.entry(row->conversation, mark->seq);
    if (!entry || entry->dead()) continue;
    Change extra = change_of(run.view, run.params, run.query.user, *row);
    if (run.query.bodies == Bodies::recent) bytes += add_recent(run, *row, extra);
    if (!extras.empty() && bytes > run.bytes / 2) break;
    extras.push_back(std::move(extra));
  }
  return extras;
}

SyncPage descent_page(const SyncRun& run) {
  SyncPage page = page_of(run);
  page.after = run.low;
  page.to = run.query.below ? run.query.below : run.p0;
  const std::size_t most = std::size_t{run.limit} + 1;
  const std::vector<UserConversation> rows = newest_changes(run, page.after, page.to, most);
  std::vector<UserObject> objects = changed_objects(run, page.after, page.to, most);
  std::uint64_t bytes = 0;
  Mark last = page.to + 1;  // of what is on the page
  for (auto [row, object] = std::tuple(rows.begin(), objects.begin()); row != rows.end() || object != objects.end();) {
    // Objects before the conversation that changed with them, under the same mark.
    const bool is_object = object != objects.end() && (row == rows.end() || object->mark >= row->mark());
    const Mark mark = is_object ? object->mark : row->mark();
    const bool begun = !page.changes.empty() || !page.objects.empty();
    std::optional<Change> change;
    if (!is_object) {
      change = change_of(run.view, run.params, run.query.user, *row);
      if (run.query.bodies == Bodies::recent) bytes += add_recent(run, *row, *change);
    } else {
      bytes += bytes_of_object(*object);
    }
    // What has one mark stands on one page.
    if (begun && mark < last && (page.changes.size() + page.objects.size() >= run.limit || bytes > run.bytes)) {
      page.after = last - 1;
      break;
    }
    last = mark;
    if (is_object)
      page.objects.push_back(std::move(*object++));
    else
      page.changes.push_back(std::move(*change)), ++row;
  }
  if (!run.query.p0 && page.after > run.low) page.extras = extras_of(run, page);
  page.more = page.after > run.low || run.head > run.p0;
  if (planted(Fault::snapshot_by_activity)) page.next.mark = run.head;
  return page;
}

Result<SyncPage> sync_page(View& view, const CoreParams& params, const SyncQuery& query) {
  TM_ASSIGN(const SyncRun run, run_of(view, params, query));
  return query.bodies == Bodies::all ? gap_page(run) : descent_page(run);
}

}  // namespace

Mode mode_of(View& view, const Cursor& cursor, const UserHead& head) {
  if (cursor.empty()) return Mode::delta;
  const bool forgotten = cursor.mark < head.tombstones_dropped_to;
  if (cursor.epoch == view.epoch()) return cursor.mark > head.mark || forgotten ? Mode::reset : Mode::delta;
  const std::vector<Epoch> lineage = view.lineage();
  return std::ranges::find(lineage, cursor.epoch) == lineage.end() ? Mode::reset : Mode::rollback;
}

std::vector<UserObject> changed_objects(const SyncRun& run, Mark after, Mark to, std::size_t most) {
  std::vector<UserObject> objects;
  if (run.object_mark <= after) return objects;
  run.view.objects_by_mark(run.query.user, after, to, [&](const UserObject& object) {
    if (run.low || !object.empty()) objects.push_back(object);
    // All of one mark, however many.
    return objects.size() < most || objects.back().mark == objects[most - 1].mark;
  });
  return objects;
}

SyncPage page_of(const SyncRun& run) {
  SyncPage page;
  page.mode = run.mode;
  page.p0 = run.p0;
  page.p0_round = run.p0_round;
  page.head = run.head;
  page.next = {run.epoch, run.p0, run.p0_round};
  return page;
}

Result<SyncPage> read_sync(View& view, const CoreParams& params, const SyncQuery& query) {
  return unless_failed(view, sync_page(view, params, query));
}

}  // namespace tidemark
