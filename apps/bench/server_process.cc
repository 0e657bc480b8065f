#include "apps/bench/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "apps/bench/loop.h"
#include "wire/http_parser.h"

namespace tidemark::bench {
namespace {

constexpr int kStartMs = 30'000;
constexpr int kStopMs = 15'000;
constexpr int kPollMs = 20;

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t kShown = 1'500;
  return text.size() <= kShown ? text : "..." + text.substr(text.size() - kShown);
}

/// The port in the server's greeting, 0 while it is not there.
int port_in(const std::string& log) {
  constexpr std::string_view kGreeting = "listens on http://127.0.0.1:";
  const std::size_t at = log.find(kGreeting);
  if (at == std::string::npos || log.find('\n', at) == std::string::npos) return 0;
  return std::atoi(log.c_str() + at + kGreeting.size());
}

[[noreturn]] void become_server(const std::vector<std::string>& arguments, int log) {
  // Ctrl-C is for the bench, which then stops the server itself; but nothing may outlive the bench.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::make(const std::string& parent) {
  std::string path = parent + "/tidemark-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return trouble("No directory can be made in " + parent + ": " + std::strerror(errno) +
                   ". Choose another with --dir.");
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path)));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const std::string& binary, const std::string& directory,
                                                            const std::vector<std::string>& settings) {
  if (access(binary.c_str(), X_OK) != 0)
    return trouble("There is no server at " + binary + "; build it (./run), or name it with --server.");
  const std::string log = directory + "/server.log";
  std::vector<std::string> arguments = {binary, "serve", "--data", directory + "/data", "--listen", "127.0.0.1:0"};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const int log_fd = open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return trouble("Cannot write " + log + ": " + std::strerror(errno) + ".");
  const pid_t pid = fork();
  if (pid == 0) become_server(arguments, log_fd);
  close(log_fd);
  if (pid < 0) return trouble(std::string("No process can be started: ") + std::strerror(errno) + ".");
  std::unique_ptr<ServerProcess> server(new ServerProcess(pid));
  TM_TRY(server->wait_until_listening(log));
  return server;
}

Result<void> ServerProcess::wait_until_listening(const std::string& log) {
  for (int waited = 0; waited < kStartMs; waited += kPollMs) {
    if (ended(kPollMs)) return trouble("The server did not start. It said:\n" + last_lines(read_text(log)));
    port_ = port_in(read_text(log));
    if (port_ != 0) return {};
    if (interrupted()) return trouble("Interrupted.");
  }
  return trouble("The server does not listen after 30 s. It said:\n" + last_lines(read_text(log)));
}

bool ServerProcess::ended(int wait_ms) {
  for (int waited = 0; !reaped_; waited += kPollMs) {
    reaped_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (reaped_ || waited >= wait_ms) break;
    usleep(kPollMs * 1'000);
  }
  return reaped_;
}

void ServerProcess::kill_hard() {
  if (std::exchange(reaped_, true)) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

ServerProcess::~ServerProcess() {
  if (reaped_) return;
  kill(pid_, SIGTERM);
  if (!ended(kStopMs)) kill_hard();
}

Memory memory_of(pid_t pid) {
  Memory memory;
  std::ifstream in("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    words >> name >> kib;
    if (name == "Rss:") memory.resident = kib * 1024;
    if (name == "Anonymous:") memory.anonymous = kib * 1024;
    if (name == "Private_Clean:" || name == "Private_Dirty:") memory.private_pages += kib * 1024;
  }
  return memory;
}

Result<std::map<std::string, double>> read_metrics(const std::string& host, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string request =
      http_request({.host = host + ":" + std::to_string(port), .target = "/metrics", .keep_alive = false});
  HttpResponseParser parser;
  HttpProgress progress = HttpProgress::need_more;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 16'384> room;
    for (ssize_t size = 1; size > 0 && progress == HttpProgress::need_more;) {
      size = recv(fd, room.data(), room.size(), 0);
      std::string_view bytes(room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      progress = size > 0 ? parser.feed(bytes) : parser.finish();
    }
  }
  close(fd);
  if (progress != HttpProgress::ready)
    return trouble("The server's /metrics cannot be read at " + host + ":" + std::to_string(port) + ". Is it running?");
  std::map<std::string, double> values;
  std::istringstream lines(parser.take().body);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (line.starts_with('#') || space == std::string::npos || line.find('{') != std::string::npos) continue;
    values[line.substr(0, space)] = std::atof(line.c_str() + space);
  }
  return values;
}

}  // namespace tidemark::bench
