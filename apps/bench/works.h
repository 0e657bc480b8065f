// The works: each fills the report's part of its own name.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"
#include "base/error.h"

namespace tidemark::bench {

/// The field's five figures: offline pull, history query, device sync, read sync, dedup rate.
Result<void> work_field(const Options& options, Report& report);
/// Durable sends between pairs: the maximum in a closed loop, latencies in an open loop, and the raw limit beside them.
Result<void> work_send(const Options& options, Report& report);
/// Coming back to a backlog, in one conversation and spread over many.
Result<void> work_backlog(const Options& options, Report& report);
/// Pages of history from a large conversation in a large store.
Result<void> work_history(const Options& options, Report& report);
/// Groups of 100 to 100,000 members: joining, sending, coming back, reading.
Result<void> work_groups(const Options& options, Report& report);
/// What Redis Streams reach with the work of `send`: the yardstick.
Result<void> work_redis(const Options& options, Report& report);
/// Sends over a hundred thousand conversations, one in flight in each.
Result<void> work_spread(const Options& options, Report& report);
/// Three devices of each user.
Result<void> work_devices(const Options& options, Report& report);
/// Groups that a thousand members have open, of a thousand and of 100,000.
Result<void> work_online(const Options& options, Report& report);
/// The first screen of a list of ten thousand conversations.
Result<void> work_list(const Options& options, Report& report);
/// Until a server that died acknowledges again.
Result<void> work_restart(const Options& options, Report& report);
/// Ten thousand devices that come back within two seconds.
Result<void> work_storm(const Options& options, Report& report);
/// Memory of idle connections.
Result<void> work_idle(const Options& options, Report& report);
/// What RocksDB alone reaches on this disk.
Result<void> work_raw(const Options& options, Report& report);

struct RawLimit {
  double rate = 0;  // messages a second at the best batch size
  int batch = 0;
  double cpu_us = 0;  // processor time per message there
};
/// Measures the raw limit in a fresh database below `directory` and adds its figures to the report.
Result<RawLimit> measure_raw(const std::string& directory, int seconds, Report& report);

}  // namespace tidemark::bench
