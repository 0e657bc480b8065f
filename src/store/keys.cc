#include "store/keys.h"

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

}  // namespace tidemark::keys
