// Faults that the simulator must find. They exist in one test-only program, which is compiled with
// TIDEMARK_PLANTED_FAULTS; everywhere else planted() is false at compile time and nothing of them is left.
#pragma once

#include <cstdint>

namespace tidemark {

enum class Fault : std::uint8_t {
  none,
  gap_by_count,          // a device takes a push whatever its interval, if something is new in it
  read_set_not_joined,   // a read pointer is set to what was read last, not to the maximum
  push_before_commit,    // links are told of a round before its batch is written
  ack_before_sync,       // senders are answered before the sync
  fan_out_to_present,    // receivers of an entry are the members after it, not those as of it
  snapshot_by_activity,  // the end of a run is where the index stands by then, not where it stood when the run began
  dedup_without_hash,    // an id used again is a duplicate, whatever it says
  dedup_written_apart,   // what remembers an id is written after the message, in a batch of its own
  reconnect_window,      // a device that was away for less than five seconds believes it has missed nothing
  no_epoch_on_restore,   // a store put back from a backup goes on as if nothing had been lost
  end_on_short_page,     // a page with fewer rows than asked for is taken for the end
  late_page_revives,     // a page that was read before changes which a device has applied is taken as it is
  index_written_apart,   // the indexes of users are written before the log, in a batch of their own
  queue_without_bound,   // what waits for a link whose socket takes nothing is kept, however much it is
  quote_embeds_text,     // a reply carries a copy of the text it answers
  fenced_link_commits,   // a link's commands are taken though its session is over
  late_logout,           // the late end of an old link is taken for a logout, and ends the session of the new one
  late_fan_out,          // who has just left still gets the message that comes next
  one_visible_from,      // a member has one period from his first join on, not one for each
  edit_revives,          // an edit of a message that was taken back is taken, and brings it back
  unread_counted,        // unread is a counter that messages raise and reading lowers, whatever becomes of them
  read_beyond_head,      // a read pointer may lie above all that there is
  left_large_ignored,    // who has left a large group is told of no change to what he may still read
  lane_left_behind,      // what a full lane has left in the outbox is forgotten
  high_overtakes_own,    // a message of high priority overtakes those before it in its conversation
  delivered_when_sent,   // what is in a log counts as delivered to everybody
  stops_at_unheard_of,   // a device takes no push with an entry of a kind that it does not know
  cursor_over_dropped,   // of a full queue only the last push is kept, with the interval of all of them
  outbox_forgets,        // a send that is to be repeated later is thrown away
  never_notifies,        // no row notifies
};

#ifdef TIDEMARK_PLANTED_FAULTS
inline Fault planted_fault = Fault::none;
inline bool planted(Fault fault) {
  return planted_fault == fault;
}
#else
constexpr bool planted(Fault) {
  return false;
}
#endif

}  // namespace tidemark
