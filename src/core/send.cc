// Sending once (design, section 5).
#include <algorithm>
#include <array>

#include "base/codec.h"
#include "core/body.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/draft.h"
#include "core/group_rights.h"
#include "core/mentions.h"
#include "core/planted.h"
#include "core/reads.h"
#include "core/registered.h"
#include "core/unread.h"
#include "core/uuid7.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::int64_t kBucketMs = kHourMs;

/// Every hour that an id may be remembered under now.
void add_live_hours(std::vector<DedupKey>& keys, const Digest& identity, const Context& context) {
  const std::int64_t oldest = std::max<std::int64_t>(0, context.now_ms - context.params.dedup_remember_ms) / kBucketMs;
  const std::int64_t newest = (context.now_ms + context.params.future_ms) / kBucketMs;
  for (std::int64_t hour = newest; hour >= oldest; --hour) {
    const DedupKey key{static_cast<std::uint32_t>(hour), identity};
    if (keys.empty() || keys.front() != key) keys.push_back(key);
  }
}

Result<void> check_id_time(std::int64_t time, const std::string& field, const Context& context) {
  if (time > context.now_ms + context.params.future_ms)
    return fail(ErrorCode::CLIENT_MSG_ID_EXPIRED, field, "Its time lies in the future.");
  if (time < context.now_ms - context.params.dedup_accept_ms)
    return fail(ErrorCode::CLIENT_MSG_ID_EXPIRED, field, "Its time is too long ago.");
  return {};
}

struct Meant {
  ConversationId id;
  ParsedConversation parsed;
};

/// The system is in no conversation: it writes where one is.
Result<Meant> resolve_for_system(View& view, const SendCommand& command) {
  if (!command.to.empty())
    return fail(ErrorCode::MALFORMED, "to", "A message of the system goes to a conversation_id.");
  TM_ASSIGN(ParsedConversation parsed, parse_conversation(command.conversation));
  const Conversation* conversation = view.conversation(command.conversation);
  if (conversation == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (conversation->dissolved) return fail(ErrorCode::CONVERSATION_CLOSED, "conversation_id");
  if (command.reply_to) return fail(ErrorCode::MALFORMED, "reply_to", "The system answers to nothing.");
  return Meant{command.conversation, std::move(parsed)};
}

/// The conversation meant, made for a first message; or why the sender may not write there.
Result<Meant> resolve(View& view, const SendCommand& command) {
  if (command.to.empty() == command.conversation.empty())
    return fail(ErrorCode::MALFORMED, "to", "Give either to or conversation_id.");
  if (command.system) return resolve_for_system(view, command);
  if (!command.to.empty()) {
    TM_TRY(check_addressee(command.to, "to"));
    return Meant{single_conversation(command.sender, command.to), parsed_single(command.sender, command.to)};
  }
  TM_ASSIGN(ParsedConversation parsed, parse_conversation(command.conversation));
  if (parsed.kind == ConversationKind::single && !parsed.has(command.sender))
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (parsed.kind == ConversationKind::group && view.user_conversation(command.sender, command.conversation) == nullptr)
    return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  return Meant{command.conversation, std::move(parsed)};
}

Result<void> check_reply(View& view, const SendCommand& command, const ConversationId& id) {
  if (!command.reply_to) return {};
  const UserConversation* row = view.user_conversation(command.sender, id);
  const auto target = view.entry(id, command.reply_to);
  if (row == nullptr || !target || !target->countable() || !granted(*row, command.reply_to))
    return fail(ErrorCode::MESSAGE_NOT_FOUND, "reply_to");
  if (target->dead() || !visible({view, command.sender, *row}, command.reply_to))
    return fail(ErrorCode::MESSAGE_DELETED, "reply_to");
  return {};
}

SentReply duplicate_reply(const Entry& entry, const ConversationId& id) {
  return {id, entry.seq, entry.server_time, entry.state, true};
}

/// The first result again, or why it cannot be given.
Result<Decision> answer_duplicate(View& view, const ConversationId& id, const DedupRecord& record,
                                  const Digest& content) {
  if (record.content != content && !planted(Fault::dedup_without_hash))
    return fail(ErrorCode::CLIENT_MSG_ID_CONFLICT, "client_msg_id");
  const auto entry = view.entry(id, record.seq);
  if (!entry) return fail(ErrorCode::CLIENT_MSG_ID_EXPIRED, "client_msg_id", "The message is no longer kept.");
  return Decision{duplicate_reply(*entry, id), {}, {}};
}

/// A blocked sender gets an error, and no entry is made.
Result<void> check_not_blocked(View& view, const ParsedConversation& parsed, const UserId& sender,
                               std::string_view field) {
  if (parsed.kind != ConversationKind::single || parsed.self()) return {};
  if (blocks(view, parsed.peer_of(sender), sender)) return fail(ErrorCode::BLOCKED, std::string(field));
  return {};
}

/// free: 0, paid: 1, vip: 2
int rank_of(std::string_view level) {
  return level == "vip" ? 2 : level == "paid" ? 1 : 0;
}

Result<void> check_priority(View& view, const SendCommand& command, const CoreParams& params) {
  if (command.priority == Priority::normal || command.admin) return {};
  const Granted granted = command.priority == Priority::high ? params.high_priority : params.low_priority;
  const std::string level = view.user(command.sender).level;
  if (rank_of(level.empty() ? command.level : level) >= static_cast<int>(granted)) return {};
  constexpr std::array<std::string_view, 4> kWho{"everyone", "level paid", "level vip", "admin tokens"};
  return fail(ErrorCode::FORBIDDEN, "priority",
              "This priority is for " + std::string(kWho.at(static_cast<std::size_t>(granted))) + "; send as normal.");
}

/// What the user's next sync brings before all else.
void note_high(Draft& draft, const UserId& user, const ConversationId& id, Seq seq) {
  std::vector<HighMark>& marks = draft.edit_user(user).high_marks;
  std::erase_if(marks, [&](const HighMark& mark) { return mark.conversation == id; });
  const std::size_t most = draft.context().params.high_marks_max;
  if (marks.size() >= most) marks.erase(marks.begin(), marks.end() - static_cast<std::ptrdiff_t>(most - 1));
  marks.push_back({id, seq});
}

/// Whoever names himself knows.
bool names(const Entry& entry, const UserId& user) {
  return user != entry.sender && std::ranges::find(entry.mentions, user) != entry.mentions.end();
}

/// By name, or with everybody.
bool means(const Entry& entry, const UserId& user) {
  return names(entry, user) || (entry.mention_all && user != entry.sender);
}

/// What sending changes in the sender's own row; whether it changed his read state.
bool note_own(Draft& draft, const ConversationId& id, const Entry& entry) {
  if (entry.sender.empty()) return false;  // the system's
  UserConversation& row = draft.edit_row(entry.sender, id);
  ++row.own;
  if (!draft.context().params.read_on_send) return false;
  row.read = entry.seq;
  row.unread_flag = false;
  settle_floor(draft, entry.sender, draft.line(id), row);
  return true;
}

Receiver tell_member(Draft& draft, const Member& member, const ConversationId& id, const Entry& entry, bool self_chat) {
  const CoreParams& params = draft.context().params;
  const bool comes_back = draft.edit_row(member.user, id).removed;
  Receiver receiver = draft.touch_head(member.user, id, entry);
  UserConversation& row = draft.edit_row(member.user, id);
  if (member.user == entry.sender && note_own(draft, id, entry)) {
    row.state_mark = row.head_mark;
    draft.add_summary(receiver, id);
  }
  receiver.mentioned = means(entry, member.user);
  if (names(entry, member.user)) note_mention(row, entry.seq);
  if (entry.priority == Priority::high && member.user != entry.sender) note_high(draft, member.user, id, entry.seq);
  if (comes_back) settle_floor(draft, member.user, draft.line(id), row);
  const bool counted = !self_chat && unread_may_be_inexact(row, draft.line(id), params);
  if (!receiver.summary && (comes_back || counted)) draft.add_summary(receiver, id);
  return receiver;
}

/// In a large group a message touches the index of those alone whom it names; its sender's where his read state moves.
Notice tell_large(Draft& draft, const ConversationId& id, const std::shared_ptr<const Entry>& entry) {
  Notice notice{id, entry, draft.round(), {}};
  notice.large = true;
  const bool sender_reads = note_own(draft, id, *entry);
  std::vector<UserId> told = entry->mentions;
  std::erase(told, entry->sender);
  if (sender_reads) told.push_back(entry->sender);
  std::ranges::sort(told);
  const auto repeated = std::ranges::unique(told);
  told.erase(repeated.begin(), repeated.end());
  for (const UserId& user : told) {
    Receiver receiver = draft.touch_state(user, id, entry.get());
    receiver.mentioned = means(*entry, user);
    if (names(*entry, user)) note_mention(draft.edit_row(user, id), entry->seq);
    draft.add_summary(receiver, id);
    notice.receivers.push_back(std::move(receiver));
  }
  return notice;
}

Notice tell_members(Draft& draft, const Conversation& conversation, const std::shared_ptr<const Entry>& entry,
                    bool self_chat) {
  Notice notice{conversation.id, entry, draft.round(), {}};
  notice.receivers.reserve(conversation.members.size());
  for (const Member& member : conversation.members)
    notice.receivers.push_back(tell_member(draft, member, conversation.id, *entry, self_chat));
  return notice;
}

/// For the planted fault alone.
void tell_who_left(Draft& draft, const ConversationId& id, const Entry& entry, Notice& notice) {
  draft.left(id, entry.seq - 1, [&](const UserId& user) {
    const UserConversation* row = draft.user_conversation(user, id);
    if (row != nullptr && !row->in_period()) notice.receivers.push_back(draft.touch_head(user, id, entry));
  });
}

/// The conversation, if the sender may write there; a single one is made for its first message.
Result<const Conversation*> writable_for_sender(Draft& draft, const SendCommand& command, const ConversationId& id,
                                                const ParsedConversation& parsed) {
  const Context& context = draft.context();
  const Conversation* conversation = draft.conversation(id);
  if (parsed.kind == ConversationKind::single) {
    const std::string_view field = command.to.empty() ? "conversation_id" : "to";
    // Whoever sends as a user is bound as he is; the system is nobody whom one could block.
    if (!command.system) TM_TRY(check_not_blocked(draft, parsed, command.sender, field));
    TM_TRY(check_registered(draft, context.params, parsed.peer_of(command.sender), field));
    return conversation != nullptr ? conversation : &make_single(draft, id, parsed);
  }
  const UserConversation* row = draft.user_conversation(command.sender, id);
  if (conversation == nullptr || row == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (!row->in_period()) return std::unexpected(no_longer_in(*conversation, *row));
  TM_TRY(check_may_write(*conversation, command.sender, std::max(draft.line(id).server_time, context.now_ms)));
  return conversation;
}

}  // namespace

Digest content_of(const SendCommand& command) {
  const Digest body = digest_of_body(command.body);
  if (!command.reply_to && command.mentions.empty() && !command.mention_all) return body;
  std::string lists;
  ByteWriter out(lists);
  out.varint(command.reply_to.value);
  out.varint(command.mentions.size());
  for (const UserId& user : command.mentions) out.string(user.value);
  if (command.mention_all) out.u8(1);
  return digest_of({bytes_of(body), lists});
}

Conversation& make_single(Draft& draft, const ConversationId& id, const ParsedConversation& parsed) {
  Conversation& made = draft.edit_conversation(id);
  made.kind = ConversationKind::single;
  made.members = {{parsed.a, Role::member, Seq()}};
  if (!parsed.self()) made.members.push_back({parsed.b, Role::member, Seq()});
  for (const Member& member : made.members) {
    UserConversation& row = draft.edit_row(member.user, id);
    row.periods = {{Seq(), Seq(), Seq(1)}};
  }
  return made;
}

Result<std::vector<DedupKey>> dedup_keys(const UserId& sender, const ConversationId& conversation,
                                         const std::string& client_msg_id, std::int64_t client_time, bool admin,
                                         const Context& context) {
  const Digest identity = digest_of({"send", sender.value, conversation.value, client_msg_id});
  std::vector<DedupKey> keys;
  if (const auto time = uuid7_time_ms(client_msg_id)) {
    TM_TRY(check_id_time(*time, "client_msg_id", context));
    keys.push_back({static_cast<std::uint32_t>(*time / kBucketMs), identity});
    return keys;
  }
  if (client_time != 0) {
    TM_TRY(check_id_time(client_time, "client_time", context));
  } else if (!admin) {
    return fail(ErrorCode::CLIENT_TIME_REQUIRED, "client_time");
  }
  // Kept under the hour of its receipt and looked for under every live one, so that another client_time in a retry
  // cannot slip past the memory.
  keys.push_back({static_cast<std::uint32_t>(context.now_ms / kBucketMs), identity});
  add_live_hours(keys, identity, context);
  return keys;
}

Result<Decision> decide_send(View& view, const SendCommand& command, const Context& context) {
  TM_TRY(check_body(command.body, context.params));
  TM_ASSIGN(const Meant meant, resolve(view, command));
  const auto& [id, parsed] = meant;
  TM_ASSIGN(const std::vector<DedupKey> keys,
            dedup_keys(command.sender, id, command.client_msg_id, command.client_time, command.admin, context));
  const Digest content = command.given.value_or(content_of(command));
  const auto id_high = uuid7_high(command.client_msg_id);
  const bool of_user = !command.sender.empty();
  const bool surely_new = id_high && of_user && *id_high > view.user(command.sender).newest_id;
  if (!surely_new)
    if (const auto record = view.remembered(keys)) return answer_duplicate(view, id, *record, content);

  Draft draft(view, context);
  const Conversation* conversation = view.conversation(id);
  if (!command.system) {
    TM_ASSIGN(conversation, writable_for_sender(draft, command, id, parsed));
  }
  TM_TRY(check_priority(draft, command, context.params));
  TM_TRY(check_reply(draft, command, id));
  TM_TRY(check_mentions(draft, command, *conversation, context.params));
  if (command.ask_only) return Decision{SentReply{id, Seq(), 0, MessageState::live, false}, {}, {}};

  Entry entry;
  entry.kind = EntryKind::message;
  entry.sender = command.sender;
  entry.sender_device = command.device;
  entry.client_msg_id = command.client_msg_id;
  entry.client_time = id_high ? time_ms_of(*id_high) : command.client_time;
  entry.priority = command.priority;
  entry.reply_to = command.reply_to;
  entry.mentions = command.mentions;
  entry.mention_all = command.mention_all;
  entry.body = command.body;
  const auto stored = draft.append(id, std::move(entry));
  draft.writes().dedup.emplace_back(keys.front(), DedupRecord{stored->seq, content});
  if (id_high && of_user) {
    std::uint64_t& newest = draft.edit_user(command.sender).newest_id;
    newest = std::max(newest, *id_high);
  }

  note_mention_of_all(draft, id, *stored);
  Notice notice =
      conversation->large ? tell_large(draft, id, stored) : tell_members(draft, *conversation, stored, parsed.self());
  if (planted(Fault::late_fan_out)) tell_who_left(draft, id, *stored, notice);
  SentReply reply{id, stored->seq, stored->server_time, stored->state, false};
  std::vector<Notice> notices;
  notices.push_back(std::move(notice));
  return std::move(draft).finish(std::move(reply), std::move(notices));
}

}  // namespace tidemark
