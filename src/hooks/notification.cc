#include "hooks/notification.h"

#include <algorithm>

#include "core/conversation_id.h"
#include "core/preview.h"
#include "core/totals.h"
#include "core/unread.h"
#include "core/visibility.h"
#include "tidemark.pb.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr std::size_t kEntriesLookedAt = 100;  // of a conversation, for the newest message to show
constexpr std::size_t kShownMax = 100;
constexpr Mark kNoEnd{~std::uint64_t{0}};

bool names(const Entry& entry, const UserId& user) {
  return std::ranges::find(entry.mentions, user) != entry.mentions.end();
}

/// In a large group everybody is too many to be notified.
bool mentions(const Entry& entry, const UserConversation& row, const UserId& user) {
  return names(entry, user) || (entry.mention_all && !row.large);
}

class Looking {
 public:
  Looking(View& view, const CoreParams& params, const NotificationOptions& options, const UserId& user,
          std::int64_t now_ms)
      : view_(view), params_(params), options_(options), user_(user), now_ms_(now_ms) {}

  NotificationLook run(const NotifiedUser& before, Mark acknowledged, Mark up_to) {
    NotificationLook look;
    look.after.mark = before.mark;
    Notification told;
    told.user = user_;
    if (up_to) {
      const Mark after = std::max(acknowledged, before.mark);
      const auto add_row = [&](const UserConversation& row) {
        add(row, view_.line(row.conversation).seq, told);
        return told.conversations.size() < kShownMax;
      };
      view_.by_head_mark(user_, after, kNoEnd, Direction::down, add_row);
      // In large groups a message that mentions him moves his state alone.
      view_.by_state_mark(user_, after, kNoEnd, Direction::down,
                          [&](const UserConversation& row) { return !row.large || add_row(row); });
      look.after.mark = std::max(before.mark, view_.user(user_).mark);
    }
    keep_or_withdraw(before, told);
    std::ranges::sort(told.conversations, {}, [](const ShownConversation& each) {
      return std::pair(-each.message.server_time, each.conversation);
    });
    if (told.conversations.size() > kShownMax) told.conversations.resize(kShownMax);
    for (const ShownConversation& each : told.conversations)
      look.after.shown.emplace_back(each.conversation, each.message.seq);
    const bool news = std::ranges::any_of(told.conversations, [&](const ShownConversation& each) {
      return std::ranges::find(before.shown, std::pair(each.conversation, each.message.seq)) == before.shown.end();
    });
    if (!news && told.withdrawn.empty()) return look;
    if (told.conversations.size() > options_.conversations_max) told.conversations.resize(options_.conversations_max);
    told.badge = badge_of(view_, params_, user_, now_ms_);
    add_devices(told, look.after.mark);
    look.tell = std::move(told);
    return look;
  }

 private:
  /// The newest message up to `last` that the user may see and has not read; of a muted conversation, and of a large
  /// group, only one that mentions him.
  std::optional<Entry> newest_of(const UserConversation& row, Seq last) {
    if (!row.in_period() || row.removed) return std::nullopt;
    const bool only_mentions = row.muted_until > now_ms_ || row.large;
    const Sight sight{view_, user_, row};
    std::optional<Entry> newest;
    std::size_t looked_at = 0;
    view_.entries(row.conversation, floor_of(row), last, Direction::down, [&](const Entry& entry) {
      const bool shows = entry.countable() && !entry.dead() && !entry.imported() && entry.sender != user_ &&
                         (!only_mentions || mentions(entry, row, user_)) && visible(sight, entry.seq);
      if (shows) newest = entry;
      return !newest && ++looked_at < kEntriesLookedAt;
    });
    return newest;
  }

  void add(const UserConversation& row, Seq last, Notification& told) {
    if (std::ranges::find(told.conversations, row.conversation, &ShownConversation::conversation) !=
        told.conversations.end())
      return;
    auto newest = newest_of(row, last);
    const Conversation* conversation = view_.conversation(row.conversation);
    if (!newest || conversation == nullptr) return;
    ShownConversation shown;
    shown.conversation = row.conversation;
    shown.kind = conversation->kind;
    shown.title = conversation->title;
    const bool self = parse_conversation(row.conversation)->self();
    shown.unread = unread_of(view_, user_, row, view_.line(row.conversation), params_, self);
    shown.mentioned = mentions(*newest, row, user_);
    if (options_.text) shown.text = preview_of(*newest, params_.preview_bytes).text;
    shown.message = std::move(*newest);
    told.conversations.push_back(std::move(shown));
  }

  /// What was told before stays as far as it is still true; what is newer has its own time.
  void keep_or_withdraw(const NotifiedUser& before, Notification& told) {
    for (const auto& [id, seq] : before.shown) {
      if (std::ranges::find(told.conversations, id, &ShownConversation::conversation) != told.conversations.end())
        continue;
      const std::size_t count = told.conversations.size();
      if (const UserConversation* found = view_.user_conversation(user_, id)) {
        const UserConversation row = *found;  // looking further may take it away
        add(row, seq, told);
      }
      if (told.conversations.size() == count) told.withdrawn.push_back(id);
    }
  }

  void add_devices(Notification& told, Mark up_to) {
    for (Device& device : view_.devices(user_))
      if (device.live && !device.push_token.empty() && (device.acknowledged < up_to || !told.withdrawn.empty()))
        told.devices.push_back(std::move(device));
  }

  View& view_;
  const CoreParams& params_;
  const NotificationOptions& options_;
  const UserId& user_;
  const std::int64_t now_ms_;
};

}  // namespace

NotificationLook look_at(View& view, const CoreParams& params, const NotificationOptions& options, const UserId& user,
                         const NotifiedUser& before, Mark acknowledged, Mark up_to, std::int64_t now_ms) {
  // What a device has acknowledged before it went away counts too.
  for (const Device& device : view.devices(user)) acknowledged = std::max(acknowledged, device.acknowledged);
  return Looking(view, params, options, user, now_ms).run(before, acknowledged, up_to);
}

Unread badge_of(View& view, const CoreParams& params, const UserId& user, std::int64_t now_ms) {
  TotalsMemory memory;
  const auto totals = read_totals(view, params, user, now_ms, memory);
  if (!totals) return {};
  return {static_cast<std::uint32_t>(std::min<std::uint64_t>(totals->badge, UINT32_MAX)), totals->exact};
}

std::vector<UserId> notified_by(const Conversation& conversation, const Entry& message) {
  std::vector<UserId> users;
  if (conversation.large) users = message.mentions;
  if (!conversation.large)
    for (const Member& member : conversation.members) users.push_back(member.user);
  std::erase(users, message.sender);
  return users;
}

namespace {

void tell(const ShownConversation& shown, v1::NotifiedConversation& out) {
  out.set_conversation_id(shown.conversation.value);
  out.set_kind(shown.kind == ConversationKind::group ? v1::CONVERSATION_KIND_GROUP : v1::CONVERSATION_KIND_SINGLE);
  out.set_title(shown.title);
  out.set_message_id(message_id(shown.conversation, shown.message.seq));
  out.set_sender(shown.message.sender.value);
  out.set_server_time(shown.message.server_time);
  out.set_priority(static_cast<v1::Priority>(shown.message.priority));
  out.set_unread(shown.unread.count);
  out.set_unread_exact(shown.unread.exact);
  out.set_mentioned(shown.mentioned);
  out.set_text(shown.text);
}

/// Of what it shows and takes away: the same again after a crash.
std::string id_of(const Notification& notification) {
  std::string content = notification.user.value;
  for (const ShownConversation& each : notification.conversations)
    content += ' ' + message_id(each.conversation, each.message.seq);
  for (const ConversationId& each : notification.withdrawn) content += " -" + each.value;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id = "n-";
  for (const std::uint8_t byte : digest_of({content})) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

}  // namespace

std::string notification_json(const Notification& notification, std::uint32_t attempt) {
  v1::HookNotification told;
  told.set_id(id_of(notification));
  told.set_user(notification.user.value);
  told.set_attempt(attempt);
  told.set_badge(notification.badge.count);
  told.set_badge_exact(notification.badge.exact);
  for (const ShownConversation& each : notification.conversations) tell(each, *told.add_conversations());
  for (const ConversationId& each : notification.withdrawn) told.add_withdrawn(each.value);
  for (const Device& each : notification.devices) {
    v1::NotifiedDevice& device = *told.add_devices();
    device.set_device(each.id.value);
    device.set_platform(each.platform);
    device.set_push_token(each.push_token);
  }
  std::string json;
  write_json(told, json);
  return json;
}

}  // namespace tidemark
