// The WebSocket framing of RFC 6455 as a machine without I/O: bytes in, events out, for both roles. Extensions are
// never negotiated. The handshake is in websocket_handshake.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tidemark {

/// Opcodes of RFC 6455 section 5.2.
enum class WebSocketOpcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Whether a frame ends its message.
enum class WebSocketFrameEnd : std::uint8_t { more, last };

using WebSocketMask = std::array<char, 4>;

/// What one peer may make us hold.
struct WebSocketLimits {
  std::uint32_t max_frame_bytes = 64 * 1024;     // payload of one frame
  std::uint32_t max_message_bytes = 256 * 1024;  // payload of a whole message
  std::uint32_t max_fragments = 64;              // frames of one message
};

/// Close codes used by the codec itself (RFC 6455 section 7.4.1).
inline constexpr std::uint16_t kCloseNormal = 1000;
inline constexpr std::uint16_t kCloseProtocolError = 1002;
inline constexpr std::uint16_t kCloseNoStatus = 1005;  // never on the wire: the peer gave no code
inline constexpr std::uint16_t kCloseBadText = 1007;
inline constexpr std::uint16_t kCloseTooLarge = 1009;

struct WebSocketEvent {
  enum class Kind : std::uint8_t {
    none,    // all input is taken
    text,    // data: the message, valid UTF-8
    binary,  // data: the message
    ping,    // data: to be sent back in a pong
    pong,
    close,  // close_code and data: what the peer said; kCloseNoStatus when it said nothing
    error,  // close_code: what to close with; data: why, a constant English phrase
  };
  Kind kind = Kind::none;
  std::uint16_t close_code = 0;
  std::string_view data = {};  // valid until the next call of the codec, while the input's bytes live

  explicit operator bool() const { return kind != Kind::none; }
};

/// Decoder of one direction of one connection. Not thread-safe. Holds nothing but the part of a frame or message that
/// has not ended yet; between messages it owns no memory outside itself.
class WebSocketCodec {
 public:
  enum class Role : std::uint8_t { server, client };

  explicit WebSocketCodec(Role role, WebSocketLimits limits = {}) : limits_(limits), role_(role) {}

  /// The next event in `input`, from whose front the bytes taken are cut off. Masked payloads are unmasked in place; a
  /// message that lies in one frame within the input is not copied. To be called until it gives Kind::none; by then
  /// the input is empty and its buffer may be used again. After a close or an error all further input is dropped.
  WebSocketEvent next(std::span<char>& input);

  /// A close or an error was reported: nothing more will come.
  bool finished() const { return finished_; }

  /// Bytes of memory held outside the object.
  std::size_t held_bytes() const;

 private:
  struct Frame;

  std::optional<WebSocketEvent> inspect(std::span<const char> bytes, Frame& frame);
  std::optional<WebSocketEvent> inspect_opcode(const Frame& frame);
  std::optional<WebSocketEvent> inspect_size(const Frame& frame);
  WebSocketEvent deliver(const Frame& frame, std::string_view payload);
  WebSocketEvent deliver_message(WebSocketOpcode opcode, std::string_view message);
  WebSocketEvent deliver_close(std::string_view payload);
  WebSocketEvent refuse(std::uint16_t close_code, std::string_view why);
  void release_spent();

  std::string remainder_;  // the front of a frame that did not end with the input
  std::string message_;    // payloads of the fragments so far
  WebSocketLimits limits_;
  std::uint32_t fragments_ = 0;  // of the open message; 0: none is open
  Role role_;
  WebSocketOpcode message_opcode_ = WebSocketOpcode::continuation;
  bool remainder_spent_ = false;  // delivered, or copied to message_: to be freed by the next call
  bool message_spent_ = false;
  bool finished_ = false;
};

/// Header of a frame, at most 14 bytes.
class WebSocketHeader {
 public:
  /// A masked header (for clients) carries the key; the payload must then go through apply_mask with the same key.
  WebSocketHeader(WebSocketOpcode opcode, std::uint64_t payload_bytes, std::optional<WebSocketMask> mask = std::nullopt,
                  WebSocketFrameEnd end = WebSocketFrameEnd::last);
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 14> bytes_;
  std::uint8_t size_ = 0;
};

/// XORs the bytes with the key, from the key's first byte on; masking and unmasking are the same.
void apply_mask(std::span<char> bytes, WebSocketMask mask);

/// Appends a whole frame. Clients must give a fresh unpredictable mask for each frame, servers none. The payload must
/// not lie within `out`.
void encode_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload,
                  std::optional<WebSocketMask> mask = std::nullopt, WebSocketFrameEnd end = WebSocketFrameEnd::last);

/// Appends a close frame; the reason is cut to 123 bytes, at the end of a character. kCloseNoStatus sends an empty
/// payload, which is how to answer a peer that gave no code.
void encode_close(std::string& out, std::uint16_t close_code, std::string_view reason = {},
                  std::optional<WebSocketMask> mask = std::nullopt);

/// Whether a peer may send this close code (RFC 6455 section 7.4, and the registry's 1012 to 1014 left out).
bool valid_close_code(std::uint16_t close_code);

}  // namespace tidemark
