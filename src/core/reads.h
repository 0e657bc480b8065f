// Catching up: sync, conversation sync, history, lists. Pure functions over a View that shows one moment.
// Every function checks its arguments and answers with an Error that names the field; what a user may not see
// answers exactly as what does not exist. A View that failed makes the result void: check View::failure() first.
#pragma once

#include "core/params.h"
#include "core/results.h"
#include "core/view.h"

namespace tidemark {

enum class Bodies : std::uint8_t { none = 0, recent, all };

struct SyncQuery {
  UserId user;
  Cursor cursor;
  Mark p0;  // a descent goes on: p0, p0_round and `after` of the page before
  std::uint64_t p0_round = 0;
  Mark below;
  std::uint32_t limit = 0;  // 0: the default
  Bodies bodies = Bodies::none;
  std::uint32_t recent = 0;
  std::uint64_t byte_budget = 0;
  ConversationId resume_conversation;  // bodies all
  Seq resume_after;
  Mark resume_objects;  // conversations are through; objects go on from here down
};
/// Design, section 4 "Coming back". bodies none/recent: goes down from p0, newest first. bodies all: for each
/// conversation changed since the cursor, in order of its id, the entries of rounds (cursor.round, p0_round].
Result<SyncPage> read_sync(View& view, const CoreParams& params, const SyncQuery& query);

struct ConversationSyncQuery {
  UserId user;
  ConversationId conversation;
  Seq after;
  std::vector<Interval> known;
  std::uint32_t limit = 0;
  Seq touch_cursor;
  Seq to;
};
Result<ConversationPage> read_conversation_sync(View& view, const CoreParams& params,
                                                const ConversationSyncQuery& query);

struct HistoryQuery {
  UserId user;
  ConversationId conversation;
  // At most one of these is given.
  std::optional<Seq> before;
  std::optional<Seq> after;
  std::optional<Seq> around;
  std::optional<std::int64_t> at;
  std::uint32_t limit = 0;
};
Result<HistoryPage> read_history(View& view, const CoreParams& params, const HistoryQuery& query);

/// One row as `user` sees it; MESSAGE_NOT_FOUND when unknown, foreign or hidden alike.
Result<Entry> read_message(View& view, const UserId& user, const ConversationId& conversation, Seq seq);

/// The same of a message that lives, for its whole body. MESSAGE_DELETED for a dead one.
Result<Entry> read_body(View& view, const UserId& user, const ConversationId& conversation, Seq seq);

struct ReactionsQuery {
  UserId user;
  ConversationId conversation;
  Seq seq;
  std::string reaction;  // only who reacts so; empty: everybody who reacts
  UserId after;          // the page goes on behind this user
  std::uint32_t limit = 0;
};
/// Who reacts to a message, in an order of the store's own. MESSAGE_NOT_FOUND as above, MESSAGE_DELETED for a dead one.
Result<ReactionsPage> read_reactions(View& view, const CoreParams& params, const ReactionsQuery& query);

/// A device's question about its large groups (design, section 3).
struct HeadsQuery {
  UserId user;
  std::vector<KnownHead> known;  // at most heads_max; what it knows of the groups asked about
  // All large groups with numbers in (after, through] are asked about; empty: from the first, to the last.
  ConversationId after;
  ConversationId through;
  bool only = false;  // of these only the ones named, which need not be large: whatever they are now
};
/// Those that differ from what is known, and those named that are large no more, or never were; what the user has no
/// row of is left out.
Result<HeadsPage> read_heads(View& view, const CoreParams& params, const HeadsQuery& query);

struct MembersPage {
  std::vector<Member> members;  // in order of joining
  Member next_after;            // without user: that was all
};
/// NOT_MEMBER and CONVERSATION_NOT_FOUND as read_group.
Result<MembersPage> read_members(View& view, const CoreParams& params, const UserId& user,
                                 const ConversationId& conversation, std::uint32_t limit, const Member& after);
/// Of any group, for an operator.
Result<MembersPage> read_any_members(View& view, const CoreParams& params, const ConversationId& conversation,
                                     std::uint32_t limit, const Member& after);

struct ReceiptsQuery {
  UserId user;
  ConversationId conversation;
  std::vector<UserId> users;  // of these alone; none: of all
};
/// How far the other members have read. CONVERSATION_NOT_FOUND, NOT_MEMBER; LIMIT_REACHED for more than small_max
/// members.
Result<Receipts> read_receipts(View& view, const CoreParams& params, const ReceiptsQuery& query);

/// The conversations of a user by (sort_time, conversation) descending, below the given place (0: from the top).
Result<ConversationList> read_conversations(View& view, const CoreParams& params, const UserId& user,
                                            std::uint32_t limit, std::int64_t below_sort_time,
                                            const ConversationId& below_conversation);

/// One conversation's summary; CONVERSATION_NOT_FOUND when it is not in the user's index.
Result<Change> read_change(View& view, const CoreParams& params, const UserId& user,
                           const ConversationId& conversation);

/// Of these kinds a user has no more than limits allow.
enum class ObjectKind : std::uint8_t { setting, blocked };
/// All objects of a kind that are there, by name.
Result<std::vector<UserObject>> read_objects(View& view, const UserId& user, ObjectKind kind);

struct DraftsPage {
  std::vector<UserObject> drafts;
  ConversationId next_after;  // empty: that was all
};
/// Drafts that are there, in order of their names, behind that of the conversation `after`: at most `limit` of them (0:
/// the default), and not above sync_bytes_max, but one in any case.
Result<DraftsPage> read_drafts(View& view, const CoreParams& params, const UserId& user, std::uint32_t limit,
                               const ConversationId& after);

/// The group as its present member sees it, or one who was there when it was dissolved. NOT_MEMBER for a former one,
/// CONVERSATION_NOT_FOUND otherwise.
Result<Conversation> read_group(View& view, const UserId& user, const ConversationId& conversation);
/// Any group, for an operator.
Result<Conversation> read_any_group(View& view, const ConversationId& conversation);

/// What a cursor means to this store now. One of an epoch that the store has never been in is told to begin anew,
/// with all its rows: nothing that it holds can be told apart. Nor can it be told what was taken away since where the
/// tombstones of that are gone.
Mode mode_of(View& view, const Cursor& cursor, const UserHead& head);

/// What a device holds of a conversation from before a restore.
struct HeldLine {
  ConversationId conversation;
  std::uint32_t epoch = 0;  // number of the store's epoch up to which its jumps are applied
};
struct LineJumps {
  ConversationId conversation;
  bool known = false;  // false: the store has no such conversation of this user
  std::vector<Jump> jumps;
  bool operator==(const LineJumps&) const = default;
};
struct JumpsAnswer {
  std::uint32_t epoch = 0;  // all jumps up to this epoch are in the answer
  std::vector<LineJumps> lines;
};
/// The jumps of these conversations since (design, section 2, "Epoch"). A log that was not written since the restore
/// answers with the jump that it would make.
Result<JumpsAnswer> read_jumps(View& view, const UserId& user, const std::vector<HeldLine>& lines);

/// The summary of a row (without messages). Used by reads and by pushes of state.
Change change_of(View& view, const CoreParams& params, const UserId& user, const UserConversation& row);

}  // namespace tidemark
