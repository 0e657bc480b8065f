// Read pointers and the unread flag (design, section 6), and the numbers under which all changes are made.
#include <algorithm>

#include "base/codec.h"
#include "core/body.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/draft.h"
#include "core/mutation_parts.h"
#include "core/planted.h"
#include "core/read_parts.h"
#include "core/unread.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

Result<Changed> read_to(Draft& draft, const ReadCommand& command) {
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  const LineHead head = draft.line(command.conversation);
  const Seq last = upper_bound_of(*before, head.seq);
  const Seq wanted = planted(Fault::read_beyond_head) ? command.seq : std::min(command.seq, last);
  const bool moves = planted(Fault::read_set_not_joined) ? wanted != before->read : wanted > before->read;
  const bool clears = before->unread_flag && wanted >= before->read;
  Changed changed;
  if (moves || clears) {
    UserConversation& row = draft.edit_row(command.user, command.conversation);
    row.read = planted(Fault::read_set_not_joined) ? wanted : std::max(row.read, wanted);
    row.unread_flag = false;
    settle_floor(draft, command.user, head, row);
    tell_state(draft, command.user, command.conversation, changed.notices);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  changed.reply.clamped = command.seq > last;
  return changed;
}

Result<Changed> mark_unread(Draft& draft, const MarkUnreadCommand& command) {
  TM_ASSIGN(const UserConversation* before, index_row(draft, command.user, command.conversation));
  Changed changed;
  if (!before->unread_flag) {
    draft.edit_row(command.user, command.conversation).unread_flag = true;
    tell_state(draft, command.user, command.conversation, changed.notices);
  }
  changed.reply = reply_of(draft, command.user, command.conversation);
  return changed;
}

/// What tells two changes under one number apart.
struct ContentOf {
  ByteWriter& out;
  void operator()(const ReadCommand& read) const { name(read.conversation, read.seq); }
  void operator()(const MarkUnreadCommand& mark) const { out.string(mark.conversation.value); }
  void operator()(const RecallCommand& recall) const { name(recall.conversation, recall.seq); }
  void operator()(const EditCommand& edit) const {
    name(edit.conversation, edit.seq);
    out.u8(edit.base_revision ? 1 : 0);
    out.varint(edit.base_revision.value_or(Seq()).value);
    out.raw(bytes_of(digest_of_body(edit.body)));
  }
  void operator()(const ClearCommand& clear) const { name(clear.conversation, clear.seq); }
  void operator()(const RemoveCommand& remove) const { name(remove.conversation, remove.seq); }
  void operator()(const DeleteForMeCommand& gone) const {
    out.string(gone.conversation.value);
    for (const Interval& range : gone.ranges) {
      out.varint(range.after.value);
      out.varint(range.to.value);
    }
  }
  void operator()(const MuteCommand& mute) const {
    out.string(mute.conversation.value);
    out.svarint(mute.until);
  }
  void operator()(const PinCommand& pin) const {
    out.string(pin.conversation.value);
    out.u8(pin.pinned ? 1 : 0);
  }
  void operator()(const DraftCommand& draft) const {
    name(draft.conversation, draft.reply_to);
    out.raw(bytes_of(digest_of_body(draft.body)));
  }
  void operator()(const SettingCommand& setting) const {
    out.string(setting.name);
    out.string(setting.value);
  }
  void operator()(const BlockCommand& block) const {
    out.string(block.other.value);
    out.u8(block.blocked ? 1 : 0);
  }
  void operator()(const ReactCommand& react) const {
    name(react.conversation, react.seq);
    out.string(react.reaction);
    out.u8(react.on ? 1 : 0);
  }
  void name(const ConversationId& conversation, Seq seq) const {
    out.string(conversation.value);
    out.varint(seq.value);
  }
};

Digest content_of(const MutateCommand& command) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(command.change.index());
  std::visit(ContentOf{out}, command.change);
  return digest_of({bytes});
}

std::string encode_answer(const MutatedReply& reply) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(reply.number);
  out.string(reply.conversation.value);
  out.varint(reply.read.value);
  out.varint(reply.unread.count);
  out.u8(static_cast<std::uint8_t>(reply.unread.exact | reply.unread_flag << 1 | reply.clamped << 2));
  out.varint(reply.mark.value);
  out.varint(reply.seq.value);
  out.u8(static_cast<std::uint8_t>(reply.state));
  out.varint(reply.revision.value);
  out.varint(reply.cleared.value);
  out.u8(reply.removed ? 1 : 0);
  out.varint(reply.deleted);
  out.svarint(reply.muted_until);
  out.svarint(reply.pinned_at);
  return bytes;
}

Result<MutatedReply> decode_answer(std::string_view bytes) {
  ByteReader in(bytes);
  MutatedReply reply;
  reply.number = in.varint();
  reply.conversation = ConversationId(in.string());
  reply.read = Seq(in.varint());
  reply.unread.count = static_cast<std::uint32_t>(in.varint());
  const std::uint8_t flags = in.u8();
  reply.unread.exact = flags & 1;
  reply.unread_flag = flags & 2;
  reply.clamped = flags & 4;
  reply.mark = Mark(in.varint());
  reply.seq = Seq(in.varint());
  reply.state = static_cast<MessageState>(in.u8());
  reply.revision = Seq(in.varint());
  reply.cleared = Seq(in.varint());
  reply.removed = in.u8() != 0;
  reply.deleted = in.varint();
  reply.muted_until = in.svarint();
  reply.pinned_at = in.svarint();
  if (!in.done()) return fail(ErrorCode::INTERNAL, "number", "A stored answer is damaged.");
  return reply;
}

/// Above highest - kept_max: such a number is kept, or was never used.
bool within_memory(const Mutations& mutations, std::uint64_t number, std::size_t kept_max) {
  return mutations.highest < kept_max || number > mutations.highest - kept_max;
}

/// The answer already given under this number, nothing when the number is new, or the refusal.
Result<std::optional<MutatedReply>> known_answer(const Mutations& mutations, std::uint64_t number,
                                                 const Digest& content, std::size_t kept_max) {
  for (const MutationOutcome& kept : mutations.kept) {
    if (kept.number != number) continue;
    if (kept.content != content) return fail(ErrorCode::MUTATION_CONFLICT, "number");
    TM_ASSIGN(MutatedReply reply, decode_answer(kept.answer));
    return reply;
  }
  if (!within_memory(mutations, number, kept_max)) return fail(ErrorCode::MUTATION_EXPIRED, "number");
  return std::optional<MutatedReply>();
}

void remember(Mutations& mutations, MutationOutcome outcome, std::size_t kept_max) {
  mutations.highest = std::max(mutations.highest, outcome.number);
  const auto place = std::ranges::upper_bound(mutations.kept, outcome.number, {}, &MutationOutcome::number);
  mutations.kept.insert(place, std::move(outcome));
  while (mutations.kept.size() > kept_max || !within_memory(mutations, mutations.kept.front().number, kept_max))
    mutations.kept.erase(mutations.kept.begin());
}

struct ChangeBy {
  Draft& draft;
  Result<Changed> operator()(const ReadCommand& command) { return read_to(draft, command); }
  Result<Changed> operator()(const MarkUnreadCommand& command) { return mark_unread(draft, command); }
  Result<Changed> operator()(const RecallCommand& command) { return decide_recall(draft, command); }
  Result<Changed> operator()(const EditCommand& command) { return decide_edit(draft, command); }
  Result<Changed> operator()(const ReactCommand& command) { return decide_react(draft, command); }
  Result<Changed> operator()(const ClearCommand& command) { return decide_clear(draft, command); }
  Result<Changed> operator()(const RemoveCommand& command) { return decide_remove(draft, command); }
  Result<Changed> operator()(const DeleteForMeCommand& command) { return decide_delete_for_me(draft, command); }
  Result<Changed> operator()(const MuteCommand& command) { return decide_mute(draft, command); }
  Result<Changed> operator()(const PinCommand& command) { return decide_pin(draft, command); }
  Result<Changed> operator()(const DraftCommand& command) { return decide_draft(draft, command); }
  Result<Changed> operator()(const SettingCommand& command) { return decide_setting(draft, command); }
  Result<Changed> operator()(const BlockCommand& command) { return decide_block(draft, command); }
};

}  // namespace

Mutations mutations_of(View& view, const UserId& user, const DeviceId& device, const InstallId& install) {
  Mutations mutations = view.mutations(user, device, install);
  const std::uint32_t epoch = view.epoch().number;
  if (mutations.highest > 0 && mutations.epoch != epoch)
    mutations.highest = next_number(mutations.highest, mutations.epoch, epoch) - 1;
  mutations.epoch = epoch;
  return mutations;
}

Mark tell_state(Draft& draft, const UserId& user, const ConversationId& id, std::vector<Notice>& notices) {
  Receiver receiver = draft.touch_state(user, id, nullptr);
  draft.add_summary(receiver, id);
  const Mark mark = receiver.to;
  notices.push_back({id, nullptr, draft.round(), {std::move(receiver)}});
  return mark;
}

MutatedReply reply_of(Draft& draft, const UserId& user, const ConversationId& id) {
  MutatedReply reply;
  reply.conversation = id;
  reply.mark = draft.user(user).mark;
  const UserConversation* row = draft.user_conversation(user, id);
  if (row == nullptr) return reply;
  const bool self_chat = parse_conversation(id)->self();
  reply.read = row->read;
  reply.unread = unread_of(draft, user, *row, draft.line(id), draft.context().params, self_chat);
  reply.unread_flag = row->unread_flag;
  reply.cleared = row->cleared;
  reply.removed = row->removed;
  reply.muted_until = row->muted_until;
  reply.pinned_at = row->pinned_at;
  return reply;
}

Result<Decision> decide_mutate(View& view, const MutateCommand& command, const Context& context) {
  const bool numbered = !command.install.empty();
  constexpr std::uint64_t kNumberMax = 1ULL << 53;
  if (numbered && (command.number == 0 || command.number > kNumberMax))
    return fail(ErrorCode::OUT_OF_RANGE, "number", "From 1, each one more than the last.");
  Mutations mutations;
  const Digest content = content_of(command);
  if (numbered) {
    mutations = mutations_of(view, command.user, command.device, command.install);
    TM_ASSIGN(auto known, known_answer(mutations, command.number, content, context.params.mutations_kept));
    if (known) return Decision{std::move(*known), {}, {}};
  }
  Draft draft(view, context);
  TM_ASSIGN(Changed changed, std::visit(ChangeBy{draft}, command.change));
  changed.reply.number = command.number;
  if (numbered) {
    remember(mutations, {command.number, content, encode_answer(changed.reply)}, context.params.mutations_kept);
    draft.writes().mutations.push_back({command.user, command.device, command.install, std::move(mutations)});
  }
  return std::move(draft).finish(std::move(changed.reply), std::move(changed.notices));
}

}  // namespace tidemark
