#include "processes/device_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "server_process.h"
#include "tcp_stream.h"

namespace tidemark::testing {
namespace {

std::string device_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tidemark-test-device").string();
}

}  // namespace

DeviceProcess::DeviceProcess(DeviceSpec spec) : spec_(std::move(spec)), log_(spec_.path(".log")) {}

DeviceProcess::~DeviceProcess() {
  kill_hard();
}

void DeviceProcess::start() {
  int input[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) throw std::runtime_error("no socket pair");
  const int said = ::open(spec_.path(".err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  pid_ = spawn_program({device_program(), "ws://127.0.0.1:" + std::to_string(spec_.port) + "/v1/ws", spec_.user.value,
                        spec_.device.value, spec_.token, store_path(), spec_.path(".log"),
                        spec_.dialect == Dialect::json ? "json" : "binary", std::to_string(spec_.recent),
                        std::to_string(spec_.page_limit)},
                       {.in = input[1], .out = said, .err = said});
  ::close(input[1]);
  ::close(said);
  input_ = input[0];
}

void DeviceProcess::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void DeviceProcess::kill_hard() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  paused_ = false;
  close_input();
}

bool DeviceProcess::stop() {
  if (!up()) return true;
  go_on();
  tell("stop");
  const std::int64_t deadline = steady_ms() + patience_ms();
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (steady_ms() > deadline) {
      kill_hard();
      return false;
    }
    sleep_ms(2);
  }
  pid_ = -1;
  close_input();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool DeviceProcess::ended_by_itself() {
  if (!up() || ::waitpid(pid_, nullptr, WNOHANG) == 0) return false;
  pid_ = -1;
  close_input();
  return true;
}

void DeviceProcess::pause() {
  if (!up()) return;
  ::kill(pid_, SIGSTOP);
  paused_ = true;
}

void DeviceProcess::go_on() {
  if (up() && std::exchange(paused_, false)) ::kill(pid_, SIGCONT);
}

void DeviceProcess::tell(const std::string& command) {
  if (!up()) return;
  const std::string line = command + "\n";
  // A paused device takes what fits; lines are short, so that none is ever cut.
  (void)::send(input_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace tidemark::testing
