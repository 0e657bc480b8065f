#include "store/event_codec.h"

#include "base/codec.h"

namespace tidemark {
namespace keys {
namespace {

std::string placed(std::uint8_t list, EventPlace place) {
  std::string key;
  ByteWriter out(key);
  out.u8(list);
  out.be64(place.round);
  out.be32(place.index);
  return key;
}

}  // namespace

std::string waiting_event(EventPlace place) {
  return placed(1, place);
}

std::string dead_event(EventPlace place) {
  return placed(2, place);
}

EventPlace place_in(std::string_view key) {
  ByteReader in(key);
  in.u8();
  const std::uint64_t round = in.be64();
  return {round, in.be32()};
}

std::string lost_events() {
  return std::string(1, '\x03');
}

std::string notifying_message(EventPlace place) {
  return placed(4, place);
}

std::string notified_user(const UserId& user) {
  return '\x05' + user.value;
}

UserId user_in_notified(std::string_view key) {
  return UserId(std::string(key.substr(1)));
}

std::string after_notified_users() {
  return "\x06";
}

}  // namespace keys

namespace {

constexpr std::uint8_t kEventVersion = 1;

std::unexpected<Error> damaged() {
  return fail(ErrorCode::INTERNAL, "", "A stored event cannot be read.");
}

// event := u8(version) u8(kind) svarint(at) varint(epoch) varint(first round) varint(first index) string(conversation)
//          varint(seq) string(user) string(device) varint(generation) varint(lost)
void put(ByteWriter& out, const WaitingEvent& waiting) {
  const Event& event = waiting.event;
  out.u8(kEventVersion);
  out.u8(static_cast<std::uint8_t>(event.kind));
  out.svarint(event.at);
  out.varint(waiting.name.epoch);
  out.varint(waiting.name.first.round);
  out.varint(waiting.name.first.index);
  out.string(event.conversation.value);
  out.varint(event.seq.value);
  out.string(event.user.value);
  out.string(event.device.value);
  out.varint(event.generation);
  out.varint(event.lost);
}

Result<WaitingEvent> get(ByteReader& in, EventPlace place) {
  WaitingEvent waiting;
  waiting.place = place;
  Event& event = waiting.event;
  if (in.u8() != kEventVersion) return damaged();
  event.kind = static_cast<EventKind>(in.u8());
  event.at = in.svarint();
  waiting.name.epoch = static_cast<std::uint32_t>(in.varint());
  waiting.name.first.round = in.varint();
  waiting.name.first.index = static_cast<std::uint32_t>(in.varint());
  event.conversation = ConversationId(in.string());
  event.seq = Seq(in.varint());
  event.user = UserId(in.string());
  event.device = DeviceId(in.string());
  event.generation = in.varint();
  event.lost = in.varint();
  if (!in.ok() || event.kind < EventKind::message_sent || event.kind > EventKind::attachments_expired) return damaged();
  return waiting;
}

}  // namespace

std::string encode(const WaitingEvent& waiting) {
  std::string bytes;
  ByteWriter out(bytes);
  put(out, waiting);
  return bytes;
}

// dead event := event varint(tries) string(last error) svarint(died at)
std::string encode(const DeadEvent& dead) {
  std::string bytes;
  ByteWriter out(bytes);
  put(out, dead.waiting);
  out.varint(dead.tries);
  out.string(dead.last_error);
  out.svarint(dead.died_at);
  return bytes;
}

Result<WaitingEvent> decode_waiting_event(std::string_view bytes, EventPlace place) {
  ByteReader in(bytes);
  TM_ASSIGN(WaitingEvent waiting, get(in, place));
  if (!in.done()) return damaged();
  return waiting;
}

Result<DeadEvent> decode_dead_event(std::string_view bytes, EventPlace place) {
  ByteReader in(bytes);
  DeadEvent dead;
  TM_ASSIGN(dead.waiting, get(in, place));
  dead.tries = static_cast<std::uint32_t>(in.varint());
  dead.last_error = in.string();
  dead.died_at = in.svarint();
  if (!in.done()) return damaged();
  return dead;
}

std::string encode(const LostEvents& lost) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(lost.count);
  out.svarint(lost.since);
  return bytes;
}

Result<LostEvents> decode_lost_events(std::string_view bytes) {
  ByteReader in(bytes);
  LostEvents lost;
  lost.count = in.varint();
  lost.since = in.svarint();
  if (!in.done()) return damaged();
  return lost;
}

// notifying message := u8(version) svarint(at) string(conversation) varint(seq)
std::string encode(const NotifyingMessage& message) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kEventVersion);
  out.svarint(message.at);
  out.string(message.conversation.value);
  out.varint(message.seq.value);
  return bytes;
}

Result<NotifyingMessage> decode_notifying_message(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kEventVersion) return damaged();
  NotifyingMessage message;
  message.at = in.svarint();
  message.conversation = ConversationId(in.string());
  message.seq = Seq(in.varint());
  if (!in.done()) return damaged();
  return message;
}

// notified user := u8(version) varint(mark) varint(count) { string(conversation) varint(seq) }
std::string encode(const NotifiedUser& notified) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kEventVersion);
  out.varint(notified.mark.value);
  out.varint(notified.shown.size());
  for (const auto& [conversation, seq] : notified.shown) {
    out.string(conversation.value);
    out.varint(seq.value);
  }
  return bytes;
}

Result<NotifiedUser> decode_notified_user(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kEventVersion) return damaged();
  NotifiedUser notified;
  notified.mark = Mark(in.varint());
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const ConversationId conversation{in.string()};
    notified.shown.emplace_back(conversation, Seq(in.varint()));
  }
  if (!in.done()) return damaged();
  return notified;
}

}  // namespace tidemark
