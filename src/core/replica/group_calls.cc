#include "core/replica/group_calls.h"

namespace tidemark::replica {

Result<void> GroupCalls::call(std::uint64_t number, const GroupRequest& request) {
  if (!ws_.welcomed || ws_.out.close_link)
    return fail(ErrorCode::RETRY_LATER, "", "There is no connection to the server now.");
  open_.insert(number);
  Pending pending;
  pending.kind = Pending::Kind::group;
  pending.key = number;
  ws_.ask(GroupCall{request}, std::move(pending));
  return {};
}

void GroupCalls::on_answer(const Pending& asked, GroupReply reply) {
  tell(asked.key, std::move(reply));
}

void GroupCalls::on_refused(const Pending& asked, const Error& error) {
  tell(asked.key, std::unexpected(error));
}

void GroupCalls::on_link_down() {
  const std::set<std::uint64_t> lost = open_;
  for (const std::uint64_t call : lost)
    tell(call, fail(ErrorCode::RETRY_LATER, "", "The connection ended before the answer came."));
}

void GroupCalls::tell(std::uint64_t call, Result<GroupReply> answer) {
  open_.erase(call);
  ws_.raise(GroupEvent{call, std::move(answer)});
}

}  // namespace tidemark::replica
