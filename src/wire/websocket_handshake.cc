#include "wire/websocket_handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tidemark {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeyChars = 24;  // 16 bytes in base64

const unsigned char* bytes_at(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string base64(std::span<const unsigned char> bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // OpenSSL adds a NUL
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes.data(), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// 22 characters of base64 and "==": sixteen bytes.
bool valid_key(std::string_view key) {
  constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.size() == kKeyChars && key.ends_with("==") &&
         key.substr(0, kKeyChars - 2).find_first_not_of(kBase64) == std::string_view::npos;
}

std::string joined(std::span<const std::string_view> names, std::string_view separator) {
  std::string out;
  for (std::string_view name : names) out.append(out.empty() ? "" : separator).append(name);
  return out;
}

Result<std::string_view> choose_protocol(std::string_view offered, std::span<const std::string_view> protocols) {
  for (std::string_view name = next_list_element(offered); !name.empty(); name = next_list_element(offered)) {
    const auto known = std::find(protocols.begin(), protocols.end(), name);
    if (known != protocols.end()) return *known;
  }
  return fail(ErrorCode::MALFORMED, "Sec-WebSocket-Protocol", "offer " + joined(protocols, " or "));
}

}  // namespace

Result<WebSocketAccept> accept_upgrade(const HttpRequest& request, std::span<const std::string_view> protocols) {
  const HttpHeaders& headers = request.headers;
  if (request.method != "GET") return fail(ErrorCode::METHOD_NOT_ALLOWED, "method", "a WebSocket is opened with GET");
  if (!headers.has_token("Upgrade", "websocket")) return fail(ErrorCode::MALFORMED, "Upgrade", "must be websocket");
  if (!headers.has_token("Connection", "upgrade")) return fail(ErrorCode::MALFORMED, "Connection", "must be Upgrade");
  if (headers.get("Sec-WebSocket-Version") != "13")
    return fail(ErrorCode::MALFORMED, std::string(kWebSocketVersionField), "only version 13 is spoken here");
  const std::string_view key = headers.get("Sec-WebSocket-Key").value_or("");
  if (!valid_key(key)) return fail(ErrorCode::MALFORMED, "Sec-WebSocket-Key", "must be 16 bytes in base64");
  TM_ASSIGN(const std::string_view protocol,
            choose_protocol(headers.get("Sec-WebSocket-Protocol").value_or(""), protocols));

  const std::string accept = websocket_accept_value(key);
  const std::array<HttpHeaderView, 4> answer = {{{"Upgrade", "websocket"},
                                                 {"Connection", "Upgrade"},
                                                 {"Sec-WebSocket-Accept", accept},
                                                 {"Sec-WebSocket-Protocol", protocol}}};
  return WebSocketAccept{http_response({.status = 101, .headers = answer}), protocol};
}

std::string make_websocket_key(Random& random) {
  std::array<std::uint8_t, 16> bytes;
  random.fill(bytes);
  return base64(bytes);
}

std::string upgrade_request(std::string_view host, std::string_view target, std::string_view key,
                            std::span<const std::string_view> protocols, std::span<const HttpHeaderView> headers) {
  const std::string offered = joined(protocols, ", ");
  std::vector<HttpHeaderView> all = {
      {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Key", key}};
  if (!offered.empty()) all.emplace_back("Sec-WebSocket-Protocol", offered);
  all.insert(all.end(), headers.begin(), headers.end());
  return http_request({.host = host, .target = target, .headers = all});
}

Result<std::string> check_upgrade(const HttpResponse& response, std::string_view key,
                                  std::span<const std::string_view> protocols) {
  const HttpHeaders& headers = response.headers;
  if (response.status != 101)
    return fail(
        ErrorCode::MALFORMED, "status",
        "the server answered " + std::to_string(response.status) + ", not 101: " + response.body.substr(0, 500));
  if (!headers.has_token("Upgrade", "websocket")) return fail(ErrorCode::MALFORMED, "Upgrade", "not websocket");
  if (!headers.has_token("Connection", "upgrade")) return fail(ErrorCode::MALFORMED, "Connection", "not Upgrade");
  if (headers.get("Sec-WebSocket-Accept") != websocket_accept_value(key))
    return fail(ErrorCode::MALFORMED, "Sec-WebSocket-Accept", "does not fit the key that was sent");
  if (headers.has("Sec-WebSocket-Extensions"))
    return fail(ErrorCode::MALFORMED, "Sec-WebSocket-Extensions", "none was offered");
  const auto chosen = headers.get("Sec-WebSocket-Protocol");
  if (!chosen && protocols.empty()) return std::string();
  if (!chosen || std::find(protocols.begin(), protocols.end(), *chosen) == protocols.end())
    return fail(ErrorCode::MALFORMED, "Sec-WebSocket-Protocol", "the server must choose " + joined(protocols, " or "));
  return std::string(*chosen);
}

std::string websocket_accept_value(std::string_view key) {
  const std::string text = std::string(key) + std::string(kGuid);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(bytes_at(text), text.size(), digest.data());
  return base64(digest);
}

}  // namespace tidemark
