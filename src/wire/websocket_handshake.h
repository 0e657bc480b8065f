// The opening handshake of RFC 6455 section 4, both sides. Extensions are never offered nor accepted.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ports.h"
#include "wire/http_parser.h"

namespace tidemark {

/// The field of the error for a client that speaks another version of the protocol. The answer is then status 426 with
/// the headers "Sec-WebSocket-Version: 13" and "Upgrade: websocket" instead of the code's own status.
inline constexpr std::string_view kWebSocketVersionField = "Sec-WebSocket-Version";

struct WebSocketAccept {
  std::string response;       // to be sent before any frame
  std::string_view protocol;  // the chosen one of those given
};

/// The server's answer to an upgrade request. Chooses the first subprotocol in the client's order that is among
/// `protocols`; a client that offers none of them is refused. MALFORMED with the header at fault as field.
Result<WebSocketAccept> accept_upgrade(const HttpRequest& request, std::span<const std::string_view> protocols);

/// A fresh Sec-WebSocket-Key: 16 random bytes in base64.
std::string make_websocket_key(Random& random);

/// The client's upgrade request. The host is written as in the Host header; the target is percent-encoded.
std::string upgrade_request(std::string_view host, std::string_view target, std::string_view key,
                            std::span<const std::string_view> protocols, std::span<const HttpHeaderView> headers = {});

/// Checks the server's response to upgrade_request and returns the subprotocol it chose. MALFORMED when it is no proper
/// acceptance; a refusal by the server is MALFORMED with the field "status".
Result<std::string> check_upgrade(const HttpResponse& response, std::string_view key,
                                  std::span<const std::string_view> protocols);

/// Sec-WebSocket-Accept for a key: base64 of SHA-1 of the key and the protocol's GUID.
std::string websocket_accept_value(std::string_view key);

}  // namespace tidemark
