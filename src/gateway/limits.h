// Every limit on what comes from outside, and the numbers that the design fixes as defaults, in one place. Each line
// says what it bounds and, behind "->", the error code that answers whoever goes beyond it. The settings `limits.*` of
// tidemark.toml are these members by the same names; their ranges and sentences are in config_settings.cc. Core and
// wire cannot look here: what they keep to by themselves stands here too, and settings.cc refuses to compile when the
// core means another number.
#pragma once

#include <cstdint>

namespace tidemark {

struct Limits {
  // Fixed by the protocol: clients and stores rely on them, so they are no settings.
  static constexpr std::int64_t user_id_bytes_max = 64;          // a user id -> MALFORMED
  static constexpr std::int64_t device_id_bytes_max = 64;        // a device id -> MALFORMED
  static constexpr std::int64_t install_id_bytes_max = 64;       // an install id -> MALFORMED
  static constexpr std::int64_t client_msg_id_bytes_max = 64;    // a client_msg_id -> MALFORMED
  static constexpr std::int64_t idempotency_key_bytes_max = 64;  // an Idempotency-Key -> MALFORMED
  static constexpr std::int64_t body_type_bytes_max = 32;        // the type of a body -> OUT_OF_RANGE
  static constexpr std::int64_t token_bytes_max = 8'192;         // a token -> BAD_TOKEN
  static constexpr std::int64_t app_version_bytes_max = 64;      // an app_version -> MALFORMED
  static constexpr std::int64_t platform_bytes_max = 32;         // a platform -> MALFORMED
  static constexpr std::int64_t device_name_bytes_max = 64;      // the name of a device -> MALFORMED
  static constexpr std::int64_t push_token_bytes_max = 1'024;    // a push_token -> MALFORMED
  static constexpr std::int64_t http_fields_max = 100;           // header fields of a request -> TOO_LARGE
  static constexpr std::int64_t known_ranges_max = 64;           // ranges a device says it knows -> LIMIT_REACHED
  static constexpr std::int64_t jump_lines_max = 200;            // conversations asked about at once -> LIMIT_REACHED
  static constexpr std::int64_t heads_max = 200;                 // large groups in one question -> LIMIT_REACHED
  static constexpr std::int64_t focus_max = 8;                   // conversations open on a device -> LIMIT_REACHED
  static constexpr std::int64_t delete_ranges_max = 200;         // ranges of one deletion -> LIMIT_REACHED
  static constexpr std::int64_t reaction_bytes_max = 64;         // a reaction -> OUT_OF_RANGE
  static constexpr std::int64_t setting_name_bytes_max = 64;     // the name of a setting -> OUT_OF_RANGE
  static constexpr std::int64_t bulk_users_max = 1'000;          // users registered at once -> LIMIT_REACHED
  static constexpr std::int64_t bulk_groups_max = 100;           // groups made at once -> LIMIT_REACHED
  static constexpr std::int64_t import_max = 1'000;              // messages imported at once -> LIMIT_REACHED
  static constexpr std::int64_t ephemeral_type_bytes_max = 32;   // the type of an ephemeral -> MALFORMED
  static constexpr std::int64_t ephemeral_bytes_max = 2'048;     // payload of an ephemeral -> TOO_LARGE
  static constexpr std::int64_t ephemeral_ms_max = 10'000;       // its lifetime -> OUT_OF_RANGE
  static constexpr std::int64_t mutations_kept = 64;             // outcomes kept by install -> MUTATION_EXPIRED
  static constexpr std::int64_t mutations_unanswered_max = 32;   // open mutations of an install; the client keeps to it
  static constexpr std::int64_t json_depth_max = 16;             // nesting of a frame or request -> TOO_DEEP
  static constexpr std::int64_t data_depth_max = 32;             // nesting of a body's data -> TOO_DEEP
  static constexpr std::int64_t data_keys_max = 1'000;           // keys of a body's data -> TOO_DEEP
  static constexpr std::int64_t unread_exact_max = 999;  // unread is exact up to here, then "more than"; no error
  static constexpr std::int64_t dedup_remember_ms = 90'000'000;  // 25 h: how long ids of sends are remembered; no error

  // What one frame or request may be.
  /// Payload of one WebSocket message -> TOO_LARGE, and the connection is closed (1009). Holds a body of the largest
  /// size with every byte escaped.
  std::int64_t frame_bytes_max = 524'288;
  /// Frames of one WebSocket message -> TOO_LARGE, and the connection is closed (1009).
  std::int64_t frame_fragments_max = 64;
  /// Body of an HTTP request -> TOO_LARGE.
  std::int64_t http_body_bytes_max = 1'048'576;
  /// Request line and header fields together -> TOO_LARGE.
  std::int64_t http_header_bytes_max = 16'384;
  /// Path and query of a request -> TOO_LARGE.
  std::int64_t http_target_bytes_max = 8'192;

  // What one message may hold.
  /// A message's body as stored, in UTF-8 bytes -> TOO_LARGE.
  std::int64_t body_bytes_max = 65'536;
  /// Attachments of a message -> LIMIT_REACHED.
  std::int64_t attachments_max = 32;
  /// Users mentioned in a message -> LIMIT_REACHED.
  std::int64_t mentions_max = 50;

  // Sending once (design, section 5).
  /// How old the time of a client_msg_id may be -> CLIENT_MSG_ID_EXPIRED.
  std::int64_t dedup_accept_ms = 82'800'000;
  /// How far in the future the time of a client_msg_id may lie -> CLIENT_MSG_ID_EXPIRED.
  std::int64_t future_ms = 600'000;

  // Changing what was sent (design, section 7).
  /// How long after a message its author may recall it, 0: at any time -> TOO_LATE.
  std::int64_t recall_ms = 120'000;
  /// How long after a message its author may edit it, 0: at any time -> TOO_LATE.
  std::int64_t edit_ms = 0;
  /// A body longer than this, in UTF-8 bytes as stored, travels in pushes and pages as its front, and is asked for.
  std::int64_t inline_bytes = 4'096;
  /// Reactions of one user to one message -> LIMIT_REACHED.
  std::int64_t reactions_per_user_max = 8;
  /// Different reactions to one message -> LIMIT_REACHED.
  std::int64_t reactions_per_message_max = 32;

  // What a user keeps for himself.
  /// Entries that one deletion for oneself looks at -> LIMIT_REACHED.
  std::int64_t delete_max = 10'000;
  /// Settings of a user -> LIMIT_REACHED.
  std::int64_t settings_max = 200;
  /// A setting's value in UTF-8 bytes -> TOO_LARGE.
  std::int64_t setting_bytes_max = 4'096;
  /// Users whom one user blocks -> LIMIT_REACHED.
  std::int64_t blocked_max = 1'000;
  /// How long devices can learn of what was taken away; one that was away for longer begins anew, so there is no error.
  std::int64_t tombstone_ms = 7'776'000'000;

  // Groups.
  /// Members up to which a group is small. A larger one is large, so there is no error.
  std::int64_t small_max = 200;
  /// Members of a group -> LIMIT_REACHED.
  std::int64_t large_max = 200'000;
  /// Users named in one call about a group -> LIMIT_REACHED.
  std::int64_t members_per_call = 1'000;
  /// A group's title in UTF-8 bytes -> OUT_OF_RANGE.
  std::int64_t title_bytes_max = 256;
  /// Messages from before they joined that a group may show to newcomers -> OUT_OF_RANGE.
  std::int64_t newcomers_last_max = 1'000;
  /// A group's data of the application in UTF-8 bytes -> TOO_LARGE.
  std::int64_t group_data_bytes_max = 4'096;

  // Connections.
  /// Open connections in all -> TOO_MANY_CONNECTIONS. A process may have some 20,000 descriptors.
  std::int64_t connections_max = 15'000;
  /// Live connections of one user -> TOO_MANY_CONNECTIONS.
  std::int64_t connections_per_user_max = 32;
  /// Open connections from one address outside this machine -> TOO_MANY_CONNECTIONS.
  std::int64_t connections_per_address_max = 4'096;
  /// Requests of one connection that wait for their answer; the next is read when there is room, so there is no error.
  std::int64_t unanswered_max = 256;
  /// Bytes of such requests together; as above, no error.
  std::int64_t unanswered_bytes_max = 4'194'304;

  // Rates, by user; 0 is no limit.
  /// Messages a second in the long run -> RATE_LIMITED.
  std::int64_t messages_per_second = 200;
  /// Messages at once after a rest -> RATE_LIMITED.
  std::int64_t messages_burst = 2'000;
  /// Requests of all kinds a second in the long run -> RATE_LIMITED.
  std::int64_t requests_per_second = 400;
  /// Requests of all kinds at once after a rest -> RATE_LIMITED.
  std::int64_t requests_burst = 4'000;
  /// Logins (hello) a minute in the long run -> RATE_LIMITED.
  std::int64_t logins_per_minute = 60;
  /// Logins at once after a rest -> RATE_LIMITED.
  std::int64_t logins_burst = 60;
  /// Ephemerals (typing and the like) of a user a second in the long run -> RATE_LIMITED.
  std::int64_t ephemerals_per_second = 10;
  /// Ephemerals at once after a rest -> RATE_LIMITED.
  std::int64_t ephemerals_burst = 30;
  /// Users whose rates are kept in mind at once; beyond it the one seen longest ago is forgotten, so there is no error.
  std::int64_t rate_users_max = 100'000;

  // Pages.
  /// Messages on a page of history when the request names no limit; no error.
  std::int64_t page_default = 50;
  /// Messages on a page of history -> OUT_OF_RANGE.
  std::int64_t page_max = 200;
  /// Changed objects of a sync answer when the request names no limit; no error.
  std::int64_t sync_default = 200;
  /// Changed objects of a sync answer -> OUT_OF_RANGE.
  std::int64_t sync_max = 200;
  /// Newest messages of each conversation that a sync may ask for -> OUT_OF_RANGE.
  std::int64_t recent_max = 50;
  /// Bytes of a sync answer when the request names none; no error.
  std::int64_t sync_bytes_default = 262'144;
  /// Bytes of a sync answer that may be asked for -> OUT_OF_RANGE.
  std::int64_t sync_bytes_max = 1'048'576;
  /// A gap of more entries is answered by the newest page and a hole that is named; no error.
  std::int64_t hole_above = 1'000;
  /// Bytes of a conversation's preview, cut between characters; no error.
  std::int64_t preview_bytes = 240;

  // Pushing (design, section 4). Going beyond the queue loses nothing: a hint takes its place, and the client pulls.
  /// Entries pushed in one round; no error.
  std::int64_t push_entries = 50;
  /// Bytes pushed in one round; no error.
  std::int64_t push_bytes = 65'536;
  /// How long a client waits for a reordered push before it pulls; no error.
  std::int64_t gap_wait_ms = 500;
  /// Time between two heartbeats of a client; no error.
  std::int64_t heartbeat_ms = 30'000;
  /// Heartbeats missed until a connection counts as dead; it is closed.
  std::int64_t heartbeats_missed = 3;
  /// Latest time of a client's ack after an entry; no error.
  std::int64_t ack_ms = 2'000;
  /// Entries after which a client acks at the latest; no error.
  std::int64_t ack_entries = 20;
  /// An entry not acked for so long on a live connection is pushed again; no error.
  std::int64_t push_again_ms = 10'000;
  /// Pushes again of one entry before the connection is closed.
  std::int64_t push_again_times = 3;

  // Presence.
  /// Users whose presence a link may watch -> LIMIT_REACHED.
  std::int64_t presence_watched_max = 200;
  /// Least time between two frames that tell a link of presence; what changes meanwhile waits, so there is no error.
  std::int64_t presence_every_ms = 1'000;

  // Patience.
  /// From a connection's first byte to its accepted hello or its complete HTTP request; it is closed.
  std::int64_t handshake_timeout_ms = 10'000;
  /// An HTTP connection without a request; it is closed.
  std::int64_t http_idle_timeout_ms = 60'000;
  /// A connection that takes none of the bytes waiting for it; it is closed.
  std::int64_t write_timeout_ms = 30'000;
  /// How long a stopping server waits for its answers to leave; then connections are closed.
  std::int64_t shutdown_timeout_ms = 5'000;

  // Work that waits inside the server, from all connections together.
  /// Commands waiting for the commit round -> RETRY_LATER.
  std::int64_t commit_queue_max = 20'000;
  /// Bytes of commands waiting for the commit round -> RETRY_LATER.
  std::int64_t commit_queue_bytes_max = 67'108'864;

  bool operator==(const Limits&) const = default;
};

}  // namespace tidemark
