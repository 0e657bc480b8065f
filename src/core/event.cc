#include "core/event.h"

#include <charconv>

namespace tidemark {
namespace {

/// Nothing: not to be told of.
std::optional<EventKind> kind_of(const Entry& entry, const EventChoice& choice) {
  const auto if_wanted = [](bool wanted, EventKind kind) { return wanted ? std::optional(kind) : std::nullopt; };
  switch (entry.kind) {
    case EntryKind::message:
      return if_wanted(choice.messages, EventKind::message_sent);
    case EntryKind::edit:
      return if_wanted(choice.changes, EventKind::message_edited);
    case EntryKind::recall:
      return if_wanted(choice.changes, EventKind::message_recalled);
    case EntryKind::deletion:
      return if_wanted(choice.changes, EventKind::message_deleted);
    case EntryKind::reaction:
      return if_wanted(choice.changes, EventKind::message_reacted);
    case EntryKind::member:
      return if_wanted(choice.groups, EventKind::members_changed);
    case EntryKind::config:
      return if_wanted(choice.groups,
                       entry.config && entry.config->dissolved ? EventKind::group_dissolved : EventKind::group_changed);
  }
  return std::nullopt;
}

/// Nothing: its own newer link has replaced it, which ends no session.
std::optional<EventKind> kind_of(SessionEnd end) {
  switch (end) {
    case SessionEnd::other_device:
      return EventKind::device_kicked;
    case SessionEnd::logged_out:
      return EventKind::device_logged_out;
    case SessionEnd::removed:
      return EventKind::device_removed;
    case SessionEnd::none:
    case SessionEnd::replaced:
      return std::nullopt;
  }
  return std::nullopt;
}

void add_login(View& view, const LoginCommand& login, const LoginReply& reply, std::int64_t now_ms,
               std::vector<Event>& events) {
  const auto known = view.device(login.user, login.device);
  if (known && known->live) return;  // its session goes on
  events.push_back({.kind = EventKind::device_logged_in,
                    .at = now_ms,
                    .user = login.user,
                    .device = login.device,
                    .generation = reply.generation});
}

template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_hyphen(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

EventPlace behind(EventPlace place) {
  if (place.index == ~std::uint32_t{0}) return {place.round + 1, 0};
  return {place.round, place.index + 1};
}

std::string text_of(const EventName& name) {
  return std::to_string(name.epoch) + '-' + std::to_string(name.first.round) + '-' + std::to_string(name.first.index);
}

std::optional<EventName> event_named(std::string_view text) {
  EventName name;
  std::string_view rest = text;
  const bool read = take_number(rest, name.epoch) && take_hyphen(rest) && take_number(rest, name.first.round) &&
                    take_hyphen(rest) && take_number(rest, name.first.index);
  if (!read || !rest.empty() || text_of(name) != text) return std::nullopt;
  return name;
}

std::string lane_of(const Event& event) {
  if (!event.conversation.empty()) return "c" + event.conversation.value;
  return event.user.empty() ? "" : "u" + event.user.value;
}

std::vector<Event> events_of(View& view, const Command& command, const Decision& decision, const EventChoice& choice,
                             std::int64_t now_ms) {
  std::vector<Event> events;
  if (std::holds_alternative<ImportCommand>(command)) return events;  // it happened elsewhere, long ago
  for (const auto& [conversation, entry] : decision.writes.entries)
    if (const auto kind = kind_of(*entry, choice))
      events.push_back({.kind = *kind, .at = entry->server_time, .conversation = conversation, .seq = entry->seq});
  if (const auto* files = std::get_if<FilesExpiredReply>(&decision.reply); files && choice.attachments)
    for (const FileExpiry& each : files->expired)
      events.push_back(
          {.kind = EventKind::attachments_expired, .at = each.at, .conversation = each.conversation, .seq = each.seq});
  if (!choice.devices) return events;
  // Whoever makes room goes before the newcomer comes.
  for (const EndedSession& ended : decision.ended)
    if (const auto kind = kind_of(ended.end))
      events.push_back(
          {.kind = *kind, .at = now_ms, .user = ended.user, .device = ended.device, .generation = ended.generation});
  const auto* login = std::get_if<LoginCommand>(&command);
  const auto* welcomed = std::get_if<LoginReply>(&decision.reply);
  if (login != nullptr && welcomed != nullptr) add_login(view, *login, *welcomed, now_ms, events);
  return events;
}

}  // namespace tidemark
