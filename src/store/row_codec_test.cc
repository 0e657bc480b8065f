// Values written and read again are the same, and damage is never half-read.
#include "store/row_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemark {
namespace {

std::string text() {
  return *rc::gen::arbitrary<std::string>();
}
std::uint64_t number() {
  return *rc::gen::arbitrary<std::uint64_t>();
}
std::vector<UserId> users() {
  std::vector<UserId> made;
  for (const std::string& name : *rc::gen::arbitrary<std::vector<std::string>>()) made.emplace_back(name);
  return made;
}

GroupPolicy any_policy() {
  return {Allowed::members, Allowed::admins, JoinPolicy::open, HistoryForNewcomers::last,
          *rc::gen::arbitrary<std::uint32_t>()};
}

UserConversation any_row() {
  UserConversation row;
  row.conversation = ConversationId(text());
  row.head_mark = Mark(number());
  row.state_mark = Mark(number());
  row.head_seq = Seq(number());
  row.top = Seq(number());
  row.sort_time = *rc::gen::arbitrary<std::int64_t>();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    row.periods.push_back({Seq(number()), Seq(number()), Seq(number())});
  row.role = Role::admin;
  row.read = Seq(number());
  row.unread_flag = *rc::gen::arbitrary<bool>();
  row.removed = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    row.deleted_to = Seq(number());
    row.muted_until = *rc::gen::arbitrary<std::int64_t>();
    row.pinned_at = *rc::gen::arbitrary<std::int64_t>();
  }
  row.own = number();
  row.floor = Seq(number());
  row.floor_ord = number();
  row.floor_own = number();
  row.large = *rc::gen::arbitrary<bool>();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) row.mentions.push_back(Seq(number()));
  return row;
}

RC_GTEST_PROP(RowCodec, entries_come_back_as_they_were, ()) {
  Entry entry;
  entry.seq = Seq(number());
  entry.kind = *rc::gen::element(EntryKind::message, EntryKind::member, EntryKind::config, EntryKind::recall,
                                 EntryKind::reaction);
  entry.ord = number();
  entry.top = Seq(number());
  entry.server_time = *rc::gen::arbitrary<std::int64_t>();
  entry.top_time = *rc::gen::arbitrary<std::int64_t>();
  entry.touch = Seq(number());
  entry.mention_all = *rc::gen::arbitrary<bool>();
  entry.round = number();
  entry.sender = UserId(text());
  entry.sender_device = DeviceId(text());
  entry.target = Seq(*rc::gen::element<std::uint64_t>(0, 7, ~std::uint64_t{0}));
  if (entry.target) entry.target_sender = UserId(text());
  entry.client_msg_id = text();
  entry.client_time = *rc::gen::arbitrary<std::int64_t>();
  entry.reply_to = Seq(number());
  entry.mentions = users();
  if (entry.kind == EntryKind::message) {
    entry.body = {*rc::gen::element<std::string>("text", "card", ""), text(), text(), text(), {}, text()};
    if (entry.body.type.empty()) entry.body.type = "text";
    entry.body.attachments.push_back({text(), number(), text(), text(), static_cast<std::int64_t>(number() >> 1)});
  }
  if (entry.kind == EntryKind::member)
    entry.member =
        MemberChange{MemberAction::muted, users(), Role::owner, Seq(number()), *rc::gen::arbitrary<std::int64_t>()};
  if (entry.kind == EntryKind::config) {
    entry.config = ConfigChange{text(), std::nullopt, std::nullopt, *rc::gen::arbitrary<bool>(),
                                *rc::gen::element(std::optional<bool>(), std::optional(true), std::optional(false))};
    if (*rc::gen::arbitrary<bool>()) entry.config->policy = any_policy();
    if (*rc::gen::arbitrary<bool>()) entry.config->data = text();
  }
  if (*rc::gen::arbitrary<bool>()) {
    entry.reacted = Seq(1 + number() / 2);
    entry.reactions = {{text(), *rc::gen::arbitrary<std::uint32_t>(), false}, {text(), 1, false}};
  }
  if (entry.kind == EntryKind::reaction) entry.reaction = ReactionChange{text(), *rc::gen::arbitrary<bool>()};
  const std::string bytes = encode(entry);
  RC_ASSERT(decode_entry(bytes, entry.seq).value() == entry);
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!decode_entry(std::string_view(bytes).substr(0, cut), entry.seq).has_value());
}

RC_GTEST_PROP(RowCodec, users_and_rows_come_back_as_they_were, ()) {
  UserRecord user;
  user.head = {Mark(number()),
               *rc::gen::arbitrary<std::int64_t>(),
               3,
               17,
               text(),
               Mark(number()),
               7,
               5,
               Mark(number()),
               0,
               0,
               number(),
               0,
               {}};
  user.head.deleted_at = *rc::gen::arbitrary<std::int64_t>();
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i)
    user.head.high_marks.push_back({ConversationId(text()), Seq(number())});
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) user.block.push_back({any_row(), Mark(number()), Mark(number())});
  RC_ASSERT(decode_user(encode(user)).value() == user);
  const UserConversation row = any_row();
  RC_ASSERT(decode_row(encode(row)).value() == row);
}

RC_GTEST_PROP(RowCodec, objects_come_back_as_they_were, ()) {
  DeletedBlock deleted{ConversationId(text()), number(), {}, {}};
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i)
    deleted.deleted.set(Seq(1 + *rc::gen::inRange<std::uint64_t>(0, kBlockSeqs)));
  SavedDraft draft{ConversationId(text()), {}, Seq(number()), 17};
  draft.body.text = text();
  const UserObject objects[] = {{deleted, Mark(number())},
                                {draft, Mark(number())},
                                {Setting{text(), text()}, Mark(number())},
                                {BlockedUser{UserId(text()), true}, Mark(number())},
                                {DevicesChanged{*rc::gen::arbitrary<std::int64_t>()}, Mark(number())}};
  for (const UserObject& object : objects) {
    const std::string bytes = encode(object);
    RC_ASSERT(decode_object(bytes).value() == object);
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
    RC_ASSERT(!decode_object(std::string_view(bytes).substr(0, cut)).has_value());
  }
}

RC_GTEST_PROP(RowCodec, small_values_come_back_as_they_were, ()) {
  const DedupRecord record{Seq(number()), digest_of({text()})};
  RC_ASSERT(decode_dedup(encode(record)).value() == record);
  Device device{DeviceId(text()),
                InstallId(text()),
                text(),
                text(),
                text(),
                number(),
                3,
                number(),
                false,
                SessionEnd::removed,
                7,
                8,
                9,
                Mark(number()),
                5,
                text()};
  RC_ASSERT(decode_device(encode(device)).value() == device);
  Mutations mutations{number(), 2, {{number(), digest_of({text()}), text()}}};
  RC_ASSERT(decode_mutations(encode(mutations)).value() == mutations);
  const Epoch epoch{7, number()};
  RC_ASSERT(decode_epoch(encode(epoch)).value() == epoch);
  const std::vector<Epoch> lineage{{1, number()}, {7, number()}};
  RC_ASSERT(decode_lineage(encode(lineage)).value() == lineage);
  Conversation conversation{ConversationId("group_1"),
                            ConversationKind::group,
                            text(),
                            {{UserId(text()), Role::owner, Seq(number())}},
                            any_policy(),
                            text(),
                            {{UserId(text()), *rc::gen::arbitrary<std::int64_t>()}},
                            Seq(number()),
                            {{2, Seq(number()), Seq(number())}, {3, Seq(number()), Seq(number())}}};
  RC_ASSERT(decode_conversation(encode(conversation), conversation.id).value() == conversation);
}

RC_GTEST_PROP(RowCodec, no_bytes_crash_the_decoders, (const std::string& bytes)) {
  const std::string versioned = "\x01" + bytes;
  for (const std::string& each : {bytes, versioned}) {
    (void)decode_entry(each, Seq(1));
    (void)decode_user(each);
    (void)decode_row(each);
    (void)decode_object(each);
    (void)decode_conversation(each, ConversationId("group_1"));
    (void)decode_dedup(each);
    (void)decode_device(each);
    (void)decode_mutations(each);
    (void)decode_epoch(each);
  }
}

}  // namespace
}  // namespace tidemark
