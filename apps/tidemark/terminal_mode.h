// The terminal while a program has the whole screen: raw input, the alternate screen, and both given back on every way
// out.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// Signals as file descriptor, so that a loop can wait for them beside everything else. Make it before any other thread
/// starts: threads inherit that the signals are blocked.
class SignalQueue {
 public:
  /// Takes SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH.
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// Readable when a signal waits.
  int descriptor() const { return descriptor_; }
  /// The next signal that waits, 0 when there is none.
  int take();

 private:
  int descriptor_ = -1;
};

struct TerminalSize {
  int columns = 80;
  int rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

/// At most one at a time. A crash (SIGSEGV, SIGABRT ...) gives the terminal back, too.
class TerminalMode {
 public:
  /// Takes the terminal at stdin and stdout over. MALFORMED when it is none.
  static Result<std::unique_ptr<TerminalMode>> enter();
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  TerminalSize size() const;
  /// Writes all of it; false when the terminal is gone.
  bool write(std::string_view bytes);

 private:
  TerminalMode() = default;
};

}  // namespace tidemark
