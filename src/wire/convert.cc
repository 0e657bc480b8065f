#include "wire/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/conversation_id.h"
#include "tidemark.pb.h"
#include "wire/convert_parts.h"
#include "wire/data_check.h"

namespace tidemark {
namespace {

// The enums of core and schema differ only in what 0 means; each pair is spelled out once.
pb::Kind to_pb(EntryKind kind) {
  return static_cast<pb::Kind>(kind);
}
pb::State to_pb(MessageState state) {
  return static_cast<pb::State>(state);
}
pb::Priority to_pb(Priority priority) {
  return static_cast<pb::Priority>(priority);
}
pb::Role to_pb(Role role) {
  return static_cast<pb::Role>(role);
}
pb::MemberAction to_pb(MemberAction action) {
  return static_cast<pb::MemberAction>(action);
}
pb::HiddenReason to_pb(HiddenReason reason) {
  return static_cast<pb::HiddenReason>(reason);
}
pb::Mode to_pb(Mode mode) {
  return static_cast<pb::Mode>(mode);
}
pb::ConversationKind to_pb(ConversationKind kind) {
  return static_cast<pb::ConversationKind>(kind);
}
pb::HistoryForNewcomers to_pb(HistoryForNewcomers value) {
  return static_cast<pb::HistoryForNewcomers>(value);
}

pb::Allowed to_pb(Allowed allowed) {
  return static_cast<pb::Allowed>(allowed);
}
pb::JoinPolicy to_pb(JoinPolicy policy) {
  return static_cast<pb::JoinPolicy>(policy);
}

static_assert(static_cast<int>(EntryKind::config) == pb::KIND_CONFIG);
static_assert(static_cast<int>(EntryKind::member) == pb::KIND_MEMBER);
static_assert(static_cast<int>(EntryKind::deletion) == pb::KIND_DELETE);
static_assert(static_cast<int>(MessageState::deleted) == pb::STATE_DELETED);
static_assert(static_cast<int>(Priority::low) == pb::PRIORITY_LOW);
static_assert(static_cast<int>(Priority::high) == pb::PRIORITY_HIGH);
static_assert(static_cast<int>(Role::owner) == pb::ROLE_OWNER);
static_assert(static_cast<int>(MemberAction::muted) == pb::MEMBER_ACTION_MUTED);
static_assert(static_cast<int>(Allowed::members) == pb::ALLOWED_MEMBERS);
static_assert(static_cast<int>(JoinPolicy::open) == pb::JOIN_POLICY_OPEN);
static_assert(static_cast<int>(HiddenReason::restored) == pb::HIDDEN_REASON_RESTORED);
static_assert(static_cast<int>(Mode::rollback) == pb::MODE_ROLLBACK);
static_assert(static_cast<int>(ConversationKind::group) == pb::CONVERSATION_KIND_GROUP);
static_assert(static_cast<int>(HistoryForNewcomers::all) == pb::HISTORY_FOR_NEWCOMERS_ALL);

void to_pb(const std::vector<Hidden>& hidden, google::protobuf::RepeatedPtrField<pb::Hidden>& out) {
  for (const Hidden& each : hidden) {
    pb::Hidden& made = *out.Add();
    made.set_after(each.after.value);
    made.set_to(each.to.value);
    made.set_reason(to_pb(each.reason));
  }
}

void to_pb(const ConfigChange& change, pb::ConfigChange& out) {
  out.set_title(change.title);
  if (change.policy) {
    pb::GroupPolicy& policy = *out.mutable_policy();
    policy.set_who_may_add(to_pb(change.policy->add));
    policy.set_who_may_send(to_pb(change.policy->send));
    policy.set_join(to_pb(change.policy->join));
    policy.set_history_for_newcomers(to_pb(change.policy->newcomers));
    policy.set_history_last(change.policy->newcomers_last);
  }
  out.set_data_changed(change.data.has_value());
  out.set_data(change.data.value_or(""));
  out.set_dissolved(change.dissolved);
  if (change.large) out.set_fan_out(*change.large ? pb::FAN_OUT_LARGE : pb::FAN_OUT_SMALL);
}

void to_pb(const std::vector<Entry>& entries, const ConversationId& conversation,
           google::protobuf::RepeatedPtrField<pb::Message>& out) {
  out.Reserve(static_cast<int>(entries.size()));
  for (const Entry& entry : entries) to_pb(entry, conversation, *out.Add());
}

void to_pb(const Preview& preview, const ConversationId& conversation, pb::Preview& out) {
  out.set_message_id(message_id(conversation, preview.seq));
  out.set_seq(preview.seq.value);
  out.set_sender(preview.sender.value);
  out.set_server_time(preview.server_time);
  out.set_state(to_pb(preview.state));
  out.set_type(preview.type);
  out.set_text(preview.text);
  out.set_cut(preview.cut);
}

struct ObjectToPb {
  pb::UserObject& out;
  void operator()(const DeletedBlock& it) const {
    out.mutable_deleted()->set_conversation_id(it.conversation.value);
    out.mutable_deleted()->set_block(it.block);
    out.mutable_deleted()->set_bits(it.deleted.bytes());
  }
  void operator()(const SavedDraft& it) const {
    out.mutable_draft()->set_conversation_id(it.conversation.value);
    if (it.body != Body()) to_pb(it.body, *out.mutable_draft()->mutable_body());
    out.mutable_draft()->set_reply_to(it.reply_to.value);
    out.mutable_draft()->set_saved_at(it.saved_at);
  }
  void operator()(const Setting& it) const {
    out.mutable_setting()->set_name(it.name);
    out.mutable_setting()->set_value(it.value);
  }
  void operator()(const BlockedUser& it) const {
    out.mutable_blocked()->set_user(it.user.value);
    out.mutable_blocked()->set_blocked(it.blocked);
  }
  void operator()(const DevicesChanged& it) const { out.mutable_devices()->set_changed_at(it.changed_at); }
};

void to_pb(const UserObject& object, pb::UserObject& out) {
  out.set_mark(object.mark.value);
  std::visit(ObjectToPb{out}, object.what);
}

Result<EditCommand> edit_from(const pb::EditMutation& request) {
  EditCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.seq = Seq(request.seq());
  TM_ASSIGN(command.body, checked_body(request.has_body(), request.body()));
  if (request.has_base_revision()) command.base_revision = Seq(request.base_revision());
  return command;
}

DeleteForMeCommand delete_from(const pb::DeleteForMeMutation& request) {
  DeleteForMeCommand command{{}, ConversationId(request.conversation_id()), {}};
  if (request.seq() != 0) command.ranges.push_back({Seq(request.seq() - 1), Seq(request.seq())});
  for (const pb::Interval& range : request.ranges()) command.ranges.push_back(interval_from(range));
  return command;
}

Result<DraftCommand> draft_from(const pb::DraftMutation& request) {
  DraftCommand command{{}, ConversationId(request.conversation_id()), {}, Seq(request.reply_to())};
  if (!request.has_body()) return command;
  TM_ASSIGN(command.body, checked_body(true, request.body()));
  return command;
}

Result<SettingCommand> setting_from(const pb::SettingMutation& request) {
  if (!request.has_value()) return SettingCommand{{}, request.name(), {}};
  if (auto checked = check_data(request.value()); !checked) {
    checked.error().field = "value";
    return std::unexpected(std::move(checked).error());
  }
  return SettingCommand{{}, request.name(), request.value()};
}

}  // namespace

std::string hex16(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

Result<void> check_name(std::string_view value, std::size_t max, std::string_view field) {
  if (value.empty() || value.size() > max)
    return fail(ErrorCode::MALFORMED, std::string(field), fmt::format("1 to {} bytes.", max));
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail(ErrorCode::MALFORMED, std::string(field), "Control characters are not allowed.");
  return {};
}

Result<Body> checked_body(bool given, const pb::Body& body) {
  if (!given) return fail(ErrorCode::MALFORMED, "body", "Give a body.");
  if (body.has_cut()) return fail(ErrorCode::MALFORMED, "body.cut", "Give all of the body.");
  Body made = body_from(body);
  if (!made.data.empty()) TM_TRY(check_data(made.data));
  return made;
}

Result<SendCommand> send_from(const pb::SendRequest& request) {
  SendCommand command;
  TM_TRY(check_name(request.client_msg_id(), 64, "client_msg_id"));
  TM_ASSIGN(command.body, checked_body(request.has_body(), request.body()));
  command.to = UserId(request.to());
  command.conversation = ConversationId(request.conversation_id());
  command.client_msg_id = request.client_msg_id();
  command.client_time = request.client_time();
  command.reply_to = Seq(request.reply_to());
  command.mentions = users_from(request.mentions());
  command.mention_all = request.mention_all();
  command.priority = static_cast<Priority>(request.priority());
  command.system = request.system();
  return command;
}

Result<MutateCommand> mutate_from(const pb::MutateRequest& request) {
  MutateCommand command;
  command.number = request.number();
  switch (request.change_case()) {
    case pb::MutateRequest::kRead:
      command.change = ReadCommand{{}, ConversationId(request.read().conversation_id()), Seq(request.read().seq())};
      return command;
    case pb::MutateRequest::kMarkUnread:
      command.change = MarkUnreadCommand{{}, ConversationId(request.mark_unread().conversation_id())};
      return command;
    case pb::MutateRequest::kRecall:
      command.change =
          RecallCommand{{}, {}, ConversationId(request.recall().conversation_id()), Seq(request.recall().seq()), false};
      return command;
    case pb::MutateRequest::kEdit: {
      TM_ASSIGN(command.change, edit_from(request.edit()));
      return command;
    }
    case pb::MutateRequest::kClear:
      command.change = ClearCommand{{}, ConversationId(request.clear().conversation_id()), Seq(request.clear().seq())};
      return command;
    case pb::MutateRequest::kRemove:
      command.change =
          RemoveCommand{{}, ConversationId(request.remove().conversation_id()), Seq(request.remove().seq())};
      return command;
    case pb::MutateRequest::kDeleteForMe:
      command.change = delete_from(request.delete_for_me());
      return command;
    case pb::MutateRequest::kMute: {
      const pb::MuteMutation& mute = request.mute();
      command.change =
          MuteCommand{{}, ConversationId(mute.conversation_id()), mute.has_until() ? mute.until() : kForEver};
      return command;
    }
    case pb::MutateRequest::kPin: {
      const pb::PinMutation& pin = request.pin();
      command.change = PinCommand{{}, ConversationId(pin.conversation_id()), !pin.has_pinned() || pin.pinned()};
      return command;
    }
    case pb::MutateRequest::kDraft: {
      TM_ASSIGN(command.change, draft_from(request.draft()));
      return command;
    }
    case pb::MutateRequest::kSetting: {
      TM_ASSIGN(command.change, setting_from(request.setting()));
      return command;
    }
    case pb::MutateRequest::kBlock: {
      const pb::BlockMutation& block = request.block();
      command.change = BlockCommand{{}, UserId(block.user()), !block.has_blocked() || block.blocked()};
      return command;
    }
    case pb::MutateRequest::kReact: {
      const pb::ReactMutation& react = request.react();
      command.change = ReactCommand{{},
                                    {},
                                    ConversationId(react.conversation_id()),
                                    Seq(react.seq()),
                                    react.reaction(),
                                    !react.has_on() || react.on()};
      return command;
    }
    case pb::MutateRequest::CHANGE_NOT_SET:
      break;
  }
  return fail(ErrorCode::MALFORMED, "mutate", "Give one change.");
}

CreateGroupCommand create_group_from(const pb::CreateGroupRequest& request) {
  CreateGroupCommand command;
  command.title = request.title();
  command.members = users_from(request.members());
  command.newcomers = static_cast<HistoryForNewcomers>(request.history_for_newcomers());
  command.newcomers_last = request.history_last();
  command.idempotency_key = request.idempotency_key();
  return command;
}

AddMembersCommand add_members_from(const pb::AddMembersRequest& request) {
  AddMembersCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.added = users_from(request.users());
  return command;
}

RemoveMemberCommand remove_member_from(const pb::RemoveMemberRequest& request) {
  RemoveMemberCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.removed = UserId(request.user());
  return command;
}

RemoveMembersCommand remove_members_from(const pb::RemoveMembersRequest& request) {
  RemoveMembersCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.removed = users_from(request.users());
  return command;
}

Result<ChangeGroupCommand> change_group_from(const pb::ChangeGroupRequest& request) {
  ChangeGroupCommand command;
  command.conversation = ConversationId(request.conversation_id());
  if (request.has_title()) command.title = request.title();
  if (request.who_may_add() != 0) command.add = static_cast<Allowed>(request.who_may_add());
  if (request.who_may_send() != 0) command.send = static_cast<Allowed>(request.who_may_send());
  if (request.join() != 0) command.join = static_cast<JoinPolicy>(request.join());
  if (request.has_history_for_newcomers())
    command.newcomers = static_cast<HistoryForNewcomers>(request.history_for_newcomers());
  command.newcomers_last = request.history_last();
  if (!request.has_data()) return command;
  command.data = request.data();
  if (command.data->empty()) return command;
  if (auto checked = check_data(*command.data); !checked) {
    checked.error().field = "data";
    return std::unexpected(std::move(checked).error());
  }
  return command;
}

Result<SetRoleCommand> set_role_from(const pb::SetRoleRequest& request) {
  if (!request.has_role()) return fail(ErrorCode::MALFORMED, "role", "Give member, admin or owner.");
  SetRoleCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.member = UserId(request.user());
  command.role = static_cast<Role>(request.role());
  return command;
}

Result<MuteMemberCommand> mute_member_from(const pb::MuteMemberRequest& request) {
  if (!request.has_until()) return fail(ErrorCode::MALFORMED, "until", "Give a server time, or 0.");
  MuteMemberCommand command;
  command.conversation = ConversationId(request.conversation_id());
  command.member = UserId(request.user());
  command.until = request.until();
  return command;
}

Result<ChangeDeviceCommand> change_device_from(const pb::ChangeDeviceRequest& request) {
  ChangeDeviceCommand command;
  TM_TRY(check_name(request.device(), 64, "device"));
  command.device = DeviceId(request.device());
  if (request.has_name()) {
    if (!request.name().empty()) TM_TRY(check_name(request.name(), 64, "name"));
    command.name = request.name();
  }
  if (request.has_push_token()) {
    if (!request.push_token().empty()) TM_TRY(check_name(request.push_token(), 1'024, "push_token"));
    command.push_token = request.push_token();
  }
  return command;
}

Result<LoginCommand> login_from(const pb::HelloRequest& request) {
  LoginCommand command;
  TM_TRY(check_name(request.device(), 64, "device"));
  if (!request.install().empty()) TM_TRY(check_name(request.install(), 64, "install"));
  if (!request.platform().empty()) TM_TRY(check_name(request.platform(), 32, "platform"));
  if (!request.app_version().empty()) TM_TRY(check_name(request.app_version(), 64, "app_version"));
  TM_ASSIGN(command.cursor, cursor_from(request.cursor()));
  command.device = DeviceId(request.device());
  command.install = InstallId(request.install());
  command.platform = request.platform();
  command.app_version = request.app_version();
  command.generation = request.session_generation();
  return command;
}

Result<Cursor> cursor_from(const pb::Cursor& cursor) {
  Cursor made;
  made.epoch.number = cursor.epoch();
  made.mark = Mark(cursor.mark());
  made.round = cursor.round();
  const std::string& id = cursor.epoch_id();
  if (id.empty()) return made;
  const auto parsed = std::from_chars(id.data(), id.data() + id.size(), made.epoch.id, 16);
  if (id.size() != 16 || parsed.ec != std::errc() || parsed.ptr != id.data() + id.size())
    return fail(ErrorCode::MALFORMED, "cursor.epoch_id", "16 hex digits, as the server gave them.");
  return made;
}

Result<SyncQuery> sync_from(const pb::SyncRequest& request) {
  SyncQuery query;
  TM_ASSIGN(query.cursor, cursor_from(request.cursor()));
  query.p0 = Mark(request.p0());
  query.p0_round = request.p0_round();
  query.below = Mark(request.below());
  query.limit = request.limit();
  query.bodies = static_cast<Bodies>(request.bodies());
  query.recent = request.recent();
  query.byte_budget = request.byte_budget();
  return query;
}

ConversationSyncQuery conversation_sync_from(const pb::ConversationSyncRequest& request) {
  ConversationSyncQuery query;
  query.conversation = ConversationId(request.conversation_id());
  query.after = Seq(request.after());
  query.known.reserve(static_cast<std::size_t>(request.known_size()));
  for (const pb::Interval& each : request.known()) query.known.push_back(interval_from(each));
  query.limit = request.limit();
  query.touch_cursor = Seq(request.touch_cursor());
  query.to = Seq(request.to());
  return query;
}

Result<HistoryQuery> history_from(const pb::HistoryRequest& request) {
  HistoryQuery query;
  query.conversation = ConversationId(request.conversation_id());
  // 0 is no place, but for `after`, which may begin at the beginning.
  if (request.before() != 0) query.before = Seq(request.before());
  if (request.has_after()) query.after = Seq(request.after());
  if (request.around() != 0) query.around = Seq(request.around());
  if (request.at() < 0) return fail(ErrorCode::OUT_OF_RANGE, "at", "A time in ms since 1970.");
  if (request.at() != 0) query.at = request.at();
  if (query.before.has_value() + query.after.has_value() + query.around.has_value() + query.at.has_value() > 1)
    return fail(ErrorCode::MALFORMED, "before", "Give at most one of before, after, around and at.");
  query.limit = request.limit();
  return query;
}

namespace {

std::vector<KnownHead> known_heads_from(const google::protobuf::RepeatedPtrField<pb::Head>& heads) {
  std::vector<KnownHead> known;
  for (const pb::Head& head : heads) known.push_back({ConversationId(head.conversation_id()), Seq(head.seq())});
  return known;
}

}  // namespace

std::vector<KnownHead> ahead_from(const pb::AckRequest& ack) {
  return known_heads_from(ack.ahead());
}

HeadsQuery heads_from(const pb::HeadsRequest& request) {
  HeadsQuery query;
  query.known = known_heads_from(request.heads());
  query.after = ConversationId(request.after());
  query.through = ConversationId(request.through());
  query.only = request.only();
  return query;
}

Result<std::uint64_t> digest_from(const std::string& digits, std::string_view field) {
  std::uint64_t digest = 0;
  if (digits.empty()) return digest;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
  if (problem == std::errc() && end == digits.data() + digits.size() && digits.size() == 16) return digest;
  return fail(ErrorCode::MALFORMED, std::string(field), "16 hex digits.");
}

ReactionsQuery reactions_from(const pb::ReactionsRequest& request) {
  ReactionsQuery query;
  query.conversation = ConversationId(request.conversation_id());
  query.seq = Seq(request.seq());
  query.reaction = request.reaction();
  query.limit = request.limit();
  return query;
}

std::vector<HeldLine> held_lines_from(const pb::JumpsRequest& request) {
  std::vector<HeldLine> lines;
  for (const pb::HeldLine& line : request.lines())
    lines.push_back({ConversationId(line.conversation_id()), line.epoch()});
  return lines;
}

void to_pb(const Error& error, pb::Error& out) {
  const ErrorInfo& info = error_info(error.code);
  out.set_code(std::string(info.name));
  out.set_message(error.message());
  out.set_field(error.field);
  out.set_retryable(info.retryable);
  out.set_retry_after_ms(error.retry_after_ms);
  out.set_app_code(error.app_code);
}

void to_pb(const Entry& entry, const ConversationId& conversation, pb::Message& out) {
  out.set_message_id(message_id(conversation, entry.seq));
  out.set_seq(entry.seq.value);
  out.set_kind(to_pb(entry.kind));
  out.set_ord(entry.ord);
  out.set_sender(entry.sender.value);
  out.set_sender_device(entry.sender_device.value);
  out.set_server_time(entry.server_time);
  out.set_client_time(entry.client_time);
  out.set_state(to_pb(entry.state));
  out.set_revision(entry.revision.value);
  out.set_priority(to_pb(entry.priority));
  // An edit has one when it is pushed: in the log the body stands in the message's row alone.
  const bool has_body = entry.countable() || (entry.kind == EntryKind::edit && entry.body != Body());
  if (has_body && !entry.dead()) to_pb(entry.body, *out.mutable_body());
  out.set_reply_to(entry.reply_to.value);
  for (const UserId& user : entry.mentions) out.add_mentions(user.value);
  out.set_mention_all(entry.mention_all);
  if (entry.member) {
    out.mutable_member()->set_action(to_pb(entry.member->action));
    for (const UserId& user : entry.member->users) out.mutable_member()->add_users(user.value);
    out.mutable_member()->set_role(to_pb(entry.member->role));
    out.mutable_member()->set_muted_until(entry.member->muted_until);
  }
  if (entry.config) to_pb(*entry.config, *out.mutable_config());
  out.set_client_msg_id(entry.client_msg_id);
  out.set_target(entry.target.value);
  out.set_target_sender(entry.target_sender.value);
  out.set_touched(entry.touched_by.value);
  for (const Reaction& reaction : entry.reactions) {
    pb::Reaction& made = *out.add_reactions();
    made.set_reaction(reaction.name);
    made.set_count(reaction.count);
    made.set_mine(reaction.mine);
  }
  out.set_reacted(entry.reacted.value);
  if (!entry.reaction) return;
  out.mutable_reaction_change()->set_reaction(entry.reaction->name);
  out.mutable_reaction_change()->set_on(entry.reaction->on);
}

void to_pb(const Entry& message, const ConversationId& conversation, pb::MessageBody& out) {
  out.set_message_id(message_id(conversation, message.seq));
  out.set_conversation_id(conversation.value);
  out.set_seq(message.seq.value);
  out.set_revision(message.revision.value);
  to_pb(message.body, *out.mutable_body());
}

void to_pb(const Cursor& cursor, pb::Cursor& out) {
  out.set_epoch(cursor.epoch.number);
  out.set_epoch_id(hex16(cursor.epoch.id));
  out.set_mark(cursor.mark.value);
  out.set_round(cursor.round);
}

void to_pb(const Change& change, pb::Change& out) {
  out.set_conversation_id(change.conversation.value);
  out.set_kind(to_pb(change.kind));
  out.set_mark(change.mark.value);
  out.set_head_seq(change.head_seq.value);
  out.set_top(change.top.value);
  out.set_sort_time(change.sort_time);
  out.set_member(change.member);
  out.set_role(to_pb(change.role));
  for (const Period& period : change.periods) {
    pb::Period& made = *out.add_periods();
    made.set_join(period.join.value);
    made.set_leave(period.leave.value);
    made.set_visible_from(period.visible_from.value);
  }
  out.set_read_seq(change.read.value);
  out.set_unread_flag(change.unread_flag);
  out.set_unread(change.unread.count);
  out.set_unread_exact(change.unread.exact);
  out.set_cleared_seq(change.cleared.value);
  out.set_touch_seq(change.touch_seq.value);
  out.set_removed(change.removed);
  out.set_muted_until(change.muted_until);
  out.set_pinned_at(change.pinned_at);
  out.set_large(change.large);
  out.set_mentions(change.mentions);
  out.set_mentioned_seq(change.mentioned_at.value);
  out.set_all_mentioned_seq(change.all_mentioned_at.value);
  out.set_title(change.title);
  out.set_peer(change.peer.value);
  if (change.preview.seq) to_pb(change.preview, change.conversation, *out.mutable_preview());
  to_pb(change.messages, change.conversation, *out.mutable_messages());
  to_pb(change.covers, *out.mutable_covers());
  out.set_more_messages(change.more_messages);
  to_pb(change.hidden, *out.mutable_hidden());
}

void to_pb(const SyncPage& page, pb::SyncPage& out) {
  out.set_mode(to_pb(page.mode));
  for (const Change& change : page.changes) to_pb(change, *out.add_changes());
  for (const Change& extra : page.extras) to_pb(extra, *out.add_extras());
  for (const UserObject& object : page.objects) to_pb(object, *out.add_objects());
  out.set_after(page.after.value);
  out.set_to(page.to.value);
  out.set_p0(page.p0.value);
  out.set_p0_round(page.p0_round);
  out.set_head(page.head.value);
  out.set_more(page.more);
  to_pb(page.next, *out.mutable_next());
}

void to_pb(const ConversationPage& page, pb::ConversationPage& out) {
  out.set_conversation_id(page.conversation.value);
  to_pb(page.messages, page.conversation, *out.mutable_messages());
  to_pb(page.touched, page.conversation, *out.mutable_touched());
  out.set_after(page.after.value);
  out.set_to(page.to.value);
  out.set_as_of(page.as_of.value);
  out.set_head(page.head.value);
  out.set_floor(page.floor.value);
  to_pb(page.hidden, *out.mutable_hidden());
  out.set_more(page.more);
  if (page.hole.to > page.hole.after) to_pb(page.hole, *out.mutable_hole());
  out.set_touch_cursor(page.touch_cursor.value);
  to_pb(page.covers, *out.mutable_covers());
}

void to_pb(const HistoryPage& page, pb::HistoryPage& out) {
  out.set_conversation_id(page.conversation.value);
  to_pb(page.messages, page.conversation, *out.mutable_messages());
  to_pb(page.covers, *out.mutable_covers());
  to_pb(page.hidden, *out.mutable_hidden());
  out.set_end(page.end);
  out.set_pending(page.pending);
  out.set_as_of(page.as_of.value);
}

void to_pb(const ConversationList& list, pb::ConversationList& out) {
  for (const Change& change : list.conversations) to_pb(change, *out.add_conversations());
}

void to_pb(const SentReply& reply, pb::Sent& out) {
  out.set_conversation_id(reply.conversation.value);
  out.set_seq(reply.seq.value);
  out.set_message_id(message_id(reply.conversation, reply.seq));
  out.set_server_time(reply.server_time);
  out.set_state(to_pb(reply.state));
  out.set_duplicate(reply.duplicate);
  out.set_durability(pb::DURABILITY_SYNCED);
}

void to_pb(const JumpsAnswer& answer, pb::Jumps& out) {
  out.set_epoch(answer.epoch);
  for (const LineJumps& line : answer.lines) {
    pb::LineJumps& made = *out.add_lines();
    made.set_conversation_id(line.conversation.value);
    made.set_known(line.known);
    for (const Jump& jump : line.jumps) {
      pb::Jump& each = *made.add_jumps();
      each.set_epoch(jump.epoch);
      each.set_cut(jump.cut.value);
      each.set_first(jump.first.value);
    }
  }
}

void to_pb(const MutatedReply& reply, pb::Mutated& out) {
  out.set_number(reply.number);
  out.set_conversation_id(reply.conversation.value);
  out.set_read_seq(reply.read.value);
  out.set_unread(reply.unread.count);
  out.set_unread_exact(reply.unread.exact);
  out.set_unread_flag(reply.unread_flag);
  out.set_clamped(reply.clamped);
  out.set_mark(reply.mark.value);
  out.set_seq(reply.seq.value);
  out.set_state(to_pb(reply.state));
  out.set_revision(reply.revision.value);
  out.set_cleared_seq(reply.cleared.value);
  out.set_removed(reply.removed);
  out.set_deleted(reply.deleted);
  out.set_muted_until(reply.muted_until);
  out.set_pinned_at(reply.pinned_at);
}

void to_pb(const std::vector<UserObject>& objects, pb::UserObjects& out) {
  for (const UserObject& object : objects) to_pb(object, *out.add_objects());
}

namespace {

void to_pb(const Member& member, const Conversation& group, pb::GroupMember& out) {
  out.set_user(member.user.value);
  out.set_role(to_pb(member.role));
  out.set_joined_seq(member.join.value);
  const auto mute = std::ranges::find(group.mutes, member.user, &Mute::user);
  if (mute != group.mutes.end()) out.set_muted_until(mute->until);
}

}  // namespace

void to_pb(const MembersPage& page, const Conversation& group, pb::MemberList& out) {
  for (const Member& member : page.members) to_pb(member, group, *out.add_members());
}

void to_pb(const HeadsPage& page, pb::HeadsPage& out) {
  for (const Change& change : page.changes) to_pb(change, *out.add_changes());
  out.set_digest(hex16(page.digest));
  out.set_next_after(page.next_after.value);
}

void to_pb(const ReactionsPage& page, pb::ReactionList& out) {
  for (const ReactionsPage::ByUser& each : page.users) {
    pb::UserReactions& made = *out.add_users();
    made.set_user(each.user.value);
    for (const std::string& name : each.names) made.add_reactions(name);
  }
}

void to_pb(const Receipts& receipts, pb::ReceiptList& out) {
  out.set_conversation_id(receipts.conversation.value);
  for (const Receipt& receipt : receipts.receipts) {
    pb::Receipt& made = *out.add_receipts();
    made.set_user(receipt.user.value);
    made.set_read_seq(receipt.read.value);
    made.set_delivered_seq(receipt.delivered.value);
  }
  out.set_off(receipts.off);
}

void to_pb(const Totals& totals, pb::Totals& out) {
  out.set_unread(totals.unread);
  out.set_muted_unread(totals.muted_unread);
  out.set_mentions(totals.mentions);
  out.set_badge(totals.badge);
  out.set_flagged(totals.flagged);
  out.set_exact(totals.exact);
}

void to_pb(const GroupReply& reply, pb::Group& out) {
  out.set_conversation_id(reply.group.id.value);
  out.set_title(reply.group.title);
  for (const Member& member : reply.group.members) to_pb(member, reply.group, *out.add_members());
  out.set_member_count(reply.group.size);
  out.set_large(reply.group.large);
  out.set_history_for_newcomers(to_pb(reply.group.policy.newcomers));
  out.set_history_last(reply.group.policy.newcomers_last);
  out.set_who_may_add(to_pb(reply.group.policy.add));
  out.set_who_may_send(to_pb(reply.group.policy.send));
  out.set_join(to_pb(reply.group.policy.join));
  out.set_data(reply.group.data);
  out.set_dissolved(static_cast<bool>(reply.group.dissolved));
  out.set_head_seq(reply.head.value);
  out.set_duplicate(reply.duplicate);
}

void to_pb(const Device& device, const DeviceId& asking, pb::Device& out) {
  out.set_device(device.id.value);
  out.set_name(device.name);
  out.set_platform(device.platform);
  out.set_app_version(device.app_version);
  out.set_state(device.live                                ? pb::DEVICE_STATE_LOGGED_IN
                : device.ended == SessionEnd::other_device ? pb::DEVICE_STATE_OTHER_DEVICE
                                                           : pb::DEVICE_STATE_LOGGED_OUT);
  out.set_logged_in_at(device.logged_in_at);
  out.set_logged_out_at(device.ended_at);
  out.set_last_seen(device.last_seen);
  out.set_push(!device.push_token.empty());
  out.set_current(device.id == asking && !asking.empty());
}

void to_pb(const DevicesReply& reply, const DeviceId& asking, pb::DeviceList& out) {
  for (const Device& device : reply.devices) to_pb(device, asking, *out.add_devices());
}

void header_to_pb(const PushItem& item, pb::PushItem& out) {
  out.set_index_after(item.index_after.value);
  out.set_index_to(item.index_to.value);
  out.set_round(item.round);
  out.set_sort_time(item.sort_time);
  out.set_mentioned(item.mentioned);
  out.set_client_msg_id(item.client_msg_id);
  out.set_part(static_cast<pb::ItemPart>(item.part));
  if (item.summary) to_pb(*item.summary, *out.mutable_summary());
  if (!item.objects) return;
  for (const UserObject& object : *item.objects) to_pb(object, *out.add_objects());
}

}  // namespace tidemark
