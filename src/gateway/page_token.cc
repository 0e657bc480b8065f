#include "gateway/page_token.h"

#include <sodium.h>

#include "base/hash.h"
#include "gateway/jwt_base64.h"

namespace tidemark {
namespace {
constexpr std::size_t kTokenBytesMax = 1'024;
constexpr std::size_t kMacBytes = sizeof(Digest);
}  // namespace

std::string PageTokens::seal(PageKind kind, const UserId& user, const DeviceId& device,
                             std::string_view content) const {
  const char kind_byte = static_cast<char>(kind);
  const Digest mac = keyed_digest(key_, {{&kind_byte, 1}, user.value, device.value, content});
  std::string bytes(bytes_of(mac));
  bytes.append(content);
  return base64url_encode(bytes);
}

Result<std::string> PageTokens::open(PageKind kind, const UserId& user, const DeviceId& device, std::string_view token,
                                     std::string_view field) const {
  const auto refused = [&] {
    return fail(ErrorCode::BAD_TOKEN, std::string(field), "It was not given to this user on this device.");
  };
  if (token.size() > kTokenBytesMax) return refused();
  const auto bytes = base64url_decode(token);
  if (!bytes || bytes->size() < kMacBytes) return refused();
  const std::string_view content = std::string_view(*bytes).substr(kMacBytes);
  const char kind_byte = static_cast<char>(kind);
  const Digest mac = keyed_digest(key_, {{&kind_byte, 1}, user.value, device.value, content});
  if (sodium_memcmp(mac.data(), bytes->data(), kMacBytes) != 0) return refused();
  return std::string(content);
}

}  // namespace tidemark
