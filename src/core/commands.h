// What can be asked of the deciding side, what is answered, and what has to be written and told.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/results.h"
#include "core/view.h"

namespace tidemark {

// ------------------------------------------------------------------------------------------ commands

/// Exactly one of `to` and `conversation` is set.
struct SendCommand {
  UserId sender;
  DeviceId device;
  UserId to;
  ConversationId conversation;
  std::string client_msg_id;
  std::int64_t client_time = 0;  // 0: not given
  Body body;
  Seq reply_to;
  std::vector<UserId> mentions;
  Priority priority = Priority::normal;
  bool admin = false;  // needs no client time
  bool mention_all = false;
  bool system = false;               // nobody's: it has no sender, and goes where it is sent
  std::optional<Digest> given = {};  // content_of() what the sender gave, where a hook has amended the body
  std::string level = {};            // of the sender, as his token says
  bool ask_only = false;             // nothing is written: it is only told whether it would be taken, or was
};

struct ReadCommand {
  UserId user;
  ConversationId conversation;
  Seq seq;
};

struct MarkUnreadCommand {
  UserId user;
  ConversationId conversation;
};

/// Takes a message back for everybody: its author within the recall time, an operator at any time.
struct RecallCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  Seq seq;
  bool admin = false;
};

struct EditCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  Seq seq;
  Body body;
  std::optional<Seq> base_revision;  // refused when the message has another revision by now
};

/// The user reacts to a message so, or no longer does.
struct ReactCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  Seq seq;
  std::string reaction;
  bool on = true;
};

/// Hides everything up to `seq` (0: the head) from the user alone.
struct ClearCommand {
  UserId user;
  ConversationId conversation;
  Seq seq;
};

/// The same, and takes the conversation out of his list unless there is a message above `seq`.
struct RemoveCommand {
  UserId user;
  ConversationId conversation;
  Seq seq;
};

/// Hides single messages, or ranges of them, from the user alone.
struct DeleteForMeCommand {
  UserId user;
  ConversationId conversation;
  std::vector<Interval> ranges;
};

struct MuteCommand {
  UserId user;
  ConversationId conversation;
  std::int64_t until = 0;  // server time, kForEver; 0 or past: no longer
};

struct PinCommand {
  UserId user;
  ConversationId conversation;
  bool pinned = false;
};

struct DraftCommand {
  UserId user;
  ConversationId conversation;
  Body body;  // empty: there is none any more
  Seq reply_to;
};

struct SettingCommand {
  UserId user;
  std::string name;
  std::string value;  // a JSON text; empty: no longer set
};

struct BlockCommand {
  UserId user;
  UserId other;
  bool blocked = false;
};

/// A change under a number of its install; with an empty install it is done without memory.
struct MutateCommand {
  UserId user;
  DeviceId device;
  InstallId install;
  std::uint64_t number = 0;
  std::variant<ReadCommand, MarkUnreadCommand, RecallCommand, EditCommand, ClearCommand, RemoveCommand,
               DeleteForMeCommand, MuteCommand, PinCommand, DraftCommand, SettingCommand, BlockCommand, ReactCommand>
      change;
};

// Groups. With `admin` an operator acts, who needs to be no member.

struct CreateGroupCommand {
  UserId creator;
  DeviceId device;
  std::string title;
  std::vector<UserId> members;  // besides the creator
  HistoryForNewcomers newcomers = HistoryForNewcomers::none;
  std::uint32_t newcomers_last = 0;
  std::string idempotency_key;  // empty: none
  UserId by = {};               // the operator who makes it for its creator; empty: the creator himself
};

struct AddMembersCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  std::vector<UserId> added;
  bool admin = false;
};

/// Removing oneself is leaving.
struct RemoveMemberCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  UserId removed;
};

/// By an operator.
struct RemoveMembersCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  std::vector<UserId> removed;
};

/// By himself, where the group is open.
struct JoinGroupCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
};

/// Only what is given changes.
struct ChangeGroupCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  std::optional<std::string> title;
  std::optional<std::string> data = std::nullopt;
  std::optional<Allowed> add = std::nullopt;
  std::optional<Allowed> send = std::nullopt;
  std::optional<JoinPolicy> join = std::nullopt;
  std::optional<HistoryForNewcomers> newcomers = std::nullopt;
  std::uint32_t newcomers_last = 0;  // with newcomers
};

/// To make somebody owner is to hand the group over.
struct SetRoleCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  UserId member;
  Role role = Role::member;
};

struct MuteMemberCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  UserId member;
  std::int64_t until = 0;  // server time; 0 or past: no longer
};

struct DissolveGroupCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  bool admin = false;
};

struct LoginCommand {
  UserId user;
  DeviceId device;
  InstallId install;  // may be empty: a client without memory
  std::string platform;
  std::string app_version;
  std::uint64_t generation = 0;  // the last one this install was given
  Cursor cursor;
  std::int64_t token_issued_at = 0;
  bool token_of_device = false;  // the token is good for this device alone
};

/// A device's name, or where to wake it.
struct ChangeDeviceCommand {
  UserId user;
  DeviceId device;
  std::optional<std::string> name;        // nothing: stays as it is
  std::optional<std::string> push_token;  // empty: none any more
};

/// Ends the session of one device, or of all but one, or of all.
struct EndSessionsCommand {
  UserId user;
  DeviceId device;  // empty: of all
  DeviceId except;  // of those, not this one
  SessionEnd end = SessionEnd::logged_out;
  bool admin = false;  // in an administrator's name: the user has to be there
};

/// Lazily kept facts of a link: coalesced by the gateway, lost without harm.
struct DeviceSeenCommand {
  UserId user;
  DeviceId device;
  std::uint64_t generation = 0;
  Mark acknowledged;
  std::int64_t ago_ms = 0;  // since its last frame
  std::uint64_t acknowledged_round = 0;
};

struct SetUserCommand {
  UserId user;
  std::optional<std::string> level;  // nothing: stays as it is
};

/// Forgets tombstones made in hours of 1970 below this one, some at a time.
struct DropTombstonesCommand {
  std::uint32_t below_hour = 0;
};

/// Tells the application of files that have expired, some at a time.
struct ExpireFilesCommand {};

/// Retires the id for ever and takes the user out of at most `groups_max` of his groups; to be given again until
/// nothing of him is left (UserReply::groups_left).
struct DeleteUserCommand {
  UserId user;
  std::size_t groups_max = 50;
};

/// An operator deletes a message for everybody, at any time.
struct DeleteMessageCommand {
  UserId user;
  DeviceId device;
  ConversationId conversation;
  Seq seq;
};

/// Of a conversation from elsewhere, with the times that it has there (design, section 5, "Import").
struct ImportCommand {
  struct Message {
    std::string source_id;  // with the import's name it names one message, for ever
    UserId sender;
    std::int64_t server_time = 0;
    Body body;
    std::string reply_to;  // a source_id; empty: none
    std::vector<UserId> mentions;
  };
  struct Read {
    UserId user;
    std::string source_id;  // empty: nothing of the import
  };
  /// Made when it is imported first.
  struct Group {
    std::string source_id;
    std::string title;
    UserId owner;
    std::vector<UserId> members;  // besides the owner
    std::int64_t created_at = 0;
  };
  UserId user;  // the operator
  DeviceId device;
  std::string name;
  ConversationId conversation;  // or
  std::optional<Group> group;
  std::vector<Message> messages;  // oldest first
  std::vector<Read> reads;        // of others all of the import counts as read
  bool dry_run = false;
};

using Command = std::variant<SendCommand, MutateCommand, CreateGroupCommand, AddMembersCommand, RemoveMemberCommand,
                             RemoveMembersCommand, JoinGroupCommand, ChangeGroupCommand, SetRoleCommand,
                             MuteMemberCommand, DissolveGroupCommand, LoginCommand, ChangeDeviceCommand,
                             EndSessionsCommand, DeviceSeenCommand, SetUserCommand, DeleteUserCommand,
                             DeleteMessageCommand, DropTombstonesCommand, ExpireFilesCommand, ImportCommand>;

/// By which login, or token, a command comes: what comes after its end is refused in the round that would commit it.
struct Session {
  UserId user;                                   // empty: nobody's, an administrator's or the server's own
  DeviceId device;                               // may be empty by HTTP
  std::optional<std::uint64_t> generation = {};  // of the link; nothing: HTTP, which is no login
  std::int64_t token_issued_at = 0;
  bool token_of_device = false;
  // The request's own name, under which it is done once, and what it asks for; empty: it has none.
  std::string idempotency_key = {};
  Digest request{};
};

// ------------------------------------------------------------------------------------------- replies

struct SentReply {
  ConversationId conversation;
  Seq seq;
  std::int64_t server_time = 0;
  MessageState state = MessageState::live;
  bool duplicate = false;
  bool operator==(const SentReply&) const = default;
};

struct MutatedReply {
  std::uint64_t number = 0;
  ConversationId conversation;
  Seq read;
  Unread unread;
  bool unread_flag = false;
  bool clamped = false;
  Mark mark;
  // Of a change to a message: the entry that made it (0: it was so already), and what the message is now.
  Seq seq;
  MessageState state = MessageState::live;
  Seq revision;
  // Of a change that hides: up to where everything is hidden by now, and how many messages this one deleted.
  Seq cleared;
  bool removed = false;
  std::uint64_t deleted = 0;
  std::int64_t muted_until = 0;
  std::int64_t pinned_at = 0;
  bool operator==(const MutatedReply&) const = default;
};

struct GroupReply {
  Conversation group;
  Seq head;
  bool duplicate = false;  // the idempotency key had been used for the same request
};

struct LoginReply {
  std::uint64_t generation = 0;
  Mode mode = Mode::delta;
  Cursor head;
  std::uint64_t behind = 0;
  std::uint64_t highest_mutation = 0;
  std::vector<ConversationId> large_groups = {};
  std::uint64_t large_digest = 0;
};

struct UserReply {
  UserId user;
  UserHead head;
  bool groups_left = false;  // of a deletion: it has to go on
};

/// How many tombstones went; whether there are more of them.
struct TombstonesReply {
  std::size_t dropped = 0;
  bool more = false;
};

/// What expired and is still part of a message, and when there is more to do.
struct FilesExpiredReply {
  std::vector<FileExpiry> expired;
  std::int64_t next_at = kForEver;
};

/// The user's devices but those removed, by id.
struct DevicesReply {
  std::vector<Device> devices;
};

struct ImportReply {
  ConversationId conversation;  // empty: a group that a dry run would make
  std::uint32_t added = 0;
  std::uint32_t known = 0;
  Seq head;
};

struct NoReply {};

using Reply = std::variant<SentReply, MutatedReply, GroupReply, LoginReply, UserReply, TombstonesReply,
                           FilesExpiredReply, DevicesReply, Device, ImportReply, NoReply>;

// ------------------------------------------------------------------------------------ writes, notices

/// Everything a decision changes. Each key stands at most once.
struct Writes {
  struct UserRow {
    UserId user;
    UserConversation row;
  };
  struct MutationRow {
    UserId user;
    DeviceId device;
    InstallId install;
    Mutations mutations;
  };
  /// A message whose row an entry of these writes changed (row->touched_by).
  struct ChangedRow {
    ConversationId conversation;
    std::shared_ptr<const Entry> row;
    Seq touched_before;  // the touch of the same part that this one replaces
  };
  std::vector<std::pair<ConversationId, std::shared_ptr<const Entry>>> entries;  // ascending within a conversation
  /// How a user reacts to a message from now on; with no names he does not.
  struct ReactionRow {
    ConversationId conversation;
    Seq seq;
    UserId user;
    std::vector<std::string> names;
  };
  std::vector<ChangedRow> changed;
  std::vector<ReactionRow> reactions;
  std::vector<std::pair<ConversationId, Seq>> erased_reactions;  // of all users to a message
  std::vector<Conversation> conversations;
  std::vector<std::pair<UserId, UserHead>> users;
  std::vector<UserRow> rows;
  /// A member of a large group; `in` false: no longer.
  struct LargeMember {
    ConversationId conversation;
    Member member;
    bool in = true;
  };
  std::vector<LargeMember> large_members;
  /// A conversation became, or is no longer, large to a user.
  struct LargeGroup {
    UserId user;
    ConversationId conversation;
    bool large = true;
  };
  std::vector<LargeGroup> large_groups;
  std::vector<std::pair<UserId, UserObject>> objects;
  std::vector<std::pair<UserId, std::string>> dropped_objects;  // by name, with nothing left of them
  std::vector<Tombstone> tombstones;
  std::vector<Tombstone> dropped_tombstones;
  std::vector<FileExpiry> file_expiries;
  std::vector<FileExpiry> dropped_file_expiries;
  std::vector<std::pair<DedupKey, DedupRecord>> dedup;
  std::vector<std::pair<UserId, Device>> devices;
  std::vector<std::pair<UserId, DeviceId>> erased_devices;
  /// Whose each push token is; nothing: nobody's any more.
  std::vector<std::pair<std::string, std::optional<PushTokenOwner>>> push_tokens;
  std::vector<MutationRow> mutations;
  /// Mutations of all other installs of this device are forgotten.
  std::vector<MutationRow> replaced_installs;
  std::optional<std::uint64_t> last_group;
};

/// What one user is told of one change.
struct Receiver {
  UserId user;
  Mark after;  // the change's interval in his index
  Mark to;
  std::int64_t sort_time = 0;
  bool mentioned = false;
  std::shared_ptr<const Change> summary;  // where his state changed otherwise than by the entry itself
  std::shared_ptr<const std::vector<UserObject>> objects = nullptr;  // those that changed
  std::optional<bool> large = std::nullopt;  // whether the conversation is large to him from here on
};

/// Without an entry, a summary and objects a receiver is only told that there is more than is told.
struct Notice {
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;  // null: only the receivers' own state changed
  std::uint64_t round = 0;
  std::vector<Receiver> receivers;
  std::shared_ptr<const Entry> dead = nullptr;  // the marker of a message whose body nobody may be told again
  bool large = false;  // the entry also goes to who has the large group open, and its sender's other devices
};

/// A session that a decision has ended: its link is told before the decision's answer is given.
struct EndedSession {
  UserId user;
  DeviceId device;
  std::uint64_t generation = 0;
  SessionEnd end = SessionEnd::none;
  bool operator==(const EndedSession&) const = default;
};

struct Decision {
  Reply reply;
  Writes writes;
  std::vector<Notice> notices;
  std::vector<EndedSession> ended = {};
};

}  // namespace tidemark
