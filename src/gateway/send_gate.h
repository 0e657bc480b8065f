// Where messages wait for what the application says of them, before they reach the engine (docs/hooks.md). What was
// taken before, or cannot be taken anyway, it is not asked about. Those that one link sends to one conversation pass in
// the order sent, however long the application takes over one; nobody else waits for them. Network thread; no I/O of
// its own.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/delivery.h"
#include "gateway/config.h"
#include "hooks/before_send.h"

namespace tidemark {

class SendGate {
 public:
  struct Port {
    /// Whether it was taken before, or why it cannot be, behind all that was sent on before; told on this thread, not
    /// at once.
    std::function<void(const SendCommand&, Session, std::move_only_function<void(Result<bool>)>)> check;
    /// What the application says, told on this thread, not at once.
    std::function<void(const SendCommand&, const ConversationId&, std::move_only_function<void(Verdict)>)> ask;
  };
  /// Goes to the engine with what it is given, or answers the refusal. Called once.
  using Go = std::move_only_function<void(Result<SendCommand>)>;

  SendGate(Port port, WhenDown when_down) : port_(std::move(port)), when_down_(when_down) {}

  /// `link` 0: HTTP, where nothing waits for anything.
  void pass(SessionId link, SendCommand command, Session by, Go go);
  /// The engine has answered this send, whatever it was: who waits with the same one is looked at now.
  void settled(const SendCommand& command);

 private:
  struct Waiting {
    std::string lane;
    std::string name;  // the same for the same send
    ConversationId conversation;
    SendCommand command;
    Session by;
    Go go;
  };
  using Shared = std::shared_ptr<Waiting>;
  void start(const Shared& waiting);
  void ask(const Shared& waiting);
  void judge(const Shared& waiting, Verdict verdict);
  void go_on(const Shared& waiting, Result<SendCommand> with);
  void release(const std::string& name);

  const Port port_;
  const WhenDown when_down_;
  std::uint64_t next_lane_ = 0;
  std::map<std::string, std::deque<Shared>> lanes_;    // the first of each is being looked at
  std::map<std::string, std::deque<Shared>> in_hand_;  // by name: who waits until this send is settled
};

}  // namespace tidemark
