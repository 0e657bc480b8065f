// What a device asks about groups, who reacted to a message, and for whole bodies: each once, of the server that it is
// connected to. Nothing of it is stored; what comes of it in the log arrives as all else does.
#pragma once

#include <map>

#include "core/replica/workspace.h"

namespace tidemark::replica {

class GroupCalls {
 public:
  explicit GroupCalls(Workspace& workspace) : ws_(workspace) {}

  /// A GroupEvent of this number will tell the answer. RETRY_LATER while there is no connection.
  Result<void> call(std::uint64_t number, const GroupRequest& request);
  /// A ReactionsEvent of this number will. The same.
  Result<void> ask_reactions(std::uint64_t number, AskReactions question);

  /// A BodyEvent of this number will. The same.
  Result<void> ask_body(std::uint64_t number, AskBody question);

  void on_answer(const Pending& asked, GroupReply reply);
  void on_answer(const Pending& asked, WhoReacted answer);
  void on_body(const Pending& asked);
  void on_refused(const Pending& asked, const Error& error);
  void on_link_down();

 private:
  Result<void> ask(std::uint64_t number, Pending::Kind kind, Operation operation);

  Workspace& ws_;
  std::map<std::uint64_t, Pending::Kind> open_;
};

}  // namespace tidemark::replica
