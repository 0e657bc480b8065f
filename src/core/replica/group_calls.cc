#include "core/replica/group_calls.h"

namespace tidemark::replica {

Result<void> GroupCalls::call(std::uint64_t number, const GroupRequest& request) {
  return ask(number, Pending::Kind::group, GroupCall{request});
}

Result<void> GroupCalls::ask_reactions(std::uint64_t number, AskReactions question) {
  return ask(number, Pending::Kind::reactions, std::move(question));
}

Result<void> GroupCalls::ask_body(std::uint64_t number, AskBody question) {
  return ask(number, Pending::Kind::body, std::move(question));
}

Result<void> GroupCalls::ask(std::uint64_t number, Pending::Kind kind, Operation operation) {
  if (!ws_.welcomed || ws_.out.close_link)
    return fail(ErrorCode::RETRY_LATER, "", "There is no connection to the server now.");
  open_[number] = kind;
  Pending pending;
  pending.kind = kind;
  pending.key = number;
  ws_.ask(std::move(operation), std::move(pending));
  return {};
}

void GroupCalls::on_answer(const Pending& asked, GroupReply reply) {
  open_.erase(asked.key);
  ws_.raise(GroupEvent{asked.key, std::move(reply)});
}

void GroupCalls::on_answer(const Pending& asked, WhoReacted answer) {
  open_.erase(asked.key);
  ws_.raise(ReactionsEvent{asked.key, std::move(answer)});
}

void GroupCalls::on_body(const Pending& asked) {
  open_.erase(asked.key);
  ws_.raise(BodyEvent{asked.key, {}});
}

void GroupCalls::on_refused(const Pending& asked, const Error& error) {
  open_.erase(asked.key);
  if (asked.kind == Pending::Kind::group)
    ws_.raise(GroupEvent{asked.key, std::unexpected(error)});
  else if (asked.kind == Pending::Kind::body)
    ws_.raise(BodyEvent{asked.key, std::unexpected(error)});
  else
    ws_.raise(ReactionsEvent{asked.key, std::unexpected(error)});
}

void GroupCalls::on_link_down() {
  const std::map<std::uint64_t, Pending::Kind> lost = open_;
  for (const auto& [call, kind] : lost) {
    Pending asked;
    asked.kind = kind;
    asked.key = call;
    on_refused(asked, {ErrorCode::RETRY_LATER, "", "The connection ended before the answer came."});
  }
}

}  // namespace tidemark::replica
