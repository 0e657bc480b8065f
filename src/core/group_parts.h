// What the decisions about groups are made of.
#pragma once

#include <vector>

#include "core/commands.h"
#include "core/decide.h"
#include "core/draft.h"

namespace tidemark {

/// Who acts in which group.
struct GroupAct {
  const ConversationId& id;
  const UserId& by;
  const DeviceId& device;
};

template <typename Command>
GroupAct act_of(const Command& command) {
  return {command.conversation, command.user, command.device};
}

/// The group for one of its present members. CONVERSATION_NOT_FOUND for everybody else as if it were not there, or
/// NOT_MEMBER, or CONVERSATION_CLOSED.
Result<const Conversation*> own_group(View& view, const UserId& user, const ConversationId& id);
/// The group for an operator. CONVERSATION_NOT_FOUND, CONVERSATION_CLOSED.
Result<const Conversation*> any_group(View& view, const ConversationId& id);

/// A present member by his id; nothing: he is none.
std::optional<Member> member_of(View& view, const Conversation& conversation, const UserId& user);

/// The users each once, in their order; checked, and known where users are registered.
Result<std::vector<UserId>> checked_users(View& view, const std::vector<UserId>& users, std::string_view field,
                                          const CoreParams& params);
Result<void> check_named(std::size_t users, std::string_view field, const CoreParams& params);
Result<void> check_size(std::size_t members, std::string_view field, const CoreParams& params);
Result<void> check_title(const std::string& title, const CoreParams& params);
Result<void> check_newcomers(HistoryForNewcomers newcomers, std::uint32_t last, const CoreParams& params);

/// Now, by the group's own time, which a clock set back leaves where it is.
std::int64_t group_time(Draft& draft, const ConversationId& id);

std::shared_ptr<const Entry> append_member(Draft& draft, const GroupAct& act, MemberChange change);
std::shared_ptr<const Entry> append_config(Draft& draft, const GroupAct& act, ConfigChange change);

/// An entry that everybody in the group receives, and those concerned besides, with the whole of their own state. In a
/// large group it touches the index of those alone.
Notice tell_all(Draft& draft, const Conversation& group, const std::shared_ptr<const Entry>& entry,
                const std::vector<UserId>& concerned = {});

/// Appends the joining entry, opens the periods and tells everybody in period, the newcomers with their summary. The
/// first of them gets the role `first`.
Notice join(Draft& draft, const GroupAct& act, const std::vector<UserId>& users, Role first = Role::member);
/// Closes the period of a member by an entry that he still receives. Somebody else becomes owner if he was it.
void take_out(Draft& draft, const GroupAct& act, const UserId& user, std::vector<Notice>& notices);
/// Gives a member another role, by an entry.
Notice give_role(Draft& draft, const GroupAct& act, Member member, Role role);
/// A group that has grown, or shrunk, beyond what its mode is for changes it, by an entry that touches everybody once.
void follow_size(Draft& draft, const GroupAct& act, std::vector<Notice>& notices);
/// When there is no owner, the eldest admin, or else the eldest member, takes the group over.
void pass_on(Draft& draft, const ConversationId& id, std::vector<Notice>& notices);

Decision finish_group(Draft&& draft, const ConversationId& id, std::vector<Notice> notices);

}  // namespace tidemark
