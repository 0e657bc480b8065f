// What is checked of the events that a device tells its user.
#include <fmt/format.h>

#include "sim/judged_world.h"

namespace tidemark::sim {

void JudgedWorld::on_acted(SimDevice& device) {
  memory_.check(device);
  check_passed(device);
  screens_.acted(device);
}

void JudgedWorld::on_event(SimDevice& device, const replica::Event& event) {
  screens_.told(device, event);
  if (const auto* message = std::get_if<replica::MessageEvent>(&event)) {
    device.tell(fmt::format("{} {}:{} {}{}", message->appeared ? "shows" : "changes", message->conversation.value,
                            message->entry->seq.value, message->entry->dead() ? "(dead)" : message->entry->body.text,
                            message->notify ? " and notifies" : ""));
    if (!message->notify) return;
    run_.ask(Judge::I4);
    const bool fresh = seen_[&device].notified.insert({message->conversation, message->entry->seq}).second;
    if (!fresh && !seen_[&device].stepped_back)
      throw Violation("I4", fmt::format("{} notifies of {}:{} twice", device.name().shown, message->conversation.value,
                                        message->entry->seq.value));
    if (message->entry->dead())
      throw Violation("I11", fmt::format("{} notifies of {}:{}, which is dead", device.name().shown,
                                         message->conversation.value, message->entry->seq.value));
  }
  if (const auto* lost = std::get_if<replica::LostEvent>(&event)) {
    run_.hit(lost->now ? Counter::found_again : Counter::lost_rows);
    device.tell(fmt::format("{} {}:({}, {}]", lost->now ? "finds again" : "has alone", lost->conversation.value,
                            lost->rows.after.value, lost->rows.to.value));
  }
  if (const auto* outbox = std::get_if<replica::OutboxEvent>(&event)) {
    if (outbox->outcome != replica::OutboxOutcome::sent) return;
    run_.hit(Counter::acknowledged);
    device.tell(fmt::format("has sent {}:{}", outbox->conversation.value, outbox->seq.value));
    check_sent(device, *outbox);
  }
  if (const auto* refused = std::get_if<replica::ChangeRefusedEvent>(&event)) {
    run_.hit(Counter::changes_refused);
    device.tell(fmt::format("is refused a change of {}:{}: {}", refused->conversation.value, refused->seq.value,
                            refused->error.message()));
  }
  if (const auto* told = std::get_if<replica::ReceiptsEvent>(&event)) {
    if (run_.tracing) trace_receipts(device, *told);
    if (knows_of_restores(device, told->conversation))
      receipts_.told(device, told->conversation, told->receipts, told->off);
  }
  if (const auto* link = std::get_if<replica::LinkEvent>(&event))
    device.tell(fmt::format("link {}", static_cast<int>(link->state)));
}

/// What was taken to be sent is that message of the log, with its own text, and stays so.
void JudgedWorld::check_sent(const SimDevice& device, const replica::OutboxEvent& event) {
  if (!knows_of_restores(device, event.conversation)) return;
  run_.ask(Judge::told);
  const std::string text = screens_.text_of(device, event.local_id);
  if (book_.entry(event.conversation, event.seq) == nullptr && server_.up()) look_at_log();
  const Entry* entry = book_.entry(event.conversation, event.seq);
  const std::string named = fmt::format("{} tells that message {} \"{}\" is {}:{}, which", device.name().shown,
                                        event.local_id, text, event.conversation.value, event.seq.value);
  if (entry == nullptr) throw Violation("told", named + " is in no log");
  const LogBook::Texts& texts = book_.texts(event.conversation, event.seq);
  const auto first = texts.find(Seq(0));
  if (entry->sender != device.user() || entry->client_msg_id != event.client_msg_id ||
      (first != texts.end() && first->second != text))
    throw Violation("told", named + " is another message");
  book_.acknowledge(event.conversation, event.seq, entry->sender.value, text);
}

}  // namespace tidemark::sim
