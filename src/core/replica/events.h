// What the user interface is told. Events of one input are raised after its batch is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/commands.h"
#include "core/replica/state.h"
#include "core/results.h"

namespace tidemark::replica {

/// A row became visible or changed. What changes another row (an edit, a recall, a reaction) is told as the change of
/// that row.
struct MessageEvent {
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;
  bool appeared = true;  // false: a row shown before has changed
  bool notify = false;   // new, of somebody else, countable and above the read pointer; told once
};

/// A conversation's place, preview, title, membership, muting or pinning in the list changed.
struct ConversationEvent {
  ConversationId conversation;
  bool removed = false;  // it is in the list no more
};

struct UnreadEvent {
  ConversationId conversation;
  Unread unread;
  bool unread_flag = false;
  Seq read;
};

enum class OutboxOutcome : std::uint8_t {
  queued = 1,
  sent,       // it is message `seq`
  renewed,    // goes on under another client_msg_id
  undecided,  // "not sent - send again?"
  failed,     // refused: see `error`; the text is kept
  discarded,
};

struct OutboxEvent {
  std::uint64_t local_id = 0;
  ConversationId conversation;
  std::string client_msg_id;
  OutboxOutcome outcome = OutboxOutcome::queued;
  Seq seq;
  std::optional<Error> error;
};

enum class ChangeOutcome : std::uint8_t {
  queued = 1,  // stored here; the row changes when the log says so
  done,
};

/// A recall, an edit or a reaction of this user's is on its way, or has been answered.
struct ChangeEvent {
  ConversationId conversation;
  MutationKind kind = MutationKind::recall;
  Seq seq;  // of the message
  ChangeOutcome outcome = ChangeOutcome::queued;
};

/// A change was refused for good; or, as MUTATION_EXPIRED, given back: an edit, a mute, a pin, a mark of being unread,
/// a draft, a setting or a block, when it is not known whether it was made, and what came after it. Its user decides.
struct ChangeRefusedEvent {
  ConversationId conversation;
  MutationKind kind = MutationKind::read;
  Seq seq;    // of the message, or read up to there
  Body body;  // of an edit or a draft: the text is kept for its user
  Error error;
};

/// A restore of the server lost the rows in (rows.after, rows.to]: they are on this device alone. With `now` it is one
/// row that is gone again, since the same message has come back as that seq.
struct LostEvent {
  ConversationId conversation;
  Interval rows;
  Seq now = {};
};

/// Rows that were shown may be shown no more: the user deleted or cleared them, here or elsewhere, or left.
struct RowsGoneEvent {
  ConversationId conversation;
  Interval rows;
};

/// A draft, a setting or a block has changed, here or on another device; or, as DevicesChanged, the list of the user's
/// devices: whoever shows it asks for it again (ask_devices).
struct ObjectEvent {
  UserObject object;
};

/// A question for rows of a conversation was answered.
struct HistoryEvent {
  ConversationId conversation;
  bool end = false;            // nothing older can be seen
  std::optional<Error> error;  // it was refused
};

/// A user who is watched came or went; also the answer to a watch. It holds as long as the link does.
struct PresenceEvent {
  UserId user;
  bool online = false;
  std::int64_t last_seen = 0;  // while offline, by the server's clock; 0: not known
};

/// Something said in passing: typing, the signalling of a call.
struct PassingEvent {
  ConversationId conversation;
  UserId sender;
  DeviceId sender_device;
  std::string type;
  std::string payload;
  std::uint32_t lifetime_ms = 0;  // after that it holds no more
};

/// What was asked about a group was answered: by the group as it is after it, or by the refusal. RETRY_LATER when the
/// connection ended meanwhile; then it may have been done or not: ask_again asks once more under the same idempotency
/// key, by which it is done once.
struct GroupEvent {
  std::uint64_t call = 0;
  Result<GroupReply> group;
};

/// Who reacts to a message, and how: a page of it.
struct WhoReacted {
  std::vector<ReactionsPage::ByUser> users;
  std::string page_token;  // for the next page; empty: that was all
};

/// The answer to who reacted, or the refusal; RETRY_LATER when the connection ended meanwhile.
struct ReactionsEvent {
  std::uint64_t call = 0;
  Result<WhoReacted> reactions;
};

/// A question for a whole body was answered: the row has it now, unless it was changed meanwhile. Or it was refused;
/// RETRY_LATER when the connection ended.
struct BodyEvent {
  std::uint64_t call = 0;
  Result<void> fetched;
};

/// A page of a group's members.
struct ListedMembers {
  struct Each {
    Member member;
    std::int64_t muted_until = 0;  // server time, 0: not muted
  };
  std::vector<Each> members;  // in order of joining
  std::string page_token;     // for the next page; empty: that was all
};

/// The answer to who is in a group, or the refusal; RETRY_LATER when the connection ended meanwhile.
struct MembersEvent {
  std::uint64_t call = 0;
  Result<ListedMembers> members;
};

enum class LoginState : std::uint8_t {
  logged_in = 1,
  other_device,  // another one has logged in instead
  logged_out,
};

/// A device of the user's.
struct UserDevice {
  DeviceId id;
  std::string name;  // for people; given by the user
  std::string platform;
  std::string app_version;
  LoginState state = LoginState::logged_in;
  std::int64_t logged_in_at = 0;   // since when it is, or was, logged in
  std::int64_t logged_out_at = 0;  // when its last session ended, 0: it never did
  std::int64_t last_seen = 0;      // to some minutes
  bool push = false;               // it has a push token
  bool current = false;            // the one that asks
};

/// What was asked about the user's devices was answered: by the list as it is after it, by the device that was changed
/// alone, by nothing where this device ended its own session; or by the refusal, as a GroupEvent.
struct DevicesEvent {
  std::uint64_t call = 0;
  Result<std::vector<UserDevice>> devices;
};

/// How far others have read a conversation that is watched: all that is known by now.
struct ReceiptsEvent {
  ConversationId conversation;
  std::vector<Receipt> receipts;
  bool off = false;  // this user does not tell either, and is told of nobody
};

enum class LinkState : std::uint8_t { offline = 1, greeting, catching_up, in_step, refused };

struct LinkEvent {
  LinkState state = LinkState::offline;
  std::optional<Error> error;  // refused: why
  std::string kick;            // refused until the user comes back: the code that says why; or of a kick; or empty
};

using Event = std::variant<MessageEvent, ConversationEvent, UnreadEvent, OutboxEvent, ChangeEvent, ChangeRefusedEvent,
                           LostEvent, RowsGoneEvent, ObjectEvent, HistoryEvent, GroupEvent, ReactionsEvent, BodyEvent,
                           MembersEvent, DevicesEvent, ReceiptsEvent, PresenceEvent, PassingEvent, LinkEvent>;

}  // namespace tidemark::replica
