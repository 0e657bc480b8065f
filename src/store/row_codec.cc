#include "store/row_codec.h"

#include "base/codec.h"

namespace tidemark {
namespace {

constexpr std::uint8_t kVersion = 1;

std::unexpected<Error> damaged(const char* what) {
  return fail(ErrorCode::INTERNAL, "", std::string("A stored ") + what + " cannot be read.");
}

void put_digest(ByteWriter& out, const Digest& digest) {
  out.raw(bytes_of(digest));
}

Digest get_digest(ByteReader& in) {
  Digest digest{};
  const std::string_view bytes = in.raw(digest.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) digest[i] = static_cast<std::uint8_t>(bytes[i]);
  return digest;
}

void put_users(ByteWriter& out, const std::vector<UserId>& users) {
  out.varint(users.size());
  for (const UserId& user : users) out.string(user.value);
}

/// A count that cannot be more than the bytes left, so that damage never makes us reserve the world.
std::size_t get_count(ByteReader& in) {
  const std::uint64_t count = in.varint();
  if (count <= in.left()) return count;
  in.raw(in.left() + 1);  // breaks the reader
  return 0;
}

std::vector<UserId> get_users(ByteReader& in) {
  std::vector<UserId> users(get_count(in));
  for (UserId& user : users) user = UserId(in.string());
  return users;
}

void put_seqs(ByteWriter& out, const std::vector<Seq>& seqs) {
  out.varint(seqs.size());
  for (const Seq seq : seqs) out.varint(seq.value);
}

std::vector<Seq> get_seqs(ByteReader& in) {
  std::vector<Seq> seqs(get_count(in));
  for (Seq& seq : seqs) seq = Seq(in.varint());
  return seqs;
}

/// Damage may hold any numbers.
std::int64_t earlier_by(std::int64_t time, std::int64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(by));
}

// body := string(type, "" for text) string(text) string(summary) string(data) string(encrypted)
//         count { string(url) varint(size) string(mime) string(hash) svarint(expires at) }
void put_body(ByteWriter& out, const Body& body) {
  out.string(body.type == "text" ? "" : body.type);
  out.string(body.text);
  out.string(body.summary);
  out.string(body.data);
  out.string(body.encrypted);
  out.varint(body.attachments.size());
  for (const Attachment& a : body.attachments) {
    out.string(a.url);
    out.varint(a.size_bytes);
    out.string(a.mime);
    out.string(a.hash);
    out.svarint(a.expires_at);
  }
}

Body get_body(ByteReader& in) {
  Body body;
  if (const auto type = in.string(); !type.empty()) body.type = type;
  body.text = in.string();
  body.summary = in.string();
  body.data = in.string();
  body.encrypted = in.string();
  body.attachments.resize(get_count(in));
  for (Attachment& a : body.attachments) {
    a.url = in.string();
    a.size_bytes = in.varint();
    a.mime = in.string();
    a.hash = in.string();
    a.expires_at = in.svarint();
  }
  return body;
}

// policy := u8(add) u8(send) u8(join) u8(newcomers) varint(newcomers_last)
void put_policy(ByteWriter& out, const GroupPolicy& policy) {
  out.u8(static_cast<std::uint8_t>(policy.add));
  out.u8(static_cast<std::uint8_t>(policy.send));
  out.u8(static_cast<std::uint8_t>(policy.join));
  out.u8(static_cast<std::uint8_t>(policy.newcomers));
  out.varint(policy.newcomers_last);
}

GroupPolicy get_policy(ByteReader& in) {
  GroupPolicy policy;
  policy.add = static_cast<Allowed>(in.u8());
  policy.send = static_cast<Allowed>(in.u8());
  policy.join = static_cast<JoinPolicy>(in.u8());
  policy.newcomers = static_cast<HistoryForNewcomers>(in.u8());
  policy.newcomers_last = static_cast<std::uint32_t>(in.varint());
  return policy;
}

constexpr std::uint8_t kDissolved = 1, kHasPolicy = 2, kHasData = 4, kBecomesLarge = 8, kBecomesSmall = 16;

// config := string(title) u8(parts) [policy] [string(data)]
void put_config(ByteWriter& out, const ConfigChange& config) {
  out.string(config.title);
  out.u8(static_cast<std::uint8_t>((config.dissolved ? kDissolved : 0) | (config.policy ? kHasPolicy : 0) |
                                   (config.data ? kHasData : 0) |
                                   (!config.large   ? 0
                                    : *config.large ? kBecomesLarge
                                                    : kBecomesSmall)));
  if (config.policy) put_policy(out, *config.policy);
  if (config.data) out.string(*config.data);
}

ConfigChange get_config(ByteReader& in) {
  ConfigChange config;
  config.title = in.string();
  const std::uint8_t parts = in.u8();
  config.dissolved = (parts & kDissolved) != 0;
  if (parts & kHasPolicy) config.policy = get_policy(in);
  if (parts & kHasData) config.data = in.string();
  if (parts & (kBecomesLarge | kBecomesSmall)) config.large = (parts & kBecomesLarge) != 0;
  return config;
}

// reactions := varint(reacted) count { string(name) varint(count) }
void put_reactions(ByteWriter& out, const Entry& message) {
  out.varint(message.reacted.value);
  out.varint(message.reactions.size());
  for (const Reaction& reaction : message.reactions) {
    out.string(reaction.name);
    out.varint(reaction.count);
  }
}

void get_reactions(ByteReader& in, Entry& message) {
  message.reacted = Seq(in.varint());
  message.reactions.resize(get_count(in));
  for (Reaction& reaction : message.reactions) {
    reaction.name = in.string();
    reaction.count = static_cast<std::uint32_t>(in.varint());
  }
}

constexpr std::uint8_t kHasBody = 1, kHasMember = 2, kHasConfig = 4, kHasTarget = 8, kMentionsAll = 16,
                       kHasReactions = 32, kHasReaction = 64;

// row := varint(head_mark) varint(state_mark) varint(head_seq) varint(top) svarint(sort_time) count { varint(join)
//        varint(leave) varint(visible_from) } u8(role) varint(read) u8(flags) varint(cleared) varint(touch_seq)
//        varint(own) varint(floor) varint(floor_ord) varint(floor_own)        behind string(conversation)
//        [varint(deleted_to) svarint(muted_until) svarint(pinned_at)]         with kRowIsSpecial
//        [count { varint(seq) }]                                              with kRowMentioned
constexpr std::uint8_t kRowUnread = 1, kRowRemoved = 2, kRowIsSpecial = 4, kRowLarge = 8, kRowMentioned = 16;

void put_row(ByteWriter& out, const UserConversation& row) {
  out.string(row.conversation.value);
  out.varint(row.head_mark.value);
  out.varint(row.state_mark.value);
  out.varint(row.head_seq.value);
  out.varint(row.top.value);
  out.svarint(row.sort_time);
  out.varint(row.periods.size());
  for (const Period& period : row.periods) {
    out.varint(period.join.value);
    out.varint(period.leave.value);
    out.varint(period.visible_from.value);
  }
  out.u8(static_cast<std::uint8_t>(row.role));
  out.varint(row.read.value);
  const bool special = row.deleted_to || row.muted_until != 0 || row.pinned_at != 0;
  out.u8(static_cast<std::uint8_t>((row.unread_flag ? kRowUnread : 0) | (row.removed ? kRowRemoved : 0) |
                                   (special ? kRowIsSpecial : 0) | (row.large ? kRowLarge : 0) |
                                   (row.mentions.empty() ? 0 : kRowMentioned)));
  out.varint(row.cleared.value);
  out.varint(row.touch_seq.value);
  out.varint(row.own);
  out.varint(row.floor.value);
  out.varint(row.floor_ord);
  out.varint(row.floor_own);
  if (special) {
    out.varint(row.deleted_to.value);
    out.svarint(row.muted_until);
    out.svarint(row.pinned_at);
  }
  if (!row.mentions.empty()) put_seqs(out, row.mentions);
}

UserConversation get_row(ByteReader& in) {
  UserConversation row;
  row.conversation = ConversationId(in.string());
  row.head_mark = Mark(in.varint());
  row.state_mark = Mark(in.varint());
  row.head_seq = Seq(in.varint());
  row.top = Seq(in.varint());
  row.sort_time = in.svarint();
  row.periods.resize(get_count(in));
  for (Period& period : row.periods) {
    period.join = Seq(in.varint());
    period.leave = Seq(in.varint());
    period.visible_from = Seq(in.varint());
  }
  row.role = static_cast<Role>(in.u8());
  row.read = Seq(in.varint());
  const std::uint8_t flags = in.u8();
  row.unread_flag = (flags & kRowUnread) != 0;
  row.removed = (flags & kRowRemoved) != 0;
  row.cleared = Seq(in.varint());
  row.touch_seq = Seq(in.varint());
  row.own = in.varint();
  row.floor = Seq(in.varint());
  row.floor_ord = in.varint();
  row.floor_own = in.varint();
  if (flags & kRowIsSpecial) {
    row.deleted_to = Seq(in.varint());
    row.muted_until = in.svarint();
    row.pinned_at = in.svarint();
  }
  row.large = (flags & kRowLarge) != 0;
  if (flags & kRowMentioned) row.mentions = get_seqs(in);
  return row;
}

void put_head(ByteWriter& out, const UserHead& head) {
  out.varint(head.mark.value);
  out.svarint(head.sort_time);
  out.varint(head.epoch);
  out.svarint(head.created_at);
  out.string(head.level);
  out.varint(head.object_mark.value);
  out.varint(head.blocked);
  out.varint(head.large_groups);
  out.varint(head.tombstones_dropped_to.value);
  out.svarint(head.logged_out_at);
  out.svarint(head.forgotten_at);
  out.varint(head.forgotten_round);
  out.svarint(head.deleted_at);
  out.varint(head.high_marks.size());
  for (const HighMark& mark : head.high_marks) {
    out.string(mark.conversation.value);
    out.varint(mark.seq.value);
  }
  out.be64(head.newest_id);
}

UserHead get_head(ByteReader& in) {
  UserHead head;
  head.mark = Mark(in.varint());
  head.sort_time = in.svarint();
  head.epoch = static_cast<std::uint32_t>(in.varint());
  head.created_at = in.svarint();
  head.level = in.string();
  head.object_mark = Mark(in.varint());
  head.blocked = static_cast<std::uint32_t>(in.varint());
  head.large_groups = static_cast<std::uint32_t>(in.varint());
  head.tombstones_dropped_to = Mark(in.varint());
  head.logged_out_at = in.svarint();
  head.forgotten_at = in.svarint();
  head.forgotten_round = in.varint();
  head.deleted_at = in.svarint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    HighMark& mark = head.high_marks.emplace_back();
    mark.conversation = ConversationId(in.string());
    mark.seq = Seq(in.varint());
  }
  head.newest_id = in.be64();
  return head;
}

/// Reads a value whole: version, content, nothing left over.
template <typename Read>
auto whole(std::string_view bytes, const char* what, Read read) -> Result<decltype(read(std::declval<ByteReader&>()))> {
  ByteReader in(bytes);
  if (in.u8() != kVersion) return damaged(what);
  auto value = read(in);
  if (!in.done()) return damaged(what);
  return value;
}

void begin(std::string& bytes) {
  bytes.push_back(static_cast<char>(kVersion));
}

}  // namespace

// entry := version u8(kind) varint(ord) varint(top) svarint(server_time) svarint(server_time - top_time) varint(touch)
//          varint(epoch) varint(round) string(sender)
//          string(sender_device) string(client_msg_id) svarint(client_time) u8(priority) u8(state) varint(revision)
//          varint(touched_by) varint(reply_to) users(mentions) u8(parts) [body] [member] [config]
//          [varint(target) string(target_sender)] [reactions] [string(reaction) u8(on)]
// member := u8(action) users u8(role) varint(visible_from) svarint(muted_until)
std::string encode(const Entry& entry) {
  std::string bytes;
  bytes.reserve(96 + entry.body.text.size());
  begin(bytes);
  ByteWriter out(bytes);
  out.u8(static_cast<std::uint8_t>(entry.kind));
  out.varint(entry.ord);
  out.varint(entry.top.value);
  out.svarint(entry.server_time);
  out.svarint(earlier_by(entry.server_time, entry.top_time));
  out.varint(entry.touch.value);
  out.varint(entry.epoch);
  out.varint(entry.round);
  out.string(entry.sender.value);
  out.string(entry.sender_device.value);
  out.string(entry.client_msg_id);
  out.svarint(entry.client_time);
  out.u8(static_cast<std::uint8_t>(entry.priority));
  out.u8(static_cast<std::uint8_t>(entry.state));
  out.varint(entry.revision.value);
  out.varint(entry.touched_by.value);
  out.varint(entry.reply_to.value);
  put_users(out, entry.mentions);
  const bool has_body = entry.countable() && !entry.dead();
  out.u8(static_cast<std::uint8_t>((has_body ? kHasBody : 0) | (entry.member ? kHasMember : 0) |
                                   (entry.config ? kHasConfig : 0) | (entry.target ? kHasTarget : 0) |
                                   (entry.mention_all ? kMentionsAll : 0) | (entry.reacted ? kHasReactions : 0) |
                                   (entry.reaction ? kHasReaction : 0)));
  if (has_body) put_body(out, entry.body);
  if (entry.member) {
    out.u8(static_cast<std::uint8_t>(entry.member->action));
    put_users(out, entry.member->users);
    out.u8(static_cast<std::uint8_t>(entry.member->role));
    out.varint(entry.member->visible_from.value);
    out.svarint(entry.member->muted_until);
  }
  if (entry.config) put_config(out, *entry.config);
  if (entry.target) {
    out.varint(entry.target.value);
    out.string(entry.target_sender.value);
  }
  if (entry.reacted) put_reactions(out, entry);
  if (entry.reaction) {
    out.string(entry.reaction->name);
    out.u8(entry.reaction->on ? 1 : 0);
  }
  return bytes;
}

Result<Entry> decode_entry(std::string_view bytes, Seq seq) {
  return whole(bytes, "entry", [seq](ByteReader& in) {
    Entry entry;
    entry.seq = seq;
    entry.kind = static_cast<EntryKind>(in.u8());
    entry.ord = in.varint();
    entry.top = Seq(in.varint());
    entry.server_time = in.svarint();
    entry.top_time = earlier_by(entry.server_time, in.svarint());
    entry.touch = Seq(in.varint());
    entry.epoch = static_cast<std::uint32_t>(in.varint());
    entry.round = in.varint();
    entry.sender = UserId(in.string());
    entry.sender_device = DeviceId(in.string());
    entry.client_msg_id = in.string();
    entry.client_time = in.svarint();
    entry.priority = static_cast<Priority>(in.u8());
    entry.state = static_cast<MessageState>(in.u8());
    entry.revision = Seq(in.varint());
    entry.touched_by = Seq(in.varint());
    entry.reply_to = Seq(in.varint());
    entry.mentions = get_users(in);
    const std::uint8_t parts = in.u8();
    entry.mention_all = (parts & kMentionsAll) != 0;
    if (parts & kHasBody) entry.body = get_body(in);
    if (parts & kHasMember) {
      MemberChange& member = entry.member.emplace();
      member.action = static_cast<MemberAction>(in.u8());
      member.users = get_users(in);
      member.role = static_cast<Role>(in.u8());
      member.visible_from = Seq(in.varint());
      member.muted_until = in.svarint();
    }
    if (parts & kHasConfig) entry.config = get_config(in);
    if (parts & kHasTarget) {
      entry.target = Seq(in.varint());
      entry.target_sender = UserId(in.string());
    }
    if (parts & kHasReactions) get_reactions(in, entry);
    if (parts & kHasReaction) {
      std::string name(in.string());
      entry.reaction = ReactionChange{std::move(name), in.u8() != 0};
    }
    return entry;
  });
}

// conversation := version u8(kind) string(title) policy string(data) varint(dissolved)
//                 count { string(user) u8(role) varint(join) } count { string(user) svarint(muted until) }
//                 count { varint(epoch) varint(cut) varint(first) } u8(large) varint(size)
//                 count { varint(mention of all) }
std::string encode(const Conversation& conversation) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.u8(static_cast<std::uint8_t>(conversation.kind));
  out.string(conversation.title);
  put_policy(out, conversation.policy);
  out.string(conversation.data);
  out.varint(conversation.dissolved.value);
  out.varint(conversation.members.size());
  for (const Member& member : conversation.members) {
    out.string(member.user.value);
    out.u8(static_cast<std::uint8_t>(member.role));
    out.varint(member.join.value);
  }
  out.varint(conversation.mutes.size());
  for (const Mute& mute : conversation.mutes) {
    out.string(mute.user.value);
    out.svarint(mute.until);
  }
  out.varint(conversation.jumps.size());
  for (const Jump& jump : conversation.jumps) {
    out.varint(jump.epoch);
    out.varint(jump.cut.value);
    out.varint(jump.first.value);
  }
  out.u8(conversation.large ? 1 : 0);
  out.varint(conversation.size);
  put_seqs(out, conversation.mentions_of_all);
  return bytes;
}

Result<Conversation> decode_conversation(std::string_view bytes, const ConversationId& id) {
  return whole(bytes, "conversation", [&id](ByteReader& in) {
    Conversation conversation;
    conversation.id = id;
    conversation.kind = static_cast<ConversationKind>(in.u8());
    conversation.title = in.string();
    conversation.policy = get_policy(in);
    conversation.data = in.string();
    conversation.dissolved = Seq(in.varint());
    conversation.members.resize(get_count(in));
    for (Member& member : conversation.members) {
      member.user = UserId(in.string());
      member.role = static_cast<Role>(in.u8());
      member.join = Seq(in.varint());
    }
    conversation.mutes.resize(get_count(in));
    for (Mute& mute : conversation.mutes) {
      mute.user = UserId(in.string());
      mute.until = in.svarint();
    }
    conversation.jumps.resize(get_count(in));
    for (Jump& jump : conversation.jumps) {
      jump.epoch = static_cast<std::uint32_t>(in.varint());
      jump.cut = Seq(in.varint());
      jump.first = Seq(in.varint());
    }
    conversation.large = in.u8() != 0;
    conversation.size = in.varint();
    conversation.mentions_of_all = get_seqs(in);
    return conversation;
  });
}

// user := version varint(mark) svarint(sort_time) varint(epoch) svarint(created_at) string(level) varint(object_mark)
//         varint(blocked) varint(large_groups) varint(tombstones_dropped_to) svarint(logged_out_at)
//         svarint(forgotten_at) varint(forgotten_round) svarint(deleted_at)
//         count { string(conversation) varint(seq) } be64(newest_id)
//         count { row varint(stored_head_mark) varint(stored_state_mark) }
std::string encode(const UserRecord& user) {
  std::string bytes;
  bytes.reserve(64 + user.block.size() * 64);
  begin(bytes);
  ByteWriter out(bytes);
  put_head(out, user.head);
  out.varint(user.block.size());
  for (const BlockRow& block : user.block) {
    put_row(out, block.row);
    out.varint(block.stored_head_mark.value);
    out.varint(block.stored_state_mark.value);
  }
  return bytes;
}

Result<UserRecord> decode_user(std::string_view bytes) {
  return whole(bytes, "user", [](ByteReader& in) {
    UserRecord user;
    user.head = get_head(in);
    user.block.resize(get_count(in));
    for (BlockRow& block : user.block) {
      block.row = get_row(in);
      block.stored_head_mark = Mark(in.varint());
      block.stored_state_mark = Mark(in.varint());
    }
    return user;
  });
}

std::string encode(const UserConversation& row) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  put_row(out, row);
  return bytes;
}

Result<UserConversation> decode_row(std::string_view bytes) {
  return whole(bytes, "index row", [](ByteReader& in) { return get_row(in); });
}

// object := version varint(mark) u8(kind) ( string(conversation) varint(block) string(deleted) string(others)
//         | string(conversation) body varint(reply_to) svarint(saved_at) | string(name) string(value)
//         | string(user) u8(blocked) | svarint(changed_at) )
namespace {

struct PutObject {
  ByteWriter& out;
  void operator()(const DeletedBlock& it) const {
    out.string(it.conversation.value);
    out.varint(it.block);
    out.string(it.deleted.bytes());
    out.string(it.others.bytes());
  }
  void operator()(const SavedDraft& it) const {
    out.string(it.conversation.value);
    put_body(out, it.body);
    out.varint(it.reply_to.value);
    out.svarint(it.saved_at);
  }
  void operator()(const Setting& it) const {
    out.string(it.name);
    out.string(it.value);
  }
  void operator()(const BlockedUser& it) const {
    out.string(it.user.value);
    out.u8(it.blocked ? 1 : 0);
  }
  void operator()(const DevicesChanged& it) const { out.svarint(it.changed_at); }
};

DeletedBlock get_deleted(ByteReader& in) {
  DeletedBlock it;
  it.conversation = ConversationId(in.string());
  it.block = in.varint();
  it.deleted = SeqBits::from_bytes(in.string());
  it.others = SeqBits::from_bytes(in.string());
  return it;
}

SavedDraft get_draft(ByteReader& in) {
  SavedDraft it;
  it.conversation = ConversationId(in.string());
  it.body = get_body(in);
  it.reply_to = Seq(in.varint());
  it.saved_at = in.svarint();
  return it;
}

Setting get_setting(ByteReader& in) {
  Setting it;
  it.name = in.string();
  it.value = in.string();
  return it;
}

BlockedUser get_blocked(ByteReader& in) {
  BlockedUser it;
  it.user = UserId(in.string());
  it.blocked = in.u8() != 0;
  return it;
}

}  // namespace

std::string encode(const UserObject& object) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(object.mark.value);
  out.u8(static_cast<std::uint8_t>(object.what.index()));
  std::visit(PutObject{out}, object.what);
  return bytes;
}

Result<UserObject> decode_object(std::string_view bytes) {
  constexpr std::uint8_t kKinds = std::variant_size_v<decltype(UserObject::what)>;
  if (bytes.size() > 1) {
    ByteReader in(bytes.substr(1));
    in.varint();
    if (in.u8() >= kKinds) return damaged("object");
  }
  return whole(bytes, "object", [](ByteReader& in) {
    UserObject object;
    object.mark = Mark(in.varint());
    switch (in.u8()) {
      case 0:
        object.what = get_deleted(in);
        break;
      case 1:
        object.what = get_draft(in);
        break;
      case 2:
        object.what = get_setting(in);
        break;
      case 3:
        object.what = get_blocked(in);
        break;
      default:
        object.what = DevicesChanged{in.svarint()};
        break;
    }
    return object;
  });
}

// dedup := version varint(seq) digest(content)
std::string encode(const DedupRecord& record) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(record.seq.value);
  put_digest(out, record.content);
  return bytes;
}

Result<DedupRecord> decode_dedup(std::string_view bytes) {
  return whole(bytes, "dedup record", [](ByteReader& in) {
    DedupRecord record;
    record.seq = Seq(in.varint());
    record.content = get_digest(in);
    return record;
  });
}

// device := version string(id) string(install) string(platform) string(app_version) string(name) varint(generation)
//           varint(epoch) varint(generation_used) u8(live) u8(ended) svarint(ended_at) svarint(logged_in_at)
//           svarint(token_issued_at) varint(acknowledged) svarint(last_seen) string(push_token)
//           varint(acknowledged_round)
std::string encode(const Device& device) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.string(device.id.value);
  out.string(device.install.value);
  out.string(device.platform);
  out.string(device.app_version);
  out.string(device.name);
  out.varint(device.generation);
  out.varint(device.epoch);
  out.varint(device.generation_used);
  out.u8(device.live);
  out.u8(static_cast<std::uint8_t>(device.ended));
  out.svarint(device.ended_at);
  out.svarint(device.logged_in_at);
  out.svarint(device.token_issued_at);
  out.varint(device.acknowledged.value);
  out.svarint(device.last_seen);
  out.string(device.push_token);
  out.varint(device.acknowledged_round);
  return bytes;
}

Result<Device> decode_device(std::string_view bytes) {
  return whole(bytes, "device", [](ByteReader& in) {
    Device device;
    device.id = DeviceId(in.string());
    device.install = InstallId(in.string());
    device.platform = in.string();
    device.app_version = in.string();
    device.name = in.string();
    device.generation = in.varint();
    device.epoch = static_cast<std::uint32_t>(in.varint());
    device.generation_used = in.varint();
    device.live = in.u8() != 0;
    device.ended = static_cast<SessionEnd>(in.u8());
    device.ended_at = in.svarint();
    device.logged_in_at = in.svarint();
    device.token_issued_at = in.svarint();
    device.acknowledged = Mark(in.varint());
    device.last_seen = in.svarint();
    device.push_token = in.string();
    device.acknowledged_round = in.varint();
    return device;
  });
}

// push token owner := version string(user) string(device)
std::string encode(const PushTokenOwner& owner) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.string(owner.user.value);
  out.string(owner.device.value);
  return bytes;
}

Result<PushTokenOwner> decode_push_token_owner(std::string_view bytes) {
  return whole(bytes, "push token", [](ByteReader& in) {
    PushTokenOwner owner;
    owner.user = UserId(in.string());
    owner.device = DeviceId(in.string());
    return owner;
  });
}

// mutations := version varint(highest) varint(epoch) count { varint(number) digest string(answer) }
std::string encode(const Mutations& mutations) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(mutations.highest);
  out.varint(mutations.epoch);
  out.varint(mutations.kept.size());
  for (const MutationOutcome& kept : mutations.kept) {
    out.varint(kept.number);
    put_digest(out, kept.content);
    out.string(kept.answer);
  }
  return bytes;
}

Result<Mutations> decode_mutations(std::string_view bytes) {
  return whole(bytes, "mutation memory", [](ByteReader& in) {
    Mutations mutations;
    mutations.highest = in.varint();
    mutations.epoch = static_cast<std::uint32_t>(in.varint());
    mutations.kept.resize(get_count(in));
    for (MutationOutcome& kept : mutations.kept) {
      kept.number = in.varint();
      kept.content = get_digest(in);
      kept.answer = in.string();
    }
    return mutations;
  });
}

// names := version count { string(name) }
std::string encode(const std::vector<std::string>& names) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(names.size());
  for (const std::string& name : names) out.string(name);
  return bytes;
}

Result<std::vector<std::string>> decode_names(std::string_view bytes) {
  return whole(bytes, "list of names", [](ByteReader& in) {
    std::vector<std::string> names(get_count(in));
    for (std::string& name : names) name = in.string();
    return names;
  });
}

// epoch := version varint(number) be64(id)
std::string encode(const Epoch& epoch) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(epoch.number);
  out.be64(epoch.id);
  return bytes;
}

Result<Epoch> decode_epoch(std::string_view bytes) {
  return whole(bytes, "epoch", [](ByteReader& in) {
    Epoch epoch;
    epoch.number = static_cast<std::uint32_t>(in.varint());
    epoch.id = in.be64();
    return epoch;
  });
}

// lineage := version count { varint(number) be64(id) }
std::string encode(const std::vector<Epoch>& lineage) {
  std::string bytes;
  begin(bytes);
  ByteWriter out(bytes);
  out.varint(lineage.size());
  for (const Epoch& epoch : lineage) {
    out.varint(epoch.number);
    out.be64(epoch.id);
  }
  return bytes;
}

Result<std::vector<Epoch>> decode_lineage(std::string_view bytes) {
  return whole(bytes, "lineage", [](ByteReader& in) {
    std::vector<Epoch> lineage(get_count(in));
    for (Epoch& epoch : lineage) {
      epoch.number = static_cast<std::uint32_t>(in.varint());
      epoch.id = in.be64();
    }
    return lineage;
  });
}

}  // namespace tidemark
