// Sync with bodies "all": for bots and plain HTTP, which keep no coverage. A run hands out every visible entry that
// became visible in the rounds since the cursor, conversation by conversation, each exactly once over all runs.
#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "core/read_parts.h"
#include "core/sync_run.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kMessagesMax = 2'000;  // a page

/// Visits the large groups whose log has gone on since the cursor, which no mark tells.
template <typename Visit>
void large_changed_since(const SyncRun& run, Visit visit) {
  if (run.view.user(run.query.user).large_groups == 0) return;
  run.view.large_groups(run.query.user, ConversationId(), [&](const ConversationId& id) {
    const std::optional<Entry> last = run.view.entry(id, run.view.line(id).seq);
    if (last && last->round > run.low_round) visit(id);
    return true;
  });
}

/// The conversations that changed since the cursor, from `resume` on, in order of their ids; at most `most`. A row
/// that changed again during the run has a mark above p0 by now and may still hold entries from before: it counts.
std::set<ConversationId> changed_from(const SyncRun& run, const ConversationId& resume, std::size_t most) {
  std::set<ConversationId> ids;
  const auto take = [&](const ConversationId& id) {
    if (id < resume || (ids.size() == most && id > *ids.rbegin())) return;
    ids.insert(id);
    if (ids.size() > most) ids.erase(std::prev(ids.end()));
  };
  run.view.changed_since(run.query.user, run.low, take);
  large_changed_since(run, take);
  return ids;
}

/// The first seq of a log whose entry is of a round above `round`; behind the head when there is none.
Seq first_above_round(View& view, const ConversationId& id, Seq head, std::uint64_t round) {
  Seq below;             // entries up to here are of that round or earlier
  Seq place = head + 1;  // entries from here on are later
  while (round > 0 && below + 1 < place) {
    const Seq middle = below + (place - below) / 2;
    Seq next;  // the numbers may have holes
    bool early = false;
    view.entries(id, middle - 1, place - 1, Direction::up, [&](const Entry& entry) {
      next = entry.seq;
      early = entry.round <= round;
      return false;
    });
    if (early) {
      below = next;
    } else {
      place = middle;
    }
  }
  return round > 0 ? place : Seq(1);
}

/// What a run has to hand out of one conversation.
struct Gap {
  UserConversation row;  // with the periods that had begun in round p0_round
  Seq from;              // the interval that the gap covers begins behind this
  Seq upper;
  Intervals ranges;
};

/// An entry is visible to the user from round max(its own, that of his joining) on, for the earliest of his periods
/// that shows it. The gap is what became visible in (low_round, p0_round]; later rounds are left to later runs.
Gap gap_of(const SyncRun& run, const UserConversation& row) {
  Gap gap{row, Seq(0), Seq(0), {}};
  UserConversation before = row;  // with the periods that had begun when the cursor was read
  gap.row.periods.clear();
  before.periods.clear();
  for (const Period& period : row.periods) {
    const std::optional<Entry> join = period.join ? run.view.entry(row.conversation, period.join) : std::nullopt;
    const std::uint64_t round = join && join->kind == EntryKind::member ? join->round : 0;
    if (round <= run.p0_round) gap.row.periods.push_back(period);
    if (round <= run.low_round) before.periods.push_back(period);
  }
  const Seq head = run.view.line(row.conversation).seq;
  const Seq fresh = first_above_round(run.view, row.conversation, head, run.low_round);
  gap.upper = upper_bound_of(gap.row, head);
  gap.ranges = minus(visible_in({run.view, run.query.user, gap.row}, Seq(0), gap.upper),
                     visible_in({run.view, run.query.user, before}, Seq(0), fresh - 1));
  gap.from = std::min(fresh - 1, gap.upper);
  if (!gap.ranges.empty()) gap.from = std::min(gap.from, gap.ranges.front().after);
  return gap;
}

/// What the page has taken so far.
struct Taken {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

enum class GapTaken : std::uint8_t { whole, part, no_room };

/// Adds one conversation, from behind `resume` on.
GapTaken add_gap(const SyncRun& run, const UserConversation& row, Seq resume, Taken& taken, SyncPage& page) {
  const Gap gap = gap_of(run, row);
  const Seq from = std::max(gap.from, std::min(resume, gap.upper));
  const PageSize room{kMessagesMax, kMessagesMax - taken.messages, run.bytes - std::min(run.bytes, taken.bytes),
                      taken.messages == 0, run.params.inline_bytes};
  Rows rows = read_rows({run.view, run.query.user, row}, clipped(gap.ranges, from, gap.upper), Direction::up, room,
                        run.p0_round);
  if (rows.more && rows.rows.empty()) return GapTaken::no_room;

  Change change = change_of(run.view, run.params, run.query.user, row);
  const Seq reached = rows.more ? rows.rows.back().seq : rows.too_new ? rows.too_new - 1 : gap.upper;
  change.covers = {from, reached};
  change.hidden = hidden_in({run.view, run.query.user, gap.row}, from, reached);
  change.more_messages = rows.more;
  taken.messages += rows.rows.size();
  taken.bytes += rows.bytes;
  change.messages = std::move(rows.rows);
  page.changes.push_back(std::move(change));
  return rows.more ? GapTaken::part : GapTaken::whole;
}

/// Adds objects from `to` down as far as there is room; returns where the next page has to go on, 0 where none is left.
/// Those of one mark stand on one page.
Mark add_objects(const SyncRun& run, Mark to, std::uint64_t bytes, SyncPage& page) {
  Mark rest;
  if (run.object_mark <= run.low) return rest;
  run.view.objects_by_mark(run.query.user, run.low, to, [&](const UserObject& object) {
    if (!run.low && object.empty()) return true;
    bytes += bytes_of_object(object);
    if (!page.objects.empty() && bytes > run.bytes && object.mark < page.objects.back().mark) rest = object.mark;
    if (!rest) page.objects.push_back(object);
    return !rest;
  });
  return rest;
}

}  // namespace

SyncPage gap_page(const SyncRun& run) {
  SyncPage page = page_of(run);
  page.after = page.to = run.p0;  // a page in the middle of a run says nothing yet about the index
  page.more = true;
  Taken taken;
  std::set<ConversationId> ids;
  if (!run.query.resume_objects) ids = changed_from(run, run.query.resume_conversation, std::size_t{run.limit} + 1);
  for (const ConversationId& id : ids) {
    const UserConversation* row = run.view.user_conversation(run.query.user, id);
    if (!row) continue;
    page.resume_conversation = id;
    if (page.changes.size() == run.limit) return page;
    const Seq resume = id == run.query.resume_conversation ? run.query.resume_after : Seq(0);
    const GapTaken outcome = add_gap(run, *row, resume, taken, page);
    if (outcome == GapTaken::part) page.resume_after = page.changes.back().covers.to;
    if (outcome != GapTaken::whole) return page;
  }
  page.resume_conversation = ConversationId();
  const Mark from = run.query.resume_objects ? std::min(run.query.resume_objects, run.p0) : run.p0;
  page.resume_objects = add_objects(run, from, taken.bytes, page);
  if (page.resume_objects) return page;
  page.after = run.low;
  page.more = run.head > run.p0;
  return page;
}

}  // namespace tidemark
