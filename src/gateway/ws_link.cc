#include "gateway/ws_link.h"

#include <algorithm>

#include "base/check.h"
#include "core/session.h"
#include "gateway/links.h"
#include "tidemark.pb.h"
#include "wire/convert.h"

namespace tidemark {
namespace {

using Operation = pb::ClientFrame::OperationCase;

constexpr std::uint16_t kCloseGoingAway = 1001;
constexpr std::uint16_t kClosePolicy = 1008;
/// How exactly the store knows when a device was here last.
constexpr std::int64_t kSeenAgainMs = 10 * kMinuteMs;

}  // namespace

WsLink::WsLink(LinkSocket& socket, Links& links, Dialect dialect, WebSocketLimits limits, std::string bearer)
    : socket_(socket),
      links_(links),
      id_(socket.id()),
      dialect_(dialect),
      codec_(WebSocketCodec::Role::server, limits),
      bearer_(std::move(bearer)),
      since_ms_(links.now_ms()),
      last_input_ms_(since_ms_),
      alive_(std::make_shared<WsLink*>(this)) {}

WsLink::~WsLink() {
  *alive_ = nullptr;
}

void WsLink::on_bytes(std::span<char> bytes) {
  last_input_ms_ = links_.now_ms();
  while (state_ != State::ended) {
    const WebSocketEvent event = codec_.next(bytes);
    switch (event.kind) {
      case WebSocketEvent::Kind::none:
        return;
      case WebSocketEvent::Kind::text:
      case WebSocketEvent::Kind::binary:
        on_message(event.data);
        break;
      case WebSocketEvent::Kind::ping: {
        std::string pong;
        encode_frame(pong, WebSocketOpcode::pong, event.data);
        socket_.send(pong);
        break;
      }
      case WebSocketEvent::Kind::pong:
        break;
      case WebSocketEvent::Kind::close:
        return end(event.close_code, {});
      case WebSocketEvent::Kind::error:
        // A reason is a code where there is one; for a peer that speaks no good WebSocket it is a sentence.
        if (event.close_code != kCloseTooLarge) return end(event.close_code, event.data);
        send_error(0, {ErrorCode::TOO_LARGE, "frame"});
        return end(event.close_code, error_info(ErrorCode::TOO_LARGE).name);
    }
  }
}

void WsLink::on_message(std::string_view bytes) {
  links_.count_frame(bytes.size());
  auto frame = decode_client_frame(dialect_, bytes);
  seen_due_ = seen_due_ || state_ == State::welcomed;
  if (!frame) {
    const bool fresh = state_ == State::fresh;
    const std::string why(error_info(frame.error().error.code).name);
    send_error(frame.error().id, std::move(frame.error().error));
    return fresh ? end(kClosePolicy, why) : void();
  }
  on_frame(std::make_unique<pb::ClientFrame>(std::move(*frame)));
}

void WsLink::on_frame(std::unique_ptr<pb::ClientFrame> frame) {
  if (frame->has_hello()) return hello(*frame);
  if (state_ == State::fresh) {
    send_error(frame->id(), {ErrorCode::HELLO_REQUIRED});
    return end(kClosePolicy, error_info(ErrorCode::HELLO_REQUIRED).name);
  }
  // Between hello and welcome requests wait in their order.
  if (frame->has_ack()) return acknowledge(frame->ack());
  if (frame->has_heartbeat()) return heartbeat(*frame);
  if (frame->has_foreground()) return set_foreground(*frame);
  if (!waiting_) waiting_ = std::make_unique<std::deque<std::unique_ptr<pb::ClientFrame>>>();
  waiting_bytes_ += frame->ByteSizeLong();
  waiting_->push_back(std::move(frame));
  run_waiting();
  if (full() && !std::exchange(paused_, true)) socket_.pause(true);
}

bool WsLink::full() const {
  const Limits& limits = links_.limits();
  return unanswered() >= static_cast<std::size_t>(limits.unanswered_max) ||
         waiting_bytes_ >= static_cast<std::size_t>(limits.unanswered_bytes_max);
}

bool WsLink::half_empty() const {
  const Limits& limits = links_.limits();
  return unanswered() <= static_cast<std::size_t>(limits.unanswered_max) / 2 &&
         waiting_bytes_ <= static_cast<std::size_t>(limits.unanswered_bytes_max) / 2;
}

std::size_t WsLink::unanswered() const {
  return (waiting_ ? waiting_->size() : 0) + changes_running_;
}

WsLink::Held WsLink::held() const {
  Held held{unanswered() + (read_running_ ? 1 : 0), 0, 0};
  if (!waiting_) return held;
  for (const auto& frame : *waiting_) held.bytes += held.last_bytes = frame->ByteSizeLong();
  return held;
}

void WsLink::hello(const pb::ClientFrame& frame) {
  if (state_ != State::fresh) return send_error(frame.id(), {ErrorCode::MALFORMED, "hello", "Only once on a link."});
  const auto refuse = [&](const Error& error) {
    send_error(frame.id(), error);
    end(kClosePolicy, error_info(error.code).name);
  };
  pb::HelloRequest request = frame.hello();
  auto principal = links_.authenticate(request.token().empty() ? bearer_ : request.token());
  bearer_ = std::string();
  if (!principal) return refuse(principal.error());
  if (!principal->device.empty()) request.set_device(principal->device.value);
  auto login = login_from(request);
  if (!login) return refuse(login.error());
  const auto digest = digest_from(request.large_digest(), "large_digest");
  if (!digest) return refuse(digest.error());
  login->user = principal->user;
  login->token_issued_at = principal->issued_at_ms;
  login->token_of_device = !principal->device.empty();
  if (auto admitted = links_.admit_login(principal->user, login->device); !admitted) return refuse(admitted.error());
  state_ = State::logging_in;
  foreground_ = !request.background();
  caller_ = {.user = principal->user,
             .device = login->device,
             .install = login->install,
             .level = principal->level,
             .link = id_};
  links_.joined(*this);
  expires_ms_ = principal->expires_at_ms;
  links_.service().engine().submit(
      *login, [alive = alive_, id = frame.id(), cursor = login->cursor, digest = *digest](Result<Reply> reply) {
        if (WsLink* link = *alive) link->welcome(id, cursor, digest, std::move(reply));
      });
}

void WsLink::welcome(std::uint64_t id, const Cursor& cursor, std::uint64_t large_digest, Result<Reply> reply) {
  if (state_ != State::logging_in) return;
  if (!reply) {
    if (ends_login(reply.error().code)) links_.login_refused(caller_.user);
    send_error(id, reply.error());
    return end(kClosePolicy, error_info(reply.error().code).name);
  }
  const LoginReply& login = std::get<LoginReply>(*reply);
  caller_.generation = login.generation;
  epoch_ = login.head.epoch;
  state_ = State::welcomed;
  links_.service().presence().up(id_, caller_.user);
  links_.service().receipt_watch().acknowledged(caller_.user);  // by the cursor that it came with
  pb::ServerFrame frame = links_.welcome_limits();
  frame.set_id(id);
  pb::Welcome& made = *frame.mutable_welcome();
  made.set_session_generation(login.generation);
  made.set_mode(static_cast<pb::Mode>(login.mode));
  to_pb(login.head, *made.mutable_head());
  made.set_behind(login.behind);
  made.set_highest_mutation(login.highest_mutation);
  made.set_server_time(links_.wall_ms());
  made.set_user(caller_.user.value);
  made.set_device(caller_.device.value);
  made.set_heads_wanted(login.large_digest != large_digest);
  send(frame);
  links_.delivery().attach({id_, caller_.user, caller_.device, login, cursor.mark, foreground_, cursor.round},
                           links_.now_ms());
  if (state_ == State::welcomed && foreground_) links_.tell_ephemerals(*this);
  if (state_ == State::welcomed) run_waiting();
}

void WsLink::run_waiting() {
  while (state_ == State::welcomed && waiting_ && !waiting_->empty() && !socket_.blocked()) {
    const bool change = Service::changes(*waiting_->front());
    if (read_running_ || (!change && changes_running_ > 0)) return;
    std::unique_ptr<pb::ClientFrame> next = std::move(waiting_->front());
    waiting_->pop_front();
    waiting_bytes_ -= next->ByteSizeLong();
    if (waiting_->empty()) waiting_.reset();
    (change ? void(++changes_running_) : void(read_running_ = true));
    start(std::move(next));
  }
}

void WsLink::start(std::unique_ptr<pb::ClientFrame> frame) {
  if (frame->has_sync()) {
    links_.delivery().pulling(id_);
    acknowledge_cursor(frame->sync().cursor());
  }
  if (frame->has_focus()) {
    // From here on entries are pushed; the answer is read after that and tells what they may have missed.
    std::vector<ConversationId> open;
    for (const std::string& id : frame->focus().conversation_ids()) open.emplace_back(id);
    if (open.size() <= static_cast<std::size_t>(Limits::focus_max)) links_.delivery().focus(id_, std::move(open));
  }
  const pb::ClientFrame& request = *frame;
  links_.service().call(caller_, request,
                        [alive = alive_, frame = std::move(frame)](Result<std::unique_ptr<pb::ServerFrame>> result) {
                          if (WsLink* link = *alive) link->answer(*frame, std::move(result));
                        });
}

void WsLink::answer(const pb::ClientFrame& request, Result<std::unique_ptr<pb::ServerFrame>> result) {
  (Service::changes(request) ? void(--changes_running_) : void(read_running_ = false));
  if (state_ != State::welcomed) return;
  if (request.id() == 0) {
    // It asked for no answer.
  } else if (result) {
    (*result)->set_id(request.id());
    send(**result);
    if (request.has_sync()) {
      const pb::SyncPage& page = (*result)->sync();
      // A descent ends at p0; only then does the device stand there.
      const std::uint64_t base = page.mode() == pb::MODE_DELTA ? request.sync().cursor().mark() : 0;
      const bool all = request.sync().bodies() == pb::BODIES_ALL || !request.sync().page_token().empty();
      const bool whole = all ? page.page_token().empty() : page.after() <= base;
      // What changed while the pages were read moved above p0 and is on none of them: only a run that has it all, up
      // to the head, can be gone on from by pushes, which tell what changes and not what is.
      const bool reached = whole && page.head() <= page.p0();
      links_.delivery().answered(id_, Mark(page.p0()), reached, links_.now_ms(), page.p0_round());
    }
  } else {
    send_error(request.id(), result.error());
    // Whose session ended on purpose has been told; any other link only has to begin anew.
    if (result.error().code == ErrorCode::SESSION_FENCED) return kick_fenced();
  }
  run_waiting();
  if (paused_ && half_empty()) {
    paused_ = false;
    socket_.pause(false);
  }
}

void WsLink::acknowledge(const pb::AckRequest& ack) {
  links_.delivery().acknowledge(id_, Mark(ack.mark()), links_.now_ms());
  if (ack.ahead_size() > 0) links_.delivery().acknowledge_ahead(id_, ahead_from(ack));
}

void WsLink::acknowledge_cursor(const pb::Cursor& cursor) {
  const auto held = cursor_from(cursor);
  if (held && held->epoch == epoch_) links_.delivery().acknowledge(id_, held->mark, links_.now_ms(), held->round);
}

void WsLink::heartbeat(const pb::ClientFrame& frame) {
  if (state_ != State::welcomed) return;
  acknowledge_cursor(frame.heartbeat().cursor());
  const auto digest = digest_from(frame.heartbeat().large_digest(), "large_digest");
  if (!digest) return send_error(frame.id(), digest.error());
  if (!links_.delivery().in_large_groups(id_)) return answer_heartbeat(frame.id(), *digest != 0);
  // From the store, which cannot have missed what delivery may have.
  links_.service().large_digest(caller_, [alive = alive_, id = frame.id(), digest = *digest](std::uint64_t now) {
    if (WsLink* link = *alive) link->answer_heartbeat(id, digest != now);
  });
}

void WsLink::answer_heartbeat(std::uint64_t id, bool heads_wanted) {
  if (state_ != State::welcomed) return;
  pb::ServerFrame made;
  made.set_id(id);
  made.mutable_heartbeat()->set_heads_wanted(heads_wanted);
  made.mutable_heartbeat()->set_head(links_.delivery().head_of(id_).value_or(Mark()).value);
  made.mutable_heartbeat()->set_server_time(links_.wall_ms());
  send(made);
}

void WsLink::set_foreground(const pb::ClientFrame& frame) {
  const bool comes = frame.foreground().on() && !foreground_;
  foreground_ = frame.foreground().on();
  links_.delivery().foreground(id_, foreground_);
  if (frame.id() != 0) {
    pb::ServerFrame done;
    done.set_id(frame.id());
    done.mutable_done();
    send(done);
  }
  if (comes && state_ == State::welcomed) links_.tell_ephemerals(*this);
}

void WsLink::tell_presence(const std::vector<PresenceState>& states) {
  pb::ServerFrame frame;
  for (const PresenceState& state : states) links_.service().tell_state(state, *frame.mutable_presence());
  send(frame);
}

void WsLink::tell_ephemeral(const Ephemeral& ephemeral) {
  pb::ServerFrame frame;
  pb::Ephemeral& made = *frame.mutable_ephemeral();
  made.set_conversation_id(ephemeral.conversation.value);
  made.set_sender(ephemeral.sender.value);
  made.set_sender_device(ephemeral.sender_device.value);
  made.set_type(ephemeral.type);
  made.set_payload(ephemeral.payload);
  made.set_lifetime_ms(
      static_cast<std::uint32_t>(std::max<std::int64_t>(0, ephemeral.expires_at_ms - links_.now_ms())));
  send(frame);
}

void WsLink::push(std::span<const PushRef> items) {
  std::vector<PushPart> parts;
  parts.reserve(items.size());
  std::list<std::string> places;
  const auto dialect = static_cast<std::size_t>(dialect_);
  for (const PushRef& each : items) {
    SharedItem& item = *each.item;
    if (!item.headers[dialect]) {
      pb::PushItem made;
      header_to_pb(item, made);
      PushHeader header = encode_push_header(dialect_, made);
      item.headers[dialect] = {std::move(header.front), std::move(header.back)};
    }
    std::string_view shared;
    if (item.part == ItemPart::index) {
      const std::uint64_t seq = item.told.value;
      shared = places.emplace_back(encode_shared_entry(dialect_, item.conversation.value, seq - 1, seq, nullptr));
    } else if (SharedEntry* entry = each.shared.get()) {
      std::string& encoded = entry->encoded[dialect];
      if (encoded.empty()) {
        pb::Message message;
        to_pb(*entry->entry, entry->conversation, message);
        message.clear_client_msg_id();  // known to the sender's devices alone, from their headers
        const std::uint64_t seq = entry->entry->seq.value;
        encoded = encode_shared_entry(dialect_, entry->conversation.value, seq - 1, seq, &message);
      }
      shared = encoded;
    }
    parts.push_back({item.headers[dialect]->front, shared, item.headers[dialect]->back});
  }
  std::string payload;
  append_push_frame(dialect_, parts, payload);
  send_payload(payload);
}

void WsLink::heads(std::span<const KnownHead> heads, std::int64_t spread_ms) {
  pb::ServerFrame frame;
  pb::HeadNotice& notice = *frame.mutable_head_notice();
  for (const KnownHead& head : heads) {
    pb::Head& made = *notice.add_heads();
    made.set_conversation_id(head.conversation.value);
    made.set_seq(head.seq.value);
  }
  notice.set_spread_ms(static_cast<std::uint32_t>(spread_ms));
  send(frame);
}

void WsLink::hint(Mark head) {
  pb::ServerFrame frame;
  frame.mutable_hint()->set_head(head.value);
  send(frame);
}

bool WsLink::blocked() const {
  return socket_.blocked();
}

void WsLink::on_unblocked() {
  if (state_ != State::welcomed) return;
  links_.delivery().unblocked(id_, links_.now_ms());
  run_waiting();
}

void WsLink::send(const pb::ServerFrame& frame) {
  std::string payload;
  encode_server_frame(dialect_, frame, payload);
  send_payload(payload);
}

void WsLink::send_payload(std::string_view payload) {
  const WebSocketOpcode opcode = dialect_ == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary;
  socket_.send(WebSocketHeader(opcode, payload.size()).view());
  socket_.send(payload);
}

void WsLink::send_error(std::uint64_t id, const Error& error) {
  pb::ServerFrame frame;
  frame.set_id(id);
  to_pb(error, *frame.mutable_error());
  send(frame);
}

void WsLink::kick(std::string_view code, std::string_view message, Reconnect reconnect) {
  if (state_ == State::ended) return;
  pb::ServerFrame frame;
  frame.mutable_kick()->set_code(std::string(code));
  frame.mutable_kick()->set_terminal(reconnect == Reconnect::no);
  frame.mutable_kick()->set_message(std::string(message));
  send(frame);
  end(kCloseGoingAway, code);
}

void WsLink::end(std::uint16_t close_code, std::string_view reason) {
  if (state_ == State::ended) return;
  std::string frame;
  encode_close(frame, close_code, reason);
  socket_.send(frame);
  on_closed();
  socket_.finish();
}

void WsLink::on_closed() {
  if (state_ == State::ended) return;
  links_.note_last_seen(*this);
  links_.service().presence().down(id_, links_.wall_ms() - (links_.now_ms() - last_input_ms_));
  state_ = State::ended;
  links_.delivery().detach(id_, links_.now_ms());
  links_.left(*this);
}

std::optional<DeviceSeenCommand> WsLink::take_seen() {
  if (state_ != State::welcomed) return std::nullopt;
  const Delivery& delivery = links_.delivery();
  const bool moved = delivery.acknowledged(id_) != noted_ || delivery.acknowledged_round(id_) != noted_round_;
  const bool seen = std::exchange(seen_due_, false);
  // The first frame, moved marks and a device that is still here after a while are worth a note; every frame is not.
  const bool again = seen && (noted_ms_ == 0 || last_input_ms_ - noted_ms_ >= kSeenAgainMs);
  seen_due_ = seen && !again && !moved;
  if (!again && !moved) return std::nullopt;
  return note_seen();
}

std::optional<DeviceSeenCommand> WsLink::take_last_seen() {
  if (state_ != State::welcomed || !std::exchange(seen_due_, false)) return std::nullopt;
  return note_seen();
}

void WsLink::note_again() {
  seen_due_ = true;
  noted_ms_ = 0;
}

DeviceSeenCommand WsLink::note_seen() {
  noted_ = links_.delivery().acknowledged(id_);
  noted_round_ = links_.delivery().acknowledged_round(id_);
  noted_ms_ = std::max<std::int64_t>(last_input_ms_, 1);
  return {caller_.user, caller_.device, generation(), noted_, links_.now_ms() - last_input_ms_, noted_round_};
}

}  // namespace tidemark
