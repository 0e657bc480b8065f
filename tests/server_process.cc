#include "server_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/ports.h"
#include "http_client.h"
#include "tcp_stream.h"

namespace tidemark::testing {
namespace {

SystemRandom& dice() {
  static SystemRandom random;
  return random;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// The environment without the settings and switches of ours: the program would read them as its own.
std::vector<std::string> plain_environment() {
  std::vector<std::string> kept;
  for (char** each = environ; *each != nullptr; ++each)
    if (std::strncmp(*each, "TIDEMARK_", 9) != 0) kept.emplace_back(*each);
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TempDirectory::TempDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "tidemark-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string tidemark_program() {
  if (const char* given = std::getenv("TIDEMARK_BIN")) return given;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tidemark").string();
}

pid_t spawn_program(std::vector<std::string> command, const StandardStreams& standard) {
  std::vector<std::string> environment = plain_environment();
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(standard.in < 0 ? open("/dev/null", O_RDONLY) : standard.in, 0);
  dup2(standard.out, 1);
  dup2(standard.err, 2);
  // Sockets of ours that a child holds too do not end when we close them; asio's are not close-on-exec.
  close_range(3, ~0U, 0);
  std::signal(SIGPIPE, SIG_DFL);
  execvpe(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

Finished run_program(const std::vector<std::string>& command) {
  const TempDirectory place;
  const std::string out_path = place.path() + "/out";
  const std::string err_path = place.path() + "/err";
  const int out = open(out_path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int err = open(err_path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const pid_t pid = spawn_program(command, {.out = out, .err = err});
  close(out);
  close(err);
  const std::int64_t deadline = steady_ms() + 2 * patience_ms();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (steady_ms() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    sleep_ms(5);
  }
  return {exit_code_of(status), file_text(out_path), file_text(err_path)};
}

ServerProcess::ServerProcess(ServerOptions options) : data_(std::move(options.data)) {
  temporary_ = std::make_unique<TempDirectory>();
  if (data_.empty()) data_ = temporary_->path() + "/data";
  log_path_ = temporary_->path() + "/log";
  settings_ = {"limits.messages_per_second=0", "limits.requests_per_second=0",      "limits.logins_per_minute=0",
               "store.cache_bytes=16777216",   "store.write_buffer_bytes=16777216", "store.segment_bytes=1048576"};
  settings_.insert(settings_.end(), options.settings.begin(), options.settings.end());
  start();
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) kill_hard();
}

void ServerProcess::start() {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const int err = open(log_path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  std::vector<std::string> command = {tidemark_program(), "serve", "--data", data_, "--listen", "127.0.0.1:0"};
  for (const std::string& setting : settings_) command.insert(command.end(), {"--set", setting});
  pid_ = spawn_program(std::move(command), {.out = out[1], .err = err});
  close(out[1]);
  close(err);
  try {
    wait_listening(out[0]);
  } catch (...) {
    close(out[0]);
    if (pid_ > 0) kill_hard();
    throw;
  }
  close(out[0]);
}

/// The greeting names the port; it comes once the store is open and connections are taken.
void ServerProcess::wait_listening(int out) {
  const std::int64_t deadline = steady_ms() + 2 * patience_ms();
  std::string text;
  for (;;) {
    pollfd waited{out, POLLIN, 0};
    char buffer[4'096];
    ssize_t size = -1;
    if (poll(&waited, 1, 100) > 0) size = read(out, buffer, sizeof buffer);
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
    const std::size_t at = text.find("listens on ");
    const std::size_t end = text.find(", data in", at);
    if (at != text.npos && end != text.npos) {
      port_ = std::stoi(text.substr(text.rfind(':', end) + 1));
      // The greeting goes on after this line; nobody reads it, and a pipe holds it all.
      while (text.find("Stop:") == text.npos && (size = read(out, buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(size));
      return;
    }
    if (size == 0 || steady_ms() > deadline) {
      const int code = wait_exit(size == 0 ? 1'000 : 0);
      throw std::runtime_error("the server did not start (exit code " + std::to_string(code) + "): " + log());
    }
  }
}

int ServerProcess::wait_exit(std::int64_t timeout_ms) {
  const std::int64_t deadline = steady_ms() + timeout_ms;
  int status = 0;
  for (;;) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return exit_code_of(status);
    }
    if (steady_ms() >= deadline) return -1;
    sleep_ms(2);
  }
}

void ServerProcess::check_alive() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) == 0) return;
  pid_ = -1;
  ADD_FAILURE() << "the server ended by itself with code " << exit_code_of(status) << ":\n" << log();
}

void ServerProcess::kill_hard() {
  check_alive();
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int ServerProcess::stop() {
  check_alive();
  if (pid_ <= 0) return -1;
  kill(pid_, SIGTERM);
  const int code = wait_exit(patience_ms());
  if (code < 0) kill_hard();
  return code;
}

std::string ServerProcess::log() const {
  return file_text(log_path_);
}

double ServerProcess::metric(const std::string& name) const {
  HttpClient http(port_);
  std::istringstream lines(http.get("/metrics", "").body);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  return -1;
}

std::uint64_t ServerProcess::memory_kib(MemoryOf which) const {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 0;
#endif
#endif
  const std::string name = which == MemoryOf::now ? "VmRSS:" : "VmHWM:";
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::stoull(line.substr(name.size()));
  return 0;
}

void ServerProcess::forget_peak_memory() const {
  std::ofstream refs("/proc/" + std::to_string(pid_) + "/clear_refs");
  refs << "5" << std::flush;
  EXPECT_TRUE(refs) << "the peak of the server's memory cannot be set back";
}

const Authenticator& ServerProcess::keys() const {
  if (!keys_) {
    auto opened = Authenticator::open({}, data_, dice(), Secrets::need);
    if (!opened) throw std::runtime_error("no keys: " + opened.error().message());
    keys_ = std::move(*opened);
  }
  return *keys_;
}

std::string ServerProcess::token(const std::string& user, const MintOptions& options) const {
  return keys().mint(UserId(user), options, wall_ms()).value();
}

std::string ServerProcess::admin_token() const {
  return keys().mint(UserId("operator"), {.kind = TokenKind::admin}, wall_ms()).value();
}

std::string ServerProcess::newer_token(const std::string& user, const MintOptions& options) const {
  const std::int64_t before_ms = wall_ms();
  while (wall_ms() == before_ms) sleep_ms(1);
  return token(user, options);
}

std::string ServerProcess::expired_token(const std::string& user) const {
  return keys().mint(UserId(user), {.ttl_seconds = 60}, wall_ms() - 2 * 60'000).value();
}

}  // namespace tidemark::testing
