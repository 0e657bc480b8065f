#include "core/replica/group_calls.h"

namespace tidemark::replica {
namespace {

constexpr std::size_t kUnfinishedCallsMax = 64;

}  // namespace

Result<void> GroupCalls::call(std::uint64_t number, GroupRequest request) {
  GroupCall call{std::move(request)};
  if (auto* made = std::get_if<CreateGroupCommand>(&call.request)) {
    if (made->idempotency_key.empty()) made->idempotency_key = fresh_key();
  } else if (!std::holds_alternative<GroupQuery>(call.request)) {
    call.idempotency_key = fresh_key();
  }
  return ask(number, {Pending::Kind::group, std::move(call)});
}

Result<void> GroupCalls::devices(std::uint64_t number, DeviceRequest request) {
  DeviceCall call{std::move(request)};
  if (!std::holds_alternative<DevicesQuery>(call.request)) call.idempotency_key = fresh_key();
  return ask(number, {Pending::Kind::devices, std::move(call)});
}

Result<void> GroupCalls::ask_members(std::uint64_t number, AskMembers question) {
  return ask(number, {Pending::Kind::members, std::move(question)});
}

Result<void> GroupCalls::ask_reactions(std::uint64_t number, AskReactions question) {
  return ask(number, {Pending::Kind::reactions, std::move(question)});
}

Result<void> GroupCalls::ask_body(std::uint64_t number, AskBody question) {
  return ask(number, {Pending::Kind::body, std::move(question)});
}

Result<void> GroupCalls::ask_again(std::uint64_t number, std::uint64_t of) {
  const auto found = unfinished_.find(of);
  if (found == unfinished_.end()) return fail(ErrorCode::MALFORMED, "call", "There is nothing of it to ask again.");
  TM_TRY(ask(number, found->second));
  unfinished_.erase(found);
  return {};
}

Result<void> GroupCalls::ask(std::uint64_t number, Call call) {
  if (!ws_.welcomed || ws_.out.close_link)
    return fail(ErrorCode::RETRY_LATER, "", "There is no connection to the server now.");
  Pending pending;
  pending.kind = call.kind;
  pending.key = number;
  ws_.ask(call.operation, std::move(pending));
  open_[number] = std::move(call);
  return {};
}

void GroupCalls::on_answer(const Pending& asked, GroupReply reply) {
  open_.erase(asked.key);
  ws_.raise(GroupEvent{asked.key, std::move(reply)});
}

void GroupCalls::on_answer(const Pending& asked, std::vector<UserDevice> devices) {
  open_.erase(asked.key);
  ws_.raise(DevicesEvent{asked.key, std::move(devices)});
}

void GroupCalls::on_answer(const Pending& asked, ListedMembers members) {
  open_.erase(asked.key);
  ws_.raise(MembersEvent{asked.key, std::move(members)});
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
  if (auto call = open_.extract(asked.key); call && error_info(error.code).retryable) {
    unfinished_.insert(std::move(call));
    if (unfinished_.size() > kUnfinishedCallsMax) unfinished_.erase(unfinished_.begin());
  }
  switch (asked.kind) {
    case Pending::Kind::group:
      return ws_.raise(GroupEvent{asked.key, std::unexpected(error)});
    case Pending::Kind::devices:
      return ws_.raise(DevicesEvent{asked.key, std::unexpected(error)});
    case Pending::Kind::members:
      return ws_.raise(MembersEvent{asked.key, std::unexpected(error)});
    case Pending::Kind::body:
      return ws_.raise(BodyEvent{asked.key, std::unexpected(error)});
    default:
      return ws_.raise(ReactionsEvent{asked.key, std::unexpected(error)});
  }
}

bool GroupCalls::ends_own_session(const Call& call) const {
  const auto* devices = std::get_if<DeviceCall>(&call.operation);
  if (devices == nullptr) return false;
  const auto* removed = std::get_if<RemoveDevice>(&devices->request);
  return removed != nullptr ? removed->device == ws_.device().device : std::holds_alternative<Logout>(devices->request);
}

void GroupCalls::on_session_ended() {
  for (const auto& [number, call] : open_)
    if (ends_own_session(call)) ws_.raise(DevicesEvent{number, std::vector<UserDevice>{}});
  std::erase_if(open_, [this](const auto& each) { return ends_own_session(each.second); });
}

void GroupCalls::on_link_down() {
  std::map<std::uint64_t, Pending::Kind> lost;
  for (const auto& [number, call] : open_) lost[number] = call.kind;
  for (const auto& [number, kind] : lost) {
    Pending asked;
    asked.kind = kind;
    asked.key = number;
    on_refused(asked, {ErrorCode::RETRY_LATER, "", "The connection ended before the answer came."});
  }
}

}  // namespace tidemark::replica
