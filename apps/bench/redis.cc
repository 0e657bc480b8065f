#include "apps/bench/redis.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "apps/bench/clock.h"

namespace tidemark::bench {
namespace {

constexpr const char* kRedisBinary = "/usr/bin/redis-server";
constexpr int kRedisStartMs = 10'000;
constexpr int kRedisPollMs = 20;

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// One that was free a moment ago.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local_address(0);
  socklen_t size = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

bool listens(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local_address(port);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

[[noreturn]] void become_redis(const std::string& directory, const std::string& port) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int log = open((directory + "/redis.log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execl(kRedisBinary, kRedisBinary, "--port", port.c_str(), "--bind", "127.0.0.1", "--dir", directory.c_str(),
        "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no",
        static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<RedisProcess>> RedisProcess::start(const std::string& directory) {
  if (access(kRedisBinary, X_OK) != 0)
    return trouble("There is no redis-server to compare with; install it: apt-get install redis-server.");
  const int port = free_port();
  const std::string port_text = std::to_string(port);
  const pid_t pid = fork();
  if (pid == 0) become_redis(directory, port_text);
  if (pid < 0) return trouble(std::string("No process can be started: ") + std::strerror(errno) + ".");
  std::unique_ptr<RedisProcess> redis(new RedisProcess(pid, port));
  for (int waited = 0; waited < kRedisStartMs; waited += kRedisPollMs) {
    if (listens(port)) return redis;
    usleep(kRedisPollMs * 1'000);
  }
  return trouble("redis-server does not listen after 10 s; its log is " + directory + "/redis.log (--keep leaves it).");
}

RedisProcess::~RedisProcess() {
  kill(pid_, SIGKILL);  // nothing of its data is kept
  waitpid(pid_, nullptr, 0);
}

RedisLink::~RedisLink() {
  if (fd_ < 0) return;
  loop_.forget(fd_, *this);
  close(fd_);
}

Result<void> RedisLink::start(int port) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local_address(port);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return trouble(std::string("Cannot connect to redis-server: ") + std::strerror(errno) + ".");
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  loop_.watch(fd_, EPOLLIN, *this);
  return {};
}

void RedisLink::command(std::span<const std::string_view> words) {
  out_ += '*';
  out_ += std::to_string(words.size());
  for (const std::string_view word : words) {
    out_ += "\r\n$";
    out_ += std::to_string(word.size());
    out_ += "\r\n";
    out_ += word;
  }
  out_ += "\r\n";
  if (blocked_ || flush_queued_) return;
  flush_queued_ = true;
  loop_.flush_later(*this);
}

void RedisLink::give_up(const std::string& why) {
  loop_.stop_with({ErrorCode::INTERNAL, {}, "The link to redis-server ended: " + why});
}

void RedisLink::flush() {
  flush_queued_ = false;
  if (blocked_ || out_.empty()) return;
  const ssize_t written = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
  if (written < 0 && errno != EAGAIN) return give_up(std::strerror(errno));
  out_.erase(0, written > 0 ? static_cast<std::size_t>(written) : 0);
  if (out_.empty()) return;
  blocked_ = true;
  loop_.change(fd_, EPOLLIN | EPOLLOUT, *this);
}

void RedisLink::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && blocked_) {
    blocked_ = false;
    loop_.change(fd_, EPOLLIN, *this);
    flush();
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  const std::span<char> room = loop_.read_buffer();
  const ssize_t size = recv(fd_, room.data(), room.size(), 0);
  if (size < 0 && errno == EAGAIN) return;
  if (size <= 0) return give_up(size < 0 ? std::strerror(errno) : "it was closed");
  if (redisReaderFeed(reader_.get(), room.data(), static_cast<std::size_t>(size)) != REDIS_OK)
    return give_up(reader_->errstr);
  for (;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return give_up(reader_->errstr);
    if (reply == nullptr) return;
    const std::unique_ptr<void, void (*)(void*)> owner(reply, freeReplyObject);
    const auto& given = *static_cast<const redisReply*>(reply);
    if (given.type == REDIS_REPLY_ERROR) return give_up(std::string(given.str, given.len));
    on_reply(given);
  }
}

}  // namespace tidemark::bench
