// The rows of the table events: what the application is yet to be told of, and what was given up.
//
//   0x01 place      -> event: waits to be told
//   0x02 place      -> dead event
//   0x04 place      -> a message of which its receivers may have to be notified, while that may be; the place its own
//   0x05 user       -> what the user was notified of
//   0x06 …          -> when files expire (store/keys.h)
//   0x03            -> what was not kept because too much waited: varint(how many) svarint(since when)
//   place := be64(round) be32(index), where it waited or still does
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "core/event.h"

namespace tidemark {
namespace keys {

std::string waiting_event(EventPlace place);
std::string dead_event(EventPlace place);
/// The place in either key.
EventPlace place_in(std::string_view key);
std::string lost_events();
std::string notifying_message(EventPlace place);
std::string notified_user(const UserId& user);
/// The user in such a key, and what is above all of them.
UserId user_in_notified(std::string_view key);
std::string after_notified_users();

}  // namespace keys

std::string encode(const WaitingEvent& waiting);
std::string encode(const DeadEvent& dead);
Result<WaitingEvent> decode_waiting_event(std::string_view bytes, EventPlace place);
Result<DeadEvent> decode_dead_event(std::string_view bytes, EventPlace place);

/// A message that may notify, for a while.
struct NotifyingMessage {
  std::int64_t at = 0;
  ConversationId conversation;
  Seq seq;
  bool operator==(const NotifyingMessage&) const = default;
};
std::string encode(const NotifyingMessage& message);
Result<NotifyingMessage> decode_notifying_message(std::string_view bytes);

/// Up to which mark a user was notified, and what he is shown since: of each conversation one message.
struct NotifiedUser {
  Mark mark;
  std::vector<std::pair<ConversationId, Seq>> shown;
  bool operator==(const NotifiedUser&) const = default;
};
std::string encode(const NotifiedUser& notified);
Result<NotifiedUser> decode_notified_user(std::string_view bytes);

/// How many events were not kept, since when.
struct LostEvents {
  std::uint64_t count = 0;
  std::int64_t since = 0;
  bool operator==(const LostEvents&) const = default;
};
std::string encode(const LostEvents& lost);
Result<LostEvents> decode_lost_events(std::string_view bytes);

}  // namespace tidemark
