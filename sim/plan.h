// What a run is like: drawn from its seed, sizes small, so that limits are met within minutes of virtual time.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "gateway/config.h"
#include "hooks/event_queue.h"
#include "sim/dice.h"

namespace tidemark::sim {

/// Chances are per mille of each occasion; 0 switches a fault off.
struct Plan {
  int users = 3;
  int devices_max = 2;  // of a user
  int groups = 1;
  std::int64_t busy_ms = 60'000;  // how long users act and faults strike
  std::int64_t action_every_ms = 500;

  // Pages of a bot: small, that there are many.
  std::int64_t bot_page_max = 4;
  std::int64_t bot_bytes_max = 200;

  // The network.
  std::int64_t latency_max_ms = 50;
  std::uint32_t drop = 0;
  std::uint32_t twice = 0;
  std::uint32_t reorder = 0;
  std::uint32_t cut = 0;
  std::uint32_t stall = 0;      // of each frame: its direction is silent for a while
  std::uint32_t half_open = 0;  // of each end of a connection: only one side sees it
  std::size_t window_bytes = 1 << 20;
  std::int64_t reconnect_max_ms =
      0;  // longest wait of a device between two connections, 0: as the client library waits

  // The server.
  std::int64_t round_max_ms = 5;
  std::uint32_t crash_round = 0;     // of each round
  std::uint32_t fail_round = 0;      // of each round: the disk does not take it
  std::uint32_t crash = 0;           // of each second
  std::uint32_t disk_full = 0;       // of each second
  std::uint32_t restore = 0;         // of each second: the server is put back from a backup
  std::uint32_t clock_jump = 0;      // of each second, any machine
  std::uint32_t device_crash = 0;    // of each input of a device
  std::uint32_t device_offline = 0;  // of each second
  std::uint32_t old_backup = 0;      // of each restart of a device
  std::uint32_t clone = 0;           // of each restart of a device

  std::uint32_t old_versions = 0;  // of each device: it is of an older version than the server
  // The application that is told of events (docs/hooks.md).
  EventQueueOptions event_queue;   // small
  std::uint32_t hook_down = 0;     // of each second: it goes, or comes back
  std::uint32_t hook_refused = 0;  // of each post
  std::uint32_t hook_unheard = 0;  // of each post: its answer is lost
  std::uint32_t hook_twice = 0;    // of each post: it arrives a second time

  std::uint32_t files = 0;    // of each body: it has files, and they expire
  std::uint32_t glutton = 0;  // of each second: a client asks without end and takes nothing

  Config config;             // of the server: limits small
  CommitStateOptions state;  // likewise
};

/// The plan of a seed.
Plan draw_plan(Dice& dice);

}  // namespace tidemark::sim
