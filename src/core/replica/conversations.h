// The conversations of a device: their objects, rows and coverage, and the pulls that complete them (design,
// section 4). One pull is in flight for a conversation at any time.
#pragma once

#include <functional>
#include <set>
#include <utility>

#include "core/replica/workspace.h"

namespace tidemark::replica {

class Conversations {
 public:
  /// `own_row` is told of each of the user's own messages that bears a client_msg_id, from whatever source.
  /// An own message has come as a row; gives its body when the row is cut and the body is still known here.
  using OwnRow = std::function<std::optional<Body>(const ConversationId&, const Entry&)>;
  Conversations(Workspace& workspace, OwnRow own_row);

  // From the index.
  void take_summary(const Change& change);
  void take_derived(const PushItem& item);
  /// What the server makes of these is to be asked: what came says too little, or in another order.
  std::set<ConversationId> take_unsure() { return std::exchange(unsure_, {}); }
  /// The same over all restarts, until a summary has come.
  const std::set<ConversationId>& guessed() const { return guessed_; }
  void end_guess(const ConversationId& id);
  const std::set<ConversationId>& opened() const { return open_; }
  void take_deleted(const DeletedBlock& block);
  /// What is not named by the snapshot goes.
  void sweep();

  // Another epoch (design, section 2): the server's objects replace those held, whatever their marks say.
  /// Of a store that was never the one known here: nothing of the rows is sure, they come again as they are looked at.
  void begin_anew();
  /// The store was restored: what it lost is asked for before anything else.
  void begin_rollback();
  bool jumps_wanted() const { return !jumps_wanted_.empty(); }
  void ask_jumps();
  void on_jumps(const JumpsAnswer& answer);
  void on_jumps_refused(const Error& error);
  std::optional<std::int64_t> next_jumps_ms() const;
  /// Takes what is only here out of sight: rows that the server lost, and the conversation when it knows none such.
  Result<void> forget_lost(const ConversationId& id);

  enum class Part : std::uint8_t { taken, waits };
  enum class IndexPart : std::uint8_t { open, settled };
  /// The conversation part of a push. `told_head` is the head that the object told before this push. Waits while the
  /// index part is open and something before the entry is missing; once that is settled, takes it or asks the server.
  Part take_entry(const PushItem& item, std::optional<Seq> told_head, IndexPart index);

  /// The user deleted these for himself: they are held no more.
  void hide(Held& held, const std::vector<Interval>& ranges);
  /// Drops what the user may not see any more.
  void prune(Held& held);

  /// The ack of a send: a row that stands until the server's comes.
  void take_own_send(const OutboxItem& item, const SentReply& reply);

  // Looking at a conversation.
  void open(const ConversationId& id);
  void close(const ConversationId& id);
  void scroll_back(const ConversationId& id, Seq before);
  void scroll_forward(const ConversationId& id, Seq after);
  /// Whether all rows back to the given server time are held, or as many as can be seen; asks for more if not.
  bool covered_back_to(const ConversationId& id, std::int64_t server_time);

  // The connection.
  void on_welcome();
  void on_link_down();
  void on_conversation_page(const Pending& asked, const ConversationPage& page);
  void on_history_page(const Pending& asked, const HistoryPage& page);
  void on_refused(const Pending& asked, const Error& error);
  void work();
  /// Steady time at which work() has something to do again, if nothing else happens.
  std::optional<std::int64_t> next_work_ms() const;
  /// Nothing is being asked or waits to be.
  bool settled() const;

  /// All of a body, as of its revision: into the row, unless that is further or gone.
  void take_body(const WholeBody& whole);

 private:
  /// New rows above this are notified of; nothing: none is. What lies below all that is held is history: it was there
  /// before, or was held once and given up.
  using NotifyAbove = std::optional<Seq>;
  static NotifyAbove lowest_held(const ConversationState& state);
  // Changes of older rows.
  bool take_change(Held& held, const std::shared_ptr<const Entry>& change);
  void keep(Held& held, const std::shared_ptr<const Entry>& change);
  static bool keeps_body(const Entry& fresh, const Entry& held);
  Entry with_changes(const Held& held, Entry row);
  static bool too_old(const Held& held, Seq as_of, Seq complete_from);
  static void gain(Held& held, Seq as_of);
  void jump_touched(Held& held, Seq to);
  void want_changes(Held& held);

  Part pass_over(Held* held, const Entry& entry, const ConversationId& id);
  /// A row of our own, shown until the server's comes with its place in the coverage.
  void take_uncovered(Held& held, const Entry& entry);
  void take_row(Held& held, Entry entry, NotifyAbove notify_above);
  void take_messages(Held& held, const Change& change);
  void cover(Held& held, Interval covers, const std::vector<Hidden>& hidden);
  static std::vector<Interval> held_ranges(const Held& held);
  void bound_ranges(Held& held);
  void apply_jump(Held& held, const Jump& jump);
  void relink(Held& held, const RowNote& own);
  void want(Held& held);
  void look(Held& held);
  bool want_newest(Held& held);
  bool ask_if_ready(Held& held);
  void ask_next(Held& held);
  void ask_for_changes(Held& held);
  void ask_again(Held& held, const Pending& asked);
  void stop_asking(Held& held);

  Workspace& ws_;
  OwnRow own_row_;
  std::set<ConversationId> open_;          // being looked at
  std::set<ConversationId> unsure_;        // large groups whose object may not be whole
  std::set<ConversationId> guessed_;       // by their state
  std::set<ConversationId> wanting_;       // have a want or a pull
  std::set<ConversationId> jumps_wanted_;  // hold rows of which a restore may have taken some
  bool jumps_asked_ = false;
  Retry jumps_retry_;
};

}  // namespace tidemark::replica
