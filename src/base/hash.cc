#include "base/hash.h"

#include <sodium.h>

namespace tidemark {

Digest digest_of(std::initializer_list<std::string_view> parts) {
  return keyed_digest({}, parts);
}

Digest keyed_digest(std::string_view key, std::initializer_list<std::string_view> parts) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size(), sizeof(Digest));
  for (std::string_view part : parts) {
    std::uint8_t size[8];
    for (int i = 0; i < 8; ++i) size[i] = static_cast<std::uint8_t>(part.size() >> (8 * i));
    crypto_generichash_update(&state, size, sizeof size);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  }
  Digest digest;
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

std::uint64_t sha256_prefix(std::string_view text) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::uint64_t prefix = 0;
  for (int i = 0; i < 8; ++i) prefix = prefix << 8 | hash[i];
  return prefix;
}

}  // namespace tidemark
