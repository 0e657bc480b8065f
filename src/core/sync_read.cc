// Sync of a user's index: pages that go down from the head to the cursor (design, section 4, "Coming back").
#include <algorithm>
#include <iterator>
#include <limits>

#include "core/planted.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/sync_run.h"
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
  run.head = view.user(query.user).mark;
  const std::uint64_t round = view.round();
  run.mode = mode_of(view, query.cursor, run.head);
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
/// its later mark is.
std::vector<UserConversation> changed_in(View& view, const UserId& user, Mark after, Mark to, std::size_t most) {
  std::vector<UserConversation> rows;
  const auto take_if = [&](auto last_change) {
    return [&rows, most, last_change, first = rows.size()](const UserConversation& row) {
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
std::vector<UserConversation> newest_changes(View& view, const UserId& user, Mark after, Mark to, std::size_t most) {
  std::vector<UserConversation> rows;
  std::uint64_t width = 2 * most;
  while (rows.size() < most && after < to) {
    const Mark from = to - after > width ? to - width : after;
    std::vector<UserConversation> more = changed_in(view, user, from, to, most - rows.size());
    std::ranges::move(more, std::back_inserter(rows));
    to = from;
    width = width > std::numeric_limits<std::uint64_t>::max() / 4 ? width : 4 * width;
  }
  return rows;
}

/// Adds the newest rows of a conversation; returns what they weigh.
std::uint64_t add_recent(const SyncRun& run, const UserConversation& row, Change& change) {
  const Seq upper = upper_bound_of(row, run.view.line(row.conversation).seq);
  Rows rows = read_rows(run.view, run.query.user, row.conversation, shown_in(run.view, row, Seq(0), upper),
                        Direction::down, page_of(run.query.recent, run.bytes));
  change.covers = {rows.more ? rows.rows.front().seq - 1 : Seq(0), upper};
  change.hidden = hidden_in(run.view, row, change.covers.after, change.covers.to);
  change.messages = std::move(rows.rows);
  return rows.bytes;
}

SyncPage descent_page(const SyncRun& run) {
  SyncPage page = page_of(run);
  page.after = run.low;
  page.to = run.query.below ? run.query.below : run.p0;
  const std::vector<UserConversation> rows =
      newest_changes(run.view, run.query.user, page.after, page.to, std::size_t{run.limit} + 1);
  std::uint64_t bytes = 0;
  for (const UserConversation& row : rows) {
    Change change = change_of(run.view, run.params, run.query.user, row);
    if (run.query.bodies == Bodies::recent) bytes += add_recent(run, row, change);
    const bool full = page.changes.size() == run.limit || bytes > run.bytes;
    if (full && !page.changes.empty()) {
      page.after = page.changes.back().mark - 1;
      break;
    }
    page.changes.push_back(std::move(change));
  }
  page.more = page.after > run.low || run.head > run.p0;
  if (planted(Fault::snapshot_by_activity)) page.next.mark = run.head;
  return page;
}

Result<SyncPage> sync_page(View& view, const CoreParams& params, const SyncQuery& query) {
  TM_ASSIGN(const SyncRun run, run_of(view, params, query));
  return query.bodies == Bodies::all ? gap_page(run) : descent_page(run);
}

}  // namespace

Mode mode_of(View& view, const Cursor& cursor, Mark head) {
  if (cursor.empty()) return Mode::delta;
  if (cursor.epoch == view.epoch()) return cursor.mark > head ? Mode::reset : Mode::delta;
  const std::vector<Epoch> lineage = view.lineage();
  return std::ranges::find(lineage, cursor.epoch) == lineage.end() ? Mode::reset : Mode::rollback;
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
