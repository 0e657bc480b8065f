#include "store/keys.h"

#include <optional>

#include "base/check.h"
#include "base/codec.h"
#include "core/conversation_id.h"

namespace tidemark::keys {
namespace {

/// In place of a name or conversation that there cannot be: nothing is stored under it, so nothing is found.
constexpr std::uint8_t kNothing = 0xfe;

void add_name(ByteWriter& out, std::string_view name) {
  if (name.size() >= kNothing) return out.u8(kNothing);
  out.u8(static_cast<std::uint8_t>(name.size()));
  out.raw(name);
}

void add_conversation(ByteWriter& out, const ConversationId& id) {
  const auto parsed = parse_conversation(id);
  if (!parsed) return out.u8(kNothing);
  if (parsed->kind == ConversationKind::group) {
    out.u8(2);
    out.be64(parsed->group);
  } else {
    out.u8(1);
    add_name(out, parsed->a.value);
    add_name(out, parsed->b.value);
  }
}

std::string under_user(const UserId& user, char kind) {
  std::string key;
  ByteWriter out(key);
  add_name(out, user.value);
  out.u8(static_cast<std::uint8_t>(kind));
  return key;
}

}  // namespace

std::string user(const UserId& user) {
  std::string key;
  ByteWriter out(key);
  add_name(out, user.value);
  return key;
}

std::string conversation(const ConversationId& id) {
  std::string key;
  ByteWriter out(key);
  add_conversation(out, id);
  return key;
}

std::string entry(const ConversationId& id, Seq seq) {
  std::string key = conversation(id);
  ByteWriter(key).be64(seq.value);
  return key;
}

std::string entry(std::string_view conversation, Seq seq) {
  std::string key;
  key.reserve(conversation.size() + sizeof seq.value);
  key = conversation;
  ByteWriter(key).be64(seq.value);
  return key;
}

bool names_conversation(std::string_view conversation) {
  return !conversation.empty() && static_cast<std::uint8_t>(conversation.front()) != kNothing;
}

// In tables of their own the same place has the same name.
std::string touch(const ConversationId& id, Seq seq) {
  return entry(id, seq);
}

std::string leave(const ConversationId& id, Seq seq) {
  return entry(id, seq);
}

std::string members(const ConversationId& id) {
  return conversation(id).append(1, '\xff');  // no seq begins so
}

std::string leaves_end(const ConversationId& id) {
  return members(id);
}

std::string member(const ConversationId& id, const Member& member) {
  std::string key = members(id);
  ByteWriter out(key);
  out.be64(member.join.value);
  out.raw(member.user.value);
  return key;
}

Member member_in(const ConversationId& id, std::string_view key) {
  ByteReader in(key.substr(members(id).size()));
  Member member;
  member.join = Seq(in.be64());
  member.user = UserId(in.raw(in.left()));
  return member;
}

std::string large_groups(const UserId& user) {
  return under_user(user, 'l');
}

std::string large_group(const UserId& user, const ConversationId& id) {
  std::string key = large_groups(user);
  ByteWriter out(key);
  add_conversation(out, id);
  return key;
}

ConversationId large_group_in(const UserId& user, std::string_view key) {
  ByteReader in(key.substr(large_groups(user).size()));
  in.u8();
  return group_conversation(in.be64());
}

// Conversations begin with 1 or 2: these stand apart from the touches beside them.
std::string reactions(const ConversationId& id, Seq seq) {
  return '\3' + entry(id, seq);
}

std::string reaction(const ConversationId& id, Seq seq, const UserId& user) {
  std::string key = reactions(id, seq);
  ByteWriter out(key);
  add_name(out, user.value);
  return key;
}

UserId user_of_reaction(const ConversationId& id, Seq seq, std::string_view key) {
  return UserId(key.substr(reactions(id, seq).size() + 1));
}

std::string row(const UserId& user, const ConversationId& id) {
  std::string key = under_user(user, 'r');
  ByteWriter out(key);
  add_conversation(out, id);
  return key;
}

std::string by_mark(const UserId& user, Order order, Mark mark) {
  std::string key = under_user(user, static_cast<char>(order));
  ByteWriter(key).be64(~mark.value);
  return key;
}

Mark mark_in(std::string_view key) {
  return Mark(~ByteReader(key.substr(key.size() - 8)).be64());
}

std::string object(const UserId& user, std::string_view name) {
  return under_user(user, 'o').append(name);
}

std::string object_by_mark(const UserId& user, Mark mark, std::string_view name) {
  std::string key = under_user(user, 'n');
  ByteWriter(key).be64(~mark.value);
  return key.append(name);
}

std::string object_name_in(const UserId& user, std::string_view key) {
  return std::string(key.substr(object_by_mark(user, Mark(), "").size()));
}

std::string tombstone_hour(std::uint32_t hour) {
  std::string key;
  ByteWriter out(key);
  out.u8(0);
  out.be32(hour);
  return key;
}

std::string tombstone(const Tombstone& tombstone) {
  std::string key = tombstone_hour(tombstone.hour);
  ByteWriter out(key);
  add_name(out, tombstone.user.value);
  out.raw(tombstone.name);
  return key;
}

Tombstone tombstone_in(std::string_view key) {
  ByteReader in(key);
  in.u8();
  Tombstone tombstone;
  tombstone.hour = in.be32();
  tombstone.user = UserId(in.raw(in.u8()));
  tombstone.name = in.raw(in.left());
  return tombstone;
}

std::string file_expiries() {
  return std::string(1, '\x06');
}

std::string file_expiry(const FileExpiry& expiry) {
  std::string key = file_expiries();
  ByteWriter(key).be64(static_cast<std::uint64_t>(expiry.at));
  return key.append(entry(expiry.conversation, expiry.seq));
}

FileExpiry file_expiry_in(std::string_view key, ConversationId conversation) {
  ByteReader in(key);
  in.u8();
  const auto at = static_cast<std::int64_t>(in.be64());
  in.raw(in.left() - std::min<std::size_t>(in.left(), sizeof(std::uint64_t)));
  return {at, std::move(conversation), Seq(in.be64())};
}

std::string dedup(const DedupKey& key) {
  std::string bytes = dedup_hour(key.hour);
  bytes.append(bytes_of(key.identity));
  return bytes;
}

std::string dedup_hour(std::uint32_t hour) {
  std::string key;
  ByteWriter(key).be32(hour);
  return key;
}

std::string devices(const UserId& user) {
  return under_user(user, 'd');
}

std::string device(const UserId& user, const DeviceId& device) {
  std::string key = devices(user);
  ByteWriter out(key);
  add_name(out, device.value);
  return key;
}

std::string push_token(std::string_view token) {
  std::string key(1, '\0');
  key.append(bytes_of(digest_of({token})));
  return key;
}

std::string installs(const UserId& user, const DeviceId& device) {
  std::string key = under_user(user, 'm');
  ByteWriter out(key);
  add_name(out, device.value);
  return key;
}

std::string mutations(const UserId& user, const DeviceId& device, const InstallId& install) {
  std::string key = installs(user, device);
  ByteWriter out(key);
  add_name(out, install.value);
  return key;
}

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  TM_CHECK(!prefix.empty(), "a prefix of 0xff bytes has no successor");
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

namespace {

constexpr std::size_t kNameMax = 64;

/// Where the name that begins at `place` ends; nothing when it is cut off.
std::optional<std::size_t> after_name(std::string_view key, std::size_t place) {
  if (place >= key.size()) return std::nullopt;
  const auto size = static_cast<std::uint8_t>(key[place]);
  if (size > kNameMax || key.size() - place - 1 < size) return std::nullopt;
  return place + 1 + size;
}

std::optional<std::size_t> after_conversation(std::string_view key, std::size_t place) {
  if (place >= key.size()) return std::nullopt;
  if (key[place] == 2) return key.size() - place < 9 ? std::nullopt : std::optional(place + 9);
  if (key[place] != 1) return std::nullopt;
  const auto first = after_name(key, place + 1);
  return first ? after_name(key, *first) : std::nullopt;
}

std::optional<std::size_t> after_owner(Table table, std::string_view key) {
  const auto fixed = [&](std::size_t bytes) { return key.size() < bytes ? std::nullopt : std::optional(bytes); };
  const bool special = !key.empty() && key[0] == 0;
  switch (table) {
    case Table::meta:
      return 0;
    case Table::entries:
    case Table::conversations:
      return after_conversation(key, 0);
    case Table::touches:
      return after_conversation(key, !key.empty() && key[0] == 3 ? 1 : 0);
    case Table::users:
      return after_name(key, 0);
    case Table::objects:
      return special ? fixed(5) : after_name(key, 0);  // an hour of what was taken away
    case Table::dedup:
      return fixed(5);  // an hour has far more than anybody else: by the first byte of the digest
    case Table::devices:
      return special ? std::nullopt : after_name(key, 0);
    case Table::events:
      return fixed(1);
  }
  return std::nullopt;
}

}  // namespace

std::size_t owner_bytes(Table table, std::string_view key) {
  return after_owner(table, key).value_or(key.size() + 1);
}

}  // namespace tidemark::keys
