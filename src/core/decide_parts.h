// The decisions by kind; decide() picks one.
#pragma once

#include "core/conversation_id.h"
#include "core/decide.h"
#include "core/draft.h"

namespace tidemark {

Result<Decision> decide_send(View& view, const SendCommand& command, const Context& context);
Result<Decision> decide_mutate(View& view, const MutateCommand& command, const Context& context);
Result<Decision> decide_create_group(View& view, const CreateGroupCommand& command, const Context& context);
Result<Decision> decide_add_members(View& view, const AddMembersCommand& command, const Context& context);
Result<Decision> decide_remove_member(View& view, const RemoveMemberCommand& command, const Context& context);
Result<Decision> decide_remove_members(View& view, const RemoveMembersCommand& command, const Context& context);
Result<Decision> decide_join_group(View& view, const JoinGroupCommand& command, const Context& context);
Result<Decision> decide_change_group(View& view, const ChangeGroupCommand& command, const Context& context);
Result<Decision> decide_set_role(View& view, const SetRoleCommand& command, const Context& context);
Result<Decision> decide_mute_member(View& view, const MuteMemberCommand& command, const Context& context);
Result<Decision> decide_dissolve_group(View& view, const DissolveGroupCommand& command, const Context& context);
Result<Decision> decide_login(View& view, const LoginCommand& command, const Context& context);
Result<Decision> decide_change_device(View& view, const ChangeDeviceCommand& command, const Context& context);
Result<Decision> decide_end_sessions(View& view, const EndSessionsCommand& command, const Context& context);
Result<Decision> decide_device_seen(View& view, const DeviceSeenCommand& command, const Context& context);
Result<Decision> decide_set_user(View& view, const SetUserCommand& command, const Context& context);
Result<Decision> decide_delete_user(View& view, const DeleteUserCommand& command, const Context& context);
Result<Decision> decide_delete_message(View& view, const DeleteMessageCommand& command, const Context& context);

Result<Decision> decide_import(View& view, const ImportCommand& command, const Context& context);
Result<Decision> decide_drop_tombstones(View& view, const DropTombstonesCommand& command, const Context& context);
Result<Decision> decide_expire_files(View& view, const Context& context);

/// The single conversation, made for its first message.
Conversation& make_single(Draft& draft, const ConversationId& id, const ParsedConversation& parsed);
/// What was decided under the session's idempotency key before, as it stands now; nothing: it is new.
Result<std::optional<Decision>> decided_before(View& view, const Command& command, const Context& context,
                                               const Session& by);
/// Remembers the decision under the session's idempotency key, in its own commit.
void remember_decided(Decision& decision, const Context& context, const Session& by);

/// Whether `other` may not write to `user`.
bool blocks(View& view, const UserId& user, const UserId& other);

/// What is remembered of an install's changes. After a restore their numbers go on behind a jump, since those that were
/// lost may have been used.
Mutations mutations_of(View& view, const UserId& user, const DeviceId& device, const InstallId& install);

}  // namespace tidemark
