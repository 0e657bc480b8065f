// What a run with real processes met. A run in which one of these stayed 0 has not shown what it was meant to show.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark::testing {

// Name, and what it counts.
#define TIDEMARK_PROCESS_COUNTERS(X)                                               \
  X(sends, "messages that a device took")                                          \
  X(acknowledged, "messages that a device saw sent")                               \
  X(retried, "messages that left a device more than once")                         \
  X(posts, "messages of a backend over HTTP")                                      \
  X(duplicates, "messages of a backend answered as duplicates")                    \
  X(reads, "read pointers that moved on a device")                                 \
  X(notified, "messages that a device notified of")                                \
  X(recalls, "messages that a device saw taken back as it had asked")              \
  X(edits, "messages that a device saw edited as it had asked")                    \
  X(changes_refused, "recalls and edits that a device was refused")                \
  X(changes_over_http, "messages taken back or edited by a backend")               \
  X(changed_rows, "rows that changed before the eyes of a device's user")          \
  X(group_changes, "groups made, joined, left, renamed")                           \
  X(connections, "connections through the proxy")                                  \
  X(refused, "connections while there was no server")                              \
  X(cuts, "connections cut at a random byte")                                      \
  X(cuts_in_frame, "of these in the middle of a frame")                            \
  X(resets, "connections that ended with a reset")                                 \
  X(half_open, "connections whose end only one side saw")                          \
  X(freezes, "directions of a connection that stood still")                        \
  X(dribbles, "connections that carried a few bytes at a time")                    \
  X(reconnects, "times that a device was in step again after it had been offline") \
  X(server_kills, "kills of the server")                                           \
  X(server_kills_in_post, "of these between a backend's request and its answer")   \
  X(server_stops, "orderly restarts of the server")                                \
  X(restores, "servers put back from a backup")                                    \
  X(lost_rows, "ranges of rows that a restore left on a device alone")             \
  X(device_kills, "kills of a device")                                             \
  X(device_kills_unsent, "of these with messages not yet sent")                    \
  X(device_stops, "orderly restarts of a device")                                  \
  X(pauses, "processes that stood still and went on")                              \
  X(new_installs, "devices told to begin a new installation")

enum class Counter : std::size_t {
#define TIDEMARK_PROCESS_COUNTER(name, text) name,
  TIDEMARK_PROCESS_COUNTERS(TIDEMARK_PROCESS_COUNTER)
#undef TIDEMARK_PROCESS_COUNTER
};

struct CounterInfo {
  std::string_view name;
  std::string_view text;
};
inline constexpr auto kCounters = std::to_array<CounterInfo>({
#define TIDEMARK_PROCESS_COUNTER(name, text) {#name, text},
    TIDEMARK_PROCESS_COUNTERS(TIDEMARK_PROCESS_COUNTER)
#undef TIDEMARK_PROCESS_COUNTER
});

/// What need not be met: the server says so when two welcomes in a row were lost; or when another was faster.
inline constexpr bool may_stay_away(Counter counter) {
  return counter == Counter::new_installs || counter == Counter::changes_refused;
}

/// Thread-safe: the proxy has a thread of its own.
class Counters {
 public:
  void hit(Counter counter) { ++counts_[static_cast<std::size_t>(counter)]; }
  std::uint64_t of(Counter counter) const { return counts_[static_cast<std::size_t>(counter)]; }

 private:
  std::array<std::atomic<std::uint64_t>, kCounters.size()> counts_{};
};

}  // namespace tidemark::testing
