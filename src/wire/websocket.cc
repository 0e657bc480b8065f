#include "wire/websocket.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace tidemark {

using Kind = WebSocketEvent::Kind;

/// As much of a frame's header as has arrived. RFC 6455 section 5.2:
///   FIN:1 RSV:3 opcode:4 | MASK:1 length:7 | [length:16 or 64, big-endian] | [mask key:32] | payload
struct WebSocketCodec::Frame {
  WebSocketOpcode opcode = WebSocketOpcode::continuation;
  bool last = false;
  std::uint64_t payload_bytes = 0;
  std::size_t header_bytes = 0;
  std::size_t wanted_bytes = 2;  // how many bytes tell more: of the header, or of the whole frame

  bool is_control() const { return static_cast<std::uint8_t>(opcode) >= 8; }
};

namespace {

constexpr std::size_t kMaxControlBytes = 125;
constexpr std::size_t kInlineBytes = 15;  // what std::string holds without memory of its own

std::uint64_t big_endian(std::span<const char> bytes) {
  std::uint64_t value = 0;
  for (char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

std::size_t length_bytes(std::uint8_t short_length) {
  return short_length < 126 ? 0 : short_length == 126 ? 2 : 8;
}

bool known_opcode(std::uint8_t opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

WebSocketMask mask_at(std::span<const char> bytes) {
  return {bytes[0], bytes[1], bytes[2], bytes[3]};
}

}  // namespace

WebSocketEvent WebSocketCodec::next(std::span<char>& input) {
  release_spent();
  while (!finished_) {
    const bool continued = !remainder_.empty();
    const std::span<char> bytes = continued ? std::span<char>(remainder_) : input;
    Frame frame;
    if (auto refusal = inspect(bytes, frame)) return *refusal;
    if (bytes.size() < frame.wanted_bytes) {
      if (input.empty()) return {};
      // Only what this frame needs: the frames behind it are read where they lie.
      const std::size_t taken = std::min(input.size(), frame.wanted_bytes - remainder_.size());
      remainder_.append(input.data(), taken);
      input = input.subspan(taken);
      continue;
    }
    const std::span<char> payload = bytes.subspan(frame.header_bytes, frame.payload_bytes);
    if (role_ == Role::server) apply_mask(payload, mask_at(bytes.subspan(frame.header_bytes - 4, 4)));
    if (continued) {
      remainder_spent_ = true;
    } else {
      input = input.subspan(frame.wanted_bytes);
    }
    if (const WebSocketEvent event = deliver(frame, {payload.data(), payload.size()})) return event;
    release_spent();
  }
  input = {};
  return {};
}

/// Reads the header, checking each part as soon as it is there, so that the outcome does not depend on how the bytes
/// were cut.
std::optional<WebSocketEvent> WebSocketCodec::inspect(std::span<const char> bytes, Frame& frame) {
  if (bytes.size() < 2) return std::nullopt;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  const std::uint8_t short_length = second & 0x7f;
  if (first & 0x70) return refuse(kCloseProtocolError, "reserved bits are set");
  if (!known_opcode(first & 0x0f)) return refuse(kCloseProtocolError, "unknown opcode");
  frame.opcode = static_cast<WebSocketOpcode>(first & 0x0f);
  frame.last = first & 0x80;
  if (auto refusal = inspect_opcode(frame)) return refusal;
  const bool masked = second & 0x80;
  if (masked != (role_ == Role::server))
    return refuse(kCloseProtocolError, masked ? "server frame is masked" : "client frame is not masked");
  if (frame.is_control() && short_length > kMaxControlBytes)
    return refuse(kCloseProtocolError, "control frame is longer than 125 bytes");

  const std::size_t extended = length_bytes(short_length);
  frame.header_bytes = frame.wanted_bytes = 2 + extended + (masked ? 4 : 0);
  if (bytes.size() < 2 + extended) return std::nullopt;
  frame.payload_bytes = extended == 0 ? short_length : big_endian(bytes.subspan(2, extended));
  if ((extended == 2 && frame.payload_bytes < 126) || (extended == 8 && frame.payload_bytes <= 0xffff))
    return refuse(kCloseProtocolError, "length is not in its shortest form");
  if (frame.payload_bytes >> 63) return refuse(kCloseProtocolError, "length is negative");
  if (auto refusal = inspect_size(frame)) return refusal;
  frame.wanted_bytes = frame.header_bytes + frame.payload_bytes;
  return std::nullopt;
}

std::optional<WebSocketEvent> WebSocketCodec::inspect_opcode(const Frame& frame) {
  if (frame.is_control()) {
    if (!frame.last) return refuse(kCloseProtocolError, "control frame is fragmented");
  } else if (frame.opcode == WebSocketOpcode::continuation) {
    if (fragments_ == 0) return refuse(kCloseProtocolError, "continuation without a message");
  } else if (fragments_ > 0) {
    return refuse(kCloseProtocolError, "new message inside a fragmented one");
  }
  return std::nullopt;
}

std::optional<WebSocketEvent> WebSocketCodec::inspect_size(const Frame& frame) {
  if (frame.is_control()) return std::nullopt;
  if (frame.payload_bytes > limits_.max_frame_bytes) return refuse(kCloseTooLarge, "frame is too large");
  if (frame.payload_bytes + message_.size() > limits_.max_message_bytes)
    return refuse(kCloseTooLarge, "message is too large");
  if (fragments_ >= limits_.max_fragments) return refuse(kCloseTooLarge, "message has too many fragments");
  return std::nullopt;
}

/// The event of a complete frame, or none after a fragment that is not the last.
WebSocketEvent WebSocketCodec::deliver(const Frame& frame, std::string_view payload) {
  switch (frame.opcode) {
    case WebSocketOpcode::ping:
      return {.kind = Kind::ping, .data = payload};
    case WebSocketOpcode::pong:
      return {.kind = Kind::pong, .data = payload};
    case WebSocketOpcode::close:
      return deliver_close(payload);
    default:
      break;
  }
  if (frame.last && fragments_ == 0) return deliver_message(frame.opcode, payload);
  if (fragments_++ == 0) message_opcode_ = frame.opcode;
  message_.append(payload);
  if (!frame.last) return {};
  fragments_ = 0;
  message_spent_ = true;
  return deliver_message(message_opcode_, message_);
}

WebSocketEvent WebSocketCodec::deliver_message(WebSocketOpcode opcode, std::string_view message) {
  if (opcode == WebSocketOpcode::binary) return {.kind = Kind::binary, .data = message};
  if (!valid_utf8(message)) return refuse(kCloseBadText, "text is not valid UTF-8");
  return {.kind = Kind::text, .data = message};
}

WebSocketEvent WebSocketCodec::deliver_close(std::string_view payload) {
  if (payload.size() == 1) return refuse(kCloseProtocolError, "close frame with half a code");
  if (payload.size() >= 2) {
    const auto code = static_cast<std::uint16_t>(big_endian(payload.substr(0, 2)));
    if (!valid_close_code(code)) return refuse(kCloseProtocolError, "close code is not allowed");
    if (!valid_utf8(payload.substr(2))) return refuse(kCloseBadText, "close reason is not valid UTF-8");
    finished_ = true;
    return {.kind = Kind::close, .close_code = code, .data = payload.substr(2)};
  }
  finished_ = true;
  return {.kind = Kind::close, .close_code = kCloseNoStatus};
}

WebSocketEvent WebSocketCodec::refuse(std::uint16_t close_code, std::string_view why) {
  finished_ = true;
  remainder_spent_ = message_spent_ = true;
  return {.kind = Kind::error, .close_code = close_code, .data = why};
}

void WebSocketCodec::release_spent() {
  if (remainder_spent_) std::string().swap(remainder_);
  if (message_spent_ || finished_) std::string().swap(message_);
  remainder_spent_ = message_spent_ = false;
}

std::size_t WebSocketCodec::held_bytes() const {
  const auto outside = [](const std::string& s) { return s.capacity() > kInlineBytes ? s.capacity() + 1 : 0; };
  return outside(remainder_) + outside(message_);
}

WebSocketHeader::WebSocketHeader(WebSocketOpcode opcode, std::uint64_t payload_bytes, std::optional<WebSocketMask> mask,
                                 WebSocketFrameEnd end) {
  const auto put = [this](std::uint64_t byte) { bytes_[size_++] = static_cast<char>(byte); };
  const std::uint8_t mask_bit = mask ? 0x80 : 0;
  put((end == WebSocketFrameEnd::last ? 0x80u : 0u) | static_cast<std::uint8_t>(opcode));
  if (payload_bytes < 126) {
    put(mask_bit | payload_bytes);
  } else if (payload_bytes <= 0xffff) {
    put(mask_bit | 126u);
    put(payload_bytes >> 8);
    put(payload_bytes);
  } else {
    put(mask_bit | 127u);
    for (int shift = 56; shift >= 0; shift -= 8) put(payload_bytes >> shift);
  }
  if (mask)
    for (char byte : *mask) bytes_[size_++] = byte;
}

void apply_mask(std::span<char> bytes, WebSocketMask mask) {
  std::uint64_t wide;
  std::memcpy(&wide, mask.data(), 4);
  std::memcpy(reinterpret_cast<char*>(&wide) + 4, mask.data(), 4);
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    word ^= wide;
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i & 3]);
}

void encode_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload, std::optional<WebSocketMask> mask,
                  WebSocketFrameEnd end) {
  out.append(WebSocketHeader(opcode, payload.size(), mask, end).view());
  const std::size_t start = out.size();
  out.append(payload);
  if (mask) apply_mask(std::span(out).subspan(start), *mask);
}

void encode_close(std::string& out, std::uint16_t close_code, std::string_view reason,
                  std::optional<WebSocketMask> mask) {
  if (close_code == kCloseNoStatus) return encode_frame(out, WebSocketOpcode::close, {}, mask);
  TM_CHECK(valid_close_code(close_code), "this close code must not be sent");
  std::size_t size = std::min(reason.size(), kMaxControlBytes - 2);
  if (size < reason.size())
    while (size > 0 && (static_cast<std::uint8_t>(reason[size]) & 0xc0) == 0x80) --size;
  std::string payload{static_cast<char>(close_code >> 8), static_cast<char>(close_code & 0xff)};
  payload.append(reason.substr(0, size));
  encode_frame(out, WebSocketOpcode::close, payload, mask);
}

bool valid_close_code(std::uint16_t close_code) {
  return (close_code >= 1000 && close_code <= 1003) || (close_code >= 1007 && close_code <= 1011) ||
         (close_code >= 3000 && close_code <= 4999);
}

}  // namespace tidemark
