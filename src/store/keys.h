// Every key there is in the warm store, as a grammar. Keys compare as unsigned bytes; the tables are those of
// store/warm.h. No two different things can have the same key: names are length-prefixed, numbers have a fixed width.
//
//   user          := u8(length) bytes                       1 to 64 bytes; 0xfe alone is nobody
//   conversation  := 0x01 user user                          single chat, the smaller user first
//                  | 0x02 be64(number)                       group; 0xfe alone is none
//   seq, mark     := be64
//
//   meta          "epoch"                 -> epoch record (number, id)
//                 "lineage"             -> the epochs before it, ascending
//                 "round"                 -> varint, the last commit round
//                 "group"                 -> varint, the last group number given
//                 "age"                   -> how long the store has been in use (engine/store_age.cc)
//   entries       conversation seq        -> entry or row (row_codec.h), the present state of what was appended there
//   touches       conversation seq        -> varint, the seq of the row that the entry at `seq` changed last: a row
//                                            changed again has its older touch erased
//                 0x03 conversation seq user -> count { string }, how the user reacts to the message
//   conversations conversation            -> what the conversation is
//                 conversation seq        -> user: who left by the entry at `seq`
//                 conversation 0xff be64(join) user -> u8(role): a present member of a large group
//   users         user                    -> head of the index, and the block of its most recently changed rows
//   objects       user 'r' conversation   -> index row, as of its last leaving of the block
//                 user 'h' be64(~mark)    -> conversation: rows outside the block by head_mark, the newest first
//                 user 's' be64(~mark)    -> conversation: the same by state_mark
//                 user 'l' conversation   -> nothing: a group that is large to the user
//                 user 'o' name           -> object that is no conversation (core/user_object.h names them)
//                 user 'n' be64(~mark)    name -> nothing: the same, the newest first
//                 0x00 be32(hour) user name -> varint(mark): what was taken away in that hour, an object or a
//                                              conversation (core/view.h, Tombstone)
//   dedup         be32(hour) digest       -> dedup record; an hour is dropped as a whole
//   devices       user 'd' device         -> device
//                 user 'm' device install -> mutations of an install
//                 0x00 digest             -> whose the push token of this digest is
//   events        0x06 be64(at) conversation seq -> the conversation's id: a file of that message expires then
//                 what hooks are yet to be told of (store/event_codec.h)
//   device        := u8(length) bytes     install := u8(length) bytes
//
// Why marks are inverted: indexes are read from the newest down, and going forward is cheap where going back is a
// search for each step.
//
// Why the block: a message changes the index of everybody in its conversation. One put of a user's small block for a
// commit round replaces a row, two order keys and two tombstones for every change; a row is written to `objects`
// only when eight others have changed since.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "core/view.h"
#include "store/warm.h"

namespace tidemark::keys {

std::string user(const UserId& user);
std::string conversation(const ConversationId& id);
std::string entry(const ConversationId& id, Seq seq);
/// The same for who has conversation() at hand.
std::string entry(std::string_view conversation, Seq seq);
/// Whether it is the key of a canonical id.
bool names_conversation(std::string_view conversation);
std::string touch(const ConversationId& id, Seq seq);
std::string reactions(const ConversationId& id, Seq seq);  // prefix of those of all users to a message
std::string reaction(const ConversationId& id, Seq seq, const UserId& user);
/// The user in such a key.
UserId user_of_reaction(const ConversationId& id, Seq seq, std::string_view key);
std::string leave(const ConversationId& id, Seq seq);
std::string leaves_end(const ConversationId& id);  // behind all of them
std::string member(const ConversationId& id, const Member& member);
std::string members(const ConversationId& id);  // prefix of all of them
/// All of such a member but the role.
Member member_in(const ConversationId& id, std::string_view key);
std::string row(const UserId& user, const ConversationId& id);
std::string large_group(const UserId& user, const ConversationId& id);
std::string large_groups(const UserId& user);  // prefix of all of them
/// The conversation in such a key.
ConversationId large_group_in(const UserId& user, std::string_view key);
enum class Order : char { head = 'h', state = 's' };
std::string by_mark(const UserId& user, Order order, Mark mark);
/// The mark in such a key.
Mark mark_in(std::string_view key);
std::string object(const UserId& user, std::string_view name);
/// Behind all objects whose order keys have a mark above this one, before all others.
std::string object_by_mark(const UserId& user, Mark mark, std::string_view name);
/// The name in such a key.
std::string object_name_in(const UserId& user, std::string_view key);
std::string tombstone(const Tombstone& tombstone);
std::string tombstone_hour(std::uint32_t hour);
/// All of such a key but its mark.
Tombstone tombstone_in(std::string_view key);
std::string file_expiry(const FileExpiry& expiry);
std::string file_expiries();  // prefix of all of them
/// The expiry in such a key.
FileExpiry file_expiry_in(std::string_view key, ConversationId conversation);
std::string dedup(const DedupKey& key);
std::string dedup_hour(std::uint32_t hour);
std::string device(const UserId& user, const DeviceId& device);
std::string devices(const UserId& user);  // prefix of all of them
std::string push_token(std::string_view token);
std::string mutations(const UserId& user, const DeviceId& device, const InstallId& install);
std::string installs(const UserId& user, const DeviceId& device);  // prefix of all installs of a device
/// How many of a key's first bytes say whose it is, a user's or a conversation's: keys of one owner lie together. More
/// than it has when it is cut off or begins as none here does.
std::size_t owner_bytes(Table table, std::string_view key);
/// The first key after all that begin with `prefix`.
std::string after_prefix(std::string prefix);

inline constexpr std::string_view kEpoch = "epoch";
inline constexpr std::string_view kLineage = "lineage";
inline constexpr std::string_view kRound = "round";
inline constexpr std::string_view kGroup = "group";
inline constexpr std::string_view kAge = "age";

}  // namespace tidemark::keys
