// What is counted. Below callgrind a script's stage is set at the speed of a plain run; from start() on instructions
// are told apart, and those of the product are counted while it is on. Without callgrind all this does nothing.
#pragma once

namespace tidemark::instructions {

class Meter {
 public:
  /// The stage is set: from here on on() counts.
  void start();
  /// Counts what this thread does until off(); not before start(). Not nested.
  void on();
  void off();
  bool started() const { return started_; }

 private:
  bool started_ = false;
  bool on_ = false;
};

/// Counts while it lives.
class Counted {
 public:
  explicit Counted(Meter& meter) : meter_(meter) { meter_.on(); }
  ~Counted() { meter_.off(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Meter& meter_;
};

}  // namespace tidemark::instructions
