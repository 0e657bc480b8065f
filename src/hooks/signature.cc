#include "hooks/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"
#include "wire/http_parser.h"

namespace tidemark {

std::string hook_signature(std::string_view secret, std::int64_t timestamp_s, std::string_view body) {
  std::string signed_text = std::to_string(timestamp_s);
  signed_text.append(".").append(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  TM_CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac.data(),
                &size) != nullptr,
           "HMAC-SHA-256 over memory cannot fail");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "v1=";
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[mac[i] >> 4];
    text += kDigits[mac[i] & 15];
  }
  return text;
}

bool hook_signature_good(std::string_view header, std::string_view secret, std::int64_t timestamp_s,
                         std::string_view body) {
  const std::string right = hook_signature(secret, timestamp_s, body);
  for (std::string_view each = next_list_element(header); !each.empty(); each = next_list_element(header))
    if (each.size() == right.size() && CRYPTO_memcmp(each.data(), right.data(), right.size()) == 0) return true;
  return false;
}

}  // namespace tidemark
