#include "wire/convert_client.h"

#include <charconv>
#include <limits>

#include "core/conversation_id.h"
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/convert_client_devices.h"
#include "wire/convert_parts.h"

namespace tidemark {
namespace {

using replica::Answer;

/// The enum of that number. The enums of core and schema have the same numbers (wire/convert.cc asserts it); numbers of
/// later versions stay what they are, where nothing of ours matches them, or become 0.
template <typename Enum>
Enum enum_from(int number) {
  return number >= 0 && number <= std::numeric_limits<std::uint8_t>::max() ? static_cast<Enum>(number) : Enum{};
}

void put_heads(const std::vector<KnownHead>& heads, google::protobuf::RepeatedPtrField<pb::Head>& out) {
  for (const KnownHead& head : heads) {
    pb::Head& made = *out.Add();
    made.set_conversation_id(head.conversation.value);
    made.set_seq(head.seq.value);
  }
}

template <typename Enum>
Enum known_or_first(int number, Enum last) {
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Enum>(number) : Enum{};
}

/// A mode of a later version must not make the device start anew.
Mode mode_from(pb::Mode mode) {
  if (mode == pb::MODE_RESET) return Mode::reset;
  return mode == pb::MODE_ROLLBACK ? Mode::rollback : Mode::delta;
}

std::vector<Hidden> hidden_from(const google::protobuf::RepeatedPtrField<pb::Hidden>& ranges) {
  std::vector<Hidden> hidden;
  for (const pb::Hidden& range : ranges)
    hidden.push_back({Seq(range.after()), Seq(range.to()), enum_from<HiddenReason>(range.reason())});
  return hidden;
}

std::vector<Entry> entries_from(const google::protobuf::RepeatedPtrField<pb::Message>& messages) {
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(messages.size()));
  for (const pb::Message& message : messages)
    if (message.seq() != 0) entries.push_back(entry_from(message));
  return entries;
}

GroupPolicy policy_from(const auto& policy) {
  return {enum_from<Allowed>(policy.who_may_add()), enum_from<Allowed>(policy.who_may_send()),
          enum_from<JoinPolicy>(policy.join()),
          known_or_first(policy.history_for_newcomers(), HistoryForNewcomers::all), policy.history_last()};
}

ConfigChange config_from(const pb::ConfigChange& change) {
  ConfigChange made;
  made.title = change.title();
  if (change.has_policy()) made.policy = policy_from(change.policy());
  if (change.data_changed()) made.data = change.data();
  made.dissolved = change.dissolved();
  if (change.fan_out() == pb::FAN_OUT_LARGE) made.large = true;
  if (change.fan_out() == pb::FAN_OUT_SMALL) made.large = false;
  return made;
}

Preview preview_from(const pb::Preview& preview) {
  Preview made;
  made.seq = Seq(preview.seq());
  made.sender = UserId(preview.sender());
  made.server_time = preview.server_time();
  made.state = known_or_first(preview.state(), MessageState::deleted);
  made.type = preview.type();
  made.text = preview.text();
  made.cut = preview.cut();
  return made;
}

Cursor client_cursor(const pb::Cursor& cursor) {
  Cursor made;
  made.epoch.number = cursor.epoch();
  const std::string& id = cursor.epoch_id();
  std::from_chars(id.data(), id.data() + id.size(), made.epoch.id, 16);
  made.mark = Mark(cursor.mark());
  made.round = cursor.round();
  return made;
}

/// The sentence of a code is known here; what the server added to it is the detail.
Error error_from(const pb::Error& error) {
  const auto known = error_code_named(error.code());
  Error made{known.value_or(error.retryable() ? ErrorCode::RETRY_LATER : ErrorCode::INTERNAL)};
  made.field = error.field();
  made.retry_after_ms = error.retry_after_ms();
  made.app_code = error.app_code();
  const std::string_view sentence = error_info(made.code).english;
  if (!known) {
    made.detail = error.code() + ": " + error.message();
  } else if (error.message().starts_with(sentence)) {
    std::string_view rest = std::string_view(error.message()).substr(sentence.size());
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    made.detail = rest;
  } else {
    made.detail = error.message();
  }
  return made;
}

// ---------------------------------------------------------------------------------------------------- answers

Answer answer_from(const pb::Welcome& welcome) {
  replica::Welcome made;
  made.generation = welcome.session_generation();
  made.mode = mode_from(welcome.mode());
  made.head = client_cursor(welcome.head());
  made.behind = welcome.behind();
  made.highest_mutation = welcome.highest_mutation();
  made.server_time = welcome.server_time();
  made.user = UserId(welcome.user());
  made.device = DeviceId(welcome.device());
  made.heartbeat_ms = welcome.limits().heartbeat_ms();
  made.heads_wanted = welcome.heads_wanted();
  return made;
}

/// Nothing: of a kind that this version does not know.
std::optional<UserObject> object_from(const pb::UserObject& object) {
  UserObject made;
  made.mark = Mark(object.mark());
  if (object.has_deleted()) {
    const pb::DeletedMessages& it = object.deleted();
    made.what = DeletedBlock{ConversationId(it.conversation_id()), it.block(), SeqBits::from_bytes(it.bits()), {}};
  } else if (object.has_draft()) {
    const pb::SavedDraft& it = object.draft();
    const Body body = it.has_body() ? body_from(it.body()) : Body();
    made.what = SavedDraft{ConversationId(it.conversation_id()), body, Seq(it.reply_to()), it.saved_at()};
  } else if (object.has_setting()) {
    made.what = Setting{object.setting().name(), object.setting().value()};
  } else if (object.has_blocked()) {
    made.what = BlockedUser{UserId(object.blocked().user()), object.blocked().blocked()};
  } else if (object.has_devices()) {
    made.what = DevicesChanged{object.devices().changed_at()};
  } else {
    return std::nullopt;
  }
  return made;
}

std::vector<UserObject> objects_from(const google::protobuf::RepeatedPtrField<pb::UserObject>& objects) {
  std::vector<UserObject> made;
  for (const pb::UserObject& object : objects)
    if (auto known = object_from(object)) made.push_back(std::move(*known));
  return made;
}

Answer answer_from(const pb::SyncPage& page) {
  replica::SyncAnswer made;
  made.page.objects = objects_from(page.objects());
  made.page.mode = mode_from(page.mode());
  made.page.changes.reserve(static_cast<std::size_t>(page.changes_size()));
  for (const pb::Change& change : page.changes()) made.page.changes.push_back(change_from(change));
  for (const pb::Change& extra : page.extras()) made.page.extras.push_back(change_from(extra));
  made.page.after = Mark(page.after());
  made.page.to = Mark(page.to());
  made.page.p0 = Mark(page.p0());
  made.page.p0_round = page.p0_round();
  made.page.head = Mark(page.head());
  made.page.more = page.more();
  made.page.next = client_cursor(page.next());
  made.page_token = page.page_token();
  return made;
}

Answer answer_from(const pb::ConversationPage& page) {
  ConversationPage made;
  made.conversation = ConversationId(page.conversation_id());
  made.messages = entries_from(page.messages());
  made.touched = entries_from(page.touched());
  made.after = Seq(page.after());
  made.to = Seq(page.to());
  made.covers = interval_from(page.covers());
  made.as_of = Seq(page.as_of());
  made.head = Seq(page.head());
  made.floor = Seq(page.floor());
  made.hidden = hidden_from(page.hidden());
  made.more = page.more();
  made.hole = interval_from(page.hole());
  made.touch_cursor = Seq(page.touch_cursor());
  return made;
}

Answer answer_from(const pb::HistoryPage& page) {
  HistoryPage made;
  made.conversation = ConversationId(page.conversation_id());
  made.messages = entries_from(page.messages());
  made.covers = interval_from(page.covers());
  made.hidden = hidden_from(page.hidden());
  made.end = page.end();
  made.pending = page.pending();
  made.as_of = Seq(page.as_of());
  return made;
}

Answer answer_from(const pb::Sent& sent) {
  SentReply made;
  made.conversation = ConversationId(sent.conversation_id());
  made.seq = Seq(sent.seq());
  made.server_time = sent.server_time();
  made.state = known_or_first(sent.state(), MessageState::deleted);
  made.duplicate = sent.duplicate();
  return made;
}

Answer answer_from(const pb::Mutated& mutated) {
  MutatedReply made;
  made.number = mutated.number();
  made.conversation = ConversationId(mutated.conversation_id());
  made.read = Seq(mutated.read_seq());
  made.unread = {mutated.unread(), mutated.unread_exact()};
  made.unread_flag = mutated.unread_flag();
  made.clamped = mutated.clamped();
  made.mark = Mark(mutated.mark());
  made.seq = Seq(mutated.seq());
  made.state = known_or_first(mutated.state(), MessageState::deleted);
  made.revision = Seq(mutated.revision());
  made.cleared = Seq(mutated.cleared_seq());
  made.removed = mutated.removed();
  made.deleted = mutated.deleted();
  made.muted_until = mutated.muted_until();
  made.pinned_at = mutated.pinned_at();
  return made;
}

Answer answer_from(const pb::Group& group) {
  GroupReply made;
  made.group.id = ConversationId(group.conversation_id());
  made.group.kind = ConversationKind::group;
  made.group.title = group.title();
  for (const pb::GroupMember& member : group.members()) {
    const UserId user(member.user());
    made.group.members.push_back({user, known_or_first(member.role(), Role::owner), Seq(member.joined_seq())});
    if (member.muted_until() != 0) made.group.mutes.push_back({user, member.muted_until()});
  }
  made.group.policy = policy_from(group);
  made.group.data = group.data();
  made.group.size = group.member_count();
  made.group.large = group.large();
  if (group.dissolved()) made.group.dissolved = Seq(group.head_seq());
  made.head = Seq(group.head_seq());
  made.duplicate = group.duplicate();
  return made;
}

PushItem push_item_from(const pb::PushItem& item) {
  PushItem made;
  made.index_after = Mark(item.index_after());
  made.index_to = Mark(item.index_to());
  made.round = item.round();
  made.sort_time = item.sort_time();
  made.mentioned = item.mentioned();
  made.client_msg_id = item.client_msg_id();
  if (item.has_summary()) made.summary = std::make_shared<const Change>(change_from(item.summary()));
  if (item.objects_size() > 0)
    made.objects = std::make_shared<const std::vector<UserObject>>(objects_from(item.objects()));
  made.conversation = ConversationId(item.conversation_id());
  if (made.conversation.empty() && made.summary) made.conversation = made.summary->conversation;
  made.part = known_or_first(item.part(), ItemPart::index);
  if (made.part == ItemPart::index) {
    made.told = Seq(item.to());
    return made;
  }
  if (item.to() == 0 && item.entry().seq() == 0) return made;
  auto entry = std::make_shared<Entry>(entry_from(item.entry()));
  // An entry that cannot be read still has its place.
  if (!entry->seq) entry->seq = Seq(item.to());
  made.entry = std::move(entry);
  return made;
}

Answer answer_from(const pb::Push& push) {
  replica::Push made;
  made.items.reserve(static_cast<std::size_t>(push.items_size()));
  for (const pb::PushItem& item : push.items()) made.items.push_back(push_item_from(item));
  return made;
}

Answer answer_from(const pb::Jumps& jumps) {
  JumpsAnswer made{jumps.epoch(), {}};
  for (const pb::LineJumps& line : jumps.lines()) {
    LineJumps& each = made.lines.emplace_back(LineJumps{ConversationId(line.conversation_id()), line.known(), {}});
    for (const pb::Jump& jump : line.jumps()) each.jumps.push_back({jump.epoch(), Seq(jump.cut()), Seq(jump.first())});
  }
  return made;
}

Answer answer_of(const pb::ServerFrame& frame) {
  switch (frame.operation_case()) {
    case pb::ServerFrame::kError:
      return error_from(frame.error());
    case pb::ServerFrame::kWelcome:
      return answer_from(frame.welcome());
    case pb::ServerFrame::kSync:
      return answer_from(frame.sync());
    case pb::ServerFrame::kConversationSync:
      return answer_from(frame.conversation_sync());
    case pb::ServerFrame::kJumps:
      return answer_from(frame.jumps());
    case pb::ServerFrame::kHistory:
      return answer_from(frame.history());
    case pb::ServerFrame::kSent:
      return answer_from(frame.sent());
    case pb::ServerFrame::kMutated:
      return answer_from(frame.mutated());
    case pb::ServerFrame::kGroup:
      return answer_from(frame.group());
    case pb::ServerFrame::kDevices:
      return devices_from(frame.devices());
    case pb::ServerFrame::kDevice:
      return std::vector<replica::UserDevice>{device_from(frame.device())};
    case pb::ServerFrame::kMembers:
      return members_from(frame.members());
    case pb::ServerFrame::kBody:
      return replica::WholeBody{ConversationId(frame.body().conversation_id()), Seq(frame.body().seq()),
                                Seq(frame.body().revision()), body_from(frame.body().body())};
    case pb::ServerFrame::kReceipts: {
      Receipts made;
      made.conversation = ConversationId(frame.receipts().conversation_id());
      for (const pb::Receipt& each : frame.receipts().receipts())
        made.receipts.push_back({UserId(each.user()), Seq(each.read_seq()), Seq(each.delivered_seq())});
      made.off = frame.receipts().off();
      return made;
    }
    case pb::ServerFrame::kReactions: {
      replica::WhoReacted made;
      for (const pb::UserReactions& each : frame.reactions().users())
        made.users.push_back({UserId(each.user()), {each.reactions().begin(), each.reactions().end()}});
      made.page_token = frame.reactions().page_token();
      return made;
    }
    case pb::ServerFrame::kHeartbeat:
      return replica::HeartbeatAnswer{Mark(frame.heartbeat().head()), frame.heartbeat().server_time(),
                                      frame.heartbeat().heads_wanted()};
    case pb::ServerFrame::kPush:
      return answer_from(frame.push());
    case pb::ServerFrame::kHeads: {
      HeadsPage page;
      for (const pb::Change& change : frame.heads().changes()) page.changes.push_back(change_from(change));
      page.next_after = ConversationId(frame.heads().next_after());
      return page;
    }
    case pb::ServerFrame::kHeadNotice: {
      replica::HeadNotice notice;
      for (const pb::Head& head : frame.head_notice().heads())
        notice.heads.push_back({ConversationId(head.conversation_id()), Seq(head.seq())});
      notice.spread_ms = frame.head_notice().spread_ms();
      return notice;
    }
    case pb::ServerFrame::kHint:
      return replica::Hint{Mark(frame.hint().head())};
    case pb::ServerFrame::kPresence: {
      replica::PresenceStates states;
      for (const pb::PresenceState& state : frame.presence().states())
        states.states.push_back({UserId(state.user()), state.online(), state.last_seen()});
      return states;
    }
    case pb::ServerFrame::kEphemeral:
      return replica::PassingEvent{ConversationId(frame.ephemeral().conversation_id()),
                                   UserId(frame.ephemeral().sender()),
                                   DeviceId(frame.ephemeral().sender_device()),
                                   frame.ephemeral().type(),
                                   frame.ephemeral().payload(),
                                   frame.ephemeral().lifetime_ms()};
    case pb::ServerFrame::kKick:
      return replica::Kick{frame.kick().code(), frame.kick().terminal(), frame.kick().message()};
    default:
      return replica::Unknown{};
  }
}

// --------------------------------------------------------------------------------------------------- requests

void put_users(const std::vector<UserId>& users, auto& names) {
  for (const UserId& user : users) names.Add(std::string(user.value));
}

/// The same for what is asked about groups.
struct GroupWriter {
  pb::ClientFrame& frame;

  void operator()(const replica::GroupQuery& query) const {
    frame.mutable_group()->set_conversation_id(query.conversation.value);
  }
  void operator()(const CreateGroupCommand& command) const {
    pb::CreateGroupRequest& out = *frame.mutable_create_group();
    out.set_title(command.title);
    put_users(command.members, *out.mutable_members());
    out.set_history_for_newcomers(static_cast<pb::HistoryForNewcomers>(command.newcomers));
    out.set_history_last(command.newcomers_last);
    out.set_idempotency_key(command.idempotency_key);
  }
  void operator()(const AddMembersCommand& command) const {
    frame.mutable_add_members()->set_conversation_id(command.conversation.value);
    put_users(command.added, *frame.mutable_add_members()->mutable_users());
  }
  void operator()(const RemoveMemberCommand& command) const {
    frame.mutable_remove_member()->set_conversation_id(command.conversation.value);
    frame.mutable_remove_member()->set_user(command.removed.value);
  }
  void operator()(const JoinGroupCommand& command) const {
    frame.mutable_join_group()->set_conversation_id(command.conversation.value);
  }
  void operator()(const ChangeGroupCommand& command) const {
    pb::ChangeGroupRequest& out = *frame.mutable_change_group();
    out.set_conversation_id(command.conversation.value);
    if (command.title) out.set_title(*command.title);
    if (command.data) out.set_data(*command.data);
    if (command.add) out.set_who_may_add(static_cast<pb::Allowed>(*command.add));
    if (command.send) out.set_who_may_send(static_cast<pb::Allowed>(*command.send));
    if (command.join) out.set_join(static_cast<pb::JoinPolicy>(*command.join));
    if (!command.newcomers) return;
    out.set_history_for_newcomers(static_cast<pb::HistoryForNewcomers>(*command.newcomers));
    out.set_history_last(command.newcomers_last);
  }
  void operator()(const SetRoleCommand& command) const {
    frame.mutable_set_role()->set_conversation_id(command.conversation.value);
    frame.mutable_set_role()->set_user(command.member.value);
    frame.mutable_set_role()->set_role(static_cast<pb::Role>(command.role));
  }
  void operator()(const MuteMemberCommand& command) const {
    frame.mutable_mute_member()->set_conversation_id(command.conversation.value);
    frame.mutable_mute_member()->set_user(command.member.value);
    frame.mutable_mute_member()->set_until(command.until);
  }
  void operator()(const DissolveGroupCommand& command) const {
    frame.mutable_dissolve_group()->set_conversation_id(command.conversation.value);
  }
};

/// Writes each operation into its place in the frame.
struct Writer {
  const HelloExtras& extras;
  pb::ClientFrame& frame;

  void operator()(const replica::Hello& hello) const {
    pb::HelloRequest& out = *frame.mutable_hello();
    out.set_token(extras.token);
    out.set_device(hello.device.value);
    out.set_install(hello.install.value);
    out.set_platform(extras.platform);
    out.set_app_version(extras.app_version);
    if (!hello.cursor.empty()) to_pb(hello.cursor, *out.mutable_cursor());
    out.set_session_generation(hello.session_generation);
    out.set_next_mutation(hello.next_mutation);
    out.set_background(hello.background);
    if (hello.large_digest != 0) out.set_large_digest(hex16(hello.large_digest));
  }
  void operator()(const replica::Watch& watch) const {
    frame.mutable_presence();
    for (const UserId& user : watch.users) frame.mutable_presence()->add_users(user.value);
  }
  // What is said in passing asks for no answer.
  void operator()(const replica::Passing& passing) const {
    frame.set_id(0);
    pb::EphemeralRequest& out = *frame.mutable_ephemeral();
    out.set_to(passing.to.value);
    out.set_conversation_id(passing.conversation.value);
    out.set_type(passing.type);
    out.set_payload(passing.payload);
    out.set_lifetime_ms(passing.lifetime_ms);
  }
  void operator()(const replica::Foreground& foreground) const {
    frame.set_id(0);
    frame.mutable_foreground()->set_on(foreground.on);
  }
  void operator()(const replica::Sync& sync) const {
    pb::SyncRequest& out = *frame.mutable_sync();
    if (!sync.cursor.empty()) to_pb(sync.cursor, *out.mutable_cursor());
    out.set_p0(sync.p0.value);
    out.set_p0_round(sync.p0_round);
    out.set_below(sync.below.value);
    out.set_limit(sync.limit);
    out.set_bodies(static_cast<pb::Bodies>(sync.bodies));
    out.set_recent(sync.recent);
    out.set_byte_budget(sync.byte_budget);
    out.set_page_token(sync.page_token);
  }
  void operator()(const replica::Jumps& jumps) const {
    for (const HeldLine& line : jumps.lines) {
      pb::HeldLine& out = *frame.mutable_jumps()->add_lines();
      out.set_conversation_id(line.conversation.value);
      out.set_epoch(line.epoch);
    }
  }
  void operator()(const replica::ConversationSync& sync) const {
    pb::ConversationSyncRequest& out = *frame.mutable_conversation_sync();
    out.set_conversation_id(sync.conversation.value);
    out.set_after(sync.after.value);
    for (const Interval& range : sync.known) to_pb(range, *out.add_known());
    out.set_limit(sync.limit);
    out.set_touch_cursor(sync.touch_cursor.value);
    out.set_to(sync.to.value);
  }
  void operator()(const replica::History& history) const {
    pb::HistoryRequest& out = *frame.mutable_history();
    out.set_conversation_id(history.conversation.value);
    if (history.before) out.set_before(history.before->value);
    if (history.after) out.set_after(history.after->value);
    out.set_limit(history.limit);
  }
  void operator()(const replica::Send& send) const {
    pb::SendRequest& out = *frame.mutable_send();
    out.set_to(send.to.value);
    out.set_conversation_id(send.conversation.value);
    out.set_client_msg_id(send.client_msg_id);
    out.set_client_time(send.client_time);
    to_pb(send.body, *out.mutable_body());
    out.set_reply_to(send.reply_to.value);
    for (const UserId& user : send.mentions) out.add_mentions(user.value);
    out.set_mention_all(send.mention_all);
    out.set_priority(static_cast<pb::Priority>(send.priority));
  }
  void operator()(const replica::Mutate& mutate) const {
    pb::MutateRequest& out = *frame.mutable_mutate();
    const replica::MutationItem& item = mutate.item;
    out.set_number(item.number);
    switch (item.kind) {
      case replica::MutationKind::read:
        out.mutable_read()->set_conversation_id(item.conversation.value);
        return out.mutable_read()->set_seq(item.seq.value);
      case replica::MutationKind::mark_unread:
        return out.mutable_mark_unread()->set_conversation_id(item.conversation.value);
      case replica::MutationKind::recall:
        out.mutable_recall()->set_conversation_id(item.conversation.value);
        return out.mutable_recall()->set_seq(item.seq.value);
      case replica::MutationKind::edit:
        out.mutable_edit()->set_conversation_id(item.conversation.value);
        out.mutable_edit()->set_seq(item.seq.value);
        to_pb(item.body, *out.mutable_edit()->mutable_body());
        if (item.base_revision) out.mutable_edit()->set_base_revision(item.base_revision->value);
        return;
      case replica::MutationKind::react:
        out.mutable_react()->set_conversation_id(item.conversation.value);
        out.mutable_react()->set_seq(item.seq.value);
        out.mutable_react()->set_reaction(item.name);
        return out.mutable_react()->set_on(item.on);
      case replica::MutationKind::clear:
        out.mutable_clear()->set_conversation_id(item.conversation.value);
        return out.mutable_clear()->set_seq(item.seq.value);
      case replica::MutationKind::remove:
        out.mutable_remove()->set_conversation_id(item.conversation.value);
        return out.mutable_remove()->set_seq(item.seq.value);
      case replica::MutationKind::delete_for_me:
        out.mutable_delete_for_me()->set_conversation_id(item.conversation.value);
        for (const Interval& range : item.ranges) to_pb(range, *out.mutable_delete_for_me()->add_ranges());
        return;
      case replica::MutationKind::mute:
        out.mutable_mute()->set_conversation_id(item.conversation.value);
        return out.mutable_mute()->set_until(item.until);
      case replica::MutationKind::pin:
        out.mutable_pin()->set_conversation_id(item.conversation.value);
        return out.mutable_pin()->set_pinned(item.on);
      case replica::MutationKind::draft:
        out.mutable_draft()->set_conversation_id(item.conversation.value);
        if (item.body != Body()) to_pb(item.body, *out.mutable_draft()->mutable_body());
        return out.mutable_draft()->set_reply_to(item.seq.value);
      case replica::MutationKind::setting:
        out.mutable_setting()->set_name(item.name);
        if (!item.value.empty()) out.mutable_setting()->set_value(item.value);
        return;
      case replica::MutationKind::block:
        out.mutable_block()->set_user(item.name);
        return out.mutable_block()->set_blocked(item.on);
    }
  }
  void operator()(const replica::GroupCall& call) const {
    if (!call.idempotency_key.empty()) frame.set_idempotency_key(call.idempotency_key);
    std::visit(GroupWriter{frame}, call.request);
  }
  void operator()(const replica::DeviceCall& call) const { device_call_to_pb(call, frame); }
  void operator()(const replica::AskMembers& ask) const { ask_members_to_pb(ask, frame); }
  void operator()(const replica::AskBody& ask) const {
    frame.mutable_body()->set_message_id(message_id(ask.conversation, ask.seq));
  }
  // That it is watched no longer asks for no answer.
  void operator()(const replica::AskReceipts& ask) const {
    if (!ask.watch) frame.set_id(0);
    frame.mutable_receipts()->set_conversation_id(ask.conversation.value);
    frame.mutable_receipts()->set_watch(ask.watch);
  }
  void operator()(const replica::AskReactions& ask) const {
    pb::ReactionsRequest& out = *frame.mutable_reactions();
    out.set_conversation_id(ask.query.conversation.value);
    out.set_seq(ask.query.seq.value);
    out.set_reaction(ask.query.reaction);
    out.set_limit(ask.query.limit);
    out.set_page_token(ask.page_token);
  }
  void operator()(const replica::Ack& ack) const {
    frame.mutable_ack()->set_mark(ack.mark.value);
    put_heads(ack.ahead, *frame.mutable_ack()->mutable_ahead());
  }
  void operator()(const replica::Heartbeat& heartbeat) const {
    to_pb(heartbeat.cursor, *frame.mutable_heartbeat()->mutable_cursor());
    if (heartbeat.large_digest != 0) frame.mutable_heartbeat()->set_large_digest(hex16(heartbeat.large_digest));
  }
  void operator()(const replica::Heads& heads) const {
    pb::HeadsRequest& out = *frame.mutable_heads();
    put_heads(heads.known, *out.mutable_heads());
    out.set_after(heads.after.value);
    out.set_through(heads.through.value);
    out.set_only(heads.only);
  }
  void operator()(const replica::Focus& focus) const {
    frame.mutable_focus();
    for (const ConversationId& id : focus.conversations) frame.mutable_focus()->add_conversation_ids(id.value);
  }
};

}  // namespace

Entry entry_from(const pb::Message& message) {
  Entry entry;
  entry.seq = Seq(message.seq());
  entry.kind = enum_from<EntryKind>(message.kind());
  entry.ord = message.ord();
  entry.server_time = message.server_time();
  entry.sender = UserId(message.sender());
  entry.sender_device = DeviceId(message.sender_device());
  entry.client_msg_id = message.client_msg_id();
  entry.client_time = message.client_time();
  entry.priority = known_or_first(message.priority(), Priority::low);
  entry.state = known_or_first(message.state(), MessageState::deleted);
  entry.revision = Seq(message.revision());
  entry.reply_to = Seq(message.reply_to());
  entry.mentions = users_from(message.mentions());
  entry.mention_all = message.mention_all();
  // Its `data` as it came: what a server has stored needs no second check.
  if (message.has_body()) entry.body = body_from(message.body());
  if (message.has_member()) {
    MemberChange change;
    change.action = enum_from<MemberAction>(message.member().action());
    change.users = users_from(message.member().users());
    change.role = known_or_first(message.member().role(), Role::owner);
    change.muted_until = message.member().muted_until();
    entry.member = std::move(change);
  }
  if (message.has_config()) entry.config = config_from(message.config());
  entry.target = Seq(message.target());
  entry.target_sender = UserId(message.target_sender());
  entry.touched_by = Seq(message.touched());
  for (const pb::Reaction& reaction : message.reactions())
    entry.reactions.push_back({reaction.reaction(), reaction.count(), reaction.mine()});
  entry.reacted = Seq(message.reacted());
  if (message.has_reaction_change())
    entry.reaction = ReactionChange{message.reaction_change().reaction(), message.reaction_change().on()};
  return entry;
}

Change change_from(const pb::Change& change) {
  Change made;
  made.conversation = ConversationId(change.conversation_id());
  made.kind = enum_from<ConversationKind>(change.kind());
  made.mark = Mark(change.mark());
  made.head_seq = Seq(change.head_seq());
  made.top = Seq(change.top());
  made.sort_time = change.sort_time();
  made.member = change.member();
  made.role = known_or_first(change.role(), Role::owner);
  for (const pb::Period& period : change.periods())
    made.periods.push_back({Seq(period.join()), Seq(period.leave()), Seq(period.visible_from())});
  made.read = Seq(change.read_seq());
  made.unread_flag = change.unread_flag();
  made.unread = {change.unread(), change.unread_exact()};
  made.cleared = Seq(change.cleared_seq());
  made.touch_seq = Seq(change.touch_seq());
  made.removed = change.removed();
  made.muted_until = change.muted_until();
  made.pinned_at = change.pinned_at();
  made.large = change.large();
  made.mentions = change.mentions();
  made.mentioned_at = Seq(change.mentioned_seq());
  made.all_mentioned_at = Seq(change.all_mentioned_seq());
  made.title = change.title();
  made.peer = UserId(change.peer());
  made.preview = preview_from(change.preview());
  made.messages = entries_from(change.messages());
  made.covers = interval_from(change.covers());
  made.more_messages = change.more_messages();
  made.hidden = hidden_from(change.hidden());
  return made;
}

replica::ServerFrame frame_from(const pb::ServerFrame& frame) {
  return {frame.id(), answer_of(frame)};
}

void to_pb(const replica::Request& request, const HelloExtras& extras, pb::ClientFrame& out) {
  out.set_id(request.id);
  std::visit(Writer{extras, out}, request.operation);
}

std::string encode_request(Dialect dialect, const replica::Request& request, const HelloExtras& extras) {
  pb::ClientFrame frame;
  to_pb(request, extras, frame);
  std::string bytes;
  encode_client_frame(dialect, frame, bytes);
  return bytes;
}

std::expected<replica::ServerFrame, DecodeError> decode_answer(Dialect dialect, std::string_view bytes) {
  const auto frame = decode_server_frame(dialect, bytes);
  if (!frame) return std::unexpected(frame.error());
  return frame_from(*frame);
}

}  // namespace tidemark
