#include "tcp_stream.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tidemark::testing {

std::int64_t patience_ms() {
  static const std::int64_t factor = [] {
    const char* given = std::getenv("TIDEMARK_TEST_PATIENCE");
    return given == nullptr ? 1 : std::max(1L, std::atol(given));
  }();
  return 15'000 * factor;
}

std::int64_t steady_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::int64_t wall_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void sleep_ms(std::int64_t time_ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(time_ms));
}

TcpStream::TcpStream(int port, const TcpOptions& options) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (options.receive_buffer_bytes > 0)
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer_bytes, sizeof options.receive_buffer_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const std::string why = std::strerror(errno);
    close(fd_);
    throw std::runtime_error("cannot connect to port " + std::to_string(port) + ": " + why);
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  if (options.tls == nullptr) return;
  tls_ = std::make_unique<TlsFilter>(*options.tls, options.tls_name);
  std::string hello;
  if (!tls_->start(hello)) throw std::runtime_error("TLS does not start");
  write_plain(hello);
  std::string nothing;
  const std::int64_t deadline = steady_ms() + patience_ms();
  while (!tls_->handshake_done())
    if (!read(nothing, deadline - steady_ms()) && (closed_ || steady_ms() >= deadline))
      throw std::runtime_error("the TLS handshake failed");
}

TcpStream::~TcpStream() {
  if (fd_ >= 0) close(fd_);
}

TcpStream::TcpStream(TcpStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), closed_(other.closed_), tls_(std::move(other.tls_)) {}

TcpStream& TcpStream::operator=(TcpStream&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(closed_, other.closed_);
  std::swap(tls_, other.tls_);
  return *this;
}

bool TcpStream::wait_for(short events, std::int64_t deadline_ms) const {
  pollfd waited{fd_, events, 0};
  for (;;) {
    const std::int64_t left = std::max<std::int64_t>(0, deadline_ms - steady_ms());
    const int ready = poll(&waited, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
  }
}

void TcpStream::write(std::string_view bytes) {
  if (!tls_) return write_plain(bytes);
  std::string cipher;
  if (!tls_->encrypt(bytes, cipher)) throw std::runtime_error("TLS cannot send");
  write_plain(cipher);
}

void TcpStream::write_plain(std::string_view bytes) {
  const std::int64_t deadline = steady_ms() + patience_ms();
  while (!bytes.empty()) {
    if (!write_some(bytes)) throw std::runtime_error("the server has closed the connection");
    if (bytes.empty()) return;
    if (!wait_for(POLLOUT, deadline)) throw std::runtime_error("the server takes no bytes");
  }
}

bool TcpStream::write_some(std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TcpStream::read(std::string& out, std::int64_t timeout_ms) {
  if (closed_) return false;
  if (!wait_for(POLLIN, steady_ms() + timeout_ms)) return false;
  char buffer[65'536];
  const ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    closed_ = true;
    return false;
  }
  const std::string_view bytes(buffer, static_cast<std::size_t>(size));
  if (!tls_) {
    out.append(bytes);
    return true;
  }
  std::string answer;
  const auto fed = tls_->feed(bytes, out, answer);
  std::string_view rest = answer;
  write_some(rest);
  if (!fed || tls_->peer_closed()) closed_ = true;
  return true;
}

bool TcpStream::wait_closed(std::int64_t timeout_ms) {
  const std::int64_t deadline = steady_ms() + timeout_ms;
  std::string dropped;
  while (!closed_ && steady_ms() < deadline) {
    read(dropped, deadline - steady_ms());
    dropped.clear();
  }
  return closed_;
}

void TcpStream::end_writing() {
  ::shutdown(fd_, SHUT_WR);
}

void TcpStream::abort() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(std::exchange(fd_, -1));
  closed_ = true;
}

}  // namespace tidemark::testing
