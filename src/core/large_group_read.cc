// What devices ask of large groups: where their logs stand, and who is in them.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core/conversation_id.h"
#include "core/large_group.h"
#include "core/read_parts.h"
#include "core/reads.h"

namespace tidemark {
namespace {

Result<std::uint64_t> group_number(const ConversationId& id, std::string_view field, std::uint64_t standard) {
  if (id.empty()) return standard;
  TM_ASSIGN(const ParsedConversation parsed, parse_conversation(id, field));
  if (parsed.kind == ConversationKind::group) return parsed.group;
  return fail(ErrorCode::MALFORMED, std::string(field), "The id of a group.");
}

const KnownHead* find(const std::vector<KnownHead>& known, const ConversationId& id) {
  const auto found = std::ranges::find(known, id, &KnownHead::conversation);
  return found == known.end() ? nullptr : &*found;
}

/// The user's large groups that differ from what the device knows of them.
void add_large(View& view, const CoreParams& params, const HeadsQuery& query, std::uint64_t through, HeadsPage& page) {
  view.large_groups(query.user, query.after, [&](const ConversationId& id) {
    if (parse_conversation(id)->group > through) return false;
    if (page.changes.size() == params.heads_max) {
      page.next_after = page.changes.back().conversation;
      return false;
    }
    const UserConversation* row = view.user_conversation(query.user, id);
    if (row == nullptr || !row->large || row->removed) return true;
    const KnownHead* known = find(query.known, id);
    if (known == nullptr || known->seq != head_of(*row))
      page.changes.push_back(change_of(view, params, query.user, *row));
    return true;
  });
}

bool counts_for_digest(const UserConversation& row) {
  return row.large && !row.removed;
}

Result<HeadsPage> heads_page(View& view, const CoreParams& params, const HeadsQuery& query) {
  if (query.known.size() > params.heads_max)
    return fail(ErrorCode::LIMIT_REACHED, "heads", "At most " + std::to_string(params.heads_max) + ".");
  for (const KnownHead& each : query.known) TM_TRY(parse_conversation(each.conversation, "heads"));
  TM_TRY(group_number(query.after, "after", 0));
  TM_ASSIGN(const std::uint64_t through,
            group_number(query.through, "through", std::numeric_limits<std::uint64_t>::max()));
  HeadsPage page;
  page.digest = large_digest(view, query.user);
  if (!query.only && view.user(query.user).large_groups > 0) add_large(view, params, query, through, page);
  for (const KnownHead& each : query.known) {
    const UserConversation* row = view.user_conversation(query.user, each.conversation);
    if (row != nullptr && (query.only || !counts_for_digest(*row)))
      page.changes.push_back(change_of(view, params, query.user, *row));
  }
  return page;
}

MembersPage members_page(View& view, const Conversation& group, std::uint32_t limit, const Member& after) {
  MembersPage page;
  const auto take = [&](const Member& member) {
    if (page.members.size() == limit) {
      page.next_after = page.members.back();
      return false;
    }
    page.members.push_back(member);
    return true;
  };
  if (group.large) {
    view.members(group.id, after, take);
    return page;
  }
  const auto behind = [&](const Member& member) {
    return std::tie(member.join, member.user) > std::tie(after.join, after.user);
  };
  std::vector<Member> members = group.members;
  std::ranges::sort(members, {}, [](const Member& member) { return std::tie(member.join, member.user); });
  for (const Member& member : members)
    if (behind(member) && !take(member)) break;
  return page;
}

}  // namespace

Result<HeadsPage> read_heads(View& view, const CoreParams& params, const HeadsQuery& query) {
  return unless_failed(view, heads_page(view, params, query));
}

Result<MembersPage> read_members(View& view, const CoreParams& params, const UserId& user,
                                 const ConversationId& conversation, std::uint32_t limit, const Member& after) {
  TM_ASSIGN(const Conversation group, read_group(view, user, conversation));
  TM_ASSIGN(const std::uint32_t most, limit_of(limit, params.page_default, params.page_max));
  return unless_failed(view, Result<MembersPage>(members_page(view, group, most, after)));
}

Result<MembersPage> read_any_members(View& view, const CoreParams& params, const ConversationId& conversation,
                                     std::uint32_t limit, const Member& after) {
  TM_ASSIGN(const Conversation group, read_any_group(view, conversation));
  TM_ASSIGN(const std::uint32_t most, limit_of(limit, params.page_default, params.page_max));
  return unless_failed(view, Result<MembersPage>(members_page(view, group, most, after)));
}

}  // namespace tidemark
