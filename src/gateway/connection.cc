#include "gateway/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "gateway/http_api.h"
#include "gateway/ws_link.h"

namespace tidemark {
namespace {
namespace asio = boost::asio;
using boost::system::error_code;

constexpr int kReadsPerWake = 4;                  // then others have their turn
constexpr std::size_t kKeptOutBytes = 4'096;      // more room than this is given back once it is empty
constexpr std::size_t kOutBytesMax = 256 * 1024;  // beyond it nothing is read
constexpr std::size_t kHeldBytesMax = 64 * 1024;

}  // namespace

Connection::Connection(std::uint64_t id, Socket socket, std::string address, ConnectionOwner& owner, HttpLimits http,
                       std::unique_ptr<TlsFilter> tls)
    : id_(id),
      socket_(std::move(socket)),
      owner_(owner),
      tls_(std::move(tls)),
      http_(http),
      address_(std::move(address)),
      opened_ms_(owner.now_ms()),
      last_input_ms_(opened_ms_) {}

Connection::~Connection() = default;

void Connection::start() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  wait_readable();
}

bool Connection::readable() const {
  // Who does not take his answers gets no more of them.
  return !closed_ && !paused_ && !finishing_ && !input_ended_ && out_.size() <= kOutBytesMax;
}

void Connection::wait_readable() {
  if (reading_ || !readable()) return;
  reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& failed) {
    self->reading_ = false;
    if (failed) return self->close();
    self->on_readable();
  });
}

void Connection::on_readable() {
  for (int reads = 0; reads < kReadsPerWake && readable(); ++reads) {
    const std::span<char> room = owner_.read_buffer();
    error_code failed;
    const std::size_t size = socket_.read_some(asio::buffer(room.data(), room.size()), failed);
    if (failed == asio::error::would_block || failed == asio::error::try_again) break;
    if (failed == asio::error::eof && in_request_ && tls_ == nullptr) {
      // It has said all and still listens for the answer.
      input_ended_ = true;
      return;
    }
    if (failed) return close();
    last_input_ms_ = owner_.now_ms();
    if (tls_ == nullptr)
      take_plain(room.first(size));
    else if (!take_cipher(room.first(size)))
      return;
    if (size < room.size()) break;
  }
  wait_readable();
}

bool Connection::take_cipher(std::span<char> bytes) {
  std::string plain;
  const std::size_t queued = out_.size();
  const auto fed = tls_->feed({bytes.data(), bytes.size()}, plain, out_);
  if (out_.size() > queued) owner_.flush_later(shared_from_this());
  if (!plain.empty()) take_plain(plain);
  if (!fed || tls_->peer_closed()) {
    finish();
    return false;
  }
  return true;
}

void Connection::take_plain(std::span<char> bytes) {
  if (link_)
    take_frames(bytes);
  else
    take_http({bytes.data(), bytes.size()});
}

void Connection::take_http(std::string_view bytes) {
  while (!closed_ && !finishing_) {
    if (in_request_) {
      // One request at a time: what comes behind it waits.
      held_.append(bytes);
      if (held_.size() > kHeldBytesMax) pause(true);
      return;
    }
    if (bytes.empty()) return;
    if (http_.idle()) request_since_ms_ = owner_.now_ms();
    switch (http_.feed(bytes)) {
      case HttpProgress::need_more:
        return;
      case HttpProgress::expect_continue:
        send(kHttpContinue);
        return;
      case HttpProgress::refused:
        return refuse_http(http_.refusal());
      case HttpProgress::ready:
        break;
    }
    HttpRequest request = http_.take();
    in_request_ = true;
    keep_alive_ = request.keep_alive;
    to_head_ = request.method == "HEAD";
    if (!request.is_upgrade) {
      owner_.on_request(shared_from_this(), std::move(request));
      continue;
    }
    link_ = owner_.on_upgrade(shared_from_this(), std::move(request));
    if (!link_) continue;
    in_request_ = false;
    std::string early(bytes);
    return take_frames(early);
  }
}

void Connection::refuse_http(const HttpRefusal& refusal) {
  in_request_ = true;
  keep_alive_ = false;
  const std::string body = error_body(refusal.error);
  respond({.status = refusal.status, .content_type = "application/json", .body = body});
}

void Connection::take_frames(std::span<char> bytes) {
  if (!bytes.empty()) link_->on_bytes(bytes);
}

void Connection::respond(const HttpReply& reply) {
  if (closed_ || !in_request_) return;
  HttpReply whole = reply;
  whole.keep_alive = keep_alive_ && !owner_.stopping();
  whole.to_head = to_head_;
  in_request_ = false;
  send(http_response(whole));
  if (!keep_alive_ || owner_.stopping()) return finish();
  if (!held_.empty()) {
    const std::string next = std::exchange(held_, {});
    take_http(next);
    pause(held_.size() > kHeldBytesMax);
  }
  if (input_ended_ && !in_request_) finish();  // part of a request, or nothing, is left
}

void Connection::send(std::string_view bytes) {
  if (closed_ || finishing_) return;
  if (tls_ == nullptr)
    out_.append(bytes);
  else if (!tls_->encrypt(bytes, out_))
    return finish();  // what was queued before still leaves
  if (!std::exchange(flush_queued_, true)) owner_.flush_later(shared_from_this());
}

void Connection::flush() {
  flush_queued_ = false;
  if (closed_ || blocked_) return;
  std::size_t written = 0;
  while (written < out_.size()) {
    error_code failed;
    written += socket_.write_some(asio::buffer(out_.data() + written, out_.size() - written), failed);
    if (failed == asio::error::would_block || failed == asio::error::try_again) {
      blocked_ = true;
      break;
    }
    if (failed) return close();
  }
  if (written > 0 || !blocked_) last_output_ms_ = owner_.now_ms();
  out_.erase(0, written);
  if (out_.empty() && out_.capacity() > kKeptOutBytes) out_ = std::string();
  if (blocked_) return wait_writable();
  if (finishing_) return close();
  wait_readable();
}

void Connection::wait_writable() {
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& failed) {
    if (failed) return self->close();
    self->blocked_ = false;
    self->flush();
    if (!self->blocked_ && !self->closed_ && self->link_) self->link_->on_unblocked();
  });
}

void Connection::finish() {
  if (closed_ || finishing_) return;
  finishing_ = true;
  if (tls_) tls_->close(out_);
  if (!std::exchange(flush_queued_, true)) owner_.flush_later(shared_from_this());
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  if (link_) link_->on_closed();
  owner_.on_closed(*this);
}

std::int64_t Connection::arriving_since_ms() const {
  if (tls_ && !tls_->handshake_done()) return opened_ms_;
  return link_ || http_.idle() ? 0 : request_since_ms_;
}

void Connection::pause(bool paused) {
  paused_ = paused;
  if (!paused) wait_readable();
}

}  // namespace tidemark
