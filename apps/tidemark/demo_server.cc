#include "apps/tidemark/demo_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/ports.h"
#include "gateway/auth.h"

namespace tidemark {
namespace {

constexpr std::int64_t kStartMs = 60'000;  // on a machine with much else to do

/// A port that was free a moment ago; 0 when there is none.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool found = ::bind(socket, plain, size) == 0 && ::getsockname(socket, plain, &size) == 0;
  ::close(socket);
  return found ? ntohs(address.sin_port) : 0;
}

/// In the child: becomes the server. Async-signal-safe calls alone, for the parent has threads.
[[noreturn]] void become_server(pid_t parent, const char* log, char* const* arguments) {
  // Killing the demonstration in any way ends its server.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int in = ::open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0) ::_exit(1);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<DemoServer>> DemoServer::make() {
  std::unique_ptr<DemoServer> server(new DemoServer());
  std::string pattern = (std::filesystem::temp_directory_path() / "tidemark-demo-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return fail(ErrorCode::RETRY_LATER, "", "No temporary directory can be made at " + pattern + ".");
  server->directory_ = pattern;
  const int port = free_port();
  if (port == 0) return fail(ErrorCode::RETRY_LATER, "", "There is no free port on 127.0.0.1.");
  TM_ASSIGN(server->url_, parse_server_url(fmt::format("http://127.0.0.1:{}", port)));
  return server;
}

DemoServer::~DemoServer() {
  kill();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<void> DemoServer::start() {
  const std::string log = directory_ + "/server.log";
  std::array<std::string, 8> words = {"tidemark", "serve",          "--data", directory_ + "/data",
                                      "--listen", url_.authority(), "--set",  "store.min_free_bytes=0"};
  std::array<char*, words.size() + 1> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) return fail(ErrorCode::RETRY_LATER, "", "No process can be started.");
  if (pid_ == 0) become_server(parent, log.c_str(), arguments.data());
  const SystemClock clock;
  const std::int64_t deadline_ms = clock.steady_ms() + kStartMs;
  while (clock.steady_ms() < deadline_ms) {
    if (ready()) return {};
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fail(ErrorCode::RETRY_LATER, "", "The server did not start: " + log_end());
}

void DemoServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Result<std::string> DemoServer::token(const std::string& user) const {
  const SystemClock clock;
  SystemRandom random;
  TM_ASSIGN(const auto authenticator, Authenticator::open({}, directory_ + "/data", random, Secrets::need));
  return authenticator->mint(UserId(user), {}, clock.wall_ms());
}

bool DemoServer::ready() const {
  const auto calls = HttpCalls::open(url_, "");
  return calls && calls->call({.target = "/readyz"}).has_value();
}

std::string DemoServer::log_end() const {
  std::ifstream file(directory_ + "/server.log");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.size() > 600 ? text.substr(text.size() - 600) : text;
}

}  // namespace tidemark
