#include "gateway/service.h"

#include <algorithm>
#include <chrono>

#include "base/codec.h"
#include "core/conversation_id.h"
#include "core/large_group.h"
#include "core/reads.h"
#include "core/registered.h"
#include "core/session.h"
#include "gateway/limits.h"
#include "tidemark.pb.h"
#include "wire/convert.h"

namespace tidemark {
namespace {

using Frame = std::unique_ptr<pb::ServerFrame>;
using Operation = pb::ClientFrame::OperationCase;

/// A read's result in the frame it is answered by.
template <typename Value, typename Fill>
Result<Frame> framed(Result<Value> value, Fill fill) {
  if (!value) return std::unexpected(std::move(value).error());
  auto frame = std::make_unique<pb::ServerFrame>();
  fill(*frame, *value);
  return frame;
}

struct ReplyToFrame {
  pb::ServerFrame& frame;
  const DeviceId& asking;
  void operator()(const SentReply& reply) { to_pb(reply, *frame.mutable_sent()); }
  void operator()(const MutatedReply& reply) { to_pb(reply, *frame.mutable_mutated()); }
  void operator()(const GroupReply& reply) { to_pb(reply, *frame.mutable_group()); }
  void operator()(const LoginReply&) {}
  void operator()(const UserReply& reply) {
    frame.mutable_user()->set_user(reply.user.value);
    frame.mutable_user()->set_level(reply.head.level);
    frame.mutable_user()->set_created_at(reply.head.created_at);
    frame.mutable_user()->set_deleted_at(reply.head.deleted_at);
  }
  void operator()(const TombstonesReply&) {}
  void operator()(const FilesExpiredReply&) {}
  void operator()(const DevicesReply& reply) { to_pb(reply, asking, *frame.mutable_devices()); }
  void operator()(const ImportReply& reply) { to_pb(reply, *frame.mutable_imported()); }
  void operator()(const Device& device) { to_pb(device, asking, *frame.mutable_device()); }
  void operator()(const NoReply&) {}
};

/// The caller of a request that has a name of its own.
Result<Caller> named_caller(Caller caller, const pb::ClientFrame& request) {
  TM_TRY(check_name(request.idempotency_key(), Limits::idempotency_key_bytes_max, "idempotency_key"));
  if (!Service::changes(request))
    return fail(ErrorCode::MALFORMED, "idempotency_key", "Only what changes something takes one.");
  // An administrator's keys are his own, and belong to no user's session.
  caller.idempotency_key = caller.admin ? "admin/" + caller.user.value + "/" : "";
  caller.idempotency_key += request.idempotency_key();
  pb::ClientFrame asked = request;
  asked.clear_id();
  asked.clear_idempotency_key();
  caller.request = digest_of({asked.SerializeAsString()});
  return caller;
}

/// Whether the caller may read. What ends a link's session ends the link before anything more is told.
Result<void> may_read(StoreView& view, const CoreParams& params, const Caller& caller) {
  if (caller.admin) return {};
  TM_TRY(check_registered(view, params, caller.user, "token"));
  if (caller.generation) return {};
  return check_session(view, session_of(caller));
}

constexpr std::size_t kRecallsKept = 1'024;
constexpr std::size_t kTotalsKept = 200'000;  // users, and conversations with something unread, some 150 bytes each

/// Whether a read's answer holds anything of the conversation.
bool shows(const pb::ServerFrame& frame, const std::string& conversation) {
  const auto is_it = [&](const auto& part) { return part.conversation_id() == conversation; };
  switch (frame.operation_case()) {
    case pb::ServerFrame::kSync:
      return std::ranges::any_of(frame.sync().changes(), is_it);
    case pb::ServerFrame::kConversations:
      return std::ranges::any_of(frame.conversations().conversations(), is_it);
    case pb::ServerFrame::kHeads:
      return std::ranges::any_of(frame.heads().changes(), is_it);
    case pb::ServerFrame::kConversationSync:
      return is_it(frame.conversation_sync());
    case pb::ServerFrame::kHistory:
      return is_it(frame.history());
    case pb::ServerFrame::kBody:
      return is_it(frame.body());
    case pb::ServerFrame::kReactions:
      return is_it(frame.reactions());
    case pb::ServerFrame::kConversation:
      return is_it(frame.conversation());
    case pb::ServerFrame::kMessage:
      return frame.message().message_id().starts_with(conversation + ":");
    default:
      return false;  // shows no message
  }
}

class Stopwatch {
 public:
  std::int64_t micros() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - since_).count();
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// The command as the caller's own.
template <typename Made>
Made made_by(const Caller& caller, Made command) {
  command.user = caller.user;
  command.device = caller.device;
  return command;
}

/// The change as the caller's own.
struct OwnedBy {
  const Caller& caller;
  void operator()(RecallCommand& change) const {
    change = made_by(caller, std::move(change));
    change.admin = caller.admin;
  }
  void operator()(ReactCommand& change) const { change = made_by(caller, std::move(change)); }
  void operator()(EditCommand& change) const { change = made_by(caller, std::move(change)); }
  /// What he changes for himself alone.
  void operator()(auto& change) const { change.user = caller.user; }
};

/// The name of a page's place in a token: small, and only readable by us.
struct Place {
  std::string bytes;
  ByteWriter out{bytes};
};

std::unexpected<Error> foreign_page() {
  return fail(ErrorCode::BAD_TOKEN, "page_token", "It was given to another question.");
}

}  // namespace

Session session_of(const Caller& caller) {
  Session session;
  if (!caller.admin)
    session = {caller.user, caller.device, caller.generation, caller.token_issued_at, caller.token_of_device};
  session.idempotency_key = caller.idempotency_key;
  session.request = caller.request;
  return session;
}

Service::Service(Engine& engine, const Clock& clock, PageTokens tokens, Threads threads, ServiceLimits limits,
                 Metrics& metrics)
    : engine_(engine),
      clock_(clock),
      tokens_(std::move(tokens)),
      threads_(std::move(threads)),
      metrics_(metrics),
      limits_(limits),
      message_rate_(limits.messages, limits.users_max),
      request_rate_(limits.requests, limits.users_max),
      ephemeral_rate_(limits.ephemerals, limits.users_max),
      presence_(limits.presence_every_ms),
      receipt_watch_(limits.presence_every_ms),
      totals_(kTotalsKept) {}

bool Service::changes(const pb::ClientFrame& request) {
  switch (request.operation_case()) {
    case Operation::kSend:
    case Operation::kMutate:
    case Operation::kCreateGroup:
    case Operation::kAddMembers:
    case Operation::kRemoveMember:
    case Operation::kChangeGroup:
    case Operation::kChangeDevice:
    case Operation::kLogout:
    case Operation::kLogoutOthers:
    case Operation::kRemoveDevice:
    case Operation::kSetRole:
    case Operation::kMuteMember:
    case Operation::kJoinGroup:
    case Operation::kDissolveGroup:
    case Operation::kRemoveMembers:
    case Operation::kDeleteMessage:
    case Operation::kDeleteUser:
    case Operation::kPutUser:
    case Operation::kReplayEvents:
    case Operation::kPutUsers:
    case Operation::kCreateGroups:
    case Operation::kImport:
      return true;
    default:
      return false;
  }
}

void Service::read(const Caller& caller, Read read, Answer answer, int attempts_left) {
  threads_.on_reader([this, since = Stopwatch(), recalls = recalls_, caller, read = std::move(read),
                      answer = std::move(answer), attempts_left]() mutable {
    StoreView view = engine_.view();
    const Result<void> known = may_read(view, engine_.params(), caller);
    Result<Frame> result = known ? read(view) : std::unexpected(known.error());
    if (view.failure()) result = std::unexpected(told_of(*view.failure()));
    threads_.on_network([this, since, recalls, caller, read = std::move(read), answer = std::move(answer),
                         attempts_left, result = std::move(result)]() mutable {
      metrics_.read_latency.add(since.micros());
      if (result && recalled_since(recalls, **result)) {
        if (attempts_left > 1) return this->read(caller, std::move(read), std::move(answer), attempts_left - 1);
        result = fail(ErrorCode::RETRY_LATER, "", "Messages are being taken back.", 100);
      }
      if (!result) ++metrics_.errors[error_info(result.error().code).name];
      answer(std::move(result));
    });
  });
}

void Service::recalled(const ConversationId& conversation) {
  ++recalls_;
  recalled_.push_back(conversation);
  if (recalled_.size() > kRecallsKept) recalled_.pop_front();
}

bool Service::recalled_since(std::uint64_t recalls, const pb::ServerFrame& frame) const {
  const std::uint64_t fresh = recalls_ - recalls;
  if (fresh > recalled_.size()) return true;  // more than is kept: any of them
  return std::any_of(recalled_.end() - static_cast<std::ptrdiff_t>(fresh), recalled_.end(),
                     [&](const ConversationId& id) { return shows(frame, id.value); });
}

void Service::submit(const Caller& caller, Command command, Answer answer) {
  engine_.submit(
      std::move(command),
      [this, since = Stopwatch(), asking = caller.device, answer = std::move(answer)](Result<Reply> reply) mutable {
        metrics_.commit_latency.add(since.micros());
        give(asking, std::move(reply), answer);
      },
      session_of(caller));
}

template <typename Made>
void Service::submit_made(const Caller& caller, Result<Made> command, Answer answer) {
  if (!command) return answer(std::unexpected(std::move(command).error()));
  submit(caller, made_by(caller, std::move(*command)), std::move(answer));
}

void Service::give(const DeviceId& asking, Result<Reply> reply, Answer& answer) {
  if (!reply) {
    ++metrics_.errors[error_info(reply.error().code).name];
    return answer(std::unexpected(std::move(reply).error()));
  }
  auto frame = std::make_unique<pb::ServerFrame>();
  std::visit(ReplyToFrame{*frame, asking}, *reply);
  answer(std::move(frame));
}

Result<void> Service::admit(const Caller& caller, const pb::ClientFrame& request) {
  if (caller.admin) return {};
  const std::int64_t now_ms = clock_.steady_ms();
  std::uint32_t wait_ms = request_rate_.take(caller.user.value, now_ms);
  if (wait_ms == 0 && request.has_send()) wait_ms = message_rate_.take(caller.user.value, now_ms);
  if (wait_ms == 0 && request.has_ephemeral()) wait_ms = ephemeral_rate_.take(caller.user.value, now_ms);
  if (wait_ms == 0) return {};
  return fail(ErrorCode::RATE_LIMITED, "", {}, wait_ms);
}

void Service::call(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  if (const auto admitted = admit(caller, request); !admitted) return answer(std::unexpected(admitted.error()));
  // A new group keeps its key itself.
  if (!request.has_idempotency_key() || request.has_create_group()) return operate(caller, request, std::move(answer));
  auto named = named_caller(caller, request);
  if (!named) return answer(std::unexpected(std::move(named).error()));
  operate(*named, request, std::move(answer));
}

void Service::operate(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const CoreParams& params = engine_.params();
  switch (request.operation_case()) {
    case Operation::kSend:
      return send(caller, request, std::move(answer));
    case Operation::kMutate:
      return mutate(caller, request, std::move(answer));
    case Operation::kSync:
      return sync(caller, request, std::move(answer));
    case Operation::kHistory:
      return history(caller, request, std::move(answer));
    case Operation::kReceipts:
      return receipts(caller, request, std::move(answer));
    case Operation::kTotals:
      return totals(caller, std::move(answer));
    case Operation::kReactions:
      return reactions(caller, request, std::move(answer));
    case Operation::kConversations:
      return conversations(caller, request, std::move(answer));
    case Operation::kHeads:
    case Operation::kFocus:
      return heads(caller, request, std::move(answer));
    case Operation::kMembers:
      return members(caller, request, std::move(answer));
    case Operation::kPresence:
      return presence(caller, request, std::move(answer));
    case Operation::kEphemeral:
      return ephemeral(caller, request, std::move(answer));
    case Operation::kDevices:
      return devices(caller, request, std::move(answer));
    case Operation::kLogout:
    case Operation::kLogoutOthers:
    case Operation::kRemoveDevice:
      return end_sessions(caller, request, std::move(answer));
    case Operation::kPutUser:
    case Operation::kGetUser:
    case Operation::kDeleteUser:
    case Operation::kRemoveMembers:
    case Operation::kDeleteMessage:
    case Operation::kDeadEvents:
    case Operation::kReplayEvents:
    case Operation::kPutUsers:
    case Operation::kCreateGroups:
    case Operation::kImport:
      return admin_call(caller, request, std::move(answer));
    case Operation::kConversationSync: {
      ConversationSyncQuery query = conversation_sync_from(request.conversation_sync());
      query.user = caller.user;
      return read(
          caller,
          [&params, query = std::move(query)](StoreView& view) {
            return framed(read_conversation_sync(view, params, query), [](pb::ServerFrame& frame, const auto& page) {
              to_pb(page, *frame.mutable_conversation_sync());
            });
          },
          std::move(answer));
    }
    case Operation::kJumps:
      return read(
          caller,
          [user = caller.user, lines = held_lines_from(request.jumps())](StoreView& view) {
            return framed(read_jumps(view, user, lines), [](pb::ServerFrame& frame, const JumpsAnswer& jumps) {
              to_pb(jumps, *frame.mutable_jumps());
            });
          },
          std::move(answer));
    case Operation::kSettings:
      return objects(caller, ObjectKind::setting, std::move(answer));
    case Operation::kBlockedUsers:
      return objects(caller, ObjectKind::blocked, std::move(answer));
    case Operation::kDrafts:
      return drafts(caller, request, std::move(answer));
    case Operation::kMessage: {
      auto name = parse_message_id(request.message().message_id());
      if (!name) return answer(std::unexpected(std::move(name).error()));
      return read(
          caller,
          [user = caller.user, name = std::move(*name)](StoreView& view) {
            return framed(read_message(view, user, name.conversation, name.seq),
                          [&](pb::ServerFrame& frame, const Entry& entry) {
                            to_pb(entry, name.conversation, *frame.mutable_message());
                          });
          },
          std::move(answer));
    }
    case Operation::kBody: {
      auto name = parse_message_id(request.body().message_id());
      if (!name) return answer(std::unexpected(std::move(name).error()));
      return read(
          caller,
          [user = caller.user, name = std::move(*name)](StoreView& view) {
            return framed(read_body(view, user, name.conversation, name.seq),
                          [&](pb::ServerFrame& frame, const Entry& entry) {
                            to_pb(entry, name.conversation, *frame.mutable_body());
                          });
          },
          std::move(answer));
    }
    case Operation::kConversation:
      return read(
          caller,
          [&params, user = caller.user,
           id = ConversationId(request.conversation().conversation_id())](StoreView& view) {
            return framed(read_change(view, params, user, id), [](pb::ServerFrame& frame, const Change& change) {
              to_pb(change, *frame.mutable_conversation());
            });
          },
          std::move(answer));
    case Operation::kChangeDevice: {
      auto command = change_device_from(request.change_device());
      if (!command) return answer(std::unexpected(std::move(command).error()));
      command->user = caller.user;
      return submit(caller, std::move(*command), std::move(answer));
    }
    default:
      return group_call(caller, request, std::move(answer));
  }
}

void Service::group_call(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const auto as_caller = [&](auto command) {
    command.admin = caller.admin;
    return submit(caller, made_by(caller, std::move(command)), std::move(answer));
  };
  switch (request.operation_case()) {
    case Operation::kGroup:
      return read_group_of(caller, request, std::move(answer));
    case Operation::kCreateGroup:
      return create_group(caller, request, std::move(answer));
    case Operation::kAddMembers:
      return as_caller(add_members_from(request.add_members()));
    case Operation::kDissolveGroup:
      return as_caller(DissolveGroupCommand{{}, {}, ConversationId(request.dissolve_group().conversation_id())});
    case Operation::kRemoveMember:
      return submit(caller, made_by(caller, remove_member_from(request.remove_member())), std::move(answer));
    case Operation::kJoinGroup:
      return submit(
          caller, JoinGroupCommand{caller.user, caller.device, ConversationId(request.join_group().conversation_id())},
          std::move(answer));
    case Operation::kChangeGroup:
      return submit_made(caller, change_group_from(request.change_group()), std::move(answer));
    case Operation::kSetRole:
      return submit_made(caller, set_role_from(request.set_role()), std::move(answer));
    case Operation::kMuteMember:
      return submit_made(caller, mute_member_from(request.mute_member()), std::move(answer));
    default:
      return answer(fail(ErrorCode::MALFORMED, "operation", "This operation is not taken here."));
  }
}

void Service::objects(const Caller& caller, ObjectKind kind, Answer answer) {
  read(
      caller,
      [user = caller.user, kind](StoreView& view) {
        return framed(read_objects(view, user, kind), [](pb::ServerFrame& frame, const std::vector<UserObject>& found) {
          to_pb(found, *frame.mutable_user_objects());
        });
      },
      std::move(answer));
}

// drafts token := string(conversation)
void Service::drafts(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::DraftsRequest& asked = request.drafts();
  ConversationId after;
  if (!asked.page_token().empty()) {
    const auto content = tokens_.open(PageKind::drafts, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    after = ConversationId(ByteReader(*content).string());
  }
  read(
      caller,
      [this, caller, limit = asked.limit(), after](StoreView& view) {
        return framed(read_drafts(view, engine_.params(), caller.user, limit, after),
                      [&](pb::ServerFrame& frame, const DraftsPage& page) {
                        to_pb(page.drafts, *frame.mutable_user_objects());
                        if (page.next_after.empty()) return;
                        Place place;
                        place.out.string(page.next_after.value);
                        frame.mutable_user_objects()->set_page_token(
                            tokens_.seal(PageKind::drafts, caller.user, caller.device, place.bytes));
                      });
      },
      std::move(answer));
}

void Service::create_group(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  pb::CreateGroupRequest asked = request.create_group();
  if (asked.idempotency_key().empty()) asked.set_idempotency_key(request.idempotency_key());
  if (!request.idempotency_key().empty() && request.idempotency_key() != asked.idempotency_key())
    return answer(fail(ErrorCode::MALFORMED, "idempotency_key", "Two keys are given; give one."));
  if (!asked.idempotency_key().empty())
    if (auto named = check_name(asked.idempotency_key(), 64, "idempotency_key"); !named)
      return answer(std::unexpected(std::move(named).error()));
  if (caller.admin && asked.owner().empty())
    return answer(fail(ErrorCode::MALFORMED, "owner", "Name the user whose group it is."));
  if (!caller.admin && !asked.owner().empty())
    return answer(fail(ErrorCode::FORBIDDEN, "owner", "Only admin tokens make groups for somebody else."));
  CreateGroupCommand command = create_group_from(asked);
  command.creator = caller.admin ? UserId(asked.owner()) : caller.user;
  if (caller.admin) command.by = caller.user;
  command.device = caller.device;
  submit(caller, std::move(command), std::move(answer));
}

void Service::read_group_of(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  read(
      caller,
      [caller, id = ConversationId(request.group().conversation_id())](StoreView& view) {
        return framed(caller.admin ? read_any_group(view, id) : read_group(view, caller.user, id),
                      [&](pb::ServerFrame& frame, const Conversation& group) {
                        to_pb(GroupReply{group, view.line(id).seq, false}, *frame.mutable_group());
                      });
      },
      std::move(answer));
}

void Service::send(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto command = send_from(request.send());
  if (!command) return answer(std::unexpected(std::move(command).error()));
  if (caller.admin && request.send().sender().empty() != command->system)
    return answer(
        fail(ErrorCode::MALFORMED, "sender", "Name the user on whose behalf the message is sent, or say system."));
  if (!caller.admin && (!request.send().sender().empty() || command->system))
    return answer(
        fail(ErrorCode::FORBIDDEN, command->system ? "system" : "sender", "Only admin tokens send for somebody else."));
  command->sender = caller.admin ? UserId(request.send().sender()) : caller.user;
  command->device = caller.device;
  command->admin = caller.admin;
  command->level = caller.level;
  // What the application sends itself it is not asked about.
  if (gate_ && !caller.admin) return send_asked(caller, std::move(*command), std::move(answer));
  submit(caller, std::move(*command), std::move(answer));
}

void Service::mutate(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto command = mutate_from(request.mutate());
  if (!command) return answer(std::unexpected(std::move(command).error()));
  command->user = caller.user;
  command->device = caller.device;
  command->install = caller.install;
  std::visit(OwnedBy{caller}, command->change);
  submit(caller, std::move(*command), std::move(answer));
}

void Service::sync(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto query = sync_from(request.sync());
  if (!query) return answer(std::unexpected(std::move(query).error()));
  query->user = caller.user;
  if (const std::string& token = request.sync().page_token(); !token.empty()) {
    const auto content = tokens_.open(PageKind::bodies, caller.user, caller.device, token, "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    query->bodies = Bodies::all;
    query->p0 = Mark(in.varint());
    query->p0_round = in.varint();
    query->resume_conversation = ConversationId(in.string());
    query->resume_after = Seq(in.varint());
    query->resume_objects = Mark(in.varint());
  }
  read(
      caller,
      [this, caller, query = std::move(*query)](StoreView& view) {
        return framed(read_sync(view, engine_.params(), query), [&](pb::ServerFrame& frame, const SyncPage& page) {
          to_pb(page, *frame.mutable_sync());
          if (page.complete()) return;
          Place place;
          place.out.varint(page.p0.value);
          place.out.varint(page.p0_round);
          place.out.string(page.resume_conversation.value);
          place.out.varint(page.resume_after.value);
          place.out.varint(page.resume_objects.value);
          frame.mutable_sync()->set_page_token(tokens_.seal(PageKind::bodies, caller.user, caller.device, place.bytes));
        });
      },
      std::move(answer));
}

void Service::heads(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  HeadsQuery query = heads_from(request.heads());
  if (request.has_focus()) {
    if (caller.link == 0)
      return answer(fail(ErrorCode::MALFORMED, "operation", "Only a link can have something open."));
    if (request.focus().conversation_ids_size() > Limits::focus_max)
      return answer(fail(ErrorCode::LIMIT_REACHED, "conversation_ids",
                         "At most " + std::to_string(Limits::focus_max) + " at a time."));
    query.only = true;
    for (const std::string& id : request.focus().conversation_ids()) {
      query.known.push_back({ConversationId(id), Seq()});
      if (auto named = parse_conversation(query.known.back().conversation, "conversation_ids"); !named)
        return answer(std::unexpected(std::move(named).error()));
    }
  }
  query.user = caller.user;
  read(
      caller,
      [this, query = std::move(query)](StoreView& view) {
        return framed(read_heads(view, engine_.params(), query),
                      [](pb::ServerFrame& frame, const HeadsPage& page) { to_pb(page, *frame.mutable_heads()); });
      },
      std::move(answer));
}

void Service::large_digest(const Caller& caller, std::move_only_function<void(std::uint64_t)> done) {
  read(
      caller,
      [user = caller.user](StoreView& view) -> Result<Frame> {
        auto frame = std::make_unique<pb::ServerFrame>();
        frame->mutable_heads()->set_digest(hex16(tidemark::large_digest(view, user)));
        return frame;
      },
      [done = std::move(done)](Result<Frame> frame) mutable {
        done(frame ? digest_from((*frame)->heads().digest(), "digest").value_or(0) : 0);
      });
}

// members token := string(conversation) varint(join) string(user)
void Service::members(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::MembersRequest& asked = request.members();
  const ConversationId id(asked.conversation_id());
  Member after;
  if (!asked.page_token().empty()) {
    const auto content = tokens_.open(PageKind::members, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    if (in.string() != id.value) return answer(foreign_page());
    after.join = Seq(in.varint());
    after.user = UserId(in.string());
  }
  read(
      caller,
      [this, caller, id, limit = asked.limit(), after](StoreView& view) {
        return framed(caller.admin ? read_any_members(view, engine_.params(), id, limit, after)
                                   : read_members(view, engine_.params(), caller.user, id, limit, after),
                      [&](pb::ServerFrame& frame, const MembersPage& page) {
                        to_pb(page, *view.conversation(id), *frame.mutable_members());
                        if (page.next_after.user.empty()) return;
                        Place place;
                        place.out.string(id.value);
                        place.out.varint(page.next_after.join.value);
                        place.out.string(page.next_after.user.value);
                        frame.mutable_members()->set_page_token(
                            tokens_.seal(PageKind::members, caller.user, caller.device, place.bytes));
                      });
      },
      std::move(answer));
}

// sync cursor := varint(epoch) be64(epoch_id) varint(mark) varint(round) varint(p0) varint(p0_round) varint(below)
//                string(page_token of bodies "all")
Result<void> Service::open_sync_cursor(const Caller& caller, std::string_view cursor, pb::ClientFrame& request) const {
  TM_ASSIGN(const std::string content, tokens_.open(PageKind::sync, caller.user, caller.device, cursor, "cursor"));
  ByteReader in(content);
  pb::SyncRequest& sync = *request.mutable_sync();
  sync.mutable_cursor()->set_epoch(static_cast<std::uint32_t>(in.varint()));
  sync.mutable_cursor()->set_epoch_id(hex16(in.be64()));
  sync.mutable_cursor()->set_mark(in.varint());
  sync.mutable_cursor()->set_round(in.varint());
  sync.set_p0(in.varint());
  sync.set_p0_round(in.varint());
  sync.set_below(in.varint());
  sync.set_page_token(std::string(in.string()));
  if (!in.done()) return fail(ErrorCode::BAD_TOKEN, "cursor");
  return {};
}

void Service::seal_sync_cursor(const Caller& caller, const pb::ClientFrame& request, pb::ServerFrame& answer) const {
  pb::SyncPage& page = *answer.mutable_sync();
  const auto base = cursor_from(request.sync().cursor());
  const bool from_scratch = page.mode() != pb::MODE_DELTA;
  const bool all = request.sync().bodies() == pb::BODIES_ALL || !request.sync().page_token().empty();
  // A run goes on at the same cursor until it has reached it; then the cursor becomes what the run had fixed.
  const bool goes_on = all ? !page.page_token().empty() : page.after() > (from_scratch ? 0 : base->mark.value);
  Cursor cursor = from_scratch ? Cursor{{page.next().epoch(), 0}, Mark(), 0} : *base;
  if (!goes_on || from_scratch) cursor.epoch = cursor_from(page.next())->epoch;
  if (!goes_on) cursor = *cursor_from(page.next());
  Place place;
  place.out.varint(cursor.epoch.number);
  place.out.be64(cursor.epoch.id);
  place.out.varint(cursor.mark.value);
  place.out.varint(cursor.round);
  place.out.varint(goes_on ? page.p0() : 0);
  place.out.varint(goes_on ? page.p0_round() : 0);
  place.out.varint(goes_on && page.page_token().empty() ? page.after() : 0);
  place.out.string(page.page_token());
  page.set_cursor(tokens_.seal(PageKind::sync, caller.user, caller.device, place.bytes));
}

// history token := string(conversation) u8(direction) varint(seq)
void Service::history(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::HistoryRequest& asked = request.history();
  auto query = history_from(asked);
  if (!query) return answer(std::unexpected(std::move(query).error()));
  query->user = caller.user;
  if (!asked.page_token().empty()) {
    if (query->before || query->after || query->around || query->at)
      return answer(fail(ErrorCode::MALFORMED, "page_token", "It names the place by itself; give no other."));
    const auto content = tokens_.open(PageKind::history, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    if (in.string() != asked.conversation_id()) return answer(foreign_page());
    const bool down = in.u8() != 0;
    (down ? query->before : query->after) = Seq(in.varint());
  }
  read(
      caller,
      [this, caller, query = std::move(*query)](StoreView& view) {
        return framed(read_history(view, engine_.params(), query),
                      [&](pb::ServerFrame& frame, const HistoryPage& page) {
                        to_pb(page, *frame.mutable_history());
                        if (!page.next_before && !page.next_after) return;
                        Place place;
                        place.out.string(page.conversation.value);
                        place.out.u8(page.next_before ? 1 : 0);
                        place.out.varint(page.next_before ? page.next_before.value : page.next_after.value);
                        frame.mutable_history()->set_page_token(
                            tokens_.seal(PageKind::history, caller.user, caller.device, place.bytes));
                      });
      },
      std::move(answer));
}

// reactions token := string(conversation) varint(seq) string(reaction) string(after this user)
void Service::reactions(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::ReactionsRequest& asked = request.reactions();
  ReactionsQuery query = reactions_from(asked);
  query.user = caller.user;
  if (!asked.page_token().empty()) {
    const auto content =
        tokens_.open(PageKind::reactions, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    if (in.string() != asked.conversation_id() || in.varint() != asked.seq() || in.string() != asked.reaction())
      return answer(foreign_page());
    query.after = UserId(in.string());
  }
  read(
      caller,
      [this, caller, query = std::move(query)](StoreView& view) {
        return framed(read_reactions(view, engine_.params(), query),
                      [&](pb::ServerFrame& frame, const ReactionsPage& page) {
                        pb::ReactionList& list = *frame.mutable_reactions();
                        list.set_conversation_id(query.conversation.value);
                        list.set_seq(query.seq.value);
                        to_pb(page, list);
                        if (page.next.empty()) return;
                        Place place;
                        place.out.string(query.conversation.value);
                        place.out.varint(query.seq.value);
                        place.out.string(query.reaction);
                        place.out.string(page.next.value);
                        list.set_page_token(tokens_.seal(PageKind::reactions, caller.user, caller.device, place.bytes));
                      });
      },
      std::move(answer));
}

// conversations token := varint(sort_time) string(conversation)
void Service::conversations(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::ConversationsRequest& asked = request.conversations();
  std::int64_t below_sort_time = 0;
  ConversationId below;
  if (!asked.page_token().empty()) {
    const auto content =
        tokens_.open(PageKind::conversations, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    below_sort_time = static_cast<std::int64_t>(in.varint());
    below = ConversationId(in.string());
  }
  read(
      caller,
      [this, caller, limit = asked.limit(), below_sort_time, below](StoreView& view) {
        return framed(read_conversations(view, engine_.params(), caller.user, limit, below_sort_time, below),
                      [&](pb::ServerFrame& frame, const ConversationList& list) {
                        to_pb(list, *frame.mutable_conversations());
                        if (list.next_sort_time == 0) return;
                        Place place;
                        place.out.varint(static_cast<std::uint64_t>(list.next_sort_time));
                        place.out.string(list.next_conversation.value);
                        frame.mutable_conversations()->set_page_token(
                            tokens_.seal(PageKind::conversations, caller.user, caller.device, place.bytes));
                      });
      },
      std::move(answer));
}

namespace {

/// Whose devices are meant: a user's token speaks for himself alone, an admin's for whom it names.
Result<UserId> owner_of(const Caller& caller, const std::string& named) {
  if (!caller.admin && !named.empty())
    return fail(ErrorCode::FORBIDDEN, "user", "Only admin tokens may name another user.");
  UserId user = caller.admin ? UserId(named) : caller.user;
  TM_TRY(check_user_id(user, "user"));
  return user;
}

Result<EndSessionsCommand> logout_from(const Caller& caller, const pb::LogoutRequest& request) {
  EndSessionsCommand command;
  TM_ASSIGN(command.user, owner_of(caller, request.user()));
  command.device = DeviceId(request.device());
  if (command.device.empty() && !caller.admin) command.device = caller.device;
  // An administrator's, of no device, is that of all of them.
  if (!command.device.empty() || !caller.admin) TM_TRY(check_name(command.device.value, 64, "device"));
  return command;
}

Result<EndSessionsCommand> end_sessions_from(const Caller& caller, const pb::ClientFrame& request) {
  if (request.has_logout()) return logout_from(caller, request.logout());
  EndSessionsCommand command;
  if (request.has_logout_others()) {
    if (caller.device.empty()) return fail(ErrorCode::MALFORMED, "Tidemark-Device", "Say which device this is.");
    command.user = caller.user;
    command.except = caller.device;
    return command;
  }
  TM_ASSIGN(command.user, owner_of(caller, request.remove_device().user()));
  TM_TRY(check_name(request.remove_device().device(), 64, "device"));
  command.device = DeviceId(request.remove_device().device());
  command.end = SessionEnd::removed;
  return command;
}

}  // namespace

void Service::end_sessions(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto command = end_sessions_from(caller, request);
  if (!command) return answer(std::unexpected(std::move(command).error()));
  command->admin = caller.admin;
  submit(caller, std::move(*command), std::move(answer));
}

void Service::devices(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto user = owner_of(caller, request.devices().user());
  if (!user) return answer(std::unexpected(std::move(user).error()));
  read(
      caller,
      [user = std::move(*user), asking = caller.device, admin = caller.admin](StoreView& view) -> Result<Frame> {
        if (admin && !view.user(user).exists()) return fail(ErrorCode::USER_NOT_FOUND, "user");
        auto frame = std::make_unique<pb::ServerFrame>();
        ReplyToFrame{*frame, asking}(DevicesReply{listed(view.devices(user))});
        return frame;
      },
      std::move(answer));
}

void Service::admin_call(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  if (!caller.admin) return answer(fail(ErrorCode::FORBIDDEN, "", "Only admin tokens may do this."));
  if (request.has_put_user()) {
    SetUserCommand command{UserId(request.put_user().user()), std::nullopt};
    if (request.put_user().has_level()) command.level = request.put_user().level();
    return submit(caller, std::move(command), std::move(answer));
  }
  if (request.has_put_users()) return put_users(caller, request, std::move(answer));
  if (request.has_create_groups()) return create_groups(caller, request, std::move(answer));
  if (request.has_import()) return import(caller, request, std::move(answer));
  if (request.has_dead_events()) return dead_events(caller, request, std::move(answer));
  if (request.has_replay_events()) return replay_events(request, std::move(answer));
  if (request.has_delete_user()) return delete_user(caller, UserId(request.delete_user().user()), std::move(answer));
  if (request.has_remove_members())
    return submit(caller, made_by(caller, remove_members_from(request.remove_members())), std::move(answer));
  if (request.has_delete_message()) {
    const pb::DeleteMessageRequest& asked = request.delete_message();
    return submit(
        caller,
        DeleteMessageCommand{caller.user, caller.device, ConversationId(asked.conversation_id()), Seq(asked.seq())},
        std::move(answer));
  }
  const UserId user(request.get_user().user());
  if (auto checked = check_user_id(user, "user"); !checked) return answer(std::unexpected(std::move(checked).error()));
  read(
      caller,
      [user](StoreView& view) -> Result<Frame> {
        const UserHead head = view.user(user);
        if (!head.exists()) return fail(ErrorCode::USER_NOT_FOUND, "user");
        auto frame = std::make_unique<pb::ServerFrame>();
        ReplyToFrame{*frame, {}}(UserReply{user, head});
        return frame;
      },
      std::move(answer));
}

/// A user of many groups leaves them in several rounds, so that none takes long. Whoever asks again after a failure
/// goes on where that ended.
void Service::delete_user(const Caller& caller, const UserId& user, Answer answer) {
  engine_.submit(
      DeleteUserCommand{user},
      [this, caller, user, answer = std::move(answer)](Result<Reply> reply) mutable {
        if (reply && std::get<UserReply>(*reply).groups_left) return delete_user(caller, user, std::move(answer));
        give(caller.device, std::move(reply), answer);
      },
      session_of(caller));
}

}  // namespace tidemark
