// UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of Unix time in milliseconds, then randomness. They name sends:
// the time inside is the moment at which the user pressed send (design, section 5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// The randomness of one UUID; 74 of its 80 bits are used.
using Uuid7Random = std::array<std::uint8_t, 10>;

/// Writes a UUIDv7 in its canonical form of 36 lower-case characters. `time_ms` is milliseconds since 1970-01-01 UTC;
/// times that 48 bits cannot hold are brought to the nearest end.
std::string make_uuid_v7(std::int64_t time_ms, const Uuid7Random& random);

/// The first eight bytes of a UUIDv7, its time foremost: ids that are made later compare greater. Nothing for what
/// uuid7_time_ms takes for no UUIDv7.
std::optional<std::uint64_t> uuid7_high(std::string_view text);
constexpr std::int64_t time_ms_of(std::uint64_t uuid7_high) {
  return static_cast<std::int64_t>(uuid7_high >> 16);
}

/// The time of a UUIDv7 in milliseconds since 1970-01-01 UTC, or nothing when the text is no UUID of version 7 with the
/// variant of RFC 9562 in the form 8-4-4-4-12. Upper-case digits are taken too.
std::optional<std::int64_t> uuid7_time_ms(std::string_view text);

}  // namespace tidemark
