// The answers of reading: what pages and pushes say, in the core's own types. wire/convert turns them into frames;
// the client's replica takes the same types. All intervals are half open: (after, to].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/user_object.h"

namespace tidemark {

enum class HiddenReason : std::uint8_t { period = 1, cleared, deleted, roaming, retention, unavailable, restored };

struct Hidden {
  Seq after;
  Seq to;
  HiddenReason reason = HiddenReason::period;
  bool operator==(const Hidden&) const = default;
};

/// Where a device stands in its user's index.
struct Cursor {
  Epoch epoch{0, 0};
  Mark mark;
  std::uint64_t round = 0;  // commit round in which the mark was read; bounds the gaps of bodies "all"
  bool empty() const { return epoch.number == 0 && !mark; }
  bool operator==(const Cursor&) const = default;
};

struct Unread {
  std::uint32_t count = 0;  // at most unread_exact_max
  bool exact = true;
  bool operator==(const Unread&) const = default;
};

struct Preview {
  Seq seq;  // 0: nothing to show
  UserId sender;
  std::int64_t server_time = 0;
  MessageState state = MessageState::live;
  std::string type;
  std::string text;
  bool cut = false;
  bool operator==(const Preview&) const = default;
};

/// One conversation of a user's index as of (mark, head_seq).
struct Change {
  ConversationId conversation;
  ConversationKind kind = ConversationKind::single;
  Mark mark;
  Seq head_seq;
  Seq top;
  std::int64_t sort_time = 0;
  bool member = false;
  Role role = Role::member;
  std::vector<Period> periods;
  Seq read;
  bool unread_flag = false;
  Unread unread;
  Seq cleared;
  Seq touch_seq;
  bool removed = false;
  std::int64_t muted_until = 0;
  std::int64_t pinned_at = 0;
  bool large = false;          // kept in step by heads (design, section 3); counts for the digest
  std::uint32_t mentions = 0;  // unread messages that mention the user, as far as they are kept
  Seq mentioned_at;            // the first of them; 0: none
  Seq all_mentioned_at;        // the newest unread message that mentions everybody; 0: none
  std::string title;
  UserId peer;
  Preview preview;
  std::vector<Entry> messages;  // ascending; what `bodies` asked for
  Interval covers;
  bool more_messages = false;
  std::vector<Hidden> hidden;
  bool operator==(const Change&) const = default;
};

enum class Mode : std::uint8_t { delta = 1, reset, rollback };

struct SyncPage {
  Mode mode = Mode::delta;
  std::vector<Change> extras;       // from further down: what has unread messages of high priority
  std::vector<Change> changes;      // newest first; bodies "all": by conversation
  std::vector<UserObject> objects;  // newest first; bodies "all": behind the conversations
  Mark after;                       // covers (after, to] of the index
  Mark to;
  Mark p0;
  std::uint64_t p0_round = 0;
  Mark head;
  bool more = false;
  Cursor next;                         // the cursor once the descent has reached the one given
  ConversationId resume_conversation;  // bodies "all": where the next page begins
  Seq resume_after;
  Mark resume_objects;  // the same, when only objects are left

  /// Of bodies "all": nothing is left of the run.
  bool complete() const { return resume_conversation.empty() && !resume_objects; }
};

/// The present state of conversations whose heads a device asked for.
struct HeadsPage {
  std::vector<Change> changes;  // by number of the group, then what was named and is kept in step by marks
  std::uint64_t digest = 0;     // of all the user's large groups
  ConversationId next_after;    // not empty: there are more behind this one
};

/// One item of a device's vector of large groups.
struct KnownHead {
  ConversationId conversation;
  Seq seq;  // of head_seq and touch_seq the greater; 0: nothing
  bool operator==(const KnownHead&) const = default;
};

struct ConversationPage {
  ConversationId conversation;
  std::vector<Entry> messages;  // new rows, ascending
  std::vector<Entry> touched;   // present state of older rows on known ranges
  Seq after;
  Seq to;
  Interval covers;
  Seq as_of;
  Seq head;
  Seq floor;
  std::vector<Hidden> hidden;
  bool more = false;
  Interval hole;
  Seq touch_cursor;
};

struct HistoryPage {
  ConversationId conversation;
  std::vector<Entry> messages;  // ascending
  Interval covers;
  std::vector<Hidden> hidden;
  bool end = false;
  bool pending = false;
  Seq as_of;
  // Where the next page in the same direction goes on; 0: there is none.
  Seq next_before;
  Seq next_after;
};

/// Who reacts to a message, and how.
struct ReactionsPage {
  struct ByUser {
    UserId user;
    std::vector<std::string> names;
    bool operator==(const ByUser&) const = default;
  };
  std::vector<ByUser> users;
  UserId next;  // the next page goes on behind this user; empty: that was all
};

/// How far somebody has read a conversation, and up to where it has reached a device of his.
struct Receipt {
  UserId user;
  Seq read;
  Seq delivered;  // at least `read`
  bool operator==(const Receipt&) const = default;
};

struct Receipts {
  ConversationId conversation;
  std::vector<Receipt> receipts;  // of the others, but for those who do not tell
  bool off = false;               // the reader does not tell either, and is told of nobody
};

struct ConversationList {
  std::vector<Change> conversations;  // newest first
  std::int64_t next_sort_time = 0;    // 0: that was all
  ConversationId next_conversation;
};

/// What a push item holds of a change. An entry of high priority may leave ahead of its place in the index, and its
/// index part at its place.
enum class ItemPart : std::uint8_t { whole = 0, entry, index };

/// One item of a push, for one receiver; the entry is shared by all of them.
struct PushItem {
  Mark index_after;
  Mark index_to;
  std::uint64_t round = 0;  // for the cursor: bodies "all" from there on miss nothing
  std::int64_t sort_time = 0;
  bool mentioned = false;
  std::string client_msg_id;                               // own echo
  std::shared_ptr<const Change> summary;                   // the user's state changed otherwise than by the entry
  std::shared_ptr<const std::vector<UserObject>> objects;  // null: none changed
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;  // interval (entry.seq - 1, entry.seq]; null: only the state changed
  ItemPart part = ItemPart::whole;
  Seq told = {};  // part index: the entry that came ahead
};

}  // namespace tidemark
