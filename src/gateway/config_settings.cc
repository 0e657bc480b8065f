#include "gateway/config_settings.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/json_text.h"
#include "base/utf8.h"

namespace tidemark {
namespace {

constexpr std::int64_t kTextBytesMax = 4'096;
constexpr std::int64_t kMiB = 1'048'576;
constexpr std::int64_t kGiB = 1'024 * kMiB;

/// Reads and writes the member that `Member(config)` refers to, as the alternative of SettingValue that fits its type.
template <auto Member>
struct Access {
  using Type = std::remove_cvref_t<decltype(Member(std::declval<Config&>()))>;
  static constexpr bool kIsWord = std::is_enum_v<Type>;

  static SettingValue get(const Config& config) {
    if constexpr (kIsWord)
      return static_cast<std::int64_t>(Member(config));
    else
      return Member(config);
  }
  static void set(Config& config, const SettingValue& value) {
    if constexpr (kIsWord)
      Member(config) = static_cast<Type>(std::get<std::int64_t>(value));
    else
      Member(config) = std::get<Type>(value);
  }
};

template <auto Member>
ConfigSetting made(ConfigSetting setting) {
  setting.get = Access<Member>::get;
  setting.set = Access<Member>::set;
  return setting;
}

// NOLINTBEGIN(bugprone-macro-parentheses): paths of members and whole initializers, not operands.
#define TM_MEMBER(path) [](auto& config) -> auto& { return config.path; }
#define TM_NUMBER(path, least, most, sentence)        \
  made<TM_MEMBER(path)>({.name = #path,               \
                         .kind = SettingKind::number, \
                         .explanation = sentence,     \
                         .min = least,                \
                         .max = most,                 \
                         .get = nullptr,              \
                         .set = nullptr})
#define TM_YES_NO(path, sentence) \
  made<TM_MEMBER(path)>(          \
      {.name = #path, .kind = SettingKind::yes_no, .explanation = sentence, .get = nullptr, .set = nullptr})
#define TM_TEXT(path, least, sentence)              \
  made<TM_MEMBER(path)>({.name = #path,             \
                         .kind = SettingKind::text, \
                         .explanation = sentence,   \
                         .min = least,              \
                         .max = kTextBytesMax,      \
                         .get = nullptr,            \
                         .set = nullptr})
#define TM_CHOICE(path, sentence, ...)                \
  made<TM_MEMBER(path)>({.name = #path,               \
                         .kind = SettingKind::choice, \
                         .explanation = sentence,     \
                         .words = {__VA_ARGS__},      \
                         .get = nullptr,              \
                         .set = nullptr})
#define TM_LIMIT(path, least, most, code, sentence)          \
  made<TM_MEMBER(limits.path)>({.name = "limits." #path,     \
                                .kind = SettingKind::number, \
                                .explanation = sentence,     \
                                .min = least,                \
                                .max = most,                 \
                                .refusal = code,             \
                                .get = nullptr,              \
                                .set = nullptr})
#define TM_PLAIN(path, least, most, sentence) TM_NUMBER(limits.path, least, most, sentence)
// NOLINTEND(bugprone-macro-parentheses)

std::vector<ConfigSetting> make_settings() {
  using enum ErrorCode;
  // clang-format off
  return {
      TM_TEXT(data, 1, "The directory of the store and the secrets. It is made at the first start."),
      TM_CHOICE(users, "Who is a user: open takes whoever a token or a message names, registered only those whom the admin "
                "API has made.", "open", "registered"),
      TM_YES_NO(read_on_send, "Whether sending a message also marks everything before it as read."),

      TM_TEXT(listen.host, 1, "The address to listen on. Beyond this machine (say 0.0.0.0 or ::) the server asks for [tls], "
              "or for insecure = true."),
      TM_NUMBER(listen.port, 0, 65'535, "The TCP port to listen on; 0 takes a free one and says which."),
      TM_YES_NO(listen.insecure, "Whether it may listen beyond this machine without TLS: only behind a proxy that adds TLS, "
                "for otherwise tokens and messages travel in clear text."),

      TM_TEXT(tls.certificate, 0, "PEM file of the server's certificate, followed by those that lead to the root. Given "
              "together with key, everything is served over TLS."),
      TM_TEXT(tls.key, 0, "PEM file of the certificate's private key, not encrypted."),

      TM_TEXT(auth.audience, 1, "What a user token must name in its aud."),
      TM_TEXT(auth.issuer, 0, "What a user token checked by public_key or jwks must name in its iss; empty takes any."),
      TM_TEXT(auth.public_key, 0, "PEM file of the public key (Ed25519, RSA of 2048 bits or more, or P-256) that user tokens "
              "are signed for. The key alone decides the algorithm: EdDSA, RS256 or ES256. Empty: user tokens are HS256 by "
              "the file secret.key in the data directory, whose text without its line end is the secret."),
      TM_TEXT(auth.jwks, 0, "JWKS file with one or more such keys, chosen by kid, in place of public_key; it is read again "
              "when it changes."),
      TM_YES_NO(auth.allow_local, "Whether user tokens made with the data directory's own secret (tidemark token) are taken "
                "too when public_key or jwks is given."),
      TM_NUMBER(auth.leeway_s, 0, 300, "How many seconds the clocks of this server and of whoever makes tokens may be apart."),
      TM_NUMBER(auth.default_ttl_s, 1, 315'360'000, "For how many seconds tokens of tidemark token are good."),
      TM_NUMBER(auth.admin_ttl_s, 1, 315'360'000, "The same for admin tokens."),

      TM_CHOICE(devices.policy, "How many devices a user may be logged in on: multi allows max of them, single one, "
                "one_per_platform one of each platform that their apps name (ios, web ...) and max in all.", "multi",
                "single", "one_per_platform"),
      TM_NUMBER(devices.max, 1, 1'000, "Devices that a user may be logged in on at a time."),
      TM_CHOICE(devices.when_full, "What becomes of a login that is one too many: with replace another device is logged "
                "out for it, the one that was active least recently, and told OTHER_DEVICE; with refuse it is answered "
                "TOO_MANY_DEVICES.", "replace", "refuse"),

      TM_YES_NO(presence.online, "Whether users may see who of those with whom they have a single chat is online."),
      TM_YES_NO(presence.last_seen, "Whether they also see when somebody who is offline was there last."),

      TM_CHOICE(priority.high, "Who may send messages of high priority, which overtake those of other conversations: "
                "everyone, users of level paid or vip and above, or the application alone (admin).", "everyone", "paid",
                "vip", "admin"),
      TM_CHOICE(priority.low, "The same for low priority: messages that may wait up to five seconds.", "everyone", "paid",
                "vip", "admin"),

      TM_TEXT(hooks.url, 0, "Where the application is told of what happens, by POST: http:// or https:// and what follows. "
              "Empty: it is not told."),
      TM_TEXT(hooks.secret, 0, "What the requests are signed with, 16 bytes or more; the application has it too. Empty: the "
              "text of the file hooks.key in the data directory, which is made at the first start."),
      TM_TEXT(hooks.ca, 0, "PEM file of the certificates to trust for https; empty: the system's."),
      TM_YES_NO(hooks.messages, "Whether it is told of messages that were sent."),
      TM_YES_NO(hooks.changes, "Whether it is told of messages that were edited, recalled or deleted, and of reactions."),
      TM_YES_NO(hooks.groups, "Whether it is told of who joins, leaves or is removed, of roles, titles and policies, and of "
                "groups that end."),
      TM_YES_NO(hooks.devices, "Whether it is told of devices that are logged in, logged out, removed, or make room for "
                "another."),
      TM_YES_NO(hooks.attachments, "Whether it is told of attachments whose time has come (expires_at)."),
      TM_NUMBER(hooks.timeout_ms, 100, 120'000, "How long a request waits for its answer; then it counts as failed."),
      TM_NUMBER(hooks.parallel, 1, 64, "Requests at once. Those of one conversation follow each other."),
      TM_NUMBER(hooks.tries, 1, 1'000, "Tries after which an event is given up and kept among the dead (tidemark hooks). "
                "Nobody there to connect to is no try: then everything waits."),
      TM_NUMBER(hooks.retry_ms, 10, 600'000, "The wait after a first failure; each further one doubles it, and a part of it is "
                "left to chance."),
      TM_NUMBER(hooks.retry_max_ms, 10, 86'400'000, "The longest such wait."),
      TM_NUMBER(hooks.waiting_max, 100, 1'000'000'000, "Events that wait on disk, about 60 bytes each. What comes beyond it is "
                "not kept; later one event tells how many were lost."),
      TM_NUMBER(hooks.dead_max, 1, 10'000'000, "Dead events that are kept; beyond it the oldest are forgotten."),
      TM_TEXT(hooks.before_send_url, 0, "Where the application is asked before a message is taken; it may refuse or amend it. "
              "Empty: it is not asked."),
      TM_NUMBER(hooks.before_send_timeout_ms, 10, 60'000, "How long a message waits for that answer."),
      TM_NUMBER(hooks.before_send_parallel, 1, 64, "Messages asked about at once."),
      TM_CHOICE(hooks.when_down, "What happens to a message when there is no such answer: allow takes it as it is, refuse "
                "answers HOOK_UNAVAILABLE.", "allow", "refuse"),
      TM_TEXT(hooks.notify_url, 0, "Where the application is told whom to notify by phone push, mail or the like, because no "
              "push of ours has reached him. Empty: it is not told."),
      TM_NUMBER(hooks.notify_after_ms, 1'000, 600'000, "How long a connected device may leave a message unacknowledged until "
                "its user is notified; who has none is notified at once."),
      TM_YES_NO(hooks.notify_text, "Whether notifications hold the text of messages."),

      TM_NUMBER(store.cache_bytes, kMiB, 1'024 * kGiB, "Memory for blocks read from disk."),
      TM_NUMBER(store.page_cache_bytes, 0, kGiB, "Memory for the newest messages of large groups, which thousands ask for at "
                "once. 0: each of them reads from the store."),
      TM_NUMBER(store.write_buffer_bytes, kMiB, 4 * kGiB, "Memory in which writes, durable in the commit log, are gathered "
                "before they go into sorted files. More of it makes a restart after a crash slower."),
      TM_NUMBER(store.segment_bytes, kMiB, kGiB, "Size of one file of the commit log, made before it is needed."),
      TM_NUMBER(store.archive_hours, 0, 87'600, "How long files of the commit log that are not needed any more are kept in "
                "store/log/archive, so that a backup can be restored to any moment since. 0: they are used again, and what "
                "is there goes."),
      TM_NUMBER(store.min_free_bytes, 0, 1'024 * kGiB, "Free space on disk below which sends are refused with RETRY_LATER "
                "while reads go on. With 0 sends go on to the last byte, and on a disk without any room no server starts, "
                "not even for reading."),
      TM_NUMBER(store.round_commands_max, 1, 65'536, "Commands that one commit round takes together and makes durable by one "
                "sync."),

      TM_NUMBER(threads.readers, 1, 256, "Threads that read from the store."),

      TM_CHOICE(log.level, "The least important lines that are still written to stderr.", "debug", "info", "warning",
                "error", "off"),
      TM_CHOICE(log.format, "Lines for people (key=value) or for programs (one JSON object a line).", "text", "json"),

      TM_LIMIT(frame_bytes_max, 4'096, 64 * kMiB, TOO_LARGE, "Payload of a WebSocket message; the connection is closed as "
               "well."),
      TM_LIMIT(frame_fragments_max, 1, 65'536, TOO_LARGE, "Frames of a WebSocket message; the connection is closed as well."),
      TM_LIMIT(http_body_bytes_max, 4'096, 64 * kMiB, TOO_LARGE, "Body of an HTTP request."),
      TM_LIMIT(http_header_bytes_max, 1'024, kMiB, TOO_LARGE, "Request line and header fields of an HTTP request together."),
      TM_LIMIT(http_target_bytes_max, 512, kMiB, TOO_LARGE, "Path and query of an HTTP request."),

      TM_LIMIT(body_bytes_max, 64, 8 * kMiB, TOO_LARGE, "A message's body as stored, in UTF-8 bytes."),
      TM_LIMIT(attachments_max, 0, 1'000, LIMIT_REACHED, "Attachments of a message."),
      TM_LIMIT(mentions_max, 0, 200, LIMIT_REACHED, "Users mentioned in a message."),

      TM_LIMIT(dedup_accept_ms, 60'000, 82'800'000, CLIENT_MSG_ID_EXPIRED, "How old the time of a client_msg_id may be. What "
               "was sent is remembered for 25 hours, so at most 23 hours are safe."),
      TM_LIMIT(future_ms, 0, 3'600'000, CLIENT_MSG_ID_EXPIRED, "How far in the future the time of a client_msg_id may lie."),

      TM_LIMIT(recall_ms, 0, 31'536'000'000, TOO_LATE, "How long after a message its author may recall it; 0: at any time. "
               "Operators always may."),
      TM_LIMIT(edit_ms, 0, 31'536'000'000, TOO_LATE, "How long after a message its author may edit it; 0: at any time."),
      TM_PLAIN(inline_bytes, 256, 8 * kMiB, "A body longer than this travels in pushes and pages as its front, with length and "
               "hash; whoever wants all of it asks for it."),
      TM_LIMIT(reactions_per_user_max, 1, 100, LIMIT_REACHED, "Reactions of one user to one message."),
      TM_LIMIT(reactions_per_message_max, 1, 100, LIMIT_REACHED, "Different reactions to one message. Their numbers are "
               "rewritten with the message at each reaction."),

      TM_LIMIT(delete_max, 1, 100'000, LIMIT_REACHED, "Entries that one deletion for oneself looks at."),
      TM_LIMIT(settings_max, 0, 10'000, LIMIT_REACHED, "Settings of a user."),
      TM_LIMIT(setting_bytes_max, 1, 65'536, TOO_LARGE, "A setting's value in UTF-8 bytes."),
      TM_LIMIT(blocked_max, 0, 100'000, LIMIT_REACHED, "Users whom one user blocks."),
      TM_PLAIN(tombstone_ms, 3'600'000, 31'536'000'000, "How long devices can learn of removed conversations and other "
               "things taken away; one that was away for longer begins anew."),

      TM_LIMIT(small_max, 2, 500, std::nullopt, "Members up to which a group is small: what is said in it touches the index of each of them. "
               "A larger one is kept in step by where its log stands; it is small again at four fifths of this."),
      TM_LIMIT(large_max, 2, 1'000'000, LIMIT_REACHED, "Members of a group."),
      TM_LIMIT(members_per_call, 1, 10'000, LIMIT_REACHED, "Users named in one call about a group."),
      TM_LIMIT(title_bytes_max, 1, 4'096, OUT_OF_RANGE, "A group's title in UTF-8 bytes."),
      TM_LIMIT(newcomers_last_max, 0, 100'000, OUT_OF_RANGE, "Messages from before they joined that a group may show to "
               "newcomers."),
      TM_LIMIT(group_data_bytes_max, 0, 65'536, TOO_LARGE, "What an application keeps of its own with a group, in UTF-8 "
               "bytes."),

      TM_LIMIT(connections_max, 1, 1'000'000, TOO_MANY_CONNECTIONS, "Open connections in all. Each takes a file descriptor, "
               "of which many systems give a process 20,000 at most."),
      TM_LIMIT(connections_per_user_max, 1, 100'000, TOO_MANY_CONNECTIONS, "Live connections of one user."),
      TM_LIMIT(connections_per_address_max, 1, 1'000'000, TOO_MANY_CONNECTIONS, "Open connections from one address; this "
               "machine's own addresses are not counted."),
      TM_PLAIN(unanswered_max, 1, 100'000, "Requests of one connection that wait for their answer; the next is read when "
               "there is room."),
      TM_PLAIN(unanswered_bytes_max, 65'536, kGiB, "Bytes of such requests together."),

      TM_LIMIT(messages_per_second, 0, 1'000'000, RATE_LIMITED, "Messages a user may send a second in the long run; 0 is no "
               "limit."),
      TM_LIMIT(messages_burst, 1, 1'000'000, RATE_LIMITED, "Messages a user may send at once after a rest."),
      TM_LIMIT(requests_per_second, 0, 1'000'000, RATE_LIMITED, "Requests of all kinds a user may make a second in the long "
               "run; 0 is no limit."),
      TM_LIMIT(requests_burst, 1, 1'000'000, RATE_LIMITED, "Requests of all kinds a user may make at once after a rest."),
      TM_LIMIT(logins_per_minute, 0, 1'000'000, RATE_LIMITED, "Logins a user may make a minute in the long run; 0 is no "
               "limit."),
      TM_LIMIT(logins_burst, 1, 1'000'000, RATE_LIMITED, "Logins a user may make at once after a rest."),
      TM_LIMIT(ephemerals_per_second, 0, 1'000'000, RATE_LIMITED, "Ephemerals (typing and the like) a user may send a "
               "second in the long run; 0 is no limit."),
      TM_LIMIT(ephemerals_burst, 1, 1'000'000, RATE_LIMITED, "Ephemerals a user may send at once after a rest."),
      TM_PLAIN(rate_users_max, 100, 100'000'000, "Users whose rates are kept in mind at once; beyond it the one seen longest "
               "ago is forgotten."),

      TM_PLAIN(page_default, 1, 1'000, "Messages on a page of history when a request names no limit."),
      TM_LIMIT(page_max, 1, 1'000, OUT_OF_RANGE, "Messages on a page of history."),
      TM_PLAIN(sync_default, 1, 1'000, "Changed objects of a sync answer when a request names no limit."),
      TM_LIMIT(sync_max, 1, 1'000, OUT_OF_RANGE, "Changed objects of a sync answer."),
      TM_LIMIT(recent_max, 1, 200, OUT_OF_RANGE, "Newest messages of each conversation that a sync may ask for."),
      TM_PLAIN(sync_bytes_default, 4'096, 64 * kMiB, "Bytes of a sync answer when a request names none."),
      TM_LIMIT(sync_bytes_max, 4'096, 64 * kMiB, OUT_OF_RANGE, "Bytes of a sync answer that a request may ask for."),
      TM_PLAIN(hole_above, 50, 100'000, "A device that lacks more entries of a conversation than this gets the newest page "
               "and is told of the hole."),
      TM_PLAIN(preview_bytes, 0, 4'096, "Bytes of a conversation's preview; longer texts are cut between characters."),

      TM_PLAIN(push_entries, 1, 1'000, "Entries pushed in one round."),
      TM_PLAIN(push_bytes, 4'096, 16 * kMiB, "Bytes pushed in one round."),
      TM_PLAIN(gap_wait_ms, 0, 60'000, "How long a client waits for a reordered push before it pulls."),
      TM_PLAIN(heartbeat_ms, 1'000, 600'000, "Time between two heartbeats of a client."),
      TM_PLAIN(heartbeats_missed, 1, 100, "Heartbeats missed until a connection counts as dead."),
      TM_PLAIN(ack_ms, 100, 60'000, "Latest time at which a client acks an entry."),
      TM_PLAIN(ack_entries, 1, 1'000, "Entries after which a client acks at the latest."),
      TM_PLAIN(push_again_ms, 1'000, 600'000, "An entry not acked for so long on a live connection is pushed again."),
      TM_PLAIN(push_again_times, 0, 100, "How often an entry is pushed again before the connection is closed."),

      TM_LIMIT(presence_watched_max, 0, 10'000, LIMIT_REACHED, "Users whose presence a connection may watch."),
      TM_PLAIN(presence_every_ms, 100, 600'000, "Least time between two frames that tell a connection of presence; what "
               "changes meanwhile is told together."),

      TM_PLAIN(handshake_timeout_ms, 100, 600'000, "Time from a connection's first byte to its accepted hello or its complete "
               "HTTP request; then it is closed."),
      TM_PLAIN(http_idle_timeout_ms, 100, 3'600'000, "How long an HTTP connection may stay without a request."),
      TM_PLAIN(write_timeout_ms, 100, 600'000, "How long a connection may take none of the bytes waiting for it."),
      TM_PLAIN(shutdown_timeout_ms, 0, 600'000, "How long a stopping server waits for its answers to leave."),

      TM_LIMIT(commit_queue_max, 1, 10'000'000, RETRY_LATER, "Commands of all connections waiting to be committed."),
      TM_LIMIT(commit_queue_bytes_max, kMiB, 64 * kGiB, RETRY_LATER, "Bytes of such commands together."),
  };
  // clang-format on
}

std::unexpected<Error> refuse(ErrorCode code, const ConfigSetting& setting, std::string_view place,
                              std::string_view what) {
  std::string detail(place);
  detail.append(": ").append(setting.name).append(" ").append(what).append("; it must be ");
  return fail(code, std::string(setting.name), detail.append(allowed_values(setting)).append("."));
}

/// A choice by its word becomes the number of its word.
Result<SettingValue> number_of_word(const ConfigSetting& setting, const std::string& word, std::string_view place) {
  const auto found = std::find(setting.words.begin(), setting.words.end(), word);
  if (found == setting.words.end()) {
    std::string what = "is ";
    append_json_string(what, word);
    return refuse(ErrorCode::OUT_OF_RANGE, setting, place, what);
  }
  return SettingValue(found - setting.words.begin());
}

/// Edits (insertions, deletions, changes, swaps of neighbours) from one text to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

std::span<const ConfigSetting> settings() {
  static const std::vector<ConfigSetting> all = make_settings();
  return all;
}

const ConfigSetting* find_setting(std::string_view name) {
  for (const ConfigSetting& setting : settings())
    if (setting.name == name) return &setting;
  return nullptr;
}

std::string nearest_setting(std::string_view name) {
  if (name.empty() || name.size() > 80) return {};
  std::string_view nearest;
  std::size_t least = 1 + std::max<std::size_t>(1, name.size() / 5);
  for (const ConfigSetting& setting : settings()) {
    // The right name in the wrong section, or without one, is as near as one slip.
    const bool same_end = last_part(setting.name) == last_part(name);
    const std::size_t edits =
        same_end ? std::min<std::size_t>(1, distance(setting.name, name)) : distance(setting.name, name);
    if (edits < least) least = edits, nearest = setting.name;
  }
  return std::string(nearest);
}

std::string environment_name(std::string_view setting) {
  std::string name = "TIDEMARK_";
  for (const char c : setting) name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string allowed_values(const ConfigSetting& setting) {
  switch (setting.kind) {
    case SettingKind::number:
      return "a number from " + std::to_string(setting.min) + " to " + std::to_string(setting.max);
    case SettingKind::yes_no:
      return "true or false";
    case SettingKind::text:
      return std::string(setting.min > 0 ? "a text of " + std::to_string(setting.min) : "a text of 0") + " to " +
             std::to_string(setting.max) + " bytes";
    case SettingKind::choice:
      break;
  }
  std::string list;
  for (std::size_t i = 0; i < setting.words.size(); ++i) {
    if (i > 0) list += i + 1 == setting.words.size() ? " or " : ", ";
    list.append("\"").append(setting.words[i]).append("\"");
  }
  return list;
}

Result<void> apply_setting(Config& config, const ConfigSetting& setting, const SettingValue& value,
                           std::string_view place) {
  const std::size_t wanted = setting.kind == SettingKind::number ? 0 : setting.kind == SettingKind::yes_no ? 1 : 2;
  if (value.index() != wanted) return refuse(ErrorCode::MALFORMED, setting, place, "is of another type");
  if (setting.kind == SettingKind::choice) {
    TM_ASSIGN(const SettingValue number, number_of_word(setting, std::get<std::string>(value), place));
    setting.set(config, number);
    return {};
  }
  if (setting.kind == SettingKind::number) {
    const std::int64_t number = std::get<std::int64_t>(value);
    if (number < setting.min || number > setting.max)
      return refuse(ErrorCode::OUT_OF_RANGE, setting, place, "is " + std::to_string(number));
  }
  if (setting.kind == SettingKind::text) {
    const std::string& text = std::get<std::string>(value);
    const auto size = static_cast<std::int64_t>(text.size());
    if (size < setting.min || size > setting.max)
      return refuse(ErrorCode::OUT_OF_RANGE, setting, place, "has " + std::to_string(size) + " bytes");
    if (!valid_utf8(text) || text.find('\0') != text.npos)
      return refuse(ErrorCode::MALFORMED, setting, place, "is not UTF-8 text");
  }
  setting.set(config, value);
  return {};
}

Result<SettingValue> setting_value_of(const ConfigSetting& setting, std::string_view text, std::string_view place) {
  if (setting.kind == SettingKind::text || setting.kind == SettingKind::choice) return SettingValue(std::string(text));
  if (setting.kind == SettingKind::yes_no) {
    if (text == "true" || text == "false") return SettingValue(text == "true");
  } else {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) return refuse(ErrorCode::OUT_OF_RANGE, setting, place, "is too large");
    if (error == std::errc() && end == text.data() + text.size()) return SettingValue(number);
  }
  std::string what = "is ";
  append_json_string(what, text.substr(0, 80));
  return refuse(ErrorCode::MALFORMED, setting, place, what);
}

}  // namespace tidemark
