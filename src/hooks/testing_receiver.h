// An application for tests: takes what a server tells it, checks the signatures, and answers as a test wants.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hooks/signature.h"
#include "wire/http_parser.h"

namespace tidemark::testing {

struct ReceivedPost {
  std::string path;
  std::string body;
  bool signed_well = false;
};

struct ReceiverAnswer {
  int status = 200;
  std::string body = "{}";
};

class TestReceiver {
 public:
  using Answer = std::function<ReceiverAnswer(const ReceivedPost&)>;

  /// `port` 0 takes a free one. The answer is made on a connection's own thread; it may block.
  explicit TestReceiver(std::string secret, Answer answer = nullptr, int port = 0)
      : secret_(std::move(secret)), answer_(std::move(answer)), stop_(::eventfd(0, EFD_CLOEXEC)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
      throw std::runtime_error("no port for the receiver");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept(); });
  }
  ~TestReceiver() {
    const std::uint64_t one = 1;
    (void)!::write(stop_, &one, sizeof one);
    thread_.join();
    for (std::thread& each : connections_) each.join();
    ::close(listener_);
    ::close(stop_);
  }
  TestReceiver(const TestReceiver&) = delete;
  TestReceiver& operator=(const TestReceiver&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path = "/hooks") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  /// Those answered with 2xx, in the order of their answers.
  std::vector<ReceivedPost> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  std::vector<ReceivedPost> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  /// Whether `enough` came true in time.
  bool wait_until(const std::function<bool(const std::vector<ReceivedPost>& taken)>& enough,
                  std::chrono::seconds patience = std::chrono::seconds(30)) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return enough(taken_); });
  }

 private:
  /// False when the receiver stops.
  bool readable(int socket) const {
    pollfd watched[2] = {{socket, POLLIN, 0}, {stop_, POLLIN, 0}};
    while (::poll(watched, 2, -1) < 0) {
    }
    return watched[1].revents == 0;
  }
  void accept() {
    while (readable(listener_)) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) connections_.emplace_back([this, socket] { serve(socket); });
    }
  }
  void serve(int socket) {
    HttpParser parser({.body_bytes = 16 << 20});
    char room[65'536];
    bool open = true;
    while (open && readable(socket)) {
      const ssize_t got = ::recv(socket, room, sizeof room, 0);
      if (got <= 0) break;
      std::string_view rest(room, static_cast<std::size_t>(got));
      HttpProgress progress = parser.feed(rest);
      for (; open && progress == HttpProgress::ready; progress = parser.feed(rest)) {
        const HttpRequest request = parser.take();
        open = answer(socket, request) && request.keep_alive;
        if (rest.empty()) break;
      }
      if (progress == HttpProgress::refused) break;
    }
    ::close(socket);
  }
  bool answer(int socket, const HttpRequest& request) {
    ReceivedPost post{request.path, request.body};
    const std::string_view time = request.headers.get("Tidemark-Timestamp").value_or("");
    std::int64_t seconds = 0;
    std::from_chars(time.data(), time.data() + time.size(), seconds);
    post.signed_well =
        hook_signature_good(request.headers.get("Tidemark-Signature").value_or(""), secret_, seconds, request.body);
    {
      const std::lock_guard lock(mutex_);
      all_.push_back(post);
    }
    const ReceiverAnswer made = answer_ ? answer_(post) : ReceiverAnswer{};
    const bool good = made.status >= 200 && made.status <= 299;
    const std::string bytes = http_response({.status = made.status,
                                             .content_type = "application/json",
                                             .body = made.body,
                                             .keep_alive = request.keep_alive});
    {
      // Before it is answered: what follows the answer is not to come first.
      const std::lock_guard lock(mutex_);
      if (good) taken_.push_back(std::move(post));
      changed_.notify_all();
    }
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  const std::string secret_;
  const Answer answer_;
  const int stop_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<ReceivedPost> all_;    // guarded by mutex_
  std::vector<ReceivedPost> taken_;  // guarded by mutex_
  std::thread thread_;
  std::vector<std::thread> connections_;
};

}  // namespace tidemark::testing
