// The device's place in its user's index: the cursor, pushes that chain to it, pulls that fill gaps, snapshots, acks
// and heartbeats (design, section 4). One pull is in flight at any time.
#pragma once

#include <deque>

#include "core/replica/conversations.h"
#include "core/replica/large_groups.h"
#include "core/replica/own_objects.h"

namespace tidemark::replica {

class IndexLine {
 public:
  IndexLine(Workspace& workspace, Conversations& conversations, OwnObjects& objects, const LargeGroups& large)
      : ws_(workspace), conversations_(conversations), objects_(objects), large_(large) {}

  void on_link_up();
  void on_link_down();
  void on_welcome(const Welcome& welcome);
  void on_sync(const SyncAnswer& answer);
  void on_sync_refused(const Error& error);
  void on_push(Push push);
  void on_hint(Mark head);
  void on_heartbeat(const HeartbeatAnswer& answer);
  void work();
  std::optional<std::int64_t> next_work_ms() const;

  /// Nothing is known to be missing of the index.
  bool in_step() const;
  /// Asks for a run of sync that begins after this call. `done` tells when it has come to its end.
  using Run = std::uint64_t;
  Run begin_run();
  bool done(Run run) const { return runs_done_ >= run; }
  /// Pushes that wait for earlier ones.
  std::size_t held_items() const { return held_.size(); }
  template <typename See>
  void each_held(See see) const {
    for (const HeldPush& held : held_) see(held.item);
    for (const Ahead& ahead : ahead_) see(ahead.item);
  }

 private:
  struct HeldPush {
    PushItem item;
    std::size_t bytes = 0;
    bool index_done = false;
    bool object_done = false;  // of an entry without index part
    bool entry_done = false;
    std::int64_t since_ms = 0;
    bool finished() const { return index_done && entry_done; }
  };

  /// An entry that came ahead of its place in the index, until its index part comes.
  struct Ahead {
    PushItem item;
    std::size_t bytes = 0;
    bool taken = false;
  };

  bool chains() const;
  bool short_of_head() const;
  bool behind() const { return told_ > ws_.device().cursor.mark; }
  void begin_snapshot(Epoch epoch, Mode mode);
  bool completes(const SyncPage& page) const;
  bool fits(const SyncPage& page) const;
  void go_on(const SyncAnswer& answer);
  void finish(const SyncPage& page);
  void take_push(PushItem item);
  void keep_ahead(const PushItem& item);
  std::deque<Ahead>::iterator find_ahead(const ConversationId& conversation, Seq seq);
  bool put_together(HeldPush& held);
  void note_taken_ahead(const PushItem& item);
  void advance(HeldPush& held);
  void take_index(const PushItem& item);
  void take_objects(const std::vector<UserObject>& objects);
  void hold(HeldPush held);
  void advance_all();
  void give_up_overdue();
  void pull();
  void acknowledge();
  void beat();

  Workspace& ws_;
  Conversations& conversations_;
  OwnObjects& objects_;
  const LargeGroups& large_;

  Mark told_;  // the highest mark that anything has told of
  bool pulling_ = false;
  Cursor asked_from_;
  bool pull_now_ = false;
  std::optional<std::int64_t> behind_since_ms_;
  Retry retry_;
  std::deque<HeldPush> held_;
  std::size_t held_bytes_ = 0;
  std::deque<Ahead> ahead_;
  std::size_t ahead_bytes_ = 0;

  Run runs_begun_ = 0;
  Run runs_done_ = 0;
  Run runs_wanted_ = 0;

  Mark acked_;
  std::uint32_t to_ack_ = 0;
  bool ahead_to_ack_ = false;
#ifdef TIDEMARK_PLANTED_FAULTS
  std::int64_t link_down_ms_ = -60'000;
#endif
  std::optional<std::int64_t> ack_since_ms_;
  std::int64_t heartbeat_ms_ = 0;
  std::int64_t last_beat_ms_ = 0;
};

}  // namespace tidemark::replica
