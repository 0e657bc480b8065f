// Asks the application before a message is taken (docs/hooks.md): threads that post, each one question at a time. Every
// question is answered in time, by the application or by its silence.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ports.h"
#include "core/commands.h"
#include "hooks/hook_breaker.h"
#include "hooks/http_post.h"

namespace tidemark {

struct BeforeSendOptions {
  HookUrl url;
  std::string secret;
  std::int64_t timeout_ms = 1'000;
  std::size_t parallel = 8;
  std::size_t waiting_max = 1'000;  // questions; one more counts as unanswered
  HookBreakerOptions breaker = {};
};

/// What the application says of a message.
struct Verdict {
  enum class Kind : std::uint8_t { taken, amended, refused, silent };
  Kind kind = Kind::taken;
  Body body = {};           // amended
  std::string code = {};    // refused: the application's own
  std::string reason = {};  // refused: a sentence for people
  bool operator==(const Verdict&) const = default;
};

/// The question as JSON (BeforeSend of the schema); the conversation by its id.
std::string before_send_json(const SendCommand& command, const ConversationId& conversation);
/// The answer to it; silent when it is none.
Verdict verdict_in(std::string_view json);

class BeforeSendAsker {
 public:
  struct Status {
    std::uint64_t asked = 0;
    std::uint64_t refused = 0;
    std::uint64_t amended = 0;
    std::uint64_t silent = 0;
    bool down = false;
  };
  using Told = std::move_only_function<void(Verdict)>;

  /// The clock must outlive this; `tls` is null for http.
  BeforeSendAsker(const Clock& clock, BeforeSendOptions options, const TlsContext* tls);
  ~BeforeSendAsker();
  void start();
  /// Questions that still wait are answered by silence.
  void stop();

  /// Any thread. `told` is called once, on any thread.
  void ask(std::string question, Told told);
  Status status() const;

 private:
  struct Question {
    std::string body;
    Told told;
    std::int64_t until_ms = 0;
  };
  void work(HttpPost& post);
  Verdict answer_of(HttpPost& post, const Question& question);
  void count(const Verdict& verdict);

  const Clock& clock_;
  const BeforeSendOptions options_;
  std::vector<std::unique_ptr<HttpPost>> posts_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable woken_;
  bool stopping_ = false;
  std::deque<Question> waiting_;
  HookBreaker breaker_;
  Status status_;
};

}  // namespace tidemark
