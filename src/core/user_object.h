// What a user's index holds beside his conversations (design, section 2): what he deleted for himself, drafts, settings
// and whom he blocked. Each has a name of its own and the mark of its last change; one that is gone stays as an empty
// object, so that devices learn of it, until tombstones are dropped.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/seq_bits.h"
#include "core/types.h"

namespace tidemark {

/// Messages of one block of a conversation that the user deleted for himself.
struct DeletedBlock {
  ConversationId conversation;
  std::uint64_t block = 0;
  SeqBits deleted;
  SeqBits others;  // those of them that others sent: unread numbers are made without reading them. Never told
  bool operator==(const DeletedBlock&) const = default;
};

/// What the user began to write. An empty body: nothing.
struct SavedDraft {
  ConversationId conversation;
  Body body = {};
  Seq reply_to = {};
  std::int64_t saved_at = 0;  // server time
  bool operator==(const SavedDraft&) const = default;
};

struct Setting {
  std::string name;
  std::string value = {};  // a JSON text, byte for byte; empty: not set
  bool operator==(const Setting&) const = default;
};

/// The setting that tells devices the user's level; only the admin API sets it.
inline constexpr std::string_view kLevelSetting = "level";

/// Whether others are told how far the user has read and what has reached him, and he is told it of them: "false" ends
/// both.
inline constexpr std::string_view kReceiptsSetting = "receipts";

/// Somebody who may not write to the user.
struct BlockedUser {
  UserId user;
  bool blocked = false;
  bool operator==(const BlockedUser&) const = default;
};

/// A device of the user has logged in or out, or has another name: whoever shows the list asks for it again.
struct DevicesChanged {
  std::int64_t changed_at = 0;  // server time
  bool operator==(const DevicesChanged&) const = default;
};

struct UserObject {
  std::variant<DeletedBlock, SavedDraft, Setting, BlockedUser, DevicesChanged> what;
  Mark mark = {};
  bool empty() const;
  bool operator==(const UserObject&) const = default;
};

/// A key that names the object among all of its user's; the blocks of a conversation follow each other.
std::string name_of(const UserObject& object);
std::string name_of_deleted(const ConversationId& conversation, std::uint64_t block);
std::string name_of_draft(const ConversationId& conversation);
std::string name_of_setting(std::string_view name);
std::string name_of_blocked(const UserId& user);

}  // namespace tidemark
