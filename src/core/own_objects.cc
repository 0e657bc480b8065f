// What a user keeps in his index beside conversations: drafts, settings, whom he blocked (design, sections 2 and 7: the
// later commit wins on all devices alike); and how what was taken away is forgotten.
#include <algorithm>

#include "core/body.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/mutation_parts.h"
#include "core/read_parts.h"
#include "core/registered.h"

namespace tidemark {
namespace {

/// The number of the user's objects whose names begin with this letter, those that are gone left out.
std::size_t count_of(Draft& draft, const UserId& user, char letter) {
  std::size_t count = 0;
  draft.objects(user, std::string(1, letter), std::string(1, static_cast<char>(letter + 1)),
                [&](const UserObject& object) {
                  count += object.empty() ? 0 : 1;
                  return true;
                });
  return count;
}

Changed changed_by(Draft& draft, const UserId& user, bool differs) {
  Changed changed;
  if (differs) changed.notices.push_back(draft.tell_objects(user));
  changed.reply.mark = draft.user(user).mark;
  return changed;
}

Result<void> check_setting(const SettingCommand& command, const CoreParams& params) {
  if (command.name.empty() || command.name.size() > params.setting_name_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "name",
                "1 to " + std::to_string(params.setting_name_bytes_max) + " bytes of a-z, 0-9, '.', '_' and '-'.");
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  if (!std::ranges::all_of(command.name, allowed))
    return fail(ErrorCode::MALFORMED, "name", "Only a-z, 0-9, '.', '_' and '-'.");
  if (command.name == kLevelSetting) return fail(ErrorCode::FORBIDDEN, "name", "Levels are set by the admin API.");
  if (command.value.size() > params.setting_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "value", "At most " + std::to_string(params.setting_bytes_max) + " bytes.");
  return {};
}

}  // namespace

Result<Changed> decide_draft(Draft& draft, const DraftCommand& command) {
  const bool empty = command.body == Body();
  if (!empty) TM_TRY(check_body(command.body, draft.context().params));
  TM_ASSIGN([[maybe_unused]] const auto* row, index_row(draft, command.user, command.conversation));
  UserObject& object = draft.edit_object(command.user, {SavedDraft{command.conversation}, Mark()});
  auto& saved = std::get<SavedDraft>(object.what);
  const bool differs = saved.body != command.body || saved.reply_to != command.reply_to;
  saved.body = command.body;
  saved.reply_to = empty ? Seq() : command.reply_to;
  if (differs) saved.saved_at = draft.context().now_ms;
  Changed changed = changed_by(draft, command.user, differs);
  changed.reply.conversation = command.conversation;
  return changed;
}

Result<Changed> decide_setting(Draft& draft, const SettingCommand& command) {
  const CoreParams& params = draft.context().params;
  TM_TRY(check_setting(command, params));
  UserObject& object = draft.edit_object(command.user, {Setting{command.name}, Mark()});
  auto& setting = std::get<Setting>(object.what);
  const bool differs = setting.value != command.value;
  const bool fresh = setting.value.empty();
  setting.value = command.value;
  if (fresh && differs && count_of(draft, command.user, 's') > params.settings_max)
    return fail(ErrorCode::LIMIT_REACHED, "name", "At most " + std::to_string(params.settings_max) + " settings.");
  return changed_by(draft, command.user, differs);
}

Result<Changed> decide_block(Draft& draft, const BlockCommand& command) {
  const CoreParams& params = draft.context().params;
  TM_TRY(check_addressee(command.other, "user"));
  TM_TRY(check_registered(draft, params, command.other, "user"));
  if (command.other == command.user) return fail(ErrorCode::MALFORMED, "user", "Nobody can block himself.");
  UserObject& object = draft.edit_object(command.user, {BlockedUser{command.other}, Mark()});
  auto& entry = std::get<BlockedUser>(object.what);
  const bool differs = entry.blocked != command.blocked;
  entry.blocked = command.blocked;
  if (differs) {
    std::uint32_t& blocked = draft.edit_user(command.user).blocked;
    if (command.blocked && blocked >= params.blocked_max)
      return fail(ErrorCode::LIMIT_REACHED, "user", "At most " + std::to_string(params.blocked_max) + " users.");
    blocked += command.blocked ? 1 : -1;
  }
  return changed_by(draft, command.user, differs);
}

bool blocks(View& view, const UserId& user, const UserId& other) {
  if (view.user(user).blocked == 0) return false;
  const auto object = view.object(user, name_of_blocked(other));
  return object && !object->empty();
}

Result<Decision> decide_drop_tombstones(View& view, const DropTombstonesCommand& command, const Context& context) {
  constexpr std::size_t kAtOnce = 500;
  Draft draft(view, context);
  TombstonesReply reply;
  view.tombstones(command.below_hour, [&](const Tombstone& tombstone) {
    reply.more = reply.dropped == kAtOnce;
    if (reply.more) return false;
    ++reply.dropped;
    draft.writes().dropped_tombstones.push_back(tombstone);
    // What has changed since has another mark, and a tombstone of its own if it is gone again.
    if (tombstone.name.starts_with('c')) {
      const ConversationId id(tombstone.name.substr(1));
      const UserConversation* row = draft.user_conversation(tombstone.user, id);
      if (row == nullptr || !row->removed || row->mark() != tombstone.mark) return true;
      UserConversation& forgotten = draft.edit_row(tombstone.user, id);
      forgotten.head_mark = forgotten.state_mark = Mark();
    } else {
      const auto object = draft.object(tombstone.user, tombstone.name);
      if (!object || !object->empty() || object->mark != tombstone.mark) return true;
      draft.writes().dropped_objects.emplace_back(tombstone.user, tombstone.name);
    }
    Mark& dropped_to = draft.edit_user(tombstone.user).tombstones_dropped_to;
    dropped_to = std::max(dropped_to, tombstone.mark);
    return true;
  });
  return std::move(draft).finish(reply, {});
}

Result<Decision> decide_expire_files(View& view, const Context& context) {
  constexpr std::size_t kAtOnce = 50;
  Draft draft(view, context);
  FilesExpiredReply reply;
  std::vector<FileExpiry>& passed = draft.writes().dropped_file_expiries;
  view.file_expiries([&](const FileExpiry& each) {
    const bool due = each.at <= context.now_ms && passed.size() < kAtOnce;
    if (!due) reply.next_at = each.at;
    if (due) passed.push_back(each);
    return due;
  });
  for (const FileExpiry& each : passed) {
    // It may have been taken back, or edited into something without that file.
    const auto message = draft.entry(each.conversation, each.seq);
    if (message && has_expiry(message->body, each.at)) reply.expired.push_back(each);
  }
  return std::move(draft).finish(std::move(reply), {});
}

}  // namespace tidemark
