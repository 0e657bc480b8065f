// What a device and its server say to each other, in the core's own types. The wire's form of it is made elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/commands.h"
#include "core/reads.h"
#include "core/replica/events.h"
#include "core/replica/state.h"

namespace tidemark::replica {

// ------------------------------------------------------------------------------------- device to server

/// The driver adds what it knows alone: token, platform, version of the app.
struct Hello {
  DeviceId device;
  InstallId install;
  Cursor cursor;
  std::uint64_t session_generation = 0;
  std::uint64_t next_mutation = 0;
  bool background = false;
  std::uint64_t large_digest = 0;
};

struct Sync {
  Cursor cursor;
  Mark p0;  // with p0_round and below: a descent goes on
  std::uint64_t p0_round = 0;
  Mark below;
  std::uint32_t limit = 0;
  Bodies bodies = Bodies::none;
  std::uint32_t recent = 0;
  std::uint32_t byte_budget = 0;
  std::string page_token;
};

/// After a restore: what it took from these conversations.
struct Jumps {
  std::vector<HeldLine> lines;
};

struct ConversationSync {
  ConversationId conversation;
  Seq after;
  std::vector<Interval> known;
  std::uint32_t limit = 0;
  Seq touch_cursor;
  Seq to;
};

/// Without before and after: the newest page.
struct History {
  ConversationId conversation;
  std::optional<Seq> before;
  std::optional<Seq> after;
  std::uint32_t limit = 0;
};

/// How do these large groups stand? `known` is all that is held in (after, through], or with `only` what is asked
/// about.
struct Heads {
  std::vector<KnownHead> known;
  ConversationId after;
  ConversationId through;
  bool only = false;
};

/// The large groups on the screen, in place of those before.
struct Focus {
  std::vector<ConversationId> conversations;
};

struct Send {
  UserId to;  // one of to and conversation
  ConversationId conversation;
  std::string client_msg_id;
  std::int64_t client_time = 0;
  Body body;
  Seq reply_to;
  std::vector<UserId> mentions;
  Priority priority = Priority::normal;
  bool mention_all = false;
};

struct Mutate {
  MutationItem item;
};

/// Gives a group with its members.
struct GroupQuery {
  ConversationId conversation;
};

/// Who asks is the link's to know: `user` and `device` of these stay empty, and so does all that is an operator's.
using GroupRequest =
    std::variant<GroupQuery, CreateGroupCommand, AddMembersCommand, RemoveMemberCommand, JoinGroupCommand,
                 ChangeGroupCommand, SetRoleCommand, MuteMemberCommand, DissolveGroupCommand>;

/// A change goes under an idempotency key, by which it is done once; a new group has its own.
struct GroupCall {
  GroupRequest request;
  std::string idempotency_key = {};
};

struct DevicesQuery {};

/// Ends the session of the device that asks; a kick tells that it is done.
struct Logout {};

/// Ends those of all others.
struct LogoutOthers {};

/// Ends a device's session and takes it off the list; of the one that asks a kick tells it.
struct RemoveDevice {
  DeviceId device;
};

/// As with groups, `user` stays empty.
using DeviceRequest = std::variant<DevicesQuery, ChangeDeviceCommand, Logout, LogoutOthers, RemoveDevice>;

struct DeviceCall {
  DeviceRequest request;
  std::string idempotency_key = {};
};

/// Who is in a group, a page at a time.
struct AskMembers {
  ConversationId conversation;
  std::uint32_t limit = 0;  // 0: the server's default
  std::string page_token;
};

/// Who reacts to a message; its user is the link's to know.
struct AskReactions {
  ReactionsQuery query;
  std::string page_token;
};

/// All of the body of a row that came cut.
struct AskBody {
  ConversationId conversation;
  Seq seq;
};

/// How far others have read; with `watch` also what changes from now on.
struct AskReceipts {
  ConversationId conversation;
  bool watch = false;
};

struct Ack {
  Mark mark;
  std::vector<KnownHead> ahead = {};  // entries above it that came ahead of their place
};

struct Heartbeat {
  Cursor cursor;
  std::uint64_t large_digest = 0;
};

/// Whose presence is to be told from now on.
struct Watch {
  std::vector<UserId> users;
};

/// Said in passing; one of `to` and `conversation` is set.
struct Passing {
  UserId to;
  ConversationId conversation;
  std::string type;
  std::string payload;
  std::uint32_t lifetime_ms = 0;
};

struct Foreground {
  bool on = false;
};

using Operation =
    std::variant<Hello, Sync, Jumps, ConversationSync, History, Send, Mutate, GroupCall, DeviceCall, AskMembers,
                 AskReactions, AskBody, AskReceipts, Ack, Heartbeat, Watch, Passing, Foreground, Heads, Focus>;

/// `id` is never 0 and never used twice by one replica: its upper part counts the connections.
struct Request {
  std::uint64_t id = 0;
  Operation operation;
};

// ------------------------------------------------------------------------------------- server to device

struct Welcome {
  std::uint64_t generation = 0;
  Mode mode = Mode::delta;
  Cursor head;
  std::uint64_t behind = 0;
  std::uint64_t highest_mutation = 0;
  std::int64_t server_time = 0;
  UserId user;
  DeviceId device;
  std::int64_t heartbeat_ms = 0;  // 0: the default
  bool heads_wanted = false;
};

struct WholeBody {
  ConversationId conversation;
  Seq seq;
  Seq revision;
  Body body;
};

struct SyncAnswer {
  SyncPage page;
  std::string page_token;
};

struct HeartbeatAnswer {
  Mark head;
  std::int64_t server_time = 0;
  bool heads_wanted = false;
};

/// Something happened in these large groups; whoever asks waits up to spread_ms, by chance.
struct HeadNotice {
  std::vector<KnownHead> heads;
  std::int64_t spread_ms = 0;
};

struct Push {
  std::vector<PushItem> items;
};

struct Hint {
  Mark head;
};

struct Kick {
  std::string code;
  bool terminal = false;
  std::string message;
};

struct PresenceStates {
  std::vector<PresenceEvent> states;
};

/// A frame of a kind that this version does not know.
struct Unknown {};

using Answer =
    std::variant<Unknown, Error, Welcome, SyncAnswer, JumpsAnswer, ConversationPage, HistoryPage, SentReply,
                 MutatedReply, GroupReply, std::vector<UserDevice>, ListedMembers, WhoReacted, WholeBody, Receipts,
                 HeartbeatAnswer, Push, Hint, Kick, PresenceStates, PassingEvent, HeadsPage, HeadNotice>;

/// `id` is that of the request answered, 0 for push, hint and kick.
struct ServerFrame {
  std::uint64_t id = 0;
  Answer answer;
};

}  // namespace tidemark::replica
