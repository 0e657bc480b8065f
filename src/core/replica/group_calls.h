// What a device asks about groups and their members, the user's devices, who reacted to a message, and for whole
// bodies: each once, of the server that it is connected to. Nothing of it is stored; what comes of it in the log
// arrives as all else does.
#pragma once

#include <map>

#include "core/replica/workspace.h"

namespace tidemark::replica {

class GroupCalls {
 public:
  explicit GroupCalls(Workspace& workspace) : ws_(workspace) {}

  /// A GroupEvent of this number will tell the answer. RETRY_LATER while there is no connection.
  Result<void> call(std::uint64_t number, GroupRequest request);
  /// A DevicesEvent of this number will. The same.
  Result<void> devices(std::uint64_t number, DeviceRequest request);
  /// A MembersEvent of this number will. The same.
  Result<void> ask_members(std::uint64_t number, AskMembers question);
  /// A ReactionsEvent of this number will. The same.
  Result<void> ask_reactions(std::uint64_t number, AskReactions question);

  /// A BodyEvent of this number will. The same.
  Result<void> ask_body(std::uint64_t number, AskBody question);

  /// What the call `of` asked for, once more and under the same key: for one that was cut off or put off. MALFORMED
  /// when there is no such call.
  Result<void> ask_again(std::uint64_t number, std::uint64_t of);

  void on_answer(const Pending& asked, GroupReply reply);
  void on_answer(const Pending& asked, std::vector<UserDevice> devices);
  void on_answer(const Pending& asked, ListedMembers members);
  void on_answer(const Pending& asked, WhoReacted answer);
  void on_body(const Pending& asked);
  void on_refused(const Pending& asked, const Error& error);
  /// Answers what would end this device's own session: nothing else does.
  void on_session_ended();
  void on_link_down();

 private:
  struct Call {
    Pending::Kind kind = Pending::Kind::group;
    Operation operation;
  };
  Result<void> ask(std::uint64_t number, Call call);
  std::string fresh_key() { return ws_.dice.install_id(); }
  bool ends_own_session(const Call& call) const;

  Workspace& ws_;
  std::map<std::uint64_t, Call> open_;
  std::map<std::uint64_t, Call> unfinished_;  // the last few that may be asked again
};

}  // namespace tidemark::replica
