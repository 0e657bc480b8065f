// The WebSocket codec on any bytes. The first byte chooses the role and how the rest is cut; the outcome must not
// depend on the cut, texts must be UTF-8, and no limit may be passed.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "wire/websocket.h"

namespace {

using namespace tidemark;

constexpr WebSocketLimits kLimits{.max_frame_bytes = 2000, .max_message_bytes = 3000, .max_fragments = 5};

/// All events as one text.
std::string events(std::string bytes, WebSocketCodec::Role role, std::size_t chunk_bytes) {
  WebSocketCodec codec(role, kLimits);
  std::string seen;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    std::string chunk = bytes.substr(at, chunk_bytes);  // a buffer of its own, so that the sanitizer sees its end
    std::span<char> input(chunk);
    while (const WebSocketEvent event = codec.next(input)) {
      TM_CHECK(event.kind != WebSocketEvent::Kind::text || valid_utf8(event.data), "text is not UTF-8");
      TM_CHECK(event.data.size() <= kLimits.max_message_bytes, "message is too large");
      seen += std::to_string(static_cast<int>(event.kind)) + ":" + std::to_string(event.close_code) + ":";
      seen.append(event.data).append("\n");
    }
    TM_CHECK(input.empty(), "input was left");
    TM_CHECK(codec.held_bytes() <= 4 * kLimits.max_message_bytes, "too much memory is held");
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto role = data[0] & 1 ? WebSocketCodec::Role::server : WebSocketCodec::Role::client;
  const std::size_t chunk_bytes = 1 + (data[0] >> 1) % 64;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  TM_CHECK(events(bytes, role, chunk_bytes) == events(bytes, role, bytes.size() + 1), "the cut changes the outcome");
  return 0;
}
