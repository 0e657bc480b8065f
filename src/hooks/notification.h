// What a user is to be told on his devices: read from how things stand when it leaves, so that it never shows what was
// taken back, read, left or muted meanwhile. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/params.h"
#include "core/results.h"
#include "core/view.h"
#include "store/event_codec.h"

namespace tidemark {

struct NotificationOptions {
  bool text = true;                    // or only that there is something
  std::size_t conversations_max = 20;  // told at once
};

/// One conversation with something new to show.
struct ShownConversation {
  ConversationId conversation;
  ConversationKind kind = ConversationKind::single;
  std::string title;
  Entry message;  // the newest that is new to the user
  Unread unread;
  bool mentioned = false;
  std::string text;
};

struct Notification {
  UserId user;
  Unread badge;
  std::vector<ShownConversation> conversations;  // newest first
  std::vector<ConversationId> withdrawn;
  std::vector<Device> devices;  // with a push token, and not there already
};

/// What has to be told, if anything, and what was told once it is.
struct NotificationLook {
  std::optional<Notification> tell;
  NotifiedUser after;
};

/// `acknowledged` is what live devices have. Nothing new is told where `up_to` is 0. Void when the view has failed.
NotificationLook look_at(View& view, const CoreParams& params, const NotificationOptions& options, const UserId& user,
                         const NotifiedUser& before, Mark acknowledged, Mark up_to, std::int64_t now_ms);

/// The number on the app's icon (core/totals.h).
Unread badge_of(View& view, const CoreParams& params, const UserId& user, std::int64_t now_ms);

/// Whom a message may notify: its conversation's members, of a large group only whom it mentions.
std::vector<UserId> notified_by(const Conversation& conversation, const Entry& message);

/// HookNotification of the schema, and the name that is the same in every try.
std::string notification_json(const Notification& notification, std::uint32_t attempt);

}  // namespace tidemark
