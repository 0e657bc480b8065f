#include "client/url.h"

#include <algorithm>
#include <charconv>

namespace tidemark {
namespace {

auto bad_url(std::string detail) {
  return fail(ErrorCode::MALFORMED, "url", std::move(detail));
}

bool valid_port(std::string_view port) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  return error == std::errc() && end == port.data() + port.size() && value >= 1 && value <= 65'535;
}

/// Nothing that could end a line or a field of the request.
bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::string WebSocketUrl::authority() const {
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (secure ? "443" : "80") ? shown : shown + ":" + port;
}

Result<WebSocketUrl> parse_websocket_url(std::string_view url) {
  WebSocketUrl parsed;
  std::string_view rest = url;
  if (rest.starts_with("wss://")) {
    parsed.secure = true;
    rest.remove_prefix(6);
  } else if (rest.starts_with("ws://")) {
    rest.remove_prefix(5);
  } else {
    return bad_url("It begins with ws:// or wss://.");
  }
  const std::size_t slash = rest.find_first_of("/?#");
  std::string_view authority = rest.substr(0, slash);
  parsed.target = slash == std::string_view::npos ? "/" : rest.substr(slash);
  if (!parsed.target.starts_with('/')) parsed.target.insert(0, 1, '/');
  if (!printable(rest) || parsed.target.find('#') != std::string::npos || authority.find('@') != std::string_view::npos)
    return bad_url("Spaces, fragments and user names do not belong there.");

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad_url("The bracket is not closed.");
    parsed.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return bad_url("Behind the bracket comes the port.");
    if (!port.empty()) port.remove_prefix(1);
  } else {
    const std::size_t colon = authority.find(':');
    parsed.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    if (colon != std::string_view::npos && port.empty()) return bad_url("The port is empty.");
  }
  if (parsed.host.empty()) return bad_url("The host is missing.");
  if (!port.empty() && !valid_port(port)) return bad_url("A port is a number from 1 to 65535.");
  parsed.port = port.empty() ? (parsed.secure ? "443" : "80") : std::string(port);
  return parsed;
}

}  // namespace tidemark
