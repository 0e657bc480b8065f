// What the parts of a replica share: the state, the clock of the present input, the connection's requests, and the
// outputs gathered so far.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/replica/events.h"
#include "core/replica/frames.h"
#include "core/replica/state.h"
#include "core/uuid7.h"

namespace tidemark::replica {

/// The moment of an input. Only differences of steady_ms mean anything.
struct Now {
  std::int64_t steady_ms = 0;
  std::int64_t wall_ms = 0;
};

/// How a replica behaves; the defaults are those of the design, section 13.
struct Options {
  /// Fresh randomness for every replica made, also after a restart.
  std::array<std::uint64_t, 2> seed{};
  Bodies bodies = Bodies::recent;  // what a sync brings along (a snapshot: at most the recent ones)
  std::uint32_t recent = 20;
  std::uint32_t sync_limit = 0;  // objects a page, 0: the server's default
  std::uint32_t page_limit = 50;
  std::int64_t gap_wait_ms = 500;
  std::int64_t heartbeat_ms = 30'000;
  std::int64_t ack_ms = 2'000;
  std::uint32_t ack_entries = 20;
  std::int64_t answer_ms = 30'000;  // a link that leaves a request unanswered so long is given up
  std::int64_t retry_min_ms = 1'000;
  std::int64_t retry_max_ms = 30'000;
  std::size_t held_items_max = 64;  // pushes that wait for earlier ones; changes that wait for a page
  std::size_t held_bytes_max = 65'536;
  std::size_t outbox_max = 1'000;
  std::size_t sends_in_flight_max = 32;
  std::size_t mutations_max = 32;
  std::size_t pulls_in_flight_max = 4;
  std::size_t open_max = 8;
  std::size_t ranges_max = 64;  // of coverage in one conversation
  std::size_t body_bytes_max = 65'536;
  std::size_t objects_max = 5'000;  // drafts, settings and blocks
  std::size_t heads_max = 200;      // large groups in one question
};

/// Everything that one input brought about: store the batch in one transaction, then send the requests and raise the
/// events. When storing fails nothing may be sent: build a new replica from the store.
struct Outputs {
  StoreBatch batch;
  std::vector<Request> requests;
  std::vector<Event> events;
  bool close_link = false;  // give the connection up and make a new one
};

/// Numbers from a seed; ids and the jitter of waiting times.
class Dice {
 public:
  explicit Dice(std::array<std::uint64_t, 2> seed) : state_(seed) {}
  std::uint64_t next();
  Uuid7Random uuid_random();
  std::string install_id();

 private:
  std::array<std::uint64_t, 2> state_;
};

/// When something that failed may be tried again.
struct Retry {
  std::int64_t not_before_ms = 0;
  std::uint32_t failures = 0;
};

/// What came one by one while a pull is open: a page that was read before it can be brought up to date with it.
struct Since {
  Seq from;                                             // every entry in (from, touched] was received by itself
  std::map<Seq, std::shared_ptr<const Entry>> changes;  // those that change another row
  std::size_t bytes = 0;
  std::optional<Seq> gained_as_of;  // rows that were taken in meanwhile are at least as of this
  Coverage given_up;                // ranges that were held when it was asked
};

/// A conversation as the device holds it, with what it is about to do for it.
struct Held {
  ConversationState state;
  std::map<Seq, RowNote> notes;
  Coverage hidden;                 // known in this run to show nothing
  std::set<Seq> stand_ins;         // provisional rows
  std::optional<bool> local_flag;  // the unread flag as last set here, while that is not answered
  std::uint32_t marks_open = 0;    // read pointers and flags that are numbered and not answered
  std::uint32_t wishes_open = 0;   // clearings, removals, deletions, mutes, pins that are numbered and not answered
  std::optional<std::int64_t> local_mute;  // as last set here, while that is not answered
  std::optional<bool> local_pin;

  // At most one pull is in flight for a conversation; these wait for their turn.
  std::optional<std::uint64_t> pull;
  Since since;  // the pull was asked
  bool want_newest = false;
  bool want_sync = false;
  std::set<Seq> refetch;  // rows dropped for changes that a restore lost
  std::optional<Seq> want_before;
  std::optional<Seq> want_after;
  Seq touch_cursor;  // a conversation sync goes on in its touches
  Seq touch_to;
  Seq synced_to;           // a conversation sync has ended at this head
  Seq newest_for;          // the newest page was asked for at this head
  bool exhausted = false;  // asking for more rows brought nothing
  Retry retry;

  const ConversationId& id() const { return state.id(); }
  bool wants() const { return want_newest || want_sync || want_before || want_after || !refetch.empty(); }
};

/// A request that is not answered yet.
struct Pending {
  enum class Kind : std::uint8_t {
    hello,
    sync,
    jumps,
    conversation_sync,
    history,
    send,
    mutate,
    group,
    devices,
    members,
    reactions,
    receipts,
    body,
    heartbeat,
    presence,
    heads,
    focus
  };
  Kind kind = Kind::hello;
  std::int64_t asked_ms = 0;
  ConversationId conversation;
  std::uint64_t key = 0;       // local id of a send, number of a mutation or of a group's call
  Seq touched;                 // conversation_sync, history: where it stood
  Seq changed;                 // conversation_sync: the last change that its object told of
  std::optional<Seq> before;   // history
  std::optional<Seq> forward;  // history: asked after this
};

/// A row as it is stored by the batches handed out so far; null when there is none or it cannot be read.
using RowSource = std::function<std::shared_ptr<const Entry>(const ConversationId&, Seq)>;

class Workspace {
 public:
  Workspace(Options opts, const StoreImage& image, RowSource stored_row);

  const Options options;
  Now now;
  Dice dice;
  Outputs out;
  std::map<ConversationId, Held> conversations;

  const DeviceState& device() const { return device_; }
  /// For changes: the state goes into the batch.
  DeviceState& edit_device();

  Held* find(const ConversationId& id);
  /// To be called before `held` is changed: its state goes into the batch, and its events are raised.
  ConversationState& edit(Held& held);
  /// A conversation that was not held; stands with a blank object until the server says more.
  Held& create(const ConversationId& id);
  void drop(const ConversationId& id);
  /// Those changed in this input.
  const std::map<ConversationId, std::optional<ConversationState>>& edited() const { return dirty_; }
  void store_row(Held& held, std::shared_ptr<const Entry> entry, const RowNote& note);
  /// As this input leaves it; null when it cannot be read.
  std::shared_ptr<const Entry> row(const Held& held, Seq seq) const;
  void drop_rows(Held& held, Interval range);

  void raise(Event event) { out.events.push_back(std::move(event)); }
  /// Completes and hands over the outputs of the input.
  Outputs take();

  // The connection.
  bool connected = false;
  bool welcomed = false;
  std::uint64_t ask(Operation operation, Pending pending);
  void tell(Operation operation);  // no answer comes
  std::optional<Pending> answered(std::uint64_t id);
  const std::map<std::uint64_t, Pending>& pending() const { return pending_; }
  void link_up();
  void link_down();

  bool ready(const Retry& retry) const { return now.steady_ms >= retry.not_before_ms; }
  /// Brings `next` forward to `at_ms` unless that has passed: what was due then has been tried.
  void sooner(std::optional<std::int64_t>& next, std::int64_t at_ms) const {
    if (at_ms > now.steady_ms && (!next || at_ms < *next)) next = at_ms;
  }
  /// Waits longer after each failure, at least as long as the server asks.
  void fail(Retry& retry, std::uint32_t retry_after_ms = 0);
  /// The store's epoch by what this device does now.
  const Epoch& epoch() const { return device_.pass.snapshot ? device_.pass.epoch : device_.cursor.epoch; }
  /// Server time now, as far as it is known.
  std::int64_t server_now() const { return now.wall_ms + device_.clock_offset_ms.value_or(0); }

 private:
  void flush(const ConversationId& id, const std::optional<ConversationState>& before);

  RowSource stored_row_;
  DeviceState device_;
  bool device_dirty_ = false;
  std::map<ConversationId, std::optional<ConversationState>> dirty_;  // as before the input; nothing: is new
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t connections_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace tidemark::replica
