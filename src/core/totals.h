// A user's totals: what is unread in all his conversations, those he muted apart, and the number on the app's icon
// (design, section 6). Derived like everything else; what is kept between two questions is a cache.
#pragma once

#include <map>

#include "core/params.h"
#include "core/results.h"
#include "core/visibility.h"

namespace tidemark {

struct Totals {
  std::uint64_t unread = 0;        // messages in conversations that are not muted
  std::uint64_t muted_unread = 0;  // in those that are, by server time
  std::uint64_t mentions = 0;      // of the user, wherever they are
  std::uint64_t badge = 0;         // unread, and the mentions in muted conversations
  std::uint64_t flagged = 0;       // conversations without unread messages that the user marked as unread
  bool exact = true;               // false: some conversation has more than is counted
  bool operator==(const Totals&) const = default;
};

/// What a conversation adds.
struct TotalsPart {
  Unread unread;
  std::uint32_t mentions = 0;
  bool flagged = false;
  std::int64_t muted_until = 0;
  bool operator==(const TotalsPart&) const = default;
};

/// The parts of a user's conversations as of `mark`, but for those that add nothing.
struct TotalsMemory {
  Epoch epoch{0, 0};
  Mark mark;
  std::map<ConversationId, TotalsPart> parts;
};

/// Messages that mention the user and are unread, as far as they are kept; those that mention everybody count as one.
std::uint32_t mentions_of(const Sight& sight);

/// The sum of the parts at `now_ms`, when some mutes may be over.
Totals sum_of(const std::map<ConversationId, TotalsPart>& parts, std::int64_t now_ms);

/// The user's totals. Brings the memory up to what the view shows: an empty one by looking at all his conversations,
/// one of before by looking at those that changed since.
Result<Totals> read_totals(View& view, const CoreParams& params, const UserId& user, std::int64_t now_ms,
                           TotalsMemory& memory);

}  // namespace tidemark
