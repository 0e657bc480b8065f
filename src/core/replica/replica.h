// The client's side of the protocol as a pure state machine: frames, time and the user's actions go in; what is to be
// stored, sent and shown comes out. It does no I/O and knows no clock, thread or random source: moments are handed in
// with every input, randomness with the options.
//
// Use: after every call that takes a Now, call take_outputs() and carry it out in its order (Outputs says how); call
// on_tick no later than next_tick_ms(). After a crash, or when storing failed, build a new replica from what the store
// holds: whatever the lost one had done beyond that happens again.
#pragma once

#include "core/replica/changes.h"
#include "core/replica/conversations.h"
#include "core/replica/group_calls.h"
#include "core/replica/index_line.h"
#include "core/replica/large_groups.h"
#include "core/replica/mutations.h"
#include "core/replica/outbox.h"
#include "core/replica/own_objects.h"
#include "core/replica/own_state.h"
#include "core/replica/passing.h"
#include "core/replica/peer_receipts.h"
#include "core/replica/read_marks.h"
#include "core/replica/workspace.h"
#include "core/totals.h"

namespace tidemark::replica {

/// Not thread-safe. Neither copied nor moved: its parts know each other.
class Replica {
 public:
  /// `stored_row` is asked, during an input, for a row that the input changes.
  Replica(Options options, const StoreImage& image, RowSource stored_row);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // -------------------------------------------------------------------------------------------- the link
  /// A new connection stands; the first output is a hello.
  void on_connected(Now now);
  /// Everything asked is forgotten and asked anew on the next connection.
  void on_disconnected(Now now);
  /// Frames of earlier connections and answers to what was not asked change nothing.
  void on_frame(Now now, ServerFrame frame);
  void on_tick(Now now);

  // --------------------------------------------------------------------------------------- the user's actions
  /// Takes a message into the outbox and returns its local id. MALFORMED, TOO_LARGE, LIMIT_REACHED.
  Result<std::uint64_t> send(Now now, const Draft& draft);
  /// Sends an undecided or failed message again, as a new one. MESSAGE_NOT_FOUND.
  Result<void> resend(Now now, std::uint64_t local_id);
  /// Forgets an undecided or failed message. MESSAGE_NOT_FOUND.
  Result<void> discard(Now now, std::uint64_t local_id);
  /// CONVERSATION_NOT_FOUND when the device does not hold it; a seq beyond the head means the head.
  Result<void> mark_read(Now now, const ConversationId& conversation, Seq seq);
  Result<void> mark_unread(Now now, const ConversationId& conversation);
  /// Hides everything up to `seq` (0: all that is known here) from this user, on all his devices and for good.
  Result<void> clear(Now now, const ConversationId& conversation, Seq seq = {});
  /// The same, and takes the conversation out of his list until something comes that was not seen here.
  Result<void> remove(Now now, const ConversationId& conversation);
  /// Hides messages from this user alone. MALFORMED without one that is known here.
  Result<void> delete_for_me(Now now, const ConversationId& conversation, const std::vector<Interval>& ranges);
  /// Until a server time, kForEver; 0: no longer.
  Result<void> mute(Now now, const ConversationId& conversation, std::int64_t until);
  Result<void> pin(Now now, const ConversationId& conversation, bool pinned);
  /// A draft, a setting or a block; an empty one takes it away. TOO_LARGE, LIMIT_REACHED.
  Result<void> set_object(Now now, UserObject wish);
  /// Takes back a message of the user's own, for everybody; it changes when the log says so. ChangeEvents tell that it
  /// is queued and done, a ChangeRefusedEvent that it will not be. CONVERSATION_NOT_FOUND, MESSAGE_NOT_FOUND,
  /// FORBIDDEN, MESSAGE_DELETED, LIMIT_REACHED.
  Result<void> recall(Now now, const ConversationId& conversation, Seq seq);
  /// Gives it another body, likewise; with `base_revision` only if it still has that revision. Also TOO_LARGE.
  Result<void> edit(Now now, const ConversationId& conversation, Seq seq, const Body& body,
                    std::optional<Seq> base_revision = std::nullopt);
  /// Reacts to anybody's message so, or no longer, likewise. Also OUT_OF_RANGE.
  Result<void> react(Now now, const ConversationId& conversation, Seq seq, const std::string& reaction, bool on);
  /// Asks the server about a group, now: a GroupEvent of this number tells the answer. RETRY_LATER while there is no
  /// connection.
  Result<void> group(Now now, std::uint64_t call, const GroupRequest& request);
  /// About the user's devices: a DevicesEvent, likewise.
  Result<void> devices(Now now, std::uint64_t call, const DeviceRequest& request);
  /// A page of a group's members: a MembersEvent, likewise.
  Result<void> ask_members(Now now, std::uint64_t call, AskMembers question);
  /// What the call `of` asked for, once more and under the same idempotency key: for one that ended with an error that
  /// may pass. MALFORMED when there is no such call.
  Result<void> ask_again(Now now, std::uint64_t call, std::uint64_t of);
  /// Who reacts to a message: a ReactionsEvent, likewise.
  Result<void> ask_reactions(Now now, std::uint64_t call, AskReactions question);
  /// All of the body of a row that came cut (Body::cut): a BodyEvent, likewise. The row is stored with it.
  Result<void> fetch_body(Now now, std::uint64_t call, const ConversationId& conversation, Seq seq);
  /// The conversation is on the screen: its newest page is fetched and kept complete. At most Options::open_max.
  void open(Now now, const ConversationId& conversation);
  void close(Now now, const ConversationId& conversation);
  /// Takes out of sight what a restore of the server left on this device alone: rows, and the conversation itself when
  /// the server knows it no more. CONVERSATION_NOT_FOUND when there is nothing of the kind.
  Result<void> forget_lost(Now now, const ConversationId& conversation);
  /// One more page of older rows: below the range that holds `before` - 1, or below the newest range for 0. A
  /// HistoryEvent follows in any case.
  void scroll_back(Now now, const ConversationId& conversation, Seq before = {});
  /// One more page above the range that holds `after` + 1.
  void scroll_forward(Now now, const ConversationId& conversation, Seq after);

  /// Whose presence is told by PresenceEvents, in place of those before; asked for again on each new link. They need a
  /// single chat with this user, or they are always told to be offline. LIMIT_REACHED, MALFORMED.
  Result<void> watch(Now now, std::vector<UserId> users);
  /// Of which conversations ReceiptsEvents tell how far others have read, in place of those before; asked for again on
  /// each new link. At most 8. LIMIT_REACHED, CONVERSATION_NOT_FOUND.
  Result<void> watch_receipts(Now now, const std::vector<ConversationId>& conversations);
  /// Tells the devices of a conversation's members that are in the foreground; nothing is kept or repeated.
  /// RETRY_LATER without a connection, MALFORMED, TOO_LARGE, OUT_OF_RANGE.
  Result<void> say(Now now, Passing passing);
  /// Whether somebody looks at the device (at first: yes). In the background it is told nothing in passing.
  void set_foreground(Now now, bool on);

  // --------------------------------------------------------------------------------------------- outcome
  /// Everything since the last call; one atomic batch.
  Outputs take_outputs();
  /// Steady time of the next needed on_tick.
  std::int64_t next_tick_ms() const;

  const DeviceState& device() const { return ws_.device(); }
  const std::map<ConversationId, Held>& conversations() const { return ws_.conversations; }
  const OwnObjects& objects() const { return objects_; }
  std::vector<Receipt> receipts(const ConversationId& conversation) const { return receipts_.of(conversation); }
  /// Of the conversations held, as they are shown; mutes end by the server's clock.
  Totals totals(std::int64_t wall_ms) const;
  std::vector<OutboxItem> outbox() const { return outbox_.items(); }
  LinkState link() const { return link_; }
  /// Connected, nothing missing of the index, nothing waiting to be answered.
  bool settled() const;
  std::size_t held_pushes() const { return index_.held_items(); }
  /// For those who watch over what is kept: each of these pushes.
  template <typename See>
  void each_held_push(See see) const {
    index_.each_held(see);
  }

 private:
  struct Dispatch;
  void begin(Now now) { ws_.now = now; }
  void work();
  void greet();
  void on_welcome(const Welcome& welcome);
  void on_refused(const Pending& asked, const Error& error);
  void on_mutated(const Pending& asked, const MutatedReply& reply);
  void on_mutation_refused(const Pending& asked, const Error& error);
  void refused_for_good(const MutationItem& item, const Error& error);
  void on_hello_refused(const Error& error);
  void begin_new_install();
  void learn_time(std::int64_t server_time);
  bool unanswered_too_long() const;
  void show_link();

  Workspace ws_;
  Conversations conversations_;
  Mutations mutations_;
  OwnObjects objects_;
  LargeGroups large_;
  IndexLine index_;
  Outbox outbox_;
  ReadMarks marks_;
  OwnState own_;
  Changes changes_;
  PassingThings passing_;
  PeerReceipts receipts_;
  GroupCalls groups_;
  LinkState link_ = LinkState::offline;
  bool kicked_ = false;            // the server has ended the link, which is not down yet
  bool hello_on_its_way_ = false;  // one was not answered before its connection ended: it may still reach the server
};

}  // namespace tidemark::replica
