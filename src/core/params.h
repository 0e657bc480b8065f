// The numbers that the rules of the core depend on; each can be configured (tidemark.toml says what it means to an
// operator). Times in milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark {

inline constexpr std::int64_t kSecondMs = 1'000;
inline constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;

/// How many sessions a user may have at a time, and who goes when a login is one too many (design, section 10).
struct DevicePolicy {
  enum class Kind : std::uint8_t { multi = 0, single, one_per_platform };
  enum class WhenFull : std::uint8_t { replace = 0, refuse };
  Kind kind = Kind::multi;
  std::size_t max = 50;  // sessions; of single always one
  WhenFull when_full = WhenFull::replace;
  std::size_t ended_kept = 50;  // devices without a session that are still known
};

/// From which level on users may do something; admin: none of them. The application's server may in any case.
enum class Granted : std::uint8_t { everyone = 0, paid, vip, admin };

struct CoreParams {
  // Sending (design, section 5).
  std::int64_t dedup_accept_ms = 23 * kHourMs;    // the oldest id time accepted
  std::int64_t dedup_remember_ms = 25 * kHourMs;  // how long an id is remembered; above dedup_accept_ms
  std::int64_t future_ms = 10 * kMinuteMs;        // how far ahead an id time may lie
  std::size_t body_bytes_max = 65'536;
  std::size_t body_type_bytes_max = 32;
  std::size_t attachments_max = 32;
  std::size_t mentions_max = 50;
  bool read_on_send = false;      // sending moves the own read pointer
  bool users_registered = false;  // users must be made by the admin API first
  // Changing what was sent (design, section 7). 0: at any time.
  std::int64_t recall_ms = 120 * kSecondMs;
  std::int64_t edit_ms = 0;
  std::size_t reactions_per_user_max = 8;      // of one user to a message
  std::size_t reactions_per_message_max = 32;  // different ones
  std::size_t reaction_bytes_max = 64;
  // What a user keeps for himself.
  std::size_t delete_max = 10'000;                // entries looked at by one deletion
  std::size_t delete_ranges_max = 200;            // of one deletion
  std::int64_t tombstone_ms = 90 * 24 * kHourMs;  // how long devices can learn of what was taken away
  std::size_t settings_max = 200;                 // of a user
  std::size_t setting_name_bytes_max = 64;
  std::size_t setting_bytes_max = 4'096;
  std::size_t blocked_max = 1'000;
  std::size_t import_max = 1'000;  // messages imported at once
  // Priorities (design, section 11).
  Granted high_priority = Granted::everyone;  // who may send with it
  Granted low_priority = Granted::everyone;
  std::size_t high_marks_max = 8;  // conversations of a user that can come first when he returns
  // Groups.
  std::size_t small_max = 200;      // members of a group whose messages touch the index of each of them
  std::size_t large_max = 200'000;  // members of any group
  std::size_t members_per_call = 1'000;
  std::size_t title_bytes_max = 256;
  std::size_t newcomers_last_max = 1'000;
  std::size_t group_data_bytes_max = 4'096;
  // Reading.
  std::uint32_t page_default = 50;
  std::uint32_t page_max = 200;
  std::uint32_t sync_default = 200;
  std::uint32_t sync_max = 200;
  std::uint32_t recent_max = 50;
  std::size_t known_ranges_max = 64;  // of one conversation sync
  std::size_t jump_lines_max = 200;   // conversations in one question after jumps
  std::size_t heads_max = 200;        // large groups in one question, and conversations in its answer
  std::uint32_t unread_exact_max = 999;
  std::uint32_t hole_above = 1'000;  // a gap of more entries is answered by the newest page and a hole
  std::size_t sync_bytes_default = 262'144;
  std::size_t sync_bytes_max = 1'048'576;
  std::size_t preview_bytes = 240;
  std::size_t inline_bytes = 4'096;  // longer bodies travel without what makes them long
  // Devices.
  DevicePolicy devices;
  std::size_t mutations_kept = 64;
};

}  // namespace tidemark
