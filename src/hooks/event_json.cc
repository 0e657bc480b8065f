#include "hooks/event_json.h"

#include "core/body.h"
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

void add_entry(View& view, const Event& event, v1::HookEvent& out) {
  auto entry = view.entry(event.conversation, event.seq);
  if (!entry) return;  // it is kept no more
  const auto target = entry->target ? view.entry(event.conversation, entry->target) : std::nullopt;
  // How somebody reacted to what was taken back is told no more.
  if (target && target->dead()) entry->reaction.reset();
  to_pb(*entry, event.conversation, *out.mutable_entry());
  if (target) to_pb(*target, event.conversation, *out.mutable_message());
}

void add_device(View& view, const Event& event, v1::HookEvent& out) {
  v1::HookDevice& device = *out.mutable_device();
  device.set_user(event.user.value);
  device.set_device(event.device.value);
  device.set_session_generation(event.generation);
  const auto known = view.device(event.user, event.device);
  if (!known) return;
  device.set_platform(known->platform);
  device.set_app_version(known->app_version);
}

/// The message may have been taken back, or edited into one whose files stay, since the event was made.
bool holds_expired(View& view, const Event& event) {
  const auto message = view.entry(event.conversation, event.seq);
  return message && has_expiry(message->body, event.at);
}

}  // namespace

std::optional<std::string> event_json(View& view, const WaitingEvent& waiting, std::uint32_t attempt) {
  const Event& event = waiting.event;
  if (event.kind == EventKind::attachments_expired && !holds_expired(view, event)) return std::nullopt;
  v1::HookEvent told;
  told.set_id(text_of(waiting.name));
  told.set_kind(static_cast<v1::HookKind>(event.kind));
  told.set_at(event.at);
  told.set_attempt(attempt);
  told.set_conversation_id(event.conversation.value);
  told.set_lost(event.lost);
  if (!event.conversation.empty()) add_entry(view, event, told);
  if (!event.user.empty()) add_device(view, event, told);
  std::string json;
  write_json(told, json);
  return json;
}

}  // namespace tidemark
