// Conversation ids: `min_max` for a single chat, `group_5001` for a group (design, section 2).
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "core/types.h"

namespace tidemark {

/// A user id of 1 to 64 bytes of valid UTF-8 without control characters (C0, DEL, C1), not `group`.
/// MALFORMED with `field` otherwise.
Result<void> check_user_id(const UserId& user, std::string_view field);
/// A user id to write to. MALFORMED also for one that looks like a group's id: whoever writes that means the group. A
/// user who is really called so is written to by the conversation's id.
Result<void> check_addressee(const UserId& user, std::string_view field);

/// Order of user ids: decimal numbers without leading zero first, by length, then bytes; the rest bytewise.
bool user_before(const UserId& a, const UserId& b);

/// The single conversation of two users (or of one with himself): both escaped, the smaller first.
ConversationId single_conversation(const UserId& a, const UserId& b);
ConversationId group_conversation(std::uint64_t number);

struct ParsedConversation {
  ConversationKind kind = ConversationKind::single;
  UserId a;  // single: the smaller
  UserId b;
  std::uint64_t group = 0;

  bool self() const { return kind == ConversationKind::single && a == b; }
  bool has(const UserId& user) const { return kind == ConversationKind::single && (a == user || b == user); }
  const UserId& peer_of(const UserId& user) const { return a == user ? b : a; }
};

/// single_conversation(a, b), taken apart.
ParsedConversation parsed_single(const UserId& a, const UserId& b);

/// Takes an id apart. MALFORMED for what is no id, NON_CANONICAL_ID with the right one in the detail for `b_a`, for
/// `group_01` and for escapes that are not needed or not upper-case.
Result<ParsedConversation> parse_conversation(const ConversationId& id, std::string_view field = "conversation_id");

/// `1001_2002:57`, split at the last colon.
std::string message_id(const ConversationId& conversation, Seq seq);
struct MessageName {
  ConversationId conversation;
  Seq seq;
};
Result<MessageName> parse_message_id(std::string_view text, std::string_view field = "message_id");

}  // namespace tidemark
