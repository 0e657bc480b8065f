#include "client/replica_codec.h"

#include <concepts>
#include <limits>
#include <type_traits>

#include "base/codec.h"

namespace tidemark {
namespace {

using namespace replica;

// The members of each type. A structured binding names all of them or does not compile, so that none is forgotten.

template <typename T, typename Value>
concept Is = std::same_as<std::remove_const_t<T>, Value>;

void members(auto& archive, Is<Interval> auto& value) {
  auto& [after, to] = value;
  archive(after, to);
}
void members(auto& archive, Is<Hidden> auto& value) {
  auto& [after, to, reason] = value;
  archive(after, to, reason);
}
void members(auto& archive, Is<Epoch> auto& value) {
  auto& [number, id] = value;
  archive(number, id);
}
void members(auto& archive, Is<Cursor> auto& value) {
  auto& [epoch, mark, round] = value;
  archive(epoch, mark, round);
}
void members(auto& archive, Is<Attachment> auto& value) {
  auto& [url, size_bytes, mime, hash, expires_at] = value;
  archive(url, size_bytes, mime, hash, expires_at);
}
void members(auto& archive, Is<BodyCut> auto& value) {
  auto& [size_bytes, hash] = value;
  archive(size_bytes, hash);
}
void members(auto& archive, Is<Body> auto& value) {
  auto& [type, text, summary, data, attachments, encrypted, cut] = value;
  archive(type, text, summary, data, attachments, encrypted, cut);
}
void members(auto& archive, Is<MemberChange> auto& value) {
  auto& [action, users, role, visible_from, muted_until] = value;
  archive(action, users, role, visible_from, muted_until);
}
void members(auto& archive, Is<GroupPolicy> auto& value) {
  auto& [add, send, join, newcomers, newcomers_last] = value;
  archive(add, send, join, newcomers, newcomers_last);
}
void members(auto& archive, Is<ConfigChange> auto& value) {
  auto& [title, policy, data, dissolved, large] = value;
  archive(title, policy, data, dissolved, large);
}
void members(auto& archive, Is<Reaction> auto& value) {
  auto& [name, count, mine] = value;
  archive(name, count, mine);
}
void members(auto& archive, Is<ReactionChange> auto& value) {
  auto& [name, on] = value;
  archive(name, on);
}
void members(auto& archive, Is<Entry> auto& value) {
  auto& [seq, kind, ord, top, top_time, touch, server_time, epoch, round, sender, sender_device, client_msg_id,
         client_time, priority, state, revision, touched_by, reply_to, mentions, mention_all, body, target,
         target_sender, member, config, reactions, reacted, reaction] = value;
  archive(seq, kind, ord, top, top_time, touch, server_time, epoch, round, sender, sender_device, client_msg_id,
          client_time, priority, state, revision, touched_by, reply_to, mentions, mention_all, body, target,
          target_sender, member, config, reactions, reacted, reaction);
}
void members(auto& archive, Is<Period> auto& value) {
  auto& [join, leave, visible_from] = value;
  archive(join, leave, visible_from);
}
void members(auto& archive, Is<Unread> auto& value) {
  auto& [count, exact] = value;
  archive(count, exact);
}
void members(auto& archive, Is<Preview> auto& value) {
  auto& [seq, sender, server_time, state, type, text, cut] = value;
  archive(seq, sender, server_time, state, type, text, cut);
}
void members(auto& archive, Is<Change> auto& value) {
  auto& [conversation, kind, mark, head_seq, top, sort_time, member, role, periods, read, unread_flag, unread, cleared,
         touch_seq, removed, muted_until, pinned_at, large, mentions, mentioned_at, all_mentioned_at, title, peer,
         preview, messages, covers, more_messages, hidden] = value;
  archive(conversation, kind, mark, head_seq, top, sort_time, member, role, periods, read, unread_flag, unread, cleared,
          touch_seq, removed, muted_until, pinned_at, large, mentions, mentioned_at, all_mentioned_at, title, peer,
          preview, messages, covers, more_messages, hidden);
}
void members(auto& archive, Is<Pass> auto& value) {
  auto& [open, snapshot, id, epoch, p0, p0_round, low, page_token] = value;
  archive(open, snapshot, id, epoch, p0, p0_round, low, page_token);
}
void members(auto& archive, Is<DeviceState> auto& value) {
  auto& [user, device, install, generation, cursor, pass, clock_offset_ms, next_mutation, next_local_id] = value;
  archive(user, device, install, generation, cursor, pass, clock_offset_ms, next_mutation, next_local_id);
}
void members(auto& archive, Is<ConversationState> auto& value) {
  auto& [object, stale, coverage, tail, touched, bottom, local_read, server_flag, wants_read, wants_unread, named,
         epoch, lost, catching_up_from, forgotten, deleted, wants_deleted, local_cleared, wants_clear, local_removed,
         wants_remove, server_muted_until, server_pinned_at, wants_mute, wants_pin, guessed] = value;
  archive(object, stale, coverage, tail, touched, bottom, local_read, server_flag, wants_read, wants_unread, named,
          epoch, lost, catching_up_from, forgotten, deleted, wants_deleted, local_cleared, wants_clear, local_removed,
          wants_remove, server_muted_until, server_pinned_at, wants_mute, wants_pin, guessed);
}
void members(auto& archive, Is<RowNote> auto& value) {
  auto& [seq, server_time, revision, touched_by, reacted, echo, state, countable, mine, provisional] = value;
  archive(seq, server_time, revision, touched_by, reacted, echo, state, countable, mine, provisional);
}
void members(auto& archive, Is<OutboxItem> auto& value) {
  auto& [local_id, conversation, to, client_msg_id, id_time_ms, body, reply_to, mentions, priority, attempts, state,
         error, mention_all] = value;
  archive(local_id, conversation, to, client_msg_id, id_time_ms, body, reply_to, mentions, priority, attempts, state,
          error, mention_all);
}
void members(auto& archive, Is<MutationItem> auto& value) {
  auto& [number, kind, conversation, seq, body, base_revision, ranges, until, on, name, text] = value;
  archive(number, kind, conversation, seq, body, base_revision, ranges, until, on, name, text);
}
void members(auto& archive, Is<SavedDraft> auto& value) {
  auto& [conversation, body, reply_to, saved_at] = value;
  archive(conversation, body, reply_to, saved_at);
}
void members(auto& archive, Is<Setting> auto& value) {
  auto& [name, text] = value;
  archive(name, text);
}
void members(auto& archive, Is<BlockedUser> auto& value) {
  auto& [user, blocked] = value;
  archive(user, blocked);
}
void members(auto& archive, Is<DevicesChanged> auto& value) {
  auto& [changed_at] = value;
  archive(changed_at);
}
void members(auto& archive, Is<DeletedBlock> auto& value) {
  auto& [conversation, block, deleted, others] = value;
  archive(conversation, block, deleted, others);
}
void members(auto& archive, Is<UserObject> auto& value) {
  auto& [what, mark] = value;
  archive(what, mark);
}
void members(auto& archive, Is<ObjectState> auto& value) {
  auto& [object, wish, wanting, named] = value;
  archive(object, wish, wanting, named);
}

class Packer {
 public:
  explicit Packer(std::string& bytes) : out_(bytes) {}
  template <typename... T>
  void operator()(const T&... each) {
    (put(each), ...);
  }

 private:
  void put(bool value) { out_.u8(value); }
  void put(std::unsigned_integral auto value) { out_.varint(value); }
  void put(std::signed_integral auto value) { out_.svarint(value); }
  void put(const std::string& value) { out_.string(value); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void put(Enum value) {
    out_.u8(static_cast<std::uint8_t>(value));
  }
  /// By its name, which is stable; the enumerator's number here is not.
  void put(ErrorCode code) { out_.string(error_info(code).name); }
  template <typename Tag>
  void put(const Number<Tag>& value) {
    out_.varint(value.value);
  }
  template <typename Tag>
  void put(const Name<Tag>& value) {
    out_.string(value.value);
  }
  void put(const Digest& value) { out_.raw(bytes_of(value)); }
  void put(const Coverage& value) { put(value.ranges()); }
  void put(const SeqBits& value) { out_.string(value.bytes()); }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    out_.u8(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& each) { this->put(each); }, value);
  }
  void put(const Error& error) {
    auto& [code, field, detail, retry_after_ms, app_code] = error;
    (*this)(code, field, detail, retry_after_ms, app_code);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    out_.varint(values.size());
    for (const T& each : values) put(each);
  }
  template <typename T>
  void put(const T& value)
    requires requires(Packer& archive) { members(archive, value); }
  {
    members(*this, value);
  }

  ByteWriter out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : in_(bytes) {}
  bool done() const { return in_.done(); }
  template <typename... T>
  void operator()(T&... each) {
    (get(each), ...);
  }

 private:
  void refuse() { in_.raw(in_.left() + 1); }
  void get(bool& value) {
    const std::uint8_t byte = in_.u8();
    if (byte > 1) refuse();
    value = byte == 1;
  }
  template <std::unsigned_integral T>
  void get(T& value) {
    const std::uint64_t wide = in_.varint();
    if (wide > std::numeric_limits<T>::max()) refuse();
    value = static_cast<T>(wide);
  }
  void get(std::int64_t& value) { value = in_.svarint(); }
  void get(std::string& value) { value = in_.string(); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void get(Enum& value) {
    value = static_cast<Enum>(in_.u8());
  }
  void get(ErrorCode& code) { code = error_code_named(in_.string()).value_or(ErrorCode::INTERNAL); }
  template <typename Tag>
  void get(Number<Tag>& value) {
    value.value = in_.varint();
  }
  template <typename Tag>
  void get(Name<Tag>& value) {
    value.value = in_.string();
  }
  void get(Digest& value) {
    const std::string_view bytes = in_.raw(value.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) value[i] = static_cast<std::uint8_t>(bytes[i]);
  }
  void get(Coverage& value) {
    std::vector<Interval> ranges;
    get(ranges);
    value = Coverage(ranges);
  }
  void get(SeqBits& value) { value = SeqBits::from_bytes(in_.string()); }
  template <typename... T>
  void get(std::variant<T...>& value) {
    const std::size_t index = in_.u8();
    std::size_t place = 0;
    ((place++ == index ? get(value.template emplace<T>()) : void()), ...);
    if (index >= sizeof...(T)) refuse();
  }
  void get(Error& error) {
    auto& [code, field, detail, retry_after_ms, app_code] = error;
    (*this)(code, field, detail, retry_after_ms, app_code);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there)
      get(value.emplace());
    else
      value.reset();
  }
  template <typename T>
  void get(std::vector<T>& values) {
    values.clear();
    // Every element takes a byte at least: damage never makes us reserve the world.
    const std::uint64_t count = in_.varint();
    if (count > in_.left()) return refuse();
    for (std::uint64_t i = 0; i < count && in_.ok(); ++i) get(values.emplace_back());
  }
  template <typename T>
  void get(T& value)
    requires requires(Unpacker& archive) { members(archive, value); }
  {
    members(*this, value);
  }

  ByteReader in_;
};

}  // namespace

template <typename T>
std::string encode_stored(const T& value) {
  std::string bytes;
  Packer pack(bytes);
  pack(value);
  return bytes;
}

template <typename T>
bool decode_stored(std::string_view bytes, T& value) {
  Unpacker unpack(bytes);
  unpack(value);
  return unpack.done();
}

template std::string encode_stored(const Entry&);
template std::string encode_stored(const DeviceState&);
template std::string encode_stored(const ConversationState&);
template std::string encode_stored(const RowNote&);
template std::string encode_stored(const OutboxItem&);
template std::string encode_stored(const MutationItem&);
template std::string encode_stored(const ObjectState&);
template bool decode_stored(std::string_view, Entry&);
template bool decode_stored(std::string_view, DeviceState&);
template bool decode_stored(std::string_view, ConversationState&);
template bool decode_stored(std::string_view, RowNote&);
template bool decode_stored(std::string_view, OutboxItem&);
template bool decode_stored(std::string_view, MutationItem&);
template bool decode_stored(std::string_view, ObjectState&);

}  // namespace tidemark
