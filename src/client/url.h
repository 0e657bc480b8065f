// Addresses of WebSocket servers.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

struct WebSocketUrl {
  bool secure = false;
  std::string host;    // without brackets
  std::string port;    // decimal
  std::string target;  // begins with '/'

  /// As in the Host header: with brackets around an IPv6 address, with the port unless it is the scheme's own.
  std::string authority() const;
};

/// Takes ws://host[:port][/path] and wss://... apart. MALFORMED with the field "url".
Result<WebSocketUrl> parse_websocket_url(std::string_view url);

}  // namespace tidemark
