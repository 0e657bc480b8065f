// The values of the warm store. Each begins with a version byte; a version that is not known, bytes that are missing
// or left over make the value unreadable (INTERNAL), never half-read. Grammars stand at the encoders in row_codec.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/types.h"
#include "core/user_object.h"
#include "core/view.h"

namespace tidemark {

/// A row in a user's block, and where the same row stands in `objects` (marks 0: not there).
struct BlockRow {
  UserConversation row;
  Mark stored_head_mark;
  Mark stored_state_mark;
  bool operator==(const BlockRow&) const = default;
};

/// The value of table users.
struct UserRecord {
  UserHead head;
  std::vector<BlockRow> block;  // the last changed is the last
  bool operator==(const UserRecord&) const = default;
};

std::string encode(const Entry& entry);
std::string encode(const Conversation& conversation);
std::string encode(const UserRecord& user);
std::string encode(const UserConversation& row);
std::string encode(const UserObject& object);
std::string encode(const DedupRecord& record);
std::string encode(const Device& device);
std::string encode(const Mutations& mutations);
std::string encode(const PushTokenOwner& owner);
std::string encode(const std::vector<std::string>& names);
std::string encode(const Epoch& epoch);
std::string encode(const std::vector<Epoch>& lineage);

// The id that stands in the key is handed in; the value does not repeat it.
Result<Entry> decode_entry(std::string_view bytes, Seq seq);
Result<Conversation> decode_conversation(std::string_view bytes, const ConversationId& id);
Result<UserRecord> decode_user(std::string_view bytes);
Result<UserConversation> decode_row(std::string_view bytes);
Result<UserObject> decode_object(std::string_view bytes);
Result<DedupRecord> decode_dedup(std::string_view bytes);
Result<Device> decode_device(std::string_view bytes);
Result<PushTokenOwner> decode_push_token_owner(std::string_view bytes);
Result<Mutations> decode_mutations(std::string_view bytes);
Result<std::vector<std::string>> decode_names(std::string_view bytes);
Result<Epoch> decode_epoch(std::string_view bytes);
Result<std::vector<Epoch>> decode_lineage(std::string_view bytes);

}  // namespace tidemark
