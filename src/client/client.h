// The client library: a user's device that keeps in step with its server.
//
//     ClientOptions options;
//     options.url = "ws://127.0.0.1:7700/v1/ws";
//     options.user = "1001";
//     options.token = [] { return my_token(); };
//     auto client = Client::start(options);
//     if (!client) return report(client.error());
//     (*client)->send_text("1002", "hello");
//     while (auto event = (*client)->next_event(1'000)) show(*event);
//
// It connects by itself, and again whenever the line is lost; everything works offline too: messages wait in the
// outbox, read pointers are told later, what is held can be shown. What the server says is stored before it is shown,
// and a message is stored before its first byte leaves, so that nothing is lost or doubled whenever the process dies.
//
// All methods are thread-safe and answer at once from what is held; what comes of them later is told by events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "client/replica_store.h"
#include "client/sqlite_store.h"
#include "core/replica/events.h"
#include "core/replica/state.h"
#include "core/totals.h"
#include "wire/dialect.h"

namespace tidemark {

using replica::BodyEvent;
using replica::ChangeEvent;
using replica::ChangeOutcome;
using replica::ChangeRefusedEvent;
using replica::ConversationEvent;
using replica::DevicesEvent;
using replica::GroupEvent;
using replica::HistoryEvent;
using replica::LinkEvent;
using replica::LinkState;
using replica::LostEvent;
using replica::MembersEvent;
using replica::MessageEvent;
using replica::MutationKind;
using replica::ObjectEvent;
using replica::OutboxEvent;
using replica::OutboxItem;
using replica::OutboxOutcome;
using replica::PassingEvent;
using replica::PresenceEvent;
using replica::ReactionsEvent;
using replica::ReceiptsEvent;
using replica::RowsGoneEvent;
using replica::UnreadEvent;

/// More events than options.events_max waited: the oldest were dropped. Read lists and timelines anew.
struct EventsLost {};

using ClientEvent =
    std::variant<MessageEvent, ConversationEvent, UnreadEvent, OutboxEvent, ChangeEvent, ChangeRefusedEvent, LostEvent,
                 RowsGoneEvent, ObjectEvent, HistoryEvent, GroupEvent, ReactionsEvent, BodyEvent, MembersEvent,
                 DevicesEvent, ReceiptsEvent, PresenceEvent, PassingEvent, LinkEvent, EventsLost>;

/// What becomes of the held data when the server says that this device was logged out or removed. One that only had to
/// make room for another (OTHER_DEVICE) keeps everything.
enum class WhenLoggedOut : std::uint8_t { keep, erase };

struct ClientOptions {
  std::string url;   // ws://host:port/v1/ws or wss://...
  std::string user;  // whose device this is; must be the token's
  /// Gives a token for each new connection; called on the client's thread, may take its time, must not throw.
  std::function<std::string()> token;
  std::string device = "desktop";  // stable name of the device, 1 to 64 bytes
  std::string platform = "desktop";
  std::string app_version = "0.1.0";
  Dialect dialect = Dialect::binary;
  std::string ca_file;  // wss: PEM of those who vouch for the server, "" for the system's
  bool verify = true;   // wss: whether the server must prove its name
  /// Messages that a catch-up brings along for each conversation, 0 to 50; the rest comes when it is opened.
  std::uint32_t recent = 20;
  std::uint32_t page_limit = 50;       // messages of a page of history
  std::int64_t retry_min_ms = 1'000;   // waits between connections: at random, at most this at first,
  std::int64_t retry_max_ms = 30'000;  // doubling up to this
  std::size_t events_max = 10'000;     // that wait for next_event
  WhenLoggedOut when_logged_out = WhenLoggedOut::keep;
  /// Called for each event on the client's thread instead of queueing it; must not throw or block for long.
  std::function<void(const ClientEvent&)> on_event;
  /// Where what is held survives the process: open_sqlite_store, one file for each device. Null: in memory.
  std::shared_ptr<ReplicaStore> store;
};

/// What a conversation shows: rows as the log has them, then what is still on its way.
struct Timeline {
  std::vector<TimelineRow> rows;   // ascending
  std::vector<OutboxItem> outbox;  // in the order of sending
};

/// A group to be made. Under an idempotency key it is made once, however often that is asked.
struct NewGroup {
  std::string title;
  std::vector<std::string> members;  // besides the user himself
  HistoryForNewcomers history_for_newcomers = HistoryForNewcomers::none;
  std::uint32_t history_last = 0;  // with `last`: how many messages
  std::string idempotency_key = {};
};

/// What is to change in a group: only what is set.
struct GroupChange {
  std::optional<std::string> title = std::nullopt;
  std::optional<std::string> data = std::nullopt;  // a JSON text of the application's own
  std::optional<Allowed> who_may_add = std::nullopt;
  std::optional<Allowed> who_may_send = std::nullopt;
  std::optional<JoinPolicy> join = std::nullopt;
  std::optional<HistoryForNewcomers> history_for_newcomers = std::nullopt;
  std::uint32_t history_last = 0;
};

/// What is to change of a device: only what is set.
struct DeviceChange {
  std::optional<std::string> name = std::nullopt;        // for people, at most 64 bytes
  std::optional<std::string> push_token = std::nullopt;  // where to wake it; "": none any more
};

/// A message to send; one of to and conversation is set.
using Draft = replica::Draft;

class Client {
 public:
  /// Begins to connect. MALFORMED with the option at fault as field; errors of the store.
  static Result<std::unique_ptr<Client>> start(ClientOptions options);
  /// Ends the connection. Not from on_event.
  ~Client();

  // All that changes something is stored when it returns; the store's error (field "store") means that it has not
  // happened, as when its disk is full.

  // Sending. The local id names the message until OutboxEvent says `sent` with its seq.

  /// MALFORMED for an impossible address, TOO_LARGE, LIMIT_REACHED when too much waits.
  Result<std::uint64_t> send(const replica::Draft& draft);
  Result<std::uint64_t> send_text(const std::string& to_user, const std::string& text);
  Result<std::uint64_t> send_text(const ConversationId& conversation, const std::string& text);
  /// Sends an undecided or failed message again, as a new one; or forgets it. MESSAGE_NOT_FOUND.
  Result<void> resend(std::uint64_t local_id);
  Result<void> discard(std::uint64_t local_id);
  /// What the next message will be called. Local ids count 1, 2, 3 ... in a store, and none is given twice, so that
  /// whoever sends from a list can tell after a restart how far he came.
  std::uint64_t next_local_id() const;

  // Reading. CONVERSATION_NOT_FOUND when the device does not hold it.

  Result<void> mark_read(const ConversationId& conversation, Seq seq);
  Result<void> mark_unread(const ConversationId& conversation);

  // For the user alone, on all his devices. All of it shows here at once, and waits for a server when there is none;
  // what the server refuses after all is told by a ChangeRefusedEvent. CONVERSATION_NOT_FOUND as above.

  /// Hides messages: single ones are (seq - 1, seq]. MALFORMED without one that this device knows of. Those who sent
  /// and received them keep theirs.
  Result<void> delete_for_me(const ConversationId& conversation, const std::vector<Interval>& messages);
  /// Hides everything up to `seq`, or all there is.
  Result<void> clear(const ConversationId& conversation, Seq seq = {});
  /// The same, and takes the conversation out of the list, until a message comes.
  Result<void> remove(const ConversationId& conversation);
  /// Until a server time in milliseconds since 1970, or kForEver; 0 ends it.
  Result<void> mute(const ConversationId& conversation, std::int64_t until = kForEver);
  Result<void> pin(const ConversationId& conversation, bool pinned = true);
  /// What the user began to write; an empty body: nothing any more. TOO_LARGE.
  Result<void> save_draft(const ConversationId& conversation, const Body& body, Seq reply_to = {});
  std::optional<SavedDraft> saved_draft(const ConversationId& conversation) const;
  /// A JSON text of at most 4 KiB under a name of a-z, 0-9, ".", "_" and "-"; "" takes it away.
  Result<void> set_setting(const std::string& name, const std::string& value);
  /// "" when it is not set. The user's level is the setting "level", which only the server's operator sets.
  std::string setting(const std::string& name) const;
  /// A blocked user cannot write to this one.
  Result<void> block(const std::string& user, bool blocked = true);
  std::vector<std::string> blocked_users() const;

  // Changing what was sent. The row changes on all devices, this one too, when the server has done it: a MessageEvent
  // tells so; a ChangeEvent says that a change is queued, then that it is done, a ChangeRefusedEvent that it will not
  // be (TOO_LATE, REVISION_CONFLICT ...). What is queued survives a restart and waits for a server.

  /// Takes a message of the user's own back, for everybody. CONVERSATION_NOT_FOUND when the device does not hold it,
  /// MESSAGE_NOT_FOUND, FORBIDDEN for a message of somebody else, MESSAGE_DELETED, LIMIT_REACHED when too much waits.
  Result<void> recall(const ConversationId& conversation, Seq seq);
  /// Gives it another body, whole. With `base_revision` (Entry::revision) it is refused when somebody was faster,
  /// without it the later edit wins. As recall, and TOO_LARGE.
  Result<void> edit(const ConversationId& conversation, Seq seq, const Body& body,
                    std::optional<Seq> base_revision = std::nullopt);
  Result<void> edit_text(const ConversationId& conversation, Seq seq, const std::string& text);

  /// Reacts to anybody's message with an emoji, or whatever the application calls it (1 to 64 bytes), or takes that off
  /// again. As recall but for FORBIDDEN, and OUT_OF_RANGE. Entry::reactions has the numbers, and which are one's own.
  Result<void> react(const ConversationId& conversation, Seq seq, const std::string& reaction, bool on = true);
  /// Asks the server who reacts to a message, `reaction` alone or all; a ReactionsEvent of the number tells a page.
  /// `page_token`: of the page before. RETRY_LATER without a connection.
  Result<std::uint64_t> ask_reactions(const ConversationId& conversation, Seq seq, const std::string& reaction = {},
                                      const std::string& page_token = {});

  // Groups. Each asks the server at once and gives a number; a GroupEvent of that number tells the group as it is then,
  // or the refusal (FORBIDDEN, LIMIT_REACHED ...). RETRY_LATER without a connection. Each change goes under an
  // idempotency key of its own; one whose connection ended before the answer came is asked once more by ask_again.

  Result<std::uint64_t> create_group(const NewGroup& group);
  Result<std::uint64_t> ask_group(const ConversationId& group);
  /// Who is in the group, also where it is large and ask_group gives its owner and admins alone: a MembersEvent of the
  /// number tells a page, in order of joining. `page_token`: of the page before; a limit of 0: the server's.
  Result<std::uint64_t> ask_members(const ConversationId& group, const std::string& page_token = {},
                                    std::uint32_t limit = 0);
  Result<std::uint64_t> change_group(const ConversationId& group, const GroupChange& change);
  Result<std::uint64_t> add_members(const ConversationId& group, const std::vector<std::string>& users);
  Result<std::uint64_t> remove_member(const ConversationId& group, const std::string& user);
  Result<std::uint64_t> leave_group(const ConversationId& group);
  /// By himself: the group must be open.
  Result<std::uint64_t> join_group(const ConversationId& group);
  /// Making somebody owner hands the group over.
  Result<std::uint64_t> set_role(const ConversationId& group, const std::string& user, Role role);
  /// Until a server time in ms; 0: no longer.
  Result<std::uint64_t> mute_member(const ConversationId& group, const std::string& user, std::int64_t until);
  Result<std::uint64_t> dissolve_group(const ConversationId& group);
  /// Asks once more what a call asked for whose event brought an error that may pass (RETRY_LATER, RATE_LIMITED ...),
  /// under the same key: what was done already is not done again, though others may have changed things meanwhile. It
  /// goes for all that is asked by number, and gives a new one. MALFORMED for a call that is not among the last few
  /// such ones, or after the store has failed.
  Result<std::uint64_t> ask_again(std::uint64_t call);

  // The user's devices. Each asks the server at once; a DevicesEvent of the number tells the list as it is then, or of
  // change_device the device alone. RETRY_LATER without a connection. That the list has changed, here or elsewhere, is
  // told by an ObjectEvent with DevicesChanged.

  Result<std::uint64_t> ask_devices();
  /// Gives a device a name or a push token; "": this one. DEVICE_NOT_FOUND, TOO_LARGE.
  Result<std::uint64_t> change_device(const DeviceChange& change, const std::string& device = {});
  /// Ends this device's session: what is held is kept or erased as ClientOptions say, and a LinkEvent tells it after
  /// the answer, which is an empty list. With a newer token reconnect() logs in again.
  Result<std::uint64_t> logout();
  /// Ends those of all other devices.
  Result<std::uint64_t> logout_others();
  /// Ends a device's session and takes it off the list. When it logs in again, what it holds is replaced.
  Result<std::uint64_t> remove_device(const std::string& device);

  // Looking.

  /// Newest first, without messages.
  std::vector<Change> conversations() const;
  std::optional<Change> conversation(const ConversationId& id) const;
  /// What is unread in all conversations, those that are muted now (by the server's clock) apart, and the number on the
  /// app's icon.
  Totals totals() const;
  /// At most `limit` rows below `before` (0: from the newest) of what is held.
  Timeline timeline(const ConversationId& conversation, Seq before = {}, std::size_t limit = 50) const;
  /// Takes out of sight what a restore of the server left on this device alone: rows that are not on_server, and the
  /// conversation itself when the server knows it no more. CONVERSATION_NOT_FOUND when there is nothing of the kind.
  Result<void> forget_lost(const ConversationId& conversation);
  /// All messages that are not in the log yet, in the order of sending.
  std::vector<OutboxItem> outbox() const;
  /// The conversation is on the screen: its newest page is fetched and kept complete. At most 8 at once.
  void open(const ConversationId& conversation);
  void close(const ConversationId& conversation);
  /// Fetches a page of older rows (below `before`, or below the newest ones): a HistoryEvent tells when it is there.
  void scroll_back(const ConversationId& conversation, Seq before = {});
  void scroll_forward(const ConversationId& conversation, Seq after);
  /// Long bodies come as their front (Body::cut says how much there is). This fetches and stores all of one: a
  /// MessageEvent tells the row, then a BodyEvent of the number that it is done, or why not. RETRY_LATER without a
  /// connection.
  Result<std::uint64_t> fetch_body(const ConversationId& conversation, Seq seq);

  // In passing: nothing of it is stored, on either side.

  /// Whose coming and going PresenceEvents tell, in place of those watched before; at most 200, each with a single chat
  /// with this user. At first, and on every new connection, they tell how things stand. MALFORMED, LIMIT_REACHED.
  Result<void> watch_presence(const std::vector<std::string>& users);
  /// Of which conversations ReceiptsEvents tell how far others have read and what has reached a device of theirs, in
  /// place of those watched before; at most 8, of up to 200 members. Nothing comes from who has the setting "receipts"
  /// set to false, and to such a user nothing at all. LIMIT_REACHED, CONVERSATION_NOT_FOUND.
  Result<void> watch_receipts(const std::vector<ConversationId>& conversations);
  /// What is known of a watched conversation: who has read it, and how far.
  std::vector<Receipt> receipts(const ConversationId& conversation) const;
  /// Tells the other devices of the conversation's members, as far as somebody looks at them: "typing", say, or the
  /// signalling of a call. They get a PassingEvent. RETRY_LATER without a connection, MALFORMED, TOO_LARGE (2,048
  /// bytes), OUT_OF_RANGE (a lifetime of 10 s at most).
  Result<void> say(const ConversationId& conversation, const std::string& type, const std::string& payload = {},
                   std::uint32_t lifetime_ms = 5'000);
  /// Whether somebody looks at the device; at first it is so.
  void set_foreground(bool on);

  // Events and the line.

  /// The next event, waiting at most `timeout_ms`; nothing when none came. Not used together with on_event.
  std::optional<ClientEvent> next_event(std::int64_t timeout_ms);
  LinkState link() const;
  /// Why there is no connection, in words; "" while there is one. A LinkEvent comes when it is another.
  std::string link_trouble() const;
  /// Waits until everything is held and everything told, or the time is over; whether it came to that.
  bool wait_settled(std::int64_t timeout_ms);
  /// Tries at once: the network came back, or a user has logged in again after a kick.
  void reconnect();

 private:
  Result<void> set_object(UserObject object);
  std::optional<UserObject> find_object(const std::string& name) const;

  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark
