// Doing a request once, though it is asked again (design, section 4): its key is kept with a digest of what it asked,
// in the commit that did it, and whoever asks again is told how things stand now.
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_rights.h"
#include "core/mutation_parts.h"
#include "core/session.h"

namespace tidemark {
namespace {

/// The first is the one a new record is kept under.
std::vector<DedupKey> keys_of(const Session& by, const Context& context) {
  const Digest identity = digest_of({"once", by.user.value, by.idempotency_key});
  const std::int64_t newest = context.now_ms / kHourMs;
  const std::int64_t oldest = std::max<std::int64_t>(0, context.now_ms - context.params.dedup_remember_ms) / kHourMs;
  std::vector<DedupKey> keys;
  for (std::int64_t hour = newest; hour >= oldest; --hour) keys.push_back({static_cast<std::uint32_t>(hour), identity});
  return keys;
}

/// How things stand now for whoever asked for this before.
struct Again {
  View& view;
  const Context& context;
  Seq seq;  // as it was remembered

  Result<Reply> operator()(const MutateCommand& c) const {
    const ConversationId id = std::visit(ConversationOf{}, c.change);
    if (id.empty()) {  // of the user himself
      MutatedReply own;
      own.mark = view.user(c.user).mark;
      return own;
    }
    Draft draft(view, context);
    MutatedReply reply = reply_of(draft, c.user, id);
    if (const auto target = view.entry(id, std::visit(TargetOf{}, c.change))) {
      reply.seq = seq;
      reply.state = target->state;
      reply.revision = target->revision;
    }
    return reply;
  }
  Result<Reply> operator()(const DeleteMessageCommand& c) const {
    Draft draft(view, context);
    MutatedReply reply = reply_of(draft, c.user, c.conversation);
    if (const auto target = view.entry(c.conversation, c.seq)) {
      reply.seq = seq;
      reply.state = target->state;
    }
    return reply;
  }
  Result<Reply> operator()(const EndSessionsCommand& c) const { return DevicesReply{listed(view.devices(c.user))}; }
  Result<Reply> operator()(const ChangeDeviceCommand& c) const {
    auto device = view.device(c.user, c.device);
    if (!device) return fail(ErrorCode::DEVICE_NOT_FOUND, "device");
    return std::move(*device);
  }
  Result<Reply> operator()(const SetUserCommand& c) const { return UserReply{c.user, view.user(c.user)}; }
  Result<Reply> operator()(const DeleteUserCommand& c) const { return UserReply{c.user, view.user(c.user)}; }
  // These know by themselves what was done before.
  Result<Reply> operator()(const SendCommand&) const { return unnamed(); }
  Result<Reply> operator()(const CreateGroupCommand&) const { return unnamed(); }
  Result<Reply> operator()(const ImportCommand&) const { return unnamed(); }
  // These are the server's own.
  Result<Reply> operator()(const LoginCommand&) const { return unnamed(); }
  Result<Reply> operator()(const DeviceSeenCommand&) const { return unnamed(); }
  Result<Reply> operator()(const DropTombstonesCommand&) const { return unnamed(); }
  Result<Reply> operator()(const ExpireFilesCommand&) const { return unnamed(); }
  /// All others are about a group, as its member, former member or operator sees it.
  Result<Reply> operator()(const auto& c) const {
    const Conversation* group = view.conversation(c.conversation);
    if (group == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
    const UserConversation* row = view.user_conversation(c.user, c.conversation);
    if (row == nullptr || row->in_period() || saw_the_end(*group, *row))
      return GroupReply{*group, view.line(c.conversation).seq, true};
    // How the group goes on is no business of who was in it: not even what it is called by now.
    GroupReply former;
    former.group.id = group->id;
    former.group.kind = group->kind;
    former.head = row->head_seq;
    former.duplicate = true;
    return former;
  }

 private:
  static std::unexpected<Error> unnamed() {
    return fail(ErrorCode::MALFORMED, "idempotency_key", "This request has an id of its own.");
  }
  struct ConversationOf {
    ConversationId operator()(const SettingCommand&) const { return {}; }
    ConversationId operator()(const BlockCommand&) const { return {}; }
    ConversationId operator()(const auto& change) const { return change.conversation; }
  };
  struct TargetOf {
    Seq operator()(const RecallCommand& change) const { return change.seq; }
    Seq operator()(const EditCommand& change) const { return change.seq; }
    Seq operator()(const auto&) const { return {}; }
  };
};

}  // namespace

Result<std::optional<Decision>> decided_before(View& view, const Command& command, const Context& context,
                                               const Session& by) {
  const auto record = view.remembered(keys_of(by, context));
  if (!record) return std::optional<Decision>();
  if (record->content != by.request) return fail(ErrorCode::IDEMPOTENCY_CONFLICT, "idempotency_key");
  TM_ASSIGN(Reply reply, std::visit(Again{view, context, record->seq}, command));
  return Decision{std::move(reply), {}, {}};
}

void remember_decided(Decision& decision, const Context& context, const Session& by) {
  DedupRecord record{Seq(), by.request};
  if (const auto* mutated = std::get_if<MutatedReply>(&decision.reply)) record.seq = mutated->seq;
  decision.writes.dedup.emplace_back(keys_of(by, context).front(), record);
}

}  // namespace tidemark
