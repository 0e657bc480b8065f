#include "wire/openapi_text.h"

#include <array>

namespace tidemark {
namespace {

using Sentence = std::pair<std::string_view, std::string_view>;

constexpr std::array kSentences = {
    Sentence{"Attachment", "A reference to a file kept elsewhere."},
    Sentence{"Attachment.expires_at", "Server time from which on the file is gone, 0: it stays."},
    Sentence{"Attachment.size", "In bytes."},
    Sentence{"Body", "What a message says. At most 65,536 bytes in all."},
    Sentence{"Body.cut", "This is but the front of it; getBody gives all. Not in requests."},
    Sentence{"BodyCut.hash", "Of the whole body: the first 16 bytes of a SHA-256."},
    Sentence{"BodyCut.size", "Of the whole body, in bytes as limits count."},
    Sentence{"Body.type", "\"text\" when empty; any name of at most 32 bytes."},
    Sentence{"Body.summary", "Shown where there is no room for the text."},
    Sentence{"Body.data", "A JSON text, kept and returned byte for byte: at most 32 levels and 1,000 keys."},
    Sentence{"Body.encrypted", "Opaque to the server."},
    Sentence{"Change", "One conversation of the user, as of mark and head_seq."},
    Sentence{"Change.covers", "What messages cover."},
    Sentence{"Change.head_seq", "The last entry of any kind."},
    Sentence{"Change.messages", "As asked by tail or bodies, ascending."},
    Sentence{"Change.more_messages", "With bodies=all: this conversation goes on in the next page."},
    Sentence{"Change.peer", "Single chats: the other user."},
    Sentence{"Change.sort_time", "Orders the conversation list, together with the id."},
    Sentence{"Change.top", "The last entry that counts as a message."},
    Sentence{"Change.touch_seq", "The last entry that changed an older message."},
    Sentence{"Change.unread", "Exact when unread_exact, otherwise there are more."},
    Sentence{"ConversationList.page_token", "Empty: that was all."},
    Sentence{"CreateGroupRequest.history_last", "With \"last\": how many messages, 1 to 1000."},
    Sentence{"CreateGroupRequest.idempotency_key", "The same as the header Idempotency-Key."},
    Sentence{"CreateGroupRequest.members", "Besides the creator."},
    Sentence{"EditMutation.base_revision",
             "Refused when the message has another revision by now; left out: whatever it is."},
    Sentence{"EditMutation.body", "All of the new body."},
    Sentence{"Error.code", "Stable; the list is in ErrorCode."},
    Sentence{"Error.field", "The input field at fault, or empty."},
    Sentence{"Error.message", "A sentence that says what to do."},
    Sentence{"Error.retry_after_ms", "When to try again, 0 when that is not told."},
    Sentence{"Error.retryable", "The same request may succeed later."},
    Sentence{"Hidden", "A range (after, to] that is not shown, and why."},
    Sentence{"HistoryPage.as_of", "The conversation's head when this was read."},
    Sentence{"HistoryPage.covers", "The page holds all that is visible in this interval."},
    Sentence{"HistoryPage.end", "There is nothing more in this direction."},
    Sentence{"HistoryPage.pending", "A part is still being fetched: ask again."},
    Sentence{"Interval", "(after, to]: half open."},
    Sentence{"Message", "An entry of a conversation in its present state."},
    Sentence{"Message.body", "Absent when recalled or deleted."},
    Sentence{"Message.client_msg_id", "Only for the sender's own devices."},
    Sentence{"Message.client_time", "The sender's remark; never orders anything."},
    Sentence{"Message.message_id", "The conversation, a colon, the seq."},
    Sentence{"Message.ord", "How many messages there are up to here."},
    Sentence{"Message.reply_to", "The seq of the message answered, 0 when none."},
    Sentence{"Message.revision", "The seq of the last edit, 0 when never edited."},
    Sentence{"Message.seq", "Its place in the conversation: 1, 2, 3 and so on."},
    Sentence{"Message.server_time", "In ms since 1970; never runs backwards inside a conversation."},
    Sentence{"Message.reacted", "The seq of the last reaction to this message, 0 when there was none."},
    Sentence{"Message.reactions", "Of a message: how it was reacted to, in order of the first time."},
    Sentence{"Message.target", "Of an edit, recall or reaction: the seq of the message changed."},
    Sentence{"Message.target_sender", "Of an edit, recall or reaction: who wrote the message changed."},
    Sentence{"Message.touched", "The seq of the last entry that changed this one, 0 when none did."},
    Sentence{"Mutated.clamped", "The seq asked for lay beyond the head."},
    Sentence{"Mutated.revision", "Of a message changed: the seq of its last edit."},
    Sentence{"Mutated.seq", "Of a message changed: the entry that did it; 0: it was so already."},
    Sentence{"Mutated.state", "Of a message changed: what it is now."},
    Sentence{"Period", "A time of membership, from the joining to the leaving entry."},
    Sentence{"Period.leave", "0 while it lasts."},
    Sentence{"Preview.cut", "There is more than text shows."},
    Sentence{"Preview.text", "The summary, or the text cut between whole characters."},
    Sentence{"Receipt.delivered_seq", "Up to here it has reached a device of the user's; at least read_seq."},
    Sentence{"ReceiptList.off", "The reader's setting \"receipts\" is false: he is told of nobody."},
    Sentence{"ReceiptList.receipts", "Of the other members, without those who do not tell."},
    Sentence{"Totals.badge", "Unread messages, and the mentions in muted conversations."},
    Sentence{"Totals.exact", "false: some conversation has more than is counted."},
    Sentence{"Totals.muted_unread", "Messages in conversations that are muted at server_time."},
    Sentence{"Totals.unread", "Messages in conversations that are not muted."},
    Sentence{"Reaction.mine", "The reader is one of them."},
    Sentence{"ReactionList.page_token", "Empty: that was all."},
    Sentence{"ReactMutation.on", "false: no longer; left out: true."},
    Sentence{"ReactMutation.reaction", "An emoji, or whatever the application calls it: 1 to 64 bytes."},
    Sentence{"SendRequest.client_msg_id",
             "Chosen by the sender, new for every message: a UUIDv7, or any id of 1 to 64 bytes with client_time."},
    Sentence{"SendRequest.client_time", "In ms since 1970; needed unless client_msg_id is a UUIDv7."},
    Sentence{"SendRequest.conversation_id", "This, or to."},
    Sentence{"SendRequest.sender", "Admin tokens only: on whose behalf."},
    Sentence{"SendRequest.to", "A user; this, or conversation_id."},
    Sentence{"Sent.duplicate", "The message was there already; this is where."},
    Sentence{"Sent.durability", "What the answer stands for: on this machine's disk, or committed by the database."},
    Sentence{"SyncPage.changes", "Newest first."},
    Sentence{"SyncPage.cursor", "Give it back to go on, whether more is true or false."},
    Sentence{"SyncPage.mode", "\"reset\" and \"rollback\": drop what the pass does not name."},
    Sentence{"SyncPage.more", "There is more to fetch now."},
    Sentence{"SyncPage.page_token", "With bodies=all: give it back while more is true."},
    Sentence{"User.level", "free, paid or vip; empty: the token's."},
    Sentence{"UserRequest.level", "free, paid or vip; empty: the token's."},
};

}  // namespace

std::span<const Sentence> schema_sentences() {
  return kSentences;
}

std::string_view sentence_for(std::string_view name) {
  for (const auto& [key, sentence] : kSentences)
    if (key == name) return sentence;
  return {};
}

}  // namespace tidemark
