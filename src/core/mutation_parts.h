// The changes that go under a number of their install; decide_mutate picks one and keeps its answer.
#pragma once

#include <vector>

#include "core/commands.h"
#include "core/draft.h"

namespace tidemark {

struct Changed {
  MutatedReply reply;
  std::vector<Notice> notices;
};

Result<Changed> decide_recall(Draft& draft, const RecallCommand& command);
Result<Changed> decide_edit(Draft& draft, const EditCommand& command);

/// How the conversation stands for the user after what was drafted; an operator need not be in it.
MutatedReply reply_of(Draft& draft, const UserId& user, const ConversationId& id);

}  // namespace tidemark
