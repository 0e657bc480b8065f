#include "apps/tidemark/terminal_mode.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace tidemark {
namespace {

// Alternate screen, bracketed paste; and back, with the cursor shown and plain colours.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?2004h\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l";
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// What a crash handler may touch: set before the handlers are, and never freed.
termios g_before;
volatile std::sig_atomic_t g_entered = 0;

sigset_t queued_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
  return set;
}

/// Async-signal-safe.
void leave() {
  if (g_entered == 0) return;
  g_entered = 0;
  (void)!::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

void on_crash(int signal) {
  leave();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

SignalQueue::SignalQueue() {
  const sigset_t set = queued_signals();
  TM_CHECK(::sigprocmask(SIG_BLOCK, &set, nullptr) == 0, "the set is valid");
  descriptor_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  TM_CHECK(descriptor_ >= 0, "a process may have another descriptor");
}

SignalQueue::~SignalQueue() {
  ::close(descriptor_);
  const sigset_t set = queued_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int SignalQueue::take() {
  signalfd_siginfo info;
  if (::read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

Result<std::unique_ptr<TerminalMode>> TerminalMode::enter() {
  TM_CHECK(g_entered == 0, "one at a time");
  if (::isatty(STDOUT_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &g_before) != 0)
    return fail(ErrorCode::MALFORMED, "terminal", "This needs a terminal.");
  termios raw = g_before;
  ::cfmakeraw(&raw);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  std::unique_ptr<TerminalMode> mode(new TerminalMode());
  for (const int signal : kCrashes) std::signal(signal, on_crash);
  g_entered = 1;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  mode->write(kEnter);
  return mode;
}

TerminalMode::~TerminalMode() {
  leave();
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
}

TerminalSize TerminalMode::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool TerminalMode::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace tidemark
