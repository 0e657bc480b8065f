// Recalls and edits of this user's own messages, and his reactions to all, as he makes them here. They are not shown
// before the log has them: the server may have been faster to refuse. What it did comes back as an entry of the log,
// like anybody's.
#pragma once

#include "core/replica/mutations.h"

namespace tidemark::replica {

class Changes {
 public:
  Changes(Workspace& workspace, Mutations& mutations) : ws_(workspace), mutations_(mutations) {}

  /// CONVERSATION_NOT_FOUND when the device does not hold it, FORBIDDEN for a message of somebody else,
  /// MESSAGE_NOT_FOUND for what is no message, MESSAGE_DELETED for a dead one, LIMIT_REACHED when too many changes
  /// wait. A message that the device does not hold is the server's to judge.
  Result<void> recall(const ConversationId& id, Seq seq);
  /// The same, and TOO_LARGE.
  Result<void> edit(const ConversationId& id, Seq seq, const Body& body, std::optional<Seq> base_revision);

  /// To anybody's message: the user reacts so, or no longer does. The same as recall otherwise; OUT_OF_RANGE for what
  /// is no name of a reaction.
  Result<void> react(const ConversationId& id, Seq seq, const std::string& reaction, bool on);

  void on_done(const MutationItem& item);
  void on_refused(const MutationItem& item, const Error& error);

 private:
  enum class Whose : std::uint8_t { own, anybody };
  Result<void> check(const ConversationId& id, Seq seq, Whose whose);
  void add(MutationItem item);

  Workspace& ws_;
  Mutations& mutations_;
};

}  // namespace tidemark::replica
