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
Result<Changed> decide_react(Draft& draft, const ReactCommand& command);

Result<Changed> decide_clear(Draft& draft, const ClearCommand& command);
Result<Changed> decide_remove(Draft& draft, const RemoveCommand& command);
Result<Changed> decide_delete_for_me(Draft& draft, const DeleteForMeCommand& command);
Result<Changed> decide_mute(Draft& draft, const MuteCommand& command);
Result<Changed> decide_pin(Draft& draft, const PinCommand& command);
Result<Changed> decide_draft(Draft& draft, const DraftCommand& command);
Result<Changed> decide_setting(Draft& draft, const SettingCommand& command);
Result<Changed> decide_block(Draft& draft, const BlockCommand& command);

/// Tells all devices of the user what his row is now; returns its mark.
Mark tell_state(Draft& draft, const UserId& user, const ConversationId& id, std::vector<Notice>& notices);

/// The name of a removed conversation among tombstones.
std::string tombstone_of(const ConversationId& conversation);

/// How the conversation stands for the user after what was drafted; an operator need not be in it.
MutatedReply reply_of(Draft& draft, const UserId& user, const ConversationId& id);

}  // namespace tidemark
