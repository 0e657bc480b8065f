// The one digest used for identity inside the store: BLAKE2b cut to 128 bits (RFC 7693), through libsodium.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tidemark {

using Digest = std::array<std::uint8_t, 16>;

/// Digest of a list of parts, each taken with its length, so that ("ab","c") and ("a","bc") differ.
Digest digest_of(std::initializer_list<std::string_view> parts);

/// The same under a secret key of 16 to 64 bytes: only who has the key can make it.
Digest keyed_digest(std::string_view key, std::initializer_list<std::string_view> parts);

/// The first eight bytes of SHA-256 (FIPS 180-4), the highest first: what clients in any language can compute too.
std::uint64_t sha256_prefix(std::string_view text);

inline std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace tidemark
