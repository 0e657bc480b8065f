// What a device asks about groups: each once, of the server that it is connected to. Nothing of it is stored; what
// comes of it in the log arrives as all else does.
#pragma once

#include <set>

#include "core/replica/workspace.h"

namespace tidemark::replica {

class GroupCalls {
 public:
  explicit GroupCalls(Workspace& workspace) : ws_(workspace) {}

  /// A GroupEvent of this number will tell the answer. RETRY_LATER while there is no connection.
  Result<void> call(std::uint64_t number, const GroupRequest& request);

  void on_answer(const Pending& asked, GroupReply reply);
  void on_refused(const Pending& asked, const Error& error);
  void on_link_down();

 private:
  void tell(std::uint64_t call, Result<GroupReply> answer);

  Workspace& ws_;
  std::set<std::uint64_t> open_;
};

}  // namespace tidemark::replica
