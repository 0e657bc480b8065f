// Who is meant by a message: mentions of single users and of everybody (design, section 3). A row keeps which messages
// mentioned its user; whether they still count is derived when it is read.
#pragma once

#include "core/draft.h"
#include "core/results.h"
#include "core/visibility.h"

namespace tidemark {

struct Mentioned {
  std::uint32_t count = 0;  // unread, alive and visible
  Seq first;                // of them; 0: none
  Seq by_all;               // the newest unread message that mentions everybody; 0: none
};
Mentioned mentioned(const Sight& sight);

/// Whether the sender may mention these, or everybody.
Result<void> check_mentions(View& view, const SendCommand& command, const Conversation& conversation,
                            const CoreParams& params);

/// The message mentions the row's user.
void note_mention(UserConversation& row, Seq seq);
/// The message mentions everybody, or is dead by now and mentions nobody any more.
void note_mention_of_all(Draft& draft, const ConversationId& id, const Entry& message);

}  // namespace tidemark
