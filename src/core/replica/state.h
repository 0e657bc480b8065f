// What a device keeps of its user's conversations, and the batch in which one input changes it. All of a batch is
// stored in one transaction, so that rows and cursor cannot part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/replica/coverage.h"
#include "core/results.h"

namespace tidemark::replica {

/// An open way through the index: a sync that takes more than one page, or a snapshot.
struct Pass {
  bool open = false;      // a page was applied and more are to come
  bool snapshot = false;  // begun with an empty cursor; ends with a sweep
  std::uint64_t id = 0;   // number of the last snapshot (ConversationState::named)
  Epoch epoch{0, 0};      // of the store that the snapshot is taken from
  Mark p0;                // the head when the descent began; not open: the head that the last run fell short of, or 0
  std::uint64_t p0_round = 0;
  Mark low;                // pages cover (low, p0]
  std::string page_token;  // bodies "all" go on here
  bool operator==(const Pass&) const = default;
};

struct DeviceState {
  UserId user;
  DeviceId device;
  InstallId install;
  std::uint64_t generation = 0;  // session generation last given, 0: none
  Cursor cursor;
  Pass pass;
  std::optional<std::int64_t> clock_offset_ms;  // server time - own wall clock, once a server has told it
  std::uint64_t next_mutation = 1;
  std::uint64_t next_local_id = 1;
  bool operator==(const DeviceState&) const = default;
};

struct ConversationState {
  Change object;       // without messages; unread and read as shown
  bool stale = false;  // of another epoch, or a stand-in of our own: whatever the server says replaces it
  Coverage coverage;
  Seq tail;                   // end of the newest range, where pushes chain
  Seq touched;                // all changes up to here are applied to all rows held
  std::optional<Seq> bottom;  // nothing at or below can be seen, as the server said
  Seq local_read;             // where this device has read to
  bool server_flag = false;   // the unread flag as the server last told it
  bool wants_read = false;    // local_read is yet to be told to the server
  bool wants_unread = false;  // the unread flag is yet to be told, after local_read
  std::uint64_t named = 0;    // the last snapshot that named it
  std::uint32_t epoch = 0;    // number of the store's epoch up to which its jumps are applied
  Coverage lost;              // rows here were lost by a restore: shown as not on the server
  /// A run through missed changes is under way, and began here. It passes over changes that later ones have replaced: a
  /// restore that takes the later ones makes them missing.
  std::optional<Seq> catching_up_from = {};
  bool forgotten = false;               // the restored server knew nothing of it when it was asked
  Coverage deleted;                     // deleted by the user for himself, here or elsewhere
  Coverage wants_deleted;               // those of them that are yet to be told to the server
  Seq local_cleared;                    // where this device has cleared to
  bool wants_clear = false;             // it is yet to be told
  Seq local_removed;                    // removed here, having seen it up to this; 0: not, or the server says so itself
  bool wants_remove = false;            // it is yet to be told
  std::int64_t server_muted_until = 0;  // as the server last told it
  std::int64_t server_pinned_at = 0;
  std::optional<std::int64_t> wants_mute;  // yet to be told
  std::optional<bool> wants_pin;
  bool guessed = false;  // an entry is in the object that nobody here knows: what it did there is to be asked

  const ConversationId& id() const { return object.conversation; }
  /// A restored server knows it no more: it is kept for its user alone.
  bool only_here() const { return stale && !object.member && !object.mark; }
  bool operator==(const ConversationState&) const = default;
};

/// What the rules need of a stored row without its body.
struct RowNote {
  Seq seq;
  std::int64_t server_time = 0;
  Seq revision;
  Seq touched_by;          // the last entry that changed it
  Seq reacted = {};        // the last of them that was a reaction
  std::uint64_t echo = 0;  // own messages: hash of the client_msg_id, by which a lost one is known again
  MessageState state = MessageState::live;
  bool countable = false;
  bool mine = false;
  bool provisional = false;  // made from our own send and its ack; the server's row replaces it
};

/// What a user writes. One of `to` and `conversation` is set.
struct Draft {
  UserId to;
  ConversationId conversation;
  Body body;
  Seq reply_to;
  std::vector<UserId> mentions;
  Priority priority = Priority::normal;
  bool mention_all = false;
};

enum class OutboxState : std::uint8_t {
  waiting = 1,  // to be sent, or sent and not answered
  searching,    // its id has expired: its echo is looked for
  undecided,    // no echo: the user decides whether to send it again
  failed,       // refused for good; the text is kept
};

struct OutboxItem {
  std::uint64_t local_id = 0;  // stable on this device; client_msg_id may be made anew
  ConversationId conversation;
  UserId to;  // set when addressed to a user
  std::string client_msg_id;
  std::int64_t id_time_ms = 0;  // corrected time of the press, as in the id
  Body body;
  Seq reply_to;
  std::vector<UserId> mentions;
  Priority priority = Priority::normal;
  std::uint32_t attempts = 0;  // sends under this id, counted before the first byte leaves
  OutboxState state = OutboxState::waiting;
  std::optional<Error> error;  // why it failed
  bool mention_all = false;
  bool operator==(const OutboxItem&) const = default;
};

enum class MutationKind : std::uint8_t {
  read = 1,
  mark_unread,
  recall,
  edit,
  react,
  clear,
  remove,
  delete_for_me,
  mute,
  pin,
  draft,
  setting,
  block,
};

/// A change that has its number and is not answered.
struct MutationItem {
  std::uint64_t number = 0;
  MutationKind kind = MutationKind::read;
  ConversationId conversation;
  Seq seq;                                // read, recall, edit, react, clear, remove; draft: what it replies to
  Body body = {};                         // edit, draft
  std::optional<Seq> base_revision = {};  // edit
  std::vector<Interval> ranges = {};      // delete_for_me
  std::int64_t until = 0;                 // mute
  bool on = false;                        // pin, block, react
  std::string name = {};                  // setting: its name; block: the user; react: the reaction
  std::string value = {};                 // setting
  bool operator==(const MutationItem&) const = default;
};

/// What the user's index holds beside conversations: drafts, settings, blocked users.
struct ObjectState {
  UserObject object;                    // as the server last told it
  std::optional<UserObject> wish = {};  // what this user made of it here, until the server has answered
  bool wanting = false;                 // the wish has no number yet
  std::uint64_t named = 0;              // the last snapshot that named it

  const UserObject& shown() const { return wish ? *wish : object; }
  bool operator==(const ObjectState&) const = default;
};

struct StoredRow {
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;
  RowNote note;
};

/// The changes of one input. The order of the members is the order in which they apply.
struct StoreBatch {
  std::vector<ConversationId> dropped;  // conversation and all its rows
  std::vector<std::pair<ConversationId, Interval>> dropped_rows;
  std::vector<ConversationState> conversations;
  std::vector<StoredRow> rows;
  std::vector<OutboxItem> outbox;
  std::vector<std::uint64_t> outbox_removed;
  std::vector<MutationItem> mutations;
  std::vector<std::uint64_t> mutations_removed;
  std::vector<ObjectState> objects;
  std::vector<std::string> objects_removed;  // by name
  std::optional<DeviceState> device;         // last: the cursor stands for all of the above

  bool empty() const {
    return dropped.empty() && dropped_rows.empty() && conversations.empty() && rows.empty() && outbox.empty() &&
           outbox_removed.empty() && mutations.empty() && mutations_removed.empty() && objects.empty() &&
           objects_removed.empty() && !device;
  }
};

/// What a replica is built from again after a restart: all that is stored, bodies left out.
struct StoreImage {
  DeviceState device;
  std::vector<ConversationState> conversations;
  std::map<ConversationId, std::vector<RowNote>> rows;
  std::vector<OutboxItem> outbox;       // by local_id
  std::vector<MutationItem> mutations;  // by number
  std::vector<ObjectState> objects;     // by name
};

}  // namespace tidemark::replica
