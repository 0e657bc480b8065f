#include "hooks/hook_url.h"

#include <algorithm>

namespace tidemark {
namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The host and what follows it; "" when the brackets do not fit.
std::string_view take_host(std::string_view& rest) {
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == rest.npos) return {};
    const std::string_view host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return host;
  }
  const std::string_view host = rest.substr(0, rest.find(':'));
  rest.remove_prefix(host.size());
  return host;
}

}  // namespace

std::string HookUrl::authority() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

Result<HookUrl> parse_hook_url(std::string_view text, std::string_view setting) {
  const auto bad = [&] {
    return fail(ErrorCode::MALFORMED, std::string(setting),
                std::string(setting) + " is no address; one looks like https://app.example.org/hooks.");
  };
  HookUrl url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://")) return bad();
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '#' && c != '"'; });
  if (!plain) return bad();
  std::string_view rest = text.substr(url.tls ? 8 : 7);
  const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  url.target = rest.substr(slash);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  rest = rest.substr(0, slash);
  url.host = take_host(rest);
  url.port = url.tls ? "443" : "80";
  if (rest.starts_with(':')) url.port = rest.substr(1);
  const bool good = !url.host.empty() && url.host.find_first_of("@[]") == std::string::npos && is_port(url.port) &&
                    (rest.empty() || rest.front() == ':');
  if (!good) return bad();
  return url;
}

}  // namespace tidemark
