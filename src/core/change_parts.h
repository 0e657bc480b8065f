// What edits, recalls and reactions have in common: the message they change, the entry that says so, and whom it is
// told.
#pragma once

#include "core/mutation_parts.h"

namespace tidemark {

/// Who changes what.
struct Changing {
  const ConversationId& id;
  const UserId& by;
  const DeviceId& device;
  EntryKind kind;
  std::optional<ReactionChange> reaction = std::nullopt;  // kind reaction
};

/// The message as this member sees it; what he may not see answers as what does not exist.
Result<Entry> target_of(Draft& draft, const UserId& user, const ConversationId& id, Seq seq, bool admin);

/// Appends the entry that makes `after` of the message, and tells everybody who may see it.
Changed change(Draft& draft, const Changing& what, const Entry& before, Entry after);

/// The answer to a change that left the message as `row`; `by`: the entry that made it, 0: it was so already.
Changed reply_with(Draft& draft, const Changing& what, const Entry& row, Seq by);

}  // namespace tidemark
