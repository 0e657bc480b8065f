// The entities of the design (section 2) as plain values. No behaviour here but what keeps a value whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"

namespace tidemark {

/// Half open: (after, to].
struct Interval {
  Seq after;
  Seq to;
  bool operator==(const Interval&) const = default;
};

enum class EntryKind : std::uint8_t { message = 1, edit, recall, deletion, reaction, member, config };
/// Only moves up: live < edited(revision) < recalled, deleted.
enum class MessageState : std::uint8_t { live = 0, edited, recalled, deleted };
enum class Priority : std::uint8_t { normal = 0, high, low };
enum class Role : std::uint8_t { member = 0, admin, owner };
enum class MemberAction : std::uint8_t { joined = 1, left, removed, role, muted };
enum class ConversationKind : std::uint8_t { single = 1, group };
enum class HistoryForNewcomers : std::uint8_t { none = 0, last, all };
/// Whom of a group's members a policy lets do something; admins are also meant by `members`, the owner by both.
enum class Allowed : std::uint8_t { admins = 1, members };
/// Whether anybody may join a group by himself.
enum class JoinPolicy : std::uint8_t { closed = 1, open };

struct Attachment {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string mime;
  std::string hash;
  std::int64_t expires_at = 0;  // server time from which on the file is gone; 0: it stays
  bool operator==(const Attachment&) const = default;
};

/// What is known of a body whose rest has to be asked for (core/slim.h). Never stored by a server.
struct BodyCut {
  std::uint64_t size_bytes = 0;
  Digest hash{};
  bool operator==(const BodyCut&) const = default;
};

struct Body {
  std::string type = "text";
  std::string text;
  std::string summary;
  std::string data;  // a JSON text, byte for byte
  std::vector<Attachment> attachments;
  std::string encrypted;  // opaque
  std::optional<BodyCut> cut = {};
  bool operator==(const Body&) const = default;
};

struct MemberChange {
  MemberAction action = MemberAction::joined;
  std::vector<UserId> users;
  Role role = Role::member;
  Seq visible_from;              // joined: first seq that the joiners may see (the policy in force at the join)
  std::int64_t muted_until = 0;  // muted: server time, 0: no longer
  bool operator==(const MemberChange&) const = default;
};

/// What a group's members may do, and newcomers see, besides what roles allow (core/group_rights.h).
struct GroupPolicy {
  Allowed add = Allowed::admins;         // who adds members
  Allowed send = Allowed::members;       // who writes
  JoinPolicy join = JoinPolicy::closed;  // who joins
  HistoryForNewcomers newcomers = HistoryForNewcomers::none;
  std::uint32_t newcomers_last = 0;
  bool operator==(const GroupPolicy&) const = default;
};

/// What a config entry changed.
struct ConfigChange {
  std::string title = {};                            // empty: as it was
  std::optional<GroupPolicy> policy = std::nullopt;  // all of it, as it is from here on
  std::optional<std::string> data = std::nullopt;
  bool dissolved = false;                    // it is the last entry, and ends the period of everybody in it
  std::optional<bool> large = std::nullopt;  // how its members are kept in step from here on
  bool operator==(const ConfigChange&) const = default;
};

/// How a message was reacted to in one way.
struct Reaction {
  std::string name;         // an emoji, or whatever the application calls it
  std::uint32_t count = 0;  // of users
  bool mine = false;        // the reader is one of them; never stored with the row
  bool operator==(const Reaction&) const = default;
};

/// What an entry of kind reaction changed: its sender reacted so, or no longer does.
struct ReactionChange {
  std::string name;
  bool on = false;
  bool operator==(const ReactionChange&) const = default;
};

/// An entry of a conversation's log and, for a message, its row: the present state folded into it.
struct Entry {
  Seq seq;
  EntryKind kind = EntryKind::message;
  std::uint64_t ord = 0;         // countable messages up to and including this entry; fixed at append
  Seq top;                       // last countable seq up to and including this entry
  std::int64_t top_time = 0;     // server time of `top`
  Seq touch;                     // last seq up to and including this entry that changed another row
  std::int64_t server_time = 0;  // ms; never runs backwards inside a conversation
  std::uint32_t epoch = 1;       // store epoch of the append
  std::uint64_t round = 0;       // commit round of the append
  UserId sender;
  DeviceId sender_device;
  std::string client_msg_id;
  std::int64_t client_time = 0;  // the sender's remark
  Priority priority = Priority::normal;
  MessageState state = MessageState::live;
  Seq revision;    // seq of the last edit
  Seq touched_by;  // seq of the last entry that changed this row
  Seq reply_to;
  std::vector<UserId> mentions;
  bool mention_all = false;  // everybody in the conversation is meant
  Body body;
  Seq target;                          // edit, recall, deletion, reaction: the message changed
  UserId target_sender;                // its author
  std::optional<MemberChange> member;  // set iff kind == member
  std::optional<ConfigChange> config;  // set iff kind == config
  // Of a message, how it was reacted to, in order of the first time, and the entry that changed this last. An entry of
  // kind reaction that is pushed carries what it left.
  std::vector<Reaction> reactions;
  Seq reacted;
  std::optional<ReactionChange> reaction;  // kind reaction, for readers who may see its message

  bool countable() const { return kind == EntryKind::message; }
  /// A message that comes from elsewhere and was said long ago: whatever is sent has an id of its sender.
  bool imported() const { return countable() && client_msg_id.empty(); }
  bool dead() const { return state == MessageState::recalled || state == MessageState::deleted; }
  bool operator==(const Entry&) const = default;
};

/// Where a conversation's log stands; derived from its last entry.
struct LineHead {
  Seq seq;
  std::uint64_t ord = 0;
  Seq top;
  std::int64_t server_time = 0;
  std::uint32_t epoch = 1;
  std::int64_t top_time = 0;
  Seq touch;
  bool operator==(const LineHead&) const = default;
};

inline LineHead head_after(const Entry& last) {
  return {last.seq, last.ord, last.top, last.server_time, last.epoch, last.top_time, last.touch};
}

struct Member {
  UserId user;
  Role role = Role::member;
  Seq join;
  bool operator==(const Member&) const = default;
};

/// A member who may not write until a server time, though he leaves and comes back.
struct Mute {
  UserId user;
  std::int64_t until = 0;
  bool operator==(const Mute&) const = default;
};

/// A restore lost what a log held above `cut`: the numbers in (cut, first) name nothing any more, and never will again.
struct Jump {
  std::uint32_t epoch = 1;  // number of the store's epoch that began with the restore
  Seq cut;
  Seq first;
  bool operator==(const Jump&) const = default;
};

/// What a conversation is, apart from its log. Single chats have exactly their one or two users as members.
struct Conversation {
  ConversationId id;
  ConversationKind kind = ConversationKind::single;
  std::string title;
  /// The present ones, in order of joining; of a dissolved group the last ones. Of a large group only its owner and
  /// admins: all of them have rows of their own (View::members).
  std::vector<Member> members;
  GroupPolicy policy = {};
  std::string data = {};  // of the application: a JSON text, byte for byte
  std::vector<Mute> mutes = {};
  Seq dissolved = {};            // the entry that ended it; 0: it lives
  std::vector<Jump> jumps = {};  // of its log, ascending
  /// Its members are kept in step by where its log stands, and not each by marks of his own (design, section 3).
  bool large = false;
  std::uint64_t size = 0;  // of a group: how many members
  /// The last messages that mentioned everybody and were not taken back since, ascending.
  std::vector<Seq> mentions_of_all = {};

  /// Of a large group, of its owner and admins; core/group_parts.h knows the others.
  const Member* member(const UserId& user) const {
    for (const Member& m : members)
      if (m.user == user) return &m;
    return nullptr;
  }
  bool operator==(const Conversation&) const = default;
};

/// A membership period: sees (visible_from - 1, leave], where the own leave entry is the last.
struct Period {
  Seq join;
  Seq leave;  // 0 while it lasts
  Seq visible_from;
  bool operator==(const Period&) const = default;
};

/// A time that never comes.
inline constexpr std::int64_t kForEver = (std::int64_t{1} << 53) - 1;

/// A user's index row of one conversation: the objects `head` and `state` of the design.
struct UserConversation {
  ConversationId conversation;
  Mark head_mark;   // last change of head_seq, top, sort_time
  Mark state_mark;  // last change of anything else
  Seq head_seq;     // as of head_mark or, for a former member, the leave
  Seq top;
  std::int64_t sort_time = 0;
  std::vector<Period> periods;
  Role role = Role::member;
  Seq read;
  bool unread_flag = false;
  Seq cleared;
  Seq touch_seq;                 // last entry that changed an older row
  Seq deleted_to;                // the last message that the user deleted for himself
  bool removed = false;          // taken out of the list, until a message or a joining brings it back
  std::int64_t muted_until = 0;  // server time, kForEver; 0: not muted
  std::int64_t pinned_at = 0;    // server time; 0: not pinned
  std::uint64_t own = 0;         // own countable messages in the whole log, dead or not
  /// The group is large: head_seq, top, sort_time and touch_seq follow its log (core/large_group.h), not the marks.
  /// Stays when a large group is dissolved; who leaves one is kept in step by marks.
  bool large = false;
  std::vector<Seq> mentions = {};  // the last messages that mentioned the user, ascending; some may be gone by now
  // Checkpoint of the unread floor (a cache of what the log says): ord and own at `floor`.
  Seq floor;
  std::uint64_t floor_ord = 0;
  std::uint64_t floor_own = 0;

  Mark mark() const { return head_mark > state_mark ? head_mark : state_mark; }
  bool in_period() const { return !periods.empty() && !periods.back().leave; }
  bool operator==(const UserConversation&) const = default;
};

/// The last message of high priority that a conversation had for a user.
struct HighMark {
  ConversationId conversation;
  Seq seq;
  bool operator==(const HighMark&) const = default;
};

/// Where a user's index stands, and what holds for him as a whole.
struct UserHead {
  Mark mark;
  std::int64_t sort_time = 0;  // the last given in small conversations
  std::uint32_t epoch = 1;     // store epoch of the last mark
  std::int64_t created_at = 0;
  std::string level;               // set by the admin API, or empty: the token's
  Mark object_mark;                // last change of an object that is no conversation
  std::uint32_t blocked = 0;       // how many users may not write to him
  std::uint32_t large_groups = 0;  // how many of his rows are `large`
  Mark tombstones_dropped_to;      // who has not come further begins anew: what was taken away since is forgotten
  // Tokens issued not later are good for nothing; the second for those of one device alone whose row is kept no more.
  std::int64_t logged_out_at = 0;
  std::int64_t forgotten_at = 0;
  std::uint64_t forgotten_round = 0;  // had come to a device whose row is kept no more (Device::acknowledged_round)
  std::int64_t deleted_at = 0;        // his id is never used again
  std::vector<HighMark> high_marks;   // of the conversations that were the last to have one, oldest first
  /// The greatest uuid7_high of the ids under which he has sent: a greater one has not been used.
  std::uint64_t newest_id = 0;
  bool exists() const { return created_at != 0; }
  bool retired() const { return deleted_at != 0; }
  bool operator==(const UserHead&) const = default;
};

/// What the memory of sends keeps of one client_msg_id.
struct DedupRecord {
  Seq seq;
  Digest content{};  // of body, reply_to and mentions as sent
  bool operator==(const DedupRecord&) const = default;
};

/// Why a device's session ended.
enum class SessionEnd : std::uint8_t {
  none = 0,
  other_device,  // by the policy: another device has logged in
  logged_out,
  removed,   // and what it holds is to be replaced when it comes back
  replaced,  // by the device's own newer link; never stored
};

/// What a device's link is checked against.
struct Device {
  DeviceId id;
  InstallId install;
  std::string platform;
  std::string app_version;
  std::string name;  // for people; given by the user
  std::uint64_t generation = 0;
  std::uint32_t epoch = 1;            // store epoch of the generation
  std::uint64_t generation_used = 0;  // the last one that its holder has shown to have
  bool live = true;                   // the present generation is a session's
  SessionEnd ended = SessionEnd::none;
  std::int64_t ended_at = 0;         // of the last session that ended: tokens issued not later are good no more
  std::int64_t logged_in_at = 0;     // the first login since the last end
  std::int64_t token_issued_at = 0;  // of the last login
  Mark acknowledged;
  std::int64_t last_seen = 0;
  std::string push_token;
  std::uint64_t acknowledged_round = 0;  // all of its user's index up to this commit round has come to it
  bool operator==(const Device&) const = default;
};

/// The answer of a mutation, kept to be given again.
struct MutationOutcome {
  std::uint64_t number = 0;
  Digest content{};
  std::string answer;  // encoded by core/mutation
  bool operator==(const MutationOutcome&) const = default;
};
struct Mutations {
  std::uint64_t highest = 0;
  std::uint32_t epoch = 1;            // store epoch of the last number
  std::vector<MutationOutcome> kept;  // ascending by number, the last 64
  bool operator==(const Mutations&) const = default;
};

/// An epoch of the store: changes only when it is restored. Numbers ascend, ids are random.
struct Epoch {
  std::uint32_t number = 1;
  std::uint64_t id = 0;
  bool operator==(const Epoch&) const = default;
};

}  // namespace tidemark
