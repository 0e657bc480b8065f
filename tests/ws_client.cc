#include "ws_client.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/ports.h"
#include "core/uuid7.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"
#include "wire/websocket_handshake.h"

namespace tidemark::testing {
namespace {

SystemRandom& dice() {
  static SystemRandom random;
  return random;
}

WebSocketMask fresh_mask() {
  WebSocketMask mask;
  std::uint8_t bytes[4];
  dice().fill(bytes);
  std::copy(std::begin(bytes), std::end(bytes), mask.begin());
  return mask;
}

}  // namespace

std::string id_of_time(std::int64_t time_ms) {
  Uuid7Random random;
  dice().fill(random);
  return make_uuid_v7(time_ms, random);
}

std::string new_id() {
  return id_of_time(wall_ms());
}

pb::ClientFrame send_frame(std::string_view to, std::string_view text, std::string_view client_msg_id) {
  pb::ClientFrame frame;
  frame.mutable_send()->set_to(std::string(to));
  frame.mutable_send()->set_client_msg_id(std::string(client_msg_id));
  frame.mutable_send()->mutable_body()->set_text(std::string(text));
  return frame;
}

std::string send_json(std::string_view to, std::string_view text, std::string_view client_msg_id) {
  std::string out = "{\"to\":";
  write_json_string(to, out);
  out += ",\"client_msg_id\":";
  write_json_string(client_msg_id, out);
  out += ",\"body\":{\"text\":";
  write_json_string(text, out);
  return out + "}}";
}

std::string code_of(const pb::ServerFrame& frame) {
  return frame.has_error() ? frame.error().code() : std::string();
}

WsClient::WsClient(int port, Dialect dialect, const TcpOptions& options)
    : dialect_(dialect),
      stream_(port, options),
      codec_(WebSocketCodec::Role::client,
             {.max_frame_bytes = 64U << 20, .max_message_bytes = 64U << 20, .max_fragments = 1'000'000}) {
  const std::string key = make_websocket_key(dice());
  const std::string_view protocols[] = {subprotocol_of(dialect)};
  stream_.write(upgrade_request("127.0.0.1:" + std::to_string(port), "/v1/ws", key, protocols));
  HttpResponseParser parser;
  std::string bytes;
  const std::int64_t deadline = steady_ms() + patience_ms();
  for (;;) {
    std::string_view input = bytes;
    const HttpProgress progress = parser.feed(input);
    bytes.erase(0, bytes.size() - input.size());
    if (progress == HttpProgress::ready) break;
    if (progress == HttpProgress::refused || stream_.closed() || steady_ms() >= deadline)
      throw std::runtime_error("the upgrade was not answered");
    stream_.read(bytes, deadline - steady_ms());
  }
  const HttpResponse response = parser.take();
  if (!check_upgrade(response, key, protocols))
    throw std::runtime_error("refused: " + std::to_string(response.status) + " " + response.body);
}

std::string WsClient::frame_of(WebSocketOpcode opcode, std::string_view payload, WebSocketFrameEnd end) {
  std::string out;
  encode_frame(out, opcode, payload, fresh_mask(), end);
  return out;
}

void WsClient::send_message(std::string_view payload) {
  stream_.write(frame_of(dialect_ == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, payload));
}

std::uint64_t WsClient::post(pb::ClientFrame frame) {
  frame.set_id(next_id_++);
  std::string payload;
  encode_client_frame(dialect_, frame, payload);
  send_message(payload);
  return frame.id();
}

pb::ServerFrame WsClient::answer(std::uint64_t id) {
  if (!wait_until([&] { return answers_.contains(id); }))
    throw std::runtime_error(closed() ? "closed without an answer" : "no answer in time");
  return std::move(answers_.extract(id).mapped());
}

std::optional<pb::ServerFrame> WsClient::arrived(std::uint64_t id) {
  const auto found = answers_.find(id);
  if (found == answers_.end()) return std::nullopt;
  return found->second;
}

pb::ServerFrame WsClient::call(const pb::ClientFrame& frame) {
  return answer(post(frame));
}

bool WsClient::wait_until(const std::function<bool()>& condition, std::int64_t timeout_ms) {
  const std::int64_t deadline = steady_ms() + timeout_ms;
  while (!condition()) {
    const std::int64_t left = deadline - steady_ms();
    if (left <= 0 || closed()) return false;
    pump(left);
  }
  return true;
}

void WsClient::listen_for(std::int64_t time_ms) {
  wait_until([] { return false; }, time_ms);
}

bool WsClient::wait_closed(std::int64_t timeout_ms) {
  return wait_until([&] { return closed(); }, timeout_ms) || closed();
}

bool WsClient::pump(std::int64_t timeout_ms) {
  std::string bytes;
  if (!stream_.read(bytes, timeout_ms)) return false;
  std::span<char> input(bytes);
  for (;;) {
    const WebSocketEvent event = codec_.next(input);
    switch (event.kind) {
      case WebSocketEvent::Kind::none:
        return true;
      case WebSocketEvent::Kind::text:
      case WebSocketEvent::Kind::binary:
        take(event.data);
        break;
      case WebSocketEvent::Kind::ping:
      case WebSocketEvent::Kind::pong:
        break;
      case WebSocketEvent::Kind::close:
        closed_code_ = event.close_code;
        return true;
      case WebSocketEvent::Kind::error:
        throw std::runtime_error("the server breaks RFC 6455: " + std::string(event.data));
    }
  }
}

void WsClient::take(std::string_view payload) {
  last_frame_bytes_ = payload.size();
  auto frame = decode_server_frame(dialect_, payload);
  if (!frame) throw std::runtime_error("no frame: " + std::string(payload.substr(0, 200)));
  if (frame->id() != 0) {
    answers_[frame->id()] = std::move(*frame);
    return;
  }
  switch (frame->operation_case()) {
    case pb::ServerFrame::kPush:
      return take_push(frame->push());
    case pb::ServerFrame::kHint:
      hints.push_back(frame->hint().head());
      return;
    case pb::ServerFrame::kPresence:
      presence.insert(presence.end(), frame->presence().states().begin(), frame->presence().states().end());
      return;
    case pb::ServerFrame::kHeadNotice:
      head_notices.push_back(frame->head_notice());
      return;
    case pb::ServerFrame::kEphemeral:
      ephemerals.push_back(frame->ephemeral());
      return;
    case pb::ServerFrame::kReceipts:
      receipts.push_back(frame->receipts());
      return;
    case pb::ServerFrame::kKick:
      kicks.push_back(frame->kick());
      return;
    case pb::ServerFrame::kError:
      stray_errors.push_back(frame->error());
      return;
    default:
      throw std::runtime_error("an answer without an id");
  }
}

void WsClient::take_push(const pb::Push& push) {
  push_frames.push_back(static_cast<std::size_t>(push.items_size()));
  for (const pb::PushItem& item : push.items()) {
    const bool of_devices = item.objects_size() == 1 && item.objects(0).has_devices();
    (of_devices ? device_changes : pushed).push_back(item);
    if (!follow_pushes || item.index_to() == 0 || item.index_after() != cursor_.mark()) continue;
    cursor_.set_mark(item.index_to());
    cursor_.set_round(item.round());
  }
}

void WsClient::ack(std::uint64_t mark) {
  pb::ClientFrame frame;
  frame.mutable_ack()->set_mark(mark);
  post(std::move(frame));
}

pb::ServerFrame WsClient::hello(std::string_view token, const Hello& hello) {
  pb::ClientFrame frame;
  pb::HelloRequest& request = *frame.mutable_hello();
  request.set_token(std::string(token));
  request.set_device(hello.device);
  request.set_install(hello.install);
  request.set_platform(hello.platform);
  *request.mutable_cursor() = hello.cursor;
  request.set_session_generation(hello.generation);
  cursor_ = hello.cursor;
  pb::ServerFrame answered = call(frame);
  if (!answered.has_welcome()) return answered;
  next_mutation_ = answered.welcome().highest_mutation() + 1;
  if (answered.welcome().mode() == pb::MODE_DELTA) {
    cursor_.set_epoch(answered.welcome().head().epoch());
    cursor_.set_epoch_id(answered.welcome().head().epoch_id());
  }
  return answered;
}

pb::Welcome WsClient::login(std::string_view token, const Hello& how) {
  const pb::ServerFrame answered = hello(token, how);
  if (!answered.has_welcome()) throw std::runtime_error("not welcome: " + answered.ShortDebugString());
  if (answered.welcome().mode() != pb::MODE_DELTA || answered.welcome().behind() > 0) sync();
  return answered.welcome();
}

pb::SyncPage WsClient::sync_page(const pb::SyncRequest& request) {
  pb::ClientFrame frame;
  *frame.mutable_sync() = request;
  const pb::ServerFrame answered = call(frame);
  if (!answered.has_sync()) throw std::runtime_error("no page: " + answered.ShortDebugString());
  return answered.sync();
}

std::map<std::string, pb::Change> WsClient::sync(std::uint32_t limit) {
  std::map<std::string, pb::Change> found;
  for (int runs = 0; runs < 100; ++runs) {
    pb::SyncRequest request;
    *request.mutable_cursor() = cursor_;
    request.set_limit(limit);
    pb::SyncPage page;
    std::uint64_t base = cursor_.mark();
    do {
      page = sync_page(request);
      if (page.mode() != pb::MODE_DELTA) base = 0;
      for (const pb::Change& change : page.changes()) {
        pb::Change& held = found[change.conversation_id()];
        if (change.mark() >= held.mark()) held = change;
      }
      request.set_p0(page.p0());
      request.set_p0_round(page.p0_round());
      request.set_below(page.after());
    } while (page.after() > base);
    cursor_ = page.next();
    // Pushes that came behind the answer may already have gone further.
    for (const pb::PushItem& item : pushed)
      if (follow_pushes && item.index_after() == cursor_.mark()) cursor_.set_mark(item.index_to());
    if (cursor_.mark() >= page.head()) return found;
  }
  throw std::runtime_error("the head runs away");
}

pb::ServerFrame WsClient::send(std::string_view to, std::string_view text, std::string_view client_msg_id) {
  return call(send_frame(to, text, client_msg_id.empty() ? new_id() : client_msg_id));
}

namespace {

pb::Sent taken(const pb::ServerFrame& frame) {
  if (!frame.has_sent()) throw std::runtime_error("not sent: " + frame.ShortDebugString());
  return frame.sent();
}

pb::Mutated mutated(const pb::ServerFrame& frame) {
  if (!frame.has_mutated()) throw std::runtime_error("not changed: " + frame.ShortDebugString());
  return frame.mutated();
}

}  // namespace

pb::Sent WsClient::sent(std::string_view to, std::string_view text, std::string_view client_msg_id) {
  return taken(send(to, text, client_msg_id));
}

pb::Sent WsClient::sent_in(std::string_view conversation, std::string_view text, std::string_view client_msg_id) {
  pb::ClientFrame frame = send_frame("", text, client_msg_id.empty() ? new_id() : client_msg_id);
  frame.mutable_send()->set_conversation_id(std::string(conversation));
  return taken(call(frame));
}

pb::Mutated WsClient::read(std::string_view conversation, std::uint64_t seq) {
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(next_mutation_++);
  frame.mutable_mutate()->mutable_read()->set_conversation_id(std::string(conversation));
  frame.mutable_mutate()->mutable_read()->set_seq(seq);
  return mutated(call(frame));
}

pb::Mutated WsClient::mark_unread(std::string_view conversation) {
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(next_mutation_++);
  frame.mutable_mutate()->mutable_mark_unread()->set_conversation_id(std::string(conversation));
  return mutated(call(frame));
}

pb::ServerFrame WsClient::recall(std::string_view conversation, std::uint64_t seq) {
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(next_mutation_++);
  frame.mutable_mutate()->mutable_recall()->set_conversation_id(std::string(conversation));
  frame.mutable_mutate()->mutable_recall()->set_seq(seq);
  return call(frame);
}

pb::ServerFrame WsClient::edit(std::string_view conversation, std::uint64_t seq, std::string_view text,
                               std::optional<std::uint64_t> base_revision) {
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(next_mutation_++);
  pb::EditMutation& edit = *frame.mutable_mutate()->mutable_edit();
  edit.set_conversation_id(std::string(conversation));
  edit.set_seq(seq);
  edit.mutable_body()->set_text(std::string(text));
  if (base_revision) edit.set_base_revision(*base_revision);
  return call(frame);
}

pb::Change WsClient::conversation(std::string_view id) {
  pb::ClientFrame frame;
  frame.mutable_conversation()->set_conversation_id(std::string(id));
  const pb::ServerFrame answered = call(frame);
  if (!answered.has_conversation()) throw std::runtime_error("no conversation: " + answered.ShortDebugString());
  return answered.conversation();
}

pb::HistoryPage WsClient::history(std::string_view conversation, std::uint32_t limit) {
  pb::HistoryRequest request;
  request.set_conversation_id(std::string(conversation));
  request.set_limit(limit);
  return history(request);
}

pb::HistoryPage WsClient::history(const pb::HistoryRequest& request) {
  pb::ClientFrame frame;
  *frame.mutable_history() = request;
  const pb::ServerFrame answered = call(frame);
  if (!answered.has_history()) throw std::runtime_error("no history: " + answered.ShortDebugString());
  return answered.history();
}

pb::ConversationPage WsClient::conversation_sync(std::string_view conversation, std::uint64_t after,
                                                 std::uint32_t limit) {
  pb::ClientFrame frame;
  pb::ConversationSyncRequest& request = *frame.mutable_conversation_sync();
  request.set_conversation_id(std::string(conversation));
  request.set_after(after);
  request.set_limit(limit);
  const pb::ServerFrame answered = call(frame);
  if (!answered.has_conversation_sync()) throw std::runtime_error("no page: " + answered.ShortDebugString());
  return answered.conversation_sync();
}

std::map<std::uint64_t, pb::Message> WsClient::entries(std::string_view conversation) const {
  std::map<std::uint64_t, pb::Message> found;
  for (const pb::PushItem& item : pushed)
    if (item.conversation_id() == conversation && item.has_entry()) found.emplace(item.entry().seq(), item.entry());
  return found;
}

std::vector<std::string> WsClient::texts(std::string_view conversation) const {
  std::vector<std::string> found;
  std::set<std::uint64_t> seen;
  for (const pb::PushItem& item : pushed)
    if (item.conversation_id() == conversation && item.has_entry() && seen.insert(item.entry().seq()).second)
      found.push_back(item.entry().body().text());
  return found;
}

}  // namespace tidemark::testing
