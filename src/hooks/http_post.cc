#include "hooks/http_post.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/localhost.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kAnswerBytesMax = 1024 * 1024;
constexpr std::size_t kPieceBytes = 16 * 1024;

using Posted = std::expected<void, PostError>;

std::unexpected<PostError> no_answer(std::string what) {
  return std::unexpected(PostError{PostError::Kind::no_answer, std::move(what)});
}

std::unexpected<PostError> unreachable(std::string what) {
  return std::unexpected(PostError{PostError::Kind::unreachable, std::move(what)});
}

class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ms)
      : at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms)) {}
  int left_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now()).count();
    return left > 0 ? static_cast<int>(left) : 0;
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

}  // namespace

/// A socket that blocks for nobody, with the TLS around it where there is one.
class HttpPost::Connection {
 public:
  Connection(int interrupted, const TlsContext* tls, const std::string& host) : interrupted_(interrupted) {
    if (tls != nullptr) filter_.emplace(*tls, host);
  }
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Posted connect(const HookUrl& url, const Deadline& deadline);
  Posted send(std::string_view bytes, const Deadline& deadline, const MayLeave& may_leave);
  /// Appends what comes next; nothing when the peer has closed.
  Posted receive(std::string& out, const Deadline& deadline);
  /// Whether the peer has closed, or said something that nobody asked for.
  bool stale() const;

 private:
  enum class For : std::uint8_t { reading, writing };
  Posted wait(For what, const Deadline& deadline);
  Posted connect_to(const addrinfo& address, const Deadline& deadline);
  Posted shake_hands(const Deadline& deadline);
  Posted send_raw(std::string_view bytes, const Deadline& deadline, const MayLeave& may_leave);
  Posted receive_raw(std::string& out, const Deadline& deadline);

  const int interrupted_;
  int socket_ = -1;
  std::optional<TlsFilter> filter_;
  std::string early_;  // plain bytes that came with the handshake
};

Posted HttpPost::Connection::wait(For what, const Deadline& deadline) {
  pollfd watched[2] = {{socket_, static_cast<short>(what == For::reading ? POLLIN : POLLOUT), 0},
                       {interrupted_, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(watched, 2, deadline.left_ms());
    if (ready < 0 && errno == EINTR) continue;
    if (watched[1].revents != 0) return no_answer("The server stops.");
    if (ready <= 0) return no_answer("There was no answer in time.");
    return {};
  }
}

Posted HttpPost::Connection::connect_to(const addrinfo& address, const Deadline& deadline) {
  socket_ = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (socket_ < 0) return unreachable(std::strerror(errno));
  int error = ::connect(socket_, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait(For::writing, deadline))
      error = ETIMEDOUT;
    else
      ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return {};
  ::close(std::exchange(socket_, -1));
  return unreachable(std::strerror(error));
}

Posted HttpPost::Connection::connect(const HookUrl& url, const Deadline& deadline) {
  const auto found = look_up(url.host, url.port);
  if (!found) return unreachable(url.host + ": " + found.error());
  Posted connected = unreachable("no address");
  for (const addrinfo* address = found->get(); address != nullptr && !connected; address = address->ai_next)
    connected = connect_to(*address, deadline);
  if (!connected) return unreachable(url.authority() + ": " + connected.error().what);
  return filter_ ? shake_hands(deadline) : connected;
}

/// Who cannot be trusted was not reached: nothing has been told.
Posted HttpPost::Connection::shake_hands(const Deadline& deadline) {
  std::string out;
  auto step = filter_->start(out);
  while (step) {
    if (const auto sent = send_raw(out, deadline, nullptr); !sent) return unreachable(sent.error().what);
    out.clear();
    if (filter_->handshake_done()) return {};
    std::string bytes;
    if (const auto got = receive_raw(bytes, deadline); !got) return unreachable(got.error().what);
    if (bytes.empty()) return unreachable("it speaks no TLS");
    step = filter_->feed(bytes, early_, out);
  }
  return unreachable(step.error().message());
}

Posted HttpPost::Connection::send(std::string_view bytes, const Deadline& deadline, const MayLeave& may_leave) {
  if (!filter_) return send_raw(bytes, deadline, may_leave);
  while (!bytes.empty()) {
    std::string cipher;
    if (const auto sealed = filter_->encrypt(bytes.substr(0, kPieceBytes), cipher); !sealed)
      return no_answer(sealed.error().message());
    if (auto sent = send_raw(cipher, deadline, may_leave); !sent) return sent;
    bytes.remove_prefix(std::min(bytes.size(), kPieceBytes));
  }
  return {};
}

Posted HttpPost::Connection::send_raw(std::string_view bytes, const Deadline& deadline, const MayLeave& may_leave) {
  while (!bytes.empty()) {
    if (auto ready = wait(For::writing, deadline); !ready) return ready;
    if (may_leave && !may_leave())
      return std::unexpected(PostError{PostError::Kind::held_back, "What it tells has changed."});
    const ssize_t sent = ::send(socket_, bytes.data(), std::min(bytes.size(), kPieceBytes), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return no_answer(std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Posted HttpPost::Connection::receive_raw(std::string& out, const Deadline& deadline) {
  char room[kPieceBytes];
  while (true) {
    if (auto ready = wait(For::reading, deadline); !ready) return ready;
    const ssize_t got = ::recv(socket_, room, sizeof room, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return no_answer(std::strerror(errno));
    out.append(room, static_cast<std::size_t>(got));
    return {};
  }
}

Posted HttpPost::Connection::receive(std::string& out, const Deadline& deadline) {
  if (!filter_) return receive_raw(out, deadline);
  out += std::exchange(early_, {});
  while (out.empty()) {
    std::string cipher;
    if (auto got = receive_raw(cipher, deadline); !got) return got;
    if (cipher.empty()) return {};
    std::string reply;
    const auto fed = filter_->feed(cipher, out, reply);
    if (!reply.empty()) (void)send_raw(reply, deadline, nullptr);
    if (!fed) return no_answer(fed.error().message());
    if (filter_->peer_closed()) return {};
  }
  return {};
}

bool HttpPost::Connection::stale() const {
  pollfd watched{socket_, POLLIN, 0};
  return ::poll(&watched, 1, 0) != 0;
}

struct HttpPost::State {
  State(HookUrl to, const TlsContext* context)
      : url(std::move(to)), tls(context), interrupted(::eventfd(0, EFD_CLOEXEC)) {
    TM_CHECK(interrupted >= 0, "there are file descriptors left");
  }
  ~State() { ::close(interrupted); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::expected<HttpResponse, PostError> exchange(std::string_view request, const Deadline& deadline,
                                                  const MayLeave& may_leave, bool& answered);

  const HookUrl url;
  const TlsContext* const tls;
  const int interrupted;
  std::unique_ptr<Connection> kept;
};

std::expected<HttpResponse, PostError> HttpPost::State::exchange(std::string_view request, const Deadline& deadline,
                                                                 const MayLeave& may_leave, bool& answered) {
  if (!kept) {
    auto made = std::make_unique<Connection>(interrupted, tls, url.host);
    if (auto connected = made->connect(url, deadline); !connected) return std::unexpected(connected.error());
    kept = std::move(made);
  }
  // Whatever goes wrong ends the connection.
  std::unique_ptr<Connection> connection = std::move(kept);
  if (auto sent = connection->send(request, deadline, may_leave); !sent) return std::unexpected(sent.error());
  HttpResponseParser parser(HttpResponseParser::AnswerTo::other, {.body_bytes = kAnswerBytesMax});
  while (true) {
    std::string bytes;
    if (auto got = connection->receive(bytes, deadline); !got) return std::unexpected(got.error());
    answered = answered || !bytes.empty();
    std::string_view rest = bytes;
    const HttpProgress progress = bytes.empty() ? parser.finish() : parser.feed(rest);
    if (progress == HttpProgress::refused) return no_answer(parser.error().message());
    if (progress != HttpProgress::ready && bytes.empty()) return no_answer("It closed the connection.");
    if (progress != HttpProgress::ready) continue;
    HttpResponse response = parser.take();
    if (response.keep_alive && rest.empty() && !bytes.empty()) kept = std::move(connection);
    return response;
  }
}

HttpPost::HttpPost(HookUrl url, const TlsContext* tls) : state_(std::make_unique<State>(std::move(url), tls)) {}
HttpPost::~HttpPost() = default;
HttpPost::HttpPost(HttpPost&&) noexcept = default;

std::expected<HttpResponse, PostError> HttpPost::post(std::string_view body, std::span<const HttpHeaderView> headers,
                                                      std::int64_t timeout_ms, const MayLeave& may_leave) {
  const Deadline deadline(timeout_ms);
  const std::string host = state_->url.authority();
  const std::string request = http_request({.method = "POST",
                                            .host = host,
                                            .target = state_->url.target,
                                            .content_type = "application/json",
                                            .body = body,
                                            .headers = headers});
  if (state_->kept && state_->kept->stale()) state_->kept.reset();
  const bool was_kept = state_->kept != nullptr;
  bool answered = false;
  auto response = state_->exchange(request, deadline, may_leave, answered);
  const bool again = !response && was_kept && !answered && response.error().kind == PostError::Kind::no_answer &&
                     deadline.left_ms() > 0;
  return again ? state_->exchange(request, deadline, may_leave, answered) : std::move(response);
}

void HttpPost::interrupt() {
  const std::uint64_t one = 1;
  (void)!::write(state_->interrupted, &one, sizeof one);
}

}  // namespace tidemark
