// What a run met. A session in which one of these stayed 0 has not shown what it was meant to show.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark::sim {

// Name, and what it counts.
#define TIDEMARK_SIM_COUNTERS(X)                                                 \
  X(sends, "messages taken into an outbox")                                      \
  X(acknowledged, "sends acknowledged to a client library")                      \
  X(duplicates, "sends answered as duplicates")                                  \
  X(conflicts, "ids used again for another text, refused")                       \
  X(expired_ids, "ids that came too late, refused")                              \
  X(reads, "read pointers moved by a user")                                      \
  X(reads_beyond, "read pointers beyond the last entry, moved back to it")       \
  X(receipts_watched, "times that a device looked at how far others have read")  \
  X(receipts_told, "times that a device was told it")                            \
  X(receipts_off, "times that a user began to tell or not to tell")              \
  X(high, "messages of high priority")                                           \
  X(low, "messages of low priority")                                             \
  X(ahead, "entries pushed ahead of their place in the index, priority high")    \
  X(replies, "messages that answer another")                                     \
  X(recalls, "messages taken back by their author")                              \
  X(edits, "messages edited by their author")                                    \
  X(recalls_done, "recalls acknowledged")                                        \
  X(edits_done, "edits acknowledged")                                            \
  X(reactions, "reactions put on messages, and taken off")                       \
  X(bodies, "bodies that came cut and were asked for")                           \
  X(changes_refused, "recalls, edits and reactions refused")                     \
  X(clears, "conversations cleared by a user for himself")                       \
  X(removals, "conversations taken out of a list")                               \
  X(came_back, "removed conversations that a message brought back")              \
  X(own_deletions, "messages deleted by a user for himself")                     \
  X(objects, "drafts, settings and blocks set")                                  \
  X(touched_rows, "changed rows that a device had missed")                       \
  X(touch_pages, "pages of changed rows that were followed by others")           \
  X(overtaken_pages, "pages overtaken by the change of a row on them")           \
  X(group_changes, "groups made, joined, left, renamed")                         \
  X(roles, "roles given")                                                        \
  X(mutes, "members muted, and let write again")                                 \
  X(policies, "policies of groups changed")                                      \
  X(mentions, "messages that mention somebody")                                  \
  X(grown, "groups that became large, or small again")                           \
  X(heads, "questions for the heads of large groups")                            \
  X(open_entries, "entries of a large group pushed to who has it open")          \
  X(joined_by_themselves, "users who joined an open group")                      \
  X(forbidden, "changes of groups refused to who has no right to them")          \
  X(dissolved, "groups dissolved")                                               \
  X(deletions, "messages deleted by an operator")                                \
  X(pushes, "pushes that reached a device")                                      \
  X(hints, "hints that reached a device")                                        \
  X(snapshots, "syncs from an empty cursor")                                     \
  X(descents, "syncs of more than one page")                                     \
  X(holes, "pages that left an explicit hole")                                   \
  X(hidden, "answers that named a hidden range")                                 \
  X(gaps, "pages of what a device had missed above all that it held")            \
  X(cuts, "connections cut in the middle of a frame")                            \
  X(frames_dropped, "frames that were lost")                                     \
  X(frames_doubled, "frames that came twice")                                    \
  X(frames_reordered, "frames that overtook others")                             \
  X(one_way, "connections that carried one direction only")                      \
  X(half_open, "connections whose end only one side saw")                        \
  X(slow_consumers, "sockets that took nothing while more was to be sent")       \
  X(gluttons, "clients that ask without end and take nothing")                   \
  X(unheard_of, "entries of a kind of which a device had never heard")           \
  X(broken, "entries that a device could not read")                              \
  X(events_told, "events that the application has taken")                        \
  X(events_failed, "posts that failed, or whose answer was lost")                \
  X(events_again, "events that came to the application again")                   \
  X(events_given_up, "events given up, to be told again")                        \
  X(files_expired, "files whose expiry the application was told of")             \
  X(events_lost, "times that the application was told of lost events")           \
  X(full_links, "links that read no further before they had answered")           \
  X(kicks, "sessions ended by the server")                                       \
  X(logouts, "devices logged out or removed")                                    \
  X(users_deleted, "users deleted for good")                                     \
  X(made_room, "devices that had to make room for another")                      \
  X(server_crashes, "crashes of the server between two steps")                   \
  X(crashes_before_sync, "crashes in the midst of a commit, unsynced rows lost") \
  X(crashes_after_sync, "crashes after a commit and before its answers")         \
  X(failed_writes, "commits that could not be written")                          \
  X(failed_syncs, "commits whose sync failed")                                   \
  X(torn, "crashes that left a part of what was not synced, on files alone")     \
  X(put_off, "requests of a round that failed or was too full, to be repeated")  \
  X(sent_again, "messages sent once more under their id")                        \
  X(full_disks, "times that the disk was full")                                  \
  X(recoveries, "recoveries after a failed commit")                              \
  X(restores, "servers put back from a backup")                                  \
  X(resets, "devices told to begin anew")                                        \
  X(rollbacks, "devices told of a restore")                                      \
  X(lost_rows, "ranges of rows that a restore left on a device alone")           \
  X(found_again, "lost rows whose message came back under another number")       \
  X(only_here, "conversations that a restored server knew no more")              \
  X(client_crashes, "crashes of a device")                                       \
  X(client_batches_lost, "crashes of a device before it had stored an input")    \
  X(clock_jumps, "wall clocks that jumped")                                      \
  X(old_backups, "devices restored from an old copy of their store")             \
  X(clones, "devices that run twice from one store")                             \
  X(new_installs, "devices told to begin a new installation")                    \
  X(bot_runs, "whole runs of bodies \"all\"")                                    \
  X(fresh_devices, "new devices compared with old ones")

enum class Counter : std::size_t {
#define TIDEMARK_SIM_COUNTER(name, text) name,
  TIDEMARK_SIM_COUNTERS(TIDEMARK_SIM_COUNTER)
#undef TIDEMARK_SIM_COUNTER
};

struct CounterInfo {
  std::string_view name;
  std::string_view text;
};
inline constexpr auto kCounters = std::to_array<CounterInfo>({
#define TIDEMARK_SIM_COUNTER(name, text) {#name, text},
    TIDEMARK_SIM_COUNTERS(TIDEMARK_SIM_COUNTER)
#undef TIDEMARK_SIM_COUNTER
});

struct Counters {
  std::array<std::uint64_t, kCounters.size()> counts{};

  void hit(Counter counter) { ++counts[static_cast<std::size_t>(counter)]; }
  std::uint64_t of(Counter counter) const { return counts[static_cast<std::size_t>(counter)]; }
  void add(const Counters& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }
};

}  // namespace tidemark::sim
