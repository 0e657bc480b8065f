// The hooks within the operations: asking before a message is taken; the outbox as administrators see it.
#include "base/codec.h"
#include "core/body.h"
#include "core/decide.h"
#include "engine/outbox.h"
#include "gateway/service.h"
#include "tidemark.pb.h"

namespace tidemark {
namespace {

constexpr std::uint32_t kPageDefault = 50;
constexpr std::uint32_t kPageMax = 200;
constexpr int kReplayedMax = 1'000;

void tell(const DeadEvent& dead, pb::DeadEvent& out) {
  const Event& event = dead.waiting.event;
  out.set_id(text_of(dead.waiting.name));
  out.set_kind(static_cast<pb::HookKind>(event.kind));
  out.set_at(event.at);
  out.set_conversation_id(event.conversation.value);
  out.set_seq(event.seq.value);
  out.set_user(event.user.value);
  out.set_device(event.device.value);
  out.set_tries(dead.tries);
  out.set_last_error(dead.last_error);
  out.set_died_at(dead.died_at);
}

}  // namespace

void Service::ask_before_send(BeforeSendAsker& asker, WhenDown when_down) {
  SendGate::Port port;
  // By the engine and not by a snapshot: it stands behind what its sender has asked before, such as a group or a
  // joining.
  port.check = [this](const SendCommand& command, Session by, std::move_only_function<void(Result<bool>)> told) {
    SendCommand question = command;
    question.ask_only = true;
    by.idempotency_key.clear();  // nothing is done under it
    engine_.submit(
        std::move(question),
        [told = std::move(told)](Result<Reply> reply) mutable {
          if (!reply) return told(std::unexpected(std::move(reply).error()));
          told(std::get<SentReply>(*reply).duplicate);
        },
        std::move(by));
  };
  port.ask = [this, &asker](const SendCommand& command, const ConversationId& conversation,
                            std::move_only_function<void(Verdict)> told) {
    asker.ask(before_send_json(command, conversation), [this, told = std::move(told)](Verdict verdict) mutable {
      // A body that could not be sent cannot be put in place of another either.
      if (verdict.kind == Verdict::Kind::amended && !check_body(verdict.body, engine_.params()))
        verdict = {Verdict::Kind::silent};
      threads_.on_network(
          [told = std::move(told), verdict = std::move(verdict)]() mutable { told(std::move(verdict)); });
    });
  };
  gate_ = std::make_unique<SendGate>(std::move(port), when_down);
}

void Service::send_asked(const Caller& caller, SendCommand command, Answer answer) {
  gate_->pass(caller.link, std::move(command), session_of(caller),
              [this, caller, answer = std::move(answer)](Result<SendCommand> asked) mutable {
                if (!asked) {
                  ++metrics_.errors[error_info(asked.error().code).name];
                  return answer(std::unexpected(std::move(asked).error()));
                }
                SendCommand name = *asked;
                name.body = {};
                submit(caller, std::move(*asked),
                       [this, name = std::move(name), answer = std::move(answer)](auto result) mutable {
                         answer(std::move(result));
                         gate_->settled(name);
                       });
              });
}

// dead events token := varint(round) varint(index)
void Service::dead_events(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const pb::DeadEventsRequest& asked = request.dead_events();
  const std::uint32_t limit = asked.limit() == 0 ? kPageDefault : asked.limit();
  if (limit > kPageMax) return answer(fail(ErrorCode::OUT_OF_RANGE, "limit", "At most 200."));
  EventPlace from;
  if (!asked.page_token().empty()) {
    const auto content =
        tokens_.open(PageKind::dead_events, caller.user, caller.device, asked.page_token(), "page_token");
    if (!content) return answer(std::unexpected(content.error()));
    ByteReader in(*content);
    from.round = in.varint();
    from.index = static_cast<std::uint32_t>(in.varint());
  }
  read(
      caller,
      [this, caller, limit, from](StoreView&) -> Result<std::unique_ptr<pb::ServerFrame>> {
        auto frame = std::make_unique<pb::ServerFrame>();
        pb::DeadEvents& page = *frame->mutable_dead_events();
        page.set_waiting(engine_.outbox().waiting);
        TM_TRY(read_dead_events(*engine_.snapshot(), from, [&](const DeadEvent& dead) {
          if (page.events_size() < static_cast<int>(limit)) {
            tell(dead, *page.add_events());
            return true;
          }
          std::string next;
          ByteWriter out(next);
          out.varint(dead.waiting.place.round);
          out.varint(dead.waiting.place.index);
          page.set_page_token(tokens_.seal(PageKind::dead_events, caller.user, caller.device, next));
          return false;
        }));
        return frame;
      },
      std::move(answer));
}

void Service::replay_events(const pb::ClientFrame& request, Answer answer) {
  const pb::ReplayEventsRequest& asked = request.replay_events();
  if (asked.ids_size() > kReplayedMax) return answer(fail(ErrorCode::LIMIT_REACHED, "ids", "At most 1000."));
  Settlement settlement;
  settlement.replay_all = asked.ids_size() == 0;
  for (const std::string& id : asked.ids()) {
    const auto name = event_named(id);
    if (!name) return answer(fail(ErrorCode::MALFORMED, "ids", "Give ids as the list of dead events shows them."));
    settlement.replayed.push_back(*name);
  }
  engine_.settle(std::move(settlement), [this, answer = std::move(answer)](Result<std::uint64_t> replayed) mutable {
    threads_.on_network([answer = std::move(answer), replayed = std::move(replayed)]() mutable {
      if (!replayed) return answer(std::unexpected(std::move(replayed).error()));
      auto frame = std::make_unique<pb::ServerFrame>();
      frame->mutable_replayed()->set_replayed(*replayed);
      answer(std::move(frame));
    });
  });
}

}  // namespace tidemark
