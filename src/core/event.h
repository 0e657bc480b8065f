// What the application is told of by its hooks: references to what happened, never what was said (design, section 1.5).
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "core/commands.h"

namespace tidemark {

/// Numbers as in the schema's HookKind.
enum class EventKind : std::uint8_t {
  message_sent = 1,
  message_edited,
  message_recalled,
  message_deleted,
  message_reacted,
  members_changed,
  group_changed,
  group_dissolved,
  device_logged_in,
  device_logged_out,
  device_removed,
  device_kicked,
  events_lost,
  attachments_expired,
};

struct Event {
  EventKind kind = EventKind::message_sent;
  std::int64_t at = 0;
  ConversationId conversation = {};  // of entries
  Seq seq = {};
  UserId user = {};  // of devices
  DeviceId device = {};
  std::uint64_t generation = 0;
  std::uint64_t lost = 0;  // events_lost: how many
  bool operator==(const Event&) const = default;
};

/// Where an event waits to be told: events are told in this order, as far as they need an order.
struct EventPlace {
  std::uint64_t round = 0;
  std::uint32_t index = 0;
  auto operator<=>(const EventPlace&) const = default;
};

/// The first place behind this one.
EventPlace behind(EventPlace place);

/// What an event is called for ever, in every try: the place that it had first, and in which epoch of the store.
struct EventName {
  std::uint32_t epoch = 1;
  EventPlace first;
  bool operator==(const EventName&) const = default;
};

/// "1-57-0".
std::string text_of(const EventName& name);
/// Nothing: no such name is ever given.
std::optional<EventName> event_named(std::string_view text);

struct WaitingEvent {
  EventPlace place;
  EventName name;
  Event event;
  bool operator==(const WaitingEvent&) const = default;
};

/// An event that was given up.
struct DeadEvent {
  WaitingEvent waiting;
  std::uint32_t tries = 0;
  std::string last_error;
  std::int64_t died_at = 0;
  bool operator==(const DeadEvent&) const = default;
};

/// Events of one lane are told one after the other: those of a conversation, and those of a user's devices.
std::string lane_of(const Event& event);

/// Which events are wanted.
struct EventChoice {
  bool messages = true;  // sent
  bool changes = true;   // edited, recalled, deleted, reacted
  bool groups = true;    // members, title and policy, dissolved
  bool devices = true;
  bool attachments = true;  // that have expired
  bool operator==(const EventChoice&) const = default;
};

/// What there is to tell of a decision. `view` is as it was before.
std::vector<Event> events_of(View& view, const Command& command, const Decision& decision, const EventChoice& choice,
                             std::int64_t now_ms);

}  // namespace tidemark
