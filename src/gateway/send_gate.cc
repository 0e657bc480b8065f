#include "gateway/send_gate.h"

#include "core/conversation_id.h"
#include "core/decide.h"

namespace tidemark {
namespace {

ConversationId conversation_of(const SendCommand& command) {
  return command.to.empty() ? command.conversation : single_conversation(command.sender, command.to);
}

std::string name_of(const SendCommand& command, const ConversationId& conversation) {
  return std::string(bytes_of(digest_of({command.sender.value, conversation.value, command.client_msg_id})));
}

}  // namespace

void SendGate::pass(SessionId link, SendCommand command, Session by, Go go) {
  auto waiting = std::make_shared<Waiting>();
  waiting->conversation = conversation_of(command);
  waiting->name = name_of(command, waiting->conversation);
  waiting->lane =
      link == 0 ? "h" + std::to_string(next_lane_++) : "l" + std::to_string(link) + '/' + waiting->conversation.value;
  waiting->command = std::move(command);
  waiting->by = std::move(by);
  waiting->go = std::move(go);
  auto& lane = lanes_[waiting->lane];
  lane.push_back(waiting);
  if (lane.size() == 1) start(waiting);
}

void SendGate::start(const Shared& waiting) {
  const auto [place, first] = in_hand_.try_emplace(waiting->name);
  if (!first) return place->second.push_back(waiting);
  port_.check(waiting->command, waiting->by, [this, waiting](Result<bool> taken_before) {
    if (!taken_before) return go_on(waiting, std::unexpected(std::move(taken_before).error()));
    if (*taken_before) return go_on(waiting, std::move(waiting->command));
    ask(waiting);
  });
}

void SendGate::ask(const Shared& waiting) {
  port_.ask(waiting->command, waiting->conversation,
            [this, waiting](Verdict verdict) { judge(waiting, std::move(verdict)); });
}

void SendGate::judge(const Shared& waiting, Verdict verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::refused: {
      Error refusal{ErrorCode::REFUSED_BY_APP};
      refusal.field = "body";
      refusal.detail = std::move(verdict.reason);
      refusal.app_code = std::move(verdict.code);
      return go_on(waiting, std::unexpected(std::move(refusal)));
    }
    case Verdict::Kind::silent:
      if (when_down_ == WhenDown::allow) break;
      return go_on(waiting, fail(ErrorCode::HOOK_UNAVAILABLE, "", {}, 1'000));
    case Verdict::Kind::amended:
      waiting->command.given = content_of(waiting->command);
      waiting->command.body = std::move(verdict.body);
      break;
    case Verdict::Kind::taken:
      break;
  }
  go_on(waiting, std::move(waiting->command));
}

void SendGate::go_on(const Shared& waiting, Result<SendCommand> with) {
  const bool refused = !with;
  waiting->go(std::move(with));
  if (refused) release(waiting->name);
  const auto lane = lanes_.find(waiting->lane);
  lane->second.pop_front();
  if (lane->second.empty())
    lanes_.erase(lane);
  else
    start(Shared(lane->second.front()));
}

void SendGate::settled(const SendCommand& command) {
  release(name_of(command, conversation_of(command)));
}

void SendGate::release(const std::string& name) {
  const auto found = in_hand_.find(name);
  if (found == in_hand_.end()) return;
  const std::deque<Shared> same = std::move(found->second);
  in_hand_.erase(found);
  for (const Shared& each : same) start(each);
}

}  // namespace tidemark
