#include "apps/bench/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "apps/bench/clock.h"
#include "base/ports.h"
#include "tidemark.pb.h"
#include "wire/websocket_handshake.h"

namespace tidemark::bench {
namespace {

constexpr std::uint32_t kAckEntries = 20;
constexpr std::int64_t kAckNs = kSecond;
constexpr std::int64_t kHeartbeatNs = 25 * kSecond;
constexpr std::size_t kKeptOutBytes = 64 * 1024;

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

const sockaddr* as_sockaddr(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// A mask for one frame: xorshift64* (Vigna, 2016). It hides nothing here, where client and server are one machine.
WebSocketMask next_mask(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return std::bit_cast<WebSocketMask>(static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1dULL) >> 32));
}

void put(const Position& position, v1::Cursor& cursor) {
  cursor.set_epoch(position.epoch);
  cursor.set_epoch_id(position.epoch_id);
  cursor.set_mark(position.mark);
  cursor.set_round(position.round);
}

}  // namespace

Link::~Link() {
  close_socket();
}

Result<void> Link::start(Start start) {
  start_ = start;
  SystemRandom random;
  mask_state_ = random.next_u64() | 1;
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0)
    return trouble(std::string("No socket could be made: ") + std::strerror(errno) +
                   ". Raise the limit of open files (ulimit -n) or ask for fewer connections.");
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!plan_.source.empty()) {
    setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    const sockaddr_in from = address_of(plan_.source, 0);
    if (bind(fd_, as_sockaddr(from), sizeof from) != 0)
      return trouble("Cannot connect from " + plan_.source + ": " + std::strerror(errno) + ".");
  }
  const sockaddr_in to = address_of(plan_.host, plan_.port);
  if (connect(fd_, as_sockaddr(to), sizeof to) != 0 && errno != EINPROGRESS)
    return trouble("Cannot connect to " + plan_.host + ":" + std::to_string(plan_.port) + ": " + std::strerror(errno) +
                   ". Is the server running?");
  key_ = make_websocket_key(random);
  const std::array protocols{subprotocol_of(plan_.dialect)};
  out_ = upgrade_request(plan_.host + ":" + std::to_string(plan_.port), "/v1/ws", key_, protocols);
  state_ = State::upgrading;
  blocked_ = true;
  loop_.watch(fd_, EPOLLIN | EPOLLOUT, *this);
  return {};
}

void Link::drop() {
  close_socket();
}

void Link::close_socket() {
  state_ = State::closed;
  if (fd_ < 0) return;
  loop_.forget(fd_, *this);
  close(fd_);
  fd_ = -1;
}

void Link::give_up(const std::string& why) {
  loop_.stop_with({ErrorCode::INTERNAL, {}, "The link of " + plan_.user + " (" + plan_.device + ") ended: " + why});
  close_socket();
}

void Link::hello() {
  pb::ClientFrame frame;
  frame.set_id(++own_id_);
  v1::HelloRequest& hello = *frame.mutable_hello();
  hello.set_token(plan_.token);
  hello.set_device(plan_.device);
  hello.set_platform("bench");
  if (plan_.position.mark > 0) put(plan_.position, *hello.mutable_cursor());
  state_ = State::greeting;
  send(frame);
}

void Link::send(const pb::ClientFrame& frame) {
  static thread_local std::string payload;
  payload.clear();
  encode_client_frame(plan_.dialect, frame, payload);
  const auto opcode = plan_.dialect == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary;
  encode_frame(out_, opcode, payload, next_mask(mask_state_));
  queue({});
}

void Link::queue(std::string_view bytes) {
  if (fd_ < 0) return;
  out_.append(bytes);
  if (blocked_ || flush_queued_) return;
  flush_queued_ = true;
  loop_.flush_later(*this);
}

void Link::flush() {
  flush_queued_ = false;
  if (fd_ < 0 || blocked_ || out_.empty()) return;
  const ssize_t written = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
  if (written < 0 && errno != EAGAIN) return give_up(std::string("writing failed: ") + std::strerror(errno));
  written_ns_ = now_ns();
  if (written == static_cast<ssize_t>(out_.size())) {
    out_.clear();
    if (out_.capacity() > kKeptOutBytes) out_.shrink_to_fit();
    return;
  }
  if (written > 0) out_.erase(0, static_cast<std::size_t>(written));
  blocked_ = true;
  loop_.change(fd_, EPOLLIN | EPOLLOUT, *this);
}

void Link::on_ready(std::uint32_t events) {
  if (fd_ < 0) return;
  if ((events & EPOLLOUT) != 0 && blocked_) {
    blocked_ = false;
    loop_.change(fd_, EPOLLIN, *this);
    flush();
  }
  if (fd_ < 0 || (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
  const std::span<char> room = loop_.read_buffer();
  const ssize_t size = recv(fd_, room.data(), room.size(), 0);
  if (size < 0 && errno == EAGAIN) return;
  if (size < 0) return give_up(std::strerror(errno));
  if (size == 0) return give_up("the server closed it");
  take(room.first(static_cast<std::size_t>(size)));
}

void Link::take(std::span<char> bytes) {
  if (state_ == State::upgrading) return take_upgrade(bytes);
  while (fd_ >= 0) {
    const WebSocketEvent event = codec_.next(bytes);
    switch (event.kind) {
      case WebSocketEvent::Kind::none:
        return;
      case WebSocketEvent::Kind::text:
      case WebSocketEvent::Kind::binary:
        take_message(event.data);
        break;
      case WebSocketEvent::Kind::ping:
        encode_frame(out_, WebSocketOpcode::pong, event.data, next_mask(mask_state_));
        queue({});
        break;
      case WebSocketEvent::Kind::pong:
        break;
      case WebSocketEvent::Kind::close:
        return give_up("the server closed it with " + std::to_string(event.close_code) + " " + std::string(event.data));
      case WebSocketEvent::Kind::error:
        return give_up("bad framing: " + std::string(event.data));
    }
  }
}

void Link::take_upgrade(std::span<char> bytes) {
  std::string_view rest(bytes.data(), bytes.size());
  switch (upgrade_.feed(rest)) {
    case HttpProgress::need_more:
    case HttpProgress::expect_continue:
      return;
    case HttpProgress::refused:
      return give_up("the upgrade failed: " + upgrade_.error().message());
    case HttpProgress::ready:
      break;
  }
  const HttpResponse response = upgrade_.take();
  const std::array protocols{subprotocol_of(plan_.dialect)};
  if (const auto chosen = check_upgrade(response, key_, protocols); !chosen)
    return give_up("the upgrade was refused with status " + std::to_string(response.status) + ": " + response.body);
  key_ = std::string();
  state_ = State::upgraded;
  if (start_ == Start::whole) hello();
  if (!rest.empty()) take(bytes.last(rest.size()));
}

void Link::take_message(std::string_view bytes) {
  if (plan_.dialect == Dialect::json) {
    const auto frame = decode_server_frame(plan_.dialect, bytes);
    if (!frame) return give_up("a frame could not be read: " + frame.error().error.message());
    return take_frame(*frame);
  }
  // Read into one frame again and again, whose strings keep their room: the client must not be what is measured.
  // Handlers only queue frames, so that none comes back here while it is in use.
  static thread_local pb::ServerFrame frame;
  if (!frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return give_up("a frame could not be read");
  take_frame(frame);
}

void Link::take_frame(const pb::ServerFrame& frame) {
  using Operation = pb::ServerFrame::OperationCase;
  switch (frame.operation_case()) {
    case Operation::kPush:
      return take_push(frame.push());
    case Operation::kHint:
      ++hints_;
      if (plan_.on_hint == OnHint::pull) pull({});
      return;
    case Operation::kKick:
      return give_up("kicked with " + frame.kick().code() + ": " + frame.kick().message());
    case Operation::kWelcome:
      return take_welcome(frame.welcome());
    case Operation::kHeartbeat:
      return;
    case Operation::kSync:
      if (frame.id() > kOwnIds) return take_pulled(frame.sync());
      break;
    case Operation::kError:
      if (frame.id() > kOwnIds || !on_answer) {
        const v1::Error& error = frame.error();
        return give_up("refused with " + error.code() + " (" + error.field() + "): " + error.message());
      }
      break;
    default:
      break;
  }
  if (on_answer) on_answer(frame);
}

void Link::take_welcome(const v1::Welcome& welcome) {
  state_ = State::welcomed;
  plan_.position.epoch = welcome.head().epoch();
  plan_.position.epoch_id = welcome.head().epoch_id();
  if (plan_.position.round == 0) plan_.position.round = welcome.head().round();
}

void Link::take_push(const v1::Push& push) {
  if (unacknowledged_ == 0) waiting_since_ns_ = now_ns();
  for (const pb::PushItem& item : push.items()) {
    if (item.index_to() == 0) {  // of a large group: it has no place in the index
      if (on_item) on_item(item);
      continue;
    }
    if (item.index_to() > plan_.position.mark) {
      plan_.position.mark = item.index_to();
      plan_.position.round = item.round();
    }
    ++unacknowledged_;
    if (on_item) on_item(item);
  }
  if (unacknowledged_ >= kAckEntries) acknowledge();
}

void Link::acknowledge() {
  static thread_local pb::ClientFrame frame;
  frame.mutable_ack()->set_mark(plan_.position.mark);
  unacknowledged_ = 0;
  send(frame);
}

void Link::pull(const std::string& page_token) {
  if (page_token.empty() && pulling_) return;
  pulling_ = true;
  pb::ClientFrame frame;
  frame.set_id(++own_id_);
  v1::SyncRequest& sync = *frame.mutable_sync();
  if (plan_.position.mark > 0) put(plan_.position, *sync.mutable_cursor());
  sync.set_bodies(v1::BODIES_ALL);
  sync.set_page_token(page_token);
  send(frame);
}

void Link::take_pulled(const v1::SyncPage& page) {
  if (on_pulled)
    for (const v1::Change& change : page.changes()) on_pulled(change);
  if (!page.page_token().empty()) return pull(page.page_token());
  pulling_ = false;
  const v1::Cursor& next = page.next();
  plan_.position = {next.epoch(), next.epoch_id(), next.mark(), next.round()};
}

void Link::tick(std::int64_t now) {
  if (state_ != State::welcomed) return;
  if (unacknowledged_ > 0 && now - waiting_since_ns_ >= kAckNs) acknowledge();
  if (now - written_ns_ < kHeartbeatNs) return;
  pb::ClientFrame frame;
  frame.set_id(++own_id_);
  put(plan_.position, *frame.mutable_heartbeat()->mutable_cursor());
  if (plan_.position.mark == 0) frame.mutable_heartbeat()->clear_cursor();
  send(frame);
  written_ns_ = now;
}

}  // namespace tidemark::bench
