// When a hook counts as down: after so many failures in a row it is asked nothing for a while, then one asks for all.
#pragma once

#include <cstdint>

namespace tidemark {

struct HookBreakerOptions {
  int failures = 5;
  std::int64_t pause_ms = 1'000;
};

class HookBreaker {
 public:
  explicit HookBreaker(HookBreakerOptions options = {}) : options_(options) {}

  /// Whether to ask now. Whoever may has to say how it went.
  bool may_ask(std::int64_t now_ms) {
    if (failures_ < options_.failures) return true;
    if (now_ms < closed_until_ms_) return false;
    closed_until_ms_ = now_ms + options_.pause_ms;  // the others wait for this one
    return true;
  }
  void answered() { failures_ = 0; }
  void failed(std::int64_t now_ms) {
    if (++failures_ >= options_.failures) closed_until_ms_ = now_ms + options_.pause_ms;
  }
  bool down() const { return failures_ >= options_.failures; }

 private:
  const HookBreakerOptions options_;
  int failures_ = 0;
  std::int64_t closed_until_ms_ = 0;
};

}  // namespace tidemark
