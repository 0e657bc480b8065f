#include "apps/tidemark/http_calls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/localhost.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_reader.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kAnswerBytesMax = 64ull * 1024 * 1024;

CallError no_server(const ServerUrl& url, std::string_view why) {
  return {
      .code = "NO_SERVER",
      .sentence = fmt::format("There is no server at {} ({}). Start one with: tidemark serve --data ./data --listen {}",
                              url.text, why, url.authority()),
      .retryable = true};
}

CallError no_answer(const ServerUrl& url, std::string_view why) {
  return {.code = "NO_ANSWER",
          .sentence =
              fmt::format("The server at {} gave no answer ({}). The same command may be given again.", url.text, why),
          .retryable = true};
}

CallError bad_answer(const ServerUrl& url, std::string_view why) {
  return {.code = "BAD_ANSWER",
          .sentence = fmt::format("What answers at {} is no Tidemark server ({}).", url.text, why)};
}

/// Whether it is the wrong certificate to trust or the wrong server, only the user can know.
CallError bad_certificate(const ServerUrl& url, std::string_view why) {
  return {
      .code = "BAD_CERTIFICATE",
      .sentence = fmt::format("At {} {}. If the server is yours, name the certificate that vouches for it with --ca "
                              "FILE (a self-signed one vouches for itself), and call the server by a name that "
                              "stands in its certificate; if it is not, do not use it.",
                              url.text, why)};
}

/// A socket, with the TLS around it where there is one.
class Connection {
 public:
  Connection(const ServerUrl& url, const TlsContext* tls, int timeout_s) : url_(url), timeout_s_(timeout_s) {
    if (tls != nullptr) filter_.emplace(*tls, url.host);
  }
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Called<void> connect();
  Called<void> send(std::string_view bytes);
  /// Appends what comes next; nothing is appended when the peer has closed.
  Called<void> receive(std::string& out);

 private:
  Called<void> send_raw(std::string_view bytes);
  Called<std::string> receive_raw();
  Called<void> shake_hands();

  const ServerUrl& url_;
  const int timeout_s_;
  int socket_ = -1;
  std::optional<TlsFilter> filter_;
  std::string early_;  // plain bytes that came with the handshake
};

Called<void> Connection::connect() {
  const auto found = look_up(url_.host, url_.port);
  if (!found) return std::unexpected(no_server(url_, found.error()));
  int error = ECONNREFUSED;
  for (const addrinfo* address = found->get(); address != nullptr; address = address->ai_next) {
    socket_ = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    if (socket_ < 0) continue;
    const timeval timeout{.tv_sec = timeout_s_, .tv_usec = 0};  // SO_SNDTIMEO bounds connect() too
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (::connect(socket_, address->ai_addr, address->ai_addrlen) == 0) return filter_ ? shake_hands() : Called<void>{};
    error = errno;
    ::close(socket_);
    socket_ = -1;
  }
  return std::unexpected(no_server(url_, std::strerror(error)));
}

Called<void> Connection::shake_hands() {
  std::string out;
  auto step = filter_->start(out);
  while (step) {
    if (auto sent = send_raw(out); !sent) return sent;
    out.clear();
    if (filter_->handshake_done()) return {};
    const auto bytes = receive_raw();
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty()) return std::unexpected(bad_answer(url_, "it speaks no TLS"));
    step = filter_->feed(*bytes, early_, out);
  }
  const Error& error = step.error();
  if (error.field == kCertificateField) return std::unexpected(bad_certificate(url_, error.detail));
  return std::unexpected(bad_answer(url_, error.detail));
}

Called<void> Connection::send(std::string_view bytes) {
  if (!filter_) return send_raw(bytes);
  std::string cipher;
  if (const auto sealed = filter_->encrypt(bytes, cipher); !sealed)
    return std::unexpected(no_answer(url_, sealed.error().message()));
  return send_raw(cipher);
}

Called<void> Connection::receive(std::string& out) {
  if (!early_.empty()) {
    out += std::exchange(early_, {});
    return {};
  }
  const std::size_t before = out.size();
  while (out.size() == before) {
    const auto bytes = receive_raw();
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty()) return {};
    if (!filter_) {
      out += *bytes;
      continue;
    }
    std::string reply;
    const auto fed = filter_->feed(*bytes, out, reply);
    if (!reply.empty()) (void)send_raw(reply);
    if (!fed) return std::unexpected(no_answer(url_, fed.error().message()));
    if (filter_->peer_closed()) return {};
  }
  return {};
}

Called<void> Connection::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return std::unexpected(no_answer(url_, std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Called<std::string> Connection::receive_raw() {
  std::string bytes(64 * 1024, '\0');
  while (true) {
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const bool timed_out = errno == EAGAIN || errno == EWOULDBLOCK;
      return std::unexpected(
          no_answer(url_, timed_out ? fmt::format("within {} s", timeout_s_) : std::strerror(errno)));
    }
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
}

Called<HttpResponse> read_response(Connection& connection, const ServerUrl& url) {
  HttpResponseParser parser(HttpResponseParser::AnswerTo::other, {.body_bytes = kAnswerBytesMax});
  while (true) {
    std::string bytes;
    if (auto received = connection.receive(bytes); !received) return std::unexpected(received.error());
    std::string_view rest = bytes;
    const HttpProgress progress = bytes.empty() ? parser.finish() : parser.feed(rest);
    if (progress == HttpProgress::ready) return parser.take();
    if (progress == HttpProgress::refused) return std::unexpected(bad_answer(url, parser.error().message()));
    if (bytes.empty()) return std::unexpected(no_answer(url, "it closed the connection"));
  }
}

CallError refusal(const ServerUrl& url, const HttpResponse& response) {
  v1::ErrorAnswer answer;
  const auto parsed = read_json(response.body, answer, {.fields = Unknown::ignore, .words = Unknown::ignore});
  if (!parsed || answer.error().code().empty())
    return bad_answer(url, fmt::format("status {} without a reason", response.status));
  return {.code = answer.error().code(),
          .sentence = answer.error().message(),
          .field = answer.error().field(),
          .status = response.status,
          .retryable = answer.error().retryable()};
}

std::unexpected<Error> bad_url(std::string_view text) {
  return fail(ErrorCode::MALFORMED, "url",
              fmt::format("\"{}\" is no address of a server; one looks like http://127.0.0.1:7700 or "
                          "https://chat.example.org.",
                          text));
}

}  // namespace

std::string ServerUrl::authority() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url;
  while (text.ends_with('/') && !text.ends_with("//")) text.remove_suffix(1);
  url.text = text;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.scheme = ServerUrl::Scheme::https;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad_url(text);
  }
  url.port = url.scheme == ServerUrl::Scheme::https ? "443" : "7700";
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return bad_url(text);
    url.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const auto end = rest.find(':');
    url.host = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  }
  if (!rest.empty()) url.port = rest.substr(1);
  std::uint16_t port = 0;
  const char* const port_end = url.port.data() + url.port.size();
  const auto read = std::from_chars(url.port.data(), port_end, port);
  const bool port_good = read.ec == std::errc() && read.ptr == port_end && port != 0;
  const bool host_good = !url.host.empty() && url.host.find_first_of("/?#@ \t\r\n[]") == std::string::npos;
  if (!port_good || !host_good || (!rest.empty() && rest.front() != ':')) return bad_url(text);
  return url;
}

Result<HttpCalls> HttpCalls::open(ServerUrl url, std::string token, const std::string& ca_file, int timeout_s) {
  HttpCalls calls;
  if (url.scheme == ServerUrl::Scheme::https) {
    TM_ASSIGN(auto context, TlsContext::client({.ca_file = ca_file}));
    calls.tls_ = std::move(context);
  }
  calls.url_ = std::move(url);
  calls.token_ = std::move(token);
  calls.timeout_s_ = timeout_s;
  return calls;
}

Called<std::string> HttpCalls::call(const CallOptions& options) const {
  Connection connection(url_, tls_.get(), timeout_s_);
  if (auto connected = connection.connect(); !connected) return std::unexpected(connected.error());
  const std::string host = url_.authority();
  const std::string bearer = "Bearer " + token_;
  std::vector<HttpHeaderView> headers = {{"Authorization", bearer}};
  if (!options.idempotency_key.empty()) headers.emplace_back("Idempotency-Key", options.idempotency_key);
  const std::string request = http_request({.method = options.method,
                                            .host = host,
                                            .target = options.target,
                                            .content_type = options.body.empty() ? "" : "application/json",
                                            .body = options.body,
                                            .keep_alive = false,
                                            .headers = headers});
  if (auto sent = connection.send(request); !sent) return std::unexpected(sent.error());
  auto response = read_response(connection, url_);
  if (!response) return std::unexpected(response.error());
  if (response->status < 200 || response->status > 299) return std::unexpected(refusal(url_, *response));
  return std::move(response->body);
}

void tell_call_error(const CallError& error) {
  const std::string field = error.field.empty() ? "" : " (" + error.field + ")";
  fmt::print(stderr, "tidemark: {}{}: {}\n", error.code, field, error.sentence);
}

}  // namespace tidemark
